"""test_ops.py - the functions of takt.ops, which are written from the records."""
import inspect
import json
import unittest

import takt
from takt import _takt

SKIPPED = {"constant", "input", "state", "get", "if", "loop", "scan", "custom"}


class Ops(unittest.TestCase):
    def test_every_record_has_a_function(self):
        names = {op["name"] for op in json.loads(_takt.catalogue("ops"))["ops"]} - SKIPPED
        made = {name.rstrip("_") for name in takt.ops.__all__}
        self.assertEqual(made, names)
        for name in takt.ops.__all__:
            function = getattr(takt.ops, name)
            self.assertIn("Types:", function.__doc__, name)
            self.assertTrue(inspect.signature(function))

    def test_values(self):
        x = takt.array([[1.0, -2.0], [3.0, 4.0]])
        self.assertEqual(takt.ops.relu(x).tolist(), [[1, 0], [3, 4]])
        self.assertEqual(takt.ops.add(x, x).tolist(), [[2, -4], [6, 8]])
        self.assertEqual(takt.ops.matmul(x, x).tolist(), [[-5, -10], [15, 10]])
        self.assertEqual(takt.ops.transpose(x, perm=(1, 0)).tolist(), [[1, 3], [-2, 4]])
        self.assertEqual(takt.ops.reduce_sum(x, axes=[1]).tolist(), [-1, 7])
        self.assertEqual(takt.ops.reshape(x, shape=[4]).tolist(), [1, -2, 3, 4])
        self.assertEqual(takt.ops.cast(x, dtype="i32").dtype, "i32")
        self.assertEqual(takt.ops.concat(x, x, axis=1).shape, (2, 4))
        self.assertEqual(takt.ops.einsum(x, x, equation="ij,kj->ik").tolist(), [[5, -5], [-5, 25]])
        first, second = takt.ops.split(x, axis=1, sizes=[1, 1])
        self.assertEqual((first.tolist(), second.tolist()), ([[1], [3]], [[-2], [4]]))
        values, indices = takt.ops.top_k(x, k=1)
        self.assertEqual((values.tolist(), indices.tolist()), ([[1], [4]], [[0], [1]]))
        self.assertEqual(takt.ops.not_(takt.array([True, False])).tolist(), [False, True])
        self.assertEqual(takt.ops.add([1.0, 2.0], [3.0, 4.0]).tolist(), [4, 6])

    def test_functions(self):
        x = takt.array([[1.0, -2.0], [3.0, 4.0]])
        self.assertEqual(takt.einsum("ij,kj->ik", x, x).tolist(), [[5, -5], [-5, 25]])
        line = takt.array([[[1.0, 2.0, 3.0, 4.0]]])
        taps = takt.array([[[1.0, 0.0, -1.0]]])
        self.assertEqual(takt.conv1d(line, taps).tolist(), [[[-2, -2]]])
        self.assertEqual(takt.conv1d(line, taps, takt.array([1.0]), padding="same").tolist(),
                         [[[-1, -1, -1, 4]]])
        self.assertEqual(takt.conv1d(line, taps, padding=1, stride=2).tolist(), [[[-2, -2]]])
        image, kernel = takt.zeros([2, 4, 9, 7]), takt.zeros([6, 2, 3, 2])
        for how, shape in (({}, (2, 6, 7, 6)), ({"padding": (1, 0)}, (2, 6, 9, 6)),
                           ({"padding": "same"}, (2, 6, 9, 7)),
                           ({"stride": 2, "dilation": [1, 2]}, (2, 6, 4, 3))):
            made = takt.conv2d(image, kernel, takt.zeros([6]), groups=2, **how)
            self.assertEqual(made.shape, shape)
        made = takt.conv3d(takt.zeros([1, 1, 3, 3, 3]), takt.zeros([2, 1, 2, 2, 2]))
        self.assertEqual(made.shape, (1, 2, 2, 2, 2))
        for bad in (lambda: takt.einsum(x, "ij->ji"), lambda: takt.conv2d(line, taps),
                    lambda: takt.conv1d(line, taps, stride="2"),
                    lambda: takt.conv1d(line, taps, padding="full"),
                    lambda: takt.conv1d(line, taps, padding="same", stride=2),
                    lambda: takt.conv2d(image, kernel, stride=(1, 2, 3))):
            with self.assertRaises(takt.ArgumentError):
                bad()

    def test_mistakes(self):
        x = takt.array([[1.0, 2.0]])
        for bad, error in ((lambda: takt.ops.matmul(x, x), takt.ShapeError),
                           (lambda: takt.ops.softmax(x, axis=9), takt.Error),
                           (lambda: takt.ops.softmax(x, axis="last"), takt.Error),
                           (lambda: takt.ops.add(x, takt.array([1])), takt.Error),
                           (lambda: takt.ops.relu(None), takt.Error),
                           (lambda: takt.ops.relu(object()), TypeError),
                           (lambda: takt.ops.cast(x, dtype="f7"), takt.Error),
                           (lambda: takt.ops.softmax(), TypeError)):
            with self.assertRaises(error):
                bad()


if __name__ == "__main__":
    unittest.main()
