"""bodies.py - sizes found at run time inside the body of a Loop, different in every iteration, and
results that grow there: as in exported models that paste masks into images."""
import os
import sys

import corners
from _pb import Graph, floats, ints, node, tensor, value
from branches import says
from corners import BOOL, F32, I64, TMP, check, store, takt

WEIGHTS = [tensor("zero", [1], I64, ints(0)), tensor("one", [1], I64, ints(1)),
           tensor("i0", [], I64, ints(0)), tensor("i1", [], I64, ints(1)),
           tensor("yes", [], BOOL, b"\1"), tensor("far", [1], I64, ints(1 << 40))]
NAMES = {"x": ["n", "m"]}
ROWS = [[1.0, 0, 2, 0], [0.0, 0, 0, 0], [5.0, 6, 7, 8], [0.0, 0, 0, 3]]


def given(rows, names=None):
    flat = [v for row in rows for v in row]
    return {"x": ([len(rows), len(rows[0])], flat, F32), **(names or {})}


def body(nodes, carried, results, goes_on="yes"):
    """Iteration number, condition, carried values; every iteration has `row`, its row."""
    inputs = [value("i", [], I64), value("c", [], BOOL), *(value(n, d) for n, d in carried)]
    outputs = [value(goes_on, [], BOOL), *(value(n, d) for n, d in results)]
    return Graph([node("Gather", ["x", "i"], ["row"], "row", axis=0), *nodes], inputs, outputs)


def loop(graph, inputs, outputs):
    return [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "i0"], ["many"], axis=0),
            node("Loop", ["many", "yes", *inputs], outputs, "loop", body=graph)]


def places():
    return [node("NonZero", ["row"], ["at"], "find"), node("Squeeze", ["at", "zero"], ["places"])]


def found():
    """Count, positions and values: of a different size in every iteration, and local to it."""
    nodes = [*places(), node("Gather", ["row", "places"], ["those"], "those", axis=0),
             node("ReduceSum", ["those", "zero"], ["sum"], "sum", keepdims=0),
             node("Add", ["old", "sum"], ["new"], "new"),
             node("Size", ["places"], ["size"], "size"), node("Cast", ["size"], ["count"], to=F32)]
    graph = body(nodes, [("old", [])], [("new", []), ("count", [])])
    weights = WEIGHTS + [tensor("start", [], F32, floats(100))]
    for rows in (ROWS, ROWS[:1], ROWS[1:2], ROWS[::-1], [[0.0, 2]] * 7):
        total = 100.0 + sum(map(sum, rows))
        counts = [float(sum(v != 0 for v in row)) for row in rows]
        check(f"{len(rows)} iterations", 13, loop(graph, ["start"], ["y", "z"]), given(rows),
              {"y": ([], [total], F32), "z": ([len(rows)], counts, F32)}, weights, NAMES)
    path, _ = store(13, loop(graph, ["start"], ["y", "z"]), given(ROWS),
                    {"y": ([], [0.0], F32), "z": ([4], [0.0] * 4, F32)}, weights, NAMES)
    run = takt("plan", path, "-D", "n=4", "-D", "m=4")
    says("a body that is planned", run, 0, "loop")
    if "interpreter" in run.stdout:
        corners.fail("a body that is planned", run.stdout)


