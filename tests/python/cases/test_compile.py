"""test_compile.py - keywords of compile(), backends as objects, benchmarks, smaller models, texts.

Every keyword has a visible effect: the table says what it changes.
"""
import gc
import os
import signal
import threading
import unittest

import takt

ROOT = os.environ["TAKT_ROOT"]
MLP = ("model mlp(x: f32[batch, 16]) seed=3 {\n  h = dense(x, 64, act=relu)\n"
       "  return y = softmax(dense(h, 8) + 0)\n}")
ONE = "model one(x: f32[16]) seed=3 { return y = dense(reshape(x, shape=[1, 16]), 4) }"

# keyword, its value, its effect on the plan
EFFECTS = [
    ("jit", False, lambda a, b: a.steps < b.steps),
    ("mixed_precision", True, lambda a, b: b.info["numerics"] == "fast"),
    ("precision", "bfloat16", lambda a, b: b.weight_bytes < a.weight_bytes),
    ("target_hardware", "scalar", lambda a, b: "scalar" in b.kernels()),
    ("optimizations", {"operator_fusion": False}, lambda a, b: b.steps > a.steps),
]


# Four wide layers in parallel: the order of the steps decides how many are alive at once.
FAN = "model fan(x: f32[batch, 64]) seed=3 {\n" + "".join(
    f"  a{i} = dense(x, 1024, act=relu)\n" for i in range(4)) + "".join(
    f"  b{i} = dense(a{i}, 8)\n" for i in range(4)) + "  return y = b0 + b1 + b2 + b3\n}"
TURN = ("model turn(x: f32[batch, 64]) {\n"
        "  return y = op.transpose(op.transpose(relu(x), perm=[1, 0]), perm=[1, 0])\n}")


class Keywords(unittest.TestCase):
    def plan(self, text, **keywords):
        return takt.compile(takt.loads(text), batch=64, **keywords).plan

    def test_modes_search_for_an_order(self):
        plain = self.plan(FAN)
        for keywords in ({"jit_options": {"mode": "max-autotune"}}, {"mode": "max-autotune"},
                         {"static_inference": True}):
            self.assertLess(self.plan(FAN, **keywords).arena_bytes, plain.arena_bytes, keywords)
        self.assertEqual(self.plan(FAN, mode="default").arena_bytes, plain.arena_bytes)
        with self.assertRaises(takt.ArgumentError):
            self.plan(FAN, mode="fastest")

    def test_hints(self):
        plain = self.plan(FAN)
        self.assertLess(self.plan(FAN, optimize_for="memory").arena_bytes, plain.arena_bytes)
        self.assertEqual(self.plan(FAN, optimize_for="throughput").threads, 1)
        with self.assertRaises(takt.ArgumentError):
            self.plan(FAN, optimize_for="beauty")

    def test_passes(self):
        self.assertEqual(self.plan(TURN).steps, 1)
        self.assertGreater(self.plan(TURN, graph_optimization=False).steps, 1)

    def test_static_shapes_are_static(self):
        for keywords in ({"static_shapes": True}, {"static_inference": True},
                         {"jit_options": {"static_argnums": 0}}):
            with self.subTest(keywords):
                made = takt.compile(takt.loads(MLP), batch=4, **keywords)
                self.assertEqual(made(takt.zeros((4, 16))).shape, (4, 8))
                with self.assertRaises(takt.ShapeError):
                    made(takt.zeros((7, 16)))
        self.assertEqual(takt.compile(takt.loads(MLP), batch=4)(takt.zeros((7, 16))).shape, (7, 8))

    def test_each_has_an_effect(self):
        model = takt.loads(MLP)
        plain = takt.compile(model, batch=4)
        x = takt.array([[0.01 * i for i in range(16)]] * 4)
        for name, value, differs in EFFECTS:
            with self.subTest(name):
                other = takt.compile(model, batch=4, **{name: value})
                self.assertTrue(differs(plain.plan, other.plan), name)
                got, want = other(x).tolist(), plain(x).tolist()
                for a, b in zip(got[0], want[0]):
                    self.assertAlmostEqual(a, b, delta=2e-2)

    def test_donated_arguments(self):
        model = takt.loads("model m(x: f32[batch, 4]) { return y = relu(x) }")
        made = takt.compile(model, jit_options={"donate_argnums": (0,)}, batch=2)
        self.assertEqual(made._options["donate"], "x")
        with self.assertRaises(takt.ArgumentError):
            takt.compile(model, jit_options={"donate_argnums": (3,)})

    def test_vectorize(self):
        many = takt.compile(takt.loads(ONE), vectorize=True, batch=5)
        self.assertEqual(many(takt.zeros((5, 16))).shape, (5, 1, 4))

    def test_limits_are_limits(self):
        with self.assertRaises(takt.LimitError):
            takt.compile(takt.loads(MLP), mem_size=64)

    def test_refusals_say_why(self):
        model = takt.loads(MLP)
        for name in ("parallelism", "pjit", "tpu_replicas", "pipeline_stages", "torch_fx"):
            with self.assertRaises(takt.UnsupportedError) as told:
                takt.compile(model, **{name: 4})
            self.assertIn(name, str(told.exception))
        with self.assertRaisesRegex(takt.ArgumentError, "did you mean precision"):
            takt.compile(model, precison="f16")
        with self.assertRaises(takt.ArgumentError):
            takt.compile(model, optimizations={"loop_fusion": True})
        with self.assertRaises(takt.UnsupportedError):
            takt.compile(model, backend=object())

    def test_profiles(self):
        made = takt.compile(takt.loads(MLP), batch=4, profile=True)
        made.bind(x=takt.zeros((4, 16)))
        made(takt.zeros((4, 16)))
        stats = made.get_profile_stats()
        self.assertEqual(stats.calls, 1)
        self.assertTrue(stats.execution_breakdown)
        with self.assertRaises(takt.StateError):
            takt.compile(takt.loads(MLP), batch=4).get_profile_stats()


