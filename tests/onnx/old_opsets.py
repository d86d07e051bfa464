"""old_opsets.py - forms that exporters wrote for opset 6 to 10, where settings are attributes, and
named sizes, against results computed in plain Python."""
import itertools
import os
import struct
import subprocess
import sys

from _ml import f32
from _pb import Graph, field, floats, ints, model, node, tensor, value

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.environ.get("TAKT_TOOL", os.path.join(ROOT, "build", "takt"))
TMP = os.environ.get("TAKT_TEST_TMP", "/tmp")
FORMATS = {1: "f", 6: "i", 7: "q", 9: "?"}
failures = []
count = 0


def data(name, dims, items, dtype=1):
    return tensor(name, dims, dtype, struct.pack(f"<{len(items)}{FORMATS[dtype]}", *items))


def write(path, body):
    with open(path, "wb") as file:
        file.write(body)


def check(name, opset, nodes, x, y, weights=(), named=None):
    """`x`: (dims, floats); `y`: list of (dims, numbers, type); `named`: the dims of x in the file,
    with which the model must load without knowing x."""
    global count
    count += 1
    folder, path = os.path.join(TMP, "case"), os.path.join(TMP, "case.onnx")
    os.makedirs(folder, exist_ok=True)
    for file in os.listdir(folder):
        os.remove(os.path.join(folder, file))
    outputs = [value(f"y{i}", [f"d{i}{k}" for k in range(len(dims))] if named else dims, kind)
               for i, (dims, _, kind) in enumerate(y)]
    graph = Graph(nodes, [value("x", named or x[0])], outputs, weights)
    write(path, model(graph, opset, field(8, field(1, "ai.onnx.ml") + field(2, 1))))
    write(os.path.join(folder, "input_0.pb"), data("x", *x))
    for i, (dims, items, kind) in enumerate(y):
        write(os.path.join(folder, f"output_{i}.pb"), data(f"y{i}", dims, items, kind))
    commands = [["run", path, "--test", folder, "--backend", backend, "--rtol", "1e-5"]
                for backend in ("ref", "cpu")]
    if named:  # loaded without knowing x, it keeps its names
        kept = os.path.join(TMP, "case.taktp")
        commands += [["inspect", path], ["convert", path, "-o", kept],
                     ["run", kept, "--test", folder, "--rtol", "1e-5"]]
    for command in commands:
        got = subprocess.run([TOOL, *command], text=True, capture_output=True, check=False)
        if got.returncode != 0:
            failures.append(name)
            print(f"FAILED: {name}: {(got.stdout + got.stderr).strip()[:400]}")
            return


def one(name, opset, op, x, y, weights=(), extra=(), **attrs):
    check(name, opset, [node(op, ["x", *extra], [f"y{i}" for i in range(len(y))], **attrs)], x, y,
          weights)


