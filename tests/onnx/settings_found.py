"""settings_found.py - inputs that are settings of an operator: the axis of a DFT, the frames of an
STFT, the picture of Col2Im and MaxUnpool, the bins of a mel matrix, training mode of a Dropout.

Each model is converted without their values, so a run has to find them. For several values it must
give the same results as with the values in the file, and refuse impossible ones.
"""
import os
import struct
import subprocess
import sys

from _pb import Graph, field, floats, ints, many, model, node, tensor, value

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.environ.get("TAKT_TOOL", os.path.join(ROOT, "build", "takt"))
TMP = os.environ.get("TAKT_TEST_TMP", "/tmp")
F32, I32, I64, BOOL = 1, 6, 7, 9
KINDS = {F32: ("<f4", "f"), I32: ("<i4", "i"), I64: ("<i8", "q"), BOOL: ("|b1", "?")}
failures = []


def path(name):
    return os.path.join(TMP, name)


def takt(*args):
    run = subprocess.run([TOOL, *args], text=True, capture_output=True, check=False)
    return run.returncode, run.stdout + run.stderr


def raw(kind, numbers):
    return struct.pack(f"<{len(numbers)}{KINDS[kind][1]}", *numbers)


def write_npy(name, kind, dims, numbers):
    shape = "(" + "".join(f"{d}, " for d in dims) + ")"
    head = f"{{'descr': '{KINDS[kind][0]}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (63 - (len(head) + 10) % 64) + b"\n"
    with open(path(name), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + raw(kind, numbers))


def read_npy(name, letter="f"):
    with open(path(name), "rb") as file:
        body = file.read()
    start = 10 + struct.unpack("<H", body[8:10])[0]
    size = struct.calcsize(letter)
    shape = body[10:start].split(b"shape")[1].strip()
    return shape, struct.unpack(f"<{(len(body) - start) // size}{letter}", body[start:])


def write(name, nodes, inputs, weights):
    graph = Graph(nodes, inputs, [value("y", ["a", "b", "c", "d"])], weights)
    with open(path(name), "wb") as file:
        file.write(model(graph, 20))


def run(name, given):
    arguments = [word for key in given for word in ("-i", f"{key}={path(key)}.npy")]
    return takt("run", path(name), *arguments, "--bound", "40", "-o", "y=" + path("y.npy"))


class Case:
    """Nodes, values that are always inputs, and settings: name to (type, dims)."""

    def __init__(self, name, nodes, data, settings, weights=()):
        self.name, self.nodes, self.data, self.settings = name, nodes, data, settings
        self.weights = list(weights)
        for key, (kind, dims, numbers) in data.items():
            write_npy(f"{key}.npy", kind, dims, numbers)
        self.inputs = [value(key, list(dims), kind) for key, (kind, dims, _) in data.items()]
        write("v.onnx", nodes, self.inputs + [value(key, list(dims), kind) for key, (kind, dims)
                                              in settings.items()], self.weights)
        code, text = takt("convert", path("v.onnx"), "-o", path("v.taktp"))
        if code != 0:
            failures.append(f"{name}: {text[:300]}")

    def found(self, numbers):
        for key, (kind, dims) in self.settings.items():
            write_npy(f"{key}.npy", kind, dims, numbers[key])
        return run("v.taktp", [*self.data, *self.settings])

    def same(self, letter="f", **numbers):
        code, text = self.found(numbers)
        if code != 0:
            failures.append(f"{self.name} {numbers}: {text[:300]}")
            return
        shape, one = read_npy("y.npy", letter)
        fixed = [tensor(key, list(dims), kind, raw(kind, numbers[key]))
                 for key, (kind, dims) in self.settings.items()]
        write("k.onnx", self.nodes, self.inputs, self.weights + fixed)
        code, text = run("k.onnx", self.data)
        if code != 0:
            failures.append(f"{self.name} {numbers}, known: {text[:300]}")
            return
        other, two = read_npy("y.npy", letter)
        if shape != other or any(abs(a - b) > 1e-5 * (1 + abs(b)) for a, b in zip(one, two)):
            failures.append(f"{self.name} {numbers}: {shape} {one[:4]}, known {other} {two[:4]}")

    def refused(self, words, **numbers):
        code, text = self.found(numbers)
        if code == 0 or words not in text:
            failures.append(f"{self.name} {numbers}: {code}, {text[:300]}")


def wave(count):
    return [(37 * i % 101) / 7 - 5 for i in range(count)]


def fourier():
    for parts, attrs in ((1, {}), (2, {"inverse": 1}), (1, {"onesided": 1}),
                         (2, {"inverse": 1, "onesided": 1})):
        case = Case(f"DFT {attrs}", [node("DFT", ["x", "", "axis"], ["y"], **attrs)],
                    {"x": (F32, (2, 6, 5, parts), wave(60 * parts))}, {"axis": (I64, ())})
        for axis in (1, 2, -2, -3):
            case.same(axis=[axis])
        for axis in (3, -1, 4, -5):
            case.refused("gather", axis=[axis])
    signal = {"x": (F32, (2, 40, 1), wave(80))}
    window = tensor("w", [8], F32, floats(*wave(8)))
    case = Case("STFT", [node("STFT", ["x", "step", "w"], ["y"])], signal, {"step": (I64, ())},
                [window])
    for step in (1, 3, 8, 33):
        case.same(step=[step])
    case.refused("TAKT5014", step=[0])
    for sided in (0, 1):
        case = Case("STFT", [node("STFT", ["x", "step", "", "n"], ["y"], onesided=sided)], signal,
                    {"step": (I64, ()), "n": (I64, ())})
        for step, n in ((4, 8), (5, 7), (1, 40)):
            case.same(step=[step], n=[n])
        for n in (41, 0, -1):
            case.refused("TAKT5014", step=[4], n=[n])


