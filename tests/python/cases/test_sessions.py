"""test_sessions.py - calls, bindings, sizes, state, threads, signals, forks."""
import asyncio
import gc
import hashlib
import json
import multiprocessing
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import takt

ROOT = pathlib.Path(os.environ["TAKT_ROOT"])
TOOL = os.environ.get("TAKT_TOOL")
DOUBLE = "model m(x: f32[n, 3]) -> (y: f32[n, 3]) { return y = x * 2 }"
TWO = ("model m(a: f32[n], b: f32[n]) -> (s: f32[n], d: f32[n]) "
       "{ return s = a + b, d = a - b }")
COUNT = ("model m(x: f32[2]) -> (y: f32[2]) {\n  state sum: f32[2] = 0\n"
         "  next sum = sum + x\n  return y = sum + x\n}")
# Some hundred milliseconds on one core: a chain of products that cannot be skipped.
LONG = ("model m(x: f32[512, 512]) -> (y: f32[512, 512]) {\n  state turns: f32[] = 0\n"
        "  y = x\n  repeat 30 { y = tanh(y @ x) }\n  next turns = turns + 1\n  return y = y\n}")


def save_npy(path, array):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {array.shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    with open(path, "wb") as to:
        to.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
        to.write(memoryview(array))


def compiled(text, **options):
    return takt.compile(takt.loads(text), **options)


class Calls(unittest.TestCase):
    def test_calling(self):
        s = compiled(TWO)
        a, b = takt.array([1.0, 2.0]), takt.array([10.0, 20.0])
        for results in (s(a, b), s(a, b=b), s(b=b, a=a)):
            self.assertEqual([r.tolist() for r in results], [[11, 22], [-9, -18]])
        for args, kwargs in (((a,), {}), ((a, b, a), {}), ((a, b), {"a": a}), ((a, b), {"c": a}),
                             ((a, b), {"s": a}), ((), {})):
            with self.assertRaises(takt.Error):
                s(*args, **kwargs)
        with self.assertRaisesRegex(takt.NotFoundError, "did you mean|inputs is"):
            s(a, bb=b)

    def test_sizes_that_values_decide(self):
        s = compiled("model m(x: f32[n]) { places, count = find_true(x > 0)\n"
                     "  l = length(count, names=[kept], bounds=[n], tops=[n])\n"
                     "  at = sized(places, shape=[kept])\n"
                     "  return y = gather(x, at, axis=0) * 2, many = count }")
        for x in ([1.0, -1, 3, -2], [-1.0, -2, -3, -4], [1.0, 2, 3, 4], [0.0, 0, 0, 5]):
            y, many = s(takt.array(x))
            self.assertEqual(y.tolist(), [2 * v for v in x if v > 0])
            self.assertEqual(many.tolist(), [len(y.tolist())])
        kept = many.tolist()
        x = takt.array([1.0, 2, 0, 0])
        got, = s._run_feed(["y"], {"x": x})  # `many` was not requested, so it is no longer written
        self.assertEqual((takt.asarray(got).tolist(), many.tolist()), ([2, 4], kept))

    def test_results_outlive_everything(self):
        y = compiled(DOUBLE)(takt.array([[1.0, 2, 3]]))
        gc.collect()
        self.assertEqual(y.tolist(), [[2, 4, 6]])

    def test_out(self):
        s, x, y = compiled(DOUBLE), takt.array([[1.0, 2, 3]]), takt.zeros((1, 3))
        self.assertIs(s(x, out=y), y)
        self.assertEqual(y.tolist(), [[2, 4, 6]])
        self.assertIs(s(x, out={"y": y}), y)
        self.assertIs(s(x, out=(y,)), y)
        for bad in (takt.zeros((1, 4)), takt.zeros((1, 3), "f64"), takt.asarray(bytes(12)), x, 3,
                    (y, y), {"x": y}, {"z": y}):
            with self.assertRaises(takt.Error, msg=repr(bad)):
                s(x, out=bad)
        big = takt.zeros((4, 3))
        with self.assertRaisesRegex(ValueError, "lies over"):
            s(big[0:2], out=big[1:3])
        with self.assertRaisesRegex(ValueError, "lies over"):
            compiled(TWO)(takt.zeros(3), takt.zeros(3), out=(big[0], big[0]))
        self.assertEqual(s(big[0:1], out=big[1:2]).tolist(), [[0, 0, 0]])

    def test_sizes_follow_arrays(self):
        s = compiled(DOUBLE)
        for n in (1, 4, 2, 4, 1, 0):
            self.assertEqual(s(takt.zeros((n, 3))).shape, (n, 3))
            self.assertEqual(s.sizes(), {"n": n})
        with self.assertRaisesRegex(takt.ShapeError, "another input"):
            compiled(TWO)(takt.zeros(2), takt.zeros(3))
        for shape in ((3,), (1, 4), (1, 3, 1), ()):
            with self.assertRaises(takt.ShapeError):
                s(takt.zeros(shape))
        self.assertEqual(s(takt.zeros((5, 3))).shape, (5, 3))  # as before
        s.reshape({"n": 7})
        self.assertEqual(s.inputs[0].shape, (7, 3))
        with self.assertRaises(takt.Error):
            s.reshape({"n": -7})
        with self.assertRaises(takt.Error):
            s.reshape({"k": 1})
        with self.assertRaises(TypeError):
            s.reshape(8)

    def test_wrong_arrays(self):
        s = compiled(DOUBLE)
        for bad in (takt.zeros((1, 3), "f64"), [[1, 2, 3]], None, "text", 3.5, object(), b"abc"):
            with self.assertRaises((TypeError, ValueError), msg=repr(bad)):
                s(bad)
        with self.assertRaisesRegex(takt.ArgumentError, r"astype\('float32'\)"):
            s(takt.zeros((1, 3), "i64"))

    def test_strided_inputs(self):
        s = compiled(DOUBLE)
        big = takt.array([[float(10 * i + k) for k in range(6)] for i in range(4)])
        for part in (big[:, ::2], big[::2, :3], big[::-1, 3:], big[:, 5:2:-1]):
            want = [[2 * v for v in row] for row in part.tolist()]
            self.assertEqual(s(part).tolist(), want)

    def test_bound_runs(self):
        s, x, y = compiled(DOUBLE), takt.array([[1.0, 2, 3]]), takt.zeros((1, 3))
        with self.assertRaises(takt.StateError):
            s.run()
        s.bind(x=x, y=y)
        s.run()
        self.assertEqual(y.tolist(), [[2, 4, 6]])
        memoryview(x)[0, 0] = 50
        self.assertEqual(s(takt.array([[7.0, 7, 7]])).tolist(), [[14, 14, 14]])  # for once
        s.run()
        self.assertEqual(y.tolist(), [[100, 4, 6]])
        s.bind("y", None)
        s.run()
        self.assertEqual(s.output("y").tolist(), [[100, 4, 6]])
        self.assertEqual(s(out=y).tolist(), [[100, 4, 6]])  # the bound input
        for bad in ({"z": x}, {"x": takt.zeros((1, 3), "i8")}, {"y": takt.asarray(bytes(12))}):
            with self.assertRaises(takt.Error):
                s.bind(**bad)
        with self.assertRaises(takt.Error):
            s.bind("x")
        s.run()
        s.warmup()
        self.assertIn("step", s.describe())

    def test_closed(self):
        s = compiled(DOUBLE)
        with s:
            self.assertTrue(s.is_open())
        for call in (s.run, s.close, lambda: s(takt.zeros((1, 3))), lambda: s.bind(), s.reset,
                     lambda: s.inputs, s.state_names):
            if call == s.close:
                call()
                continue
            with self.assertRaises(takt.StateError):
                call()
        with self.assertRaises(takt.StateError):
            takt.Session()(1)

    def test_same_bits_as_the_command(self):
        if not TOOL:
            self.skipTest("there is no command")
        for name in ("mlp", "cnn"):
            path = ROOT / "examples" / f"{name}.takt"
            info = takt.load(path).inputs[0]
            shape = tuple(2 if isinstance(dim, str) else dim for dim in info.shape)
            x = takt.zeros(shape)
            flat = memoryview(x).cast("B").cast("f")
            for i in range(x.size):
                flat[i] = (i * 7919 % 1000) / 500 - 1
            with tempfile.TemporaryDirectory() as folder:
                save_npy(folder + "/x.npy", x)
                told = json.loads(subprocess.run(
                    [TOOL, "run", str(path), "--json", "-i", f"{info.name}={folder}/x.npy"],
                    check=True, capture_output=True, text=True).stdout)
            for threads in (1, 2):
                y = takt.compile(path, threads=threads)(x)
                self.assertEqual("sha256:" + hashlib.sha256(memoryview(y)).hexdigest(),
                                 told["digest"], (name, threads))


class States(unittest.TestCase):
    def test_state(self):
        s, x = compiled(COUNT), takt.array([1.0, 2.0])
        s(x)
        s(x)
        self.assertEqual(s.state_names(), ["sum"])
        self.assertEqual(s.state_get("sum").tolist(), [2, 4])
        twin = s.clone()
        s.state_put("sum", takt.array([100.0, 100.0]))
        self.assertEqual((s(x).tolist(), twin(x).tolist()), ([101, 102], [3, 6]))
        with tempfile.TemporaryDirectory() as folder:
            twin.save_state(folder + "/s.npz")
            s.load_state(folder + "/s.npz")
            with self.assertRaises(OSError):
                s.load_state(folder + "/none.npz")
        self.assertEqual(s.state_get("sum").tolist(), [3, 6])
        s.reset()
        self.assertEqual(s.state_get("sum").tolist(), [0, 0])
        for bad in (lambda: s.state_get("son"), lambda: s.state_put("sum", takt.zeros(3)),
                    lambda: s.state_put("son", x), lambda: s.state_put("sum", 3)):
            with self.assertRaises(takt.Error):
                bad()


class Threads(unittest.TestCase):
    def test_one_session_two_threads(self):
        s, x = compiled(LONG, threads=1), takt.zeros((512, 512))
        outcome = []

        def work():
            try:
                s(x)
                outcome.append("done")
            except takt.StateError:
                outcome.append("refused")
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertIn("done", outcome)
        self.assertEqual(len(outcome), 4)
        self.assertEqual(s(x).shape, (512, 512))

    def test_sessions_run_beside_python(self):
        s, x, ticks = compiled(LONG, threads=1), takt.zeros((512, 512)), 0
        t = threading.Thread(target=lambda: s(x))
        t.start()
        while t.is_alive():
            ticks += 1
            time.sleep(0.001)
        self.assertGreater(ticks, 3)  # the GIL was free

    def test_many_sessions(self):
        model = takt.loads(TWO)
        failures = []

        def work(seed):
            s = takt.compile(model, threads=1)
            for i in range(200):
                a = takt.array([float(seed), float(i)])
                total, difference = s(a, a)
                if total.tolist() != [2 * seed, 2 * i] or difference.tolist() != [0, 0]:
                    failures.append((seed, i))
        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failures, [])

    def test_failures_at_once(self):
        texts = [f"model m(x: f32[2]) {{ return missing_{k} }}" for k in range(8)]
        wrong = []

        def work(text):
            for _ in range(20):
                try:
                    takt.loads(text)
                except takt.Error as e:
                    if text[28:37] not in str(e):
                        wrong.append((text, str(e)))
        threads = [threading.Thread(target=work, args=(text,)) for text in texts]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_cancel(self):
        s, x = compiled(LONG, threads=1), takt.zeros((512, 512))
        timer = threading.Timer(0.05, s.cancel)
        timer.start()
        with self.assertRaises(takt.CancelledError):
            for _ in range(200):
                s(x)
        self.assertEqual(s.state_get("turns").item() % 1, 0)

    def test_asyncio(self):
        s = compiled(DOUBLE)

        async def work():
            return await s.arun(takt.array([[1.0, 2, 3]]))
        self.assertEqual(asyncio.run(work()).tolist(), [[2, 4, 6]])


