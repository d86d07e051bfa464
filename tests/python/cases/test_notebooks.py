"""test_notebooks.py - the notebooks of examples/python, cell by cell, and by Jupyter."""
import ast
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import takt

ROOT = os.environ["TAKT_ROOT"]
FOLDER = os.path.join(ROOT, "examples", "python")
NEEDS = {"pytorch": "torch"}
SHOWN = {"first_steps": 2, "measuring": 3, "training": 2, "pytorch": 0}  # values that are pages


def has(name):
    try:
        return importlib.util.find_spec(name) is not None and bool(__import__(name))
    except ImportError:
        return False


def cells(name):
    with open(os.path.join(FOLDER, f"{name}.ipynb"), encoding="utf-8") as file:
        book = json.load(file)
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None, "clear the outputs"
            yield "".join(cell["source"])


def run(source, names):
    """As in Jupyter: the value of a last expression is shown."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None


class Notebooks(unittest.TestCase):
    def setUp(self):
        self.before = os.getcwd()
        os.chdir(FOLDER)

    def tearDown(self):
        os.chdir(self.before)

    def execute(self, name):
        if name in NEEDS and not has(NEEDS[name]):
            self.skipTest(f"{NEEDS[name]} is not installed")
        names, shown = {"__name__": "__main__", "print": lambda *text: None}, 0
        for source in cells(name):
            value = run(source, names)
            if hasattr(value, "_repr_html_"):
                page = value._repr_html_()
                ElementTree.fromstring(f"<div>{page}</div>")  # every tag is closed
                self.assertIn("<table>", page)
                shown += 1
        self.assertEqual(shown, SHOWN[name])

    def test_first_steps(self):
        self.execute("first_steps")

    def test_measuring(self):
        self.execute("measuring")

    def test_training(self):
        self.execute("training")

    def test_pytorch(self):
        self.execute("pytorch")

    def test_all_are_tested(self):
        found = {name[:-6] for name in os.listdir(FOLDER) if name.endswith(".ipynb")}
        self.assertEqual(found, SHOWN.keys())

    @unittest.skipUnless(has("nbclient") and has("ipykernel"), "nbclient is not installed")
    def test_by_jupyter(self):
        code = ("import nbformat, nbclient, sys\n"
                "book = nbformat.read(sys.argv[1], 4)\n"
                "nbclient.NotebookClient(book, timeout=300).execute()\n"
                "print(sum('text/html' in o.get('data', {}) for c in book.cells"
                " for o in c.get('outputs', [])))\n")
        for name in SHOWN:
            if name in NEEDS and not has(NEEDS[name]):
                continue
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                env = {**os.environ, "IPYTHONDIR": folder, "JUPYTER_RUNTIME_DIR": folder,
                       "PYTHONPATH": os.pathsep.join(sys.path)}
                made = subprocess.run([sys.executable, "-W", "ignore", "-c", code, f"{name}.ipynb"],
                                      capture_output=True, text=True, env=env, check=False)
                self.assertEqual(made.returncode, 0, made.stderr[-2000:])
                self.assertEqual(int(made.stdout.split()[-1]), SHOWN[name])


class Pages(unittest.TestCase):
    def test_names_are_escaped(self):
        from takt import _html
        self.assertIn("&lt;b&gt;", _html.table("<b>", ("<b>",), [("<b>",)]))
        self.assertNotIn("<b>", _html.lines("<b>", {"<b>": [1.0, 2.0]}))
        self.assertEqual(_html.lines("none", {"loss": [float("nan")]}), "")

    def test_models_and_comparisons(self):
        model = takt.loads("model m(x: f32[batch, 4]) { return y = dense(x, 2) }")
        self.assertIn("m(x: f32[batch, 4])", model._repr_html_())
        plan = model.plan(batch=1000)._repr_html_()
        self.assertRegex(plan, r"<td>operations per run</td><td>[\d,]{6,}</td>")
        self.assertRegex(takt.benchmark.run(model, batch=1000)._repr_html_(),
                         r"<td>samples/s</td><td>\d[\d,.]*</td>")
        both = takt.benchmark.compare(takt.compile(model), takt.compile(model), blocks=4)
        self.assertIn(both.verdict, both._repr_html_())

    def test_training_without_validation(self):
        trainer = takt.Trainer(takt.nn.Dense(2), loss="cross_entropy")
        trainer.fit(takt.DataLoader((takt.array([[0.0, 1.0]] * 8), takt.array([0, 1] * 4)),
                                    batch_size=4), epochs=2)
        page = trainer._repr_html_()
        self.assertIn("<th>loss</th>", page)
        self.assertNotIn("nan", page)
        self.assertNotIn("validation", page)
        self.assertRegex(page, r"<td>[\d.]+ (ms|us|s)</td>")
