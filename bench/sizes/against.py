"""against.py - requests of different sizes to Takt and to onnxruntime, the same ones, alternately.

    bench/sizes/against.py MODEL.onnx RANGES NAME [COUNT] [--grow] [--threads N]

RANGES are the sizes of the plan, with one range ("batch=1,seq=1..256"), NAME the dimension that it
is of. COUNT sizes are drawn from it; with --grow it goes up by one each time, over and over. Each
engine has one session, which lives as long as there are requests, and they take turns every few
requests, so that a change of the machine meets both. Times are those of a clock on the wall. It
prints the steps of the plan, the milliseconds of planning, the median microseconds that a new size
costs, the mean of a request: Takt's run, with the new size, and onnxruntime's, and how many bytes
of memory the requests after the second left behind.
"""
import argparse
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
ROUND = 20     # requests of one engine before the other has its turn
PAUSE = 0.02   # seconds between rounds, and more until the threads of the other engine sleep
LONGEST = 1.0  # seconds to wait for this
WARM = 2       # the first requests of a session are not counted


def wanted(ranges, name, count, grow):
    """The sizes of every request."""
    sizes, low, high = {}, 0, 0
    for part in ranges.split(","):
        key, value = part.split("=")
        if key == name:
            low, high = map(int, value.split(".."))
        else:
            sizes[key] = int(value)
    lengths = random.Random(1)
    span = high - low + 1
    return [{**sizes, name: low + (i % span if grow else lengths.randrange(span))}
            for i in range(count)]


def settle():
    """Until the threads of this process sleep: onnxruntime's threads spin after a run, for 17 ms on
    a Neoverse-V1, and would take the processors that Takt is measured on."""
    end = time.monotonic() + LONGEST
    while True:
        used = time.process_time()
        time.sleep(PAUSE)
        if time.process_time() - used < PAUSE / 10 or time.monotonic() > end:
            return


def size_of(text, sizes):
    """The value of a dimension such as `past_sequence_length + 1`."""
    total = 0
    for part in text.split(" + "):
        name, *by = re.split(" ?/+ ?", part)
        number = int(name) if name.isdigit() else sizes[name]
        total += number // int(by[0]) if by else number
    return total


def value(port, sizes):
    dims = [d if isinstance(d, int) else size_of(d, sizes) for d in port.shape]
    if port.type == "tensor(float)":
        return numpy.random.default_rng(7).standard_normal(dims, numpy.float32)
    kinds = {"tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32,
             "tensor(bool)": numpy.bool_}
    return numpy.ones(dims, kinds[port.type])


class Runtime:
    """onnxruntime, through its Python package."""

    def __init__(self, model, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(model, options,
                                                    providers=["CPUExecutionProvider"])

    def ask(self, sizes):
        feed = {port.name: value(port, sizes) for port in self.session.get_inputs()}
        start = time.perf_counter_ns()
        self.session.run(None, feed)
        return (time.perf_counter_ns() - start) / 1e3


class Takt:
    """A program that has one session of a plan for the range."""

    def __init__(self, program, model, ranges, threads):
        self.process = subprocess.Popen([program, model, ranges, str(threads)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1)
        self.facts = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"the program of requests ended, status {self.process.wait()}")
        return [float(word) for word in line.split()]

    def ask(self, sizes):
        self.process.stdin.write(",".join(f"{k}={v}" for k, v in sizes.items()) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def end(self):
        """Bytes that the requests left behind."""
        self.process.stdin.close()
        left = int(self.answer()[0])
        self.process.wait()
        return left


def build(folder):
    """The program that sends requests to Takt."""
    program = os.path.join(folder, "requests")
    subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-O2",
                    "-I" + os.path.join(ROOT, "include"),
                    os.path.join(ROOT, "bench", "sizes", "requests.c"),
                    os.path.join(BUILD, "libtakt.a"), "-lm", "-lpthread", "-o", program],
                   check=True)
    return program


def measure(model, ranges, name, count, grow, threads=1, seconds=1e9):
    """Steps, milliseconds of planning, and microseconds: a new size (median), a run, both, and
    onnxruntime (means). Stops after `seconds`."""
    requests = wanted(ranges, name, count, grow)
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Takt(build(folder), model, ranges, threads), Runtime(model, threads)
        pairs, other = [], []
        end = time.monotonic() + seconds
        for first in range(0, len(requests), ROUND):
            if time.monotonic() > end and first > 0:
                break
            part = requests[first:first + ROUND]
            for ask, to in ((ours.ask, pairs), (theirs.ask, other)):
                settle()
                to += [ask(sizes) for sizes in part]
        left = ours.end()
    size, run = zip(*pairs[WARM:])
    steps, loaded, planned = ours.facts
    return {"steps": int(steps), "load_ms": loaded / 1e3, "plan_ms": planned / 1e3,
            "requests": len(pairs), "left": left, "size_us": statistics.median(size),
            "run_us": statistics.fmean(run),
            "both_us": statistics.fmean(size) + statistics.fmean(run),
            "onnxruntime_us": statistics.fmean(other[WARM:])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for word in ("model", "ranges", "name"):
        parser.add_argument(word)
    parser.add_argument("count", nargs="?", type=int, default=48)
    parser.add_argument("--grow", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    a = parser.parse_args()
    m = measure(a.model, a.ranges, a.name, a.count, a.grow, a.threads)
    print(f"{os.path.basename(a.model)}: {m['steps']} steps, planned in {m['plan_ms']:.1f} ms, a "
          f"new size {m['size_us']:.0f} us, a run {m['run_us']:.0f} us, both "
          f"{m['both_us']:.0f} us, onnxruntime {m['onnxruntime_us']:.0f} us, "
          f"{m['onnxruntime_us'] / m['both_us']:.2f} x; {m['left']} bytes more after "
          f"{m['requests']} requests")


if __name__ == "__main__":
    main()
