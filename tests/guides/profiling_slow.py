"""profiling_slow.py - the commands of docs/profiling.md work."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.append("tests/cli")
import _ceilings  # noqa: E402

TOOL, TMP = os.environ["TAKT_TOOL"], pathlib.Path(os.environ["TAKT_TEST_TMP"])
ROOT = pathlib.Path.cwd()
# Other tools may be missing, or lack permission.
OTHERS = ("perf", "valgrind", "ms_print", "heaptrack")
REFUSED = ("ermission", "not permitted", "perf_event_paranoid", "No such file or directory")

shutil.rmtree(TMP, ignore_errors=True)
shutil.copytree(ROOT / "examples", TMP / "examples")
(TMP / "bin").mkdir()
(TMP / "bin/takt").symlink_to(TOOL)
environment = {key: value for key, value in os.environ.items() if not key.startswith("TAKT_")}
environment.update(PATH=f"{TMP / 'bin'}:{os.environ['PATH']}", XDG_CACHE_HOME=str(TMP / "cache"))
_ceilings.keep(TOOL, TMP / "cache")
text = (ROOT / "docs/profiling.md").read_text()
lines = [line.split("  #")[0].strip() for block in
         re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
         for line in block.splitlines() if line.strip()]
failures = skipped = 0
for wanted in ("--tool=dhat", "--branch-sim=yes"):
    if not any(wanted in line for line in lines):
        failures += 1
        print(f"FAIL the page does not show {wanted}")
for line in lines:
    done = subprocess.run(["bash", "-c", line], cwd=TMP, env=environment, text=True,
                          capture_output=True, timeout=300, check=False)
    first = line.split()[0]
    good = (0, 5) if "benchmark compare" in line else (0,)
    if done.returncode in good and done.stdout + done.stderr:
        continue
    if first in OTHERS and (shutil.which(first) is None
                            or any(words in done.stderr for words in REFUSED)):
        skipped += 1
        continue
    failures += 1
    print(f"FAIL {line}: status {done.returncode}\n{done.stdout}{done.stderr}")
flame = TMP / "flame.svg"
if not flame.exists() or "function zoom" not in flame.read_text():
    failures += 1
    print("FAIL flame.svg cannot be zoomed")
print(f"{len(lines)} commands, {skipped} skipped")
sys.exit(failures > 0 or len(lines) < 12)
