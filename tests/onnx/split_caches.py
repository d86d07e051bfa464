"""split_caches.py - merged decoders: a cache that only one branch reads may have any number of rows
if the other branch is taken, although the file gives it the encoder's name. Results are compared
with onnxruntime if it is installed."""
import os
import struct
import sys

import corners
from _pb import Graph, floats, ints, node, tensor, value
from branches import says
from corners import BOOL, F32, I64, TMP, check, store, takt, write
from loops_nested import runtime

WEIGHTS = [tensor("one", [1], I64, ints(1)), tensor("two", [1], I64, ints(2)),
           tensor("zero", [1], I64, ints(0)), tensor("twice", [], F32, floats(2))]
NAMES = {"h": ["b", "e", 2], "past": ["b", "e", 2], "mask": ["b", "e"]}
# Only the cache, as older exporters write it: the branch implies that it has the same size.
OTHER = {**NAMES, "past": ["b", "e_out", 2]}


def around(x, to, count=5):
    """As it is, by an even number of nodes."""
    names = [x, *(f"{to}_{i}" for i in range(2 * count - 1)), to]
    return [node("Neg", [a], [b]) for a, b in zip(names, names[1:])]


def merged(reads_outside=True):
    """The first token computes the cache, later ones read it. Without `reads_outside` the first
    alone reads the encoder's result."""
    weighted = [node("Unsqueeze", ["mask", "two"], ["m"]), node("Mul", ["used", "m"], ["w"])]
    plain = [node("Identity", ["used"], ["w"])]
    total = [*(weighted if reads_outside else plain),
             node("ReduceSum", ["w", "one"], ["y"], keepdims=0)]
    yes = Graph([*around("past", "used"), *total,
                 node("Slice", ["past", "zero", "zero", "one"], ["k"])], [],
                [value("y", ["b", 2]), value("k", ["b", "k1", 2])])
    no = Graph([node("Mul", ["h", "twice"], ["d"]), *around("d", "used"), *total,
                node("Identity", ["used"], ["k"])], [],
               [value("y", ["b", 2]), value("k", ["b", "k1", 2])])
    return [node("Squeeze", ["c", "zero"], ["flag"]),
            node("If", ["flag"], ["r", "cache"], "choice", then_branch=yes, else_branch=no),
            node("Add", ["r", "half"], ["z"])]


def numbers(count, start=1.0):
    return [start + i for i in range(count)]


def rows(flat, b, e, mask):
    """Sums over rows of each of `b` samples."""
    return [sum(flat[(i * e + k) * 2 + j] * mask[i * e + k] for k in range(e)) + 0.5
            for i in range(b) for j in range(2)]


def case(b, e, r, cached, reads_outside):
    h, past = numbers(b * e * 2), numbers(b * r * 2, -9.0)
    mask = [float(i % 3 > 0) for i in range(b * e)] if reads_outside else [1.0] * (b * e)
    inputs = {"h": ([b, e, 2], h, F32), "past": ([b, r, 2], past, F32), "c": ([1], [cached], BOOL)}
    if reads_outside:
        inputs["mask"] = ([b, e], mask, F32)
    if cached:
        results = {"z": ([b, 2], rows(past, b, r, mask if reads_outside else [1.0] * (b * r)), F32),
                   "cache": ([b, 0, 2], [], F32)}
    else:
        results = {"z": ([b, 2], rows([2 * v for v in h], b, e, mask), F32),
                   "cache": ([b, e, 2], [2 * v for v in h], F32)}
    return inputs, results


HALF = WEIGHTS + [tensor("half", [], F32, floats(0.5))]


def each():
    for outside, steps in ((True, ((3, 3, False), (3, 0, False), (3, 1, False), (3, 3, True),
                                   (4, 7, False), (1, 1, True))),
                           (False, ((3, 0, False), (3, 3, True), (0, 4, True), (5, 2, True)))):
        for e, r, cached in steps:
            for b in (1, 2):
                inputs, results = case(b, e, r, cached, outside)
                name = f"{e} rows, {r} in the cache, {cached}, batch {b}, {outside}"
                check(f"{name}, by another name", 13, merged(outside), inputs, results, HALF, OTHER)
                check(name, 13, merged(outside), inputs, results, HALF, NAMES)
                runtime(name, os.path.join(TMP, "corner.onnx"), inputs, results)


def npy(name, port):
    dims, items, kind = port
    sizes = ", ".join(map(str, dims)) + ("," if len(dims) == 1 else "")
    head = f"{{'descr': '{'|b1' if kind == BOOL else '<f4'}', 'fortran_order': False, " \
           f"'shape': ({sizes}), }}".ljust(117) + "\n"
    return write(os.path.join(TMP, name), b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) +
                 head.encode() +
                 struct.pack(f"<{len(items)}{'?' if kind == BOOL else 'f'}", *items))


def one_session():
    """First token and later ones in one call, whose session has ranges."""
    steps = ((3, 0, False), (3, 3, True), (4, 0, False), (4, 4, True))
    words, want = [], []
    for i, (e, r, cached) in enumerate(steps):
        inputs, results = case(2, e, r, cached, True)
        for key, port in inputs.items():
            words += ["-i", f"{key}={npy(f'{key}{i}.npy', port)}"]
        want.append("[" + ", ".join(f"{v:g}" for v in results["z"][1][:2]))
    path, _ = store(13, merged(), *case(2, 3, 3, True, True), HALF, NAMES)
    run = takt("run", path, *words)
    says("in one session", run, 0, *want)
    says("names of inputs", takt("inspect", path), 0, "past: f32[b, e_", "mask: f32[b, e]")
    for sizes, word in (("e=1..4", "e_2 0 to 4"), ("e=4", "z: f32[2, 2]")):
        says(f"its size follows {sizes}", takt("plan", path, "-D", "b=2", "-D", sizes), 0, word)
    says("too small for its branch", takt("plan", path, "-D", "b=2", "-D", "e=4", "-D", "e_2=1"), 0,
         "z: f32[2, 2]")


def refused():
    """The branch that reads it is taken."""
    inputs, results = case(2, 3, 0, True, True)
    for names in (NAMES, OTHER):
        path, folder = store(13, merged(), inputs, results, HALF, names)
        for backend in ("cpu", "ref"):
            run = takt("run", path, "--test", folder, "--backend", backend)
            says(f"no rows, {backend}", run, 1, "5016", "a size is 0, and has to be 3", "choice")
    says("the name of the file", takt("inspect", path), 0, "past: f32[b, e_out, 2]")


if __name__ == "__main__":
    each()
    one_session()
    refused()
    print(f"{corners.count} models, {len(corners.failures)} failed")
    sys.exit(len(corners.failures) > 0)
