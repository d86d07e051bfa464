"""branches.py - branches of an If with run-time sizes, as in exported detectors: found in either
branch, nested, in separate functions; and sizes that follow from other sizes."""
import os
import sys

import corners
from _pb import Graph, floats, ints, node, tensor, value
from corners import BOOL, F32, I64, TMP, check, fail, store, takt


def says(name, run, code, *words):
    if run.returncode != code or any(word not in run.stdout + run.stderr for word in words):
        fail(name, f"{run.returncode}: {run.stdout + run.stderr}")


def empty():
    return Graph([node("Constant", [], ["none"], "c", value=tensor("", [0], I64, ints()))], [],
                 [value("none", [0], I64)])


def places():
    """Where x is not 0, as a vector."""
    return Graph([node("NonZero", ["x"], ["at"], "find"),
                  node("Squeeze", ["at", "zero"], ["places"], "flat")], [],
                 [value("places", ["n"], I64)])


WEIGHTS = [tensor("zero", [1], I64, ints(0)), tensor("ten", [1], I64, ints(10))]
NAMES = {"x": ["n"], "c": []}


def given(items, flag):
    return {"x": ([len(items)], items, F32), "c": ([], [flag], BOOL)}


def found():
    """No result, or all of them."""
    nodes = [node("If", ["c"], ["y"], "choice", then_branch=empty(), else_branch=places())]
    check("found", 13, nodes, given([1.0, 0, 2, 0], False), {"y": ([2], [0, 2], I64)}, WEIGHTS,
          NAMES)
    check("not looked for", 13, nodes, given([1.0, 0, 2, 0], True), {"y": ([0], [], I64)}, WEIGHTS,
          NAMES)
    check("nothing to be found", 13, nodes, given([0.0, 0], False), {"y": ([0], [], I64)}, WEIGHTS,
          NAMES)
    nodes = [node("If", ["c"], ["y"], "choice", then_branch=places(), else_branch=empty())]
    check("found in the first branch", 13, nodes, given([1.0, 0, 2, 0], True),
          {"y": ([2], [0, 2], I64)}, WEIGHTS, NAMES)


def two_results():
    """One result of equal size in both branches, one of different sizes."""
    yes = Graph([node("NonZero", ["x"], ["at"], "find"), node("Neg", ["x"], ["minus"], "minus")],
                [], [value("at", [1, "k"], I64), value("minus", ["n"])])
    no = Graph([node("Range", ["i", "n", "i1"], ["count"], "count"),
                node("Unsqueeze", ["count", "zero"], ["row"], "row"),
                node("Relu", ["x"], ["r"], "relu")], [],
               [value("row", [1, "m"], I64), value("r", ["n"])])
    nodes = [node("Shape", ["x"], ["s"]), node("Squeeze", ["s"], ["n"]),
             node("If", ["c"], ["y", "z"], "choice", then_branch=yes, else_branch=no)]
    weights = WEIGHTS + [tensor("i", [], I64, ints(0)), tensor("i1", [], I64, ints(1))]
    check("two results", 13, nodes, given([3.0, 0, -1], True),
          {"y": ([1, 2], [0, 2], I64), "z": ([3], [-3.0, 0, 1], F32)}, weights, NAMES)
    check("two results of the other branch", 13, nodes, given([3.0, 0, -1], False),
          {"y": ([1, 3], [0, 1, 2], I64), "z": ([3], [3.0, 0, 0], F32)}, weights, NAMES)


def nested():
    """The inner condition depends on a value that the branch has found."""
    inner_yes = Graph([node("Identity", ["places"], ["a"], "same")], [], [value("a", ["k"], I64)])
    inner_no = Graph([node("Add", ["places", "ten"], ["b"], "more"),
                      node("Concat", ["b", "b"], ["bb"], "twice", axis=0)], [],
                     [value("bb", ["k2"], I64)])
    outer = Graph([node("NonZero", ["x"], ["at"], "find"),
                   node("Squeeze", ["at", "zero"], ["places"], "flat"),
                   node("Size", ["places"], ["many"], "many"),
                   node("Greater", ["many", "two"], ["is_more"], "more"),
                   node("If", ["is_more"], ["inside"], "inner", then_branch=inner_yes,
                        else_branch=inner_no)], [], [value("inside", ["k"], I64)])
    nodes = [node("If", ["c"], ["y"], "choice", then_branch=outer, else_branch=empty())]
    weights = WEIGHTS + [tensor("two", [], I64, ints(2))]
    check("nested, many", 13, nodes, given([1.0, 2, 0, 3], True), {"y": ([3], [0, 1, 3], I64)},
          weights, NAMES)
    check("nested, few", 13, nodes, given([0.0, 2, 0, 3], True),
          {"y": ([4], [11, 13, 11, 13], I64)}, weights, NAMES)
    check("nested, not taken", 13, nodes, given([0.0, 2, 0, 3], False), {"y": ([0], [], I64)},
          weights, NAMES)


