"""test_modules.py - tensors that are computed late, modules, traced functions."""
import os
import tempfile
import unittest

import takt
from takt import _text


class Net(takt.Module):
    def __init__(self):
        super().__init__()
        self.hidden = takt.nn.Dense(16, act="relu")
        self.out = takt.nn.Dense(3)
        self.gain = takt.Parameter(takt.array([1.0, 2.0, 3.0]))

    def forward(self, x):
        return takt.ops.softmax(self.out(self.hidden(x)) * self.gain, axis=-1)


class Tensors(unittest.TestCase):
    def test_operators(self):
        x = takt.tensor([[1.0, 2.0], [3.0, 4.0]])
        self.assertEqual(((x * 2 + 1) @ x).tolist(), [[18, 26], [34, 50]])
        self.assertEqual((1 - x).tolist(), [[0, -1], [-2, -3]])
        self.assertEqual((x > 2).tolist(), [[False, False], [True, True]])
        self.assertEqual((-x).sum(axis=0).tolist(), [-4, -6])
        self.assertEqual(x.T.reshape(-1).tolist(), [1, 3, 2, 4])
        self.assertEqual(float(x.mean()), 2.5)
        self.assertEqual(takt.ops.max(x, 2.5).tolist(), [[2.5, 2.5], [3, 4]])
        self.assertEqual(x.cast("i64").dtype, "i64")

    def test_a_text_seen_before_is_not_planned_again(self):
        def compute(a):
            return (takt.ops.tanh(takt.tensor(a)) * 3).tolist()
        compute([0.5, 1.0])
        made = _text.plans_made
        self.assertNotEqual(compute([0.25, 2.0]), compute([0.5, 1.0]))
        self.assertEqual(_text.plans_made, made)

    def test_nothing_is_computed_before_somebody_looks(self):
        x = takt.tensor([1.0, 2.0]) + 1
        self.assertFalse(x.is_computed)
        self.assertEqual(x.shape, (2,))
        self.assertEqual(x.tolist(), [2, 3])
        self.assertTrue(x.is_computed)

    def test_slices_share_memory_until_one_is_written(self):
        a = takt.tensor([1.0, 2.0, 3.0])
        b = a[1:]
        self.assertEqual(b.array().ptr, a.array().ptr + 4)
        b[0] = 9.0
        self.assertEqual((a.tolist(), b.tolist()), ([1, 2, 3], [9, 3]))
        before = b.array().ptr
        b[1] = 8.0  # no other reference: no copy
        self.assertEqual((b.array().ptr, b.tolist()), (before, [9, 8]))
        a[:2] = takt.tensor([5.0, 6.0])
        self.assertEqual(a.tolist(), [5, 6, 3])

    def test_later_writes_do_not_change_results(self):
        x = takt.tensor([1.0, 2.0])
        y = x + 1
        x[0] = 10.0
        self.assertEqual((x.tolist(), y.tolist()), ([10, 2], [2, 3]))

    def test_slices_of_what_is_not_computed(self):
        x = takt.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]) * 1
        self.assertEqual(x[1].tolist(), [4, 5, 6])
        self.assertEqual((x + 0)[:, ::-1].tolist(), [[3, 2, 1], [6, 5, 4]])
        self.assertEqual((x + 0)[..., -1].tolist(), [3, 6])
        with self.assertRaises(takt.RangeError):
            (x + 0)[2]

    def test_mistakes_are_told_where_they_are_made(self):
        x = takt.tensor([[1.0, 2.0]])
        with self.assertRaises(takt.ShapeError):
            x @ x
        with self.assertRaises(takt.ArgumentError):
            takt.tensor([1, 2]) + 0.5


