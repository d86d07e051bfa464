"""train_kills.py - a training is killed sixty times and resumed: scripts/kills in short."""
import os
import shutil
import subprocess
import sys

from _cli import CLEAN, ROOT, TOOL, expect, finish, path

shutil.rmtree(path("kills"), ignore_errors=True)
run = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "kills"), "--tool", TOOL,
                      "--count", "60", "--epochs", "12", "--longest", "0.05", "--try",
                      path("kills")], env=CLEAN, text=True, capture_output=True,
                     timeout=600, check=False)
expect(run.returncode == 0 and " 0 lost or changed" in run.stdout, run.stdout + run.stderr)
finish()
