"""python.py - `make peers ROWS=python`: what Python adds to the engine, against onnxruntime and C.

Calls of a model of four elements, so that the call is all there is; four networks against the same
runs timed in C; a Trainer against `takt train`; two threads against one; what 10^6 calls leave
behind; the size of the wheel. Whatever is compared alternates, there and back; figures are
medians of the rounds. What is not installed is left out. Exit status 1: a bar was missed.
"""
import gc
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build/release"))
VENV = os.environ.get("TAKT_VENV", os.path.join(ROOT, "build", "venv"))
ROUNDS, CALLS = 15, 2000
# name, bar in microseconds, and of onnxruntime's time in the same run
BARS = {"bound run()": (0.5, None), "s(x, out=y)": (1.0, None), "cm(x)": (2.0, None),
        "InferenceSession.run": (3.0, 0.4)}
ABOVE_C = 3.0  # microseconds
MANY = 1000000

try:
    import numpy as np
except ImportError:
    PYTHON = os.path.join(VENV, "bin", "python")
    if os.path.exists(PYTHON) and os.environ.get("TAKT_IN_VENV") is None:
        os.environ["TAKT_IN_VENV"] = "1"
        os.execv(PYTHON, [PYTHON, os.path.abspath(sys.argv[0])])
    sys.exit("NumPy is not installed: `make venv` gets it")
sys.path.insert(0, os.path.join(BUILD, "python"))
sys.path.insert(0, os.path.join(ROOT, "tests", "python"))
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


MISSED = []


def row(name, figure, unit, bar="", good=None):
    """One line of the table; `good` None: there is no bar."""
    if good is False:
        MISSED.append(name)
    print(f"{name:36}{figure:>10} {unit:8}{bar:>22}  "
          f"{'' if good is None else 'yes' if good else 'no'}", flush=True)


def calls():
    ours_, other = ours(), theirs()
    rows = {**ours_, **({"onnxruntime run": other} if other else {})}
    seen = {name: [] for name in rows}
    for i in range(ROUNDS):
        for name in list(rows)[::1 if i % 2 else -1]:
            seen[name].append(median(rows[name]))
    found = {name: statistics.median(times) for name, times in seen.items()}
    for name, time_us in found.items():
        bar, share = BARS.get(name, (None, None))
        good = None if bar is None else time_us <= bar
        if share is not None and other is not None:
            good = good and time_us <= share * found["onnxruntime run"]
            row(name, f"{time_us:.2f}", "us", f"{bar}, {share} of ort", good)
        else:
            row(name, f"{time_us:.2f}", "us", str(bar or ""), good)


# ---- networks: the same runs, timed in C ----

def by_python(session, x, y):
    """Microseconds of one call."""
    start = time.perf_counter_ns()
    session(x, out=y)
    return (time.perf_counter_ns() - start) / 1e3


