"""merged_state.py - merged decoders whose caches become state (--state auto): the branch with a
cache appends rows to it, the other one starts over."""
import json
import os
import sys

import corners
from _pb import Graph, floats, ints, node, tensor, value
from branches import says
from corners import BOOL, F32, I64, TMP, store, takt
from split_caches import around, npy

WEIGHTS = [tensor("zero", [1], I64, ints(0)), tensor("one", [1], I64, ints(1)),
           tensor("last", [1], I64, ints(-1)), tensor("far", [1], I64, ints(1 << 40)),
           tensor("twice", [], F32, floats(2)), tensor("half", [], F32, floats(0.5))]
NAMES = {"x": ["b", "s", 2], "past": ["b", "p", 2], "at": ["s"]}
BATCH, ROOM = 2, 8


def branch(has_cache, has_positions):
    """The sum of all rows, and the rows themselves: new ones doubled with a cache, halved without.
    Positions have no batch; the width is read from a shape, as exporters do for the scale of
    attention."""
    new = [node("Mul", ["x", "twice" if has_cache else "half"], ["d"])]
    if has_positions:
        new += [node("Unsqueeze", ["at", "one"], ["column"]), node("Add", ["d", "column"], ["e"]),
                node("Shape", ["e"], ["shape"]), node("Slice", ["shape", "last", "far"], ["n"]),
                node("Cast", ["n"], ["width"], to=F32), node("Mul", ["e", "width"], ["f"])]
    new += around("f" if has_positions else "d", "new")
    rows = [node("Concat", ["past", "new"], ["all"], "append", axis=1)] if has_cache else \
           [node("Identity", ["new"], ["all"])]
    return Graph([*new, *rows, node("ReduceSum", ["all", "one"], ["y"], keepdims=0)], [],
                 [value("y", ["b", 2]), value("all", ["b", "k", 2])])


def merged(is_inverted, has_positions):
    nodes = [node("Squeeze", ["c", "zero"], ["flag"])]
    flag = "flag"
    with_cache, without = branch(True, has_positions), branch(False, has_positions)
    branches = {"then_branch": with_cache, "else_branch": without}
    if is_inverted:
        nodes.append(node("Not", ["flag"], ["other"]))
        flag = "other"
        branches = {"then_branch": without, "else_branch": with_cache}
    return [*nodes, node("If", [flag], ["r", "present"], "choice", **branches),
            node("Add", ["r", "half"], ["z"])]


def stored(is_inverted, has_positions):
    inputs = {"x": ([BATCH, 1, 2], [0.0] * 4, F32), "past": ([BATCH, 1, 2], [0.0] * 4, F32),
              "c": ([1], [True], BOOL)}
    if has_positions:
        inputs["at"] = ([1], [0.0], F32)
    return store(13, merged(is_inverted, has_positions), inputs,
                 {"z": ([BATCH, 2], [0.0] * 4, F32), "present": ([BATCH, 2, 2], [0.0] * 8, F32)},
                 WEIGHTS, NAMES)[0]


def files(steps, has_positions):
    """Arguments for these steps, and the results."""
    words, want, sums = [], [], []
    for i, (rows, cached) in enumerate(steps):
        x = [float((7 * i + k) % 5) for k in range(BATCH * rows * 2)]
        by = 2.0 if cached else 0.5
        sums = sums if cached else [0.0] * (BATCH * 2)
        for k, v in enumerate(x):
            new = 2 * (by * v + k // 2 % rows) if has_positions else by * v
            sums[k // (rows * 2) * 2 + k % 2] += new
        want.append([v + 0.5 for v in sums])
        words += ["-i", f"x={npy(f'x{i}.npy', ([BATCH, rows, 2], x, F32))}",
                  "-i", f"c={npy(f'c{i}.npy', ([1], [cached], BOOL))}"]
        if has_positions:
            at = [float(k) for k in range(rows)]
            words += ["-i", f"at={npy(f'at{i}.npy', ([rows], at, F32))}"]
    return words, want


def grows(is_inverted, has_positions):
    path = stored(is_inverted, has_positions)
    run = takt("inspect", path, "--state", f"auto={ROOM}")
    says("a cache that is state", run, 0, "x: f32[b, s, 2]")
    if "past:" in run.stdout or "present:" in run.stdout:
        corners.fail("a cache that is state", run.stdout)
    steps = ((3, False), (1, True), (1, True), (3, True), (2, False), (1, True), (1, False),
             (7, True))
    words, want = files(steps, has_positions)
    for backend in ("cpu", "ref"):
        run = takt("run", "--json", path, "--state", f"auto={ROOM}", "--backend", backend, *words)
        got = [f["outputs"]["z"]["values"] for f in json.loads(run.stdout)["files"]] \
            if run.returncode == 0 else run.stderr
        if got != want:
            corners.fail(f"steps, {is_inverted}, {has_positions}, {backend}", f"{got} for {want}")
    words, _ = files(((5, False), (3, True), (1, True)), has_positions)
    says("no room", takt("run", path, "--state", f"auto={ROOM}", *words), 1,
         "there are no 9 rows")


if __name__ == "__main__":
    for positions in (False, True):
        grows(False, positions)
        grows(True, positions)
    os.remove(os.path.join(TMP, "corner.onnx"))
    print(f"4 models, {len(corners.failures)} failed")
    sys.exit(len(corners.failures) > 0)
