"""files.py - inputs from .npy and .npz, outputs to files, folders and standard output."""
import io
import os
import struct
import zipfile

from _cli import (MLP, STREAM, expect, fails, finish, npy, parsed, path, read_npy, succeeds, takt,
                  write)

IMAGE = [((7 * i) % 97) / 97 for i in range(784)]
x1 = write("x1.npy", npy((1, 784), IMAGE))
x3 = write("x3.npy", npy((3, 784), IMAGE * 3))

# The shape of the file gives the batch; every row has the bits of the row alone.
succeeds("run", MLP, "-i", "x=" + x1, "-o", "out=" + path("y1.npy"))
succeeds("run", MLP, "-i", x3, "-o", path("y3.npy"))
with open(path("y1.npy"), "rb") as file:
    head, row = read_npy(file.read())
expect("(1, 10)" in head and abs(sum(row) - 1) < 1e-5, head)
with open(path("y3.npy"), "rb") as file:
    head, rows = read_npy(file.read())
expect("(3, 10)" in head and rows == row * 3, "rows of a batch differ from the row alone")

# Standard output, folders, archives.
raw = takt("run", MLP, "-i", x1, "-o", "-", text=False).stdout
with open(path("y1.npy"), "rb") as file:
    expect(file.read() == raw, "-o - is not the file")
os.makedirs(path("folder"), exist_ok=True)
succeeds("run", STREAM, "-o", path("folder"))
succeeds("run", STREAM, "-o", path("all.npz"))
with zipfile.ZipFile(path("all.npz")) as archive:
    expect(archive.testzip() is None and sorted(archive.namelist()) == ["level.npy", "y.npy"],
           "the archive is wrong")
    for name in ("y", "level"):
        with open(path(f"folder/{name}.npy"), "rb") as file:
            expect(file.read() == archive.read(name + ".npy"), f"{name} differs")
succeeds("run", STREAM, "-o", "level=" + path("one.npz"))
with zipfile.ZipFile(path("one.npz")) as archive:
    expect(archive.namelist() == ["level.npy"], "an archive of one result")
chunk = npy((1, 4, 16), [i / 64 for i in range(64)])
stored = io.BytesIO()
with zipfile.ZipFile(stored, "w") as archive:
    archive.writestr("chunk.npy", chunk)
    archive.writestr("other.npy", b"nonsense")
one = parsed("run", "--json", STREAM, "-i", "chunk=" + write("chunk.npy", chunk))
for argument in ("", "chunk="):
    two = parsed("run", "--json", STREAM, "-i", argument + write("in.npz", stored.getvalue()))
    expect(one["digest"] == two["digest"], "an input from an archive differs")
packed = io.BytesIO()
with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("chunk.npy", chunk)
expect(parsed("run", "--json", STREAM, "-i", write("p.npz", packed.getvalue()))["digest"]
       == one["digest"], "an input from a compressed archive differs")
packed = io.BytesIO()
with zipfile.ZipFile(packed, "w", zipfile.ZIP_BZIP2) as archive:
    archive.writestr("chunk.npy", chunk)
fails(1, "run", STREAM, "-i", write("p.npz", packed.getvalue()),
      says=["other than by deflate", "numpy.savez "])
broken = bytearray(stored.getvalue())
broken[broken.index(b"NUMPY") + 130] ^= 1
fails(1, "run", STREAM, "-i", write("b.npz", bytes(broken)), says=["checksum"])
fails(1, "run", STREAM, "-i", write("c.npz", b"PK\x05\x06"), says=["not a .npz archive"])
fails(2, "run", MLP, "-i", write("in.npz", stored.getvalue()), says=["no array called x"])

# Fortran order is converted correctly.
cross = npy((2, 3), [1, 4, 2, 5, 3, 6])
cross = cross.replace(b"'fortran_order': False, ", b"'fortran_order': True,  ")
model = write("same.takt", "model m(x: f32[2, 3]) -> (y: f32[2, 3]) { return y = x * 1.0 }\n")
result = parsed("run", "--json", model, "-i", write("cross.npy", cross))
expect(result["outputs"]["y"]["values"] == [1, 2, 3, 4, 5, 6], result)

# Steps that take strides read it in place, and it is copied for others; plan and profile report it.
model = write("relu.takt", "model m(x: f32[2, 3]) -> (y: f32[2, 3]) { return y = relu(x) }\n")
result = parsed("run", "--json", model, "-i", path("cross.npy"))
expect(result["outputs"]["y"]["values"] == [1, 2, 3, 4, 5, 6], result)
bound = parsed("plan", "--json", model, "-i", path("cross.npy"))["bindings"][0]
expect(bound["how"] == "view" and bound["moved_bytes"] == 0, bound)
text = succeeds("plan", model, "-i", path("cross.npy"))
expect("x (strides 1, 2) is read where it lies: 0 bytes are moved" in text, text)
sums = write("sums.takt", "model m(x: f32[2, 3]) -> (y: f32[3]) "
                          "{ return y = reduce_sum(x, axes=[0]) }\n")
result = parsed("run", "--json", sums, "-i", path("cross.npy"))
expect(result["outputs"]["y"]["values"] == [5, 7, 9], result)
bound = parsed("plan", "--json", sums, "-i", path("cross.npy"))["bindings"][0]
expect(bound["how"] == "move" and bound["moved_bytes"] == 24 and
       "reduce_sum" in bound["read_dense_by"], bound)
text = succeeds("plan", sums, "-i", path("cross.npy"))
expect("move    x, as it is bound" in text and "is moved, 24 bytes a run" in text, text)
for flags, moves in ((model, 0), (sums, 1)):
    told = parsed("profile", "--json", flags, "-i", path("cross.npy"), "--duration", "20ms")
    expect(told["moved_buffers"] == moves, told["moved_buffers"])
expect("bindings" not in parsed("plan", "--json", sums), "nothing is bound")
fails(1, "plan", sums, "-i", "x=missing.npy", says=["missing.npy"])

# A failed write leaves the old file unchanged; random inputs depend on the seed alone.
write("kept.npy", b"before")
fails(1, "run", MLP, "-i", "x=missing.npy", "-o", path("kept.npy"))
with open(path("kept.npy"), "rb") as file:
    expect(file.read() == b"before", "a failed run touched its output")
again = [parsed("run", "--json", MLP, "--seed", s)["digest"] for s in ("1", "1", "2")]
expect(again[0] == again[1] != again[2], again)
two = write("two.takt", "model m(a: f32[4], b: i64[4]) -> (c: f32[4], d: i64[4]) "
                        "{ return c = a + a, d = b + b }\n")
a = write("a.npy", npy((4,), [1, 2, 3, float("nan")]))
fails(2, "run", two, "-i", "a=" + a, says=["there is no file for input b", "--random"])
mixed = parsed("run", "--json", two, "-i", "a=" + a, "--random")
expect(mixed["outputs"]["c"]["values"] == [2, 4, 6, None] and mixed["random_inputs"] == 1, mixed)
expect(all(v % 2 == 0 and 0 <= v <= 18 for v in mixed["outputs"]["d"]["values"]), mixed)

# All NaNs are one in a digest.
other = struct.pack("<I", 0xffc12345)
nan = npy((4,), [1, 2, 3, 4])[:-4] + other
expect(parsed("run", "--json", two, "-i", "a=" + write("nan.npy", nan), "--random")["digest"]
       == mixed["digest"], "another NaN gives another digest")
finish()
