"""labels.py - sizes that a file leaves open: facts that loading cannot prove, branches that are
impossible at some sizes, and inputs whose values were given when the model was read."""
import os
import struct
import sys

import corners
from _pb import Graph, floats, ints, node, tensor, value
from corners import BOOL, F32, I64, TMP, check, fail, store, takt, write


def says(name, run, code, *words):
    if run.returncode != code or any(word not in run.stdout + run.stderr for word in words):
        fail(name, f"{run.returncode}: {run.stdout + run.stderr}")


def npy(name, dims, items, kind):
    """A file in TMP; `kind` is a format of struct."""
    head = f"{{'descr': '<{ {'f': 'f4', 'q': 'i8'}[kind]}', 'fortran_order': False, "
    head += f"'shape': ({', '.join(map(str, dims))}{',' if len(dims) == 1 else ''})}}"
    head = head.ljust((len(head) + 11 + 63) // 64 * 64 - 11) + "\n"
    body = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
    return write(os.path.join(TMP, name), body + struct.pack(f"<{len(items)}{kind}", *items))


def squeezes():
    """An If on a size, with branches of other ranks: the size is what the condition says."""
    yes = Graph([node("Squeeze", ["x", "axis"], ["z"], "s")], [], [value("z", ["z0"])])
    no = Graph([node("Identity", ["x"], ["z"], "t")], [], [value("z", ["z0", "z1"])])
    nodes = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "one"], ["d"]),
             node("Equal", ["d", "one"], ["c"]),
             node("If", ["c"], ["y"], "choice", then_branch=yes, else_branch=no)]
    weights = [tensor("one", [], I64, ints(1)), tensor("axis", [1], I64, ints(1))]
    check("an If on a size", 13, nodes, {"x": ([3, 1], [1.0, 2, 3], F32)},
          {"y": ([3], [1.0, 2, 3], F32)}, weights, {"x": ["n", "m"]})
    path, _ = store(13, nodes, {"x": ([3, 2], [0.0] * 6, F32)}, {"y": ([3, 2], [0.0] * 6, F32)},
                    weights, {"x": ["n", "m"]})
    says("without sizes", takt("inspect", path), 0, "y: f32[n]")
    says("the other branch", takt("run", path, "--shape", "x:3x2"), 0, "y: f32[3, 2]")


def branches():
    """One of two branches is impossible at most sizes; neither determines names outside."""
    yes = Graph([node("Reshape", ["x", "four"], ["z"], "fours")], [], [value("z", [2, 2])])
    no = Graph([node("Gather", ["x", "zero"], ["e"], "first"),
                node("Expand", ["e", "two"], ["z"], "spread")], [], [value("z", [2, 2])])
    nodes = [node("If", ["c"], ["y"], "choice", then_branch=yes, else_branch=no)]
    weights = [tensor("four", [2], I64, ints(2, 2)), tensor("zero", [], I64, ints(0)),
               tensor("two", [2], I64, ints(2, 2))]
    names = {"x": ["n"], "c": []}
    check("a branch that fits", 13, nodes,
          {"x": ([4], [1.0, 2, 3, 4], F32), "c": ([], [True], BOOL)},
          {"y": ([2, 2], [1.0, 2, 3, 4], F32)}, weights, names)
    check("a branch that does not fit and is not taken", 13, nodes,
          {"x": ([3], [1.0, 2, 3], F32), "c": ([], [False], BOOL)},
          {"y": ([2, 2], [1.0] * 4, F32)}, weights, names)
    path, folder = store(13, nodes, {"x": ([3], [1.0, 2, 3], F32), "c": ([], [True], BOOL)},
                         {"y": ([2, 2], [1.0] * 4, F32)}, weights, names)
    packed = os.path.join(TMP, "branches.taktp")
    says("a file of both", takt("convert", path, "-o", packed), 0)
    for name in (path, packed):
        run = takt("run", name, "-i", "x=" + os.path.join(folder, "input_0.pb"),
                   "-i", "c=" + os.path.join(folder, "input_1.pb"))
        says("a branch that does not fit and is taken", run, 1, "4011", "then", "f32[3]")


