"""again.py - an integer .tflite read and written as .tflite again: LiteRT gives the same outputs of
both, bit for bit, and layers of integers stay integers.

    again.py         every integer model of the shared data, and every integer operator of _cases
    again.py NAME    those whose names contain NAME, one line each

Needs the Python packages numpy and ai-edge-litert, in build/venv; without them this is skipped.
"""
import os
import struct
import subprocess
import sys

from _flat import BUILTINS
from _litert import DATA, SKIP, TMP, TOOL, Interpreter, finish, np, reference

if np is None:
    SKIP("no numpy")
import _cases  # needs numpy
import _cases_moves
import _cases_wide

# LiteRT mixes bytes in floats (docs/tflite.md), or the layer is written as floats.
APART = ("bilinear_01_7_uint8", "softmax_0.5")
failures = []


def codes(data):
    """Names of the operators of the first graph, with their counts."""
    def u32(at):
        return struct.unpack_from("<I", data, at)[0]

    def field(table, k):
        vtable = table - struct.unpack_from("<i", data, table)[0]
        size = struct.unpack_from("<H", data, vtable)[0]
        at = struct.unpack_from("<H", data, vtable + 4 + 2 * k)[0] if 4 + 2 * k < size else 0
        return table + at if at else None

    def tables(at):
        start = at + u32(at)
        return [start + 4 * i + 4 + u32(start + 4 * i + 4) for i in range(u32(start))]

    root, names, counts = u32(0), [], {}
    for code in tables(field(root, 1)):
        at, old = field(code, 3), field(code, 0)
        names.append(BUILTINS[max(u32(at) if at else 0, data[old] if old else 0)])
    for op in tables(field(tables(field(root, 2))[0], 3)):
        at = field(op, 0)
        name = names[u32(at) if at else 0]
        counts[name] = counts.get(name, 0) + 1
    return counts


def again(path):
    """The bytes of the model as Takt writes it; None if it refuses."""
    to = os.path.join(TMP, "again.tflite")
    run = subprocess.run([TOOL, "convert", path, "-o", to], text=True, capture_output=True,
                         check=False)
    again.error = run.stderr.strip()
    if run.returncode != 0:
        return None
    with open(to, "rb") as f:
        return f.read()


def compare(name, data, inputs, runs):
    """Whether LiteRT gives the same results for the model and for the one that Takt writes; None:
    not written."""
    path = os.path.join(TMP, "before.tflite")
    with open(path, "wb") as f:
        f.write(data)
    want, made = reference(data, inputs, runs), again(path)
    if want is None or made is None:
        again.error = again.error or f"LiteRT refuses it: {reference.error}"
        return None
    got = reference(made, inputs, runs)
    if got is None:
        failures.append(f"{name}: LiteRT refuses it: {reference.error.strip()[:200]}")
        return False
    for i, (a, b) in enumerate(zip(want, got)):
        if a.dtype != b.dtype or a.shape != b.shape or a.tobytes() != b.tobytes():
            off = np.abs(a.astype(float) - b.astype(float)).max() if a.shape == b.shape else "all"
            failures.append(f"{name}: output {i} differs by {off}")
            return False
    before, after = codes(data), codes(made)
    more = {k: n - before.get(k, 0) for k, n in after.items()
            if k in ("QUANTIZE", "DEQUANTIZE") and n > before.get(k, 0)}
    if more:
        failures.append(f"{name}: leaves the integers: {more}")
        return False
    return made


def models(only):
    made, root = 0, os.path.join(DATA, "tflite")
    for name in sorted(os.listdir(root)) if os.path.isdir(root) else ():
        path = os.path.join(root, name, "model.tflite")
        if only not in name or not os.path.exists(path):
            continue
        with open(path, "rb") as f:
            data = f.read()
        try:
            details = Interpreter(model_content=data).get_input_details()
        except ValueError:  # person-detect: LiteRT refuses it
            continue
        if any(d["dtype"] not in (np.int8, np.uint8, np.int16) for d in details):
            continue
        generator = np.random.default_rng(3)
        inputs = [generator.integers(np.iinfo(d["dtype"]).min, np.iinfo(d["dtype"]).max,
                                     d["shape"], endpoint=True).astype(d["dtype"])
                  for d in details]
        result = compare(name, data, inputs, 2)
        if result is None:
            failures.append(f"{name}: {again.error[:300]}")
        if only:
            print(f"{name}: {'the same' if result else again.error[:300]}")
        made += bool(result)
    return made


def operators(only):
    made, refused = 0, 0
    for group in _cases.GROUPS + _cases_moves.GROUPS + _cases_wide.GROUPS:
        group()
    for name, case in _cases.CASES.items():
        if only not in name or name.startswith(APART):
            continue
        if case.kind not in ("int8", "uint8", "int16"):
            continue
        result = compare(name, case.data, case.inputs, case.runs)
        if only:
            print(f"{name}: {'the same' if result else again.error[:200]}")
        refused += result is None
        made += bool(result)
    return made, refused


wanted = sys.argv[1] if len(sys.argv) > 1 else ""
whole = models(wanted)
count, left = operators(wanted)
finish(failures, f"{whole} models, {count} operators written as integers, {left} refused")
