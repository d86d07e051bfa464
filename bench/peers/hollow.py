"""hollow.py - models whose large weights are left out and drawn again: megabytes become kilobytes.

Times do not depend on what the weights are, so a file that is carried to another machine has in
their place how many there are, and their mean and deviation. NAME.hollow is a line of JSON, then
what is not drawn, packed by zlib. No package but numpy is needed to fill one.
"""
import json
import os
import zlib

import numpy as np

LEAST = 4096  # bytes of a weight that is replaced by random values; smaller ones are kept
ENDING = ".hollow"


def _cuts(data, weights):
    """Position of each weight in the file: weights are (dtype, bytes), in any order."""
    found = []
    for dtype, raw in weights:
        at = data.find(raw)
        if at >= 0:
            values = np.frombuffer(raw, dtype).astype(np.float64)
            found.append([at, len(values), np.dtype(dtype).name, float(values.mean()),
                          float(values.std())])
    found.sort()
    return [c for k, c in enumerate(found) if k == 0 or c[0] >= _end(found[k - 1])]


def _end(cut):
    return cut[0] + cut[1] * np.dtype(cut[2]).itemsize


def write(data, weights, path):
    """The bytes of a model without the weights, where those are large."""
    cuts = _cuts(data, [(d, raw) for d, raw in weights if len(raw) >= LEAST])
    kept, at = [], 0
    for cut in cuts:
        kept.append(data[at:cut[0]])
        at = _end(cut)
    kept.append(data[at:])
    with open(path, "wb") as file:
        file.write(json.dumps({"bytes": len(data), "drawn": cuts}).encode() + b"\n")
        file.write(zlib.compress(b"".join(kept), 9))


def read(path):
    """The model's bytes; equal on every call."""
    with open(path, "rb") as file:
        head = json.loads(file.readline())
        kept = zlib.decompress(file.read())
    out, at, taken = bytearray(), 0, 0
    for number, cut in enumerate(head["drawn"]):
        out += kept[taken:taken + cut[0] - at]
        taken += cut[0] - at
        random = np.random.default_rng(number)
        drawn = random.standard_normal(cut[1], np.float32) * np.float32(cut[4]) + np.float32(cut[3])
        out += drawn.astype(cut[2]).tobytes()
        at = _end(cut)
    out += kept[taken:]
    if len(out) != head["bytes"]:
        raise ValueError(f"{path} is {len(out)} bytes, not {head['bytes']}")
    return bytes(out)


def of_onnx(path, target):
    """A model that torch has written, hollow; needs onnx."""
    import onnx
    model = onnx.load(path)
    weights = [(onnx.helper.tensor_dtype_to_np_dtype(t.data_type), t.raw_data)
               for t in model.graph.initializer if t.data_type in (1, 10, 11) and t.raw_data]
    for node in model.graph.node:
        if node.op_type == "Constant":
            weights += [(onnx.helper.tensor_dtype_to_np_dtype(a.t.data_type), a.t.raw_data)
                        for a in node.attribute
                        if a.name == "value" and a.t.data_type in (1, 10, 11) and a.t.raw_data]
    data = model.SerializeToString()
    write(data, weights, target)
    return os.path.getsize(target)