def sliced():
    """A mask is cut to the rows of a cache plus the new ones: it has that size, not the wrong one
    of the file, unless the latter is always sufficient."""
    nodes = [node("Concat", ["past", "x"], ["all"], axis=0), node("Shape", ["all"], ["n"]),
             node("Slice", ["mask", "zero", "n", "zero"], ["cut"]),
             node("Mul", ["all", "cut"], ["y"])]
    zero = [tensor("zero", [1], I64, ints(0))]
    for p, s in ((2, 3), (2, 1), (0, 4), (5, 2)):
        rows, mask = [float(i) for i in range(p + s)], [float(i % 3) for i in range(p + s)]
        for label in ("p + 1", "p + s", "3*p"):
            inputs = {"past": ([p], rows[:p], F32), "x": ([s], rows[p:], F32),
                      "mask": ([p + s], mask, F32)}
            check(f"{p} and {s} rows, {label}", 13, nodes, inputs,
                  {"y": ([p + s], [a * b for a, b in zip(rows, mask)], F32)}, zero,
                  {"past": ["p"], "x": ["s"], "mask": [label]})
    half = [node("Shape", ["x"], ["n"]), node("Slice", ["mask", "zero", "n", "zero"], ["cut"]),
            node("Mul", ["x", "cut"], ["y"])]
    path, _ = store(13, half, {"x": ([3], [1.0] * 3, F32), "mask": ([6], [2.0] * 6, F32)},
                    {"y": ([3], [2.0] * 3, F32)}, zero, {"x": ["p"], "mask": ["2*p"]})
    says("a file that is right", takt("inspect", path, "-D", "p=3"), 0, "mask: f32[6]")


def one_of_two():
    """Two names that are broadcast together are unified, unless -D sets one of them to 1."""
    path, _ = store(13, [node("Add", ["x", "y"], ["z"])],
                    {"x": ([2], [1.0, 2], F32), "y": ([1], [3.0], F32)},
                    {"z": ([2], [4.0, 5], F32)}, (), {"x": ["B"], "y": ["P"]})
    for sizes, shapes in (("B=2,P=1", ("x: f32[2]", "y: f32[1]", "z: f32[2]")),
                          ("B=1,P=2", ("x: f32[1]", "y: f32[2]", "z: f32[2]")),
                          ("B=2,P=2", ("x: f32[2]", "y: f32[2]", "z: f32[2]")),
                          ("P=3", ("x: f32[3]", "y: f32[3]", "z: f32[3]"))):
        words = [w for size in sizes.split(",") for w in ("-D", size)]
        says(f"sizes {sizes}", takt("inspect", path, *words), 0, *shapes)
        says(f"a run of {sizes}", takt("run", path, *words), 0, shapes[2])
    says("sizes that do not broadcast", takt("run", path, "-D", "B=2", "-D", "P=3"), 2, "1003",
         "P=3: in this model P is B, which is 2")


def frozen():
    """A number of items that an input's value decides is built in; another value is refused."""
    nodes = [node("SplitToSequence", ["x", "n"], ["s"]), node("SequenceAt", ["s", "one"], ["y"])]
    path, folder = store(18, nodes, {"x": ([10], [float(i) for i in range(10)], F32),
                                     "n": ([], [5], I64)}, {"y": ([5], [5.0, 6, 7, 8, 9], F32)},
                         [tensor("one", [], I64, ints(1))])
    packed = os.path.join(TMP, "frozen.taktp")
    x = "x=" + os.path.join(folder, "input_0.pb")
    five, six = npy("five.npy", [], [5], "q"), npy("six.npy", [], [6], "q")
    says("compile", takt("compile", path, "-i", f"n={five}", "-o", packed), 0)
    says("named", takt("inspect", packed), 0, "require: n == 5", "input n is frozen")
    says("lineage", takt("lineage", packed), 0, "-i n=five.npy")
    says("the same value", takt("run", packed, "-i", x, "-i", f"n={five}"), 0,
         "y: f32[5]")
    says("another value", takt("run", packed, "-i", x, "-i", f"n={six}"), 1, "5010",
         "n == 5", "frozen")


