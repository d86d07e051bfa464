"""training_doc.py - the commands of docs/training.md work."""
import os
import re
import subprocess

from _cli import CLEAN, ROOT, TMP, TOOL, expect, finish

with open(os.path.join(ROOT, "docs", "training.md"), encoding="utf-8") as file:
    text = file.read()
folder = os.path.join(TMP, "training")
os.makedirs(os.path.join(folder, "build"), exist_ok=True)
for name, target in (("examples", os.path.join(ROOT, "examples")),
                     ("build/takt", os.path.abspath(TOOL))):
    if not os.path.lexists(os.path.join(folder, name)):
        os.symlink(target, os.path.join(folder, name))
lines = "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)).splitlines()
expect(len(lines) >= 9, "the page has lost its commands")
for line in filter(None, lines):
    run = subprocess.run(["sh", "-ec", line], cwd=folder, env=CLEAN, text=True, capture_output=True,
                         timeout=120, check=False)
    expect(run.returncode == 0 and run.stdout, f"{line}: exit {run.returncode}: {run.stderr}")
finish()
