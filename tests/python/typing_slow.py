"""typing_slow.py - mypy --strict on the notebooks, stubtest on the extension, abi3audit on it.

Needs mypy and abi3audit, here or in build/venv (TAKT_VENV); what is missing is skipped and
reported.
"""
import json
import os
import subprocess
import sys

from _runner import BUILD, EXTENSION, ROOT, TMP, environment, has_extension, skip

VENV = os.environ.get("TAKT_VENV", os.path.join(ROOT, "build", "venv"))
PACKAGE = os.path.join(BUILD, "python")
BOOKS = ("first_steps", "measuring", "training")  # pytorch needs torch's own types
failures = []


def call(*args):
    env = {**environment(PACKAGE), "MYPYPATH": PACKAGE}
    return subprocess.run(args, env=env, cwd=TMP, capture_output=True, text=True, check=False)


def check(name, module, *args):
    if call(python, "-c", f"import {module}").returncode != 0:
        print(f"{name}: skipped: {module} is not installed")
        return
    run = call(python, "-m", *args)
    print(f"{name}:", (run.stdout + run.stderr).strip().splitlines()[-1:])
    if run.returncode != 0:
        failures.append(name)
        print(run.stdout[-4000:], run.stderr[-2000:])


def programs():
    """The code of the notebooks, a file each."""
    for name in BOOKS:
        path = os.path.join(ROOT, "examples", "python", f"{name}.ipynb")
        with open(path, encoding="utf-8") as file:
            cells = json.load(file)["cells"]
        made = os.path.join(TMP, f"book_{name}.py")
        with open(made, "w", encoding="utf-8") as to:
            to.write("\n".join("".join(cell["source"]) for cell in cells
                               if cell["cell_type"] == "code") + "\n")
        yield made


if not has_extension():
    skip("the extension was not built: Python's headers are missing (python3-dev)")
python = next((p for p in (sys.executable, os.path.join(VENV, "bin", "python"))
               if os.path.exists(p) and call(p, "-c", "import mypy.api").returncode == 0), None)
if python is None:
    skip("mypy is not installed")
check("mypy --strict", "mypy.api", "mypy", "--strict", "--follow-imports=silent", "--cache-dir",
      os.path.join(TMP, "mypy-cache"), *programs())
check("stubtest", "mypy.api", "mypy.stubtest", "takt._takt", "takt.ops")
check("abi3audit", "abi3audit", "abi3audit", "--strict", "--assume-minimum-abi3", "3.11", EXTENSION)
sys.exit(bool(failures))
