"""test_arrays.py - arrays: made, shared without a copy, cut, and refused."""
import array as stdlib
import copy
import ctypes
import gc
import pickle
import unittest

import takt

INT64P = ctypes.POINTER(ctypes.c_int64)


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", INT64P),
                ("strides", INT64P), ("byte_offset", ctypes.c_uint64)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Producer:
    """Produces DLPack tensors as a test needs them."""

    def __init__(self, **fields):
        self.data = (ctypes.c_float * 6)(1, 2, 3, 4, 5, 6)
        self.shape = (ctypes.c_int64 * 2)(2, 3)
        self.strides = (ctypes.c_int64 * 2)(3, 1)
        self.it = Versioned(major=1, minor=1, deleter=None)
        self.it.tensor = Tensor(ctypes.addressof(self.data), 1, 0, 2, 2, 32, 1,
                                ctypes.cast(self.shape, INT64P), ctypes.cast(self.strides, INT64P))
        for name, value in fields.items():
            setattr(self.it if hasattr(self.it, name) else self.it.tensor, name, value)

    def __dlpack__(self, **asked):
        return new_capsule(ctypes.addressof(self.it), b"dltensor_versioned", None)

    def __dlpack_device__(self):
        return (self.it.tensor.device_type, 0)


class Arrays(unittest.TestCase):
    def test_made_from_lists(self):
        for data, dtype, shape in (([1.0, 2.0], "f32", (2,)), ([[1, 2]], "i64", (1, 2)),
                                   (3, "i64", ()), ([True, False], "bool", (2,)), ([], "f32", (0,)),
                                   ([[[1.5]]], "f32", (1, 1, 1))):
            x = takt.array(data)
            self.assertEqual((x.dtype, x.shape, x.tolist()), (dtype, shape, data))
        self.assertEqual(takt.array([1, 2], "u8").dtype, "u8")
        self.assertEqual(takt.array([1, 2], "float16").tolist(), [1.0, 2.0])
        for bad in ([[1], [1, 2]], [1, [2]], [[1], 2]):
            with self.assertRaises(takt.ArgumentError):
                takt.array(bad)

    def test_rows_and_numbers(self):
        a = takt.array([[1.5, 2.0], [3.0, 4.0]])
        self.assertEqual([row.tolist() for row in a], [[1.5, 2.0], [3.0, 4.0]])
        self.assertEqual((float(a[0, 0]), float(takt.array([2.5])), int(takt.array([7]))),
                         (1.5, 2.5, 7))
        with self.assertRaisesRegex(takt.ArgumentError, "one element"):
            float(a)
        with self.assertRaisesRegex(TypeError, "no rows"):
            list(takt.zeros(()))

    def test_copied_by_pickle(self):
        a = takt.array([[1.0, 2.0], [3.0, 4.0]])
        for one in (a, a[:, 1], takt.zeros((0, 3)), takt.zeros((), "i64"),
                    takt.ops.cast(a, dtype="bf16"), takt.ops.cast(a[0], dtype="i4")):
            again = pickle.loads(pickle.dumps(takt.asarray(one)))
            self.assertEqual((again.dtype, again.shape), (one.dtype, one.shape))
            self.assertEqual(again.tolist(), one.tolist())
        other = copy.deepcopy(a)
        memoryview(other)[0, 0] = 9.0
        self.assertEqual(a.tolist(), [[1, 2], [3, 4]])

    def test_elements_that_are_no_numbers(self):
        for wrong, dtype in ((["a"], None), ([300], "u8"), ([2.5], "i64")):
            with self.assertRaisesRegex(takt.ArgumentError, "does not fit"):
                takt.array(wrong, dtype)

    def test_properties(self):
        x = takt.zeros((2, 3), "f64")
        self.assertEqual((x.ndim, x.size, x.nbytes, x.strides, len(x)), (2, 6, 48, (24, 8), 2))
        self.assertFalse(x.readonly)
        self.assertIn("f64", repr(x))
        with self.assertRaises(TypeError):
            len(takt.zeros((), "f32"))
        self.assertEqual(takt.array(7).item(), 7)
        with self.assertRaises(takt.ArgumentError):
            x.item()

    def test_bad_shapes(self):
        for shape in ((-1,), (1 << 62, 1 << 62), (1,) * 17):
            with self.assertRaises(ValueError):
                takt.empty(shape)
        for shape in ("no", None, (1.5,)):
            with self.assertRaises(TypeError):
                takt.empty(shape)
        with self.assertRaises(takt.ArgumentError):
            takt.empty((1,), "float7")

    def test_buffer_both_ways(self):
        source = stdlib.array("f", [1, 2, 3])
        x = takt.asarray(source)
        self.assertEqual(x.ptr, source.buffer_info()[0])
        source[1] = 9
        self.assertEqual(x.tolist(), [1, 9, 3])
        y = takt.zeros((2, 3), "i32")
        view = memoryview(y)
        view[1, 2] = 5
        self.assertEqual((view.format, view.shape, y[1, 2]), ("i", (2, 3), 5))
        self.assertTrue(takt.asarray(b"abc").readonly)
        self.assertEqual(takt.asarray(b"abc").dtype, "u8")
        with self.assertRaises(BufferError):  # a bound array cannot be resized
            source.append(1)

    def test_parts_share_memory(self):
        x = takt.array([[1, 2, 3], [4, 5, 6]])
        self.assertEqual(x[0].tolist(), [1, 2, 3])
        self.assertEqual(x[:, ::2].tolist(), [[1, 3], [4, 6]])
        self.assertEqual(x[::-1, ::-1].tolist(), [[6, 5, 4], [3, 2, 1]])
        self.assertEqual(x[..., -1].tolist(), [3, 6])
        self.assertEqual(x[1, 0], 4)
        self.assertEqual(x[1:1].shape, (0, 3))
        part = x[1:]
        memoryview(x)[1, 0] = 40
        self.assertEqual(part.tolist(), [[40, 5, 6]])
        self.assertEqual(part.copy().tolist(), [[40, 5, 6]])
        del x
        gc.collect()
        self.assertEqual(part[0, 1], 5)
        for key in (2, (0, 0, 0), -3, (0, 7)):
            with self.assertRaises(IndexError):
                takt.zeros((2, 3))[key]
        with self.assertRaises(TypeError):
            takt.zeros((2, 3))["no"]

    def test_dlpack_both_ways(self):
        x = takt.array([[1.0, 2, 3], [4, 5, 6]])
        for source in (x, x[:, 1:], x[::-1]):
            y = takt.from_dlpack(_Only(source))
            self.assertEqual((y.ptr, y.shape), (source.ptr, source.shape))
            self.assertEqual(y.tolist(), source.tolist())
        self.assertNotEqual(takt.from_dlpack(x, copy=True).ptr, x.ptr)
        self.assertEqual(x.__dlpack_device__(), (1, 0))
        self.assertIn("dltensor_versioned", repr(x.__dlpack__(max_version=(1, 0))))
        self.assertIn('"dltensor"', repr(x.__dlpack__()))
        self.assertEqual(takt.from_dlpack(x.__dlpack__()).ptr, x.ptr)
        with self.assertRaises(BufferError):
            x.__dlpack__(dl_device=(2, 0))
        with self.assertRaises(ValueError):
            x.__dlpack__(stream=1)
        read_only = takt.asarray(b"abcd")
        with self.assertRaises(BufferError):
            read_only.__dlpack__()  # an old consumer might write it
        self.assertTrue(takt.from_dlpack(_Only(read_only)).readonly)
        with self.assertRaises(takt.ArgumentError):
            takt.from_dlpack(x, device="cuda")

    def test_dlpack_lifetime(self):
        y = takt.from_dlpack(_Only(takt.array([1.0, 2.0])))
        gc.collect()
        self.assertEqual(y.tolist(), [1, 2])
        for _ in range(100):
            takt.array([1.0]).__dlpack__()  # never consumed

    def test_dlpack_from_others(self):
        producer = Producer()
        self.assertEqual(takt.from_dlpack(producer).tolist(), [[1, 2, 3], [4, 5, 6]])
        plain = Producer(strides=None)
        self.assertEqual(takt.from_dlpack(plain).tolist()[1], [4, 5, 6])
        for fields, error in (({"major": 2}, ValueError), ({"device_type": 2}, takt.DeviceError),
                              ({"ndim": 17}, ValueError), ({"ndim": -1}, ValueError),
                              ({"lanes": 2}, ValueError), ({"code": 5, "bits": 64}, ValueError),
                              ({"data": None}, ValueError), ({"shape": None}, ValueError),
                              ({"byte_offset": (1 << 64) - 1}, ValueError)):
            with self.assertRaises(error, msg=str(fields)):
                takt.from_dlpack(Producer(**fields))
        for steps in ((0, 0), (-(1 << 63), 1), ((1 << 63) - 1, 1)):
            bad = Producer()
            bad.strides[0], bad.strides[1] = steps
            with self.assertRaises(ValueError):
                takt.from_dlpack(bad)
        capsule = producer.__dlpack__()
        takt.from_dlpack(capsule)
        with self.assertRaisesRegex(ValueError, "consumed before"):
            takt.from_dlpack(capsule)
        with self.assertRaises(ValueError):
            takt.from_dlpack(new_capsule(ctypes.addressof(producer.it), b"another", None))

    def test_interface(self):
        x = takt.array([[1.0, 2.0]])
        about = x.__array_interface__
        self.assertEqual((about["typestr"], about["shape"], about["data"]),
                         ("<f4", (1, 2), (x.ptr, False)))
        with self.assertRaises(AttributeError):
            takt.empty((2,), "bf16").__array_interface__
        with self.assertRaises(BufferError):
            memoryview(takt.empty((2,), "bf16"))

    def test_interfaces_that_cannot_be(self):
        class Liar:
            dtype = "float32"

            def __init__(self, shape):
                self.__array_interface__ = {"shape": shape, "typestr": "<f4", "version": 3,
                                            "data": (0, False)}
        for shape in ((2, 3), (-1, 3), (1 << 40, 1 << 40)):
            for take in (takt.array, takt.asarray):
                with self.assertRaisesRegex(takt.ArgumentError, "__array_interface__ gives no"):
                    take(Liar(shape))
        self.assertEqual(takt.asarray(Liar((0, 3))).tolist(), [])
        double = takt.compile(takt.loads("model m(x: f32[n, 3]) { return y = x * 2 }"))
        self.assertEqual(double(Liar((0, 3))).shape, (0, 3))  # no address, and no elements

    def test_types(self):
        for ours, theirs in (("f32", "float32"), ("i64", "int64"), ("bool", "bool"),
                             ("bf16", "bfloat16"), ("u8", "uint8"), ("f8e5m2", "float8_e5m2"),
                             ("i4", "int4")):
            self.assertEqual(takt.empty((3,), theirs).dtype, ours)
        self.assertEqual(takt.empty((3,), "i4").nbytes, 2)
        self.assertEqual(takt.empty((3,), "i4").tolist(), [0, 0, 0])
        with self.assertRaises(takt.UnsupportedError):
            takt.empty((3,), "i4")[0]

    def test_what_is_no_array(self):
        for thing in (None, 1j, "text", object(), {"x": 1}, {1, 2}):
            with self.assertRaises(TypeError, msg=repr(thing)):
                takt.asarray(thing)


