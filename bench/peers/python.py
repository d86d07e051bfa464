"""python.py - `make peers ROWS=python`: what a call from Python costs, beside onnxruntime.

A model of four elements, so that the call is all there is. Takt and onnxruntime are timed in turns;
each figure is the median of the rounds' medians. Without onnxruntime or onnx its rows are left out.
"""
import os
import statistics
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build/release"))
VENV = os.environ.get("TAKT_VENV", os.path.join(ROOT, "build", "venv"))
ROUNDS, CALLS = 15, 2000
# name, bar in microseconds, and of onnxruntime's time in the same run
BARS = {"bound run()": (0.5, None), "s(x, out=y)": (1.0, None), "cm(x)": (2.0, None),
        "InferenceSession.run": (3.0, 0.4)}

try:
    import numpy as np
except ImportError:
    PYTHON = os.path.join(VENV, "bin", "python")
    if os.path.exists(PYTHON) and os.environ.get("TAKT_IN_VENV") is None:
        os.environ["TAKT_IN_VENV"] = "1"
        os.execv(PYTHON, [PYTHON, os.path.abspath(sys.argv[0])])
    sys.exit("NumPy is not installed: `make venv` gets it")
sys.path.insert(0, os.path.join(BUILD, "python"))
import takt  # noqa: E402

TEXT = "model four(x: f32[4]) { return y = relu(x) }"


def ours():
    """Name and call of each row."""
    x, y = np.ones(4, np.float32), np.empty(4, np.float32)
    bound = takt.compile(takt.loads(TEXT))
    bound.bind(x=x, y=y)
    out, new = takt.compile(takt.loads(TEXT)), takt.compile(takt.loads(TEXT))
    session = takt.InferenceSession(TEXT.encode())
    feed = {"x": x}
    return {"bound run()": bound.run, "s(x, out=y)": lambda: out(x, out=y),
            "cm(x)": lambda: new(x), "InferenceSession.run": lambda: session.run(None, feed)}


def theirs():
    """onnxruntime's call of the same model, or None."""
    try:
        import onnxruntime
    except ImportError:
        return None
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"takt-four-{os.getpid()}.onnx")
    takt.loads(TEXT).save(path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    os.remove(path)
    feed = {"x": np.ones(4, np.float32)}
    return lambda: session.run(None, feed)


def median(call):
    """Microseconds of one call."""
    times = []
    for _ in range(20):
        start = time.perf_counter_ns()
        for _ in range(CALLS // 20):
            call()
        times.append((time.perf_counter_ns() - start) / (CALLS // 20) / 1e3)
    return statistics.median(times)


def main():
    calls, other = ours(), theirs()
    rows = {**calls, **({"onnxruntime run": other} if other else {})}
    seen = {name: [] for name in rows}
    for i in range(ROUNDS):  # in turns, each round the other way round
        for name in list(rows)[::1 if i % 2 else -1]:
            seen[name].append(median(rows[name]))
    found = {name: statistics.median(times) for name, times in seen.items()}
    print(f"{'row':24}{'us':>8}{'bar':>8}  reached")
    for name, time_us in found.items():
        bar, share = BARS.get(name, (None, None))
        good = bar is None or time_us <= bar
        if share is not None and other is not None:
            good = good and time_us <= share * found["onnxruntime run"]
        print(f"{name:24}{time_us:8.2f}{bar if bar is not None else '':>8}  "
              f"{'' if bar is None else 'yes' if good else 'no'}")


if __name__ == "__main__":
    main()
