"""test_ort.py - scripts for onnxruntime: the same names, the same shapes of things."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

import takt as ort

ROOT = pathlib.Path(os.environ["TAKT_ROOT"])
TEXT = ("model m(x: f32[n, 3], k: i64[]) -> (y: f32[n, 3], z: i64[]) "
        "{ return y = x * 2, z = k + 1 }")


class Runtime(unittest.TestCase):
    def setUp(self):
        self.session = ort.InferenceSession(TEXT.encode())
        self.x, self.k = ort.array([[1.0, 2, 3]]), ort.array(5)
        self.feed = {"x": self.x, "k": self.k}

    def values(self, results):
        return [r.tolist() for r in results]

    def test_made_from(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.onnx")
            ort.loads(TEXT).save(path)
            want = self.values(self.session.run(None, self.feed))
            for source in (path, pathlib.Path(path), pathlib.Path(path).read_bytes(),
                           ort.load(path)):
                s = ort.InferenceSession(source, providers=["CPUExecutionProvider"])
                self.assertEqual(self.values(s.run(None, self.feed)), want)
            options = ort.SessionOptions()
            options.optimized_model_filepath = os.path.join(folder, "o.onnx")
            ort.InferenceSession(path, options)
            self.assertTrue(os.path.getsize(options.optimized_model_filepath))
        with self.assertRaises(ort.errors.NoSuchFile):
            ort.InferenceSession("/nowhere.onnx")
        with self.assertRaises(ort.Error):
            ort.InferenceSession(b"nothing of the kind")
        with self.assertRaises(NotImplementedError):
            ort.InferenceSession(TEXT.encode(), providers=["CUDAExecutionProvider"])
        ort.InferenceSession(TEXT.encode(), providers=[("CUDAExecutionProvider", {}),
                                                       "CPUExecutionProvider"])

    def test_run(self):
        self.assertEqual(self.values(self.session.run(None, self.feed)), [[[2, 4, 6]], 6])
        self.assertEqual(self.values(self.session.run(["z"], self.feed)), [6])
        self.assertEqual(self.values(self.session.run(["z", "y"], self.feed)), [6, [[2, 4, 6]]])
        self.assertEqual(self.session.run([], self.feed), [])
        bigger = {"x": ort.zeros((7, 3)), "k": self.k}
        self.assertEqual(self.session.run(None, bigger)[0].shape, (7, 3))
        for names, feed in ((None, {}), (None, {"x": self.x}), (["q"], self.feed),
                            (["x"], self.feed), (None, {**self.feed, "q": self.x}),
                            (None, None), (3, self.feed),
                            (None, {"x": ort.zeros((1, 3), "f64"), "k": self.k})):
            with self.assertRaises((ort.Error, TypeError), msg=str((names, feed))):
                self.session.run(names, feed)

    def test_about(self):
        first = self.session.get_inputs()[0]
        self.assertEqual((first.name, first.type, first.shape), ("x", "tensor(float)", ["n", 3]))
        self.assertEqual([o.name for o in self.session.get_outputs()], ["y", "z"])
        self.assertEqual(self.session.get_outputs()[1].type, "tensor(int64)")
        self.assertEqual(self.session.get_modelmeta().graph_name, "m")
        self.assertIn("CPUExecutionProvider", self.session.get_providers())
        self.assertEqual(ort.get_device(), "CPU")
        self.assertIn("CPUExecutionProvider", ort.get_available_providers())
        self.assertEqual(self.session.get_overridable_initializers(), [])
        self.session.set_providers(["CPUExecutionProvider"])
        self.session.disable_fallback()

    def test_options(self):
        o = ort.SessionOptions()
        o.intra_op_num_threads = 1
        o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        o.add_free_dimension_override_by_name("n", 4)
        o.add_session_config_entry("takt.isa", "scalar")
        s = ort.InferenceSession(TEXT.encode(), o)
        self.assertEqual(s.inputs[0].shape, (4, 3))
        self.assertEqual(self.values(s.run(None, self.feed)), [[[2, 4, 6]], 6])
        self.assertIs(s.get_session_options(), o)
        self.assertEqual(o.get_session_config_entry("takt.isa"), "scalar")
        for key, value in (("takt.nothing", "1"), ("takt.isa", "none")):
            bad = ort.SessionOptions()
            bad.add_session_config_entry(key, value)
            with self.assertRaises(ort.Error):
                ort.InferenceSession(TEXT.encode(), bad)
        bad = ort.SessionOptions()
        bad.graph_optimization_level = 5
        with self.assertRaises(ort.ArgumentError):
            ort.InferenceSession(TEXT.encode(), bad)

    def test_run_options(self):
        o = ort.RunOptions()
        self.assertEqual(self.values(self.session.run(None, self.feed, o)), [[[2, 4, 6]], 6])
        o.terminate = True
        with self.assertRaises(ort.CancelledError):
            self.session.run(None, self.feed, o)
        o.terminate = False
        self.session.run(None, self.feed, o)
        long = ort.InferenceSession(b"model m(x: f32[512, 512]) -> (y: f32[512, 512]) "
                                    b"{ y = x\n repeat 100 { y = tanh(y @ x) }\n return y = y }")
        slow = ort.RunOptions()
        slow.timeout = 0.002
        with self.assertRaises(TimeoutError):
            long.run(None, {"x": ort.zeros((512, 512))}, slow)

    def test_io_binding(self):
        b = self.session.io_binding()
        y = ort.OrtValue.ortvalue_from_shape_and_type([1, 3], "float32")
        b.bind_cpu_input("x", self.x)
        b.bind_ortvalue_input("k", ort.OrtValue.ortvalue_from_numpy(self.k))
        b.bind_ortvalue_output("y", y)
        b.bind_output("z")
        self.session.run_with_iobinding(b)
        self.assertEqual(ort.asarray(y).tolist(), [[2, 4, 6]])
        self.assertEqual([v.shape() for v in b.get_outputs()], [[1, 3], []])
        b.bind_output("y", "cpu", 0, "float32", [1, 3], y.data_ptr())
        b.bind_input("x", "cpu", 0, "float32", [1, 3], self.x.ptr)
        memoryview(self.x)[0, 0] = 10
        self.session.run_with_iobinding(b)
        self.assertEqual(ort.asarray(y).tolist(), [[20, 4, 6]])
        for bad in (lambda: b.bind_cpu_input("q", self.x), lambda: b.bind_output("q"),
                    lambda: b.bind_output("y", "cuda")):
            with self.assertRaises(ort.Error):
                bad()
        b.clear_binding_inputs()
        with self.assertRaises(ort.Error):
            self.session.run_with_iobinding(b)
        b.clear_binding_outputs()
        self.assertEqual(b.get_outputs(), [])

    def test_values(self):
        v = ort.OrtValue.ortvalue_from_numpy(self.x)
        self.assertEqual((v.shape(), v.data_type(), v.element_type(), v.device_name()),
                         ([1, 3], "tensor(float)", 1, "cpu"))
        self.assertEqual(v.data_ptr(), self.x.ptr)
        v.update_inplace(ort.array([[7.0, 8, 9]]))
        self.assertEqual(self.x.tolist(), [[7, 8, 9]])
        with self.assertRaises(ort.ArgumentError):
            v.update_inplace(ort.zeros((2, 2)))
        made = self.session.run_with_ort_values(None, {"x": v, "k": ort.OrtValue(self.k)})
        self.assertEqual(made[0].data_type(), "tensor(float)")
        self.assertTrue(v.is_tensor() and v.has_value())

    def test_run_async(self):
        told, done = [], threading.Event()

        def callback(results, data, error):
            told.append((results, data, error))
            done.set()
        self.session.run_async(None, self.feed, callback, "mine")
        self.assertTrue(done.wait(30))
        self.assertEqual((self.values(told[0][0]), told[0][1:]), ([[[2, 4, 6]], 6], ("mine", "")))
        done.clear()
        self.session.run_async(None, {}, callback)
        self.assertTrue(done.wait(30))
        self.assertIn("missing", told[1][2])

    def test_many_threads_on_one_session(self):
        wrong = []

        def work(seed):
            for i in range(100):
                x = ort.array([[float(seed), float(i), 0.0]])
                y, z = self.session.run(None, {"x": x, "k": ort.array(i)})
                if y.tolist() != [[2 * seed, 2 * i, 0]] or z.tolist() != i + 1:
                    wrong.append((seed, i))
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_sizes_of_the_first_run(self):
        text = b"model m(x: f32[1, 1, h, 4]) { return y = max_pool(x, [2, 2], stride=[2, 2]) }"
        x = ort.zeros((1, 1, 6, 4))
        s = ort.InferenceSession(text)  # not for h = 1
        self.assertEqual(s.get_inputs()[0].shape, [1, 1, "h", 4])
        self.assertEqual(s.run(None, {"x": x})[0].shape, (1, 1, 3, 2))
        self.assertEqual(s.run(None, {"x": ort.zeros((1, 1, 8, 4))})[0].shape, (1, 1, 4, 2))
        s = ort.InferenceSession(text)
        binding = s.io_binding()
        binding.bind_cpu_input("x", x)
        binding.bind_output("y")
        s.run_with_iobinding(binding)
        self.assertEqual(binding.copy_outputs_to_cpu()[0].shape, (1, 1, 3, 2))
        s = ort.InferenceSession(text)
        for feed in ({"x": ort.zeros((1, 1, 1, 4))}, {}):  # the run says what is wrong
            with self.assertRaisesRegex(ort.Error, "input x is missing" if not feed else "pool"):
                s.run(None, feed)
        with self.assertRaisesRegex(ort.errors.ShapeError, "x has 4 dimensions, the array has 2"):
            s.run(None, {"x": ort.zeros((6, 4))})
        value = ort.OrtValue.ortvalue_from_numpy(x)
        self.assertEqual(s.run(None, {"x": value})[0].shape, (1, 1, 3, 2))
        options = ort.SessionOptions()
        options.add_free_dimension_override_by_name("h", 1)
        with self.assertRaises(ort.Error):
            ort.InferenceSession(text, options)

    def test_few_plans_for_many_sizes(self):
        s = ort.InferenceSession(b"model m(x: f32[n, 3]) { return y = softmax(softmax(x * 2.0)) }")
        arenas = set()
        for n in range(1, 201):
            self.assertEqual(s.run(None, {"x": ort.zeros((n, 3))})[0].shape, (n, 3))
            arenas.add(json.loads(s._report(True))["memory"]["planned"])
        self.assertLessEqual(len(arenas), 9)  # 1, 2, 4, ... 256

    def test_a_model_of_one_size_is_not_kept(self):
        s = ort.InferenceSession(b"model m(x: f32[2, 3]) -> (y: f32[2, 3]) { return y = x * 2 }")
        self.assertEqual(s.get_inputs()[0].shape, [2, 3])
        self.assertEqual(s.get_modelmeta().graph_name, "m")
        one, wrong = {"x": ort.array([[1.0] * 3] * 2)}, []

        def work():
            for _ in range(100):
                if s.run(None, one)[0].tolist() != [[2, 2, 2], [2, 2, 2]]:
                    wrong.append(1)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])
        self.assertEqual(s.clone().run(None, one)[0].shape, (2, 3))
        with self.assertRaises(ort.errors.ShapeError):
            s.run(None, {"x": ort.zeros((1, 3))})
        s.reshape({})
        with self.assertRaises(ort.Error):
            s.reshape({"n": 3})

    @unittest.skipUnless(os.path.exists("/proc/self/status"), "the peak of memory is Linux's")
    @unittest.skipIf("TAKT_SANITIZED" in os.environ, "what was freed stays in quarantine")
    def test_weights_are_held_once(self):
        layers = "".join(f"  x{i} = dense(x{i - 1}, 1024)\n" for i in range(1, 9))
        text = f"model m(x0: f32[1, 1024]) {{\n{layers}  return y = relu(x8)\n}}"
        code = """import sys, takt
def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024
before = peak()
session = takt.InferenceSession(sys.argv[1])
session.run(None, {"x0": takt.zeros((1, 1024))})
print(peak() - before)"""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.onnx")
            ort.loads(text).save(path)
            ran = subprocess.run([sys.executable, "-c", code, path], check=True, text=True,
                                 capture_output=True)
        self.assertLess(float(ran.stdout), 45)  # 32 MB of weights, the largest twice while packed

    def test_a_session_with_state_is_one_threads(self):
        s = ort.InferenceSession(b"model m(x: f32[]) -> (y: f32[]) {\n state n: f32[] = 0\n"
                                 b" next n = n + x\n return y = n + x\n}")
        one = {"x": ort.array(1.0)}
        self.assertEqual([s.run(None, one)[0].tolist() for _ in range(3)], [1, 2, 3])


if __name__ == "__main__":
    unittest.main()
