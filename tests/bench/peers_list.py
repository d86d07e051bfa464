"""peers_list.py - bench/peers/run answers questions about itself before it installs anything."""
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
for part in ("bench/peers", "scripts"):
    shutil.copytree(os.path.join(ROOT, part), os.path.join(COPY, part))
rows = peers("--list")
assert rows.returncode == 0 and rows.stderr == "", rows.stderr
listed = [line.split() for line in rows.stdout.splitlines()]
assert ["gemm", "gemm_64x64x64"] in listed and all(len(row) == 2 for row in listed), rows.stdout
some = peers("--list", "--rows", "mlp,encoder_s128")
assert {row.split()[0] for row in some.stdout.splitlines()} >= {"mlp", "encoder"}, some.stdout
assert len(some.stdout.splitlines()) < len(listed), some.stdout
wrong = peers("--rows", "nothing")
assert wrong.returncode == 1 and "no row or group nothing" in wrong.stderr, wrong.stderr
near = peers("--rows", "mlp_b2")
assert "perhaps mlp_b" in near.stderr and "--list" in near.stderr, near.stderr
assert "--limit" in peers("--help").stdout
assert sorted(os.listdir(COPY)) == ["bench", "scripts"], os.listdir(COPY)

# rows that are behind are named, in the Markdown and on the page, and no others
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(COPY, "bench", "peers"))
import page  # noqa: E402
import report  # noqa: E402

RATIOS = {"relu_1m": 0.9, "add_1m": 1.1}
made = [{"workload": name, "threads": 1, "numerics": "exact", "takt": 9.0, "best": "torch",
         "torch": 9 * ratio, "ratio": ratio, "agree": True, "reasons": {}, "share": 0.5,
         "bound": "L3", "p99": {"takt": 9.9}, "interval": {"takt": [9, 9], "torch": [9, 9]}}
        for name, ratio in RATIOS.items()]
engine = {"version": "1", "call": "C", "code_bytes": 1}
result = {"machine": {"cpu": "C", "cores": 1, "system": "S"}, "made": "M", "commit": "c",
          "quick": True, "rows": made, "engines": {"takt": engine, "torch": engine}, "missing": {}}
SAID = "Behind: relu_1m 1T 0.900 of torch."
assert SAID in report.markdown(result), report.markdown(result)
assert SAID in page.page(result, report)
made[0]["ratio"] = 1.2
assert "Behind" not in report.markdown(result), "nothing is behind"

# rounds that did not count are reported, and rows whose processor never was at its full rate
assert not report.repeats(result), report.repeats(result)
made[0].update(repeated={"takt": 3, "torch": 2}, unsteady=True, verdict="faster")
made[1].update(repeated={"torch": 4})
for text in (report.markdown(result), page.page(result, report)):
    assert "with one thread: takt 3, torch 6." in text, text
    assert "full rate: relu_1m." in text and "faster, unsteady" in text, text
assert "2 rounds repeated" in page.page(result, report)
assert "<td>5</td>" in page.page(result, report)
print("rows are listed, and mistakes found, before anything is installed")
