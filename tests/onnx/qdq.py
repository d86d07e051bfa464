"""qdq.py - quantised models in QDQ form, against sums of integers in plain Python; and what Takt
writes for them.

All scales are powers of two, so that every product and quotient is exact and the one rounding left,
half to even, is the standard's.
"""
import os
import random
import struct
import subprocess
import sys

from _pb import Graph, floats, model, node, tensor, value

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.environ.get("TAKT_TOOL", os.path.join(ROOT, "build", "takt"))
TMP = os.environ.get("TAKT_TEST_TMP", "/tmp")
U8, I8, I32, F32 = 2, 3, 6, 1
LIMITS = {U8: (0, 255), I8: (-128, 127)}
FORMATS = {U8: "B", I8: "b", I32: "i", F32: "f"}
generator = random.Random(11)
failures = []


def raw(items, dtype):
    return struct.pack(f"<{len(items)}{FORMATS[dtype]}", *items)


def quantize(x, scale, zero, dtype):
    low, high = LIMITS[dtype]
    return min(max(round(x / scale) + zero, low), high)


class Model:
    """A graph put together node by node; values have names."""

    def __init__(self):
        self.nodes, self.weights, self.count = [], [], 0

    def fresh(self):
        self.count += 1
        return f"v{self.count}"

    def constant(self, dims, dtype, items):
        name = self.fresh()
        self.weights.append(tensor(name, dims, dtype, raw(items, dtype)))
        return name

    def call(self, op, inputs, out=None, **attrs):
        out = out or self.fresh()
        self.nodes.append(node(op, inputs, [out], name=out, **attrs))
        return out

    def scale(self, scales, zeros, dtype):
        dims = [] if len(scales) == 1 else [len(scales)]
        return [self.constant(dims, F32, scales), self.constant(dims, dtype, zeros)]

    def quantize(self, x, scale, zero, dtype, out=None):
        return self.call("QuantizeLinear", [x, *self.scale([scale], [zero], dtype)], out)

    def dequantize(self, q, scales, zeros, dtype, axis=1):
        return self.call("DequantizeLinear", [q, *self.scale(scales, zeros, dtype)], axis=axis)

    def through(self, x, scale, zero, dtype):
        return self.dequantize(self.quantize(x, scale, zero, dtype), [scale], [zero], dtype)

    def bytes(self, dims_in, dims_out):
        return model(Graph(self.nodes, [value("x", dims_in)], [value("y", dims_out)],
                           self.weights), 13)


def write(path, body):
    with open(path, "wb") as file:
        file.write(body)
    return path


def run(*args):
    got = subprocess.run([TOOL, *args], text=True, capture_output=True, check=False)
    return got.returncode, got.stdout + got.stderr


def check(name, body, x, y, wants):
    """`x`, `y`: (dims, floats); `wants`: operators that the written model must have."""
    folder = os.path.join(TMP, "case")
    os.makedirs(folder, exist_ok=True)
    path = write(os.path.join(TMP, "case.onnx"), body)
    again = os.path.join(TMP, "again.onnx")
    write(os.path.join(folder, "input_0.pb"), tensor("x", x[0], F32, floats(*x[1])))
    write(os.path.join(folder, "output_0.pb"), tensor("y", y[0], F32, floats(*y[1])))
    code, text = run("compile", path, "--emit", again)
    if code != 0:
        failures.append(name)
        print(f"FAILED: {name}: {text.strip()[:400]}")
        return
    for file, backend in ((path, "ref"), (path, "cpu"), (again, "ref"), (again, "cpu")):
        code, text = run("run", file, "--test", folder, "--backend", backend, "--rtol", "1e-7",
                         "--atol", "0")
        if code != 0:
            failures.append(name)
            print(f"FAILED: {name}, {os.path.basename(file)} on {backend}: {text.strip()[:400]}")
    with open(again, "rb") as file:
        written = file.read()
    for word in wants:
        if word.encode() not in written:
            failures.append(name)
            print(f"FAILED: {name}: the written model has no {word}")
    against_runtime(name, {path: body, again: written}, x, y)


def against_runtime(name, models, x, y):
    """With --runtime, and onnxruntime installed."""
    if "--runtime" not in sys.argv:
        return
    import numpy as np
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    for body in models.values():
        session = onnxruntime.InferenceSession(body, options, providers=["CPUExecutionProvider"])
        got = session.run(None, {"x": np.array(x[1], np.float32).reshape(x[0])})[0]
        by = np.abs(got - np.array(y[1], np.float32).reshape(y[0])).max()
        print(f"{name}: onnxruntime differs by {by}")
        if by > 0:
            failures.append(name)


def numbers(count, low, high):
    return [generator.randint(low, high) for _ in range(count)]