def boxes():
    """The export of torchvision's batched_nms: an empty result without boxes, otherwise
    suppression."""
    yes = empty()
    no = Graph([node("Unsqueeze", ["boxes", "zero"], ["b"], "b"),
                node("Unsqueeze", ["scores", "zeros"], ["s"], "s"),
                node("NonMaxSuppression", ["b", "s", "most", "half"], ["kept"], "nms"),
                node("Gather", ["kept", "two"], ["column"], "column", axis=1)], [],
               [value("column", ["k"], I64)])
    nodes = [node("NonZero", ["alive"], ["at"]), node("Squeeze", ["at", "zero"], ["places"]),
             node("Gather", ["all", "places"], ["boxes"]),
             node("Gather", ["all_scores", "places"], ["scores"]),
             node("Size", ["places"], ["many"]), node("Equal", ["many", "nil"], ["is_none"]),
             node("If", ["is_none"], ["y"], "choice", then_branch=yes, else_branch=no)]
    weights = WEIGHTS + [tensor("zeros", [2], I64, ints(0, 1)), tensor("two", [], I64, ints(2)),
                         tensor("nil", [], I64, ints(0)), tensor("most", [1], I64, ints(9)),
                         tensor("half", [1], F32, floats(0.5))]
    square = [0.0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3]
    names = {"all": ["n", 4], "all_scores": ["n"], "alive": ["n"]}
    for name, alive, want in (("all", [1.0, 1, 1], [1, 2]), ("one", [1.0, 0, 0], [0]),
                              ("none", [0.0, 0, 0], [])):
        check(f"boxes, {name}", 13, nodes,
              {"all": ([3, 4], square, F32), "all_scores": ([3], [0.5, 0.9, 0.4], F32),
               "alive": ([3], alive, F32)}, {"y": ([len(want)], want, I64)}, weights, names)


def chain(first, last, tag):
    """first + 8 in eight nodes."""
    names = [first] + [f"{tag}{i}" for i in range(7)] + [last]
    return [node("Add", [a, "one"], [b], f"{tag}_{b}") for a, b in zip(names, names[1:])]