def pasted():
    """Something of a computed size between zeros of computed sizes, cut to a row of `m`: the
    appended rows have one size, which is known only at run time."""
    size = [node("Unsqueeze", ["size", "zero"], ["n1"]), node("Sub", ["width", "n1"], ["rest"]),
            node("ConstantOfShape", ["n1"], ["left"], "left",
                 value=tensor("", [1], F32, floats(2))),
            node("ConstantOfShape", ["rest"], ["right"], "right"),
            node("Concat", ["left", "right"], ["wide"], "wide", axis=0),
            node("Slice", ["wide", "zero", "width", "zero"], ["cut"], "cut"),
            node("Unsqueeze", ["cut", "zero"], ["one_row"], "one_row"),
            node("Concat", ["all", "one_row"], ["more"], "more", axis=0)]
    many = [node("Sign", ["row"], ["sign"]),
            node("ReduceSum", ["sign", "zero"], ["sum"], keepdims=0),
            node("Cast", ["sum"], ["size"], to=I64)]
    graph = body([*many, *size], [("all", ["k", "m"])], [("more", ["k1", "m"])])
    before = [node("Shape", ["x"], ["s"]), node("Slice", ["s", "one", "far"], ["width"]),
              node("Concat", ["zero", "width"], ["none"], axis=0),
              node("ConstantOfShape", ["none"], ["start"], "start")]
    for rows in (ROWS, ROWS[2:3], ROWS[1:3], [[1.0, 0, 0]] * 5):
        counts = [sum(v != 0 for v in row) for row in rows]
        want = [2.0 * (i < c) for c in counts for i in range(len(rows[0]))]
        check(f"{len(rows)} pasted", 13, before + loop(graph, ["start"], ["y"]), given(rows),
              {"y": ([len(rows), len(rows[0])], want, F32)}, WEIGHTS, NAMES)
    path, folder = store(13, before + loop(graph, ["start"], ["y"]), given(ROWS),
                         {"y": ([4, 4], [0.0] * 16, F32)}, WEIGHTS, NAMES)
    says("nothing bounds it", takt("run", path, "--test", folder), 1, "4012", "--bound constantof")
    path, folder = store(13, before + loop(graph, ["start"], ["y"]), given(ROWS[2:3]),
                         {"y": ([1, 4], [2.0] * 4, F32)}, WEIGHTS, NAMES)
    for backend in ("cpu", "ref"):
        run = takt("run", path, "--test", folder, "--bound", "3", "--backend", backend)
        says("beyond the bound", run, 1, "5014", "a size is 4, its bound 3", "--bound")
    wrong = [*many, *size[:4],
             node("Concat", ["left", "left", "right"], ["cut"], "wide", axis=0), *size[6:]]
    graph = body(wrong, [("all", ["k", "m"])], [("more", ["k1", "m"])])
    path, folder = store(13, before + loop(graph, ["start"], ["y"]), given(ROWS),
                         {"y": ([4, 4], [0.0] * 16, F32)}, WEIGHTS, NAMES)
    for backend in ("cpu", "ref"):
        run = takt("run", path, "--test", folder, "--bound", "9", "--backend", backend)
        says("rows that do not fit", run, 1, "5016", "a size is 6, and has to be 4")


def meet():
    """Two sizes found at run time and added must be equal, and 0 is a valid size: around a body,
    and in it."""
    two = [node("NonZero", ["x0"], ["a"], "first"), node("NonZero", ["x1"], ["b"], "second"),
           node("Gather", ["x0", "a0"], ["u"], axis=0), node("Gather", ["x1", "b0"], ["v"], axis=0),
           node("Add", ["u", "v"], ["w"], "sum")]
    flat = [node("Squeeze", [k, "zero"], [k + "0"]) for k in "ab"]
    rows = [node("Gather", ["x", f"i{k}"], [f"x{k}"], axis=0) for k in (0, 1)]
    alone = [*rows, *two[:2], *flat, *two[2:4], node("Add", ["u", "v"], ["y"], "sum")]
    inside = body([node("Neg", ["row"], ["x0"]), node("Gather", ["x", "i1"], ["x1"], axis=0),
                   *two[:2], *flat, *two[2:], node("ReduceSum", ["w", "zero"], ["s"], keepdims=0)],
                  [], [("s", [])])
    check("as many", 13, alone, given([[1.0, 0, 2], [0.0, 3, 4]]), {"y": ([2], [4.0, 6], F32)},
          WEIGHTS, NAMES)
    check("as many, in a body", 13, loop(inside, [], ["y"]), given([[1.0, 0, 2], [0.0, 3, 4]]),
          {"y": ([2], [4.0, 0], F32)}, WEIGHTS, NAMES)
    for a, b in (([0.0] * 3, [1.0, 2, 3]), ([1.0, 2, 3], [0.0] * 3), ([1.0, 2, 3], [1.0, 0, 3])):
        m, n = (sum(v != 0 for v in row) for row in (a, b))
        words = ("5016", f"a size is {n}, and has to be {m}")
        for name, nodes in (("around", alone), ("in", loop(inside, [], ["y"]))):
            path, folder = store(13, nodes, given([a, b]), {"y": ([0], [], F32)}, WEIGHTS, NAMES)
            for backend in ("cpu", "ref"):
                run = takt("run", path, "--test", folder, "--bound", "9", "--backend", backend)
                says(f"{m} and {n}, {name}, {backend}", run, 1, *words)