class Backends(unittest.TestCase):
    def test_objects(self):
        model = takt.loads(MLP)
        x = takt.zeros((2, 16))
        want = takt.compile(model, batch=2)(x).tolist()
        self.assertEqual(takt.compile(model, backend=takt.CpuBackend(threads=1))(x).tolist(), want)
        ref = takt.compile(model, backend=takt.RefBackend(), batch=2)
        self.assertEqual(ref.plan.info["backend"], "ref")
        self.assertEqual(ref(x).tolist(), want)

    def test_ggml(self):
        model = takt.loads("model m(x: f32[batch, 256]) seed=3 { return y = dense(x, 256) }")
        small = takt.compile(model, backend=takt.GGMLBackend(quantize="int4"), batch=1)
        self.assertLess(small.plan.weight_bytes, takt.compile(model, batch=1).plan.weight_bytes / 2)
        with self.assertRaises(takt.ArgumentError):
            takt.GGMLBackend(quantize="int3")


class Benchmarks(unittest.TestCase):
    def test_run(self):
        config = takt.BenchmarkConfig(runs=20, warmup=2)
        result = takt.run_benchmark(takt.loads(MLP), config=config, batch=4)
        self.assertEqual(len(result.samples), 20)
        self.assertLessEqual(min(result.samples), result.latency)
        self.assertGreater(result.throughput, 0)
        self.assertEqual(result.memory_usage, takt.loads(MLP).plan(batch=4).peak_bytes)
        self.assertIn("20 runs", takt.benchmark.analyze(result).summary())
        self.assertIn("<table>", result._repr_html_())

    def test_inputs(self):
        model, x = takt.loads(MLP), takt.zeros((3, *takt.loads(MLP).inputs[0].shape[1:]))
        config = takt.BenchmarkConfig(runs=2, warmup=0)
        for inputs in (x, (x,), {model.inputs[0].name: x}):
            result = takt.run_benchmark(model, inputs, config)
            self.assertEqual(result.memory_usage, model.plan(batch=3).peak_bytes)
        with self.assertRaisesRegex(takt.ArgumentError, "2 inputs are given, the model has 1"):
            takt.run_benchmark(model, (x, x), config)

    def test_any_time(self):
        session = takt.compile(takt.loads(MLP), batch=4)
        session.bind(session.inputs[0].name, takt.zeros(session.inputs[0].shape))
        for seconds in (float("inf"), float("nan"), -1.0, 1e300, 5e-324):
            with self.subTest(seconds=seconds):
                got = session._time(runs=3, warmup=0, seconds=seconds)
                self.assertEqual(len(got["samples"]), 3)

    def test_compare(self):
        model = takt.loads(MLP)
        one, other = takt.compile(model, batch=4), takt.compile(model, batch=4, backend="ref")
        got = takt.benchmark.compare(one, other, blocks=8)
        self.assertIn(got.verdict, ("faster", "slower", "same", "inconclusive"))
        self.assertGreater(got.ratio, 0)

    def test_helpers(self):
        with takt.timed("nothing", quiet=True) as t:
            pass
        self.assertGreaterEqual(t.seconds, 0)
        model = takt.loads(MLP)
        limit = model.plan(batch=32).peak_bytes
        self.assertGreaterEqual(takt.find_batch_size(model, limit), 32)
        self.assertLess(takt.find_batch_size(model, limit), 64)
        with self.assertRaises(takt.ArgumentError):
            takt.find_batch_size(model, 8)