class Modules(unittest.TestCase):
    def test_a_module_is_the_model_of_its_text(self):
        takt.manual_seed(5)
        net = Net()
        x = takt.array([[0.1 * i - 0.4 for i in range(8)], [0.3] * 8])
        y = net(x)
        self.assertEqual(y.shape, (2, 3))
        same = takt.compile(takt.loads(net.text("f32[batch, 8]"), seed=5))
        for name, value in net.state_dict().items():
            same.model.set_parameter(name, value)
        self.assertEqual(takt.compile(same.model)(x).tolist(), y.tolist())
        self.assertEqual(sorted(net.state_dict()), ["gain", "hidden.bias", "hidden.weight",
                                                    "out.bias", "out.weight"])
        takt.manual_seed(0)

    def test_weights_move(self):
        one, two = Net(), Net()
        x = takt.array([[0.5] * 8])
        takt.manual_seed(1)
        one(x)
        takt.manual_seed(2)
        two(x)
        self.assertNotEqual(one(x).tolist(), two(x).tolist())
        two.load_state_dict(one.state_dict())
        self.assertEqual(one(x).tolist(), two(x).tolist())
        with self.assertRaises(takt.NotFoundError) as told:
            two.load_state_dict({"gain": takt.zeros(3)})
        self.assertIn("missing: hidden.bias", str(told.exception))
        with self.assertRaises(takt.ArgumentError):
            two.load_state_dict({**one.state_dict(), "gain": takt.zeros(4)})
        takt.manual_seed(0)

    def test_files(self):
        net = Net()
        x = takt.array([[0.25] * 8])
        y = net(x).tolist()
        with tempfile.TemporaryDirectory() as folder:
            for ending in (".onnx", ".takt", ".taktp"):
                path = os.path.join(folder, "net" + ending)
                net.export(path, "f32[batch, 8]")
                self.assertEqual(takt.compile(takt.load(path))(x).tolist(), y, ending)
            path = os.path.join(folder, "net.safetensors")
            net.export(path, "f32[batch, 8]")
            other = Net().to_model("f32[batch, 8]")
            other.load_weights(path)
            self.assertEqual(takt.compile(other)(x).tolist(), y)

    def test_state(self):
        class Sum(takt.Module):
            def __init__(self):
                super().__init__()
                self.total = takt.State(shape=(2,))

            def forward(self, x):
                y = self.total + x
                self.total.update(y)
                return y
        run = takt.compile(Sum().to_model("f32[2]"))
        one = takt.array([1.0, 2.0])
        run(one)
        self.assertEqual(run(one).tolist(), [2, 4])

    def test_nested_names_and_sequences(self):
        class Outer(takt.Module):
            def __init__(self):
                super().__init__()
                self.body = takt.Sequential(takt.nn.Conv(4, 3, act="relu"), takt.nn.BatchNorm())
                self.head = takt.nn.Dense(2)

            def forward(self, x):
                return {"scores": self.head(self.body(x).mean(axis=(2, 3)))}
        net = Outer()
        model = net.to_model("f32[batch, 1, 6, 6]")
        self.assertEqual(model.outputs[0], ("scores", "f32", ("batch", 2)))
        self.assertIn("body.0.weight", net.state_dict())
        self.assertIn("body.1.mean", net.state_dict())
        self.assertEqual(takt.compile(model)(takt.zeros((3, 1, 6, 6))).shape, (3, 2))

    def test_functions(self):
        table = takt.array([[1.0, 0.0], [0.0, 2.0]])

        @takt.function
        def twice(a):
            "Doubles."
            return takt.ops.relu(a) @ takt.tensor(table) * 2
        self.assertEqual(twice(takt.array([[1.0, -1.0]])).tolist(), [[2, 0]])
        self.assertEqual(twice.__doc__, "Doubles.")
        self.assertEqual(twice.to_model("f32[n, 2]").inputs[0].shape, ("n", 2))

    def test_refusals(self):
        class Twice(takt.Module):
            def __init__(self):
                super().__init__()
                self.a = takt.nn.Dense(4)

            def forward(self, x):
                return self.a(self.a(x))
        with self.assertRaises(takt.UnsupportedError):
            Twice()(takt.zeros((1, 4)))
        with self.assertRaises(takt.StateError):
            class Early(takt.Module):
                def __init__(self):
                    self.a = takt.nn.Dense(4)
            Early()
        with self.assertRaises(takt.ArgumentError):
            takt.Parameter()
        self.assertEqual(len(takt.nn.__all__), len(set(takt.nn.__all__)))

    def test_modules_in_lists_and_dictionaries(self):
        class Stack(takt.Module):
            def __init__(self):
                super().__init__()
                self.layers = [takt.nn.Dense(4)]
                self.heads = {"left": takt.nn.Dense(2), "scale": 3}

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return self.heads["left"](x)
        net = Stack()
        net.layers.append(takt.nn.Dense(4))
        self.assertEqual(net(takt.zeros((1, 4))).shape, (1, 2))
        self.assertEqual(sorted(net.state_dict()), [
            f"{part}.{name}" for part in ("heads.left", "layers.0", "layers.1")
            for name in ("bias", "weight")])
        self.assertTrue(all(part.training for part in net.train().modules()))
        self.assertEqual(len(list(net.children())), 3)
        net.layers.append(takt.nn.Dense(4))
        self.assertEqual(net(takt.zeros((1, 4))).shape, (1, 2))
        self.assertIn("layers.2.weight", net.state_dict())
        net.layers[0].back = [net]  # not a part of its part
        self.assertEqual(len(list(net.modules())), 5)

    def test_only_modules_in_sequence(self):
        with self.assertRaisesRegex(takt.ArgumentError, "part 1 of Sequential"):
            takt.Sequential(takt.nn.Dense(2), takt.ops.relu)

    def test_names_of_other_libraries(self):
        for module, name, said in ((takt.nn, "Linear", "takt.nn.Dense"),
                                   (takt, "relu", "here it is takt.ops.relu"),
                                   (takt, "cat", "here it is takt.ops.concat"),
                                   (takt, "Dense", "here it is takt.nn.Dense"),
                                   (takt.nn, "Dens", "did you mean takt.nn.Dense?"),
                                   (takt.ops, "softmx", "did you mean takt.ops.softmax?"),
                                   (takt, "Trainr", "did you mean takt.Trainer?")):
            with self.subTest(name=name), self.assertRaises(AttributeError) as caught:
                getattr(module, name)
            self.assertIn(said, str(caught.exception))
        self.assertFalse(hasattr(takt, "__wrapped__"))

    def test_every_layer_is_a_class(self):
        import inspect
        for name in takt.nn.__all__:
            self.assertTrue(inspect.getdoc(getattr(takt.nn, name)), name)


if __name__ == "__main__":
    unittest.main()
