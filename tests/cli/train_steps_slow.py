"""train_steps_slow.py - memory and descriptors of a long training stay: scripts/steps in short."""
import os
import shutil
import subprocess
import sys

from _cli import CLEAN, ROOT, TOOL, expect, finish, path

shutil.rmtree(path("steps"), ignore_errors=True)
run = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "steps"), "--tool", TOOL,
                      "--count", "50000", "--try", path("steps")], env=CLEAN, text=True,
                     capture_output=True, timeout=600, check=False)
expect(run.returncode == 0 and "50000 steps" in run.stdout, run.stdout + run.stderr)
finish()
