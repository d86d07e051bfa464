"""train_onnx.py - ONNX models train like those of the language, and are saved as ONNX again."""
import json
import os
import random
import struct
import sys

from _cli import ROOT, expect, fails, finish, parsed, path, succeeds, write

sys.path.insert(0, os.path.join(ROOT, "tests", "onnx"))
# pylint: disable-next=wrong-import-position
from _pb import Graph, floats, model, node, tensor, value  # noqa: E402

DATA = os.environ.get("TAKT_DATA", os.path.join(os.path.dirname(ROOT), "shared", "data"))
BODY = """  h = conv(x, 6, 3, pad=1) |> batch_norm() |> relu()
  h = conv(h, 6, 3, pad=1) |> batch_norm() |> relu() |> flatten()
  return dense(h, 3, act=softmax)
}
"""


def pictures(rows=240):
    """The class is the quarter of the picture that is bright."""
    source = random.Random(7)
    lines = []
    for _ in range(rows):
        label = source.randrange(3)
        x = [source.randrange(0, 64) / 64 + (label == (i // 8) // 2 * 2 + (i % 8) // 4)
             for i in range(32)]
        lines.append(",".join(map(repr, x)) + f",{label}")
    return write("pictures.csv", "\n".join(lines) + "\n")


def weights(file):
    succeeds("convert", file, "-o", file + ".safetensors")
    with open(file + ".safetensors", "rb") as source:
        raw = source.read()
    size, = struct.unpack("<Q", raw[:8])
    return {name: raw[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]]
            for name, entry in json.loads(raw[8:8 + size]).items() if name != "__metadata__"}


def losses(file):
    with open(file) as lines:
        return [json.loads(line)["loss"] for line in lines]


def same_as_language(data):
    """The same model, as text and as ONNX, has the same losses; statistics follow both."""
    text = write("net.takt", "model net(x: f32[batch, 1, 4, 8]) seed=5 {\n" + BODY)
    onnx = path("net.onnx")
    succeeds("convert", text, "-o", onnx)
    flags = ["--data", data, "--optimizer", "adam", "--lr", "1e-2", "--epochs", "3", "-q"]
    succeeds("train", text, *flags, "--log", path("text.jsonl"), "-o", path("text.taktp"))
    succeeds("train", onnx, *flags, "--log", path("onnx.jsonl"), "-o", path("trained.onnx"))
    a, b = losses(path("text.jsonl")), losses(path("onnx.jsonl"))
    expect(a == b and a[-1] < a[0] / 2, f"{a[-1]} and {b[-1]} from {a[0]}")
    before, after = weights(onnx), weights(path("trained.onnx"))
    expect(set(before) == set(after) and len(after) == 14, sorted(after))
    expect(all(before[name] != after[name] for name in after), "some weights are as before")
    score = parsed("eval", path("trained.onnx"), "--data", data, "--json")["metrics"][0]
    expect(score["metric"] == "top1" and score["value"] > 0.9, score)
    succeeds("train", onnx, *flags, "--freeze", "conv_0|batch_norm_0", "-o", path("frozen.onnx"))
    frozen = weights(path("frozen.onnx"))
    expect(all((before[name] == frozen[name]) == ("conv_0" in name or name.endswith("norm_0.scale")
                                                  or name.endswith("norm_0.bias"))
               for name in frozen), "--freeze")


def draws(rate):
    """Dense, Dropout, dense; the ratio as input or, before opset 12, as attribute."""
    source = random.Random(3)
    w = [source.uniform(-0.5, 0.5) for _ in range(32 * 24)]
    v = [source.uniform(-0.5, 0.5) for _ in range(24 * 3)]
    made = [tensor("w", [32, 24], 1, floats(*w)), tensor("v", [24, 3], 1, floats(*v)),
            tensor("zeros", [3], 1, floats(0, 0, 0))]
    files = []
    for opset in (13, 11):
        more = [tensor("ratio", [], 1, floats(rate))] if opset > 11 else []
        how = {} if opset > 11 else {"ratio": float(rate)}
        nodes = [node("MatMul", ["x", "w"], ["h"], "a"), node("Relu", ["h"], ["r"], "b"),
                 node("Dropout", ["r", "ratio"] if more else ["r"], ["d"], "c", **how),
                 node("MatMul", ["d", "v"], ["s"], "d"), node("Add", ["s", "zeros"], ["y"], "e")]
        files.append(write(f"drop{opset}_{rate}.onnx", ""))
        with open(files[-1], "wb") as file:
            file.write(model(Graph(nodes, [value("x", ["batch", 32])], [value("y", ["batch", 3])],
                                   made + more), opset))
    return files


def dropout(data):
    """Drawn in training only: by seed and position, not by threads or shards."""
    seen = {}
    for file in draws(0.25) + draws(0.0):
        for name, flags in {"plain": [], "threads": ["--threads", "2"], "seed": ["--seed", "4"],
                            "shards": ["--shards", "2"],
                            "parts": ["--batch-size", "16", "--accumulate", "2"]}.items():
            log = path("drop.jsonl")
            succeeds("train", file, "--data", data, "--no-shuffle", "-q", "--log", log, *flags)
            seen[os.path.basename(file), name] = losses(log)
    for opset in ("13", "11"):
        some, none = f"drop{opset}_0.25.onnx", f"drop{opset}_0.0.onnx"
        expect(seen[some, "plain"] == seen[some, "threads"], "threads change what is dropped")
        expect(seen[some, "shards"] == seen[some, "parts"], "micro-batches change what is dropped")
        expect(seen[some, "plain"] != seen[some, "seed"], "the seed changes nothing")
        expect(seen[none, "plain"] == seen[none, "seed"], "nothing is to be dropped")
        expect(abs(seen[some, "plain"][0] - seen[none, "plain"][0]) > 1e-4, "nothing is dropped")
    expect(seen["drop13_0.25.onnx", "plain"] == seen["drop11_0.25.onnx", "plain"], "opsets differ")


def fixed(data):
    """A model of two samples at a time makes steps of several parts, like shards."""
    for name, batch in (("named", "batch"), ("fixed", "2")):
        text = write(name + ".takt", f"model net(x: f32[{batch}, 32]) seed=5 {{\n"
                     "  return dense(dense(x, 8, act=tanh), 3)\n}\n")
        succeeds("convert", text, "-o", path(name + ".onnx"))
        shards = ["--shards", "8"] if name == "named" else []
        succeeds("train", path(name + ".onnx"), "--data", data, "--batch-size", "16", *shards,
                 "--val-split", "0.1", "-q", "-o", path(name + "_out.onnx"))
    expect(weights(path("named_out.onnx")) == weights(path("fixed_out.onnx")),
           "parts of a fixed size are not shards")
    a = parsed("eval", path("named_out.onnx"), "--data", data, "--metric", "top1,ppl", "--json")
    b = parsed("eval", path("fixed_out.onnx"), "--data", data, "--metric", "top1,ppl", "--json",
               "--limit", "239")
    expect(b["samples"] == 239 and a["samples"] == 240, b)
    c = parsed("eval", path("fixed_out.onnx"), "--data", data, "--metric", "top1,ppl", "--json")
    expect(a == c, "evaluation by parts differs")
    fails(2, "train", path("fixed.onnx"), "--data", data, "--limit", "1", says=["2 samples"])


def digits():
    """A model of the ONNX zoo, for one sample at a time."""
    net = os.path.join(DATA, "onnx", "mnist-8", "model.onnx")
    if not os.path.exists(net):
        print("skipped: the shared data has no mnist-8")
        return
    folder = os.path.join(DATA, "data", "mnist")
    args = ["--data", folder, "--limit", "512"]
    out = path("digits.onnx")
    said = succeeds("train", net, *args, "--freeze", "Parameter(5|87)", "--lr", "1e-4",
                    "--epochs", "2", "--threads", "1", "-o", out)
    expect("tensors frozen" in said, said[:200])
    first = parsed("eval", net, *args, "--json")["metrics"][0]["value"]
    second = parsed("eval", out, *args, "--json")["metrics"][0]["value"]
    expect(second >= first - 0.01, f"{first} became {second}")


DATA_FILE = pictures()
same_as_language(DATA_FILE)
dropout(DATA_FILE)
fixed(DATA_FILE)
digits()
finish()