class Smaller(unittest.TestCase):
    def test_models(self):
        model = takt.loads("model m(x: f32[batch, 128]) seed=3 {\n"
                           "  return y = dense(dense(x, 128, act=relu), 64)\n}")
        x = takt.array([[0.01 * i for i in range(128)]])
        want = takt.compile(model)(x).tolist()[0]
        for small in (takt.quantize(model, "w8", size_first=True),
                      takt.quantize(model, "w4", size_first=True),
                      takt.lowrank(model, rank=48, size_first=True)):
            got = takt.compile(small)(x).tolist()[0]
            self.assertLess(max(abs(a - b) for a, b in zip(got, want)), 1.5)
            self.assertTrue(small.report)
        thin = takt.prune(model, 0.5)
        self.assertLess(thin.plan().flops, model.plan().flops)
        with self.assertRaises(takt.ArgumentError):
            takt.quantize(model, "int3")
        with self.assertRaises(takt.ArgumentError):
            takt.quantize(model, "int8")  # there is no data to calibrate on

    def test_arrays(self):
        w = takt.array([[1.0, 0.5], [-0.25, 0.1]])
        rounded = takt.fake_quantize(w, 8)
        self.assertLess(max(abs(a - b) for r, s in zip(rounded.tolist(), w.tolist())
                            for a, b in zip(r, s)), 1 / 127)
        u, v = takt.low_rank_factorization(takt.array([[2.0, 4.0], [1.0, 2.0]]), 1)
        made = takt.ops.matmul(u, v).tolist()
        self.assertAlmostEqual(made[0][1], 4.0, places=5)

    def test_low_rank_like_numpy(self):
        try:
            import numpy as np
        except ImportError:
            self.skipTest("no NumPy")
        w = np.random.default_rng(3).standard_normal((24, 15)).astype(np.float32)
        values = np.linalg.svd(w.astype(np.float64), compute_uv=False)
        for rank in (1, 4, 14, 15):
            u, v = (np.asarray(x, np.float64) for x in takt.low_rank_factorization(w, rank))
            self.assertEqual((u.shape, v.shape), ((24, rank), (rank, 15)))
            lost = np.sqrt((values[rank:] ** 2).sum())
            self.assertLess(abs(np.linalg.norm(w - u @ v) - lost), 1e-6 * values[0])

    def test_distillation_loss(self):
        import math
        student, teacher = [[0.5, -1.0, 2.0], [1.0, 1.0, 1.0]], [[1.0, 0.0, 3.0], [0.0, 2.0, -1.0]]

        def cold(row, t):
            total = sum(math.exp(v / t) for v in row)
            return [v / t - math.log(total) for v in row]

        def divergence(t):
            return sum(math.exp(w) * (w - h) for s, r in zip(student, teacher)
                       for w, h in zip(cold(r, t), cold(s, t))) / 2

        x, y = takt.array(student), takt.array(teacher)
        found = takt.distillation_loss(x, y, 2.0, 0.5).tolist()
        self.assertAlmostEqual(found, 0.5 * 4 * divergence(2), places=5)
        hard = -(cold(student[0], 1)[2] + cold(student[1], 1)[1]) / 2
        labels = takt.array([2, 1], dtype="i64")
        found = takt.distillation_loss(x, y, 3.0, 0.25, labels).tolist()
        self.assertAlmostEqual(found, 0.25 * 9 * divergence(3) + 0.75 * hard, places=5)
        self.assertAlmostEqual(takt.distillation_loss(takt.tensor(teacher), y).item(), 0, places=6)
        for heat in (0.0, float("inf"), float("nan")):
            with self.assertRaises(takt.ArgumentError):
                takt.distillation_loss(x, y, heat)

    def test_students(self):
        text = "model {}(x: f32[batch, 4]) seed={} {{ return y = dense(dense(x, {}), 3) }}"
        teacher, student = takt.loads(text.format("t", 1, 16)), takt.loads(text.format("s", 2, 4))
        both = takt.distill(student, teacher, 2.0, 0.5)
        trainer = takt.Trainer(both, takt.Adam(learning_rate=0.05))
        x = takt.array([[0.1 * i, -0.2, 0.3, 0.05 * i] for i in range(8)])
        losses = [trainer.step(x=x, labels=takt.array([i % 3 for i in range(8)])).loss
                  for _ in range(30)]
        self.assertLess(losses[-1], losses[0])
        before = student.parameters()["dense_0.weight"].tolist()
        student.copy_weights(trainer.export())
        self.assertNotEqual(student.parameters()["dense_0.weight"].tolist(), before)
        takt.compile(both, batch=8)  # a plan that the student's context keeps
        del teacher, both, trainer, student
        gc.collect()  # the weights of both go, in whatever order


