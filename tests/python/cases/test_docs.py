"""test_docs.py - the code of docs/python.md runs, and every public name is documented."""
import contextlib
import io
import os
import pathlib
import re
import tempfile
import unittest

import takt

ROOT = pathlib.Path(os.environ["TAKT_ROOT"])


class Docs(unittest.TestCase):
    def test_every_block_runs(self):
        text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 5)
        space = {}
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            for block in blocks:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(block, "docs/python.md", "exec"), space)  # noqa: S102

    def test_every_name_is_documented(self):
        for name in takt.__all__:
            thing = getattr(takt, name)
            if name.startswith("__") or not callable(thing):
                continue
            self.assertTrue(thing.__doc__, name)
            for part, value in vars(thing).items() if isinstance(thing, type) else ():
                if not part.startswith("_") and (callable(value) or isinstance(value, property)):
                    self.assertTrue(value.__doc__, f"{name}.{part}")
        self.assertEqual(sorted(set(takt.__all__)), sorted(takt.__all__))

    def test_stubs_name_what_there_is(self):
        stub = (pathlib.Path(takt.__path__[0]) / "_takt.pyi").read_text(encoding="utf-8")
        for kind in ("Array", "Model", "Plan", "Session", "Trainer", "Data"):
            body = stub.split(f"class {kind}:")[1].split("\nclass ")[0].split("\ndef ")[0]
            declared = set(re.findall(r"def (\w+)\(", body))
            real = {name for name in vars(getattr(takt._takt, kind))
                    if not name.startswith("__") or name in ("__dlpack__", "__dlpack_device__",
                                                             "__array_interface__")}
            self.assertEqual(real - declared, set(), kind)
            self.assertEqual({name for name in declared if not name.startswith("__")} - real, set())
        functions = set(re.findall(r"^def (\w+)\(", stub, re.MULTILINE))
        self.assertEqual({name for name in dir(takt._takt)
                          if type(getattr(takt._takt, name)).__name__.startswith("builtin")}
                         - functions, set())


if __name__ == "__main__":
    unittest.main()