def appended():
    """Rows appended along any axis, several per iteration; nothing else reads the result."""
    two = [node("Unsqueeze", ["row", "zero"], ["r"]), node("Neg", ["r"], ["minus"])]
    graph = body([*two, node("Concat", ["all", "r", "minus"], ["more"], axis=0)],
                 [("all", ["k", "m"])], [("more", ["k1", "m"])])
    weights = WEIGHTS + [tensor("first", [1, 4], F32, floats(9, 9, 9, 9)),
                         tensor("column", [4, 1], F32, floats(9, 9, 9, 9))]
    rows = [[9.0] * 4] + [r for row in ROWS for r in (row, [-v for v in row])]
    check("two rows in an iteration", 13, loop(graph, ["first"], ["y"]), given(ROWS),
          {"y": ([9, 4], sum(rows, []), F32)}, weights, NAMES)
    graph = body([node("Unsqueeze", ["row", "one"], ["r"]), node("Cast", ["all"], ["same"], to=F32),
                  node("Concat", ["same", "r"], ["more"], axis=-1)],
                 [("all", [4, "k"])], [("more", [4, "k1"])])
    want = [[9.0] + [row[i] for row in ROWS] for i in range(4)]
    check("columns", 13, loop(graph, ["column"], ["y"]), given(ROWS),
          {"y": ([4, 5], sum(want, []), F32)}, weights, NAMES)
    # A run-time end: as many rows as there were iterations.
    nodes = [node("Unsqueeze", ["row", "zero"], ["r"]), node("ReduceMax", ["row"], ["top"],
                                                             keepdims=0),
             node("Concat", ["all", "r"], ["more"], axis=0), node("Less", ["top", "five"], ["go"])]
    graph = body(nodes, [("all", ["k", "m"])], [("more", ["k1", "m"])], goes_on="go")
    check("until one is large", 13, loop(graph, ["first"], ["y"]), given(ROWS),
          {"y": ([4, 4], [9.0] * 4 + sum(ROWS[:3], []), F32)},
          weights + [tensor("five", [], F32, floats(5))], NAMES)
    graph = body([*places(), node("Gather", ["row", "places"], ["r"], axis=0),
                  node("Concat", ["all", "r"], ["more"], "more", axis=0)],
                 [("all", ["k"])], [("more", ["k1"])])
    want = [v for row in ROWS for v in row if v != 0]
    path, _ = store(13, loop(graph, ["none"], ["y"]), given(ROWS), {"y": ([len(want)], want, F32)},
                    weights + [tensor("none", [0], F32, b"")], NAMES)
    says("as many as each iteration finds", takt("run", path, "--bound", "64"), 1,
         "of another size in every iteration")