def attributes():
    row = ([2, 4], [1.0, -2, 3, 4, -5, 6, 7, -8])
    one("Clip 6", 7, "Clip", row, [([2, 4], [1, -1, 2, 2, -1, 2, 2, -1], 1)], min=-1.0, max=2.0)
    one("Slice 1", 7, "Slice", row, [([2, 2], [-2, 3, 6, 7], 1)], axes=[1], starts=[1], ends=[-1])
    one("Slice 1 without axes", 8, "Slice", row, [([1, 2], [-5, 6], 1)], starts=[1, 0],
        ends=[100, 2])
    one("Pad 2", 9, "Pad", ([2, 1], [1.0, 2]), [([2, 4], [.5, 1, .5, .5, .5, 2, .5, .5], 1)],
        pads=[0, 1, 0, 2], value=0.5)
    one("Pad 2, reflected", 9, "Pad", ([3], [1.0, 2, 3]), [([6], [3, 2, 1, 2, 3, 2], 1)],
        pads=[2, 1], mode="reflect")
    one("TopK 1", 9, "TopK", row, [([2, 2], [4, 3, 7, 6], 1), ([2, 2], [3, 2, 2, 1], 7)], axis=1,
        k=2)
    one("Squeeze 1", 7, "Squeeze", ([1, 2, 1], [1.0, 2]), [([2, 1], [1, 2], 1)], axes=[0])
    one("Unsqueeze 1", 7, "Unsqueeze", ([2], [1.0, 2]), [([1, 2, 1], [1, 2], 1)], axes=[0, 2])
    one("Split 2", 7, "Split", row, [([2, 1], [1, -5], 1), ([2, 3], [-2, 3, 4, 6, 7, -8], 1)],
        axis=1, split=[1, 3])
    one("ReduceSum 1", 7, "ReduceSum", row, [([2], [6, 0], 1)], axes=[1], keepdims=0)
    one("Dropout 7", 7, "Dropout", row, [(row[0], row[1], 1)], ratio=0.5)
    one("Softmax 1 over all that follow", 7, "Softmax", ([1, 2, 2], [0.0, 0, 0, 0]),
        [([1, 2, 2], [.25] * 4, 1)])
    one("Upsample 7", 7, "Upsample", ([1, 1, 1, 2], [1.0, 2]),
        [([1, 1, 2, 4], [1, 1, 2, 2] * 2, 1)], scales=[1.0, 1.0, 2.0, 2.0], mode="nearest")
    one("Gemm 7", 7, "Gemm", ([1, 2], [1.0, 2]), [([1, 2], [2 * (1 + 6) + .5, 2 * (2 + 8) + 1], 1)],
        [tensor("b", [2, 2], 1, floats(1, 2, 3, 4)), tensor("c", [2], 1, floats(1, 2))],
        ["b", "c"], alpha=2.0, beta=0.5)
    one("BatchNormalization 7", 7, "BatchNormalization", ([1, 2, 1], [3.0, 5]),
        [([1, 2, 1], [(3 - 1) / 2 * 2 + 1, (5 - 1) / 2 * 3 + 2], 1)],
        [tensor(n, [2], 1, floats(*v)) for n, v in
         (("s", (2, 3)), ("b", (1, 2)), ("m", (1, 1)), ("v", (4, 4)))],
        ["s", "b", "m", "v"], epsilon=0.0)


