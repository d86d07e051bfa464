"""convert.py - models and weights from one format into another; ONNX's test data; refused nodes."""
import os
import re
import struct
import sys

from _cli import CNN, MLP, STREAM, expect, fails, finish, parsed, path, succeeds, takt

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "onnx"))
import _pb  # noqa: E402


def digest(model, *more):
    return [line for line in succeeds("run", model, "-q", *more).splitlines()
            if line.startswith("digest")]


# A model in every format gives the same digest.
for name, model in (("mlp", MLP), ("cnn", CNN), ("stream", STREAM)):
    want = digest(model)
    chain = [path(name + ending) for ending in (".onnx", ".taktp", ".takt", "2.onnx")]
    source = model
    for target in chain:
        succeeds("convert", source, "-o", target)
        expect(digest(target) == want, f"{target}: another digest")
        source = target
told = parsed("convert", MLP, "-o", path("m.onnx"), "--json")
expect(told == {"from": MLP, "file": path("m.onnx")}, str(told))

# Sizes put in; the optimised model.
succeeds("convert", MLP, "-D", "batch=3", "-o", path("three.onnx"))
expect(parsed("inspect", path("three.onnx"), "--json")["inputs"][0]["shape"][0] == 3, "batch=3")
succeeds("compile", CNN, "--emit", path("optimised.onnx"))
before, after = (parsed("inspect", file, "--json") for file in (CNN, path("optimised.onnx")))
expect(after["lineage"]["opsets"] == {"ai.onnx": 21} and after["lineage"]["producer"] == "takt",
       str(after.get("lineage")))
expect(after["nodes"] <= before["nodes"] and after["parameters"] > 0, str(after))
expect("batch_norm" not in after["ops"], str(after["ops"]))

# Weights.
succeeds("convert", MLP, "-o", path("w.safetensors"))
succeeds("convert", path("w.safetensors"), "-o", path("w.npz"))
succeeds("convert", path("w.npz"), "--shard-size", "64K", "-o", path("w.safetensors.index.json"))
expect(os.path.exists(path("w-00002-of-00002.safetensors")), str(os.listdir(path(""))))
succeeds("convert", MLP, "--shard-size", "64K", "-o", path("m.index.json"))
expect(os.path.exists(path("m-00002-of-00002.safetensors")), str(os.listdir(path(""))))
for file in ("w.safetensors", "w.npz", "w.safetensors.index.json"):
    held = parsed("inspect", path(file), "--json")
    names = {tensor["name"] for tensor in held["tensors"]}
    expect(held["bytes"] == sum(tensor["bytes"] for tensor in held["tensors"]) > 0, str(held))
    listed = succeeds("inspect", path(file))
    expect(all(name in listed for name in names) and f"{len(names)} tensors" in listed, listed)
    expect(("w-00002-of-00002.safetensors" in listed) == file.endswith("json"), listed)
again = digest(MLP, "--weights", path("w.safetensors.index.json"))
expect(again == digest(MLP), "the same weights")
fails(1, "run", CNN, "--weights", path("w.npz"), says=["TAKT3402", "places", "is missing"])

# Weights with foreign names and transposed layout.
OURS = "model m(x: f32[2, 3]) {{\n  param {}: f32[{}] = normal(0, 1, stream=1)\n  return x{}\n}}\n"
for name, text in (("theirs", OURS.format("net.0.fc.weight", "3, 4", " @ net.0.fc.weight")),
                   ("ours", OURS.format("fc", "4, 3", " @ op.transpose(fc, perm=[1, 0])"))):
    with open(path(name + ".takt"), "w", encoding="utf-8") as file:
        file.write(text)
with open(path("rules.txt"), "w", encoding="utf-8") as file:
    file.write("# theirs -> ours\nnet.*.fc.weight -> fc transpose\nold.* -> -\n")
succeeds("convert", path("theirs.takt"), "-o", path("theirs.safetensors"))
BY_RULES = [path("ours.takt"), "--weights", path("theirs.safetensors"), "--map", path("rules.txt")]
expect(digest(*BY_RULES) == digest(path("theirs.takt")), "the same numbers, transposed twice")
expect("no tensor of" in takt("plan", *BY_RULES).stderr, "a rule that matches nothing is reported")
with open(path("marked.txt"), "wb") as file:
    file.write(b"\xef\xbb\xbfnet.*.fc.weight -> fc transpose\nold.* -> -\n")
expect(digest(*BY_RULES[:4], path("marked.txt")) == digest(*BY_RULES), "a mark of UTF-8")
with open(path("zero.txt"), "wb") as file:
    file.write(b"net.*.fc.weight -> fc transpose\n\0old.* -> -\n")
