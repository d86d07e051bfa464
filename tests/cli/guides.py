"""guides.py - executes every row of docs/from-the-guides.md."""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

TOOL, TMP = os.environ["TAKT_TOOL"], pathlib.Path(os.environ["TAKT_TEST_TMP"])
ROOT = pathlib.Path.cwd()
ENVIRONMENT = dict(os.environ, XDG_CACHE_HOME=str(TMP / "cache"))


def rows():
    """(command, text) of every row of the table."""
    for line in (ROOT / "docs/from-the-guides.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| 00") and len(cells) == 4:
            yield cells[2].strip("`"), cells[3].strip("`")


TMP.mkdir(parents=True, exist_ok=True)
for name in ("model.takt", "model_v2.takt"):
    shutil.copy(ROOT / "examples/mlp.takt", TMP / name)
(TMP / "benchmark_config.json").write_text('{"threads": 1, "seed": 3}')
(TMP / "comparison_config.json").write_text('{"duration": "0.3", "threads": 1}')
failures, count, skipped, results = 0, 0, 0, {}
for command, text in rows():
    words = shlex.split(command)
    if command not in results: # several rows may show parts of one output
        results[command] = subprocess.run([TOOL, *words[1:]], capture_output=True, text=True,
                                          cwd=TMP, env=ENVIRONMENT, check=False)
    done = results[command]
    count += 1
    if "TAKT8004" in done.stderr: # neither counters nor valgrind
        skipped += 1
        continue
    good = (0, 5) if "compare" in words else (0,)
    if words[0] != "takt" or done.returncode not in good or text not in done.stdout + done.stderr:
        failures += 1
        print(f"FAIL {command}: status {done.returncode}, no {text!r}\n{done.stdout}{done.stderr}")
print(f"{count} rows, {skipped} skipped")
if count < 20:
    print(f"FAIL only {count} rows were found")
sys.exit(failures > 0 or count < 20)
