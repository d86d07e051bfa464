"""exits.py - exit codes: 0 ok, 1 failed, 2 usage, 4 limit or deadline not met, 130 interrupted."""
import os
import shutil
import signal
import subprocess
import time

from _cli import CNN, MLP, ROOT, TOOL, CLEAN, expect, fails, finish, path, succeeds, takt, write

PIPE = path("pipe.takt")
if os.path.exists(PIPE):
    os.remove(PIPE)

succeeds("run", MLP)
fails(1, "run", "no/such/model.takt", says=["error[TAKT3001]", "no/such/model.takt"])
fails(1, "run", write("bad.takt", "model m(x: f32[2]) -> f32[2] { return y }\n"),
      says=["2202", "bad.takt:1", "^"])
fails(1, "run", write("empty.takt", ""), says=["TAKT3006", "is empty"])
fails(1, "run", "examples", says=["error[TAKT3001]"])
os.mkfifo(PIPE)
for name in ("/dev/null", PIPE):
    for call in (("run", name), ("inspect", name), ("run", MLP, "-i", "x=" + name)):
        fails(1, *call, says=[f"error[TAKT3001]: cannot open {name}: it is a pipe or device; "
                              "a regular file is needed"])
fails(2, says=[])
fails(2, "nonsense", says=["error[TAKT1002]: there is no verb nonsense"])
fails(2, "run", says=["takt run needs MODEL", "takt run --help"])
fails(2, "run", MLP, CNN, says=["does not take the argument " + CNN])
fails(2, "run", MLP, "--threads", "none", says=["--threads needs a number from 1, not \"none\""])
fails(4, "run", CNN, "--memory-limit", "64", says=["error[TAKT4002]", "the limit is 64", "hint: "])
fails(4, "plan", CNN, "--memory-limit=1k", says=["error[TAKT4002]"])
fails(4, "run", CNN, "--deadline", "1ns", "--repeat", "5", says=["error[TAKT5005]"])
succeeds("run", MLP, "--memory-limit", "64M", "--deadline", "60s")



def start(*args):
    return subprocess.Popen([TOOL, "run", *args], cwd=ROOT, env=CLEAN, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def catches_interrupts(process):
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as status:
        caught = [line.split()[1] for line in status if line.startswith("SigCgt:")]
    return int(caught[0], 16) >> (signal.SIGINT - 1) & 1


# Interrupted: the run ends between two steps.
with start(MLP, "--repeat", "200000000", "-D", "batch=64", "--monitor", "--interval",
           "10ms") as process:
    first = process.stderr.readline()
    expect(first.startswith("monitor "), f"it runs: {first}")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    expect(process.returncode == 130, f"interrupted: {process.returncode}")
    expect("error[TAKT5006]" in errors, errors)

# Before a run exists: 64 MB of weights are made first, and one of many attempts falls into that
# time.
LARGE = write("large.takt", "model m(x: f32[1, 4096]) -> f32[1, 4096] {\n"
              "  param w: f32[4096, 4096] = uniform(-1, 1)\n  return x @ w\n}\n")
for _ in range(50):
    with start(LARGE, "--repeat", "200000000") as process:
        while process.poll() is None and not catches_interrupts(process):
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        expect(process.returncode == 130, f"interrupted early: {process.returncode}")
    if errors == "takt: interrupted before the run began\n":
        break
    expect("error[TAKT5006]" in errors, errors)
else:
    expect(False, "nothing catches an interrupt before the run")

# A run of one step is nearly always in its last.
with start(LARGE, "--repeat", "200000000", "--monitor", "--interval", "10ms") as process:
    process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    expect(process.returncode == 130 and "error[TAKT5006]" in errors, errors)

# Killed while a file is written: the folder is as it was. The program is looked at while it stands
# still, so that it has not gone on to give the file its name when it is killed.
def stands_still(process):
    """Stops it; False if it has ended."""
    process.send_signal(signal.SIGSTOP)
    while process.returncode is None:
        with open(f"/proc/{process.pid}/stat", encoding="utf-8") as stat:
            state = stat.read().rpartition(")")[2].split()[0]
        if state in "TZX":
            return state == "T"
        time.sleep(0.001)
    return False


def is_writing(process, folder):
    """Whether it has a file open there that has no name."""
    files = f"/proc/{process.pid}/fd"
    found = [os.path.join(files, one) for one in os.listdir(files)]
    return any(os.readlink(one).startswith(folder) and os.stat(one).st_nlink == 0 for one in found)


killed = path("killed")
shutil.rmtree(killed, ignore_errors=True)
os.makedirs(killed)
for _ in range(20):
    with subprocess.Popen([TOOL, "compile", LARGE, "-o", os.path.join(killed, "large.taktp")],
                          env=CLEAN, stdout=subprocess.DEVNULL) as process:
        while stands_still(process) and not is_writing(process, killed):
            process.send_signal(signal.SIGCONT)
            time.sleep(0.001)
        process.kill()
    if process.returncode == -signal.SIGKILL:
        expect(not os.listdir(killed), f"left behind: {os.listdir(killed)}")
        break
    os.remove(os.path.join(killed, "large.taktp"))
else:
    print("SKIP killed: the file system has no files without names")

# A reader that closes the pipe, and a full disk.
expect(takt("help").returncode == 0, "takt help")
with open("/dev/full", "w", encoding="utf-8") as full:
    run = subprocess.run([TOOL, "ops"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    expect(run.returncode == 1 and run.stderr != "", f"/dev/full: {run}")
finish()
