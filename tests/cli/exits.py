"""exits.py - exit codes: 0 ok, 1 failed, 2 usage, 4 limit or deadline not met, 130 interrupted."""
import signal
import subprocess
import time

from _cli import CNN, MLP, ROOT, TOOL, CLEAN, expect, fails, finish, succeeds, takt, write

succeeds("run", MLP)
fails(1, "run", "no/such/model.takt", says=["error[TAKT3001]", "no/such/model.takt"])
fails(1, "run", write("bad.takt", "model m(x: f32[2]) -> f32[2] { return y }\n"),
      says=["2202", "bad.takt:1", "^"])
fails(1, "run", write("empty.takt", ""), says=["TAKT3006", "is empty"])
fails(1, "run", "examples", says=["error[TAKT3001]"])
fails(2, says=[])
fails(2, "nonsense", says=["error[TAKT1002]: there is no verb nonsense"])
fails(2, "run", says=["takt run wants MODEL", "takt run --help"])
fails(2, "run", MLP, CNN, says=["does not take the argument " + CNN])
fails(2, "run", MLP, "--threads", "none", says=["--threads wants a number from 1, not \"none\""])
fails(4, "run", CNN, "--memory-limit", "64", says=["error[TAKT4002]", "the limit is 64", "hint: "])
fails(4, "plan", CNN, "--memory-limit=1k", says=["error[TAKT4002]"])
fails(4, "run", CNN, "--deadline", "1ns", "--repeat", "5", says=["error[TAKT5005]"])
succeeds("run", MLP, "--memory-limit", "64M", "--deadline", "60s")

# Interrupted: the run ends between two steps.
process = subprocess.Popen([TOOL, "run", MLP, "--repeat", "2000000000", "-D", "batch=64"], cwd=ROOT,
                           env=CLEAN, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
time.sleep(1.0)
if process.poll() is None:
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    expect(process.returncode in (130, -signal.SIGINT), f"interrupted: {process.returncode}")
    expect("error[TAKT5006]" in errors, errors)
else:
    expect(False, f"a long run ended at once: {process.communicate()[1]}")

# A reader that goes away, and a full disk.
expect(takt("help").returncode == 0, "takt help")
with open("/dev/full", "w", encoding="utf-8") as full:
    run = subprocess.run([TOOL, "ops"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    expect(run.returncode == 1 and run.stderr != "", f"/dev/full: {run}")
finish()
