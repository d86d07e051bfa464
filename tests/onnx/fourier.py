"""fourier.py - DFT and STFT of every form and of even, odd and tiny lengths, against sums in plain
Python; and how much arithmetic is planned for one: rows are folded, so half of a full product."""
import cmath
import json
import os
import random
import struct
import subprocess
import sys

from _pb import Graph, floats, ints, model, node, tensor, value

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.environ.get("TAKT_TOOL", os.path.join(ROOT, "build", "takt"))
TMP = os.environ.get("TAKT_TEST_TMP", "/tmp")
F32, I64 = 1, 7
generator = random.Random(5)


def draw(count):
    """Numbers that f32 holds exactly."""
    return [generator.randrange(-64, 65) / 16 for _ in range(count)]


def turned(row, n, columns, sign):
    return [sum(v * cmath.exp(sign * 2j * cmath.pi * (r * k % n) / n) for r, v in enumerate(row))
            for k in range(columns)]


def answer(row, n, inverse, onesided):
    """The standard's definition for one row of complex numbers."""
    if inverse and onesided:
        whole = row + [v.conjugate() for v in row[1:(n + 1) // 2][::-1]]
        return [v.real / n for v in turned(whole, n, n, 1)]
    found = turned(row, n, n // 2 + 1 if onesided else n, 1 if inverse else -1)
    return [v / n for v in found] if inverse else found


class Model:
    """One graph of many transforms, with their inputs and expected results."""

    def __init__(self):
        self.nodes, self.weights, self.given, self.wanted = [], [], {}, {}

    def constant(self, number):
        name = f"c{len(self.weights)}"
        self.weights.append(tensor(name, [], I64, ints(number)))
        return name

    def dft(self, n, parts, inverse, onesided):
        size = n // 2 + 1 if inverse and onesided else n
        x, k = draw(2 * size * parts), len(self.nodes)
        if inverse and onesided:  # of real rows: these have no imaginary part
            for row in range(2):
                ends = (0, size - 1) if n % 2 == 0 else (0,)
                for at in ends:
                    x[(row * size + at) * parts + 1] = 0.0
        rows = [[complex(*x[(r * size + i) * parts:][:parts]) for i in range(size)]
                for r in range(2)]
        y = [v for row in rows for v in answer(row, n, inverse, onesided)]
        if not (inverse and onesided):
            y = [part for v in y for part in (v.real, v.imag)]
        self.given[f"x{k}"] = ([2, size, parts], x)
        last = 1 if inverse and onesided else 2
        self.wanted[f"y{k}"] = ([2, len(y) // 2 // last, last], y)
        self.nodes.append(node("DFT", [f"x{k}", self.constant(n), self.constant(1)], [f"y{k}"],
                               name=f"n{k}", inverse=int(inverse), onesided=int(onesided)))

    def stft(self, n, step, length):
        x, k, window = draw(length), len(self.nodes), draw(n)
        frames = [[x[at + i] * window[i] for i in range(n)]
                  for at in range(0, length - n + 1, step)]
        y = [part for row in frames for v in turned(row, n, n // 2 + 1, -1)
             for part in (v.real, v.imag)]
        self.given[f"x{k}"] = ([1, length, 1], x)
        self.wanted[f"y{k}"] = ([1, len(frames), n // 2 + 1, 2], y)
        self.weights.append(tensor(f"w{k}", [n], F32, floats(*window)))
        self.nodes.append(node("STFT", [f"x{k}", self.constant(step), f"w{k}", self.constant(n)],
                               [f"y{k}"], name=f"n{k}"))

    def write(self, folder):
        os.makedirs(folder, exist_ok=True)
        values = [[value(name, dims) for name, (dims, _) in of.items()]
                  for of in (self.given, self.wanted)]
        path = os.path.join(folder, "fourier.onnx")
        with open(path, "wb") as file:
            file.write(model(Graph(self.nodes, *values, self.weights), 20))
        for kind, of in (("input", self.given), ("output", self.wanted)):
            for i, (name, (dims, items)) in enumerate(of.items()):
                with open(os.path.join(folder, f"{kind}_{i}.pb"), "wb") as file:
                    file.write(tensor(name, dims, F32, struct.pack(f"<{len(items)}f", *items)))
        return path


def takt(*words):
    return subprocess.run([TOOL, *words], text=True, capture_output=True, check=False)


def answers():
    made = Model()
    for n in (1, 2, 3, 4, 5, 7, 8, 15, 16):
        for parts, inverse, onesided in ((1, 0, 0), (1, 0, 1), (1, 1, 0), (2, 0, 0), (2, 1, 0),
                                         (2, 1, 1)):
            made.dft(n, parts, inverse, onesided)
        made.stft(n, 3, 20)
    folder = os.path.join(TMP, "fourier")
    path, failed = made.write(folder), 0
    for backend in ("ref", "cpu"):
        run = takt("run", path, "--test", folder, "--backend", backend, "--rtol", "1e-5", "--atol",
                   "1e-4")
        if run.returncode != 0:
            failed += 1
            print(f"FAILED on {backend}: {(run.stdout + run.stderr).strip()[:800]}")
    return failed


def arithmetic():
    """For 32 real rows of 512: two products with 257 columns, each over half the rows."""
    made = Model()
    made.nodes.append(node("DFT", ["x", made.constant(512), made.constant(1)], ["y"], onesided=1))
    made.given["x"], made.wanted["y"] = ([32, 512, 1], [0.0]), ([32, 257, 2], [0.0])
    run = takt("plan", "--json", made.write(os.path.join(TMP, "fourier_work")))
    if run.returncode != 0:
        print(f"FAILED: {run.stderr.strip()[:400]}")
        return 1
    flops = sum(step["flops"] for step in json.loads(run.stdout)["steps"])
    whole = 2 * 2 * 32 * 512 * 257
    if not 0 < flops <= 0.55 * whole:
        print(f"FAILED: {flops} flops are planned, of {whole} without folding")
        return 1
    return 0


sys.exit(1 if answers() + arithmetic() else 0)
