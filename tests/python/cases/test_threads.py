"""test_threads.py - many threads on shared and own objects; CI runs it under ThreadSanitizer."""
import asyncio
import hashlib
import json
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
COUNT = 16
MLP = ("model m(x: f32[n, 8]) -> (y: f32[n, 4]) "
       "{ return y = softmax(dense(relu(dense(x, 16)), 4)) }")
STATEFUL = ("model m(x: f32[2]) -> (y: f32[2]) {\n  state sum: f32[2] = 0\n"
            "  next sum = sum + x\n  return y = sum + x\n}")


def rows(count, seed=0):
    return takt.array([[((seed + 7 * i + 3 * k) % 11) / 5 - 1 for k in range(8)]
                       for i in range(count)])


def together(work, count=COUNT):
    """work(k) on `count` threads that begin at once; returns what they raised or found wrong."""
    gate, failures = threading.Barrier(count), []

    def body(k):
        gate.wait()
        try:
            wrong = work(k)
        except BaseException as e:  # noqa: B902
            wrong = e
        if wrong is not None:
            failures.append((k, wrong))
    threads = [threading.Thread(target=body, args=(k,)) for k in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return failures


class Sixteen(unittest.TestCase):
    def test_own_sessions(self):
        model = takt.loads(MLP)
        want = [takt.compile(model)(rows(3, k)).tolist() for k in range(COUNT)]

        def work(k):
            s = takt.compile(model, threads=1 + k % 2)
            x = rows(3, k)
            for i in range(20):
                if s(x).tolist() != want[k]:
                    return f"run {i}"
                if i % 5 == 0:
                    s = s.clone()
            return None
        self.assertEqual(together(work), [])

    def test_a_shared_session(self):
        s = takt.compile(takt.loads(MLP))
        x = [rows(1 + k % 3, k) for k in range(COUNT)]
        want = [s(a).tolist() for a in x]
        done = []

        def work(k):
            for _ in range(40):
                try:
                    got = s(x[k]).tolist()
                except takt.StateError as e:
                    if "thread" not in str(e):
                        return e
                    continue
                done.append(k)
                if got != want[k]:
                    return "other numbers"
            return None
        self.assertEqual(together(work), [])
        self.assertTrue(done)
        self.assertEqual(s(x[3]).tolist(), want[3])

    def test_everything_of_a_shared_session(self):
        s = takt.compile(takt.loads(STATEFUL))
        x, y = takt.array([1.0, 2.0]), takt.zeros(2)
        calls = [lambda: s(x), lambda: s.bind(x=x, y=y), s.run, lambda: s.state_get("sum"),
                 lambda: s.state_put("sum", x), s.reset, s.sizes, s.describe, s.clone,
                 lambda: s.output("y"), s.warmup, s.state_names, lambda: s.inputs, s.cancel,
                 lambda: s.reshape({}), s.is_open]

        def work(k):
            for _ in range(30):
                try:
                    calls[k]()
                except (takt.StateError, takt.CancelledError):
                    pass
        self.assertEqual(together(work), [])
        s.bind(x=None, y=None)
        try:
            s(x)
        except takt.CancelledError:  # a request that no run has seen so far ends the next one
            pass
        s.reset()
        self.assertEqual(s(x).tolist(), [1, 2])

    def test_closing_a_session_that_runs(self):
        for _ in range(10):
            s, x = takt.compile(takt.loads(MLP)), rows(2)

            def work(k, s=s, x=x):
                for i in range(10):
                    try:
                        s(x)
                        if k == 0 and i == 5:
                            s.close()
                    except takt.StateError:
                        pass
            self.assertEqual(together(work, 4), [])

    def test_a_shared_inference_session(self):
        s = takt.InferenceSession(MLP.encode())
        want = [s.run(None, {"x": rows(2, k)})[0].tolist() for k in range(COUNT)]

        def work(k):
            for _ in range(20):
                if s.run(None, {"x": rows(2, k)})[0].tolist() != want[k]:
                    return "other numbers"
            return None
        self.assertEqual(together(work), [])

    def test_a_shared_model(self):
        model = takt.loads(MLP)

        def work(k):
            for i in range(4):
                if model.plan(n=1 + i).peak_bytes <= 0 or not model.summary():
                    return "no plan"
                if len(model[0:1].layers) < 1:
                    return "no part"
                if len(model.parameters()) != 4:
                    return "no parameters"
                try:
                    model.extract(f"none_{k}")
                    return "no failure"
                except takt.Error as e:
                    if f"none_{k}" not in str(e):
                        return e
            return None
        self.assertEqual(together(work), [])

    def test_shared_arrays_and_tensors(self):
        a = rows(4)
        want = takt.ops.softmax(a, axis=1).tolist()
        t = takt.tensor(a) @ takt.tensor(a).T

        def work(k):
            for _ in range(20):
                if takt.from_dlpack(a.__dlpack__())[k % 4].tolist() != a.tolist()[k % 4]:
                    return "another row"
                if takt.ops.softmax(a, axis=1).tolist() != want:
                    return "another result"
                if abs((t + float(k)).tolist()[0][0] - t.tolist()[0][0] - k) > 1e-4:
                    return "another sum"
                memoryview(a).release()
            return None
        self.assertEqual(together(work), [])

    def test_a_shared_trainer(self):
        trainer = takt.Trainer(takt.loads(MLP), "sgd", "cross_entropy", learning_rate=0.1)
        x, labels = rows(8), takt.array([i % 4 for i in range(8)])
        trainer.step(x, labels)
        refused = []

        def work(k):
            for _ in range(5):
                try:
                    trainer.step(x, labels)
                except takt.StateError:
                    refused.append(k)
        self.assertEqual(together(work), [])
        self.assertEqual(trainer.steps + len(refused), 1 + 5 * COUNT)


def save_npy(path, array):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {array.shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    with open(path, "wb") as to:
        to.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
        to.write(memoryview(array))


class Bits(unittest.TestCase):
    """Every way to run a model gives one digest."""

    def digests(self, path, x):
        model = takt.load(path)
        name = model.inputs[0].name
        found = {}

        def note(how, y):
            found[how] = "sha256:" + hashlib.sha256(memoryview(takt.asarray(y))).hexdigest()
        note("cm(x)", takt.compile(model)(x))
        session = takt.InferenceSession(model)
        note("run", session.run(None, {name: x})[0])
        binding = session.io_binding()
        binding.bind_cpu_input(name, x)
        binding.bind_output(session.get_outputs()[0].name)
        session.run_with_iobinding(binding)
        note("io_binding", binding.copy_outputs_to_cpu()[0])

        async def wait():
            return await takt.compile(model).arun(x)
        note("arun", asyncio.run(wait()))
        self.assertEqual(together(lambda k: note(f"thread {k}", takt.compile(model, threads=1)(x)),
                                  8), [])
        if TOOL:
            with tempfile.TemporaryDirectory() as folder:
                save_npy(folder + "/x.npy", x)
                told = subprocess.run([TOOL, "run", str(path), "--json", "-i",
                                       f"{name}={folder}/x.npy"], check=True, capture_output=True,
                                      text=True).stdout
            found["command"] = json.loads(told)["digest"]
        return found

    def test_one_digest_per_model(self):
        for name in ("mlp", "cnn"):
            path = ROOT / "examples" / f"{name}.takt"
            shape = [2 if isinstance(d, str) else d for d in takt.load(path).inputs[0].shape]
            x = takt.zeros(shape)
            flat = memoryview(x).cast("B").cast("f")
            for i in range(x.size):
                flat[i] = (i * 7919 % 1000) / 500 - 1
            found = self.digests(path, x)
            self.assertEqual(len(set(found.values())), 1, found)
            self.assertEqual(len(found), 12 + bool(TOOL))


TRAINED = """
import takt
net = takt.loads("model m(x: f32[n, 64]) seed=1 { return dense(dense(x, 512, act=relu), 512, "
                 "act=relu) |> dense(2048, act=relu) |> dense(10) }")
trainer = takt.Trainer(model=net, optimizer=takt.SGD(learning_rate=1e-3), loss="cross_entropy")
x, labels = takt.zeros((512, 64)), takt.zeros((512,), "i64")
first = trainer.step(x, labels)
print("ready", flush=True)
steps = 1
try:
    while True:
        trainer.step(x, labels)
        steps += 1
except KeyboardInterrupt:
    print("stopped", trainer.steps - steps in (0, 1), trainer.step(x, labels).loss <= first.loss)
"""
FITTED = """
import takt
text = "model m(x: f32[n, 64]) seed=1 { return dense(dense(x, 64, act=relu), 10) }"
trainer = takt.Trainer(takt.loads(text), loss="cross_entropy")
batch = {"x": takt.zeros((8, 64)), "labels": takt.zeros((8,), "i64")}
trainer.fit([batch])
batches = [batch] * 10**6
print("ready", flush=True)
try:
    trainer.fit(batches)  # nothing of it runs Python
except KeyboardInterrupt:
    print("stopped", trainer.steps > 1, trainer.step(batch).loss > 0)
"""
INSIDE_STEP = """
import takt
net = takt.loads("model m(x: f32[n, 64]) seed=1 {\\n"
                 "param w: f32[1024, 1024] = uniform(-0.01, 0.01)\\nh = w\\n"
                 "repeat 150 {\\nh = tanh(h @ w)\\n}\\nreturn dense(x, 10) + "
                 "reduce_mean(h, axes=[0, 1])\\n}")
trainer = takt.Trainer(model=net, optimizer="sgd", loss="cross_entropy", threads=1)
x, labels = takt.zeros((8, 64)), takt.zeros((8,), "i64")
print("ready", flush=True)
try:
    trainer.step(x, labels)  # takes many seconds
except KeyboardInterrupt:
    print("stopped", trainer.steps == 0, trainer.trained_parameters > 0)
"""
MEASURED = """
import takt
net = takt.loads("model m(x: f32[512, 512]) seed=1 { return x @ x }")
print("ready", flush=True)
try:
    takt.run_benchmark(model=net, config=takt.BenchmarkConfig(seconds=600, runs=10**9))
except KeyboardInterrupt:
    print("stopped", True, takt.compile(net)(takt.zeros((512, 512))).shape == (512, 512))
"""
AGAIN = """
import os, signal, threading, time
import takt
run = takt.compile(takt.loads("model m(x: f32[512, 512]) seed=1 { return x @ x }"))
x = takt.zeros((512, 512))
run(x)
def busy():  # the GIL is waited for
    while True:
        sum(range(1000))
threading.Thread(target=busy, daemon=True).start()
failures = 0
for k in range(20):
    def late():
        time.sleep(0.001 * k)
        os.kill(os.getpid(), signal.SIGINT)
    other = threading.Thread(target=late)
    try:
        other.start()
        while True:
            run(x)
    except KeyboardInterrupt:
        other.join()
    try:
        run(x)
    except takt.CancelledError:
        failures += 1
print(failures)
"""
INSIDE = """
try:
    import takt
except ImportError as e:
    with open({path!r}, "w") as to:
        to.write(str(e))
"""

OUTSIDE = """
import sys
sys.path[:] = {path!r}
for name in ("_interpreters", "_xxsubinterpreters"):
    try:
        interpreters = __import__(name)
        break
    except ImportError:
        pass
else:
    print("absent")
    sys.exit()
import takt
other = interpreters.create()
try:
    failure = interpreters.run_string(other, "import sys\\nsys.path[:] = " + repr(sys.path)
                                      + "\\n" + {inside!r})
finally:
    interpreters.destroy(other)
print(failure, takt.array([1.0, 2]).tolist())
"""


# It hands a signal on at the next call of libc that it watches; a long product makes none.
SIGNALS_WAIT = "tsan" in os.environ.get("LD_PRELOAD", "")


class Stopped(unittest.TestCase):
    @unittest.skipIf(SIGNALS_WAIT, "ThreadSanitizer holds signals back")
    def test_interrupts(self):
        for text in (TRAINED, FITTED, INSIDE_STEP, MEASURED):
            child = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE,
                                     text=True, env=dict(os.environ))
            self.assertEqual(child.stdout.readline().strip(), "ready")
            time.sleep(0.3)
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.stdout.readline().strip(), "stopped True True")
            self.assertEqual(child.wait(60), 0)
            child.stdout.close()

    @unittest.skipIf(SIGNALS_WAIT, "ThreadSanitizer holds signals back")
    def test_run_after_interrupt(self):
        said = subprocess.run([sys.executable, "-c", AGAIN], stdout=subprocess.PIPE, text=True,
                              env=dict(os.environ), timeout=300, check=True).stdout
        self.assertLess(int(said), 3)

    def test_other_interpreters(self):
        # In a separate process: after the first sub-interpreter PyGILState_Check is always true,
        # and
        # PyTorch then refuses to compute gradients in this one.
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/said"
            code = OUTSIDE.format(inside=INSIDE.format(path=path), path=sys.path)
            told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                                  env=dict(os.environ), timeout=300)
            if told.stdout.strip() == "absent":
                self.skipTest("this Python cannot make sub-interpreters")
            self.assertEqual((told.stdout.strip(), told.returncode), ("None [1.0, 2.0]", 0),
                             told.stderr)
            said = pathlib.Path(path).read_text()
        self.assertRegex(said, "sub-?interpreters")


if __name__ == "__main__":
    unittest.main()
