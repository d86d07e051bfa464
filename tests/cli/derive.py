"""derive.py - parts of models, models of many samples, and outputs that were not requested."""
import os

from _cli import CNN, MLP, STREAM, expect, fails, finish, npy, parsed, path, succeeds, write

# Two parts in sequence give the bits of the whole; one is a text, the other a compiled file.
x = write("x.npy", npy((2, 784), [((7 * i) % 97) / 97 for i in range(2 * 784)]))
first, second = path("first.takt"), path("second.taktp")
said = succeeds("extract", MLP, "--to", "dense_0", "-o", first)
expect(said == f"{first}: mlp\n", said)
expect(parsed("extract", MLP, "--from", "dense_0", "-o", second, "--json") ==
       {"model": "mlp", "file": second}, "what it says as JSON")
succeeds("run", first, "-i", x, "-o", path("h.npy"))
whole = parsed("run", MLP, "-i", x, "--json")
parts = parsed("run", second, "-i", "dense_0=" + path("h.npy"), "--json")
expect(whole["digest"] == parts["digest"], "the parts differ from the whole")
text = succeeds("extract", CNN)
expect("stage_1.conv_0.y = conv(" in text, "names of values")
succeeds("convert", MLP, "-o", path("mlp.onnx"))
text = succeeds("extract", path("mlp.onnx"))
expect("relu(" in text and "...]" in text and len(text) < 4000, f"{len(text)} characters of names")
text = succeeds("extract", path("mlp.onnx"), "-o", "-")
expect(len(text) > 200000 and "..." not in text, "-o - shortens what is to be read back")
text = succeeds("extract", CNN, "--from", "h", "-o", "-")
expect(text.startswith("model cnn(h: f32[batch, 784])"), "-o - is standard output")
fails(2, "extract", MLP, "--to", "dens", says=("no value called dens", "takt summary"))
fails(1, "extract", MLP, "--to", "dense_0", "-o", "/nowhere/x.takt", says=("cannot write",))

# One sample, many samples.
one = write("one.takt", b"model m(x: f32[4]) { return dense(x, 3, act=tanh) }\n")
many = path("many.takt")
succeeds("batch", one, "-o", many)
expect("x: f32[batch, 4]" in succeeds("inspect", many), "the batch is missing")
expect("x: f32[rows, 4]" in succeeds("batch", one, "rows"), "the name is not taken")
rows = [i / 7 for i in range(12)]
three = parsed("run", many, "-i", write("3.npy", npy((3, 4), rows)), "--json")["outputs"]["out"]
for i in range(3):
    row = write("1.npy", npy((4,), rows[4 * i:4 * i + 4]))
    alone = parsed("run", one, "-i", row, "--json")["outputs"]["out"]
    expect(alone["values"] == three["values"][3 * i:3 * i + 3], f"sample {i} differs")
fails(1, "batch", MLP, says=("a dimension called batch already",))

# Only requested outputs are computed.
everything = parsed("run", STREAM, "--json")
level = parsed("run", STREAM, "--json", "--outputs", "y")
expect(sorted(everything["outputs"]) == ["level", "y"] and list(level["outputs"]) == ["y"],
       "the outputs")
expect(level["outputs"]["y"] == everything["outputs"]["y"], "the values")
expect(level["steps"] < everything["steps"], "nothing was saved")
inner = parsed("run", MLP, "--json", "--outputs", "dense_0,out")
expect(sorted(inner["outputs"]) == ["dense_0", "out"], "values inside can be asked for")
fails(2, "run", MLP, "--outputs", "nope", says=("no value called nope",))
# Tables name the layers that were called, and count what is inside a recurrence; sizes that nobody
# chose are as small as the model allows.
model = write("named.takt", b"""model m(x: f32[b, 3, h, 8], s: f32[b, seq, 16]) {
  y = x |> conv(8, name="stem") |> max_pool(2, stride=2) |> flatten()
  return reduce_sum(y), s |> gru(8, name="memory") |> dense(4, name="head")
}
""")
table = parsed("summary", "--json", model, "-D", "seq=5")
rows = {layer["name"]: layer for layer in table["layers"]}
expect([rows[n]["type"] for n in ("stem", "memory", "head")] == ["conv", "gru", "dense"], rows)
expect(rows["memory"]["macs"] == 5 * (16 + 8) * 24, rows["memory"])
expect(rows["memory"]["output"] == "f32[b, 5, 8]" and rows["memory"]["parameters"] == 624, rows)
info = parsed("inspect", "--json", model)
expect(info["sizes"] == {"b": 1, "h": 2, "seq": 1}, info.get("sizes"))
expect("arithmetic at b=1, h=2, seq=1: " in succeeds("inspect", model), "which sizes were taken")
expect(os.path.exists(first), "the part is there")
finish()