def merged():
    """A merged decoder: with a cache, or from the beginning. Both branches are part of the graph,
    and one has an empty batch."""
    none = tensor("", [0, 3, 2], F32, floats())
    yes = Graph([node("Concat", ["past", "x"], ["all"], "all", axis=1), *chain("all", "now", "p"),
                 node("ReduceSum", ["now", "ones"], ["sum"], "sum", keepdims=0),
                 node("Constant", [], ["kept"], "kept", value=none)], [],
                [value("sum", ["b", 2]), value("now", ["b", "p + s", 2]),
                 value("kept", [0, 3, 2])])
    no = Graph([*chain("x", "now", "q"),
                node("ReduceSum", ["now", "ones"], ["sum"], "sum_2", keepdims=0),
                node("Unsqueeze", ["sum", "ones"], ["row"], "row"),
                node("Concat", ["row", "row", "row"], ["kept"], "kept_2", axis=1)], [],
               [value("sum", ["b", 2]), value("now", ["b", "s", 2]), value("kept", ["b", 3, 2])])
    nodes = [node("If", ["c"], ["y", "present", "z"], "choice", then_branch=yes, else_branch=no)]
    weights = [tensor("one", [], F32, floats(1)), tensor("ones", [1], I64, ints(1))]
    names = {"x": ["b", "s", 2], "past": ["b", "p", 2], "c": [1]}
    for batch, length, past, flag in ((1, 1, 3, True), (1, 4, 1, False), (2, 2, 3, True),
                                      (2, 3, 1, False), (3, 1, 0, True)):
        x = [[[b + i / 2, -i] for i in range(length)] for b in range(batch)]
        old = [[[10.0 * b, i] for i in range(past)] for b in range(batch)]
        now = [[[v + 8 for v in row] for row in (old[b] if flag else []) + x[b]]
               for b in range(batch)]
        total = [[sum(row[k] for row in now[b]) for k in range(2)] for b in range(batch)]

        def flat(rows):
            return [float(v) for sample in rows for row in sample for v in row]

        check(f"merged, batch {batch}, {past} before, {flag}", 13, nodes,
              {"x": ([batch, length, 2], flat(x), F32), "past": ([batch, past, 2], flat(old), F32),
               "c": ([1], [flag], BOOL)},
              {"y": ([batch, 2], flat([total]), F32),
               "present": ([batch, length + (past if flag else 0), 2], flat(now), F32),
               "z": ([0, 3, 2], [], F32) if flag else
                    ([batch, 3, 2], flat([[row] * 3 for row in total]), F32)}, weights, names)
    given_2 = ([1, 1, 2], [0.0] * 2, F32)
    path, _ = store(13, nodes, {"x": given_2, "past": given_2,
                                "c": ([1], [True], BOOL)}, {}, weights, names)
    run = takt("plan", path, "-D", "b=2", "-D", "p=1..64")
    says("one plan", run, 0, "p=64")
    if " if " in run.stdout:
        fail("no step is a branch", run.stdout)
    says("a stream of them", takt("benchmark", "run", path, "-D", "b=2", "--lengths", "p=0-40",
                                  "--iterations", "60", "--threads", "1"), 0, "re-sizing")


def untaken():
    """Nodes that cannot fail are also computed if the branch is not taken; the others are refused.
    """
    weights = WEIGHTS + [tensor("nil", [], I64, ints(0)), tensor("hundred", [], I64, ints(100)),
                         tensor("one", [1], I64, ints(1)), tensor("last", [1], I64, ints(-1)),
                         tensor("far", [1], I64, ints(1 << 40)),
                         tensor("row", [2], I64, ints(1, -1)),
                         tensor("three", [3], I64, ints(1, 2, 3)),
                         tensor("places_of", [5], I64, ints(10, 20, 30, 40, 50)),
                         tensor("pair", [1, 2], I64, ints(5, 7))]

    def model(*rest):
        yes = Graph([node("NonZero", ["x"], ["at"], "find"),
                     node("Squeeze", ["at", "zero"], ["places"], "flat"), *rest], [],
                    [value("r", ["k"], I64)])
        return [node("If", ["c"], ["y"], "choice", then_branch=yes, else_branch=empty())]

    def plus(name):
        return node("Add", ["places", name], ["r"], "sum")

    works = {
        "most": ([node("ReduceMax", ["places"], ["m"], "m", axes=[0], keepdims=1), plus("m")],
                 [6, 8]),
        "row": ([node("Reshape", ["places", "row"], ["m"], "m"),
                 node("Squeeze", ["m", "zero"], ["r"], "r")], [2, 4]),
        "half": ([node("Div", ["places", "one"], ["r"], "r")], [2, 4]),
        "a column": ([node("Gather", ["pair", "last"], ["m"], "m", axis=1),
                      node("Reshape", ["m", "last"], ["n"], "n"), plus("n")], [9, 11]),
        "those found": ([node("Gather", ["places_of", "places"], ["r"], "r", axis=0)], [30, 50]),
        "all": ([node("Slice", ["places", "zero", "far", "zero", "one"], ["r"], "r")], [2, 4]),
        "a part": ([node("Slice", ["pair", "zero", "one", "one"], ["m"], "m"),
                    node("Reshape", ["m", "last"], ["n"], "n"), plus("n")], [7, 9]),
    }
    for name, (rest, want) in works.items():
        path, _ = store(13, model(*rest), given([0.0], False), {"y": ([0], [], I64)}, weights,
                        NAMES)
        says(f"{name}, whatever the inputs are", takt("inspect", path), 0, "find_true: 1")
        check(f"{name}, taken", 13, model(*rest), given([0.0, 0, 2, 0, 3], True),
              {"y": ([2], want, I64)}, weights, NAMES)
        for x in ([0.0, 0, 2, 0, 3], [0.0, 0]):
            check(f"{name}, not taken", 13, model(*rest), given(x, False), {"y": ([0], [], I64)},
                  weights, NAMES)
    wrong = {
        "first": [node("Gather", ["places", "nil"], ["m"], "m", axis=0), plus("m")],
        "another": [node("Cast", ["x"], ["i"], "i", to=I64),
                    node("Gather", ["three", "i"], ["m"], "m", axis=0),
                    node("Gather", ["m", "places"], ["r"], "r", axis=0)],
        "share": [node("Size", ["places"], ["n"], "n"),
                  node("Div", ["hundred", "n"], ["m"], "m"), plus("m")],
        "best": [node("ArgMax", ["places"], ["m"], "m", axis=0), plus("m")],
        "top": [node("TopK", ["places", "one"], ["m", "i"], "m", axis=0), plus("m")],
        "tail": [node("Slice", ["places", "last", "far", "zero"], ["m"], "m"), plus("m")],
        "as many": [node("Add", ["places", "three"], ["r"], "m")],
        "inside": [node("Size", ["places"], ["n"], "n"), node("Greater", ["n", "nil"], ["g"], "g"),
                   node("If", ["g"], ["r"], "m", then_branch=Graph(
                       [node("Gather", ["places", "nil"], ["m"], "in", axis=0),
                        node("Add", ["places", "m"], ["s"], "sum")], [], [value("s", ["k"], I64)]),
                        else_branch=Graph([node("Identity", ["places"], ["t"], "same")], [],
                                          [value("t", ["k"], I64)]))],
    }
    for name, rest in wrong.items():
        path, _ = store(13, model(*rest), given([0.0, 0, 2], False), {"y": ([0], [], I64)}, weights,
                        NAMES)
        says(name, takt("run", path), 1, "a size that values decide inside a branch")