def found():
    """A size that an input's value determines is found by every run, up to its bound."""
    nodes = [node("Range", ["zero", "n", "one"], ["r"]), node("Cast", ["r"], ["y"], to=1)]
    weights = [tensor("zero", [], I64, ints(0)), tensor("one", [], I64, ints(1))]
    path, _ = store(13, nodes, {"n": ([], [4], I64)}, {"y": ([4], [0.0, 1, 2, 3], F32)}, weights)
    packed = os.path.join(TMP, "found.taktp")
    four, five = npy("four.npy", [], [4], "q"), npy("five.npy", [], [5], "q")
    says("convert", takt("convert", path, "-o", packed), 0)
    for name in (path, packed):
        says("no bound", takt("run", name, "-i", f"n={four}"), 1, "4012", "--bound range_0=")
        for value, size in ((four, 4), (five, 5)):
            says("a bound", takt("run", name, "-i", f"n={value}", "--bound", "range_0=8"), 0,
                 f"y: f32[{size}]")
        says("beyond it", takt("run", name, "-i", f"n={five}", "--bound", "4"), 1, "5014",
             "a size is 5, its bound 4", "--bound range_0=5")
        says("planned", takt("plan", name, "--bound", "8"), 0, "range_0 0 to 8",
             "y: f32[<= 8]")


def choices():
    """Branches whose results differ in size: it is found at run time."""
    yes = Graph([node("Concat", ["x", "x"], ["a"], axis=0), node("Neg", ["x"], ["b"])], (),
                [value("a", [6]), value("b", [3])])
    no = Graph([node("Identity", ["x"], ["d"]), node("Identity", ["x"], ["e"])], (),
               [value("d", [3]), value("e", [3])])
    nodes = [node("If", ["c"], ["u", "v"], then_branch=yes, else_branch=no),
             node("Mul", ["u", "two"], ["y"]), node("Abs", ["v"], ["z"])]
    weights = [tensor("two", [], 1, floats(2))]
    x = [1.0, -2, 3]
    for flag, want in ((True, [2.0, -4, 6, 2, -4, 6]), (False, [2.0, -4, 6])):
        check(f"a branch of {len(want)}", 13, nodes,
              {"x": ([3], x, F32), "c": ([], [flag], BOOL)},
              {"y": ([len(want)], want, F32), "z": ([3], [1.0, 2, 3], F32)}, weights)
    empty = Graph([node("Slice", ["x", "zero", "zero"], ["a"])], (), [value("a", [0])])
    same = Graph([node("Identity", ["x"], ["b"])], (), [value("b", ["n"])])
    for flag, want in ((True, []), (False, x)):
        check(f"nothing, or n: {len(want)}", 13,
              [node("If", ["c"], ["y"], then_branch=empty, else_branch=same)],
              {"x": ([3], x, F32), "c": ([], [flag], BOOL)}, {"y": ([len(want)], want, F32)},
              [tensor("zero", [1], I64, ints(0))], {"x": ["n"]})


def decoders():
    """A merged decoder: with a cache, or from the beginning."""
    def score(out):
        return [node("MatMul", ["x", "w"], ["q"]), node("Transpose", [out], ["t"], perm=[0, 2, 1]),
                node("MatMul", ["q", "t"], ["s"]), node("Softmax", ["s"], ["p"], axis=-1),
                node("MatMul", ["p", out], ["l"])]

    ends = [value("l", ["b", "n", 2]), value("all", ["b", "k", 2])]
    yes = Graph([node("Concat", ["past", "x"], ["all"], axis=1), *score("all")], (), ends)
    no = Graph([node("Identity", ["x"], ["all"]), *score("all")], (), ends)
    nodes = [node("If", ["use_cache_branch"], ["logits", "present"], then_branch=yes,
                  else_branch=no)]
    weights = [tensor("w", [2, 2], 1, floats(0, 0, 0, 0))]  # the mean of all values
    names = {"x": ["b", "n", 2], "past": ["b", "p", 2], "use_cache_branch": [1]}
    check("the first tokens", 13, nodes,
          {"use_cache_branch": ([1], [False], BOOL), "x": ([1, 2, 2], [1.0, 2, 3, 4], F32),
           "past": ([1, 1, 2], [9.0, 9], F32)},
          {"logits": ([1, 2, 2], [2.0, 3, 2, 3], F32), "present": ([1, 2, 2], [1.0, 2, 3, 4], F32)},
          weights, names)
    check("one more", 13, nodes,
          {"use_cache_branch": ([1], [True], BOOL), "x": ([1, 1, 2], [5.0, 0], F32),
           "past": ([1, 2, 2], [1.0, 2, 3, 4], F32)},
          {"logits": ([1, 1, 2], [3.0, 2], F32), "present": ([1, 3, 2], [1.0, 2, 3, 4, 5, 0], F32)},
          weights, names)
    path, _ = store(13, nodes, {"use_cache_branch": ([1], [True], BOOL),
                                "x": ([1, 1, 2], [0.0] * 2, F32),
                                "past": ([1, 1, 2], [0.0] * 2, F32)},
                    {"logits": ([1, 1, 2], [0.0] * 2, F32)}, weights, names)
    says("nothing is built in", takt("inspect", path), 0, "length: ")