fails(1, "run", *BY_RULES[:4], path("zero.txt"), says=["TAKT3402", "zero.txt has a zero byte"])
fails(1, "run", *BY_RULES[:3], says=["TAKT3402", "fc, f32[4, 3] in the model, is missing"])
fails(2, "run", path("ours.takt"), "--map", path("rules.txt"), says=["--weights F --map RULES"])
for flag in ("--map", "--weights"):  # no model: neither would do anything
    for out in ("renamed.npz", "renamed.gguf"):
        fails(2, "convert", path("theirs.safetensors"), flag, path("rules.txt"), "-o", path(out),
              says=[f"{flag} is for a model"])

# Mistakes.
fails(2, "convert", MLP, says=["no file to write to"])
fails(2, "convert", MLP, "-o", path("m.pt"), says=["names no format", ".onnx"])
fails(2, "convert", path("w.npz"), "-o", path("m.onnx"), says=["holds weights", "--weights"])
fails(2, "convert", MLP, "--shard-size", "64K", "-o", path("m.onnx"), says=["is one file"])
fails(2, "convert", path("w.npz"), "-D", "batch=3", "-o", path("d.npz"), says=["are for models"])
fails(1, "convert", path("nothing"), "-o", path("m.onnx"), says=["cannot open"])
fails(1, "convert", path("w.npz"), "-o", path("w.npy"), says=["holds one array"])


# ---- ONNX written by hand: x + 1 and a node of no known type ----

def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def field(number, body):
    if isinstance(body, int):
        return varint(number << 3) + varint(body)
    body = body.encode() if isinstance(body, str) else body
    return varint(number << 3 | 2) + varint(len(body)) + body


def node(kind, inputs, outputs, name):
    return field(1, b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs)
                 + field(3, name) + field(4, kind))


def value(number, name, dims):
    shape = b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in dims)
    return field(number, field(1, name) + field(2, field(1, field(1, 1) + field(2, shape))))


def tensor(name, values):
    return (field(1, len(values)) + field(2, 1) + field(8, name)
            + field(9, struct.pack(f"<{len(values)}f", *values)))


def write(name, nodes, weights=b""):
    graph = (nodes + field(2, "g") + field(5, tensor("one", [1.0])) + weights
             + value(11, "x", ["n"]) + value(12, "y", ["n"]))
    with open(path(name), "wb") as file:
        file.write(field(1, 8) + field(2, "hand") + field(7, graph) + field(8, field(2, 13))
                   + field(14, field(1, "colour") + field(2, "blue")))


write("good.onnx", node("Add", ["x", "one"], ["y"], "adds"))
write("bad.onnx", node("Frobnicate", ["x"], ["a"], "first")
      + node("Add", ["a", "one"], ["b"], "sum") + node("Twiddle", ["b"], ["y"], "second"))
text = succeeds("inspect", path("good.onnx"))
for words in ("opsets: ai.onnx 13", "producer: hand", "colour: blue", "x: f32[n]"):
    expect(words in text, f"`{words}` is not in {text}")
expect("all of its 1 nodes are understood" in succeeds("ops", path("good.onnx")), "good.onnx")
run = takt("ops", path("bad.onnx"))
expect(run.returncode == 1, f"exit {run.returncode}")
for words in ("2 of 3 nodes are refused", "first: Frobnicate, opset 13",
              "second: Twiddle, opset 13", "reason: ", "hint: "):
    expect(words in run.stdout, f"`{words}` is not in {run.stdout}")
fails(1, "run", path("bad.onnx"), says=["Frobnicate", "Twiddle"])

# Weights that do not match by name, but do by position.
def number(name, n):
    return field(5, field(1, 1) + field(2, 7) + field(8, name) + field(9, struct.pack("<q", n)))


write("nine.onnx", node("Unsqueeze", ["x", "axis"], ["c"], "column")
      + node("Mul", ["c", "x"], ["p"], "product") + node("Reshape", ["p", "nine"], ["y"], "flat"),
      number("axis", 1) + number("nine", 9))
succeeds("ops", path("nine.onnx"))
text = succeeds("inspect", path("nine.onnx"))
expect("sizes must keep" in text and "n*n = 9" in text, text)
expect(parsed("inspect", "--json", path("nine.onnx"))["assumed"] == ["n*n = 9"], "assumed")
fails(1, "plan", path("nine.onnx"), "-D", "n=4", says=["f32[4, 4]", "f32[9]", "flat"])
fails(1, "inspect", path("nine.onnx"), "-D", "n=4", says=["f32[4, 4]", "f32[9]"])
text = succeeds("inspect", path("nine.onnx"), "--shape", "x:3")
expect("x: f32[3]" in text and "sizes must keep" not in text, text)
succeeds("run", path("nine.onnx"), "-D", "n=3")
succeeds("convert", path("nine.onnx"), "-o", path("nine.taktp"))
succeeds("run", path("nine.taktp"), "-D", "n=3")
fails(1, "run", path("nine.taktp"), "-D", "n=4", says=["f32[4, 4]", "f32[9]"])

