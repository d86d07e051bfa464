"""_litert.py - LiteRT's reference kernels and Takt on the same model and inputs."""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VENV = os.environ.get("TAKT_VENV", os.path.join(ROOT, "build", "venv"))
TOOL = os.environ.get("TAKT_TOOL", os.path.join(ROOT, "build", "takt"))
TMP = os.environ.get("TAKT_TEST_TMP", "/tmp")
DATA = os.environ.get("TAKT_DATA", os.path.join(ROOT, "..", "shared", "data"))


def SKIP(why):
    print(f"skipped: {why}")
    sys.exit(77)


try:
    import numpy as np
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
except ImportError:
    PYTHON = os.path.join(VENV, "bin", "python")
    if os.path.exists(PYTHON) and os.environ.get("TAKT_IN_VENV") is None:
        os.environ["TAKT_IN_VENV"] = "1"
        os.execv(PYTHON, [PYTHON, os.path.abspath(sys.argv[0]), *sys.argv[1:]])
    SKIP("numpy and ai-edge-litert are not installed in build/venv")


def fnv(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 & (1 << 64) - 1
    return value


def reference(model, inputs, runs=1, fast=False):
    """Results of LiteRT's reference kernels, or of its `fast` ones; None if it refuses the model
    (a path or bytes)."""
    given = {"model_content": model} if isinstance(model, bytes) else {"model_path": model}
    kind = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES if fast else OpResolverType.BUILTIN_REF
    try:
        it = Interpreter(**given, experimental_op_resolver_type=kind, num_threads=1)
        it.allocate_tensors()
        for _ in range(runs):
            for detail, x in zip(it.get_input_details(), inputs):
                it.set_tensor(detail["index"], x)
            it.invoke()
    except (RuntimeError, ValueError) as error:
        reference.error = str(error)
        return None
    return [it.get_tensor(o["index"]) for o in it.get_output_details()]


def takt_run(model, inputs, outputs, runs=1):
    """The same for Takt; raises with its message."""
    path = model
    if isinstance(model, bytes):
        path = os.path.join(TMP, "case.tflite")
        with open(path, "wb") as f:
            f.write(model)
    results = os.path.join(TMP, "results.npz")
    command = [TOOL, "run", path, "--threads", "1", "-o", results]
    if runs > 1:
        command += ["--repeat", str(runs)]
    for i, x in enumerate(inputs):
        file = os.path.join(TMP, f"in{i}.npy")
        np.save(file, x)
        command += ["-i", file if len(inputs) == 1 else f"{input_names(path)[i]}={file}"]
    run = subprocess.run(command, text=True, capture_output=True, check=False)
    if run.returncode != 0:
        raise RuntimeError(run.stderr.strip()[:300])
    with np.load(results) as found:
        return [found[key] for key in found.files][:outputs]


def input_names(path):
    if path not in input_names.known or path.startswith(TMP):
        kind = OpResolverType.BUILTIN_REF
        details = Interpreter(path, experimental_op_resolver_type=kind).get_input_details()
        input_names.known[path] = [d["name"] or f"input_{i}" for i, d in enumerate(details)]
    return input_names.known[path]


input_names.known = {}
reference.Interpreter = Interpreter


def finish(failures, what):
    for line in failures[:40]:
        print(line)
    print(f"{what}, {len(failures)} failures")
    sys.exit(1 if failures else 0)
