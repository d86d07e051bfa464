"""peers_list.py - what bench/peers/run can say of itself it says before it installs anything."""
import os
import shutil
import subprocess
import sys

ROOT = os.getcwd()
COPY = os.path.join(os.environ["TAKT_TEST_TMP"], "copy")  # one where nothing is installed


def peers(*flags):
    environment = {**os.environ, "PYTHON": sys.executable, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([os.path.join(COPY, "bench", "peers", "run"), *flags], text=True,
                          capture_output=True, check=False, env=environment)


shutil.rmtree(COPY, ignore_errors=True)
shutil.copytree(os.path.join(ROOT, "bench", "peers"), os.path.join(COPY, "bench", "peers"))
rows = peers("--list")
assert rows.returncode == 0 and rows.stderr == "", rows.stderr
listed = [line.split() for line in rows.stdout.splitlines()]
assert ["gemm", "gemm_64x64x64"] in listed and all(len(row) == 2 for row in listed), rows.stdout
some = peers("--list", "--rows", "mlp,encoder_s128")
assert {row.split()[0] for row in some.stdout.splitlines()} >= {"mlp", "encoder"}, some.stdout
assert len(some.stdout.splitlines()) < len(listed), some.stdout
wrong = peers("--rows", "nothing")
assert wrong.returncode == 1 and "no row or group nothing" in wrong.stderr, wrong.stderr
assert "--limit" in peers("--help").stdout
assert os.listdir(COPY) == ["bench"], os.listdir(COPY)
print("rows are listed, and mistakes found, before anything is installed")
