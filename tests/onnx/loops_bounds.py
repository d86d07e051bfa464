"""loops_bounds.py - sizes computed from clipped values, such as boxes clipped to an image: their
bound follows from the clipping, and --bound is not needed."""
import os
import sys

import corners
from _pb import Graph, floats, ints, node, tensor, value
from branches import says
from corners import BOOL, F32, I64, TMP, fail, store, takt

WEIGHTS = [tensor("zero", [1], I64, ints(0)), tensor("one", [1], I64, ints(1)),
           tensor("i0", [], I64, ints(0)), tensor("i1", [], I64, ints(1)),
           tensor("low", [], F32, floats(0)), tensor("high", [], F32, floats(7)),
           tensor("half", [], F32, floats(0.5)), tensor("far", [], F32, floats(1e6)),
           tensor("yes", [], BOOL, b"\1")]


def run(name, nodes, given, results, names=None):
    """The same on both backends, and no --bound is needed."""
    corners.count += 1
    path, folder = store(13, nodes, given, results, WEIGHTS, names)
    for backend in ("ref", "cpu"):
        got = takt("run", path, "--test", folder, "--backend", backend)
        if got.returncode != 0:
            fail(name, got.stdout + got.stderr)


def cut(high="high"):
    return [node("Clip", ["x", "low", high], ["inside"]), node("Cast", ["inside"], ["n"], to=I64)]


def filled():
    """A count from a clipped input; arithmetic on the way changes the bound."""
    ways = {"plain": ([], "n", lambda v: int(v)),
            "scaled": ([node("Mul", ["inside", "half"], ["m"]), node("Cast", ["m"], ["k"], to=I64)],
                       "k", lambda v: int(v / 2)),
            "moved": ([node("Add", ["n", "one"], ["a"]),
                       node("Concat", ["a", "zero"], ["b"], axis=0),
                       node("ReduceMax", ["b"], ["c"], keepdims=1)], "c", lambda v: int(v) + 1),
            "divided": ([node("Div", ["inside", "high"], ["m"]), node("Ceil", ["m"], ["l"]),
                         node("Cast", ["l"], ["k"], to=I64)], "k", lambda v: 1 if v > 0 else 0)}
    for name, (nodes, size, count) in ways.items():
        for x in (3.7, -2.0, 99.0):
            many = count(min(max(x, 0), 7))
            run(f"{name}, {x}", [*cut(), *nodes, node("ConstantOfShape", [size], ["y"], "fill")],
                {"x": ([1], [x], F32)}, {"y": ([many], [0.0] * many, F32)})
    path, _ = store(13, [*cut("far"), node("ConstantOfShape", ["n"], ["y"], "fill")],
                    {"x": ([1], [3.0], F32)}, {"y": ([3], [0.0] * 3, F32)}, WEIGHTS)
    says("too large to be of use", takt("run", path), 1, "4012", "--bound constantofshape")
    path, _ = store(13, [node("Cast", ["x"], ["n"], to=I64),
                         node("ConstantOfShape", ["n"], ["y"], "fill")],
                    {"x": ([1], [3.0], F32)}, {"y": ([3], [0.0] * 3, F32)}, WEIGHTS)
    says("not cut", takt("run", path), 1, "4012", "--bound constantofshape")


