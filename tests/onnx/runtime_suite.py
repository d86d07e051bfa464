"""runtime_suite.py - every case of ONNX's backend test suite, optimised by Takt, in onnxruntime.

    runtime_suite.py             all cases; the counts are the last lines
    runtime_suite.py WORD...     cases whose names contain one of the words, each with its result

The results are compared with the outputs stored in the suite. A case counts only if onnxruntime
gives them for the model as it came. Needs onnx and onnxruntime: skipped without them.
"""
import collections
import os
import sys

from runtime import DATA, TMP, np, onnx, onnxruntime, read_tensor, takt

KINDS = ["agrees", "differs", "refused by onnxruntime", "has a node of domain takt",
         "not written by Takt", "onnxruntime has it not, or other results"]


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def same(got, want):
    if isinstance(got, list) or got.shape != want.shape:
        return False
    if got.dtype.kind not in "fiub" or want.dtype.kind not in "fiub":
        return (got == want).all()
    return np.allclose(got.astype(np.float64), want.astype(np.float64), rtol=1e-3, atol=1e-5,
                       equal_nan=True)


def load(folder):
    """Inputs by name, and outputs in order."""
    model = onnx.load(os.path.join(folder, "model.onnx"))
    data = os.path.join(folder, "test_data_set_0")
    weights = {w.name for w in model.graph.initializer}
    names = [i.name for i in model.graph.input if i.name not in weights]
    inputs, files = {}, {}
    for i, name in enumerate(names):
        path = os.path.join(data, f"input_{i}.pb")
        if os.path.exists(path):
            inputs[name], files[name] = read_tensor(path), path
    outputs = [read_tensor(os.path.join(data, f"output_{i}.pb"))
               for i in range(len(model.graph.output))]
    return inputs, files, outputs


def judge(folder):
    try:
        inputs, files, want = load(folder)
        before = session_of(os.path.join(folder, "model.onnx")).run(None, inputs)
        if not all(same(a, b) for a, b in zip(before, want)):
            return KINDS[5], ""
    except Exception as error:  # a sequence among the data, or an unsupported op: not comparable
        return KINDS[5], str(error)
    path = os.path.join(TMP, "case.onnx")
    try:
        known = [word for name, file in files.items() for word in ("-i", f"{name}={file}")]
        takt("compile", os.path.join(folder, "model.onnx"), "--emit", path, *known)
    except RuntimeError as error:
        return KINDS[4], str(error)
    model = onnx.load(path)
    if any(node.domain == "takt" for node in model.graph.node):
        return KINDS[3], " ".join(n.op_type for n in model.graph.node if n.domain == "takt")
    try:
        session = session_of(path)
        used = {i.name for i in session.get_inputs()}
        got = session.run(None, {k: v for k, v in inputs.items() if k in used})
    except Exception as error:  # whatever onnxruntime raises
        return KINDS[2], str(error)
    return (KINDS[0], "") if all(same(a, b) for a, b in zip(got, want)) else (KINDS[1], "")


def main(words):
    counts = collections.Counter()
    root = os.path.join(DATA, "onnx")
    cases = [(suite, name) for suite in ("backend-node", "backend-simple")
             if os.path.isdir(os.path.join(root, suite))
             for name in sorted(os.listdir(os.path.join(root, suite)))
             if not words or any(word in name for word in words)]
    if not cases:
        print("skipped: the suite is not here; set TAKT_DATA")
        return 77
    for suite, name in cases:
        kind, why = judge(os.path.join(root, suite, name))
        counts[kind] += 1
        if words or kind in KINDS[1:5]:
            print(f"{name}: {kind} {why[:300]}")
    for kind in KINDS:
        print(f"{counts[kind]:5} {kind}")
    return 1 if counts[KINDS[1]] or counts[KINDS[2]] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
