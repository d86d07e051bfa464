"""test_fuzz.py - nonsense in every argument of every public callable: an exception, never a crash.

A few lists of arguments each; scripts/python-fuzz gives each 100,000 of them.
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

COUNT, LIMIT = 15, 0.02  # lists, and the seconds after which the next callable is tested
TEXT = "model m(x: f32[n, 3]) -> (y: f32[n, 3]) { return y = x * 2 }"
STATE = ("model s(x: f32[2]) -> (y: f32[2]) {\n  state sum: f32[2] = 0\n"
         "  next sum = sum + x\n  return y = sum + x\n}")
MODEL = takt.loads(TEXT)
SPIRALS = os.path.join(os.environ["TAKT_ROOT"], "examples", "spirals.csv")
# Messages that would mean that the mistake is ours.
OURS = (SystemError, AssertionError, UnboundLocalError, takt.InternalError)
# Their work is to measure for seconds, to wait, or to end the program.
LEFT = {"main", "benchmark.run", "benchmark.compare", "run_benchmark", "find_batch_size"}
REUSED = 256  # lists of arguments that draw from the same objects: making those takes longest
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
    """An array that describes memory that does not exist."""

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
    """Bound methods of an object: public ones, and those that Python calls for operators."""
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


def make_module():
    module = takt.nn.Dense(3)
    module(takt.zeros((2, 3)))
    return module


def make_trainer():
    dense = takt.loads("model d(x: f32[b, 2]) { return dense(x, 2) }")
    return takt.Trainer(dense, loss="cross_entropy")


# How objects with public methods are made, by name.
OBJECTS = {
    "session": lambda: takt.compile(MODEL), "stateful": lambda: takt.compile(takt.loads(STATE)),
    "model": lambda: takt.loads(TEXT), "raw": lambda: takt.loads(TEXT)._raw, "plan": MODEL.plan,
    "plan_raw": lambda: MODEL.plan()._raw, "array": lambda: takt.zeros((2, 3)),
    "ort": lambda: takt.InferenceSession(MODEL),
    "binding": lambda: takt.InferenceSession(MODEL).io_binding(),
    "value": lambda: takt.OrtValue.ortvalue_from_numpy(takt.zeros(3)),
    "options": takt.SessionOptions, "run_options": takt.RunOptions,
    "tensor": lambda: takt.tensor([[1.0, 2.0]]), "module": make_module,
    "data": lambda: takt.Dataset(SPIRALS), "data_raw": lambda: takt.Dataset(SPIRALS)._raw,
    "loader": lambda: takt.DataLoader((takt.zeros((4, 2)),)), "trainer": make_trainer,
    "trainer_raw": lambda: make_trainer()._raw, "no_session": lambda: Closed.session,
    "no_trainer": lambda: Closed.trainer, "no_data": lambda: Closed.data,
    "no_generator": lambda: Closed.generator}


def functions():
    """(name, callable) of everything public that is not a method."""
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


def targets():
    """(name, callable) of everything public, and of the functions that the package calls below it.
    """
    for name, target in functions():
        if name not in LEFT:
            yield name, target
    for label, make in OBJECTS.items():
        yield from methods(label, make())


def arguments(rng, drawn):
    """Up to four things and up to two keywords; one draw of bits is quicker than many choices."""
    bits = rng.getrandbits(80)
    args = [drawn[(bits >> at) % len(drawn)] for at in range(8, 8 + 12 * (bits % 5), 12)]
    bits >>= 56
    kwargs = {}
    for _ in range((0, 0, 1, 2)[bits & 3]):
        bits >>= 2
        kwargs[KEYWORDS[bits % len(KEYWORDS)]] = drawn[(bits >> 5) % len(drawn)]
    return args, kwargs


def fuzz(rng, name, target, count=COUNT, limit=LIMIT):
    """Number of lists tried; findings as texts."""
    found, end = [], time.monotonic() + limit
    for i in range(count):
        if i > 3 and time.monotonic() > end:
            return i, found
        if i % REUSED == 0:
            drawn = things(rng)
        args, kwargs = arguments(rng, drawn)
        try:
            target(*args, **kwargs)
        except OURS as e:
            found.append(f"{name}: {type(e).__name__}: {e} of {args!r:.300} {kwargs!r:.300}")
        except Exception:
            pass
    return count, found


class Fuzz(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder.name)  # a file for arguments that are paths

    def test_arguments(self):
        found, names = [], set()
        for name, target in targets():
            names.add(name)
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found += fuzz(random.Random(f"1 {name}"), name, target)[1][:3]
        self.assertEqual("\n".join(found), "")
        self.assertGreater(len(names), 400)
        x = takt.array([[1.0, 2, 3]])
        self.assertEqual(takt.compile(MODEL)(x).tolist(), [[2, 4, 6]])
        self.assertEqual(takt.InferenceSession(MODEL).run(None, {"x": x})[0].tolist(), [[2, 4, 6]])


if __name__ == "__main__":
    unittest.main()
