"""oracles_slow.py - all samples of all operations, by Takt, by torch and by JAX.

Needs torch or jax, here or in build/venv (TAKT_VENV); without them this is skipped.
"""
import os
import subprocess
import sys

from _runner import BUILD, CASES, ROOT, environment, has_extension, skip

VENV = os.environ.get("TAKT_VENV", os.path.join(ROOT, "build", "venv"))

if not has_extension():
    skip("the extension was not built: Python's headers are missing (python3-dev)")
for python in (sys.executable, os.path.join(VENV, "bin", "python")):
    has = [name for name in ("torch", "jax") if os.path.exists(python) and subprocess.run(
        [python, "-c", f"import {name}"], capture_output=True, check=False).returncode == 0]
    if has:
        break
else:
    skip("neither torch nor jax is installed")
os.environ["TAKT_SAMPLES"] = "all"
path = os.pathsep.join([os.path.join(BUILD, "python"), CASES])
run = subprocess.run([python, "-m", "unittest", "-v", "test_foreign.Samples"], check=False,
                     env=environment(path), cwd=CASES)
sys.exit(run.returncode)