class _Only:
    """Nothing but DLPack's two methods."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **asked):
        return self.array.__dlpack__(**asked)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Pairs(unittest.TestCase):
    def test_what_is_no_pair_of_numbers(self):
        a = takt.zeros(3)
        for wrong in ("x", [1, 0], (1,), (1, 0, 0), 7, a):
            for name in ("dl_device", "max_version"):
                with self.assertRaisesRegex(takt.ArgumentError, "pair of numbers"):
                    a.__dlpack__(**{name: wrong})



class Api(ctypes.Structure):
    """The beginning of DLPackExchangeAPI, and room for the rest."""
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("older", ctypes.c_void_p), ("allocate", ctypes.c_void_p),
                ("take", ctypes.c_void_p), ("others", ctypes.c_void_p * 3)]


TAKE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))


class Exchange(unittest.TestCase):
    """Producers with functions of their type, which spare a call and a capsule."""

    def producer(self, take, major=1, name=b"dlpack_exchange_api"):
        capsules = ctypes.pythonapi
        capsules.PyCapsule_New.restype = ctypes.py_object
        capsules.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        api = Api(major=major, minor=3, take=ctypes.cast(take, ctypes.c_void_p))
        self.kept = getattr(self, "kept", []) + [api, take, name]

        class Producer:
            __dlpack_c_exchange_api__ = capsules.PyCapsule_New(ctypes.addressof(api), name, None)

            def __init__(self):
                self.array, self.asked = takt.array([1.0, 2, 3]), 0

            def __dlpack__(self, **how):
                self.asked += 1
                return self.array.__dlpack__(**how)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()
        return Producer()

    def test_functions_of_the_type(self):
        get, rename = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_SetName
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        rename.argtypes = [ctypes.py_object, ctypes.c_char_p]

        @TAKE
        def take(producer, out):
            capsule = producer.array.__dlpack__(max_version=(1, 0))
            out[0] = get(capsule, b"dltensor_versioned")
            return rename(capsule, b"used_dltensor_versioned")

        @TAKE
        def fails(producer, out):
            return -1
        p = self.producer(take)
        got = takt.asarray(p)
        memoryview(p.array)[0] = 7.0
        self.assertEqual((got.tolist(), p.asked), ([7, 2, 3], 0))
        for p in (self.producer(fails), self.producer(take, major=2),
                  self.producer(take, name=b"another")):
            self.assertEqual((takt.asarray(p).tolist(), p.asked), ([1, 2, 3], 1))
        p = self.producer(take)
        p.requires_grad = True  # __dlpack__ decides
        self.assertEqual((takt.asarray(p).tolist(), p.asked), ([1, 2, 3], 1))


if __name__ == "__main__":
    unittest.main()
