"""test_training.py - the trainer, optimizers, callbacks."""
import array
import contextlib
import io
import os
import sys
import tempfile
import threading
import unittest
from unittest import mock

import takt

ROOT = os.environ["TAKT_ROOT"]
SPIRALS = os.path.join(ROOT, "examples", "spirals.csv")


class Net(takt.Module):
    def __init__(self):
        super().__init__()
        self.a = takt.nn.Dense(8, act="tanh")
        self.b = takt.nn.Dense(2)

    def forward(self, x):
        return self.b(self.a(x))


def points(count=64):
    rows = [[((7 * i) % 11) / 5 - 1, ((5 * i) % 13) / 6 - 1] for i in range(count)]
    return takt.array(rows), takt.array([int(x * y > 0) for x, y in rows])


def weights(module):
    return {name: value.tolist() for name, value in module.state_dict().items()}


class Training(unittest.TestCase):
    def test_a_module_learns_and_gets_its_weights(self):
        x, labels = points()
        net = Net()
        trainer = takt.Trainer(net, takt.Adam(learning_rate=0.05), loss="cross_entropy")
        seen = []

        class Watch(takt.Callback):
            def on_step(self, trainer, result):
                seen.append(result.step)
        trainer._callbacks.append(Watch())
        loader = takt.DataLoader((x, labels), batch_size=16, shuffle=True)
        history = trainer.fit(loader, epochs=40, validation=loader)
        self.assertLess(history[-1].loss, 0.5 * history[0].loss)
        self.assertEqual(seen, list(range(1, 161)))
        scores = net(x).tolist()
        right = sum((b > a) == bool(c) for (a, b), c in zip(scores, labels.tolist()))
        self.assertEqual(right, trainer.evaluate([(x, labels)]).hits)

    def test_progress(self):
        x, labels = points()
        loader = takt.DataLoader((x, labels), batch_size=16)
        for wanted, data in ((True, loader), (True, iter(list(loader))), (None, loader)):
            told = io.StringIO()
            with mock.patch.dict(os.environ, TAKT_PROGRESS="0"), \
                    contextlib.redirect_stderr(told):
                takt.Trainer(Net(), loss="cross_entropy").fit(data, progress=wanted)
            if wanted is None:
                self.assertEqual(told.getvalue(), "")  # no terminal
            else:
                self.assertIn("\repoch 0 ", told.getvalue())
                self.assertIn("loss ", told.getvalue())
                self.assertEqual("s left" in told.getvalue(), data is loader)
                self.assertTrue(told.getvalue().endswith("\r\x1b[K"))

    def test_progress_of_what_has_no_length(self):
        class Stream(list):
            def __len__(self):
                raise TypeError("a stream")
        x, labels = points()
        loader = takt.DataLoader((x, labels), batch_size=16)
        with mock.patch.object(sys, "stderr", None):
            history = takt.Trainer(Net(), loss="cross_entropy").fit(Stream(loader))
        self.assertEqual(len(history), 1)

    def test_stopped_while_data_are_read(self):
        x, labels = points()
        trainer = takt.Trainer(Net(), loss="cross_entropy")

        def batches():
            for i in range(100):
                if i == 3:
                    trainer.stop()
                yield {"x": x, "labels": labels}
        self.assertEqual(len(trainer.fit(batches(), epochs=2)), 1)
        self.assertEqual(trainer.steps, 4)  # the batch that was requested is the last

    def test_lazy_values_in_batches(self):
        x, labels = points()
        losses = []
        for batch in ({"x": takt.tensor(x) * 1.0, "labels": labels}, (takt.tensor(x) * 1.0, labels),
                      {"x": x, "labels": labels}):
            trainer = takt.Trainer(Net(), loss="cross_entropy")
            losses.append([r.loss for r in trainer.fit([batch] * 3, epochs=2)])
        self.assertEqual(losses[0], losses[2])
        self.assertEqual(losses[1], losses[2])

    def test_sgd_is_what_it_says(self):
        text = ("model m(x: f32[batch, 1], t: f32[batch, 1]) {\n  param w: f32[1, 1] = 2\n"
                "  return loss = mse(x @ w, t)\n}")
        trainer = takt.Trainer(takt.loads(text), takt.SGD(learning_rate=0.1))
        got = trainer.step(x=takt.array([[1.0]]), t=takt.array([[0.0]]))
        self.assertAlmostEqual(got.loss, 4.0)
        after = trainer.export().parameters()["w"].tolist()[0][0]
        self.assertAlmostEqual(after, 2.0 - 0.1 * 2 * 2.0, places=6)

    def test_accumulation_is_one_larger_batch(self):
        x, labels = points()
        nets = [Net(), Net()]
        for net in nets:
            net(x)  # the same seed, the same weights
        self.assertEqual(weights(nets[0]), weights(nets[1]))
        for net, size, parts in ((nets[0], 16, 4), (nets[1], 64, 1)):
            trainer = takt.Trainer(net, "sgd", "cross_entropy", learning_rate=0.1,
                                   gradient_accumulation_steps=parts, shards=4 // parts)
            trainer.fit(takt.DataLoader((x, labels), batch_size=size), epochs=3)
        self.assertEqual(weights(nets[0]), weights(nets[1]))

    def test_save_and_go_on_with_the_same_bits(self):
        x, labels = points()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.ckpt")
            one = takt.Trainer(Net(), takt.AdamW(learning_rate=0.01), loss="cross_entropy")
            one.step(x, labels)
            one.save(path, "half way")
            two = takt.Trainer(Net(), takt.AdamW(learning_rate=0.01), loss="cross_entropy")
            self.assertEqual(two.load(path, (x, labels)), "half way")
            self.assertEqual(one.step(x, labels), two.step(x, labels))

    def test_files_and_frozen_parameters(self):
        data = takt.Dataset(SPIRALS)
        trainer = takt.Trainer(os.path.join(ROOT, "examples", "spirals.takt"), "adamw",
                               learning_rate=1e-2, freeze=r"^dense_0")
        before = trainer.model.parameters()
        trainer.fit(takt.DataLoader(data, batch_size=60, shuffle=True, num_workers=2), epochs=2)
        after = trainer.export().parameters()
        changed = {name for name in before if before[name].tolist() != after[name].tolist()}
        self.assertTrue(changed)
        self.assertFalse([name for name in changed if name.startswith("dense_0")])
        self.assertIn("peak", trainer.plan(**next(iter(takt.DataLoader(data)))))

    def test_parameter_groups(self):
        """The group's rate is that of a training with this rate; other parameters keep theirs."""
        x, labels = points()

        def trained(rate, **more):
            net = takt.load(os.path.join(ROOT, "examples", "spirals.takt"), training=True)
            trainer = takt.Trainer(net, takt.AdamW(learning_rate=rate), **more)
            trainer.step(x, labels)
            return {name: value.tolist() for name, value in trainer.export().parameters().items()}
        fast, slow = trained(1e-2), trained(1e-4)
        both = trained(1e-2, groups={"^dense_0": {"learning_rate": 1e-4}})
        for name in both:
            want = slow if name.startswith("dense_0") else fast
            self.assertEqual(both[name], want[name], name)
        whole = trained(1e-2, groups={"weight": {"weight_decay": 0.5}})
        self.assertNotEqual(whole["dense_0.weight"], fast["dense_0.weight"])
        self.assertEqual(whole["dense_0.bias"], fast["dense_0.bias"])
        with self.assertRaisesRegex(takt.ArgumentError, "no parameter matches 'dense_9'"):
            trained(1e-2, groups={"dense_9": {"learning_rate": 1}})

    def test_refusals(self):
        x, labels = points()
        with self.assertRaises(takt.NotFoundError):
            takt.Trainer(takt.loads("model m(x: f32[b, 2]) { return dense(x, 2) }"), "adma")
        trainer = takt.Trainer(Net(), loss="cross_entropy")
        with self.assertRaises(takt.Error):
            trainer.step(x, takt.array([7] * 64))  # there are two classes
        self.assertEqual(trainer.steps, 0)
        with self.assertRaises(takt.ArgumentError):
            trainer.fit([])
        with self.assertRaises(takt.ArgumentError):
            takt.Trainer(Net()).save("/tmp/none")
        with self.assertRaisesRegex(takt.ArgumentError, "learning_rate"):
            takt.Adam(lr=0.1)

    def test_less_than_no_epoch(self):
        trainer = takt.Trainer(model=Net(), loss="cross_entropy")
        with self.assertRaisesRegex(takt.ArgumentError, "not -1"):
            trainer.fit([], epochs=-1)

    def test_samples_are_not_batches(self):
        trainer = takt.Trainer(Net(), takt.SGD(0.1), "cross_entropy")
        for data in (points(), takt.Dataset(SPIRALS)):
            with self.assertRaisesRegex(takt.ArgumentError, "DataLoader"):
                trainer.fit(data)

    def test_arrays_are_read_to_their_end_only(self):
        x, labels = points(8)
        for shards in (1, 2):
            trainer = takt.Trainer(takt.loads("model m(x: f32[n, 2]) { return dense(x, 2) }"),
                                   loss="cross_entropy", shards=shards)
            for count in (4, 6, 9):
                with self.assertRaisesRegex(takt.ArgumentError, f"8 samples, but {count} of"):
                    trainer.step({"x": x, "labels": takt.array([0] * count)})
            self.assertEqual(trainer.step({"x": x, "labels": labels}).step, 1)
        # Operations after an array without samples are not the cause of a loss that is not finite.
        model = takt.loads("model m(x: f32[n, 2], w: f32[2]) { param a: f32[2] = 1\n"
                           "return loss = reduce_mean(log(x * a * w - 10.0)) }")
        many = memoryview(array.array("f", [1, 1] + 100 * [float("nan")]))
        with self.assertRaisesRegex(takt.RangeError, "the first result"):
            takt.Trainer(model).step({"x": takt.array([[1.0, 1.0]] * 8), "w": many[:2]})
        with self.assertRaisesRegex(takt.RangeError, "NaN: w is not finite"):
            takt.Trainer(model).step({"x": takt.array([[1.0, 1.0]] * 8), "w": many[1:3]})

    def test_classes_that_a_model_lacks(self):
        x, _ = points(4)
        model = takt.loads("model m(x: f32[n, 2]) { return dense(x, 2) }")
        for bad in (-1, 2):
            batch = {"x": x, "labels": takt.array([0, 1, 0, bad])}
            trainer = takt.Trainer(model)
            for call in (lambda: trainer.step(batch), lambda: trainer.evaluate([batch])):
                with self.assertRaisesRegex(takt.RangeError, f"sample 3 .* the label {bad}, the"):
                    call()
        kept = takt.Trainer(model, loss="cross_entropy:ignore=-1")
        self.assertEqual(kept.step({"x": x, "labels": takt.array([0, 1, 0, -1])}).count, 3)

    def test_mixed_precision(self):
        x, labels = points()
        plain = takt.Trainer(Net(), takt.SGD(learning_rate=0.1), loss="cross_entropy")
        first = plain.step(x, labels)
        self.assertEqual((first.scale, first.skipped), (1.0, False))
        for amp in (True, "bf16", "bfloat16", "f16", "fp16"):
            trainer = takt.Trainer(Net(), takt.SGD(learning_rate=0.1), loss="cross_entropy",
                                   amp=amp)
            got = trainer.step(x, labels)
            self.assertAlmostEqual(got.loss, first.loss, delta=0.02)
            self.assertNotEqual(got.loss, first.loss, amp)  # activations have fewer bits
            self.assertEqual(got.scale > 1, amp in ("f16", "fp16"))
        for off in (None, False, "f32"):
            trainer = takt.Trainer(Net(), takt.SGD(learning_rate=0.1), loss="cross_entropy",
                                   amp=off)
            self.assertEqual(trainer.step(x, labels).loss, first.loss)
        with self.assertRaisesRegex(takt.Error, "int3"):
            takt.Trainer(Net(), loss="cross_entropy", amp="int3").step(x, labels)

    def test_trained_as_integers(self):
        path, data = os.path.join(ROOT, "examples", "spirals.takt"), takt.Dataset(SPIRALS)
        batch = data.take(range(60))
        trainer = takt.Trainer(path, "adamw", learning_rate=1e-2, qat="int8", calib=data)
        trainer.fit(takt.DataLoader(data, batch_size=60, shuffle=True), epochs=2)
        small = trainer.quantized()
        with tempfile.TemporaryDirectory() as folder:
            small.save(os.path.join(folder, "small.onnx"))
            again = takt.load(os.path.join(folder, "small.onnx"))
            self.assertEqual(takt.compile(small)(batch["x"]).tolist(),
                             takt.compile(again)(batch["x"]).tolist())
        sizes = [m.plan(batch=1).weight_bytes for m in (takt.load(path), small)]
        self.assertLess(sizes[1], sizes[0] / 2)
        for keep in ("^dense_2$", lambda layer: layer == "dense_2"):
            kept = takt.Trainer(path, qat="w4", keep=keep)
            names = {f"dense_{i}.{part}" for i in range(3) for part in ("weight", "bias")}
            before = {name.rpartition("/")[2]: value
                      for name, value in kept.export().parameters().items()}
            self.assertEqual(set(before), names)
            kept.fit(takt.DataLoader(data, batch_size=60, shuffle=True), epochs=1)
            for name, value in kept.export().parameters().items():
                self.assertNotEqual(before[name.rpartition("/")[2]].tolist(), value.tolist(), name)
        net = Net()
        x, labels = points()
        net(x)
        before = weights(net)
        module = takt.Trainer(net, loss="cross_entropy", qat="w8")
        module.step(x, labels)
        self.assertEqual(takt.compile(module.quantized())(x).shape, (64, 2))
        self.assertEqual(weights(net), before)

    def test_refusals_of_integers(self):
        path, data = os.path.join(ROOT, "examples", "spirals.takt"), takt.Dataset(SPIRALS)
        for wrong in ({"qat": "int3"}, {"qat": "int8"}, {"calib": data}, {"keep": "x"},
                      {"qat": "w8", "keep": "."}):
            with self.assertRaises(takt.Error, msg=wrong):
                takt.Trainer(path, **wrong)
        with self.assertRaises(ZeroDivisionError):
            takt.Trainer(path, qat="w8", keep=lambda layer: 1 / 0)
        trainer = takt.Trainer(path)
        with self.assertRaises(takt.ArgumentError):
            trainer.quantized()

    def test_one_thread_at_a_time(self):
        x, labels = points(4096)
        trainer = takt.Trainer(Net(), loss="cross_entropy")
        trainer.step(x, labels)
        failures = []

        def work():
            for _ in range(20):
                try:
                    trainer.step(x, labels)
                except takt.StateError:
                    failures.append(1)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(trainer.steps + len(failures), 61)


class NotFinite(unittest.TestCase):
    def test_on_nan(self):
        rows = [[float("nan") if i == 2 else 0.1 * i, 1.0] for i in range(8)]
        data = (takt.array(rows), takt.array([i % 2 for i in range(8)]))
        text = "model net(x: f32[batch, 2]) seed=1 {\n  return dense(x, 2)\n}\n"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.takt")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            with self.assertRaises(takt.RangeError):
                takt.Trainer(path).fit(takt.DataLoader(data, batch_size=2))
            seen = []

            class Watch(takt.Callback):
                def on_step(self, trainer, result):
                    seen.append(result.skipped)
            trainer = takt.Trainer(path, on_nan="skip", callbacks=[Watch()])
            result = trainer.fit(takt.DataLoader(data, batch_size=2))[0]
            self.assertEqual(seen, [False, True, False, False])
            self.assertTrue(0 < result.loss < 10)
            with self.assertRaisesRegex(takt.RangeError, "no step had a finite loss"):
                trainer.fit([(takt.array(rows[2:3]), takt.array([0]))])
            with self.assertRaisesRegex(takt.ArgumentError, "stop"):
                takt.Trainer(path, on_nan="ignore")
            trainer = takt.Trainer(path, loss="cross_entropy:ignore=-1")
            none = (takt.array(rows[3:5]), takt.array([-1, -1]))
            before = trainer.fit([none, (takt.array(rows[:2]), takt.array([0, 1]))])[0]
            self.assertTrue(0 < before.loss < 10)
            with self.assertRaisesRegex(takt.ArgumentError, "no label of it counts"):
                trainer.evaluate([none])
            with self.assertRaisesRegex(takt.RangeError, "labels that count"):
                trainer.fit([none])


if __name__ == "__main__":
    unittest.main()