def in_a_loop():
    """Rows of boxes clipped to an image outside the loop: a side is at most that of the image."""
    body = Graph([node("Gather", ["boxes", "i"], ["box"], axis=0),
                  node("Gather", ["box", "i0"], ["a"], axis=0),
                  node("Gather", ["box", "i1"], ["b"], axis=0),
                  node("Sub", ["b", "a"], ["side"]), node("Max", ["side", "i1"], ["size"]),
                  node("Unsqueeze", ["size", "zero"], ["shape"]),
                  node("ConstantOfShape", ["shape"], ["ones"], "fill",
                       value=tensor("", [1], F32, floats(1))),
                  node("ReduceSum", ["ones", "zero"], ["s"], keepdims=0),
                  node("Add", ["old", "s"], ["new"]), node("Identity", ["yes"], ["go"])],
                 [value("i", [], I64), value("c", [], BOOL), value("old", [])],
                 [value("go", [], BOOL), value("new", [])])
    nodes = [node("Shape", ["image"], ["sides"]), node("Gather", ["sides", "i0"], ["w"], axis=0),
             node("Cast", ["w"], ["width"], to=F32), node("Min", ["x", "width"], ["top"]),
             node("Max", ["top", "low"], ["inside"]), node("Cast", ["inside"], ["boxes"], to=I64),
             node("Shape", ["x"], ["shape_x"]), node("Gather", ["shape_x", "i0"], ["many"], axis=0),
             node("Loop", ["many", "yes", "low"], ["y"], "loop", body=body)]
    for width in (9, 30):
        rows = [[0.0, 4.0], [2.5, 60.0], [8.0, 8.0], [-5.0, 3.0]]
        cuts = [[int(min(max(v, 0), width)) for v in row] for row in rows]
        total = float(sum(max(b - a, 1) for a, b in cuts))
        run(f"in an image of {width}", nodes,
            {"image": ([width], [0.0] * width, F32), "x": ([4, 2], sum(rows, []), F32)},
            {"y": ([], [total], F32)}, {"image": ["w"], "x": ["n", 2]})


def turns(depth, nodes, result):
    """The body of a loop that adds `result`."""
    return Graph([*nodes, node("Add", [f"old{depth}", result], [f"new{depth}"]),
                  node("Identity", ["yes"], [f"go{depth}"])],
                 [value(f"i{depth}", [], I64), value(f"c{depth}", [], BOOL),
                  value(f"old{depth}", [])],
                 [value(f"go{depth}", [], BOOL), value(f"new{depth}", [])])


def deep(depth, most):
    """In nested loops, each with two values made from the two around it."""
    a, b, i = f"a{depth - 1}", f"b{depth - 1}", f"f{depth}"
    if depth == most:
        return turns(depth, [node("Add", [a, b], ["q"]), node("Cast", ["q"], ["k"], to=I64),
                             node("ConstantOfShape", ["k"], ["o"], "fill"),
                             node("ReduceSum", ["o", "zero"], ["r"], keepdims=0)], "r")
    nodes = [node("Cast", [f"i{depth}"], [i], to=F32), node("Add", [i, a], [f"u{depth}"]),
             node("Min", [f"u{depth}", b], [f"a{depth}"]), node("Max", [i, b], [f"v{depth}"]),
             node("Min", [f"v{depth}", a], [f"b{depth}"]),
             node("Loop", ["many", "yes", "low"], [f"y{depth}"], body=deep(depth + 1, most))]
    return turns(depth, nodes, f"y{depth}")


def far_inside():
    """Nodes around a loop are examined again for every value that it captures, within limits."""
    for depth in (3, 28):
        nodes = [node("Clip", ["x", "low", "high"], ["a0"]),
                 node("Clip", ["x", "half", "high"], ["b0"]),
                 node("Loop", ["many", "yes", "low"], ["y"], body=deep(1, depth))]
        given = {"x": ([1], [1.0], F32), "many": ([], [1], I64)}
        if depth == 3:
            run("loops in loops", nodes, given, {"y": ([], [0.0], F32)})
            continue
        path, _ = store(13, nodes, given, {"y": ([], [0.0], F32)}, WEIGHTS)
        says("too deep", takt("plan", path), 1, "4012", "--bound constantofshape")


if __name__ == "__main__":
    filled()
    in_a_loop()
    far_inside()
    print(f"{corners.count} models, {len(corners.failures)} failed")
    sys.exit(1 if corners.failures or corners.count < 15 or not os.path.isdir(TMP) else 0)
