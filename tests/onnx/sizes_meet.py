"""sizes_meet.py - broadcasting of run-time sizes with each other or with a number: a run finds
whether one of them is 1. Results are compared with onnxruntime if it is installed."""
import os
import re
import sys

import corners
from _pb import floats, ints, node, tensor, value, Graph
from branches import says
from corners import BOOL, F32, I8, I64, store, takt
from loops_nested import body, planned

WEIGHTS = [tensor("zero", [1], I64, ints(0)), tensor("i0", [], I64, ints(0)),
           tensor("yes", [], BOOL, b"\1"), tensor("column", [2], I64, ints(-1, 1)),
           tensor("half", [], F32, floats(0.5)), tensor("ones", [], F32, floats(1))]
NAMES = {"x": ["n"], "y": ["m"]}
COUNTS = ((1, 3), (3, 1), (3, 3), (1, 1), (0, 1), (1, 0), (0, 0), (5, 1), (1, 6))


def some(x, to):
    """The non-zero elements of `x`."""
    return [node("NonZero", [x], ["at_" + to], "find_" + to),
            node("Squeeze", ["at_" + to, "zero"], ["in_" + to]),
            node("Gather", [x, "in_" + to], [to], to, axis=0)]


def numbers(count, size, start):
    return [float(start + i) for i in range(count)] + [0.0] * (size - count)


def spread(a, b):
    """Both have the broadcast size."""
    size = len(b) if len(a) == 1 else len(a)
    return zip(*(v * size if len(v) == 1 else v for v in (a, b)))


def each(what, nodes, want, shape=None):
    for m, n in COUNTS:
        x, y = numbers(m, 5, 2), numbers(n, 7, -1.5)
        a, b = ([v for v in row if v != 0] for row in (x, y))
        result = want(a, b)
        planned(f"{what}, {len(a)} and {len(b)}", [*some("x", "a"), *some("y", "b"), *nodes],
                {"x": ([5], x, F32), "y": ([7], y, F32)},
                {"z": (shape(a, b) if shape else [len(result)], result, F32)}, WEIGHTS, NAMES)


def operators():
    each("Add", [node("Add", ["a", "b"], ["z"])], lambda a, b: [p + q for p, q in spread(a, b)])
    each("Max", [node("Max", ["a", "b", "half"], ["z"])],
         lambda a, b: [max(p, q, 0.5) for p, q in spread(a, b)])
    each("Where", [node("Less", ["b", "a"], ["c"]), node("Where", ["c", "b", "a"], ["z"])],
         lambda a, b: [min(p, q) for p, q in spread(a, b)])
    each("Expand", [node("Shape", ["b"], ["s"]), node("Expand", ["a", "s"], ["z"])],
         lambda a, b: [p for p, _ in spread(a, b)])


def again():
    """The broadcast size is broadcast again with each of them, and with itself."""
    each("again", [node("Add", ["a", "b"], ["s"]), node("Mul", ["s", "b"], ["t"]),
                   node("Sub", ["a", "t"], ["u"]), node("Mul", ["b", "a"], ["v"]),
                   node("Add", ["u", "v"], ["z"])],
         lambda a, b: [p - (p + q) * q + q * p for p, q in spread(a, b)])
    each("a column", [node("Reshape", ["a", "column"], ["c"]), node("Add", ["c", "b"], ["t"]),
                      node("Mul", ["t", "b"], ["z"])],
         lambda a, b: [(p + q) * q for p in a for q in b], lambda a, b: [len(a), len(b)])


def three():
    """Each of three may be 1."""
    for sizes in ((1, 1, 3), (1, 3, 1), (3, 1, 1), (1, 3, 3), (3, 1, 3), (3, 3, 1), (1, 1, 0)):
        rows = [numbers(size, 4, 2 + i) for i, size in enumerate(sizes)]
        most = 0 if 0 in sizes else max(sizes)
        x, y, v = ((row[:size] * most)[:most] if size == 1 else row[:size]
                   for row, size in zip(rows, sizes))
        inputs = {name: ([4], row, F32) for name, row in zip("xyv", rows)}
        found = [*some("x", "a"), *some("y", "b"), *some("v", "c")]
        nodes = {"Sum": [node("Sum", ["a", "b", "c"], ["z"])],
                 "Where": [node("Less", ["c", "a"], ["d"]), node("Where", ["d", "b", "c"], ["z"])]}
        want = {"Sum": [sum(n) for n in zip(x, y, v)],
                "Where": [q if r < p else r for p, q, r in zip(x, y, v)]}
        for op, made in nodes.items():
            planned(f"{op} of {sizes}", found + made, inputs, {"z": ([most], want[op], F32)},
                    WEIGHTS, {"x": ["n"], "y": ["m"], "v": ["k"]})


def loops():
    """Other sizes in every iteration."""
    turn = [node("Mul", ["row", "ones"], ["x0"]), *some("x0", "a"), *some("y", "b"),
            node("Add", ["a", "b"], ["w"]), node("ReduceSum", ["w", "zero"], ["s"], keepdims=0)]
    rows = [[1.0, 0, 0], [1.0, 1, 1], [0.0, 0, 2], [2.0, 1, 3]]
    nodes = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "i0"], ["many"], axis=0),
             node("Loop", ["many", "yes"], ["z"], "loop", body=body(turn, [], [("s", [])]))]
    for y in ([4.0, 0, 5, 6], [0.0, 0, 7, 0]):
        b = [v for v in y if v != 0]
        want = [sum(p + q for p, q in spread([v for v in row if v != 0], b))
                for row in rows]
        planned(f"in a loop, {len(b)}", nodes,
                {"x": ([4, 3], sum(rows, []), F32), "y": ([4], y, F32)},
                {"z": ([4], want, F32)}, WEIGHTS, {"x": ["n", "k"], "y": ["m"]})


