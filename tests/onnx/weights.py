"""weights.py - initializers are parameters: by their names they are listed, saved, replaced, and
written again. Those that became settings are not."""
import json
import os
import struct
import sys

import corners
from _pb import Graph, floats, ints, model, node, tensor, value
from corners import BOOL, F32, I64, TMP, fail, failures, takt, write

NAMES = {"layer/w:0", "b1", "b2"}


def path(name):
    return os.path.join(TMP, name)


def named(file):
    """{name: floats} of a safetensors file."""
    with open(file, "rb") as opened:
        data = opened.read()
    length = struct.unpack_from("<Q", data)[0]
    found = {}
    for key, entry in json.loads(data[8:8 + length]).items():
        if key != "__metadata__":
            start, end = entry["data_offsets"]
            raw = data[8 + length + start:8 + length + end]
            found[key] = struct.unpack(f"<{len(raw) // 4}f", raw)
    return found


def store(file, tensors):
    """The other way round, of vectors and of a matrix [2, 2]."""
    header, body = {}, b""
    for key, items in tensors.items():
        raw = struct.pack(f"<{len(items)}f", *items)
        header[key] = {"dtype": "F32", "shape": [2, 2] if len(items) == 4 else [len(items)],
                       "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(header).encode()
    write(file, struct.pack("<Q", len(text)) + text + body)


def ran(*words):
    run = takt(*words)
    if run.returncode != 0:
        fail(" ".join(words), run.stdout + run.stderr)
    return run.stdout


def expect(holds, why):
    if not holds:
        fail("weights", str(why))


def made():
    """min((x w + b1) * 1 + b2, 6) with equal biases; the limit and the axes are settings."""
    nodes = [node("MatMul", ["x", "layer/w:0"], ["h"]), node("Add", ["h", "b1"], ["i"]),
             node("Add", ["i", "b2"], ["j"]), node("Clip", ["j", "", "limit"], ["k"]),
             node("Unsqueeze", ["k", "axes"], ["y"])]
    weights = [tensor("layer/w:0", [2, 2], F32, floats(1, 2, 3, 4)),
               tensor("b1", [2], F32, floats(0, 0)), tensor("b2", [2], F32, floats(0, 0)),
               tensor("limit", [], F32, floats(6)), tensor("axes", [1], I64, ints(0)),
               tensor("unused", [2], F32, floats(8, 9))]
    return write(path("weights.onnx"), model(Graph(
        nodes, [value("x", [1, 2])], [value("y", [1, 1, 2])], weights), 13))


def replaced(source, given):
    """The model's output for 1, 1."""
    store(path("given.safetensors"), given)
    write(path("x.pb"), corners.data("x", [1, 2], [1.0, 1], F32))
    return ran("run", source, "-i", "x=" + path("x.pb"), "--weights", path("given.safetensors"))


def listed():
    source = made()
    saved = path("saved.safetensors")
    for kind in ("onnx", "taktp", "takt"):
        kept = path("again." + kind)
        ran("convert", source, "-o", kept)
        for file in (source, kept):
            ran("convert", file, "-o", saved)
            expect(set(named(saved)) == NAMES, (file, named(saved)))
            expect("parameters: 8" in ran("inspect", file), ran("inspect", file))
            given = {"layer/w:0": (1, 0, 0, 1), "b1": (0, 0), "b2": (2, 7)}
            expect("[3, 6]" in replaced(file, given), replaced(file, given))
    given["limit"] = (1, 1)
    expect("[3, 6]" in replaced(source, given), "a setting was replaced")
    del given["b2"]
    store(path("given.safetensors"), given)
    run = takt("run", source, "--weights", path("given.safetensors"))
    expect(run.returncode != 0 and "b2" in run.stderr, run.stderr)


def optimised():
    """Values that passes leave unchanged keep their names."""
    ran("compile", made(), "--emit", path("emitted.onnx"))
    for file, name in (("emitted.onnx", b"layer/w:0"), ("again.onnx", b"limit")):
        with open(path(file), "rb") as opened:
            expect(name in opened.read(), f"{name} is called otherwise in {file}")


def in_bodies():
    """A weight that a branch also reads is unchanged: the branch holds a copy."""
    branches = {key: Graph([node(op, ["b", "w"], [op])], [], [value(op, [2])])
                for key, op in (("then_branch", "Add"), ("else_branch", "Sub"))}
    source = write(path("bodies.onnx"), model(Graph(
        [node("Mul", ["x", "w"], ["a"]), node("Mul", ["a", "v"], ["b"]),
         node("If", ["c"], ["y"], **branches)],
        [value("x", [2]), value("c", [], BOOL)], [value("y", [2])],
        [tensor("w", [2], F32, floats(1, 2)), tensor("v", [2], F32, floats(3, 4))]), 13))
    ran("convert", source, "-o", path("saved.safetensors"))
    expect(set(named(path("saved.safetensors"))) == {"v"}, named(path("saved.safetensors")))


if __name__ == "__main__":
    listed()
    optimised()
    in_bodies()
    print(f"{len(failures)} failed")
    sys.exit(1 if failures else 0)