def pictures():
    columns = {"x": (F32, (2, 12, 12), wave(288))}
    sizes = {"image": (I64, (2,)), "block": (I64, (2,))}
    case = Case("Col2Im", [node("Col2Im", ["x", "image", "block"], ["y"])], columns, sizes)
    for image, block in (((4, 5), (2, 2)), ((5, 5), (2, 3)), ((12, 2), (1, 2)), ((3, 4), (1, 1))):
        case.same(image=image, block=block)
    case.refused("TAKT501", image=(4, 4), block=(2, 2))
    case.refused("TAKT501", image=(5, 4), block=(1, 5))
    case = Case("Col2Im", [node("Col2Im", ["x", "image", "block"], ["y"], pads=[1, 0, 0, 1],
                                strides=[1, 2], dilations=[2, 1])], columns, sizes)
    case.same(image=(5, 6), block=(2, 2))
    pool = Case("MaxUnpool", [node("MaxUnpool", ["x", "i", "shape"], ["y"], kernel_shape=[2, 2],
                                   strides=[2, 2])],
                {"x": (F32, (1, 1, 2, 2), wave(4)), "i": (I64, (1, 1, 2, 2), (0, 3, 9, 14))},
                {"shape": (I64, (4,))})
    for shape in ((1, 1, 4, 4), (1, 1, 5, 7)):
        pool.same(shape=shape)
    pool.refused("error", shape=(1, 1, 3, 4))


def tables():
    mel = Case("MelWeightMatrix", [node("MelWeightMatrix", ["n", "l", "r", "a", "b"], ["y"])], {},
               {"n": (I32, ()), "l": (I32, ()), "r": (I32, ()), "a": (F32, ()), "b": (F32, ())})
    for bins, length in ((8, 16), (3, 33), (1, 8)):
        mel.same(n=[bins], l=[length], r=[8192], a=[0.0], b=[4096.0])
    parts = Case("SplitToSequence", [node("SplitToSequence", ["x", "s"], ["t"], axis=1),
                                     node("SequenceAt", ["t", "one"], ["y"])],
                 {"x": (F32, (2, 7), wave(14))}, {"s": (I64, (3,))},
                 [tensor("one", [], I64, ints(1))])
    for split in ((2, 3, 2), (0, 7, 0), (6, 0, 1)):
        parts.same(s=split)
    for split in ((2, 3, 1), (2, 3, 3)):
        parts.refused("TAKT5016", s=split)
    empty = Case("Reshape", [node("Reshape", ["x", "s"], ["y"], allowzero=1)],
                 {"x": (F32, (0, 3, 4), ())}, {"s": (I64, (3,))})
    for shape in ((3, 4, 0), (0, 9, 2)):
        empty.same(s=shape)
    empty.refused("TAKT5016", s=(3, 4, 1))


def elements():
    """A number of index rows from an input, at most the rows of the indexed tensor."""
    case = Case("GatherElements", [node("Expand", ["i", "s"], ["at"]),
                                   node("GatherElements", ["x", "at"], ["y"], axis=1)],
                {"x": (F32, (4, 3), wave(12))}, {"s": (I64, (2,))},
                [tensor("i", [1, 3], I64, ints(2, 0, 1))])
    for count in (1, 3, 4):
        case.same(s=(count, 3))
    case.refused("TAKT5014", s=(5, 3))


def dropout():
    case = Case("Dropout", [node("Dropout", ["x", "rate", "on"], ["y"], seed=7)],
                {"x": (F32, (50, 40), wave(2000))}, {"rate": (F32, ()), "on": (BOOL, ())})
    for rate in (0.0, 0.25, 0.9, 1.0):
        case.same(rate=[rate], on=[True])
        case.same(rate=[rate], on=[False])
    code, _ = case.found({"rate": [0.25], "on": [True]})
    kept = sum(v != 0 for v in read_npy("y.npy")[1])
    if code != 0 or not 1350 < kept < 1650:
        failures.append(f"Dropout: {kept} of 2000 stay at a rate of 0.25")


def rows():
    """Rows of a loop whose size the file states, and a body that does not keep it."""
    body = many(1, [node("Identity", ["go"], ["still"]), node("Add", ["i", "one"], ["next"]),
                    node("Reshape", ["i", "list"], ["from"]),
                    node("Add", ["from", "width"], ["to"]), node("Slice", ["x", "from", "to"],
                                                                 ["row"])])
    body += field(2, "b") + many(5, [tensor("one", [], I64, ints(1)),
                                     tensor("list", [1], I64, ints(1))])
    body += many(11, [value("i", [], I64), value("go", [], BOOL)])
    body += many(12, [value("still", [], BOOL), value("row", [1])])
    loop = field(1, "n") + field(1, "") + field(2, "y") + field(4, "Loop")
    loop += field(5, field(1, "body") + field(6, body) + field(20, 5))
    case = Case("Loop", [loop], {"x": (F32, (6,), wave(6))},
                {"n": (I64, ()), "width": (I64, (1,))})
    for trips in (1, 4, 6):
        case.same(n=[trips], width=[1])
    case.refused("TAKT5016", n=[3], width=[2])


def main():
    fourier()
    pictures()
    tables()
    elements()
    dropout()
    rows()
    for failure in failures:
        print(f"FAILED: {failure}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
