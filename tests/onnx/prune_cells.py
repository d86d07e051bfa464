"""prune_cells.py - `takt prune` of RNN, GRU and LSTM in ONNX files: the units that are worth least
are removed from all gates, directions and readers. The results are those of files whose weights
were sliced by hand."""
import math
import os
import struct
import sys

from _pb import Graph, floats, ints, model, node, tensor, value
from corners import F32, I64, TMP, fail, failures, takt, write

INPUT, UNITS, CLASSES, STEPS, BATCH = 5, 7, 3, 4, 2
SMALL = (1, 4)  # units with small weights
KEPT = [u for u in range(UNITS) if u not in SMALL]
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def weight(*index):
    """Any number for a place; the last two are units, or -1."""
    scale = math.prod(1e-3 if u in SMALL else 1.0 for u in index[-2:])
    return scale * math.sin(sum((7 * i + 3) * v for i, v in enumerate(index)) + 0.5)


def cell(op, directions, units, settings):
    """The nodes and weights of a layer and of the product that reads it."""
    gates, size = range(GATES[op]), len(units)
    rows = [(d, g, u) for d in range(directions) for g in gates for u in units]
    both = [(d, half, g, u) for d in range(directions) for half in range(2) for g in gates
            for u in units]
    wide = [directions, len(gates) * size]
    weights = [
        tensor("w", [*wide, INPUT], F32,
               floats(*(weight(d, g, i, u, -1) for d, g, u in rows for i in range(INPUT)))),
        tensor("r", [*wide, size], F32,
               floats(*(weight(d, g, u, v) for d, g, u in rows for v in units))),
        tensor("b", [directions, 2 * wide[1]], F32, floats(*(weight(*at, -1) for at in both))),
        tensor("head", [directions * size, CLASSES], F32,
               floats(*(weight(d, c, u, -1) for d in range(directions) for u in units
                        for c in range(CLASSES)))),
        tensor("joined", [3], I64, ints(0, 0, -1)), tensor("one", [1], I64, ints(1))]
    joins = [node("Transpose", ["all"], ["turned"], "turn", perm=[0, 2, 1, 3]),
             node("Reshape", ["turned", "joined"], ["h"], "join")]
    nodes = [node(op, ["x", "w", "r", "b"], ["all"], "cell", hidden_size=size,
                  direction="bidirectional" if directions == 2 else "forward", **settings),
             *(joins if directions == 2 else [node("Squeeze", ["all", "one"], ["h"], "squeeze")]),
             node("MatMul", ["h", "head"], ["y"], "head")]
    return model(Graph(nodes, [value("x", ["steps", "batch", INPUT])],
                       [value("y", ["steps", "batch", CLASSES])], weights), 17)


def made(name, body):
    return write(os.path.join(TMP, name), body)


def outputs(name, file):
    x = [math.cos(1.3 * i) for i in range(STEPS * BATCH * INPUT)]
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({STEPS}, {BATCH}, {INPUT}), }}"
    head = head.ljust(117) + "\n"
    made("cells-x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
         + floats(*x))
    to = os.path.join(TMP, "cells-y.npy")
    run = takt("run", file, "-i", os.path.join(TMP, "cells-x.npy"), "-o", to)
    if run.returncode != 0:
        fail(name, run.stderr)
        return []
    with open(to, "rb") as source:
        body = source.read()[10 + len(head):]
    return struct.unpack(f"<{len(body) // 4}f", body)


def check(op, directions, settings):
    name = f"{op} of {directions}, {settings}"
    whole = made("cells.onnx", cell(op, directions, range(UNITS), settings))
    sliced = made("cells-sliced.onnx", cell(op, directions, KEPT, settings))
    pruned = os.path.join(TMP, "cells-pruned.onnx")
    run = takt("prune", whole, "--amount", "0.3", "-D", f"steps={STEPS}", "-D", f"batch={BATCH}",
               "--threads", "1", "-o", pruned)
    if run.returncode != 0:
        fail(name, run.stderr)
        return
    got, want = outputs(name, pruned), outputs(name, sliced)
    if len(got) != STEPS * BATCH * CLASSES or len(want) != len(got):
        fail(name, f"{len(got)} and {len(want)} outputs")
    elif max(abs(a - b) for a, b in zip(got, want)) > 1e-6:
        fail(name, f"{got[:6]}, sliced by hand {want[:6]}\n{run.stdout}")


if __name__ == "__main__":
    for count in (1, 2):
        check("RNN", count, {})
        check("LSTM", count, {})
        check("GRU", count, {})
        check("GRU", count, {"linear_before_reset": 1})
    print(f"8 models, {len(failures)} failed")
    sys.exit(1 if failures else 0)