def loops():
    """Rows of a loop: by a count from an input, or until a condition in the body ends it."""
    def body(condition):
        return Graph([node("Add", ["s", "x"], ["t"]), *condition, node("Mul", ["t", "two"], ["r"])],
                     [value("i", [], I64), value("c", [], BOOL), value("s", [1])],
                     [value("d", [], BOOL), value("t", [1]), value("r", [1])])

    weights = [tensor("two", [], 1, floats(2)), tensor("seven", [1], 1, floats(7)),
               tensor("true", [], 9, b"\1"), tensor("many", [], I64, ints(500))]
    on = [node("Identity", ["c"], ["d"])]
    short = [node("Less", ["t", "seven"], ["e"]), node("Squeeze", ["e"], ["d"])]
    for name, trip, condition, turns in (("as many as asked", 3, on, 3), ("none", 0, on, 0),
                                         ("an early end", 9, short, 4), ("too early", 2, short, 2)):
        want = [2.0 * 2 * (k + 1) for k in range(turns)]
        data = {"x": ([1], [2.0], F32), "n": ([], [trip], I64), "s0": ([1], [0.0], F32)}
        path, folder = store(13, [node("Loop", ["n", "true", "s0"], ["last", "y"],
                                       body=body(condition))], data,
                             {"last": ([1], [2.0 * turns], F32), "y": ([turns, 1], want, F32)},
                             weights)
        run = takt("run", path, "--bound", "12", *[
            word for k, key in enumerate(data)
            for word in ("-i", f"{key}=" + os.path.join(folder, f"input_{k}.pb"))])
        says(name, run, 0, f"y: f32[{turns}, 1]", *[f"[{int(v)}]" for v in want])
    data = {"x": ([1], [2.0], F32), "s0": ([1], [0.0], F32)}
    check("a limit, and an early end", 13, [
        node("Loop", ["many", "true", "s0"], ["last", "y"], body=body(short))], data,
          {"last": ([1], [8.0], F32), "y": ([4, 1], [4.0, 8, 12, 16], F32)}, weights)


def masks():
    """A mask whose length is past + 1 in the file, but must be past + n for the graph."""
    nodes = [node("Concat", ["past", "x"], ["all"], axis=0), node("Mul", ["all", "mask"], ["y"])]
    names = {"past": ["past"], "x": ["n"], "mask": ["past + 1"]}
    check("a label that is wrong", 13, nodes,
          {"past": ([2], [1.0, 2], F32), "x": ([3], [3.0, 4, 5], F32),
           "mask": ([5], [1.0, 0, 1, 0, 1], F32)},
          {"y": ([5], [1.0, 0, 3, 0, 5], F32)}, names=names)
    path, _ = store(13, nodes, {"past": ([2], [0.0] * 2, F32), "x": ([3], [0.0] * 3, F32),
                                "mask": ([5], [0.0] * 5, F32)}, {"y": ([5], [0.0] * 5, F32)},
                    names=names)
    says("sizes by name", takt("run", path, "-D", "past=4", "-D", "n=3"), 0, "y: f32[7]")
    path, _ = store(13, [node("Relu", ["mask"], ["y"])], {"mask": ([5], [0.0] * 5, F32)},
                    {"y": ([5], [0.0] * 5, F32)}, names={"mask": ["past + 1"]})
    says("a label that nothing contradicts", takt("run", path, "-D", "past=4"), 0, "y: f32[5]")


if __name__ == "__main__":
    squeezes()
    branches()
    sliced()
    one_of_two()
    frozen()
    found()
    choices()
    decoders()
    loops()
    masks()
    print(f"{corners.count} models, {len(corners.failures)} failed")
    sys.exit(1 if corners.failures or corners.count < 3 or not os.path.isdir(TMP) else 0)
