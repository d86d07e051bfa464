"""test_fuzz.py - nonsense in every argument of every public callable: an exception, never a crash.

TAKT_FUZZ_ARGS is how many lists of arguments each gets, TAKT_FUZZ_LIMIT the seconds after which the
next one has its turn (0: none), TAKT_FUZZ_SEED what is drawn. TAKT_FUZZ_ONLY is how
names begin, `^` for those of the package itself; TAKT_FUZZ_TRACE prints each name first.
"""
import contextlib
import io
import os
import random
import tempfile
import time
import unittest
import warnings

import takt

COUNT = int(os.environ.get("TAKT_FUZZ_ARGS", "15"))
LIMIT = float(os.environ.get("TAKT_FUZZ_LIMIT", "0.02"))
SEED = int(os.environ.get("TAKT_FUZZ_SEED", "1"))
ONLY = os.environ.get("TAKT_FUZZ_ONLY", "")
TEXT = "model m(x: f32[n, 3]) -> (y: f32[n, 3]) { return y = x * 2 }"
STATE = ("model s(x: f32[2]) -> (y: f32[2]) {\n  state sum: f32[2] = 0\n"
         "  next sum = sum + x\n  return y = sum + x\n}")
MODEL = takt.loads(TEXT)
SPIRALS = os.path.join(os.environ["TAKT_ROOT"], "examples", "spirals.csv")
# What would mean that the mistake is ours.
OURS = (SystemError, AssertionError, UnboundLocalError, takt.InternalError)
# Their work is to measure for seconds, to wait, or to end the program.
LEFT = {"main", "benchmark.run", "benchmark.compare", "run_benchmark", "find_batch_size"}
REUSED = 32  # lists of arguments that draw from the same things: making those takes longest
KEYWORDS = ["x", "y", "out", "axis", "dtype", "shape", "copy", "n", "threads", "sizes", "path",
            "name", "max_version", "dl_device", "stream", "level", "backend", "batch_size", "loss"]


class Bad:
    def __dlpack__(self, **asked):
        raise RuntimeError("no")

    def __index__(self):
        raise RuntimeError("no")

    def __len__(self):
        return -1


class Liar:
    """An array that describes memory which is not there."""

    def __init__(self, dtype=None, **wrong):
        if dtype is not None:
            self.dtype = dtype
        self.__array_interface__ = {"shape": (2, 3), "typestr": "<f4", "data": (0, False),
                                    "version": 3, **wrong}


class Closed:
    """Sessions and data sets that were never opened."""

    session = takt._takt.Session.__new__(takt._takt.Session)
    trainer = takt._takt.Trainer.__new__(takt._takt.Trainer)
    data = takt._takt.Data.__new__(takt._takt.Data)
    generator = takt._takt.Generator.__new__(takt._takt.Generator)


def things(rng):
    x = takt.zeros((2, 3))
    return [None, 0, -1, 1 << 70, -(1 << 63), 1.5, float("nan"), float("inf"), "", "x", "y", "f32",
            "\0", "\ud800", "x" * 300, b"", b"abc", [], [1], [[1.0]], [[1], [2, 3]], (), (1, 2),
            (1 << 40, 1 << 40), (-1,), {}, {"x": x}, {"y": 3}, {1: 2}, {"x": None}, set(), x,
            x[::2], x[:0], x[::-1], takt.zeros((3, 3), "i8"), takt.empty((2,), "bf16"),
            takt.asarray(b"abcd"), Bad(), Liar(), Liar(shape=(-1,)), Liar(typestr="|O"),
            Liar("f32"), Liar("f32", shape=(-1,)), Liar("f32", shape=(0, 3)), Liar("i4"),
            Liar(typestr=">f4"), Liar(strides=(1 << 62, 4)), Liar(shape=(1 << 40, 1 << 40)),
            Ellipsis, slice(1, 2), slice(None, None, 0), object(), int, MODEL, MODEL._raw,
            lambda *a: a, memoryview(b"abc"), memoryview(bytearray(24)).cast("f"), x.__dlpack__(),
            3j, True, takt.tensor([1.0]), iter([x]), range(3), Closed.data, Closed.session,
            rng.randrange(-5, 5), rng.random()]


