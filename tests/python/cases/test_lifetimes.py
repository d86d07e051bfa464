"""test_lifetimes.py - callbacks that raise or use the model, objects that are made twice, rings."""
import gc
import os
import threading
import unittest

import takt
from takt import _takt

MODEL = ("model m(x: f32[batch, 128]) seed=3 {\n"
         "  return y = dense(dense(x, 128, act=relu), 64)\n}")
SHRINKS = {"quantize": lambda m, keep: takt.quantize(m, "w8", size_first=True, keep=keep),
           "prune": lambda m, keep: takt.prune(m, 0.25, keep=keep),
           "lowrank": lambda m, keep: takt.lowrank(m, rank=16, size_first=True, keep=keep)}


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Sizes(unittest.TestCase):
    def test_a_refused_size_leaves_a_session_usable(self):
        compiled = takt.compile(takt.loads(
            "model m(x: f32[n, 8]) {\n"
            "  return y = x + reduce_sum(op.iota(shape=[n - 5], dtype=f32, axis=0))\n}"), n=50)
        want = bytes(compiled(takt.zeros((50, 8))))
        for _ in range(2):  # the range is made, and then its sizes are refused
            with self.assertRaises(takt.ShapeError):
                compiled(takt.zeros((4, 8)))
            self.assertEqual(bytes(compiled(takt.zeros((50, 8)))), want)
            self.assertEqual(compiled(takt.zeros((20, 8))).shape, (20, 8))


class Callbacks(unittest.TestCase):
    def test_exceptions_come_out(self):
        for name, shrink in SHRINKS.items():
            with self.subTest(name):
                asked = []

                def fail(layer, asked=asked):
                    asked.append(layer)
                    raise KeyError(layer)
                model = takt.loads(MODEL)
                with self.assertRaises(KeyError):
                    shrink(model, fail)
                self.assertEqual(len(asked), 1)  # no callback is called after that
                self.assertTrue(shrink(model, lambda layer: False).report)

    def test_truth_that_raises(self):
        class Neither:
            def __bool__(self):
                raise RuntimeError("neither")
        with self.assertRaisesRegex(RuntimeError, "neither"):
            SHRINKS["quantize"](takt.loads(MODEL), lambda layer: Neither())

    def test_they_may_use_the_model(self):
        model, seen = takt.loads(MODEL), []

        def keep(layer):
            seen.append((layer, len(model.parameters()), model.plan(batch=2).steps))
            try:
                model.plan(nothing=3)
            except takt.Error:
                pass
            return False
        made = []
        thread = threading.Thread(daemon=True, target=lambda: made.append(
            SHRINKS["quantize"](model, keep)))
        thread.start()
        thread.join(120)
        self.assertTrue(made, "the callback waits for a lock that its own thread holds")
        self.assertEqual({count for _, count, _ in seen}, {4})


class Twice(unittest.TestCase):
    def test_second_init(self):
        model = takt.loads(MODEL, training=True)
        trainer = _takt.Trainer(model._raw, loss="mse")
        with self.assertRaises(takt.StateError):
            trainer.__init__(model._raw, loss="mse")
        folder = os.environ.get("TAKT_TEST_TMP", "/tmp")
        path = os.path.join(folder, "twice.csv")
        with open(path, "w", encoding="ascii") as to:
            to.write("a,b,label\n1,2,0\n3,4,1\n")
        data = _takt.Data(path)
        with self.assertRaises(takt.StateError):
            data.__init__(path)
        self.assertEqual(data.counts()[0], 2)

    def test_init_after_a_failure(self):
        data = _takt.Data.__new__(_takt.Data)
        with self.assertRaises(takt.FileError):
            data.__init__("/no/such/file.csv")
        with self.assertRaises(takt.FileError):
            data.__init__("/no/such/file.csv")

    def test_a_session_opened_with_another_plan(self):
        plans = [takt.loads(MODEL).plan(batch=n) for n in (1, 2)]
        session = takt.Session()
        for n, plan in zip((1, 2), plans):
            session._open(plan._raw, {"batch": n})
            with self.assertRaises(takt.StateError):
                session._open(plan._raw, {"batch": n})
            self.assertEqual(session(takt.zeros((n, 128))).shape, (n, 64))
            session.close()
        session._open(plans[1]._raw, {"batch": 2})
        del plans, plan
        gc.collect()
        self.assertEqual(session(takt.zeros((2, 128))).shape, (2, 64))


class Rings(unittest.TestCase):
    SMALL = "model m(x: f32[batch, 4]) seed=3 { return y = dense(x, 3) }"

    def ring(self, count):
        """Models that learn from one another, in a circle."""
        models = [takt.loads(self.SMALL, training=True)._raw for _ in range(count)]
        return [takt.Model(models[i].distill(models[(i + 1) % count], 2.0, 0.5))
                for i in range(count)]

    @unittest.skipIf("TAKT_SANITIZED" in os.environ, "what was freed stays in quarantine")
    def test_models_that_teach_one_another_go(self):
        for _ in range(100):
            self.ring(2)
        gc.collect()
        before = resident()
        for i in range(400):  # rings that stay cost 4 MiB
            self.ring(2 + i % 3)
        gc.collect()
        self.assertLess(resident() - before, 2 << 20)

    def test_what_is_left_of_a_ring_works(self):
        made = self.ring(3)
        kept = made[1]
        del made
        gc.collect()
        self.assertTrue(kept.plan(batch=2).steps > 0)
        self.assertTrue(all(value.size for value in kept.parameters().values()))