def branches():
    """An If in the body whose branches find sizes; and a nested loop."""
    none = Graph([node("Constant", [], ["none"], value=tensor("", [0], I64, b""))], [],
                 [value("none", [0], I64)])
    some = Graph([*places()], [], [value("places", ["k"], I64)])
    nodes = [node("ReduceMax", ["row"], ["top"], keepdims=0),
             node("Less", ["top", "five"], ["few"]),
             node("If", ["few"], ["which"], "choice", then_branch=some, else_branch=none),
             node("Size", ["which"], ["size"], "size"), node("Cast", ["size"], ["count"], to=F32)]
    graph = body(nodes, [], [("count", [])])
    weights = WEIGHTS + [tensor("five", [], F32, floats(5))]
    check("an If in a body", 13, loop(graph, [], ["y"]), given(ROWS),
          {"y": ([4], [2.0, 0, 0, 1], F32)}, weights, NAMES)
    inner = Graph([node("Slice", ["row", "zero", "end", "zero"], ["part"], "part"),
                   node("Unsqueeze", ["k", "zero"], ["end"]),
                   node("ReduceSum", ["part", "zero"], ["s"], keepdims=0)],
                  [value("k", [], I64), value("d", [], BOOL)],
                  [value("yes", [], BOOL), value("s", [])])
    nodes = [*places(), node("Size", ["places"], ["size"]),
             node("Loop", ["two", "yes"], ["sums"], "inner", body=inner),
             node("ReduceSum", ["sums", "zero"], ["both"], keepdims=0),
             node("Cast", ["size"], ["count"], to=F32), node("Add", ["both", "count"], ["sum"])]
    graph = body(nodes, [], [("sum", [])])
    want = [row[0] + sum(v != 0 for v in row) for row in ROWS]
    check("a loop in a body", 13, loop(graph, [], ["y"]), given(ROWS), {"y": ([4], want, F32)},
          weights + [tensor("two", [], I64, ints(2))], NAMES)


def counted(start=0, step=1, flips=False, begins=("Less", "start", "many")):
    """A Loop without a trip count: "while t < n", with a result of every iteration."""
    test = ["Greater", "limit", "next"] if flips else ["Less", "next", "limit"]
    graph = Graph([node("Gather", ["x", "t"], ["row"], "row", axis=0),
                   node("ReduceSum", ["row", "zero"], ["sum"], keepdims=0),
                   node("Add", ["t", "step"], ["next"]),
                   node(test[0], test[1:], ["go_on"])],
                  [value("i", [], I64), value("c", [], BOOL), value("t", [], I64),
                   value("limit", [], I64)],
                  [value("go_on", [], BOOL), value("next", [], I64), value("limit", [], I64),
                   value("sum", [])])
    nodes = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "i0"], ["many"], axis=0),
             node(begins[0], begins[1:], ["begins"]),
             node("Loop", ["", "begins", "start", "many"], ["last", "same", "y"], "loop",
                  body=graph)]
    weights = WEIGHTS + [tensor("start", [], I64, ints(start)),
                         tensor("step", [], I64, ints(step))]
    return nodes, weights


def whiles():
    for start in (0, 1):
        for flips in (False, True):
            nodes, weights = counted(start, flips=flips)
            for rows in (ROWS, ROWS[:2], ROWS[2:3] * 9):
                sums = [sum(row) for row in rows[start:]]
                check(f"while t < {len(rows)} from {start}, {flips}", 13, nodes, given(rows),
                      {"last": ([], [len(rows)], I64), "same": ([], [len(rows)], I64),
                       "y": ([len(sums)], sums, F32)}, weights, NAMES)
    for name, (nodes, weights) in (("steps of two", counted(step=2)),
                                   ("another beginning", counted(begins=("Less", "i1", "many")))):
        path, _ = store(13, nodes, given(ROWS), {"last": ([], [4], I64), "same": ([], [4], I64),
                                                 "y": ([4], [0.0] * 4, F32)}, weights, NAMES)
        says(name, takt("run", path), 1, "must be known when the model is loaded")


if __name__ == "__main__":
    found()
    pasted()
    meet()
    appended()
    branches()
    whiles()
    print(f"{corners.count} models, {len(corners.failures)} failed")
    sys.exit(1 if corners.failures or corners.count < 20 or not os.path.isdir(TMP) else 0)
