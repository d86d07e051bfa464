"""test_models.py - models: loaded, inspected, cut, saved; and the contents of errors."""
import os
import pathlib
import tempfile
import unittest
import unittest.mock

import takt

ROOT = pathlib.Path(os.environ["TAKT_ROOT"])
TEXT = "model m(x: f32[n, 3]) -> (y: f32[n, 2]) { return y = dense(relu(x), 2) }"


class Models(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def test_loading(self):
        m = takt.load(ROOT / "examples" / "mlp.takt")
        self.assertEqual(m.name, "mlp")
        self.assertEqual(m.inputs, [("x", "f32", ("batch", 784))])
        self.assertEqual(m.outputs[0].shape, ("batch", 10))
        self.assertIn("mlp", repr(m))
        again = takt.loads((ROOT / "examples" / "mlp.takt").read_bytes())
        self.assertEqual(again.inputs, m.inputs)
        with open(ROOT / "examples" / "mlp.takt", "rb") as file:
            for wrong in (file, b"PK\0\0"):
                with self.assertRaisesRegex(takt.ArgumentError, "loads"):
                    takt.load(wrong)
        self.assertIn("CompiledModel of <takt.Model mlp(", repr(takt.compile(m)))

    def test_zoo(self):
        # An installed package has no folder above it with the zoo.
        with unittest.mock.patch.dict(os.environ, {"TAKT_ZOO": str(ROOT / "zoo")}):
            self.assertEqual(takt.load("zoo:motor_fault").name,
                             takt.load(ROOT / "zoo/motor_fault/motor_fault.taktp").name)
            with self.assertRaisesRegex(takt.ArgumentError, "did you mean zoo:motor_fault?"):
                takt.load("zoo:motor_falt")
        with unittest.mock.patch.dict(os.environ, {"TAKT_ZOO": self.path("none")}):
            with self.assertRaisesRegex(takt.ArgumentError, "the zoo was not found; set TAKT_ZOO"):
                takt.load("zoo:motor_fault")

    def test_reports(self):
        m = takt.load(str(ROOT / "examples" / "mlp.takt"))
        self.assertIn("dense_0", m.summary(batch=8))
        self.assertIn("dense", m.text())
        self.assertEqual(m.inspect()["model"] if "model" in m.inspect() else m.name, "mlp")
        self.assertEqual([layer.name for layer in m.layers], ["x", "dense_0", "dense_1"])
        self.assertEqual(m.layers[1].parameters, 200960)
        self.assertEqual(len(m), 3)
        self.assertEqual([layer.kind for layer in m], ["input", "dense", "dense"])

    def test_plans(self):
        p = takt.load(ROOT / "examples" / "mlp.takt").plan(batch=8)
        self.assertEqual(p.peak_bytes, p.info["weights"] + p.info["packed"] + p.info["state"]
                         + p.info["arena"] + p.info["io"])
        self.assertGreater(p.weight_bytes, 800000)
        self.assertGreaterEqual(p.arena_bytes, p.lower_bound_bytes)
        self.assertGreater(p.flops, 8 * 400000)
        self.assertIn("gemm", p.describe())
        self.assertTrue(p.kernels() and p.explain() and p.steps)
        self.assertTrue(p.svg().lstrip().startswith("<svg"))
        self.assertIn("<path", p.graph_svg())
        for picture in (p.svg(), p.graph_svg()):  # or a narrow page cuts it off
            self.assertIn(' viewBox="0 0 ', picture[:picture.index(">")])
        one = takt.load(ROOT / "examples" / "mlp.takt").plan(options={"threads": 1})
        self.assertEqual(one.threads, 1)

    def test_sizes_in_options(self):
        m = takt.load(ROOT / "examples" / "mlp.takt")
        eight = m.plan(options={"sizes": "batch=8"})
        self.assertEqual(eight.arena_bytes, m.plan(batch=8).arena_bytes)
        ranged = m.plan(options={"sizes": "batch=1..8"})
        self.assertGreater(ranged.arena_bytes, m.plan().arena_bytes)
        with self.assertRaises(takt.ArgumentError):
            m.plan(options={"sizes": "batch=8"}, batch=8)

    def test_parts(self):
        m = takt.load(ROOT / "examples" / "mlp.takt")
        first, rest = m[:2], m[2:]
        x = takt.empty((1, 784))
        whole = takt.compile(m)(x).tolist()
        self.assertEqual(takt.compile(rest)(takt.compile(first)(x)).tolist(), whole)
        self.assertEqual(takt.compile(m.extract(None, "dense_0"))(x).shape, (1, 256))
        self.assertEqual(m["dense_1"].outputs[0].shape, ("batch", 10))
        for key in (slice(2, 1), slice(0, 3, 2), 7):
            with self.assertRaises(takt.ArgumentError):
                m[key]
        with self.assertRaises(LookupError):
            m["dense_9"]
        one = takt.loads("model one(x: f32[3]) { return relu(x) }")
        self.assertEqual(one.batched("n").inputs[0].shape, ("n", 3))

    def test_keep_scales(self):
        """A .tflite of integers is written again only if its scales were kept."""
        path = ROOT / "tests" / "corpus" / "tflite" / "legal_svdf_i8"
        with tempfile.TemporaryDirectory() as folder:
            to = os.path.join(folder, "again.tflite")
            with self.assertRaises(takt.UnsupportedError):
                takt.load(path).save(to)
            for m in (takt.load(path, keep_scales=True),
                      takt.loads(path.read_bytes(), keep_scales=True)):
                m.save(to)
                again = takt.load(to)
                self.assertEqual(again.inputs[0].dtype, takt.load(path).inputs[0].dtype)
                x = takt.array([[90, -70, 33]], dtype="int8")
                self.assertEqual(takt.compile(again)(x).tolist(),
                                 takt.compile(takt.load(path))(x).tolist())

    def test_dense_limit(self):
        """Relations above the limit are sets of tuples: capacity rows of their arity."""
        text = ("domain d = 70\nmodel m() {\n  relation e(d, d) = [[0, 1], [1, 2]]\n"
                "  rule p(x, z) = e(x, z) or exists y: e(x, y) and p(y, z)\n  return p\n}\n")
        self.assertEqual(takt.loads(text).outputs[0].dtype, "u64")
        self.assertEqual(takt.loads(text, dense_limit=600).outputs[0].dtype, "u32")
        with self.assertRaisesRegex(takt.ArgumentError, "dense_limit is -1"):
            takt.loads(text, dense_limit=-1)

    def test_grown(self):
        m = takt.loads("model m(x: f32[s, 2], past: f32[p, 2]) {\n  all = concat(past, x, axis=0)\n"
                       "  return y = reduce_sum(all, axes=[0]), present = all\n}")
        grown = m.grown(4)
        self.assertEqual(([i.name for i in grown.inputs], [o.name for o in grown.outputs]),
                         (["x"], ["y"]))
        s = takt.compile(grown, s=1)
        rows = takt.array([[1.0, 2.0]])
        self.assertEqual([s(rows).tolist() for _ in range(4)], [[i, 2 * i] for i in range(1, 5)])
        with self.assertRaises(takt.Error):
            s(rows)
        s.reset()
        self.assertEqual(s(rows).tolist(), [1, 2])
        for wrong in (0, -1, 1 << 70):
            with self.assertRaises(takt.ArgumentError):
                m.grown(wrong)
        with self.assertRaises(TypeError):
            m.grown("4")
        with self.assertRaises(takt.ArgumentError):
            grown.grown(4)

    def test_gradient(self):
        m = takt.loads("model m(x: f32[3]) -> (y: f32[]) "
                       "{ return y = reduce_sum(x * x, axes=[0]) }")
        y, dx = takt.compile(m.gradient("y", "x"))(takt.array([1.0, 2.0, -3.0]))
        self.assertEqual((y.item(), dx.tolist()), (14, [2, 4, -6]))
        self.assertEqual(len(m.gradient("y", ["x"]).outputs), 2)
        with self.assertRaises(takt.NotFoundError):
            m.gradient("z")

    def test_files(self):
        m = takt.loads(TEXT, seed=3)
        x = takt.array([[1.0, -2.0, 3.0]])
        y = takt.compile(m)(x).tolist()
        for name in ("m.onnx", "m.takt", "m.taktp"):
            m.save(self.path(name))
            self.assertEqual(takt.compile(self.path(name))(x).tolist(), y, name)
        m.save_weights(self.path("w.safetensors"))
        other = takt.loads(TEXT, seed=4)
        self.assertNotEqual(takt.compile(other)(x).tolist(), y)
        other.load_weights(self.path("w.safetensors"))
        self.assertEqual(takt.compile(other)(x).tolist(), y)
        with self.assertRaises(OSError):
            m.save(self.path("no/such/folder.onnx"))
        m.save(pathlib.Path(self.path("p.onnx")))
        self.assertTrue(takt.load(pathlib.Path(self.path("p.onnx"))).metadata)

    def test_errors_tell(self):
        with self.assertRaises(takt.ModelSyntaxError) as caught:
            takt.loads("model m(x: f32[2]) {\n  return x +\n}")
        e = caught.exception
        self.assertEqual((e.status, e.line > 1, e.code > 2000), ("TAKT_ERR_SYNTAX", True, True))
        self.assertIn("^", str(e))
        self.assertIsInstance(e, ValueError)
        self.assertTrue(takt.explain(e.code))
        with self.assertRaises(LookupError):
            takt.explain(1)
        with self.assertRaises(OSError) as caught:
            takt.load("/nowhere/at/all.onnx")
        self.assertEqual(caught.exception.status, "TAKT_ERR_IO")
        with self.assertRaises(takt.FormatError):
            takt.loads(b"\x08\x07\xff\xff\xff\xff\xff broken")
        with self.assertRaises(takt.ShapeError):
            takt.loads("model m(x: f32[2, 3]) { return x @ x }")

    def test_every_status_has_a_class(self):
        from takt import _takt
        for name, sentence in _takt.statuses():
            if name == "TAKT_OK":
                continue
            made = takt.errors._make(name, 1, "m", "h", "n", -1, 2, 3)
            self.assertTrue(sentence and type(made).__doc__)
            self.assertIsNot(type(made), takt.Error)
            self.assertEqual((made.node, made.hint, made.line), ("n", "h", 2))
            self.assertIn("hint: h", str(made))

    def test_compile_keywords(self):
        m = takt.loads(TEXT)
        self.assertEqual(takt.compile(m, n=4).inputs[0].shape, (4, 3))
        self.assertEqual(takt.compile(m, shapes={"x": [5, 3]}).inputs[0].shape, (5, 3))
        self.assertEqual(takt.compile(m, threads=1, level=0).plan.threads, 1)
        self.assertEqual(takt.compile(m, isa="scalar")(takt.empty((1, 3))).shape, (1, 2))
        self.assertEqual(takt.compile(m, backend="ref").plan.info["backend"], "ref")
        for bad in ({"thread": 1}, {"batch": 1}, {"shapes": {"z": [1]}}, {"shapes": {"x": [1]}},
                    {"shapes": {"x": [1, 4]}}, {"n": -1}, {"level": 9}, {"isa": "nothing"},
                    {"backend": "nothing"}, {"threads": -1}, {"passes": "+nothing"},
                    {"jit": "yes"}):
            with self.assertRaises(takt.Error, msg=str(bad)):
                takt.compile(m, **bad)
        with self.assertRaisesRegex(takt.ArgumentError, "did you mean threads"):
            takt.compile(m, thread=2)
        profiled = takt.compile(m, profile=True)
        profiled(takt.empty((1, 3)))
        stats = profiled.get_profile_stats()
        self.assertEqual((stats.calls, stats.best <= stats.total), (1, True))

    def test_backends(self):
        self.assertIn("cpu", [backend["name"] for backend in takt.backends()])


if __name__ == "__main__":
    unittest.main()
