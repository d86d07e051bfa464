"""branches_ranks.py - an If whose branches give results of different ranks or types: their readers
become part of the branches, and results of the graph must agree."""
import os
import sys

import corners
from _pb import Graph, floats, ints, node, tensor, value
from branches import says
from corners import BOOL, F32, I64, TMP, check, store, takt

WEIGHTS = [tensor("zero", [1], I64, ints(0)), tensor("flat", [1], I64, ints(-1)),
           tensor("two", [], F32, floats(2)), tensor("yes", [], BOOL, b"\1"),
           tensor("three", [], I64, ints(3)), tensor("nil", [1], F32, floats(0))]
NAMES = {"x": ["n", 2], "c": [], "d": []}
X = [1.0, -2, 3, -4, 5, -6]


def given(**flags):
    return {"x": ([3, 2], X, F32), **{k: ([], [v], BOOL) for k, v in flags.items()}}


def branches(tag="", source="x"):
    """[1, n, 2], or minus [n, 2]."""
    yes = Graph([node("Unsqueeze", [source, "zero"], [f"a{tag}"], f"a{tag}")], [],
                [value(f"a{tag}", [1, "n", 2])])
    no = Graph([node("Neg", [source], [f"b{tag}"], f"b{tag}")], [], [value(f"b{tag}", ["n", 2])])
    return {"then_branch": yes, "else_branch": no}


def behind():
    """Element-wise operations, the rank, and a final shape that is the same for both; and another
    result."""
    nodes = [node("If", ["c"], ["r"], "choice", **branches()), node("Relu", ["x"], ["other"]),
             node("Mul", ["r", "two"], ["m"]), node("Add", ["m", "other"], ["s"]),
             node("Shape", ["s"], ["shape"]), node("Size", ["shape"], ["rank"]),
             node("Reshape", ["s", "flat"], ["y"])]
    for flag in (True, False):
        want = [2 * (v if flag else -v) + max(v, 0) for v in X]
        check(f"read by others, {flag}", 13, nodes, given(c=flag),
              {"y": ([6], want, F32), "rank": ([], [3 if flag else 2], I64),
               "other": ([3, 2], [max(v, 0.0) for v in X], F32)}, WEIGHTS, NAMES)


def types():
    """Whole numbers or floats, cast behind."""
    yes = Graph([node("Cast", ["x"], ["a"], "a", to=I64)], [], [value("a", ["n", 2], I64)])
    no = Graph([node("Mul", ["x", "two"], ["b"], "b")], [], [value("b", ["n", 2])])
    nodes = [node("If", ["c"], ["r"], "choice", then_branch=yes, else_branch=no),
             node("Cast", ["r"], ["y"], to=F32)]
    for flag in (True, False):
        check(f"types, {flag}", 13, nodes, given(c=flag),
              {"y": ([3, 2], [v if flag else 2 * v for v in X], F32)}, WEIGHTS, NAMES)


def twice():
    """One after the other: the second is in the branches of the first."""
    nodes = [node("If", ["c"], ["r"], "first", **branches()),
             node("If", ["d"], ["s"], "second", **branches("2", "r")),
             node("Add", ["s", "s"], ["t"]), node("Reshape", ["t", "flat"], ["y"])]
    for c in (True, False):
        for d in (True, False):
            sign = (1 if c else -1) * (1 if d else -1)
            check(f"twice, {c}, {d}", 13, nodes, given(c=c, d=d),
                  {"y": ([6], [2 * sign * v for v in X], F32)}, WEIGHTS, NAMES)


def in_a_loop():
    """In a body, by the number of the turn's parity."""
    body = Graph([node("If", ["c"], ["r"], "choice", **branches()),
                  node("Reshape", ["r", "flat"], ["row"]),
                  node("ReduceSum", ["row", "zero"], ["s"], keepdims=1),
                  node("Add", ["old", "s"], ["new"]), node("Identity", ["yes"], ["go"])],
                 [value("i", [], I64), value("k", [], BOOL), value("old", [1])],
                 [value("go", [], BOOL), value("new", [1])])
    nodes = [node("Loop", ["many", "yes", "nil"], ["y"], "loop", body=body)]
    for flag in (True, False):
        check(f"in a loop, {flag}", 13, nodes, {**given(c=flag), "many": ([], [3], I64)},
              {"y": ([1], [3 * sum(X) * (1 if flag else -1)], F32)}, WEIGHTS, NAMES)


def names_again():
    """After the If the graph may reuse the name of a branch's local value; a result may be named
    like that of the If."""
    for inner, result in (("t", "a"), ("v", "r"), ("t", "r")):
        yes = Graph([node("Neg", ["x"], [inner], "minus"),
                     node("Unsqueeze", [inner, "zero"], [result], "a")], [],
                    [value(result, [1, "n", 2])])
        no = Graph([node("Abs", ["x"], [result], "b")], [], [value(result, ["n", 2])])
        nodes = [node("If", ["c"], ["r"], "choice", then_branch=yes, else_branch=no),
                 node("Mul", ["x", "two"], ["t"]), node("Add", ["r", "t"], ["s"]),
                 node("Reshape", ["s", "flat"], ["y"])]
        for flag in (True, False):
            want = [2 * v + (-v if flag else abs(v)) for v in X]
            check(f"{inner} and {result} again, {flag}", 13, nodes, given(c=flag),
                  {"y": ([6], want, F32)}, WEIGHTS, NAMES)


def refused():
    """A result of the model has one rank; the message names both, with a hint."""
    nodes = [node("If", ["c"], ["r"], "choice", **branches()), node("Add", ["r", "r"], ["y"])]
    path, _ = store(13, nodes, given(c=True), {"y": ([3, 2], X, F32)}, WEIGHTS, NAMES)
    says("a result", takt("run", path), 1, "f32[1, n, 2]", "f32[n, 2]", "-i c=FILE")
    many = [node("If", ["c"], ["r0"], "choice", **branches())]
    for k in range(40):
        many += [node("If", ["c"], [f"r{k + 1}"], f"choice_{k}", **branches(f"_{k}", f"r{k}"))]
    path, _ = store(13, [*many, node("Reshape", ["r40", "flat"], ["y"])], given(c=True),
                    {"y": ([6], X, F32)}, WEIGHTS, NAMES)
    run = takt("run", path)
    if run.returncode not in (1, 2) or "error" not in run.stderr:
        corners.fail("one behind the other without end", run.stdout + run.stderr)


if __name__ == "__main__":
    behind()
    types()
    twice()
    in_a_loop()
    names_again()
    refused()
    print(f"{corners.count} models, {len(corners.failures)} failed")
    sys.exit(1 if corners.failures or corners.count < 16 or not os.path.isdir(TMP) else 0)