def fixed():
    """A run-time size and a number: the number, if the size equals it or is 1."""
    weights = WEIGHTS + [tensor("three", [3], F32, floats(4, 5, 6)),
                         tensor("rows", [3, 1], F32, floats(4, 5, 6)),
                         tensor("size", [1], I64, ints(3)), tensor("wide", [2], I64, ints(2, 3))]
    nodes = {"after": [node("Add", ["a", "three"], ["z"], "sum")],
             "before": [node("Sub", ["three", "a"], ["z"], "sum")],
             "twice": [node("Add", ["a", "three"], ["s"], "sum"), node("Mul", ["s", "a"], ["z"])],
             "Where": [node("Less", ["three", "a"], ["c"], "sum"),
                       node("Where", ["c", "three", "a"], ["z"])],
             "Expand": [node("Expand", ["a", "size"], ["z"], "sum")],
             "Expand to more": [node("Expand", ["a", "wide"], ["z"], "sum")],
             "a fixed one": [node("Shape", ["a"], ["s"]),
                             node("Expand", ["three", "s"], ["z"], "sum")]}
    want = {"after": lambda a, b: a + b, "before": lambda a, b: b - a,
            "twice": lambda a, b: (a + b) * a, "Where": min, "Expand": lambda a, _: a,
            "Expand to more": lambda a, _: a, "a fixed one": lambda _, b: b}
    for what, made in nodes.items():
        for count in (1, 3):
            x = numbers(count, 5, 2)
            result = [want[what](p, q) for p, q in spread(x[:count], [4.0, 5, 6])]
            shape = [2, 3] if what == "Expand to more" else [3]
            planned(f"{what}, {count} and 3", [*some("x", "a"), *made], {"x": ([5], x, F32)},
                    {"z": (shape, result * len(shape), F32)}, weights, {"x": ["n"]})
        for count in (0, 2, 4):
            path, folder = store(13, [*some("x", "a"), *made],
                                 {"x": ([5], numbers(count, 5, 2), F32)},
                                 {"z": ([0], [], F32)}, weights, {"x": ["n"]})
            says(f"{what}, {count}", takt("run", path, "--test", folder), 1, "5016",
                 f"a size is {count}, and has to be 3", "sum")


def refused():
    """Neither equal nor 1."""
    nodes = [*some("x", "a"), *some("y", "b"), node("Add", ["a", "b"], ["z"], "sum")]
    for m, n in ((2, 3), (3, 2), (0, 2), (2, 0)):
        path, folder = store(13, nodes, {"x": ([5], numbers(m, 5, 2), F32),
                                         "y": ([7], numbers(n, 7, 1), F32)},
                             {"z": ([0], [], F32)}, WEIGHTS, NAMES)
        for backend in ("cpu", "ref"):
            run = takt("run", path, "--test", folder, "--backend", backend)
            says(f"{m} and {n}, {backend}", run, 1, "5016", f"a size is {n}, and has to be {m}",
                 "sum")


def bound():
    """Memory is that of the larger bound."""
    nodes = [*some("x", "a"), *some("y", "b"), node("Add", ["a", "b"], ["z"], "sum")]
    path, _ = store(13, nodes, {"x": ([5], [0.0] * 5, F32), "y": ([7], [0.0] * 7, F32)},
                    {"z": ([0], [], F32)}, WEIGHTS, NAMES)
    says("its bound", takt("plan", path, "-D", "n=5", "-D", "m=7"), 0, "f32[<= 7]")


def loaded():
    """The size of an activation needs no weight that it is computed from: those are not computed in
    double precision while the model is read, which would take 2 MB for each of three nodes."""
    weights = [tensor("w", [512, 512], I8, bytes(i % 251 for i in range(512 * 512))),
               tensor("s", [512], F32, floats(*[0.25] * 512)),
               tensor("p", [512], I8, bytes(512))]
    nodes = [node("DequantizeLinear", ["w", "s", "p"], ["d"], axis=1),
             node("MatMul", ["x", "d"], ["y"]), node("Shape", ["y"], ["shape"]),
             node("Add", ["y", "y"], ["t"]), node("Reshape", ["t", "shape"], ["z"])]
    path, _ = store(13, nodes, {"x": ([2, 512], [0.0] * 1024, F32)}, {"z": ([2, 512], [], F32)},
                    weights, {"x": ["n", 512]})
    run = takt("plan", path, "-D", "n=2")
    found = re.search(r"loading and planning: at most ([\d,]+) at once", run.stdout)
    if found is None or int(found[1].replace(",", "")) > 3 << 20:
        corners.fail("loaded", found[0] if found else run.stderr)


if __name__ == "__main__":
    loaded()
    operators()
    again()
    three()
    loops()
    fixed()
    refused()
    bound()
    os.remove(os.path.join(corners.TMP, "corner.onnx"))
    print(f"{corners.count} models, {len(corners.failures)} failed")
    sys.exit(len(corners.failures) > 0)
