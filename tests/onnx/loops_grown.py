"""loops_grown.py - carried values of a Loop that grow by rows which its body reads, as in decoders
with the loop inside the model: bounded by the trip count or a counter."""
import os
import sys

import corners
from _pb import Graph, floats, ints, node, tensor, value
from branches import says
from corners import BOOL, F32, I64, TMP, check, store, takt

WEIGHTS = [tensor("ax1", [1], I64, ints(1)), tensor("yes", [], BOOL, b"\1"),
           tensor("no", [], BOOL, b"\0"), tensor("half", [], F32, floats(0.5)),
           tensor("i0", [], I64, ints(0)), tensor("i1", [], I64, ints(1)),
           tensor("limit", [], F32, floats(20)), tensor("most", [], I64, ints(4)),
           tensor("ever", [], I64, ints((1 << 63) - 1)), tensor("trip", [], I64, ints(300))]


def decode(rows, x, caches, trips, limit=None):
    """An iteration appends x / 2 to each cache, plus its number; the next x sums all rows."""
    done = 0
    while done < trips:
        for k, cache in enumerate(caches):
            cache.append([v / 2 + k for v in x])
        x = [sum(sum(cache[r][d] for r in range(len(cache))) for cache in caches)
             for d in range(rows)]
        done += 1
        if limit is not None and x[0] >= limit:
            break
    return x


def body(count, goes_on, more=(), carried=(), next_values=()):
    """x: [1, 2], caches: [1, rows, 2]; they are broadcast in a sum."""
    nodes = [node("Mul", ["x", "half"], ["new"]), node("Unsqueeze", ["new", "ax1"], ["row0"])]
    for k in range(count):
        if k > 0:
            nodes += [node("Add", [f"row{k - 1}", "one"], [f"row{k}"])]
        nodes += [node("Concat", [f"cache{k}", f"row{k}"], [f"next{k}"], axis=1)]
    both = "next0"
    for k in range(1, count):
        nodes += [node("Add", [both, f"next{k}"], [f"both{k}"])]
        both = f"both{k}"
    nodes += [node("ReduceSum", [both, "ax1"], ["x2"], keepdims=0), *more]
    return Graph([node("Cast", ["i1"], ["one"], to=F32), *nodes],
                 [value("i", [], I64), value("c", [], BOOL), value("x", [1, 2]),
                  *(value(f"cache{k}", [1, f"r{k}", 2]) for k in range(count)),
                  *(value(name, [], I64) for name in carried)],
                 [value(goes_on, [], BOOL), value("x2", [1, 2]),
                  *(value(f"next{k}", [1, f"s{k}", 2]) for k in range(count)),
                  *(value(name, [], I64) for name in next_values)])


def model(name, graph, trips, count, first, want, trip_input="n", more_inputs=()):
    x, caches = [1.0, 3.0], [[[4.0, 8.0]] * first for _ in range(count)]
    end = decode(2, x, caches, want[0], want[1] if len(want) > 1 else None)
    given = {"x0": ([1, 2], x, F32), "n": ([], [trips], I64),
             **{f"c{k}": ([1, first, 2], [v for _ in range(first) for v in (4.0, 8.0)], F32)
                for k in range(count)}}
    results = {"y": ([1, 2], end, F32),
               **{f"o{k}": ([1, len(c), 2], [v for row in c for v in row], F32)
                  for k, c in enumerate(caches)}}
    loop = node("Loop", [trip_input, "yes", "x0", *(f"c{k}" for k in range(count)), *more_inputs],
                ["y", *(f"o{k}" for k in range(count))], "loop", body=graph)
    if trip_input != "n":
        given.pop("n")
    names = {f"c{k}": [1, f"p{k}", 2] for k in range(count)}
    check(name, 13, [loop], given, results, WEIGHTS, names)


def counted():
    """By a trip count known at run time, with initial rows and without."""
    ends = [node("Identity", ["yes"], ["go"])]
    for count in (1, 2, 3):
        for trips, first in ((3, 0), (1, 2), (0, 1), (6, 3)):
            model(f"{count} caches, {trips} times from {first}", body(count, "go", ends), trips,
                  count, first, (trips,))


def ended():
    """By a condition that values decide, or that a counter ends."""
    early = [node("ReduceMin", ["x2"], ["low"], keepdims=0), node("Less", ["low", "limit"], ["go"])]
    model("ended early", body(2, "go", early), 9, 2, 1, (9, 20))
    step = [node("Add", ["k", "i1"], ["k2"]), node("GreaterOrEqual", ["k2", "most"], ["full"])]
    yes = Graph([node("Identity", ["yes"], ["a"])], [], [value("a", [], BOOL)])
    no = Graph([node("ReduceMin", ["x2"], ["low"], keepdims=0),
                node("GreaterOrEqual", ["low", "limit"], ["b"])], [], [value("b", [], BOOL)])
    branches = [*step, node("If", ["full"], ["stop"], then_branch=yes, else_branch=no),
                node("Not", ["stop"], ["go"])]
    words = [*step, node("ReduceMin", ["x2"], ["low"], keepdims=0),
             node("Less", ["low", "limit"], ["small"]), node("Not", ["full"], ["free"]),
             node("And", ["free", "small"], ["go"])]
    for name, nodes in (("branches", branches), ("and", words)):
        for first in (0, 5):
            model(f"a counter among others, {name}, {first}",
                  body(2, "go", nodes, ["k"], ["k2"]), 0, 2, first, (4, 20), "ever", ["i0"])