def above_c(session, x, y):
    """Median and half of the 95 % interval of what a call takes more than a run in C.

    Single calls alternately, there and back: the least of several favours the side with more, and
    what a call finds in the caches depends on the one before it.
    """
    session.bind(**{session.inputs[0].name: x, session.outputs[0].name: y})
    run_us = 1e6 * session._time(runs=5)["median"]
    ways = [lambda: by_python(session, x, y),
            lambda: 1e6 * session._time(runs=1, warmup=0)["min"]]
    apart = []
    for _ in range(max(40, min(2000, int(1.5e6 / run_us)))):
        a, b, c, d = (way() for way in (ways[0], ways[1], ways[1], ways[0]))
        apart.append((a + d - b - c) / 2)
    apart.sort()
    reach = round(0.98 * len(apart) ** 0.5)  # order statistics
    low, high = apart[len(apart) // 2 - reach], apart[len(apart) // 2 + reach]
    return statistics.median(apart), (high - low) / 2, run_us


def floor(session, x, y):
    """What Python takes just after a run before the extension does anything, medians in us.

    A large network leaves nothing of the interpreter and of NumPy in the caches: the bar above
    cannot be reached where these rows are beyond it.
    """
    ways = {"after it, an empty function": lambda: None,
            "after it, buffers of x and y": lambda: (memoryview(x), memoryview(y))}
    seen = {name: [] for name in ways}
    for i in range(60):
        for name in list(ways)[::1 if i % 2 else -1]:
            session.run()
            start = time.perf_counter_ns()
            ways[name]()
            seen[name].append((time.perf_counter_ns() - start) / 1e3)
    for name, times in seen.items():
        row(f"  {name}", f"{statistics.median(times):.2f}", "us")


def cold():
    """The same calls where 32 MiB were written since the last one: a large model does as much."""
    session, x, y = takt.compile(takt.loads(TEXT)), np.ones(4, np.float32), np.empty(4, np.float32)
    other, memory = theirs(), np.zeros(8 << 20, np.float32)
    ways = {"a function that does nothing": lambda: None, "s(x, out=y)": lambda: session(x, out=y),
            **({"onnxruntime run": other} if other else {})}
    seen = {name: [] for name in ways}
    for _ in range(100):
        for name, way in ways.items():
            memory += 1
            start = time.perf_counter_ns()
            way()
            seen[name].append((time.perf_counter_ns() - start) / 1e3)
    for name, times in seen.items():
        row(f"{name}, cold", f"{statistics.median(times):.2f}", "us")


def networks(folder):
    import workloads
    for name, build in (("MLP", lambda: workloads.mlp(1)), ("MobileNetV2", workloads.mobilenet_v2),
                        ("ResNet-18 block", workloads.resnet18_block),
                        ("encoder", workloads.encoder)):
        build().write(folder)
        session = takt.compile(takt.load(os.path.join(folder, "model.onnx")), threads=1)
        x = np.random.default_rng(1).random(session.inputs[0].shape, np.float32)
        y = np.empty(session.outputs[0].shape, np.float32)
        more, noise, run_us = above_c(session, x, y)
        row(f"{name}, {run_us:.0f} us in C, more", f"{more:.2f}", "us",
            f"{ABOVE_C} + {noise:.2f} noise", more <= ABOVE_C + noise)
        if more > ABOVE_C + noise:
            floor(session, x, y)


# ---- training ----

def training(folder):
    """The MLP row of bench/train: epochs of 12,800 samples in batches of 64, from one file."""
    tool, count = os.path.join(BUILD, "takt"), 12800
    model, data = os.path.join(folder, "mlp.takt"), os.path.join(folder, "data.npz")
    with open(model, "w", encoding="utf-8") as to:
        to.write("model mlp(x: f32[batch, 784]) seed=1 {\n"
                 "  return dense(dense(x, 256, act=relu), 10)\n}\n")
    rng = np.random.default_rng(1)
    np.savez(data, x=rng.random((count, 784), np.float32), labels=rng.integers(0, 10, count))
    command = [tool, "train", model, "--data", data, "--loss", "cross_entropy", "--optimizer",
               "adam", "--lr", "1e-3", "--batch-size", "64", "--epochs", "3", "--threads", "1",
               "-o", os.path.join(folder, "out.taktp")]

    def by_command():
        told = subprocess.run(command, capture_output=True, text=True, check=True)
        rates = re.findall(r"([0-9]+) samples/s", told.stdout + told.stderr)
        return [count / float(rate) for rate in rates]

    def by_trainer():
        trainer = takt.Trainer(model, takt.Adam(learning_rate=1e-3), "cross_entropy", threads=1)
        loader = takt.DataLoader(takt.Dataset(data), batch_size=64, shuffle=True, num_workers=1)
        return [epoch.seconds for epoch in trainer.fit(loader, epochs=3)]

    seen = {by_command: [], by_trainer: []}
    for i in range(10):
        for way in list(seen)[::1 if i % 2 else -1]:
            seen[way] += way()
    command_s, trainer_s = (statistics.median(seen[way]) for way in (by_command, by_trainer))
    row("Trainer, of `takt train`", f"{trainer_s / command_s:.3f}", "", "1.05",
        trainer_s <= 1.05 * command_s)


# ---- threads, leftovers, files ----

def threads():
    """Runs a second of two threads with a session each, of one alone."""
    if (os.cpu_count() or 1) < 2:
        return
    text = "model p(x: f32[128, 256]) seed=1 { return dense(dense(x, 256), 256) }"
    made = [takt.compile(takt.loads(text), threads=1) for _ in range(2)]
    for session in made:
        session.bind(x=np.ones((128, 256), np.float32))

    def work(session):
        for _ in range(200):
            session.run()

    def seconds(sessions):
        jobs = [threading.Thread(target=work, args=(s,)) for s in sessions]
        start = time.perf_counter()
        for job in jobs:
            job.start()
        for job in jobs:
            job.join()
        return time.perf_counter() - start

    ratios = []
    for i in range(ROUNDS):
        times = {}
        for some in ((made[:1], made) if i % 2 else (made, made[:1])):
            times[len(some)] = seconds(some)
        ratios.append(2 * times[1] / times[2])
    ratio = statistics.median(ratios)
    row("two threads, of one", f"{ratio:.2f}", "x", "1.9", ratio >= 1.9)


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def leftovers():
    x, session = np.ones(4, np.float32), takt.compile(takt.loads(TEXT))
    for _ in range(10000):
        session(x)
    gc.collect()  # what earlier rows left
    memory, objects = resident(), len(gc.get_objects())
    for _ in range(MANY):
        session(x)
    gc.collect()
    memory, objects = resident() - memory, len(gc.get_objects()) - objects
    row("10^6 calls, memory", f"{memory:+.2f}", "MiB", "1", abs(memory) <= 1)
    row("10^6 calls, objects", f"{objects:+d}", "", "0", objects <= 0)


def files(folder):
    os.environ["TAKT_TEST_TMP"] = folder
    os.environ["TAKT_BUILD_DIR"] = BUILD
    import _wheel
    builder = _wheel.make_environment("builder")
    wheel = None
    if builder is not None and _wheel.install(builder, "scikit-build-core"):
        wheel = _wheel.build(builder)
    if wheel is None:
        print("wheel: left out: pip cannot build it here")
        return
    device = _wheel.device_bytes()
    size = (os.path.getsize(wheel) - device) / 1e6
    with zipfile.ZipFile(wheel) as archive:
        whole = sum(info.file_size for info in archive.infolist()) / 2**20
    packed = _wheel.packed(builder, wheel)
    row("wheel, without code for GPUs", f"{size:.3f}", "MB", "" if packed else "4",
        None if packed else size <= 4)
    if packed:
        size = (os.path.getsize(packed) - device) / 1e6
        row("the same by `make wheel`", f"{size:.3f}", "MB", "4", size <= 4)
    row("installed files", f"{whole:.2f}", "MiB", "16", whole <= 16)


def main():
    print(f"{'row':36}{'figure':>10} {'':8}{'bar':>22}  reached")
    with tempfile.TemporaryDirectory() as folder:
        calls()
        networks(folder)
        cold()
        training(folder)
        threads()
        leftovers()
        files(folder)
    return 1 if MISSED else 0


if __name__ == "__main__":
    sys.exit(main())
