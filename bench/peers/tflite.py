"""tflite.py - `make peers ROWS=tflite`: TensorFlow Lite models in Takt and in LiteRT (XNNPACK).

Rows are the models of $TAKT_DATA/tflite and those of the zoo, written by `takt zoo get`. Both
engines run the same file, one after the other and then in reverse order, and the median of the
rounds counts. Needs numpy and ai-edge-litert, in build/venv; without them this is skipped.

    python3 bench/peers/tflite.py [--quick] [--threads N] [--only NAME,NAME]
"""
import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(ROOT, os.environ.get("BUILD", "build/release"), "takt")
DATA = os.path.join(os.environ.get("TAKT_DATA", os.path.join(ROOT, "..", "shared", "data")),
                    "tflite")
VENV = os.environ.get("TAKT_VENV", os.path.join(ROOT, "build", "venv"))

try:
    import numpy as np
    from ai_edge_litert.interpreter import Interpreter
except ImportError:
    PYTHON = os.path.join(VENV, "bin", "python")
    if os.path.exists(PYTHON) and os.environ.get("TAKT_IN_VENV") is None:
        os.environ["TAKT_IN_VENV"] = "1"
        os.execv(PYTHON, [PYTHON, os.path.abspath(sys.argv[0]), *sys.argv[1:]])
    print("skipped: numpy and ai-edge-litert are not installed in build/venv")
    sys.exit(0)


def command(*args):
    run = subprocess.run([TOOL, *args], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise RuntimeError(f"takt {' '.join(args)}: {run.stderr.strip()[:200]}")
    return run.stdout


def takt(path, threads, _):
    """The median of a run in milliseconds."""
    found = json.loads(command("profile", "--brief", "--json", "--threads", str(threads), path))
    return found["latency"]["median"]


def litert(path, threads, seconds):
    it = Interpreter(path, num_threads=threads)
    it.allocate_tensors()
    for d in it.get_input_details():
        it.set_tensor(d["index"], np.zeros(d["shape"], d["dtype"]))
    times, end = [], time.perf_counter() + seconds
    while len(times) < 10 or time.perf_counter() < end:
        start = time.perf_counter()
        it.invoke()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times[len(times) // 4:])


def models(folder, only):
    """Names and files; those of the zoo are written now."""
    for path in sorted(glob.glob(os.path.join(DATA, "*", "model.tflite"))):
        name = os.path.basename(os.path.dirname(path))
        if not only or name in only:
            yield name, path
    for m in json.loads(command("zoo", "list", "--json")):
        name, path = f"zoo:{m['name']}", os.path.join(folder, f"{m['name']}.tflite")
        if not only or name in only:
            command("zoo", "get", m["name"], "-o", path)
            yield name, path


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("--quick", action="store_true")
    parse.add_argument("--threads", type=int, default=1)
    parse.add_argument("--only", default="")
    args = parse.parse_args()
    rounds, seconds = (1, 0.1) if args.quick else (5, 0.5)
    ahead = count = 0
    print(f"{'model':34} {'takt ms':>9} {'litert ms':>9} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for name, path in models(folder, set(filter(None, args.only.split(",")))):
            times = {takt: [], litert: []}
            try:
                for k in range(2 * rounds):
                    for engine in ((takt, litert) if k % 2 == 0 else (litert, takt)):
                        times[engine].append(engine(path, args.threads, seconds))
            except (RuntimeError, ValueError) as error:
                print(f"{name:34} {str(error).strip().splitlines()[0][:80]}")
                continue
            ours, theirs = (statistics.median(times[e]) for e in (takt, litert))
            count += 1
            ahead += ours < theirs
            print(f"{name:34} {ours:9.4f} {theirs:9.4f} {theirs / ours:6.2f}", flush=True)
    print(f"{ahead} of {count} faster in Takt, {args.threads} threads")


main()