class Texts(unittest.TestCase):
    def test_generator(self):
        writer = takt.Generator(os.path.join(ROOT, "tests", "corpus", "gguf", "tiny.gguf"))
        made = writer.generate("a b", max_tokens=6)
        self.assertEqual(made.tokens, 6)
        self.assertEqual(writer.generate("a b", max_tokens=6).text, made.text)
        self.assertEqual("".join(writer.stream("a b", max_tokens=6)), made.text)
        pieces = []
        writer.generate("a b", max_tokens=6, on_text=lambda t: pieces.append(t) or False)
        self.assertEqual(len(pieces), 1)

        def broken(piece):
            raise ValueError("enough")
        with self.assertRaisesRegex(ValueError, "enough"):
            writer.generate("a b", max_tokens=6, on_text=broken)
        self.assertGreater(writer.peak_bytes, 0)
        with self.assertRaises(takt.FileError):
            takt.Generator("/nowhere.gguf")

    def test_ctrl_c_ends_a_text(self):
        """Without on_text no Python runs between two tokens."""
        writer = takt.Generator(os.path.join(ROOT, "tests", "corpus", "gguf", "tiny.gguf"))
        whole = writer.generate("a b", max_tokens=0, ignore_eos=True)
        read, found = writer.position, 0
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        for k in range(500):  # until a signal arrives in between, and not before or after
            try:
                signal.setitimer(signal.ITIMER_REAL, max(1e-5, (k % 10) / 10 * whole.seconds))
                writer.generate("a b", max_tokens=0, ignore_eos=True)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                found = writer.position
            if 0 < found < read:
                break
        self.assertTrue(0 < found < read, (found, read))
        self.assertEqual(writer.generate("a b", max_tokens=0, ignore_eos=True).text, whole.text)

    def test_ctrl_c_ends_a_prompt(self):
        """It is read before the first call of Python."""
        writer = takt.Generator(os.path.join(ROOT, "tests", "corpus", "gguf", "tiny.gguf"),
                                context=8192, batch=16)
        writer.generate("a b c " * 1000, max_tokens=1)
        read, found = writer.position, 0
        for k in range(50):  # until the signal comes while the prompt is read
            timer = threading.Timer(0.002 * (k + 1), os.kill, (os.getpid(), signal.SIGINT))
            try:
                timer.start()
                writer.generate("a b c " * 1000, max_tokens=1)
                timer.join()
            except KeyboardInterrupt:
                found = writer.position
            if 0 < found < read:
                break
        self.assertTrue(0 < found < read, (found, read))
        self.assertTrue(writer.generate("a b", max_tokens=3).text)

    def test_ctrl_c_after_a_text_within(self):
        """A text generated inside on_text does not keep Ctrl-C from ending the outer one."""
        path = os.path.join(ROOT, "tests", "corpus", "gguf", "tiny.gguf")
        writer, other = takt.Generator(path), takt.Generator(path)
        before = signal.signal(signal.SIGINT, lambda number, frame: None)
        self.addCleanup(signal.signal, signal.SIGINT, before)

        def on_text(_):
            other.generate("a", max_tokens=2)
            signal.raise_signal(signal.SIGINT)
        with self.assertRaises(takt.Error):
            writer.generate("a b", max_tokens=0, ignore_eos=True, on_text=on_text)
        self.assertTrue(writer.generate("a b", max_tokens=3).text)

    def test_samplers(self):
        writer = takt.Generator(os.path.join(ROOT, "tests", "corpus", "gguf", "tiny.gguf"))

        def text(**settings):
            return writer.generate("a b", max_tokens=24, ignore_eos=True, seed=3, **settings).text
        greedy, hot = text(), text(temperature=2.0)
        self.assertNotEqual(greedy, hot)
        self.assertEqual(text(temperature=2.0, top_n_sigma=1e-6), greedy)
        self.assertEqual(text(temperature=2.0, xtc_probability=1.0, xtc_threshold=0.6), hot)
        self.assertNotEqual(text(temperature=2.0, xtc_probability=1.0, xtc_threshold=1e-3), hot)
        self.assertNotEqual(text(temperature=2.0, dynatemp_range=1.9), hot)
        self.assertNotEqual(text(temperature=2.0, dynatemp_range=1.9),
                            text(temperature=2.0, dynatemp_range=1.9, dynatemp_exponent=9.0))
        cold = {"temperature": 1e-3, "dry_multiplier": 1e3, "dry_breakers": []}
        self.assertEqual(text(temperature=1e-3), greedy)
        self.assertNotEqual(text(**cold), greedy)
        self.assertNotEqual(text(**cold), text(**cold, dry_allowed_length=1, dry_base=3.0))
        self.assertEqual(text(**cold, dry_penalty_last_n=1), greedy)
        self.assertNotEqual(text(**{**cold, "dry_breakers": ["a", "b", "c"]}), text(**cold))
        with self.assertRaisesRegex(ValueError, "at most 64"):
            text(dry_breakers=["a"] * 65)
        with self.assertRaises(TypeError):
            text(dry_breakers=[1])


if __name__ == "__main__":
    unittest.main()
