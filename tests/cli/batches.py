"""batches.py - a model over a file batch by batch: the same bits, and less memory than the file."""
import struct

from _cli import MLP, expect, fails, finish, parsed, path, succeeds

ROWS = 3001


def write_npy(file, rows, columns, order=False):
    """A matrix of small numbers, in either order."""
    head = f"{{'descr': '<f4', 'fortran_order': {order}, 'shape': ({rows}, {columns}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    place = [(i, j) for j in range(columns) for i in range(rows)] if order else \
        [(i, j) for i in range(rows) for j in range(columns)]
    with open(file, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        values = (((i * 7 + j) % 97) / 50 - 1 for i, j in place)
        out.write(struct.pack(f"<{rows * columns}f", *values))


write_npy(path("x.npy"), ROWS, 784)
write_npy(path("few.npy"), 50, 784)
write_npy(path("columns.npy"), 50, 784, True)
want = parsed("run", MLP, "-i", "x=" + path("x.npy"), "-o", path("whole.npy"), "--json")["digest"]

# The file has 9.4 MB; 4 MiB are enough for a batch of it, and not for the whole.
few = parsed("run", MLP, "-i", "x=" + path("x.npy"), "--max-ram", "4M", "--batch-size", "32",
             "--jobs", "2", "-o", path("y.npy"), "--json")
expect(few.get("digest") == want, "the digest of a run in batches differs")
expect(few.get("outputs") == {"out": {"file": path("y.npy")}}, str(few.get("outputs")))
with open(path("y.npy"), "rb") as a, open(path("whole.npy"), "rb") as b:
    expect(a.read() == b.read(), "the files differ")
fails(1, "run", MLP, "-i", "x=" + path("x.npy"), "--max-ram", "4M",
      says=["out of memory", "--max-ram"])

# Any batch and any number of sessions; without -o, to a folder, and to standard output.
want = parsed("run", MLP, "-i", path("few.npy"), "--json")["digest"]
for size, jobs in ((1, 2), (7, 1), (49, 3), (50, 2), (1000, 1)):
    for more in ([], ["-o", path("z.npy")]):
        got = parsed("run", MLP, "-i", path("few.npy"), "--batch-size", str(size), "--jobs",
                     str(jobs), *more, "--json").get("digest")
        expect(got == want, f"batches of {size}, {jobs} jobs, {more}")
expect(parsed("run", MLP, "-i", path("columns.npy"), "--batch-size", "8", "--json").get("digest")
       == want, "a file in Fortran order")
expect("-> " + path("z.npy") in succeeds("run", MLP, "-i", path("few.npy"), "--batch-size", "8",
                                        "-o", path("z.npy")), "where an output went is not told")

# The limit is that of one batch, not of the whole.
succeeds("run", MLP, "-i", path("x.npy"), "--batch-size", "8", "--memory-limit", "900k")
fails(4, "run", MLP, "-i", path("x.npy"), "--memory-limit", "800k", says=["TAKT4002"])
# A limit on a device's memory; a device that runs nothing of the plan needs none.
succeeds("run", MLP, "-i", path("x.npy"), "--batch-size", "8", "--memory-limit", "cuda=2G")
fails(2, "plan", MLP, "--memory-limit", "no=2G", says=["no=2G is not understood", "cuda=2G"])
fails(2, "plan", MLP, "--space-limit", "cuda=many", says=["not understood"])
# Weights read in place: the same results.
expect(parsed("run", "--json", MLP, "-i", path("x.npy"), "--mmap")["digest"]
       == parsed("run", "--json", MLP, "-i", path("x.npy"))["digest"], "--mmap changes results")
fails(4, "run", MLP, "-i", path("x.npy"), "--batch-size", "8", "--memory-limit", "64",
      says=["TAKT4002"])

# An error leaves existing files unchanged.
with open(path("short.npy"), "wb") as out:
    out.write(open(path("few.npy"), "rb").read()[:-100])
with open(path("z.npy"), "rb") as old:
    before = old.read()
fails(1, "run", MLP, "-i", path("short.npy"), "--batch-size", "8", "-o", path("z.npy"),
      says=["short.npy", "promises"])
with open(path("z.npy"), "rb") as now:
    expect(now.read() == before, "a failed run changed the file")
write_npy(path("wide.npy"), 5, 3)
fails(2, "run", MLP, "-i", path("wide.npy"), "--batch-size", "2", says=["wide.npy"])
fails(1, "run", MLP, "-i", path("few.npy"), "--batch-size", "8", "-o",
      path("no/folder/y.npy"), says=["cannot write"])
finish()
