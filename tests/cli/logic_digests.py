"""logic_digests.py - relations and training steps have the same bits by 1, 2, 3 and 8 threads, by
every vector code of this machine and by scalar code, whatever the order of the facts."""
import hashlib
import io
import platform
import random
import re
import zipfile

from _cli import expect, finish, npy, path, succeeds, write

WAYS = [("-t", "1"), ("-t", "2"), ("-t", "3"), ("-t", "8"), ("--isa", "scalar"),
        ("-t", "2", "--isa", "neon" if platform.machine() == "aarch64" else "avx2")]
NODES = 400


def facts(order):
    """Edges and weighted edges of a random graph; `order` shuffles their lines."""
    rng = random.Random(11)
    edges = sorted({(rng.randrange(NODES), rng.randrange(NODES)) for _ in range(900)})
    weighted = [(a, b, rng.randrange(1, 17) / 16) for a, b in edges[:200]]
    random.Random(order).shuffle(edges)
    random.Random(order + 1).shuffle(weighted)
    write("edge.csv", "".join(f"{a},{b}\n" for a, b in edges))
    write("weight.csv", "".join(f"{a},{b},{w}\n" for a, b, w in weighted))


def model(semantics, rules, names):
    return (f"domain node = {NODES}\nmodel m() semantics={semantics} {{\n"
            f"{rules}  return {', '.join(names)}\n}}\n")


EDGE = '  relation edge(node, node) = "edge.csv"\n'
WEIGHT = '  relation w(node, node) = "weight.csv"\n'
PATH = "= edge(x, z) or exists y: edge(x, y) and path(y, z)\n"
SAME = ("  rule same(x, z){} = (exists u: edge(u, x) and edge(u, z)) or "
        "exists u, v: edge(u, x) and edge(v, z) and same(u, v)\n")
SOFT = "  rule path(x, z) = w(x, z) or exists y: w(x, y) and path(y, z)\n"
PROGRAMS = {
    "bits": model("boolean", EDGE + "  rule path(x, z) " + PATH + SAME.format(""),
                  ["path", "same"]),
    "tuples": model("boolean", EDGE + "  rule path(x, z) capacity=200000 " + PATH
                    + SAME.format(" capacity=200000"), ["path", "same"]),
    "godel": model("godel", WEIGHT + SOFT, ["path"]),
    "viterbi": model("viterbi", WEIGHT + SOFT, ["path"]),
    "shortest": model("shortest", WEIGHT + SOFT, ["path"]),
    "product": model("product", WEIGHT + SOFT.replace("(x, z) =", "(x, z) rounds=4 ="), ["path"]),
    "lukasiewicz": model("lukasiewicz", WEIGHT + SOFT.replace("(x, z) =", "(x, z) rounds=4 ="),
                         ["path"]),
}
for name, text in PROGRAMS.items():
    seen = set()
    file = write(name + ".takt", text)
    for order, way in enumerate(WAYS):
        facts(order)
        printed = succeeds("run", file, *way)
        seen |= set(re.findall(r"sha256:[0-9a-f]{64}", printed))
    expect(len(seen) == 1, f"{name} has {len(seen)} digests")

# ---- 20 steps of MNIST addition ----

rng = random.Random(3)
packed = io.BytesIO()
with zipfile.ZipFile(packed, "w") as archive:
    archive.writestr("pair.npy", npy((16, 2, 28, 28), [rng.random() for _ in range(16 * 2 * 784)]))
    archive.writestr("label.npy", npy((16,), [rng.randrange(19) for _ in range(16)], "<i8", "q"))
DATA = write("sums.npz", packed.getvalue())
seen = set()
for way in WAYS:
    out = path("sums.taktp")
    succeeds("train", "examples/addition.takt", "--data", DATA, "--batch-size", "8", "--steps",
             "20", "--optimizer", "adam", "-q", *way, "-o", out)
    succeeds("convert", out, "-o", out + ".safetensors")
    with open(out + ".safetensors", "rb") as source:
        seen.add(hashlib.sha256(source.read()).hexdigest())
expect(len(seen) == 1, f"20 steps have {len(seen)} digests")
finish()