INTERRUPTED = """
import sys, time, takt
s = takt.compile(takt.loads({text!r}), threads=1)
x = takt.zeros((512, 512))
s(x)
before = s.state_get("turns").item()
print("ready", flush=True)
runs = 0
try:
    while True:
        s(x)
        runs += 1
except KeyboardInterrupt:
    after = s.state_get("turns").item()
    print("stopped", after - before in (runs, runs + 1), s(x).shape, flush=True)
"""


class Processes(unittest.TestCase):
    def test_interrupt(self):
        child = subprocess.Popen([sys.executable, "-c", INTERRUPTED.format(text=LONG)],
                                 stdout=subprocess.PIPE, text=True, env=dict(os.environ))
        self.assertEqual(child.stdout.readline().strip(), "ready")
        time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.stdout.readline().strip(), "stopped True (512, 512)")
        self.assertEqual(child.wait(30), 0)
        child.stdout.close()

    def test_start_methods(self):
        s = compiled(DOUBLE, threads=2)
        s(takt.array([[1.0, 2, 3]]))
        for method in ("fork", "spawn", "forkserver"):
            context = multiprocessing.get_context(method)
            queue = context.Queue()
            child = context.Process(target=_in_child, args=(queue, s if method == "fork" else None))
            child.start()
            self.assertEqual(queue.get(timeout=60), [[4, 8, 12]], method)
            child.join(60)
            self.assertEqual(child.exitcode, 0, method)
        self.assertEqual(s(takt.array([[1.0, 2, 3]])).tolist(), [[2, 4, 6]])

    def test_shutdown_with_a_run_under_way(self):
        code = ("import threading, takt\n"
                f"s = takt.compile(takt.loads({LONG!r}), threads=1)\n"
                "threading.Thread(target=s, args=(takt.zeros((512, 512)),), daemon=True).start()\n")
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                             timeout=60, check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_import_is_light(self):
        code = ("import sys, takt; bad = [m for m in ('numpy', 'typing', 'json', 're', 'threading')"
                " if m in sys.modules]; print(bad)")
        run = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True,
                             timeout=60, check=True,
                             env={**os.environ, "PYTHONPATH": os.path.dirname(takt.__path__[0])})
        self.assertEqual(run.stdout.strip(), "[]")