# The same for two that cancel.
with open(path("hops.takt"), "w", encoding="utf-8") as f:
    f.write("model m(x: f32[n]) -> f32[n] {\n  a = reshape(x, shape=[n // 4, 4])\n"
            "  return reshape(a, shape=[n])\n}\n")
succeeds("run", path("hops.takt"), "-D", "n=8")
for level in ("-O0", "-O2"):
    fails(1, "run", path("hops.takt"), "-D", "n=9", level, says=["f32[9]", "f32[2, 4]"])

# The layout of ONNX's test data, alone and in a folder of folders.
for number, result in ((0, [2.0, 3.0]), (1, [2.0, 3.5])):
    os.makedirs(path(f"data/test_data_set_{number}"), exist_ok=True)
    with open(path(f"data/test_data_set_{number}/input_0.pb"), "wb") as file:
        file.write(tensor("x", [1.0, 2.0]))
    with open(path(f"data/test_data_set_{number}/output_0.pb"), "wb") as file:
        file.write(tensor("y", result))
model = path("good.onnx")
text = succeeds("run", model, "--test", path("data/test_data_set_0"))
expect("2 elements agree" in text, text)
run = takt("run", model, "--test", path("data"))
expect(run.returncode == 1 and "1 of 2 elements are outside" in run.stdout, run.stdout + run.stderr)
succeeds("run", model, "--test", path("data"), "--atol", "1")
told = parsed("run", model, "--test", path("data/test_data_set_1"), "--json", "--rtol", "0.5")
expect(told["outside"] == 0 and told["largest_difference"] == 0.5, str(told))
fails(2, "run", model, "--test", path(""), says=["holds no test data"])
fails(2, "run", model, "--test", path("data"), "--rtol", "much", says=["not a tolerance"])
expect("x: f32[2]" in succeeds("run", model, "-i", path("data/test_data_set_0/input_0.pb"), "-o",
                               path("y.npy")) or os.path.exists(path("y.npy")), "a .pb as input")
# Viewers and other readers find the types of all values in the file.
succeeds("convert", CNN, "-o", path("shown.onnx"))
with open(path("shown.onnx"), "rb") as file:
    content = file.read()
for layer, dims in (("stage_0.conv_0", ["batch", 8, 28, 28]), ("stage_1", ["batch", 16, 14, 14])):
    infos = [_pb.field(13, _pb.value(name.decode(), dims))
             for name in set(re.findall(layer.encode() + rb"[\w.]*", content))]
    expect(any(info in content for info in infos), f"{layer}: no type of its value in the file")


def kinds(text):
    """The operators of an exported model, which computes the same when it is read."""
    model, shown = path("bias.takt"), path("bias.onnx")
    with open(model, "w") as file:
        file.write(text)
    succeeds("convert", model, "-o", shown)
    expect(digest(shown) == digest(model), text)
    with open(shown, "rb") as file:
        found = re.findall(rb"\x22[\x03-\x07](Add|Conv|Gemm|MatMul|Reshape)", file.read())
    return sorted(kind.decode() for kind in found)


# A bias belongs to Conv or Gemm, unless the sum without it is read as well.
expect(kinds("model m(x: f32[2, 3, 8, 8]) seed=1 {\n"
             "  return flatten(conv(x, 4, 3, act=relu)) |> dense(5)\n}") == ["Conv", "Gemm"],
       "both")
expect(kinds("model m(x: f32[2, 8, 8, 3]) seed=1 {\n  return conv(x, 4, 3, layout=nhwc)\n}") ==
       ["Conv"], "channels last")
expect(kinds("model m(x: f32[2, 3, 9]) seed=1 { return conv1d(x, 4, 3) }") == ["Conv"], "one axis")
expect(kinds("model m(x: f32[2, 7, 3]) seed=1 { return dense(x, 4) }") == ["Add", "MatMul"],
       "Gemm has two dimensions")
PRODUCT = ("model m(x: f32[2, 3]) -> (a: f32[2, 4], b: f32[2, 4]) seed=1 {\n"
           "  param w: f32[3, 4] = normal(0, 1)\n  param v: f32[%s] = normal(0, 1)\n"
           "  p = matmul(x, w)\n  return a = p + v, b = %s\n}")
expect(kinds(PRODUCT % ("4", "p")) == ["Add", "MatMul"], "the product is read")
expect(kinds(PRODUCT % ("2, 4", "relu(p + v)")) == ["Add", "MatMul"], "no vector")
finish()