def samples():
    """Branches as large as a decoder's, in which samples depend on each other: neither is empty."""
    weights = [tensor("one", [], F32, floats(1)), tensor("nil", [], I64, ints(0)),
               tensor("zero", [1], I64, ints(0)), tensor("ones", [1], I64, ints(1))]
    ways = {
        "first": lambda t: [node("Gather", ["now", "nil"], ["m"], f"{t}m", axis=0)],
        "part": lambda t: [node("Slice", ["now", "zero", "ones", "zero"], ["m"], f"{t}m")],
        "most": lambda t: [node("ReduceMax", ["now"], ["m"], f"{t}m", axes=[0], keepdims=1)],
        "best": lambda t: [node("ArgMax", ["now"], ["i"], f"{t}i", axis=0, keepdims=1),
                           node("Cast", ["i"], ["m"], f"{t}m", to=F32)],
        "top": lambda t: [node("TopK", ["now", "ones"], ["m", "i"], f"{t}m", axis=0)],
    }
    worth = {"first": lambda of: of[0], "part": lambda of: of[0], "most": max, "top": max,
             "best": lambda of: of.index(max(of))}
    for way, made in ways.items():
        def branch(first, tag, size, before):
            return Graph([*before, *chain(first, "now", tag), *made(tag),
                          node("Add", ["now", "m"], [f"{tag}sum"], f"{tag}sum")], [],
                         [value(f"{tag}sum", ["b", size])])

        nodes = [node("If", ["c"], ["y"], "choice", then_branch=branch(
            "all", "p", "p + s", [node("Concat", ["past", "x"], ["all"], "all", axis=1)]),
                      else_branch=branch("x", "q", "s", []))]
        path, _ = store(13, nodes, {"x": ([1, 1], [0.0], F32), "past": ([1, 1], [0.0], F32),
                                    "c": ([1], [True], BOOL)}, {}, weights,
                        {"x": ["b", "s"], "past": ["b", "p"], "c": [1]})
        says(f"{way}, a branch", takt("inspect", path), 0, "  if: 1")
        for batch, flag in ((1, True), (1, False), (2, True), (2, False)):
            x, old = [[1.0 + b, 2.0] for b in range(batch)], [[5.0, 6.0 - b] for b in range(batch)]
            now = [[v + 8 for v in (old[b] if flag else []) + x[b]] for b in range(batch)]
            more = [worth[way](list(column)) for column in zip(*now)]
            want = [float(v + m) for row in now for v, m in zip(row, more)]
            check(f"{way} of {batch}, {flag}", 13, nodes,
                  {"x": ([batch, 2], sum(x, []), F32), "past": ([batch, 2], sum(old, []), F32),
                   "c": ([1], [flag], BOOL)}, {"y": ([batch, len(more)], want, F32)}, weights,
                  {"x": ["b", "s"], "past": ["b", "p"], "c": [1]})