def methods(label, thing):
    """Bound methods of an object: those with a public name, and what Python calls by operators."""
    special = ("__getitem__", "__setitem__", "__len__", "__dlpack__", "__call__", "__add__",
               "__matmul__", "__init__", "__enter__", "__iter__", "__eq__", "__repr__")
    for name in dir(type(thing)):
        is_raw = type(thing).__module__ == "takt._takt" or label == "session"
        if name in special or not name.startswith("_" if not is_raw else "__"):
            try:
                method = getattr(thing, name)
            except Exception:
                continue
            if callable(method):
                yield f"{label}.{name}", method


def objects():
    """Objects whose methods are public, by name."""
    session = takt.InferenceSession(MODEL)
    module = takt.nn.Dense(3)
    module(takt.zeros((2, 3)))
    dense = takt.loads("model d(x: f32[b, 2]) { return dense(x, 2) }")
    return {
        "session": takt.compile(MODEL), "stateful": takt.compile(takt.loads(STATE)),
        "model": takt.loads(TEXT), "raw": takt.loads(TEXT)._raw, "plan": MODEL.plan(),
        "plan_raw": MODEL.plan()._raw, "array": takt.zeros((2, 3)), "ort": session,
        "binding": session.io_binding(), "value": takt.OrtValue.ortvalue_from_numpy(takt.zeros(3)),
        "options": takt.SessionOptions(), "run_options": takt.RunOptions(),
        "tensor": takt.tensor([[1.0, 2.0]]), "module": module, "data": takt.Dataset(SPIRALS),
        "data_raw": takt.Dataset(SPIRALS)._raw,
        "loader": takt.DataLoader((takt.zeros((4, 2)),)),
        "trainer": takt.Trainer(dense, loss="cross_entropy"),
        "trainer_raw": takt.Trainer(dense, loss="cross_entropy")._raw,
        "no_session": Closed.session, "no_trainer": Closed.trainer, "no_data": Closed.data,
        "no_generator": Closed.generator}


def targets():
    """(name, callable) of everything public, and of what the package calls below it."""
    for name in takt.__all__:
        if callable(getattr(takt, name)):
            yield name, getattr(takt, name)
    for label, module in (("ops", takt.ops), ("nn", takt.nn), ("benchmark", takt.benchmark),
                          ("_takt", takt._takt)):
        for name in dir(module):
            thing = getattr(module, name)
            if not name.startswith("_") and callable(thing) and (
                    label == "_takt" or getattr(thing, "__module__", "") == module.__name__):
                yield f"{label}.{name}", thing
    for label, thing in objects().items():
        yield from methods(label, thing)


def chosen(name):
    return "." not in name if ONLY == "^" else name.startswith(ONLY)


def fuzz(rng, name, target):
    """How many lists were tried; findings as texts."""
    found, end = [], time.monotonic() + LIMIT
    for i in range(COUNT):
        if LIMIT and i > 3 and time.monotonic() > end:
            return i, found
        if i % REUSED == 0:
            drawn = things(rng)
        args = rng.choices(drawn, k=rng.randrange(5))
        kwargs = {rng.choice(KEYWORDS): rng.choice(drawn)
                  for _ in range(rng.choice((0, 0, 1, 2)))}
        try:
            target(*args, **kwargs)
        except OURS as e:
            found.append(f"{name}: {type(e).__name__}: {e} of {args!r:.300} {kwargs!r:.300}")
        except Exception:
            pass
    return COUNT, found


class Fuzz(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder.name)  # what "x" is a path for lies there

    def test_arguments(self):
        tried, found, names = 0, [], set()
        trace = os.environ.get("TAKT_FUZZ_TRACE")
        for name, target in targets():
            if name in LEFT or not chosen(name):
                continue
            if trace:  # a crash says no more than where it was
                os.write(2, f"{name}\n".encode())
            names.add(name)
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                count, wrong = fuzz(random.Random(f"{SEED} {name}"), name, target)
            tried += count
            found += wrong[:3]
        self.assertEqual("\n".join(found), "")
        if not ONLY:
            self.assertGreater(len(names), 400)
        x = takt.array([[1.0, 2, 3]])
        self.assertEqual(takt.compile(MODEL)(x).tolist(), [[2, 4, 6]])
        self.assertEqual(takt.InferenceSession(MODEL).run(None, {"x": x})[0].tolist(), [[2, 4, 6]])
        if ONLY or COUNT > 1000:
            print(f"{tried} lists of arguments for {len(names)} callables")


if __name__ == "__main__":
    unittest.main()
