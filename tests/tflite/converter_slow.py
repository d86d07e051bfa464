"""converter_slow.py - one operator at a time from TensorFlow's converter, against LiteRT.

    converter_slow.py           makes every model and compares Takt with LiteRT's reference kernels
    converter_slow.py --write   and writes converted.bin and converted.tsv, which converted.c runs
    converter_slow.py --kept    compares the models of converted.bin: needs no TensorFlow
    converter_slow.py --part 2/4   the second quarter: all take a quarter of an hour on two cores

Integers must have the bits of LiteRT's reference kernels. Softmax, logistic, tanh and what is made
of them may be a step off, floats 1e-5 of the greatest. The reference kernels of quantised SUM
are far from the sum, LiteRT's fast ones are not: sums are compared with those and may be a step
off, too. Needs numpy, ai-edge-litert and, without --kept, tensorflow, here or in
build/venv; without them this is skipped.
"""
import os
import sys

from _litert import ROOT, SKIP, finish, fnv, np, reference, takt_run

FOLDER = os.path.join(ROOT, "tests", "tflite")
STEPS = ("softmax", "sigmoid", "tanh", "gelu", "log", "exp", "elu", "sqrt", "rsqrt", "sum")


def kept():
    """Name, bytes and whether inputs are positive, of the files in the repository."""
    with open(os.path.join(FOLDER, "converted.bin"), "rb") as models, \
            open(os.path.join(FOLDER, "converted.tsv"), encoding="utf-8") as rows:
        for row in rows:
            name, size, kind, _ = row.rstrip("\n").split("\t")
            yield name, models.read(int(size)), kind == "positive"


def part():
    """Of the cases, and how many parts there are."""
    if "--part" not in sys.argv:
        return 0, 1
    if "--write" in sys.argv or "--kept" in sys.argv:
        sys.exit("--part goes with neither --write nor --kept, which are for all models")
    index, count = map(int, sys.argv[sys.argv.index("--part") + 1].split("/"))
    if not 1 <= index <= count:
        sys.exit(f"--part {index}/{count}: parts are 1/{count} to {count}/{count}")
    return index - 1, count


def made():
    try:
        import _converter
    except ImportError:
        SKIP("tensorflow is not installed")
    index, count = part()
    for name, case in list(_converter.CASES.items())[index::count]:
        data = _converter.convert(*case)
        if data is not None:
            yield name, data, case[3]


def inputs_of(data, positive):
    """The inputs that converted.c uses."""
    state, inputs = 7, []
    for detail in reference.Interpreter(model_content=data).get_input_details():
        count, dtype = int(np.prod(detail["shape"])), np.dtype(detail["dtype"])
        states = np.empty(count, np.uint32)
        for i in range(count):
            state = (state * 1664525 + 1013904223) & 0xffffffff
            states[i] = state
        if dtype == np.float32:
            x = (states >> 8).astype(np.float32) / np.float32(2 ** 23) - np.float32(1)
            x = np.abs(x) + np.float32(0.1) if positive else x
        elif dtype == np.bool_:
            x = (states >> 31).astype(np.bool_)
        else:
            x = (states >> {1: 24, 2: 16, 4: 30}[dtype.itemsize]).astype(
                f"u{dtype.itemsize}").view(dtype)
        inputs.append(x.reshape(detail["shape"]))
    return inputs


def compare(name, want, got):
    """The differences; empty if there are none."""
    for w, g in zip(want, got):
        if w.dtype != g.dtype or w.shape != g.shape:
            return f"{name}: {g.dtype}{g.shape}, not {w.dtype}{w.shape}"
        error = np.abs(w.astype(float) - g.astype(float)).max() if w.size else 0
        most = np.abs(w.astype(float)).max() if w.size else 0
        limit = 1e-5 * max(most, 1) if w.dtype.kind == "f" else int(name.startswith(STEPS))
        if not error <= limit:
            return f"{name}: {error:g} off, of {most:g}; {np.count_nonzero(w != g)} of {w.size}"
    return ""


part()
writes = "--write" in sys.argv
failures, rows, blob, refused, count = [], [], [], 0, 0
for name, data, positive in kept() if "--kept" in sys.argv else made():
    given = inputs_of(data, positive)
    want = reference(data, given, fast=name.startswith("sum") and not name.endswith("f32"))
    if want is None:
        refused += 1
        continue
    count += 1
    try:
        got = takt_run(data, given, len(want))
        wrong = compare(name, want, got)
    except RuntimeError as error:
        wrong = f"{name}: {error}"
    if wrong:
        failures.append(wrong)
        continue
    kind = "positive" if positive else "plain"
    rows.append(f"{name}\t{len(data)}\t{kind}\t{fnv(b''.join(g.tobytes() for g in got)):016x}\n")
    blob.append(data)
if writes and not failures:
    with open(os.path.join(FOLDER, "converted.tsv"), "w", encoding="utf-8") as f:
        f.writelines(rows)
    with open(os.path.join(FOLDER, "converted.bin"), "wb") as f:
        f.writelines(blob)
finish(failures, f"{count} models of TensorFlow's converter, LiteRT refuses {refused}")