def refused():
    """Nothing limits the number of iterations: the message names the growing value and the reason.
    """
    early = [node("ReduceMin", ["x2"], ["low"], keepdims=0), node("Less", ["low", "limit"], ["go"])]
    path, _ = store(13, [node("Loop", ["ever", "yes", "x0", "c0"], ["y", "o0"], "loop",
                              body=body(1, "go", early))],
                    {"x0": ([1, 2], [1.0, 3.0], F32), "c0": ([1, 0, 2], [], F32)},
                    {"y": ([1, 2], [0.0, 0.0], F32)}, WEIGHTS, {"c0": [1, "p", 2]})
    says("no end", takt("run", path), 1, "a carried value grows, and nothing tells how often")


def doubled():
    """Each iteration doubles the rows: no bound follows from the number of iterations, so it must
    be known, whatever --bound says."""
    weights = [*WEIGHTS, tensor("from", [1], I64, ints(0)), tensor("end", [1], I64, ints(-1))]
    cut = [node("Slice", ["v", "from", "end", "from"], ["w"])]
    for name, nodes, second, less in (("itself", [], "v", 0), ("all but one", cut, "w", 1)):
        graph = Graph([*nodes, node("Concat", ["v", second], ["v2"], "more", axis=0)],
                      [value("i", [], I64), value("c", [], BOOL), value("v", ["k", 2])],
                      [value("yes", [], BOOL), value("v2", ["k2", 2])])
        rows = [[0.0, 1], [2.0, 3]]
        start = sum(rows, [])
        for _ in range(3):
            rows += rows[:len(rows) - less]
        path, folder = store(13, [node("Loop", ["n", "yes", "v0"], ["y"], "loop", body=graph)],
                             {"n": ([], [3], I64), "v0": ([2, 2], start, F32)},
                             {"y": ([len(rows), 2], sum(rows, []), F32)}, weights,
                             {"v0": ["r", 2]})
        for bound in ("4", "8", "64"):
            for backend in ("cpu", "ref"):
                run = takt("run", path, "--test", folder, "--bound", bound, "--backend", backend)
                says(f"{name}, {bound}, {backend}", run, 0, "agree")
        says(f"{name}, any number", takt("run", path, "--bound", "8"), 1, "grows by rows",
             "has no bound")


def followed():
    """Other values of the growing length: the value of the previous iteration, and an unchanged one
    that is added."""
    total = node("ReduceSum", ["v", "ax0"], ["r"], keepdims=1)
    weights = [*WEIGHTS, tensor("ax0", [1], I64, ints(0))]
    more = node("Concat", ["v", "r"], ["v2"], "more", axis=0)
    before = Graph([node("Identity", ["v"], ["u2"]), total, more],
                   [value("i", [], I64), value("c", [], BOOL), value("u", ["k", 2]),
                    value("v", ["l", 2])],
                   [value("yes", [], BOOL), value("u2", ["k2", 2]), value("v2", ["l2", 2])])
    added = Graph([node("Add", ["v", "v0"], ["w"]),
                   node("ReduceSum", ["w", "ax0"], ["r"], keepdims=1), more],
                  [value("i", [], I64), value("c", [], BOOL), value("v", ["l", 2])],
                  [value("yes", [], BOOL), value("v2", ["l2", 2])])
    rows = [[0.0, 1], [2.0, 3], [2.0, 4], [4.0, 8], [8.0, 16]]
    given = {"n": ([], [3], I64), "v0": ([2, 2], [0.0, 1, 2, 3], F32)}
    path, folder = store(13, [node("Loop", ["n", "yes", "v0", "v0"], ["z", "y"], "loop",
                                   body=before)], given,
                         {"z": ([4, 2], sum(rows[:4], []), F32), "y": ([5, 2], sum(rows, []), F32)},
                         weights, {"v0": ["r", 2]})
    for backend in ("cpu", "ref"):
        run = takt("run", path, "--test", folder, "--bound", "8", "--backend", backend)
        says(f"an iteration before, {backend}", run, 0, "agree")
    says("an iteration before, any number", takt("run", path, "--bound", "8"), 1, "as long as it")
    path, _ = store(13, [node("Loop", ["n", "yes", "v0"], ["y"], "loop", body=added)], given,
                    {"y": ([5, 2], sum(rows, []), F32)}, weights, {"v0": ["r", 2]})
    says("one that stays", takt("run", path, "--bound", "8"), 1, "as long as it")


def parts():
    """From i to i + k: never more than k elements, for any i."""
    for start in (-9, -6, -3, -1, 0, 2, 4, 5, 9):
        for length in (1, 2, 5, 8):
            numbers = [float(v) for v in range(6)]
            stop = start + length
            at = [min(max(v + 6 if v < 0 else v, 0), 6) for v in (start, stop)]
            want = numbers[at[0]:at[1]]
            check(f"from {start} to {stop}", 13,
                  [node("Add", ["s", "k"], ["e"]), node("Slice", ["x", "s", "e"], ["y"], "cut")],
                  {"x": ([6], numbers, F32), "s": ([1], [start], I64)},
                  {"y": ([len(want)], want, F32)}, [tensor("k", [1], I64, ints(length))])


if __name__ == "__main__":
    counted()
    ended()
    refused()
    doubled()
    followed()
    parts()
    print(f"{corners.count} models, {len(corners.failures)} failed")
    sys.exit(1 if corners.failures or corners.count < 50 or not os.path.isdir(TMP) else 0)
