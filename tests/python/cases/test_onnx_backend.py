"""test_onnx_backend.py - ONNX's backend interface."""
import glob
import os
import unittest

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    raise unittest.SkipTest("onnx is not installed") from missing
import takt
from takt import onnx_backend


def values(folder, kind):
    folder = os.path.join(folder, "test_data_set_0")
    count = sum(name.startswith(kind) for name in os.listdir(folder))
    return [numpy_helper.to_array(onnx.load_tensor(os.path.join(folder, f"{kind}_{i}.pb")))
            for i in range(count)]


class Backend(unittest.TestCase):
    def model(self):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])

    def test_prepare(self):
        rep = onnx_backend.prepare(self.model())
        for n in (1, 3):
            x = np.arange(2 * n, dtype=np.float32).reshape(n, 2) - 1
            np.testing.assert_array_equal(rep.run([x])[0], np.maximum(x, 0))
            np.testing.assert_array_equal(rep.run({"x": x}).y, np.maximum(x, 0))
        self.assertTrue(onnx_backend.is_compatible(self.model()))
        self.assertTrue(onnx_backend.supports_device("CPU:0"))
        self.assertFalse(onnx_backend.supports_device("CUDA"))
        with self.assertRaises(takt.UnsupportedError):
            onnx_backend.prepare(self.model(), "CUDA")

    def test_shapes_that_are_values(self):
        x = np.arange(6, dtype=np.float32)
        infos = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [6]),
                 helper.make_tensor_value_info("s", TensorProto.INT64, [2])]
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        node = helper.make_node("Reshape", ["x", "s"], ["y"])
        model = helper.make_model(helper.make_graph([node], "g", infos, [y]),
                                  opset_imports=[helper.make_opsetid("", 17)])
        rep = onnx_backend.prepare(model)
        for shape in ((2, 3), (3, 2), (6, 1)):
            self.assertEqual(rep.run([x, np.array(shape)])[0].shape, shape)
        loaded = takt.loads(model.SerializeToString(), inputs={"s": np.array([3, 2])})
        self.assertEqual(loaded.outputs[0].shape, (3, 2))
        session = takt.InferenceSession(model.SerializeToString(), inputs={"s": np.array([2, 3])})
        self.assertEqual(session.run(None, {"x": x, "s": np.array([2, 3])})[0].shape,
                         (2, 3))

    def test_run_node(self):
        x = np.array([[1, -1]], np.float32)
        node = helper.make_node("Add", ["a", "b"], ["c"])
        np.testing.assert_array_equal(onnx_backend.run_node(node, [x, x])[0], x + x)
        node = helper.make_node("Reshape", ["a", "s"], ["c"])
        self.assertEqual(onnx_backend.run_node(node, [x, np.array([2, 1])])[0].shape, (2, 1))

    def test_sequences(self):
        one = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
        many = helper.make_sequence_type_proto(one)
        model = helper.make_model(helper.make_graph(
            [helper.make_node("SequenceInsert", ["s", "x"], ["t"])], "g",
            [helper.make_value_info("s", many), helper.make_value_info("x", one)],
            [helper.make_value_info("t", many)]), opset_imports=[helper.make_opsetid("", 21)])
        x = np.array([1, 2], np.float32)
        rep = onnx_backend.prepare(model)
        for count in (2, 1):
            made = rep.run([[x + i for i in range(count)], x]).t
            self.assertEqual([y.tolist() for y in made],
                             [(x + i).tolist() for i in range(count)] + [[1, 2]])
        maybe = helper.make_optional_type_proto(one)
        model = helper.make_model(helper.make_graph(
            [helper.make_node("OptionalHasElement", ["o"], ["y"])], "g",
            [helper.make_value_info("o", maybe)],
            [helper.make_tensor_value_info("y", TensorProto.BOOL, [])]),
            opset_imports=[helper.make_opsetid("", 21)])
        self.assertEqual([bool(onnx_backend.run_model(model, [o]).y) for o in (x, None)],
                         [True, False])

    def test_names_that_look_like_items(self):
        one = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
        ports = takt.onnx_backend._Ports([
            helper.make_value_info("s", helper.make_sequence_type_proto(one)),
            helper.make_value_info("s.mean", one)], set())
        self.assertEqual(ports.together({"s.0": 1, "s.1": 2, "s.mean": 3}), [[1, 2], 3])

    def test_values_that_a_node_needs(self):
        node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="linear", antialias=1)
        x, scales = np.ones((1, 1, 4, 4), np.float32), np.array([1, 1, 0.5, 0.5], np.float32)
        model = helper.make_model(helper.make_graph(
            [node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape),
                          helper.make_tensor_value_info("scales", TensorProto.FLOAT, [4])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 2, 2])]),
            opset_imports=[helper.make_opsetid("", 19)])
        self.assertEqual(onnx_backend.run_model(model, [x, scales]).y.shape, (1, 1, 2, 2))
        node = helper.make_node("ImageDecoder", ["x"], ["y"])
        model = helper.make_model(helper.make_graph(
            [node], "g", [helper.make_tensor_value_info("x", TensorProto.UINT8, [9])],
            [helper.make_tensor_value_info("y", TensorProto.UINT8, [1, 1, 3])]),
            opset_imports=[helper.make_opsetid("", 20)])
        self.assertFalse(onnx_backend.is_compatible(model))

    def test_some_of_the_suite(self):
        data = os.environ.get("TAKT_ONNX_DATA", "/usr/share/libonnx-testdata/data") + "/node"
        if not os.path.isdir(data):
            self.skipTest("libonnx-testdata is not installed")
        passed, refused = 0, []
        for name in sorted(os.listdir(data))[::3]:
            if "bernoulli" in name or "training" in name:
                continue  # random
            folder = os.path.join(data, name)
            try:
                arrays, want = values(folder, "input"), values(folder, "output")
                rep = onnx_backend.prepare(onnx.load(os.path.join(folder, "model.onnx")))
                made = rep.run(arrays)
            except (takt.Error, TypeError, ValueError, OSError) as error:
                refused.append(f"{name}: {error}")
                continue
            for got, expected in zip(made, want):
                np.testing.assert_allclose(np.asarray(got, expected.dtype), expected, rtol=1e-3,
                                           atol=1e-4, err_msg=name)
            passed += 1
        self.assertGreater(passed, 20 * len(refused), refused)


