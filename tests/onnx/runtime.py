"""runtime.py - ONNX files written by Takt are valid and give the same results in onnxruntime.

Needs the Python packages onnx and onnxruntime: `make venv` gets them; without them this is skipped.
"""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VENV = os.environ.get("TAKT_VENV", os.path.join(ROOT, "build", "venv"))
TOOL = os.environ.get("TAKT_TOOL", os.path.join(ROOT, "build", "takt"))
TMP = os.environ.get("TAKT_TEST_TMP", "/tmp")
DATA = os.environ.get("TAKT_DATA", os.path.join(ROOT, "..", "shared", "data"))

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError:
    PYTHON = os.path.join(VENV, "bin", "python")
    if os.path.exists(PYTHON) and os.environ.get("TAKT_IN_VENV") is None:
        os.environ["TAKT_IN_VENV"] = "1"
        os.execv(PYTHON, [PYTHON, os.path.abspath(sys.argv[0]), *sys.argv[1:]])
    print("skipped: onnx and onnxruntime are not installed; `make venv` gets them")
    sys.exit(77)

MODELS = ["mnist-8", "super-resolution-10", "shufflenet-v2-12-int8", "yunet-n-320", "dtln-1",
          "ultraface-slim-320", "openwakeword-hello", "silero-vad-16k-op15"]
TEXTS = ["examples/mlp.takt", "examples/cnn.takt", "examples/encoder.takt", "examples/gpt.takt",
         "bench/models/mobilenet_v1_025.takt", "bench/models/resnet18_block.takt",
         "bench/models/mobilenet_v2.takt", "bench/models/pointwise.takt"]
failures = []


def takt(*args):
    run = subprocess.run([TOOL, *args], cwd=ROOT, text=True, capture_output=True, check=False)
    if run.returncode != 0:
        raise RuntimeError(f"takt {' '.join(args)}: {run.stderr.strip()[:400]}")
    return run.stdout


def random_inputs(session, sizes):
    generator = np.random.default_rng(1)
    values = {}
    types = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(double)": np.float64,
             "tensor(int32)": np.int32, "tensor(uint8)": np.uint8, "tensor(bool)": np.bool_}
    defaults = {i.name for i in session.get_overridable_initializers()}
    for given in session.get_inputs():
        if given.name in defaults:
            continue
        shape = [d if isinstance(d, int) else sizes.get(d, 2) for d in given.shape]
        dtype = types[given.type]
        values[given.name] = (generator.standard_normal(shape).astype(dtype)
                              if np.issubdtype(dtype, np.floating)
                              else generator.integers(0, 9, shape).astype(dtype))
    return values


def session_of(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def compare(name, path, inputs, want):
    """Every output of the written model in onnxruntime against `want`."""
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    session = session_of(path)
    got = dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs)))
    worst = 0.0
    for key, value in want.items():
        a, b = got[key].astype(np.float64), value.astype(np.float64)
        if a.shape != b.shape or not np.allclose(a, b, rtol=1e-3, atol=1e-4):
            failures.append(name)
            by = np.abs(a - b).max() if a.shape == b.shape else f"{a.shape} and {b.shape}"
            print(f"FAILED: {name}: {key} differs by {by}")
            return
        worst = max(worst, float(np.abs(a - b).max(initial=0)))
    print(f"{name}: {len(model.graph.node)} nodes, opset {model.opset_import[0].version}, agrees "
          f"within {worst:.3g}")


def takt_results(model, inputs):
    source, target = os.path.join(TMP, "in.npz"), os.path.join(TMP, "out.npz")
    np.savez(source, **inputs)
    flags = [word for key in inputs for word in ("-i", f"{key}={source}")]
    takt("run", model, *flags, "-o", target, "-q")
    with np.load(target) as archive:
        return {key: archive[key] for key in archive.files}


