"""test_numpy.py - NumPy's arrays: no copies in either direction, and what cannot be used."""
import gc
import os
import tempfile
import unittest

try:
    import numpy as np
except ImportError as missing:
    raise unittest.SkipTest("NumPy is not installed") from missing
import takt

DOUBLE = "model m(x: f32[n, 3]) -> (y: f32[n, 3]) { return y = x * 2 }"
TYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32,
         "i16": np.int16, "i8": np.int8, "u64": np.uint64, "u32": np.uint32, "u16": np.uint16,
         "u8": np.uint8, "bool": np.bool_}


def address(array):
    return array.__array_interface__["data"][0]


class NumPy(unittest.TestCase):
    def setUp(self):
        self.s = takt.compile(takt.loads(DOUBLE))
        self.x = np.arange(6, dtype=np.float32).reshape(2, 3)

    def test_results_are_numpys(self):
        y = self.s(self.x)
        self.assertIs(type(y), np.ndarray)
        np.testing.assert_array_equal(y, 2 * self.x)
        self.assertIsInstance(self.s(takt.asarray(self.x)), takt.Array)
        out = np.empty((2, 3), np.float32)
        self.assertIs(self.s(self.x, out=out), out)
        np.testing.assert_array_equal(out, 2 * self.x)

    def test_no_copies(self):
        for name, dtype in TYPES.items():
            x = np.ones((2, 3), dtype)
            mine = takt.asarray(x)
            self.assertEqual((mine.dtype, mine.ptr), (name, address(x)))
            for back in (np.asarray(mine), takt.numpy(mine), np.from_dlpack(mine)):
                self.assertEqual((back.dtype, address(back)), (x.dtype, address(x)))
            self.assertEqual(takt.from_dlpack(x).ptr, address(x))
            self.assertEqual(takt.empty((1,), dtype).dtype, name)
            self.assertEqual(takt.empty((1,), np.dtype(dtype)).dtype, name)

    def test_lifetimes(self):
        x = takt.array([1.0, 2.0])
        view = np.asarray(x)
        del x
        gc.collect()
        np.testing.assert_array_equal(view, [1, 2])
        mine = takt.asarray(np.arange(3))
        gc.collect()
        self.assertEqual(mine.tolist(), [0, 1, 2])

    def test_any_layout(self):
        big = np.arange(120, dtype=np.float32).reshape(4, 5, 6)
        for x in (big[:, 1, ::2], big[::-1, 0, :3], np.asfortranarray(big[:, 2, 3:]),
                  big[:, :, 0].T[:3].T, np.broadcast_to(big[0, 0, :3], (4, 3))):
            np.testing.assert_array_equal(self.s(x), 2 * x)
        out = np.zeros((4, 6), np.float32)[:, ::2]
        self.s(big[:, 0, :3], out=out)
        np.testing.assert_array_equal(out, 2 * big[:, 0, :3])
        self.assertEqual(takt.asarray(big[:, ::2]).tolist(), big[:, ::2].tolist())

    def test_what_is_refused(self):
        for bad in (self.x.astype(np.float64), self.x.astype(">f4"), self.x.astype(object),
                    self.x.astype(str), self.x.astype(np.complex64), np.zeros((2, 3), "M8[s]"),
                    np.broadcast_to(np.float32(1), (2, 3)), np.zeros((2, 3), [("a", "f4")])):
            with self.assertRaises((ValueError, TypeError), msg=str(bad.dtype)):
                self.s(bad)
        frozen = np.zeros((2, 3), np.float32)
        frozen.flags.writeable = False
        np.testing.assert_array_equal(self.s(frozen), 0 * frozen)
        with self.assertRaises((ValueError, TypeError)):
            self.s(self.x, out=frozen)
        with self.assertRaisesRegex(ValueError, "lies over"):
            self.s(self.x, out=self.x)
        odd = np.zeros(25, np.uint8)[1:].view(np.float32).reshape(2, 3)
        np.testing.assert_array_equal(self.s(odd), 2 * odd)  # not aligned: one copy
        packed = np.zeros(4, np.dtype([("a", "u1"), ("b", "<f4")], align=False))["b"]
        with self.assertRaises((ValueError, TypeError)):
            takt.asarray(packed)

    def test_a_bound_array_cannot_be_resized(self):
        x = np.zeros((1, 3), np.float32)
        self.s.bind(x=x)
        with self.assertRaises(ValueError):
            x.resize((9, 9), refcheck=True)
        self.s.run()
        del x
        gc.collect()
        self.s.run()

    def test_inference_session(self):
        s = takt.InferenceSession(DOUBLE.encode())
        y, = s.run(None, {"x": self.x})
        self.assertIs(type(y), np.ndarray)
        np.testing.assert_array_equal(y, 2 * self.x)
        b = s.io_binding()
        b.bind_cpu_input("x", self.x)
        b.bind_output("y")
        s.run_with_iobinding(b)
        np.testing.assert_array_equal(b.copy_outputs_to_cpu()[0], 2 * self.x)
        value = takt.OrtValue.ortvalue_from_numpy(self.x)
        self.assertEqual(address(value.numpy()), address(self.x))
        np.testing.assert_array_equal(np.asarray(value), self.x)

    def test_ops(self):
        np.testing.assert_allclose(takt.ops.softmax(self.x, axis=1).sum(axis=1), [1, 1], rtol=1e-6)
        self.assertIs(type(takt.ops.relu(self.x)), np.ndarray)
        np.testing.assert_array_equal(takt.ops.concat(self.x, self.x, axis=1),
                                      np.concatenate([self.x, self.x], 1))
        whole = takt.ops.cast(self.x, dtype=np.int32)
        np.testing.assert_array_equal(whole, self.x.astype(np.int32))

    def test_bf16(self):
        try:
            import ml_dtypes
        except ImportError:
            self.skipTest("ml_dtypes is not installed")
        x = np.array([1.5, -2], ml_dtypes.bfloat16)
        mine = takt.asarray(x)
        self.assertEqual((mine.dtype, mine.ptr, mine.tolist()), ("bf16", address(x), [1.5, -2]))
        self.assertEqual((takt.numpy(mine).dtype, address(takt.numpy(mine))), (x.dtype, address(x)))
        s = takt.compile(takt.loads("model m(x: bf16[2]) { return x + x }"))
        self.assertEqual((type(s(x)), s(x).dtype, s(x).tolist()), (np.ndarray, x.dtype, [3, -4]))
        for got in (np.asarray(mine), np.asarray(mine, x.dtype)):
            self.assertEqual((got.dtype, address(got)), (x.dtype, address(x)))
        self.assertNotEqual(address(np.array(mine)), address(x))
        self.assertEqual(np.asarray(mine, np.float32).tolist(), [1.5, -2])
        np.testing.assert_array_equal(mine, x)
        for name, values in (("int4", [-8, 7, 1]), ("uint4", [0, 15, 2]), ("int2", [-2, 1, 0]),
                             ("uint2", [3, 0, 1]), ("float4_e2m1fn", [0.5, -6, 3])):
            x = np.array(values, getattr(ml_dtypes, name))  # one byte each there, packed here
            self.assertEqual(takt.asarray(x).tolist(), values)
            self.assertEqual(takt.ops.cast(x, dtype="f32").tolist(), values)
            mine = takt.array(x)
            self.assertEqual((mine.nbytes, mine.tolist()), (1 if "2" in name[-2:] else 2, values))
            for got in (takt.numpy(mine), np.asarray(mine)):
                self.assertEqual((got.dtype, got.tolist()), (x.dtype, x.tolist()))
            with self.assertRaisesRegex(ValueError, "without a copy"):
                np.array(mine, copy=False)
            self.assertEqual(takt.asarray(x[::-1]).tolist(), values[::-1])
            model = takt.loads(f"model m(x: {mine.dtype}[n]) -> (y: f32[n]) "
                               "{ return y = cast(x, dtype=f32) }")
            s = takt.compile(model)
            self.assertEqual((s(x[1:]).tolist(), s(x).tolist()), (values[1:], values))
            self.assertEqual(takt.InferenceSession(model).run(None, {"x": x})[0].tolist(), values)
            with self.assertRaisesRegex(ValueError, "x: elements of .* share bytes here"):
                s.bind(x=x)  # a copy would not see later writes to x
            s.bind(x=mine)
        with self.assertRaisesRegex(ValueError, "y: elements of i4 share bytes here"):
            takt.compile(takt.loads("model m(x: f32[2]) -> (y: i4[2]) { return y = cast(x, "
                                    "dtype=i4) }"))(np.ones(2, np.float32),
                                                    out=np.zeros(2, ml_dtypes.int4))
        x = np.arange(12).reshape(3, 4).astype(ml_dtypes.bfloat16)
        for part in (x[:, ::2], x.T, x[::-1, 1]):
            self.assertEqual(takt.asarray(part).tolist(), part.tolist())
        self.assertEqual(takt.asarray(x[:, ::2]).ptr, address(x))
        frozen = x.copy()
        frozen.flags.writeable = False
        s = takt.compile(takt.loads("model m(x: bf16[3, 4]) { return x + x }"))
        with self.assertRaisesRegex(ValueError, "is read-only, and would be written"):
            s(x, out=frozen)

    def test_samples_as_they_are(self):
        rng = np.random.default_rng(1)
        rows = takt.array([6, 0, 6, 3], "u64")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "data.npz")
            for dtype in (np.float32, np.float64, np.float16, np.int32, np.uint8):
                x = (200 * rng.random((7, 5))).astype(dtype)
                np.savez(path, x=x, labels=np.arange(7))
                got = takt.Dataset(path, scale=1.0).take(rows)
                self.assertEqual(takt.numpy(got["x"]).astype(dtype).tobytes(),
                                 x[[6, 0, 6, 3]].tobytes())
                self.assertEqual(got["labels"].tolist(), [6, 0, 6, 3])
                moved = takt.Dataset(path, scale=1.0, mean=2, deviation=4).take(rows)["x"]
                want = ((x[[6, 0, 6, 3]].astype(np.float64) - 2) / 4).astype(np.float32)
                self.assertTrue(np.allclose(takt.numpy(moved), want, 1e-3), dtype)


class Torch(unittest.TestCase):
    def test_no_copies(self):
        try:
            import torch
        except ImportError:
            self.skipTest("PyTorch is not installed")
        x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
        self.assertEqual(takt.asarray(x).ptr, x.data_ptr())
        y = torch.from_dlpack(takt.compile(takt.loads(DOUBLE))(x))
        self.assertTrue(torch.equal(y, 2 * x))
        mine = takt.array([[1.0, 2]])
        self.assertEqual(torch.from_dlpack(mine).data_ptr(), mine.ptr)


if __name__ == "__main__":
    unittest.main()
