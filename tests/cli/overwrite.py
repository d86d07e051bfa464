"""overwrite.py - results overwrite neither files that a command reads nor each other."""
import os
import sys

from _cli import MLP, ROOT, STREAM, expect, fails, finish, npy, path, succeeds, takt, write

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "onnx"))
from _pb import Graph, field, floats, many, model, node, tensor, value  # noqa: E402


def content(file):
    with open(file, "rb") as opened:
        return opened.read()


def refuses(kept, *words, says):
    """The command is refused, and the file is unchanged."""
    before = content(kept)
    fails(2, *words, says=[says, "would be written over", "hint: write to another file"])
    expect(content(kept) == before, f"{' '.join(words)}: {kept} was written over")


def link(name, target, make):
    if os.path.lexists(path(name)):
        os.remove(path(name))
    make(target, path(name))
    return path(name)


# External data of an ONNX model in a separate file, whatever its name.
data = write("data.npy", floats(1, 2, 3))
weight = tensor("w", [3], 1, None, many(13, [field(1, "location") + field(2, "data.npy")])
                + field(14, 1))
onnx = write("outside.onnx", model(Graph([node("Add", ["x", "w"], ["y"])], [value("x", [3])],
                                         [value("y", [3])], [weight])))
soft = link("soft.npy", data, os.symlink)
os.makedirs(path("below"), exist_ok=True)
READ = "is a file that was read for this"
for other in (data, os.path.join(path("below"), "..", "data.npy"), soft):
    refuses(data, "run", onnx, "-o", other, says=READ)
    refuses(data, "run", onnx, "-o", "y=" + other, says=READ)
refuses(data, "profile", onnx, "--trace", data, says=READ)
hard = link("hard.npy", data, os.link)
refuses(data, "run", onnx, "--allow-links", "-o", hard, says=READ)
os.remove(hard)
succeeds("run", onnx, "-o", path("sum.npy"))

# The parts of weights that an index names, and weights themselves.
succeeds("convert", MLP, "-o", path("parts.index.json"), "--shard-size", "200K")
parts = sorted(name for name in os.listdir(path("")) if name.startswith("parts-"))
expect(len(parts) > 1, f"parts: {parts}")
part, index = path(parts[0]), path("parts.index.json")
refuses(part, "convert", MLP, "-w", index, "-o", part, says=READ)
refuses(part, "convert", index, "-o", part, says=READ)
refuses(part, "convert", index, "-o", path("parts.index.json"), says="is the model itself")
refuses(index, "convert", MLP, "-w", index, "-o", index, says="is what --weights reads")
link("alike.index.json", index, os.symlink)
refuses(part, "convert", path("alike.index.json"), "-o", path("./parts.index.json"),
        says="is the model itself")
with open(index, encoding="utf-8") as text:
    write("second.index.json", text.read())
os.remove(index)
refuses(part, "convert", path("second.index.json"), "-o", index, "--shard-size", "200K", says=READ)
weights = path("weights.safetensors")
succeeds("convert", MLP, "-o", weights)
refuses(weights, "convert", MLP, "-w", weights, "-o", weights, says="is what --weights reads")
array = write("weights.npy", content(weights))
refuses(array, "run", MLP, "-w", array, "-o", array, says="is what --weights reads")

# Inputs.
x = write("read.npy", npy((4, 784), [0.25] * 3136))
INPUT = "is what --input reads"
refuses(x, "run", MLP, "-i", "x=" + x, "-o", x, says=INPUT)
refuses(x, "run", MLP, "-i", x, "-o", "out=" + link("same.npy", x, os.symlink), says=INPUT)
refuses(x, "run", MLP, "-i", x, "-o", link("same.npy", x, os.link), says=INPUT)
refuses(x, "run", MLP, "--static", "x=" + x, "-o", x, says="is what --static reads")
inside = write("below/out.npy", content(x))
refuses(inside, "run", MLP, "-i", inside, "-o", path("below"), says=READ)
refuses(inside, "run", MLP, "-i", inside, "-o", path("below"), "--batch-size", "2", says=READ)

# Two results in one file, which may exist or not.
if os.path.exists(path("two.taktp")):
    os.remove(path("two.taktp"))
for first, second in (("two.taktp", "two.taktp"), ("two.taktp", "below/../two.taktp")):
    for _ in range(2):
        fails(2, "compile", MLP, "-o", path(first), "--emit", path(second),
              says=["--output", "--emit", "are one file"])
    expect(not os.path.exists(path("two.taktp")), "it was written")
succeeds("compile", MLP, "-o", path("one.taktp"))
fails(2, "compile", MLP, "-o", path("one.taktp"), "--emit",
      link("other.taktp", path("one.taktp"), os.symlink), says=["are one file"])
fails(2, "run", STREAM, "-o", "y=" + path("twice.npy"), "-o", "level=" + path("twice.npy"),
      says=["are one file"])
fails(2, "profile", MLP, "--trace", path("p.svg"), "--flame", path("p.svg"), says=["are one file"])
succeeds("compile", MLP, "-o", path("two.taktp"), "--emit", path("two.onnx"))
expect(takt("run", os.path.join(ROOT, MLP), "-o", "-", "-i", x, text=False).stdout[1:6] == b"NUMPY",
       "standard output is not a file")
finish()
