"""normal_form.py - one normal form for everything that comes from outside (docs/formats.md).

Each row of the table is tried in every format that can hold it: the good file is read, the bad one
refused, or, where the rule is that a value is arithmetic, every backend and level agree on it."""
import json
import os
import struct
import sys
import zlib

from _cli import expect, fails, finish, npy, parsed, path, succeeds, write

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "onnx"))
from _pb import field, varint  # noqa: E402

# ---- files of every format ----


def tensor(values, name="c", how="raw"):
    out = field(1, len(values)) + field(2, 9) + field(8, name)
    if how == "raw":
        return out + field(9, bytes(values))
    if how == "typed":
        return out + field(5, b"".join(varint(v) for v in values))
    with open(path("bools.bin"), "wb") as data:
        data.write(bytes(values))
    return out + field(14, 1) + field(13, field(1, "location") + field(2, "bools.bin"))


def value(name, elem, size):
    shape = field(1, field(1, size))
    return field(1, name) + field(2, field(1, field(1, elem) + field(2, shape)))


def onnx(tensors, size=128):
    node = field(1, "x") + field(1, "c") + field(2, "y") + field(4, "And")
    graph = field(1, node) + field(2, "g") + b"".join(field(5, t) for t in tensors)
    graph += field(11, value("x", 9, size)) + field(12, value("y", 9, size))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))


def safetensors(head, data):
    head = head if isinstance(head, str) else json.dumps(head)
    return struct.pack("<Q", len(head)) + head.encode() + data


def bools_in(values):
    return safetensors({"c": {"dtype": "BOOL", "shape": [128], "data_offsets": [0, 128]}},
                       bytes(values))


def npz(members):
    """(name, bytes) in sequence; a name of None is another entry for the previous one."""
    out, directory, local, count = b"", b"", 0, 0
    last = None
    for name, content in members:
        if content is not None:
            local, last = len(out), content
            out += struct.pack("<IHHHHHIIIHH", 0x04034b50, 20, 0, 0, 0, 0x21, zlib.crc32(content),
                               len(content), len(content), len(name), 0) + name.encode() + content
        directory += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014b50, 20, 20, 0, 0, 0, 0x21,
                                 zlib.crc32(last), len(last), len(last), len(name), 0, 0, 0, 0, 0,
                                 local) + name.encode()
        count += 1
    return out + directory + struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, count, count,
                                         len(directory), len(out), 0)


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def patch_taktp(content, old, new):
    """Replaces the bytes of a weight, and every checksum over them."""
    content = bytearray(content)
    at = content.index(old)
    content[at:at + len(new)] = new
    header, entry = 64, 32
    sections = struct.unpack_from("<I", content, 24)[0]
    for i in range(sections):
        place = header + i * entry
        kind, _, offset, length = struct.unpack_from("<4sIQQ", content, place)
        if kind == b"wght":
            crc = content.index(struct.pack("<I", crc32c(old)), offset, offset + length)
            struct.pack_into("<I", content, crc, crc32c(new))
        struct.pack_into("<I", content, place + 24, crc32c(content[offset:offset + length]))
    struct.pack_into("<I", content, 28, crc32c(content[header:header + sections * entry]))
    struct.pack_into("<I", content, header - 4, crc32c(content[:header - 4]))
    return bytes(content)


MODEL = write("m.takt", "model m(x: bool[128]) {\n  param c: bool[128] = 0\n"
                        "  return y = op.and(x, c), z = op.xor(x, c)\n}\n")
INPUT = write("in.takt", "model m(x: bool[128]) { return y = not x }\n")
ROWS = write("rows.takt", "model m(x: bool[n, 1]) { return not x }\n")
GOOD, BAD = [1, 0, 1, 1, 0, 0, 1, 0] * 16, [1, 0, 1, 1, 0, 0, 1, 0] * 15 + [1, 2, 255, 0] * 2


def bool_npy(values):
    return npy((128,), values, "|b1", "B")


def taktp(values):
    succeeds("compile", MODEL, "--weights", write("c.safetensors", bools_in(GOOD)), "-o",
             path("c.taktp"))
    with open(path("c.taktp"), "rb") as file:
        return patch_taktp(file.read(), bytes(GOOD), bytes(values))


def index(values):
    write("part.safetensors", bools_in(values))
    return json.dumps({"weight_map": {"c": "part.safetensors"}})


# ---- bools are 0 or 1 ----

