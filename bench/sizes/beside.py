"""beside.py - requests of different sizes to Takt and to onnxruntime, the same ones, on one thread.

    bench/sizes/beside.py MODEL.onnx RANGES NAME [COUNT] [--grow]

RANGES are the sizes of the plan, with one range ("batch=1,seq=1..256"), NAME the dimension that it
is of. COUNT sizes of it come in random order, none twice; with --grow one after the other. Each
engine has a new session in each of two passes (Takt in the middle), and the better time of a size
counts: processor time of the process, so that a busy machine disturbs little. It prints the steps
of the plan, the milliseconds of planning, the median microseconds that a new size costs, and those
of a mean request: Takt's run, with the new size, and onnxruntime's.
"""
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))


def wanted(ranges, name, count, grow):
    """The sizes of every request."""
    sizes, low, high = {}, 0, 0
    for part in ranges.split(","):
        key, value = part.split("=")
        if key == name:
            low, high = map(int, value.split(".."))
        else:
            sizes[key] = int(value)
    lengths = list(range(low, high + 1))
    if not grow:
        random.Random(1).shuffle(lengths)
    return [{**sizes, name: length} for length in lengths[:count]]


def value(port, sizes):
    dims = [d if isinstance(d, int) else sum(sizes[p] for p in d.split(" + ")) for d in port.shape]
    if port.type == "tensor(float)":
        return numpy.random.default_rng(7).standard_normal(dims, numpy.float32)
    kinds = {"tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32,
             "tensor(bool)": numpy.bool_}
    return numpy.ones(dims, kinds[port.type])


def of_runtime(model, requests):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    times = []
    for sizes in requests:
        feed = {port.name: value(port, sizes) for port in session.get_inputs()}
        start = time.process_time_ns()
        session.run(None, feed)
        times.append((time.process_time_ns() - start) / 1e3)
    return times


def of_takt(program, model, ranges, requests):
    lines = "".join(",".join(f"{k}={v}" for k, v in r.items()) + "\n" for r in requests)
    run = subprocess.run([program, model, ranges], input=lines, capture_output=True, text=True,
                         check=False)
    if run.returncode != 0:
        sys.exit(run.stderr)
    first, *rest = run.stdout.splitlines()
    return first.split(), [tuple(map(float, line.split())) for line in rest]


def build(folder):
    """The program that sends requests to Takt."""
    program = os.path.join(folder, "requests")
    subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-O2",
                    "-I" + os.path.join(ROOT, "include"),
                    os.path.join(ROOT, "bench", "sizes", "requests.c"),
                    os.path.join(BUILD, "libtakt.a"), "-lm", "-lpthread", "-o", program],
                   check=True)
    return program


def measure(model, ranges, name, count, grow):
    """Steps, milliseconds of planning, and microseconds: a new size (median), a run, both, and
    onnxruntime (means)."""
    requests = wanted(ranges, name, count, grow)
    with tempfile.TemporaryDirectory() as folder:
        program = build(folder)
        theirs = [of_runtime(model, requests)]
        ours = [of_takt(program, model, ranges, requests) for _ in range(2)]
        theirs.append(of_runtime(model, requests))
    skip = 2  # the first ones of a session warm it up
    size = [min(a[0], b[0]) for a, b in zip(ours[0][1], ours[1][1])][skip:]
    run = [min(a[1], b[1]) for a, b in zip(ours[0][1], ours[1][1])][skip:]
    other = [min(a, b) for a, b in zip(*theirs)][skip:]
    steps, loaded, planned = ours[0][0]
    return {"steps": int(steps), "load_ms": float(loaded) / 1e3, "plan_ms": float(planned) / 1e3,
            "size_us": statistics.median(size), "run_us": statistics.fmean(run),
            "both_us": statistics.fmean(size) + statistics.fmean(run),
            "onnxruntime_us": statistics.fmean(other)}


def main():
    words = [w for w in sys.argv[1:] if w != "--grow"]
    if len(words) not in (3, 4):
        sys.exit(__doc__)
    model, ranges, name = words[:3]
    count = int(words[3]) if len(words) > 3 else 48
    m = measure(model, ranges, name, count, "--grow" in sys.argv)
    print(f"{os.path.basename(model)}: {m['steps']} steps, planned in {m['plan_ms']:.1f} ms, a "
          f"new size {m['size_us']:.0f} us, a run {m['run_us']:.0f} us, both "
          f"{m['both_us']:.0f} us, onnxruntime {m['onnxruntime_us']:.0f} us, "
          f"{m['onnxruntime_us'] / m['both_us']:.2f} x")


if __name__ == "__main__":
    main()
