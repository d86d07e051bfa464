"""written.py - TensorFlow Lite files written by Takt open in LiteRT and give the same results:
floats within 1e-5 of the largest, integers bit for bit as in Takt.

Needs the Python packages numpy and ai-edge-litert, in build/venv; without them this is skipped.
"""
import os
import re
import subprocess

from _litert import ROOT, SKIP, TMP, TOOL, Interpreter, OpResolverType, finish, np

if np is None:
    SKIP("no numpy")
TEXT = os.path.join(ROOT, "tests", "tflite", "written.takt")
NET = """model net(x: f32[batch, 3, 16, 16]) seed=4 {
  h = conv(x, 8, 3, stride=2, act=relu)
  a = depthwise(h, 3, act=relu6) |> conv(8, 1)
  h = relu(h + a) |> max_pool(3, stride=2, pad=1)
  c = concat(conv(h, 4, 3, act=relu), conv(h, 4, 1), axis=1)
  h = avg_pool(c, 2, stride=2) |> conv(12, 2, pad=valid, bias=false)
  return y = dense(reduce_mean(h, axes=[2, 3]), 6)
}
model line(x: f32[batch, 4, 40]) seed=4 {
  h = conv1d(x, 8, 5, stride=2, act=relu) |> conv1d(8, 3, groups=8) |> max_pool(2, stride=2)
  return y = dense(flatten(h), 6)
}
model rows(x: f32[batch, 6, 8]) seed=4 {
  h = dense(x, 16, act=relu)
  return y = dense(h * dense(h, 16), 5)
}
model wide(x: f32[batch, 6, 8]) seed=4 {
  return y = dense(dense(x, 128, act=relu), 5)
}
"""
failures, count = [], 0


def takt(*args):
    run = subprocess.run([TOOL, *args], text=True, capture_output=True, check=False)
    if run.returncode != 0:
        failures.append(f"takt {' '.join(args)}: {run.stderr.strip()[:300]}")
    return run.returncode == 0


def results(*args):
    """Outputs of a run by name; None after a failure."""
    path = os.path.join(TMP, "results.npz")
    if not takt("run", *args, "--threads", "1", "-o", path):
        return None
    with np.load(path) as found:
        return {key: found[key] for key in found.files}


def opened(path):
    """LiteRT with the model; its reference kernels lack a few operators that its others have."""
    for kind in (OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
        try:
            it = Interpreter(path, experimental_op_resolver_type=kind, num_threads=1)
            it.allocate_tensors()
            return it
        except (RuntimeError, ValueError) as error:
            problem = str(error).strip()
    failures.append(f"{path}: LiteRT refuses it: {problem[:300]}")
    return None


def invoke(it, generator):
    """Inputs as flags of `takt run`, and LiteRT's outputs by name."""
    flags = []
    for d in it.get_input_details():
        x = (generator.standard_normal(d["shape"]) if d["dtype"] == np.float32
             else generator.integers(0, 4, d["shape"])).astype(d["dtype"])
        file = os.path.join(TMP, f"in_{d['name']}.npy")
        np.save(file, x)
        it.set_tensor(d["index"], x)
        flags += ["-i", f"{d['name']}={file}"]
    it.invoke()
    return flags, {d["name"]: it.get_tensor(d["index"]) for d in it.get_output_details()}


def litert(path, generator):
    it = opened(path)
    return (None, None) if it is None else invoke(it, generator)


def compare(name, want, got, limit):
    if got is None or want is None:
        return
    if set(want) != set(got):
        failures.append(f"{name}: outputs {sorted(want)}, not {sorted(got)}")
        return
    for key, w in want.items():
        g = got[key]
        if w.shape != g.shape or w.dtype != g.dtype:
            failures.append(f"{name}.{key}: {w.dtype}{w.shape}, not {g.dtype}{g.shape}")
            continue
        error, most = (np.abs(v.astype(float)).max() for v in (w.astype(float) - g, g))
        if not error <= limit * most:
            failures.append(f"{name}.{key}: {error:g} off, of {most:g}")


def floats():
    made = 0
    with open(TEXT, encoding="utf-8") as f:
        names = re.findall(r"^model (\w+)", f.read(), re.M)
    for name in names:
        path = os.path.join(TMP, "written.tflite")
        if not takt("convert", TEXT, "--select", name, "-o", path):
            continue
        flags, want = litert(path, np.random.default_rng(1))
        if flags is not None:
            compare(name, want, results(path, *flags), 1e-5)
            compare(f"{name} as text", want, results(TEXT, "--select", name, *flags), 1e-5)
            made += 1
    return made


def states():
    """State from run to run: LiteRT's variables, and Takt's in files."""
    made, steps = 0, 4
    with open(TEXT, encoding="utf-8") as f:
        names = re.findall(r"^model (state_\w+)", f.read(), re.M)
    for name in names:
        path = os.path.join(TMP, "written.tflite")
        if not takt("convert", TEXT, "--select", name, "-o", path):
            continue
        for model in ([path], [TEXT, "--select", name]):
            it, generator = opened(path), np.random.default_rng(1)
            for k in range(steps if it is not None else 0):
                flags, want = invoke(it, generator)
                flags += ["--state-out", os.path.join(TMP, f"state{k % 2}.npz")]
                flags += ["--state-in", os.path.join(TMP, f"state{(k + 1) % 2}.npz")] if k else []
                compare(f"{name}, run {k}", want, results(*model, *flags), 1e-5)
        made += 1
    return made


def integers(kind):
    made, text = 0, os.path.join(TMP, "nets.takt")
    with open(text, "w", encoding="utf-8") as f:
        f.write(NET)
    for name, shape in (("net", (3, 16, 16)), ("line", (4, 40)), ("rows", (6, 8)),
                        ("wide", (6, 8))):
        generator = np.random.default_rng(2)
        calib = os.path.join(TMP, "calib.npz")
        np.savez(calib, x=generator.standard_normal((32, *shape)).astype(np.float32))
        path = os.path.join(TMP, "integers.tflite")
        if not takt("quantize", text, "--select", name, "--type", kind, "--calib", calib,
                    "--size-first", "-o", path):
            continue
        for _ in range(8 if kind == "int8" else 2):
            flags, want = litert(path, generator)
            if flags is None:
                break
            compare(f"{name} as {kind}", want, results(path, *flags),
                    1e-5 if kind in ("w8", "w4") else 0)
            compare(f"{name} as text", want, results(text, "--select", name, *flags),
                    0.1 if kind == "int8" else 0.4)
        made += 1
    return made


count = floats()
stateful = states()
wholes = integers("int8") + integers("w4a8")
blocks = integers("w8") + integers("w4")
finish(failures, f"{count} models of floats, {stateful} of them with state, {wholes} of integers, "
       f"{blocks} with weights in blocks")
