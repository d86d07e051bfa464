"""readme.py - the commands of the tour in README.md work, and its example in C compiles and runs.
"""
import os
import re
import subprocess

from _cli import CLEAN, ROOT, TMP, TOOL, expect, finish, parsed

with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
    readme = file.read()
tour = readme[readme.index("## A tour"):readme.index("## In C")]
lines = "\n".join(re.findall(r"^```sh\n(.*?)^```", tour, re.DOTALL | re.MULTILINE)).splitlines()
expect(len(lines) >= 12, "the tour has lost its commands")
# In a separate folder, which looks like the repository to the commands.
tour_folder = os.path.join(TMP, "tour")
os.makedirs(os.path.join(tour_folder, "build"), exist_ok=True)
for name, target in (("examples", os.path.join(ROOT, "examples")),
                     ("tests", os.path.join(ROOT, "tests")),
                     ("build/takt", os.path.abspath(TOOL))):
    link = os.path.join(tour_folder, name)
    if os.path.lexists(link):
        os.remove(link)
    os.symlink(target, link)
digests = []
for line in filter(None, lines):
    run = subprocess.run(["sh", "-ec", line], cwd=tour_folder, env=CLEAN, text=True,
                         capture_output=True, timeout=120, check=False)
    expect(run.returncode == 0, f"{line}: exit {run.returncode}: {run.stderr}")
    expect(run.stdout or ">" in line, f"{line}: prints nothing")
    digests += re.findall(r"sha256:[0-9a-f]{64}", run.stdout)
expect(len(digests) >= 2 and digests[0] == digests[1], f"the digests of the tour differ: {digests}")
expect(os.path.getsize(os.path.join(tour_folder, "arena.svg")) > 500, "no picture")

# The example in C, against this build.
library = os.path.join(os.environ.get("TAKT_BUILD_DIR", os.path.join(ROOT, "build", "release")),
                       "libtakt.a")
with open(os.path.join(os.path.dirname(library), "CMakeCache.txt"), encoding="utf-8") as file:
    sanitizer = re.search(r"^TAKT_SANITIZE:\w+=(.+)$", file.read(), re.MULTILINE)
if not sanitizer:
    program = TMP + "/run_model"
    subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-Wall", "-Wextra", "-Werror",
                    "-Iinclude", "examples/c/run_model.c", library, "-lm", "-pthread", "-o",
                    program],
                   cwd=ROOT, check=True)
    for name in ("mlp", "cnn", "encoder", "gpt", "kv", "stream"):
        model = f"examples/{name}.takt"
        run = subprocess.run([program, model], cwd=ROOT, text=True, capture_output=True,
                             check=False)
        row = [float(value) for value in run.stdout.split()]
        outputs = list(parsed("run", "--json", model)["outputs"].values())
        want = outputs[0]["values"][:outputs[0]["shape"][-1]]
        expect(len(row) == len(want) and all(abs(a - b) <= 1e-5 * max(1, abs(b))
                                             for a, b in zip(row, want)),
               f"run_model {name}: {run}")
    run = subprocess.run([program, "missing.takt"], cwd=ROOT, text=True, capture_output=True,
                         check=False)
    expect(run.returncode == 1 and "missing.takt" in run.stderr, f"run_model: {run}")
finish()
