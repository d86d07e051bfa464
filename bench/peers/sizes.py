"""sizes.py - `make peers ROWS=sizes`: requests of different sizes, against onnxruntime.

Every request is timed with what its size costs: sentences of random lengths, a decoder whose cache
or text grows by one row. bench/sizes/against.py measures, on one thread and on all, both engines
alternately. Takt's time is that of the new size and the run. Before that the answers of both are
compared at one size. A request of a row should take onnxruntime at least 1.2 times as long; `left`
is how many bytes the requests after the second left allocated. The last rows are what it costs to
begin with a compiled model (.taktp).

    --count N       requests of each row with random sizes (1000)
    --seconds S     at most, of each row and number of threads
    --threads A,B   instead of 1 and all
    --rows WORD     only rows whose name has the word
Needs numpy and onnxruntime, in build/venv; without them this is skipped. Exit status 1: an answer
differs, or a row is below 1.2.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build/release"))
VENV = os.environ.get("TAKT_VENV", os.path.join(ROOT, "build", "venv"))
TOOL = os.path.join(BUILD, "takt")
BAR = 1.2

try:
    import numpy
    import onnxruntime
except ImportError:
    PYTHON = os.path.join(VENV, "bin", "python")
    if os.path.exists(PYTHON) and os.environ.get("TAKT_IN_VENV") is None:
        os.environ["TAKT_IN_VENV"] = "1"
        os.execv(PYTHON, [PYTHON, os.path.abspath(sys.argv[0]), *sys.argv[1:]])
    print("skipped: numpy and onnxruntime are not installed in build/venv")
    sys.exit(0)
os.environ["BUILD"] = BUILD
sys.path.insert(0, os.path.join(ROOT, "bench", "sizes"))
import against  # noqa: E402
import sizes_rows  # noqa: E402


def takt(*words):
    run = subprocess.run([TOOL, *words], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"takt {' '.join(words)}: {run.stderr}")
    return run.stdout


def differ(folder, path, sizes):
    """Difference of both engines' answers at one size, relative to the largest value."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feed = {port.name: against.value(port, sizes) for port in session.get_inputs()}
    words = []
    for name, array in feed.items():
        numpy.save(os.path.join(folder, name + ".npy"), array)
        words += ["-i", f"{name}={os.path.join(folder, name)}.npy"]
    takt("run", path, *words, "-o", os.path.join(folder, "all.npz"))
    ours = numpy.load(os.path.join(folder, "all.npz"))
    names = [port.name for port in session.get_outputs()]
    apart = [numpy.abs(ours[name] - want).max() / max(1, numpy.abs(want).max())
             for name, want in zip(names, session.run(None, feed)) if want.size > 0]
    return float(numpy.max(apart))  # max() of Python loses NaN


def compiled(folder, source, sizes):
    """Milliseconds of planning from a .taktp file, the best of five, and its steps."""
    path = os.path.join(folder, "m.taktp")
    takt("compile", source, "-o", path)
    runs = [json.loads(takt("run", path, "-D", sizes, "--random", "--threads", "1", "--json"))
            for _ in range(5)]
    return min(run["plan_ns"] for run in runs) / 1e6, runs[0]["steps"]


def show(row, threads, m, note):
    ratio = m["onnxruntime_us"] / m["both_us"]
    print(f"{row.name:52}{threads:4}{m['requests']:9}{m['steps']:6}{m['size_us']:10.1f}"
          f"{m['size_us'] / m['steps']:8.2f}{m['both_us']:10.0f}{m['onnxruntime_us']:10.0f}"
          f"{ratio:7.2f}x{m['left']:8}{note}", flush=True)
    return ratio >= BAR and not note


def measure(row, folder, path, args):
    """Rows of a model for each number of threads; whether all are good."""
    sizes = against.wanted(row.ranges, row.by, 37, True)[-1]
    distance = differ(folder, path, sizes)
    note = "" if distance <= row.close else f"   answers differ by {distance:.2g}"
    low, high = next(part.split("=")[1].split("..") for part in row.ranges.split(",")
                     if ".." in part)
    count = min(args.count, int(high) - int(low) + 1 + against.WARM) if row.grows else args.count
    good = True
    for threads in args.threads:
        m = against.measure(path, row.ranges, row.by, count, row.grows, threads, args.seconds)
        good = show(row, threads, m, note) and good
    return good


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few requests, no exports")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--threads", default=f"1,{len(os.sched_getaffinity(0))}")
    parser.add_argument("--rows", default="")
    args = parser.parse_args()
    args.count = min(args.count, 24) if args.quick else args.count
    args.threads = sorted({int(word) for word in args.threads.split(",")})
    return args


def main():
    args, good, plans = arguments(), True, []
    print(f"onnxruntime {onnxruntime.__version__}; microseconds of a mean request\n"
          f"{'requests of':52}{'thr':>4}{'requests':>9}{'steps':>6}{'new size':>10}{'a step':>8}"
          f"{'Takt':>10}{'runtime':>10}{'':8}{'left':>8}")
    with tempfile.TemporaryDirectory() as exports:
        rows, absent = sizes_rows.all_rows(exports, args.quick)
        for row in rows:
            if args.rows not in row.name:
                continue
            with tempfile.TemporaryDirectory() as folder:
                path = sizes_rows.write(row, folder, TOOL)
                if path is None:
                    absent.append(row.name)
                    continue
                good = measure(row, folder, path, args) and good
                if path != row.source and not row.is_int8:
                    source = os.path.join(folder, "m.takt")
                    plans.append((row.name, *compiled(folder, source, f"{row.by}=64")))
    print(f"\n{'planned from a .taktp file':52}{'steps':>10}{'ms':>10}{'a step':>8}   us")
    for name, plan_ms, steps in plans:
        print(f"{name:52}{steps:10}{plan_ms:10.2f}{1e3 * plan_ms / steps:8.1f}")
    if absent:
        print(f"{len(absent)} are not installed: {', '.join(absent)}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