def before_seven():
    """Attributes aligned the second operand with the first; PRelu's slopes were per channel."""
    x = ([2, 3, 1, 2], [float(v) for v in range(-6, 6)])
    channel = [v // 2 % 3 for v in range(12)]
    b = tensor("b", [3], 1, floats(1, 2, 4))
    for op, of in (("Add", lambda p, q: p + q), ("Sub", lambda p, q: p - q),
                   ("Mul", lambda p, q: p * q), ("Div", lambda p, q: p / q)):
        for axis in (1, -3):
            one(f"{op} 6 from axis {axis} on", 6, op, x,
                [(x[0], [of(v, (1, 2, 4)[c]) for v, c in zip(x[1], channel)], 1)], [b], ["b"],
                broadcast=1, axis=axis)
    one("Add 6 at the end", 6, "Add", x, [(x[0], [v + (10, 20)[i % 2] for i, v in enumerate(x[1])],
                                           1)],
        [tensor("b", [2], 1, floats(10, 20))], ["b"], broadcast=1)
    one("Greater 1", 6, "Greater", x, [(x[0], [v > 0 for v in x[1]], 9)],
        [tensor("b", [1], 1, floats(0))], ["b"], broadcast=1)
    sloped = [v if v > 0 else v * (1, 2, 4)[c] for v, c in zip(x[1], channel)]
    one("PRelu 6", 6, "PRelu", x, [(x[0], sloped, 1)], [b], ["b"])
    one("PRelu 7", 7, "PRelu", x, [(x[0], sloped, 1)], [tensor("b", [3, 1, 1], 1, floats(1, 2, 4))],
        ["b"])


def inputs():
    one("Upsample 9", 9, "Upsample", ([1, 1, 1, 2], [1.0, 2]),
        [([1, 1, 1, 4], [1, 1, 2, 2], 1)], [tensor("s", [4], 1, floats(1, 1, 1, 2))], ["s"])
    one("Slice 10", 10, "Slice", ([6], [0.0, 1, 2, 3, 4, 5]), [([3], [5, 3, 1], 1)],
        [tensor(n, [1], 7, ints(v)) for n, v in (("a", -1), ("b", -100), ("c", 0), ("d", -2))],
        ["a", "b", "c", "d"])
    one("TopK 10", 10, "TopK", ([3], [1.0, 3, 2]), [([2], [3, 2], 1), ([2], [1, 2], 7)],
        [tensor("k", [1], 7, ints(2))], ["k"])
    one("Resize 10", 10, "Resize", ([1, 1, 1, 3], [1.0, 2, 3]), [([1, 1, 1, 6], [1, 1, 2, 2, 3, 3],
                                                                  1)],
        [tensor("s", [4], 1, floats(1, 1, 1, 2))], ["s"])
    # One size down takes the next element, not the previous one.
    one("Resize 10, smaller", 10, "Resize", ([1, 4], [1.0, 2, 3, 4]), [([1, 2], [1, 3], 1)],
        [tensor("s", [2], 1, floats(1, 0.6))], ["s"])
    resized()
    one("Reshape 5", 7, "Reshape", ([2, 2, 2], [float(v) for v in range(8)]),
        [([2, 4], list(range(8)), 1)], [tensor("s", [2], 7, ints(0, -1))], ["s"])
    one("Expand 8", 8, "Expand", ([2, 1], [1.0, 2]), [([2, 3], [1, 1, 1, 2, 2, 2], 1)],
        [tensor("s", [2], 7, ints(1, 3))], ["s"])


def resized():
    """Scales are f32, products and quotients with them too; ties of sizes are ties."""
    def row(n, places):
        return ([1, n], [float(v) for v in range(n)]), [([1, len(places)], places, 1)]

    for n, m, opset in itertools.product((3, 9, 11), (5, 17, 26), (9, 13)):
        if m > n:
            op, keys = ("Upsample", ["s"]) if opset == 9 else ("Resize", ["", "s"])
            how = {} if opset == 9 else {"coordinate_transformation_mode": "asymmetric",
                                         "nearest_mode": "floor"}
            size = int(f32(n * f32(m / n)))
            one(f"{op} {n} by {m}/{n}", opset, op,
                *row(n, [min(int(f32(x / f32(m / n))), n - 1) for x in range(size)]),
                [tensor("s", [2], 1, floats(1, m / n))], keys, **how)
    one("Resize by 4/3", 13, "Resize", *row(3, [0, 0, 1, 2]),
        [tensor("s", [2], 1, floats(1, 4 / 3))], ["", "s"], mode="nearest",
        coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    for n, m in ((14, 17), (20, 14), (18, 39)):
        for keys in (["", "", "s"], ["", "k"]):
            one(f"Resize {n} to {m}, centres", 13, "Resize",
                *row(n, [min(max(-(-((2 * x + 1) * n - 2 * m) // (2 * m)), 0), n - 1)
                         for x in range(m)]),
                [tensor("s", [2], 7, ints(1, m)), tensor("k", [2], 1, floats(1, m / n))], keys)
    one("Resize 7 to 29, corners", 13, "Resize", *row(7, [(2 * x * 6 + 28) // 56
                                                          for x in range(29)]),
        [tensor("s", [2], 7, ints(1, 29))], ["", "", "s"],
        coordinate_transformation_mode="align_corners", nearest_mode="round_prefer_ceil")
    one("Resize 14 to 2", 13, "Resize", *row(14, [0, 7]), [tensor("s", [2], 7, ints(1, 2))],
        ["", "", "s"], coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def positions_by_name():
    """Parts of a table of positions, as transformers have it, and a range of floats."""
    table = tensor("table", [9], 1, floats(*range(10, 19)))
    numbers = [tensor("i0", [1], 7, ints(0)), tensor("i1", [1], 7, ints(1)),
               tensor("f0", [], 1, floats(0)), tensor("f1", [], 1, floats(1)),
               tensor("s1", [], 7, ints(1))]
    shape = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "i0"], ["n"]),
             node("Gather", ["s", "i1"], ["k"]), node("Add", ["n", "k"], ["nk"]),
             node("Sub", ["k", "i1"], ["k1"])]
    zeros = ([2, 4], [0.0] * 8)
    for name, start, stop, first, count, names in (
            ("to a name", "i0", "k", 0, 4, ["n", "k"]),
            ("between names", "n", "nk", 2, 4, ["n", "k"]),
            ("from a number to a name", "i1", "nk", 1, 5, ["n", "k"]),
            ("to a number next to a name", "i0", "k1", 0, 3, ["n", 4])):
        check(f"Slice {name}", 13, shape + [node("Slice", ["table", start, stop], ["y0"])],
              zeros, [([count], [10.0 + first + v for v in range(count)], 1)], [table, *numbers],
              names)
    check("Range between names", 13,
          shape + [node("Squeeze", ["n"], ["from"]), node("Squeeze", ["nk"], ["to"]),
                   node("Range", ["from", "to", "s1"], ["y0"])],
          zeros, [([4], [2, 3, 4, 5], 7)], numbers, ["n", "k"])
    check("Range of floats to a name", 13,
          shape + [node("Gather", ["s", "s1"], ["one"]), node("Cast", ["one"], ["f"], to=1),
                   node("Range", ["f0", "f", "f1"], ["y0"])],
          zeros, [([4], [0, 1, 2, 3], 1)], numbers, ["n", "k"])


def named_sizes():
    """ConvTranspose of a size that has a name: y[2 i + k] += x[i] w[k], without the two ends."""
    w, x = [1.0, 2.0, 4.0], [1.0, 3.0, 5.0, 7.0]
    full = [0.0] * (2 * 3 + 3 + 1)
    for i, v in enumerate(x):
        for k, c in enumerate(w):
            full[2 * i + k] += v * c
    y = full[1:-1]
    check("ConvTranspose of a named size", 11,
          [node("ConvTranspose", ["x", "w"], ["y0"], strides=[2], pads=[1, 1], output_padding=[1])],
          ([1, 1, 4], x), [([1, 1, len(y)], y, 1)], [tensor("w", [1, 1, 3], 1, floats(*w))],
          ["n", 1, "t"])
    # torch's expand: where(shape == -1, 1, shape); no dimension is -1.
    check("Expand to a named size", 13,
          [node("Shape", ["x"], ["s"]), node("Mul", ["ones", "minus"], ["m"]),
           node("Equal", ["s", "m"], ["e"]), node("Where", ["e", "ones", "s"], ["t"]),
           node("Expand", ["w", "t"], ["y0"])],
          ([2, 3], [0.0] * 6), [([2, 3], [5.0] * 6, 1)],
          [tensor("w", [1, 1], 1, floats(5)), tensor("ones", [2], 7, ints(1, 1)),
           tensor("minus", [], 7, ints(-1))], ["n", "k"])
    # A size that is compared with others: larger than nothing, and equal to itself.
    check("comparisons of a named size", 13,
          [node("Shape", ["x"], ["s"]), node("GreaterOrEqual", ["s", "zeros"], ["a"]),
           node("Less", ["s", "zeros"], ["b"]), node("Equal", ["s", "s"], ["c"]),
           node("Where", ["a", "s", "zeros"], ["t"]), node("Where", ["b", "zeros", "t"], ["u"]),
           node("Where", ["c", "u", "zeros"], ["v"]), node("Expand", ["w", "v"], ["y0"])],
          ([2, 3], [0.0] * 6), [([2, 3], [5.0] * 6, 1)],
          [tensor("w", [1, 1], 1, floats(5)), tensor("zeros", [2], 7, ints(0, 0))], ["n", "k"])
    positions_by_name()
    # scikit-learn's classifiers: labels by the index of the largest score.
    check("labels of a named number of rows", 13,
          [node("ArgMax", ["x"], ["i"], axis=1),
           node("ArrayFeatureExtractor", ["labels", "i"], ["l"], domain="ai.onnx.ml"),
           node("Reshape", ["l", "all"], ["y0"])],
          ([3, 2], [0.0, 1, 2, 1, 0, 5]), [([3], [20, 10, 20], 7)],
          [tensor("labels", [2], 7, ints(10, 20)), tensor("all", [1], 7, ints(-1))], ["n", 2])


if __name__ == "__main__":
    before_seven()
    attributes()
    inputs()
    named_sizes()
    print(f"{count} models, {len(failures)} failed")
    sys.exit(1 if failures or count < 67 else 0)
