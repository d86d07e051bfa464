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
           tensor("twice", [], F32, floats(2)), tensor("half", [], F32, floats(0.5))]
NAMES = {"x": ["b", "s", 2], "past": ["b", "p", 2]}
BATCH, ROOM = 2, 8


def branch(has_cache):
    """The sum of all rows, and these: new ones doubled with a cache, halved without."""
    new = [node("Mul", ["x", "twice" if has_cache else "half"], ["d"]), *around("d", "new")]
    rows = [node("Concat", ["past", "new"], ["all"], "append", axis=1)] if has_cache else \
           [node("Identity", ["new"], ["all"])]
    return Graph([*new, *rows, node("ReduceSum", ["all", "one"], ["y"], keepdims=0)], [],
                 [value("y", ["b", 2]), value("all", ["b", "k", 2])])


def merged(is_inverted):
    nodes = [node("Squeeze", ["c", "zero"], ["flag"])]
    flag = "flag"
    branches = {"then_branch": branch(True), "else_branch": branch(False)}
    if is_inverted:
        nodes.append(node("Not", ["flag"], ["other"]))
        flag = "other"
        branches = {"then_branch": branch(False), "else_branch": branch(True)}
    return [*nodes, node("If", [flag], ["r", "present"], "choice", **branches),
            node("Add", ["r", "half"], ["z"])]


def stored(is_inverted):
    inputs = {"x": ([BATCH, 1, 2], [0.0] * 4, F32), "past": ([BATCH, 1, 2], [0.0] * 4, F32),
              "c": ([1], [True], BOOL)}
    return store(13, merged(is_inverted), inputs, {"z": ([BATCH, 2], [0.0] * 4, F32),
                                                   "present": ([BATCH, 2, 2], [0.0] * 8, F32)},
                 WEIGHTS, NAMES)[0]


def files(steps):
    """Arguments for these steps, and the results."""
    words, want, sums = [], [], []
    for i, (rows, cached) in enumerate(steps):
        x = [float((7 * i + k) % 5) for k in range(BATCH * rows * 2)]
        by = 2.0 if cached else 0.5
        sums = sums if cached else [0.0] * (BATCH * 2)
        for k, v in enumerate(x):
            sums[k // (rows * 2) * 2 + k % 2] += by * v
        want.append([v + 0.5 for v in sums])
        words += ["-i", f"x={npy(f'x{i}.npy', ([BATCH, rows, 2], x, F32))}",
                  "-i", f"c={npy(f'c{i}.npy', ([1], [cached], BOOL))}"]
    return words, want


def grows(is_inverted):
    path = stored(is_inverted)
    run = takt("inspect", path, "--state", f"auto={ROOM}")
    says("a cache that is state", run, 0, "x: f32[b, s, 2]")
    if "past:" in run.stdout or "present:" in run.stdout:
        corners.fail("a cache that is state", run.stdout)
    steps = ((3, False), (1, True), (1, True), (3, True), (2, False), (1, True), (1, False),
             (7, True))
    words, want = files(steps)
    for backend in ("cpu", "ref"):
        run = takt("run", "--json", path, "--state", f"auto={ROOM}", "--backend", backend, *words)
        got = [f["outputs"]["z"]["values"] for f in json.loads(run.stdout)["files"]] \
            if run.returncode == 0 else run.stderr
        if got != want:
            corners.fail(f"steps, {is_inverted}, {backend}", f"{got} for {want}")
    words, _ = files(((5, False), (3, True), (1, True)))
    says("no room", takt("run", path, "--state", f"auto={ROOM}", *words), 1,
         "there are no 9 rows")


if __name__ == "__main__":
    grows(False)
    grows(True)
    os.remove(os.path.join(TMP, "corner.onnx"))
    print(f"2 models, {len(corners.failures)} failed")
    sys.exit(len(corners.failures) > 0)