def check(name, model, inputs, flags=()):
    for kind, verb in (("written", ["convert", model, "-o"]),
                       ("optimised", ["compile", model, "--emit"])):
        path = os.path.join(TMP, f"{kind}.onnx")
        try:
            takt(*verb, path, *flags)
            values = inputs if inputs is not None else random_inputs(session_of(path), {"batch": 2})
            compare(f"{name} {kind}", path, values, takt_results(model, values))
        except Exception as error:  # whatever onnxruntime raises is a failure of this model
            failures.append(name)
            print(f"FAILED: {name} {kind}: {str(error)[:600]}")


def read_tensor(path):
    tensor = onnx.TensorProto()
    with open(path, "rb") as file:
        tensor.ParseFromString(file.read())
    return onnx.numpy_helper.to_array(tensor)


def check_real(name):
    folder = os.path.join(DATA, "onnx", name)
    model = os.path.join(folder, "model.onnx")
    if not os.path.exists(model):
        print(f"{name}: not here")
        return
    names = [i.name for i in session_of(model).get_inputs()]
    files = [os.path.join(folder, "test_data_set_0", f"input_{i}.pb") for i in range(len(names))]
    inputs = {key: read_tensor(file) for key, file in zip(names, files)}
    known = [word for key, file in zip(names, files) for word in ("-i", f"{key}={file}")]
    # The original model: this also covers shufflenet-v2-12-int8, whose first stored result is
    # from a processor that saturates sums of two products at 16 bits. onnxruntime on a processor
    # that does not gives what Takt gives, to the bit.
    compare(f"{name} itself", model, inputs, takt_results(model, inputs))
    check(name, model, inputs, known)


def check_empty():
    """Sizes found when the written model runs may be 0, and mean 0."""
    path = os.path.join(TMP, "empty.onnx")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Unsqueeze", ["x", "axis"], ["u"]),
         onnx.helper.make_node("Relu", ["u"], ["y"])], "empty",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", "k"])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 1, "k"])],
        [onnx.numpy_helper.from_array(np.array([1]), "axis")])
    onnx.save(onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8), path)
    for shape in ((0, 3), (2, 0), (2, 3)):
        check(f"sizes {shape}", path, {"x": np.ones(shape, np.float32)})


def check_trained():
    """A trained ONNX model is one like any other: onnxruntime has its outputs."""
    digits = os.path.join(DATA, "data", "mnist")
    if not os.path.isdir(digits):
        print("trained: the shared data has no mnist")
        return
    zoo, path = os.path.join(DATA, "onnx", "mnist-8", "model.onnx"), os.path.join(TMP, "net.takt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("model net(x: f32[batch, 28, 28]) seed=1 {\n"
                   "  h = conv2d(unsqueeze(x, axes=[1]), 8, 3) |> batch_norm() |> relu() "
                   "|> max_pool(2, stride=2)\n"
                   "  return dense(dropout(flatten(h), 0.2), 10, act=softmax)\n}\n")
    made = path.replace(".takt", ".onnx")
    takt("convert", path, "-o", made)
    for name, source, frozen, shape in (("mnist-8", zoo, "Parameter(5|87)", (1, 1, 28, 28)),
                                        ("batch norm", made, "conv2d_0", (5, 28, 28))):
        out = os.path.join(TMP, "trained.onnx")
        takt("train", source, "--data", digits, "--limit", "256", "--freeze", frozen, "--lr",
             "1e-4", "-q", "-o", out)
        feed = session_of(out).get_inputs()[0].name
        values = {feed: np.random.default_rng(2).random(shape).astype(np.float32)}
        compare(f"{name} trained", out, values, takt_results(out, values))


if __name__ == "__main__":
    words = sys.argv[1:]
    if not words or "empty" in words:
        check_empty()
    if not words or "trained" in words:
        check_trained()
    for text in TEXTS:
        if not words or any(word in text for word in words):
            check(text, text, None)
    for real in MODELS:
        if not words or any(word in real for word in words):
            check_real(real)
    print(f"{len(failures)} failed")
    sys.exit(1 if failures else 0)
