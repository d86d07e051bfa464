"""names.py - dimensions and values whose names are not plain words, through every flag.

A flag that names a dimension or a value takes any UTF-8 text, in backquotes where the flag itself
gives a character a meaning; it never does nothing."""
import os

from _cli import expect, fails, finish, npy, parsed, path, succeeds, takt, write


def field(number, content):
    """A protobuf field: bytes, text or a number."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value):
    out = b""
    while value > 0x7f:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def model(dims, name="x", result="y"):
    """Relu of f32[dims]."""
    shape = b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in dims)
    value = field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))
    node = field(1, name) + field(2, result) + field(4, "Relu")
    graph = field(1, node) + field(2, "g") + field(11, value) + field(12, field(1, result))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))


def tensor(dims, values):
    import struct
    raw = struct.pack(f"<{len(values)}f", *values)
    return b"".join(field(1, d) for d in dims) + field(2, 1) + field(9, raw)


def quoted(name):
    """As takt_name_write writes names that are not plain words."""
    text = name.replace("\\", "\\\\").replace("`", "\\`")
    return "`" + "".join(c if ord(c) >= 32 else "\\u{%x}" % ord(c) for c in text) + "`"


def shape_of(out):
    return next(iter(out["outputs"].values()))["shape"]


NAMES = ["p2o.DynamicDimension.0", "batch.size", "n 0", "é", "a-b", "a,b", "a=b", "if", "0n", "x",
         "`", "`q`", "a\\b", "日本語", "\x1b[31m", "n("]
x = write("names_x.npy", npy((4, 3), range(12)))

for name in NAMES:
    file = write("named.onnx", model([name, 3]))
    for flags in (["--shape", "x:4x3"], ["-i", f"x={x}"], ["-i", x], ["-D", quoted(name) + "=4"]):
        out = parsed("run", file, "--json", *flags)
        expect(out and shape_of(out) == [4, 3], f"{name!r}: {flags} gives {out}")
    if name[0] != "`":
        out = parsed("run", file, "--json", "-D", name + "=4")
        expect(out and shape_of(out) == [4, 3], f"{name!r}: -D without quotes gives {out}")

    data = os.path.join(path("case"))
    os.makedirs(data, exist_ok=True)
    write("case/input_0.pb", tensor([4, 3], range(12)))
    write("case/output_0.pb", tensor([4, 3], range(12)))
    expect("12 elements agree" in succeeds("run", file, "--test", data), f"{name!r}: --test")

    out = parsed("run", file, "--json", "-i", f"x={x}", "--batch-size", "3")
    expect(out and shape_of(out) == [4, 3], f"{name!r}: --batch-size gives {out}")
    succeeds("run", file, "--prepare", quoted(name) + "=1,4", "-D", quoted(name) + "=4",
             "--static-shapes")
    for verb in (["plan"], ["kernels"], ["explain"], ["summary"], ["opt"]):
        succeeds(*verb, file, "--shape", "x:4x3")
    for kind in ("takt", "taktp", "onnx"):
        made = path("renamed." + kind)
        succeeds("convert", file, "-o", made)
        out = parsed("run", made, "--json", "-D", quoted(name) + "=4")
        expect(out and shape_of(out) == [4, 3], f"{name!r} through {kind}: {out}")
    succeeds("convert", file, "-D", quoted(name) + "=4", "-o", path("sized.takt"))
    with open(path("sized.takt"), encoding="utf-8") as text:
        expect("f32[4, 3]" in text.read(), f"{name!r}: convert -D")
    succeeds("compile", file, "-o", path("named.taktp"))
    with open(path("c.json"), "w", encoding="utf-8") as config:
        config.write(takt("run", file, "-D", quoted(name) + "=4", "--dump-config").stdout)
    expect("f32[4, 3]" in succeeds("run", "--config", path("c.json")), f"{name!r}: --config")

# Names of values.
for name in ("a=b", "a,b", "x:0", "`", "in put"):
    file = write("valued.onnx", model(["n", 3], name, "r" + name))
    arrow = quoted(name)
    out = parsed("run", file, "--json", "-i", f"{arrow}={x}")
    expect(out and shape_of(out) == [4, 3], f"-i {arrow}: {out}")
    out = parsed("run", file, "--json", "--shape", f"{arrow}:4x3")
    expect(out and shape_of(out) == [4, 3], f"--shape {arrow}: {out}")
    succeeds("run", file, "--donate", arrow, "-D", "n=4", "--outputs", quoted("r" + name))
    succeeds("run", file, "--static", f"{arrow}={x}")
    result = path("r.npy")
    succeeds("run", file, "-D", "n=4", "-o", f"{quoted('r' + name)}={result}")
    expect(os.path.exists(result), f"-o {name}")
    os.remove(result)

# Every flag has its effect or is refused, never ignored: expressions too.
EXPRESSION = write("expression.takt", "model m(x: f32[2*n + 1, 3]) { return relu(x) }\n")
PAIR = write("pair.takt", "model m(x: f32[n*m, 3], y: f32[m, 3]) { return relu(x), y }\n")
out = parsed("run", EXPRESSION, "--json", "--shape", "x:9x3")
expect(out and shape_of(out) == [9, 3], f"n from 2*n + 1: {out}")
fails(2, "run", EXPRESSION, "--shape", "x:8x3", says=("2*n + 1, which is not 8",))
fails(2, "run", EXPRESSION, "--shape", "x:9x3", "-D", "n=1", says=("which is not 9",))
fails(2, "run", PAIR, "--shape", "x:8x3", says=("-D",))
out = parsed("run", PAIR, "--json", "--shape", "x:8x3", "--shape", "y:2x3")
expect(out and shape_of(out) == [8, 3], f"n from n*m: {out}")
fails(2, "run", write("plain.onnx", model(["n 0", 3])), "-D", "n=4", says=("`n 0`",))
fails(2, "run", path("plain.onnx"), "-D", "`n 0`", says=("NAME=SIZE",))

# A new dimension of any name.
ONE = write("one.takt", "model m(x: f32[3]) { return relu(x) }\n")
succeeds("batch", ONE, "`how many`", "-o", path("many.takt"))
out = parsed("run", path("many.takt"), "--json", "-D", "how many=5")
expect(out and shape_of(out) == [5, 3], f"batch: {out}")

finish()
