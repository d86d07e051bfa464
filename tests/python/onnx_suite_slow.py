"""onnx_suite_slow.py - ONNX's backend tests through takt.onnx_backend, compared with those in C.

onnx_conformance lists the cases that C refuses. Needs onnx, here or in build/venv (TAKT_VENV), and
the cases of the shared data; without them this is skipped.
"""
import os
import re
import subprocess
import sys

from _runner import BUILD, ROOT, environment, has_extension, skip

VENV = os.environ.get("TAKT_VENV", os.path.join(ROOT, "build", "venv"))
PACKAGE = os.path.join(BUILD, "python")
SUITES = [os.path.join(os.environ.get("TAKT_DATA", os.path.join(ROOT, "..", "shared", "data")),
                       "onnx", name) for name in ("backend-node", "backend-simple")]
# Values are drawn: only types and shapes are compared, as in C.
RANDOM = re.compile(r"bernoulli|random|training_dropout")


def restart():
    """In an interpreter that has onnx, with the package in its path."""
    if os.environ.get("TAKT_SUITE") is not None:
        skip("onnx is not installed")
    for python in (sys.executable, os.path.join(VENV, "bin", "python")):
        if os.path.exists(python) and subprocess.run([python, "-c", "import onnx"], check=False,
                                                     capture_output=True).returncode == 0:
            more = {key: os.environ[key] for key in ("TAKT_DATA", "TAKT_BUILD_DIR")
                    if key in os.environ}
            os.execve(python, [python, "-W", "ignore", os.path.abspath(__file__)],
                      {**environment(PACKAGE), **more, "TAKT_SUITE": "1"})
    skip("onnx is not installed")


def values(folder, kind, infos):
    from onnx import OptionalProto, SequenceProto, TensorProto, numpy_helper
    made = []
    for i, info in enumerate(infos):
        proto, read = TensorProto(), numpy_helper.to_array
        if info.type.HasField("sequence_type"):
            proto, read = SequenceProto(), numpy_helper.to_list
        elif info.type.HasField("optional_type"):
            proto, read = OptionalProto(), numpy_helper.to_optional
        with open(os.path.join(folder, "test_data_set_0", f"{kind}_{i}.pb"), "rb") as file:
            proto.ParseFromString(file.read())
        made.append(read(proto))
    return made


def compare(got, want, is_random):
    import numpy as np
    if want is None or isinstance(want, list):
        assert (got is None) == (want is None) and len(got or []) == len(want or []), (got, want)
        for a, b in zip(got or [], want or []):
            compare(a, b, is_random)
        return
    got = np.asarray(got)
    assert (got.shape, got.dtype) == (want.shape, want.dtype), (got.dtype, want.dtype, got.shape)
    if not is_random:
        np.testing.assert_allclose(got.astype("f8"), want.astype("f8"), rtol=1e-3, atol=1e-4)


def run(folder):
    """passed, refused or failed, and why."""
    import onnx
    import takt
    from takt import onnx_backend
    model = onnx.load(os.path.join(folder, "model.onnx"))
    constant = {tensor.name for tensor in model.graph.initializer}
    inputs = [info for info in model.graph.input if info.name not in constant]
    try:
        given, want = values(folder, "input", inputs), values(folder, "output", model.graph.output)
        made = onnx_backend.prepare(model).run(given)
        for a, b in zip(made, want):
            compare(a, b, RANDOM.search(os.path.basename(folder)))
    except takt.Error as error:
        return "refused", str(error)
    except Exception as error:  # whatever it is, it is not the result of the case
        return "failed", f"{type(error).__name__}: {error}"
    return "passed", ""


def by_c(names):
    """The result of every case in C."""
    told = subprocess.run([os.path.join(BUILD, "onnx_conformance"), "test_"], text=True,
                          check=False, capture_output=True).stdout
    other = {name: word for word, name in re.findall(r"^(refused|FAIL\w*) (\S+?):", told, re.M)}
    return {name: other.get(name, "passed") for name in names}


def main():
    try:
        import onnx  # noqa: F401
    except ImportError:
        restart()
    if os.environ.get("TAKT_SUITE") is None:
        restart()
    folders = [os.path.join(suite, name) for suite in SUITES if os.path.isdir(suite)
               for name in sorted(os.listdir(suite)) if name.startswith("test_")]
    if not folders:
        skip("the shared data with ONNX's tests is not here")
    names = [os.path.join(*folder.split(os.sep)[-2:]) for folder in folders]
    want, counts, wrong = by_c(names), {}, []
    for name, folder in zip(names, folders):
        result, why = run(folder)
        counts[result] = counts.get(result, 0) + 1
        if result != want[name]:
            wrong.append(f"{name}: {result} here, {want[name]} in C: {why[:200]}")
    print(", ".join(f"{count} {result}" for result, count in sorted(counts.items())))
    print("\n".join(wrong))
    return 1 if wrong else 0


if not has_extension():
    skip("the extension was not built: Python's headers are missing (python3-dev)")
sys.exit(main())
