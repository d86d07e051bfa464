"""test_data.py - data sets and loaders."""
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import takt

SPIRALS = os.path.join(os.environ["TAKT_ROOT"], "examples", "spirals.csv")


class Tables(unittest.TestCase):
    def test_words_and_missing_values(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "table.csv")
            with open(path, "w", encoding="utf-8") as file:
                file.write("a,b,kind\n1,2,pear\n3,,apple\n5,6,apple\n")
            with self.assertRaisesRegex(takt.Error, "line 3, column 2 .b."):
                takt.Dataset(path)
            data = takt.Dataset(path, missing="skip")
            self.assertEqual(data.take(range(2))["labels"].tolist(), [1, 0])
            self.assertIn("0 apple, 1 pear", data.describe())
            self.assertEqual((data.class_names, data.classes), (["apple", "pear"], 2))
            with self.assertRaisesRegex(TypeError, "several samples"):
                data[0:1]
            filled = takt.Dataset(path, missing="-1").take(range(3))
            self.assertEqual(filled["x"].tolist(), [[1, 2], [3, -1], [5, 6]])


    def test_numbers_have_no_names(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "numbers.csv")
            with open(path, "w", encoding="utf-8") as file:
                file.write("a,label\n1,0\n2,1\n")
            self.assertIsNone(takt.Dataset(path).class_names)


class Loading(unittest.TestCase):
    def test_threads_end(self):
        class Broken:
            def __len__(self):
                return 40

            def __getitem__(self, i):
                if i == 30:
                    raise LookupError("sample 30")
                return {"x": takt.array([float(i)])}
        before = threading.active_count()
        loader = takt.DataLoader(Broken(), batch_size=4, num_workers=3)
        seen = []
        with self.assertRaisesRegex(LookupError, "sample 30"):
            for batch in loader:
                seen += batch["x"].tolist()
        self.assertEqual(seen, [[float(i)] for i in range(28)])
        batches = iter(loader)
        next(batches)
        self.assertEqual(threading.active_count(), before + 3)
        batches.close()  # in the middle of an epoch
        self.assertEqual(threading.active_count(), before)

    def test_programs_end_in_the_middle_of_an_epoch(self):
        code = ("import takt\n"
                "data = takt.zeros((64, 50000)),\n"
                "batches = iter(takt.DataLoader(data, batch_size=4, num_workers=2))\n"
                "next(batches)\n")
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                             timeout=60, check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_datasets(self):
        data = takt.Dataset(SPIRALS)
        self.assertEqual((len(data), data.classes), (360, 3))
        self.assertEqual([f.name for f in data.fields], ["x", "labels"])
        taken = data.take([3, 0])
        self.assertEqual(taken["x"].tolist()[1], data[0]["x"].tolist())
        self.assertIn("360", data.describe())
        with self.assertRaises(IndexError):
            data[360]
        with self.assertRaises(takt.FileError):
            takt.Dataset("/nowhere.csv")

    def test_whole_numbers_are_targets_of_mse(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "ages.csv")
            with open(path, "w", encoding="utf-8") as to:
                to.writelines(f"{i / 40},1,{20 + i}\n" for i in range(40))
            model = takt.loads("model one(x: f32[batch, 2]) { return dense(x, 1) }", training=True)
            trainer = takt.Trainer(model, takt.Adam(learning_rate=0.5), "mse")
            seen = trainer.fit(takt.DataLoader(takt.Dataset(path), batch_size=8), epochs=3)
            self.assertLess(seen[-1].loss, seen[0].loss / 2)

    def test_order_depends_on_seed_and_epoch_only(self):
        data = (takt.array(list(range(50))),)

        def orders(**keywords):
            loader = takt.DataLoader(data, batch_size=8, shuffle=True, seed=3, **keywords)
            return [[n for (batch,) in loader for n in batch.tolist()] for _ in range(2)]
        plain = orders()
        self.assertEqual(sorted(plain[0]), list(range(50)))
        self.assertNotEqual(plain[0], plain[1])
        self.assertEqual(plain, orders(num_workers=3))

    def test_any_object_with_getitem(self):
        class Squares:
            def __len__(self):
                return 5

            def __getitem__(self, i):
                return takt.array([float(i), float(i * i)]), i
        batches = list(takt.DataLoader(Squares(), batch_size=2))
        self.assertEqual(batches[1][0].tolist(), [[2, 4], [3, 9]])
        self.assertEqual(batches[2][1].tolist(), [4])
        self.assertEqual(len(takt.DataLoader(Squares(), batch_size=2, drop_last=True)), 2)

        class Broken(Squares):
            def __getitem__(self, i):
                raise ValueError("sample 3 is bad")
        with self.assertRaisesRegex(ValueError, "sample 3"):
            list(takt.DataLoader(Broken(), num_workers=2))

    def test_refusals(self):
        with self.assertRaises(takt.ArgumentError):
            takt.DataLoader((takt.zeros(3), takt.zeros(4)))
        if not any(b["name"] == "cuda" and b.get("available") for b in takt.backends()):
            with self.assertRaises(takt.UnsupportedError):
                takt.DataLoader((takt.zeros(3),), pin_memory=True)


if __name__ == "__main__":
    unittest.main()
