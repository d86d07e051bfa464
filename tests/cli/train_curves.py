"""train_curves.py - training follows PyTorch: losses of 64 steps and the weights at their end.

The curves are stored in the shared data (grad/train_*.safetensors): MNIST's first 2,048 pictures in
file order, twice, batches of 64, from the same first weights."""
import array
import json
import os
import struct
import sys

from _cli import ROOT, expect, finish, path, succeeds, write

DATA = os.environ.get("TAKT_DATA", os.path.join(os.path.dirname(ROOT), "shared", "data"))
MLP = """model mlp(x: f32[batch, 784]) {
  h = dense(x, 32, act=relu)
  return dense(h, 10)
}
"""
CNN = """model cnn(x: f32[batch, 1, 28, 28]) {
  h = conv(x, 8, 3, pad=1) |> batch_norm() |> relu() |> max_pool(2, stride=2)
  h = conv(h, 16, 3, stride=2, pad=1, act=relu) |> flatten()
  return dense(h, 10)
}
"""
# ours: (PyTorch's, whether it is transposed)
MLP_NAMES = {"dense_0.weight": ("0.weight", True), "dense_0.bias": ("0.bias", False),
             "dense_1.weight": ("2.weight", True), "dense_1.bias": ("2.bias", False)}
CNN_NAMES = {"conv_0.weight": ("0.weight", False), "conv_0.bias": ("0.bias", False),
             "batch_norm_0.scale": ("1.weight", False), "batch_norm_0.bias": ("1.bias", False),
             "batch_norm_0.mean": ("1.running_mean", False),
             "batch_norm_0.var": ("1.running_var", False),
             "conv_1.weight": ("4.weight", False), "conv_1.bias": ("4.bias", False),
             "dense_0.weight": ("7.weight", True), "dense_0.bias": ("7.bias", False)}
CASES = [("mlp_sgd", MLP, MLP_NAMES, "sgd", "0.1"),
         ("mlp_sgd_mom_nesterov_wd", MLP, MLP_NAMES,
          "sgd:momentum=0.9,nesterov=1,weight_decay=1e-3", "0.05"),
         ("mlp_adam", MLP, MLP_NAMES, "adam", "1e-3"),
         ("mlp_adagrad", MLP, MLP_NAMES, "adagrad", "1e-2"),
         ("cnn_bn_adam", CNN, CNN_NAMES, "adam", "1e-3")]
# A bias before batch normalisation has a gradient of 0 but for rounding: it drifts anywhere, and
# the mean with it.
FREE = {"cnn_bn_adam": {"conv_0.bias", "batch_norm_0.mean"}}


def read(file):
    """Tensors by name: (shape, flat list)."""
    with open(file, "rb") as source:
        raw = source.read()
    size, = struct.unpack("<Q", raw[:8])
    tensors = {}
    for name, entry in json.loads(raw[8:8 + size]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            first, last = entry["data_offsets"]
            values = array.array("f", raw[8 + size + first:8 + size + last])
            tensors[name] = (entry["shape"], list(values))
    return tensors


def transposed(shape, values):
    rows, columns = shape
    return [columns, rows], [values[r * columns + c] for c in range(columns) for r in range(rows)]


def save(name, tensors):
    header, data = {}, b""
    for key, (shape, values) in tensors.items():
        part = array.array("f", values).tobytes()
        header[key] = {"dtype": "F32", "shape": shape,
                       "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    return write(name, struct.pack("<Q", len(text)) + text + data)


def ours(stored, prefix, names):
    out = {}
    for name, (theirs, is_transposed) in names.items():
        shape, values = stored[prefix + theirs]
        out[name] = transposed(shape, values) if is_transposed else (shape, values)
    return out


def follow(case, model, names, optimizer, rate, *flags):
    stored = read(os.path.join(DATA, "grad", f"train_{case}.safetensors"))
    weights = save(f"{case}.safetensors", ours(stored, "init.", names))
    result, log = path(f"{case}.taktp"), path(f"{case}.jsonl")
    succeeds("train", write(f"{case}.takt", model), "--weights", weights, "--data",
             os.path.join(DATA, "data", "mnist"), "--limit", "2048", "--epochs", "2",
             "--no-shuffle", "--batch-size", "64", "--optimizer", optimizer, "--lr", rate, "--log",
             log, "-o", result, "--quiet", *flags)
    with open(log) as lines:
        losses = [json.loads(line)["loss"] for line in lines]
    wanted = stored["loss"][1]
    worst = max(abs(a - b) for a, b in zip(losses, wanted))
    expect(len(losses) == len(wanted) and worst <= 1e-5, f"{case}: a loss differs by {worst:g}")
    succeeds("convert", result, "-o", path(f"{case}-end.safetensors"))
    end = read(path(f"{case}-end.safetensors"))
    for name, (_, values) in ours(stored, "final.", names).items():
        worst = max(abs(a - b) for a, b in zip(end[name][1], values))
        if name not in FREE.get(case, ()):
            expect(worst <= 1e-4, f"{case}: {name} differs by {worst:g}")
    return losses, result


if not os.path.isdir(os.path.join(DATA, "grad")):
    print("skipped: the shared data is not here")
    sys.exit(77)
for row in CASES:
    follow(*row)
finish()