def conv(x_type, w_type, per_channel, bias):
    """3 channels to 4, 3x3, pad 1, stride 2, on 7x5."""
    sx, zx, sy, zy = 2.0 ** -4, 3 if x_type == I8 else 130, 2.0 ** -1, -5 if x_type == I8 else 120
    sw = [2.0 ** -(3 + c % 3) for c in range(4)] if per_channel else [2.0 ** -4]
    zw = [0] * len(sw) if w_type == I8 else [128] * len(sw)
    w = numbers(4 * 3 * 9, -100, 100) if w_type == I8 else numbers(4 * 3 * 9, 0, 255)
    b = numbers(4, -2000, 2000)
    x = [v / 16 + 1 / 64 for v in numbers(3 * 35, -200, 200)]
    m = Model()
    inputs = [m.through("x", sx, zx, x_type),
              m.dequantize(m.constant([4, 3, 3, 3], w_type, w), sw, zw, w_type, axis=0)]
    if bias:
        scales = [sx * s for s in sw]
        inputs.append(m.dequantize(m.constant([4], I32, b), scales, [0] * len(sw), I32, axis=0))
    y = m.call("Conv", inputs, pads=[1, 1, 1, 1], strides=[2, 2])
    m.call("Identity", [m.through(y, sy, zy, x_type)], "y")
    q = [quantize(v, sx, zx, x_type) - zx for v in x]
    out = []
    for c in range(4):
        s, z = sw[c % len(sw)], zw[c % len(zw)]
        for i in range(4):
            for j in range(3):
                total = b[c] if bias else 0
                for k in range(3):
                    for di in range(3):
                        for dj in range(3):
                            r, t = 2 * i + di - 1, 2 * j + dj - 1
                            if 0 <= r < 7 and 0 <= t < 5:
                                total += (w[((c * 3 + k) * 3 + di) * 3 + dj] - z) \
                                    * q[(k * 7 + r) * 5 + t]
                out.append((quantize(total * sx * s, sy, zy, x_type) - zy) * sy)
    check(f"conv {x_type} {w_type} {per_channel} {bias}", m.bytes([1, 3, 7, 5], [1, 4, 4, 3]),
          ([1, 3, 7, 5], x), ([1, 4, 4, 3], out), ["QLinearConv"])


def matmul(x_type, w_type, per_column, rounds):
    """[2, 3, 6] times [6, 5]."""
    sx, zx, sy, zy = 2.0 ** -3, -7 if x_type == I8 else 90, 2.0 ** -1, 2
    sw = [2.0 ** -(3 + c % 3) for c in range(5)] if per_column else [2.0 ** -4]
    zw = [0 if w_type == I8 else 128] * len(sw)
    w = numbers(30, -100, 100) if w_type == I8 else numbers(30, 0, 255)
    x = [v / 8 for v in numbers(36, -100, 100)]
    m = Model()
    y = m.call("MatMul", [m.through("x", sx, zx, x_type),
                          m.dequantize(m.constant([6, 5], w_type, w), sw, zw, w_type, axis=1)])
    m.call("Identity", [m.through(y, sy, zy, x_type) if rounds else y], "y")
    q = [quantize(v, sx, zx, x_type) - zx for v in x]
    out = []
    for r in range(6):
        for c in range(5):
            total = sum(q[6 * r + k] * (w[5 * k + c] - zw[c % len(zw)]) for k in range(6))
            v = total * sx * sw[c % len(sw)]
            out.append((quantize(v, sy, zy, x_type) - zy) * sy if rounds else v)
    check(f"matmul {x_type} {w_type} {per_column} {rounds}", m.bytes([2, 3, 6], [2, 3, 5]),
          ([2, 3, 6], x), ([2, 3, 5], out), ["QLinearMatMul" if rounds else "MatMulInteger"])


def add():
    sa, sb, sy = 2.0 ** -4, 2.0 ** -3, 2.0 ** -2
    x = [v / 16 for v in numbers(24, -120, 120)]
    b = numbers(6, -100, 100)
    m = Model()
    y = m.call("Add", [m.through("x", sa, 128, U8),
                       m.dequantize(m.constant([6], I8, b), [sb], [0], I8)])
    m.call("Identity", [m.through(m.call("Relu", [y]), sy, 0, U8)], "y")
    out = [quantize(max((quantize(v, sa, 128, U8) - 128) * sa + b[i % 6] * sb, 0), sy, 0, U8) * sy
           for i, v in enumerate(x)]
    check("add", m.bytes([4, 6], [4, 6]), ([4, 6], x), ([4, 6], out), ["QuantizeLinear"])


if __name__ == "__main__":
    for x_kind, w_kind in ((U8, I8), (U8, U8), (I8, I8)):
        for each in (False, True):
            conv(x_kind, w_kind, each, each)
            conv(x_kind, w_kind, each, not each)
            matmul(x_kind, w_kind, each, True)
            matmul(x_kind, w_kind, each, False)
    add()
    print(f"25 models, {len(failures)} failed")
    sys.exit(1 if failures else 0)
