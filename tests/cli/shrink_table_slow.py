"""shrink_table_slow.py - the table of docs/shrinking.md: bytes and time of quantised models.

From 50,000 parameters on, int8 has at most 0.27 and w4 0.15 of the bytes; with int8 no model is
slower than in f32, by two measurements: that of `takt quantize`, and `takt benchmark compare` on
the written model. The zoo's models, which are int8 as they come, are compared with their texts.
    shrink_table_slow.py [NAME ...]
NAMEs are those of rows; `zoo` means all of the zoo. One thread. Times are worth something on an
idle machine only. Trained models come from TAKT_DATA; those that are absent are counted.
"""
import json
import os
import random
import sys

from _cli import ROOT, expect, finish, npy, parsed, path, takt, write

DATA = os.environ.get("TAKT_DATA", os.path.join(ROOT, "..", "shared", "data"))
THREAD = ("--threads", "1")
# name: model, shape of a sample
MODELS = {
    "mnist-8": (os.path.join(DATA, "onnx", "mnist-8", "model.onnx"), (1, 28, 28)),
    "mobilenet_v1": ("bench/models/mobilenet_v1_025.takt", (3, 96, 96)),
    "mobilenet_v2": ("bench/models/mobilenet_v2.takt", (3, 224, 224)),
    "super-resolution": (os.path.join(DATA, "onnx", "super-resolution-10", "model.onnx"),
                         (1, 224, 224)),
    "resnet50": ("bench/models/resnet50.takt", (3, 224, 224)),
    "encoder": ("bench/models/encoder.takt", (128, 768)),
}
LARGE, W8, W4 = 50000, 0.27, 0.15


def noise(name, shape):
    count = 1
    for size in shape:
        count *= size
    draw = random.Random(1)
    return write(f"{name}.npy", npy((2, *shape), [draw.random() for _ in range(2 * count)]))


def again(name, before, after):
    """The interval of how many times faster the second is, as text; fails if it is slower, or if
    there is no answer."""
    run = takt("benchmark", "compare", before, after, *THREAD, "--json", timeout=600)
    if not expect(run.returncode in (0, 3, 5), f"{name}: {run.stderr}"):
        return None
    told = json.loads(run.stdout)
    low, high = told["ci95"]
    expect(told["verdict"] != "slower", f"{name}: slower when measured again: {told['ci95']}")
    return f"{1 / high:.2f} to {1 / low:.2f}"


def quantized(name, model, calib, *flags):
    """The report, and the file."""
    made = path(f"{name}.taktp")
    run = takt("quantize", model, "--calib", calib, *THREAD, *flags, "--json", "-o", made,
               timeout=600)
    if not expect(run.returncode == 0, f"{name} {flags}: {run.stderr}"):
        return None, made
    return json.loads(run.stdout), made


def one(name):
    model, shape = MODELS[name]
    if not os.path.exists(os.path.join(ROOT, model)):
        return False
    calib = noise(name, shape)
    parameters = parsed("summary", model, "--json")["parameters"]
    for flags in ((), ("--size-first",)):
        report, made = quantized(name, model, calib, *flags)
        if report is None:
            continue
        part, time = report["bytes_after"] / report["bytes_before"], report["time"]
        if flags:  # without them layers may have been left in f32
            expect(parameters < LARGE or part <= W8, f"{name}: {part:.4f} of its bytes")
        faster = again(name, model, made)
        if faster is None:
            continue
        print(f"| {name} {' '.join(flags)} | {report['taken']} of {report['layers']} | "
              f"{part:.3f} | {time['f32_ns'] / 1e3:.1f} | {time['after_ns'] / 1e3:.1f} | "
              f"{faster} |", flush=True)
    report, _ = quantized(name, model, calib, "--type", "w4", "--size-first")
    if report is not None:
        part = report["bytes_after"] / report["bytes_before"]
        expect(parameters < LARGE or part <= W4, f"{name} as w4: {part:.4f} of its bytes")
        print(f"| {name} w4 | | {part:.4f} |", flush=True)
    return True


def zoo():
    for m in parsed("zoo", "list", "--json"):
        name = m["name"]
        faster = again(name, f"zoo/{name}/{name}.takt", f"zoo:{name}")
        if faster is not None:
            print(f"| zoo:{name} | {faster} |", flush=True)


rows = sys.argv[1:] or [*MODELS, "zoo"]
absent = [name for name in rows if name != "zoo" and not one(name)]
if "zoo" in rows:
    zoo()
print(f"without their files: {len(absent)} {' '.join(absent)}")
finish()