def refused():
    """Branches whose results differ in rank or type: the message names both."""
    flat = Graph([node("NonZero", ["x"], ["at"], "find")], [], [value("at", [1, "k"], I64)])
    nodes = [node("If", ["c"], ["y"], "choice", then_branch=empty(), else_branch=flat)]
    path, _ = store(13, nodes, given([1.0], True), {"y": ([0], [], I64)}, WEIGHTS, NAMES)
    says("ranks", takt("run", path), 1, "i64[0] in one branch", "i64[1, ", "in the other",
         "-i c=FILE")
    wrong = Graph([node("NonZero", ["x"], ["at"], "find"), node("Nothing", ["at"], ["r"], "odd")],
                  [], [value("r", ["k"], I64)])
    nodes = [node("If", ["c"], ["y"], "choice", then_branch=empty(), else_branch=wrong)]
    path, _ = store(13, nodes, given([1.0], True), {"y": ([0], [], I64)}, WEIGHTS, NAMES)
    run = takt("run", path)
    says("an operator nobody has", run, 1, "odd (Nothing, opset 13)")
    if (run.stdout + run.stderr).count("odd (Nothing") != 1:
        fail("it is reported once", run.stdout + run.stderr)


def scaled():
    """Detectors scale an image by a factor computed from its sizes: if these are numbers, no
    --bound is needed."""
    ones = tensor("", [2], F32, floats(1, 1))
    nodes = [node("Constant", [], ["ones"], value=ones), node("Shape", ["x"], ["s"]),
             node("Slice", ["s", "two", "four"], ["hw"]),
             node("Cast", ["hw"], ["f"], to=F32), node("ReduceMax", ["f"], ["most"], keepdims=0),
             node("Div", ["eight", "most"], ["ratio"]), node("Concat", ["ones", "r1", "r1"], ["r"],
                                                             axis=0),
             node("Unsqueeze", ["ratio", "zero"], ["r1"]),
             node("Resize", ["x", "", "r"], ["y"], "scale", mode="nearest",
                  coordinate_transformation_mode="asymmetric", nearest_mode="floor")]
    weights = WEIGHTS + [tensor("two", [1], I64, ints(2)), tensor("four", [1], I64, ints(4)),
                         tensor("eight", [], F32, floats(8))]
    x = ([1, 1, 4, 2], [1.0, 2, 3, 4, 5, 6, 7, 8], F32)
    want = [v for row in (1, 3, 5, 7) for _ in range(2) for v in (row, row, row + 1, row + 1)]
    path, folder = store(13, nodes, {"x": x}, {"y": ([1, 1, 8, 4], [float(v) for v in want], F32)},
                         weights, {"x": [1, 1, "h", "w"]})
    says("scaled", takt("run", path, "--test", folder), 0)
    says("by -D", takt("run", path, "-D", "h=2", "-D", "w=4"), 0, "y: f32[1, 1, 4, 8]")
    # The longer side becomes 8: with h from 2 to 4 the ratio is 2 at most, and w = 4 alone.
    run = takt("plan", path, "-D", "h=2..4", "-D", "w=4")
    says("of a range", run, 0, "scale: gather")
    if "bound" in run.stderr:
        fail("of a range", run.stderr)
    says("of another range", takt("plan", path, "-D", "h=1..9", "-D", "w=1..9"), 0)
    says("beyond what follows", takt("plan", path, "-D", "h=0..4", "-D", "w=0..4"), 1, "4012")


if __name__ == "__main__":
    found()
    two_results()
    nested()
    boxes()
    merged()
    untaken()
    samples()
    refused()
    scaled()
    print(f"{corners.count} models, {len(corners.failures)} failed")
    sys.exit(1 if corners.failures or corners.count < 8 or not os.path.isdir(TMP) else 0)
