"""exports.py - arithmetic that exporters spell out becomes one operation again.

exports/*.onnx are small modules exported by torch 2 (`script`: opsets 13 and 14, `dynamo`: opset
18 or 20), by tf2onnx 1.17 and by Keras 3.15 (opset 17), and by Paddle 3 with paddle2onnx 2.1
(opset 13), without names of source files; most by the programs in exporters/. Each must be
recognised by passes `recognise` and `join-attention`, with the result that it has without them.
"""
import array
import glob
import os
import struct
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "exporters"))
# pylint: disable=wrong-import-position
from table import BECOMES, verdict

from corners import TMP, fail, failures, takt

# What a file must become, and what must be gone then.
WANT = {
    "gelu": ("gelu(", "erf("), "gelu_gain": ("gelu(", "erf("),
    "gelu_tanh": ("approximate=tanh", "tanh("),
    "gelu_new": ("approximate=tanh", "tanh("), "gelu_fast": ("approximate=tanh", "tanh("),
    "layer_norm": ("layer_norm(", "reduce_mean("), "rms_norm": ("rms_norm(", "reduce_mean("),
    "hard_swish": ("hard_swish(", "div("), "silu": ("silu(", "sigmoid("),
    "sdpa_mask": ("attention(", "softmax("), "sdpa_gqa": ("kv_heads=2", "softmax("),
    "sdpa_gqa_dynamo": ("attention(", "softmax("),  # keys are repeated before they are turned
    "bert": ("attention(", "softmax("), "mha": ("attention(", "softmax("),
    "vit": ("attention(", "softmax("), "focus": ("transpose(", "concat("),
    "merge": ("transpose(", "concat("), "group_norm": ("group_norm(", "instance_norm("),
    "rotary": ("rotary_embedding(", "neg("), "rotary_angles": ("rotary_embedding(", "neg("),
    "rotary_halves": ("rotary_embedding(", "sub("), "mha_einsum": ("attention(", "softmax("),
    "mha_causal": ("attention(", "softmax("), "gpt": ("attention(", "softmax("),
    "window": ("attention(", "softmax("),  # windows of a picture that was rolled
}
# Keras has channels last and splits them.
SPLIT = {"group_norm_keras": ("group_norm(", "reduce_mean("),
         "group_norm_tf2onnx": ("group_norm(", "reduce_mean(")}
# Exports that look like an operation and are not, and what `takt explain --missed` says of them.
MISSED = {"attention_capped": "what softmax reads is not a product"}
# Pools as tf2onnx writes them, over the axis in the middle.
MIDDLE = """model m(x: f32[2, 4, 8]) {
  d = x - op.global_avg_pool(x, layout=nhwc)
  return d / sqrt(op.global_avg_pool(d * d, layout=nhwc) + 1e-5)
}
"""


def floats(path):
    with open(path, "rb") as file:
        data = file.read()
    head = struct.unpack("<H", data[8:10])[0] + 10
    if b"'<f4'" not in data[:head]:
        fail(path, "not an array of f32")
    return array.array("f", data[head:])


def result(path, name, *flags):
    out = os.path.join(TMP, name + ".npy")
    run = takt("run", "--seed", "3", "-o", out, path, *flags)
    if run.returncode != 0:
        fail(path, run.stdout + run.stderr)
        return []
    return floats(out)


def same(path, name):
    mine, plain = result(path, name), result(path, name, "--pass=-recognise,-join-attention")
    if len(mine) != len(plain) or any(abs(a - b) > 1e-5 * (1 + abs(b))
                                      for a, b in zip(mine, plain)):
        fail(path, "another result than without the pass")


def check_form(path, name):
    """A form of exporters/forms_*.py."""
    why = verdict(path)
    if why != "yes":
        fail(path, why)
    same(path, name)


def check(path, name, want, gone):
    run = takt("opt", path)
    if run.returncode != 0 or want not in run.stdout or f" {gone}" in run.stdout:
        fail(path, run.stdout + run.stderr)
    near = takt("explain", "--missed", path)
    if near.returncode != 0 or "0 patterns" not in near.stdout:
        fail(path, near.stdout + near.stderr)
    same(path, name)


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "exports")
    seen = set()
    for path in sorted(glob.glob(os.path.join(folder, "*.onnx"))):
        name = os.path.splitext(os.path.basename(path))[0]
        kind = name if name in WANT else name.rsplit("_", 1)[0]
        seen.add(kind)
        if kind in MISSED:
            run = takt("explain", "--missed", path)
            if run.returncode != 0 or MISSED[kind] not in run.stdout:
                fail(path, run.stdout + run.stderr)
            continue
        if kind in WANT:
            check(path, name, *SPLIT.get(name, WANT[kind]))
        else:
            check_form(path, name)
    middle = os.path.join(TMP, "middle.takt")
    with open(middle, "w", encoding="utf-8") as file:
        file.write(MIDDLE)
    same(middle, "middle")
    forms = {kind for kind in seen if kind.startswith(tuple(BECOMES))}
    if seen - forms != (WANT.keys() | MISSED.keys()) - forms:
        fail("exports", f"files and expectations differ: {seen ^ (WANT.keys() | MISSED.keys())}")
    print(f"{len(glob.glob(os.path.join(folder, '*.onnx')))} files, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