BOOLS = {
    "npy": ("b.npy", bool_npy, lambda f: ["run", INPUT, "-i", f"x={f}"]),
    "npz": ("b.npz", lambda v: npz([("x.npy", bool_npy(v))]),
            lambda f: ["run", INPUT, "-i", f"x={f}"]),
    "rows of npy": ("r.npy", lambda v: npy((128, 1), v, "|b1", "B"),
                    lambda f: ["run", ROWS, "-i", f"x={f}", "--batch-size", "3"]),
    "pb": ("b.pb", tensor, lambda f: ["run", INPUT, "-i", f"x={f}"]),
    "static": ("s.npy", bool_npy, lambda f: ["run", INPUT, "--static", f"x={f}"]),
    "safetensors": ("b.safetensors", bools_in, lambda f: ["run", MODEL, "--weights", f]),
    "index.json": ("b.safetensors.index.json", index, lambda f: ["run", MODEL, "--weights", f]),
    "npz weights": ("w.npz", lambda v: npz([("c.npy", bool_npy(v))]),
                    lambda f: ["run", MODEL, "--weights", f]),
    "taktp": ("b.taktp", taktp, lambda f: ["run", f]),
    "onnx raw": ("b.onnx", lambda v: onnx([tensor(v)]), lambda f: ["run", f]),
    "onnx typed": ("t.onnx", lambda v: onnx([tensor(v, how="typed")]), lambda f: ["run", f]),
    "onnx external": ("e.onnx", lambda v: onnx([tensor(v, how="external")]), lambda f: ["run", f]),
    "text with a table": ("u.safetensors", bools_in, lambda f: [
        "run", write("u.takt", 'model m(x: bool[128]) { return op.and(x, constant("u.safetensors", '
                               'tensor="c")) }\n')]),
}
for name, (file, make, command) in BOOLS.items():
    succeeds(*command(write(file, make(GOOD))))
    error = fails(2 if name == "static" else 1, *command(write(file, make(BAD))))
    expect("bool" in error and "0" in error and "1" in error, f"{name}: {error}")
fails(1, "run", write("t.onnx", onnx([tensor([256] + GOOD[1:], how="typed")])), says=("bool",))

# ---- no name twice, no byte in two members ----

array = npy((2,), [1, 2])
two = '{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "%s": {"dtype": "F32", ' \
      '"shape": [2], "data_offsets": [%d, %d]}}'
W = write("w.takt", "model m(x: f32[2]) {\n  param a: f32[2] = 0\n  return x + a\n}\n")
succeeds("run", W, "--weights", write("ok.npz", npz([("a.npy", array), ("b.npy", array)])))
succeeds("run", W, "--weights", write("ok.safetensors", safetensors(two % ("b", 8, 16), bytes(16))))
succeeds("run", write("ok.onnx", onnx([tensor(GOOD)])))
DUPLICATES = {
    "npz": ["run", W, "--weights", write("d.npz", npz([("a.npy", array), ("a.npy", array)]))],
    "npz input": ["run", W, "-i", "x=" + write("x.npz", npz([("x.npy", array), ("x.npy", array)]))],
    "safetensors": ["run", W, "--weights",
                    write("d.safetensors", safetensors(two % ("a", 8, 16), bytes(16)))],
    "index.json": ["run", W, "--weights",
                   write("d.index.json", '{"weight_map": {"a": "ok.safetensors", '
                                         '"a": "ok.safetensors"}}')],
    "onnx": ["run", write("d.onnx", onnx([tensor(GOOD), tensor(GOOD)]))],
    "json": ["run", W, "--config", write("d.json", '{"threads": 1, "threads": 2}')],
}
for name, command in DUPLICATES.items():
    error = fails(2 if name == "json" else 1, *command)
    expect("twice" in error or "same name" in error, f"{name} with a name twice: {error}")
OVERLAPS = {
    "npz": ["run", W, "--weights", write("o.npz", npz([("a.npy", array), ("b.npy", None)]))],
    "safetensors": ["run", W, "--weights",
                    write("o.safetensors", safetensors(two % ("b", 4, 12), bytes(12)))],
}
for name, command in OVERLAPS.items():
    expect("overlap" in fails(1, *command), f"{name} with members that overlap")

# An archive whose work is not bounded by its bytes: many entries on one member.
many = npz([("a.npy", npy((250000,), [0.0] * 250000))] + [(f"b{i}.npy", None) for i in range(2000)])
expect("overlap" in fails(1, "inspect", write("many.npz", many)), "2001 entries on one member")

# ---- scales are arithmetic: NaN, infinity, 0 and negative ones give the same bits everywhere ----

for scale in ("nan", "inf", "0", "-0.5", "1e-45"):
    text = write("scale.takt", f"""model m(x: f32[4, 8], w: i8[8, 16]) {{
  s = constant(f32[], [{scale}])
  z = constant(i8[], [3])
  q = dequantize(quantize(x, s, z), s, z)
  y = q @ dequantize(w, s, z)
  return quantize(y, s, z), q
}}
""")
    digests = {parsed("run", text, "--pass=-licensed", *how, "--json").get("digest")
               for how in (["-O0"], ["-O1"], ["-O2"], ["-O3"], ["--backend", "ref"],
                           ["--isa", "scalar"])}
    expect(len(digests) == 1, f"scale {scale}: {digests}")
    digests = {parsed("run", text, *how, "--json").get("digest")
               for how in (["-O2"], ["-O3"], ["-O2", "--isa", "scalar"])}
    expect(len(digests) == 1, f"scale {scale} with licensed passes: {digests}")

finish()
