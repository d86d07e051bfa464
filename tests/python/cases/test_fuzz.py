"""test_fuzz.py - nonsense in every argument: an exception, never a crash.

TAKT_FUZZ_ARGS is how often, TAKT_FUZZ_SEED what is drawn.
"""
import os
import random
import unittest

import takt

COUNT = int(os.environ.get("TAKT_FUZZ_ARGS", "300"))
MODEL = takt.loads("model m(x: f32[n, 3]) -> (y: f32[n, 3]) { return y = x * 2 }")


class Bad:
    def __dlpack__(self, **asked):
        raise RuntimeError("no")

    def __index__(self):
        raise RuntimeError("no")

    def __len__(self):
        return -1


def things(rng):
    x = takt.zeros((2, 3))
    return [None, 0, -1, 1 << 70, 1.5, float("nan"), "", "x", "y", "f32", "\0", "\ud800", b"",
            b"abc", [], [1], [[1.0]], (), (1, 2), {}, {"x": x}, {"y": 3}, {1: 2}, x, x[::2], x[:0],
            takt.zeros((3, 3), "i8"), takt.empty((2,), "bf16"), takt.asarray(b"abcd"), Bad(),
            Ellipsis, slice(1, 2), slice(None, None, 0), object(), int, MODEL, lambda *a: a,
            memoryview(b"abc"), memoryview(bytearray(24)).cast("f"), x.__dlpack__(), 3j, True,
            rng.randrange(-5, 5)]


class Fuzz(unittest.TestCase):
    def test_arguments(self):
        rng = random.Random(int(os.environ.get("TAKT_FUZZ_SEED", "1")))
        session = takt.compile(MODEL)
        ort = takt.InferenceSession(MODEL)
        array = takt.zeros((2, 3))
        binding = ort.io_binding()
        plan = MODEL.plan()
        targets = [takt.array, takt.asarray, takt.from_dlpack, takt.empty, takt.loads, takt.compile,
                   takt.explain, session, session.bind, session.reshape, session.state_get,
                   session.state_put, session.output, ort.run, ort.run_with_ort_values,
                   array.__getitem__, array.__dlpack__, MODEL.plan, MODEL.extract, MODEL.gradient,
                   MODEL.batched, MODEL.__getitem__, MODEL.summary, plan.explain,
                   binding.bind_cpu_input, binding.bind_output, takt.OrtValue.ortvalue_from_numpy,
                   takt.ops.softmax, takt.ops.add, takt.ops.reshape, takt.ops.cast, takt.ops.conv,
                   takt._takt.load, takt._takt.op, takt._takt.view_as, takt._takt.empty,
                   session._run_feed, session._run_into, session._open, session._clone_into,
                   session._ports, session._report, MODEL._raw.derive, MODEL._raw.plan,
                   MODEL._raw.report, plan._raw.report]
        keywords = ["x", "y", "out", "axis", "dtype", "shape", "copy", "n", "threads", "sizes"]
        for target in targets:
            for _ in range(COUNT // 10 if target is takt.compile else COUNT):
                args = rng.choices(things(rng), k=rng.randrange(4))
                kwargs = {rng.choice(keywords): rng.choice(things(rng))
                          for _ in range(rng.choice((0, 0, 1)))}
                try:
                    target(*args, **kwargs)
                except Exception:
                    pass
        session.bind(x=None, y=None)
        self.assertEqual(session(takt.array([[1.0, 2, 3]])).tolist(), [[2, 4, 6]])
        self.assertEqual(ort.run(None, {"x": takt.array([[1.0, 2, 3]])})[0].tolist(), [[2, 4, 6]])


if __name__ == "__main__":
    unittest.main()
