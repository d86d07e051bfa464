"""_ml.py - models of ai.onnx.ml: made, run on ref and cpu, and compared.

Every case writes a model and the standard's test data, and has Takt compare on ref and on cpu. With
`--runtime` (and onnxruntime installed) the same expectations are compared with onnxruntime.
"""
import math
import os
import random
import struct
import subprocess
import sys

from _pb import Graph, field, model, node, tensor, value

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.environ.get("TAKT_TOOL", os.path.join(ROOT, "build", "takt"))
TMP = os.environ.get("TAKT_TEST_TMP", "/tmp")
POSTS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]
FORMATS = {1: "f", 6: "i", 7: "q", 11: "d"}
failures = []
counts = {"models": 0, "refusals": 0}


# ---- arithmetic ----

def sigmoid(s):
    return 1 / (1 + math.exp(-s))


def probit(p):
    """Winitzki's formula; None where it has no value."""
    x = 2 * p - 1
    if not -1 < x < 1:
        return -math.inf if x == -1 else math.nan
    log = math.log((1 - x) * (1 + x))
    v = 2 / (math.pi * 0.147) + log / 2
    return math.copysign(math.sqrt(math.sqrt(v * v - log / 0.147) - v), x) * math.sqrt(2)


def transform(post, scores):
    if post == "SOFTMAX":
        top = max(scores)
        total = sum(math.exp(s - top) for s in scores)
        return [math.exp(s - top) / total for s in scores]
    if post == "SOFTMAX_ZERO":
        total = sum(math.exp(s) for s in scores if s != 0)
        return [0 if s == 0 else math.exp(s) / total for s in scores]
    if post == "LOGISTIC":
        return [sigmoid(s) for s in scores]
    return [probit(s) for s in scores] if post == "PROBIT" else list(scores)


def single(post, score):
    return probit(score) if post == "PROBIT" else score


def pair(post, score, opposite):
    if post == "LOGISTIC":
        return [sigmoid(-score), sigmoid(score)]
    return [-score if opposite else 1 - score, score]


def best(scores):
    return scores.index(max(scores))


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


# ---- running ----

def tensor_of(name, rows, dtype):
    """A matrix, or a vector if its elements are numbers."""
    dims = [len(rows)] + ([len(rows[0])] if isinstance(rows[0], list) else [])
    flat = [v for row in rows for v in row] if len(dims) == 2 else rows
    return tensor(name, dims, dtype, struct.pack(f"<{len(flat)}{FORMATS[dtype]}", *flat))


def write(path, body):
    with open(path, "wb") as file:
        file.write(body)
    return path


def build(op, x, x_type, outputs, version, attrs):
    width = len(x[0]) if isinstance(x[0], list) else None
    dims = ["rows", width] if width else ["rows"]
    graph = Graph([node(op, ["x"], list(outputs), domain="ai.onnx.ml", **attrs)],
                  [value("x", dims, x_type)],
                  [field(1, name) + field(2, field(1, field(1, kind)))
                   for name, (_, kind) in outputs.items()])
    return model(graph, 17, field(8, field(1, "ai.onnx.ml") + field(2, version)))


def check(name, op, x, outputs, version=3, x_type=1, tolerance=2e-5, **attrs):
    """`outputs`: name to (rows, element type), or words of the refusal."""
    kinds = outputs if isinstance(outputs, dict) else {"y": (None, 1)}
    folder = os.path.join(TMP, "case")
    os.makedirs(folder, exist_ok=True)
    body = build(op, x, x_type, kinds, version, attrs)
    path = write(os.path.join(TMP, "case.onnx"), body)
    for file in os.listdir(folder):
        os.remove(os.path.join(folder, file))
    write(os.path.join(folder, "input_0.pb"), tensor_of("x", x, x_type))
    for i, (rows, kind) in enumerate(kinds.values()):
        if rows is not None:
            write(os.path.join(folder, f"output_{i}.pb"), tensor_of(list(kinds)[i], rows, kind))
    counts["models" if isinstance(outputs, dict) else "refusals"] += 1
    for backend in ("ref", "cpu"):
        args = [TOOL, "run", path, "--test", folder, "--backend", backend, "--rtol",
                str(tolerance), "--atol", str(tolerance)]
        if isinstance(outputs, str):
            args = [TOOL, "inspect", path]
        run = subprocess.run(args, text=True, capture_output=True, check=False)
        text = run.stdout + run.stderr
        if isinstance(outputs, str):
            good = run.returncode != 0 and outputs in text
        else:
            good = run.returncode == 0
        if not good:
            failures.append(name)
            print(f"FAILED: {name} on {backend}: {text.strip()[:500]}")
            return
    if "--runtime" in sys.argv and isinstance(outputs, dict):
        against_runtime(name, body, x, x_type, outputs)


def again(name):
    """The model of the last case, written by Takt: its operator, and the same data."""
    path, out = os.path.join(TMP, "case.onnx"), os.path.join(TMP, "again.onnx")
    counts["models"] += 1
    text = ""
    for args in (["compile", path, "--emit", out],
                 ["run", out, "--test", os.path.join(TMP, "case"), "--rtol", "2e-5"]):
        run = subprocess.run([TOOL, *args], text=True, capture_output=True, check=False)
        text += run.stdout + run.stderr
        if run.returncode != 0:
            failures.append(name)
            print(f"FAILED: {name}, written: {text.strip()[:500]}")
            return
    with open(out, "rb") as file:
        body = file.read()
    if b"TreeEnsembleRegressor" not in body or b"Gather" in body:
        failures.append(name)
        print(f"FAILED: {name}: the written model has other operators")


def against_runtime(name, body, x, x_type, outputs):
    import numpy as np
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    types = {1: np.float32, 6: np.int32, 7: np.int64, 11: np.float64}
    try:
        session = onnxruntime.InferenceSession(body, options)
        got = session.run(None, {"x": np.array(x, types[x_type])})
    except Exception as error:  # onnxruntime may refuse valid models
        print(f"onnxruntime refuses {name}: {str(error)[-200:]}")
        return
    for a, (rows, _) in zip(got, outputs.values()):
        if isinstance(a, list):
            a = np.array([list(row.values()) for row in a])
        if not np.allclose(a, np.array(rows), rtol=1e-4, atol=1e-4, equal_nan=True):
            print(f"onnxruntime differs: {name}: {np.array(a).tolist()} {rows}"[:600])


# ---- inputs, the end ----

def inputs(seed, rows=7, features=3, nan=False):
    generator = random.Random(seed)
    x = [[f32(generator.choice([generator.uniform(-3, 3), generator.randint(-2, 2)]))
          for _ in range(features)] for _ in range(rows)]
    if nan:
        for i in range(0, rows, 2):
            x[i][i % features] = math.nan
    return x


def done(models, refusals):
    """Prints a summary and exits; too few cases are a failure."""
    print(f"{counts['models']} models, {counts['refusals']} refusals, {len(failures)} failed")
    too_few = counts["models"] < models or counts["refusals"] < refusals
    sys.exit(1 if failures or too_few else 0)