class Peers(unittest.TestCase):
    def test_same_as_onnxruntime(self):
        try:
            import onnxruntime
        except ImportError:
            self.skipTest("onnxruntime is not installed")
        model = takt.loads("model m(x: f32[n, 8]) -> (y: f32[n, 4]) "
                           "{ return y = softmax(dense(relu(dense(x, 16)), 4)) }", seed=5)
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            model.save(folder + "/m.onnx")
            x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(3, 8)
            results = []
            for ort in (onnxruntime, takt):
                s = ort.InferenceSession(folder + "/m.onnx", providers=["CPUExecutionProvider"])
                name = s.get_inputs()[0].name
                results.append(s.run([s.get_outputs()[0].name], {name: x})[0])
                self.assertEqual(s.get_inputs()[0].type, "tensor(float)")
        np.testing.assert_allclose(results[1], results[0], rtol=1e-5, atol=1e-6)

    def test_stored_models(self):
        """One script, with either import."""
        try:
            import onnxruntime
        except ImportError:
            self.skipTest("onnxruntime is not installed")
        paths = glob.glob(os.path.join(os.environ["TAKT_ROOT"], "..", "shared", "data", "onnx", "*",
                                       "model.onnx"))
        if not paths:
            self.skipTest("the shared models are not here")
        for path in paths:
            results = []
            for ort in (onnxruntime, takt):
                s = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
                rng, feed = np.random.default_rng(1), {}
                for it in s.get_inputs():
                    shape = [d if isinstance(d, int) else 512 if at == 1 and len(it.shape) == 2
                             else 1 for at, d in enumerate(it.shape)]
                    feed[it.name] = rng.random(shape, np.float32) if it.type == "tensor(float)" \
                        else np.full(shape, 16000, np.int64)
                names = [it.name for it in s.get_outputs()]
                results.append(dict(zip(names, s.run(None, feed))))
            self.assertEqual(list(results[0]), list(results[1]), path)
            for name, want in results[0].items():
                self.assertEqual(want.shape, results[1][name].shape, path)
                np.testing.assert_allclose(results[1][name], want, rtol=1e-5, atol=1e-5,
                                           err_msg=f"{path} {name}")


if __name__ == "__main__":
    unittest.main()