def _in_child(queue, session):
    s = session if session is not None else compiled(DOUBLE)
    queue.put(s(takt.array([[2.0, 4, 6]])).tolist())


class Leaks(unittest.TestCase):
    @unittest.skipIf("TAKT_SANITIZED" in os.environ, "what was freed stays in quarantine")
    def test_calls_keep_nothing(self):
        s, x = compiled(DOUBLE), takt.array([[1.0, 2, 3]])

        def resident():
            with open("/proc/self/statm", encoding="ascii") as about:
                return int(about.read().split()[1]) * os.sysconf("SC_PAGESIZE")

        def some(count):
            for _ in range(count):
                s(x)
                x.__dlpack__()
                takt.from_dlpack(x.__dlpack__())
                try:
                    s(3)
                except TypeError:
                    pass
            gc.collect()
            return resident()
        some(2000)
        objects = len(gc.get_objects())
        sizes = [some(10000) for _ in range(4)]  # others may allocate once; a leak grows each time
        self.assertLess(min(b - a for a, b in zip(sizes, sizes[1:])), 1 << 20)
        self.assertLess(abs(len(gc.get_objects()) - objects), 20)

    def test_references(self):
        x = takt.array([[1.0, 2, 3]])
        s = compiled(DOUBLE)
        count = sys.getrefcount(x)
        for _ in range(50):
            s(x)
            s.bind(x=x)
            s.run()
            x.__dlpack__()
            x[0:1].copy()
        s.bind(x=None)
        self.assertEqual(sys.getrefcount(x), count)
        self.assertEqual(struct.calcsize("P"), 8)


if __name__ == "__main__":
    unittest.main()
