"""train_stop.py - signals in a training: what is saved, and what it says."""
import os
import shutil
import signal
import subprocess
import time

from _cli import CLEAN, ROOT, TOOL, expect, finish, path, succeeds, takt, write
from _training import COMMON, NET, await_steps, log_of


def ends(run, words, numbers=(signal.SIGINT,)):
    """The training ends by these signals, and says so in these words."""
    for number in numbers:
        run.send_signal(number)
        time.sleep(0.01)
    _, said = run.communicate(timeout=60)
    expect(run.returncode == 130 and words in said, f"{run.returncode}: {said}")


def blocked(pid):
    """For each thread of a process, the main one first: whether SIGINT waits for another."""
    seen = []
    for thread in sorted(map(int, os.listdir(f"/proc/{pid}/task"))):
        try:
            with open(f"/proc/{pid}/task/{thread}/status", encoding="utf-8") as status:
                masks = [line.split()[1] for line in status if line.startswith("SigBlk:")]
        except OSError:  # a save has ended
            continue
        seen.append(bool(int(masks[0], 16) >> (signal.SIGINT - 1) & 1))
    return seen


def of_one_thread():
    """Signals reach the main thread alone, whose loop reads what their handler writes."""
    shutil.rmtree(path("threads"), ignore_errors=True)
    run = subprocess.Popen([TOOL, "train", NET, *COMMON, "--epochs", "100000", "-q", "--checkpoint",
                            path("threads"), "--workers", "3", "-t", "2"], cwd=ROOT, env=CLEAN,
                           stderr=subprocess.PIPE)
    await_steps(path("threads"))
    seen = blocked(run.pid)
    expect(len(seen) >= 4 and not seen[0] and all(seen[1:]), f"SIGINT is blocked: {seen}")
    ends(run, b"--resume")


def interrupted():
    shutil.rmtree(path("stopped"), ignore_errors=True)
    run = subprocess.Popen([TOOL, "train", NET, *COMMON, "--epochs", "100000", "-q", "--checkpoint",
                            path("stopped")], cwd=ROOT, env=CLEAN, stderr=subprocess.PIPE)
    await_steps(path("stopped"))
    ends(run, b"--resume")
    expect(os.path.exists(os.path.join(path("stopped"), "checkpoint.0")), "nothing was saved")


def interrupted_inside():
    """A long step is cancelled: it is not completed, and the state is that before it."""
    folder = path("inside")
    shutil.rmtree(folder, ignore_errors=True)
    slow = write("slow.takt", "model net(x: f32[batch, 6]) seed=2 {\n"
                 "  param w: f32[1024, 1024] = uniform(-0.01, 0.01)\n  h = w\n"
                 "  repeat 150 {\n    h = tanh(h @ w)\n  }\n"
                 "  return dense(x, 3) + reduce_mean(h, axes=[0, 1])\n}\n")
    out = succeeds("plan", slow, "--train", "-D", "batch=32")
    expect("not interrupted; it begins with the first update" in out, out[-600:])
    run = subprocess.Popen([TOOL, "train", slow, *COMMON, "-q", "-t", "1", "--checkpoint", folder],
                           cwd=ROOT, env=CLEAN, stderr=subprocess.PIPE)
    while run.poll() is None:
        with open(f"/proc/{run.pid}/status", encoding="utf-8") as status:
            caught = [line.split()[1] for line in status if line.startswith("SigCgt:")]
        if int(caught[0], 16) >> (signal.SIGINT - 1) & 1:
            break
        time.sleep(0.05)
    time.sleep(0.2)
    ends(run, b"interrupted after step 0;")


def interrupted_twice():
    """A request to stop that arrives several times is one: the save that it begins is finished."""
    folder = path("twice")
    wide = write("twice.takt", "model net(x: f32[batch, 6]) seed=2 {\n"
                 "  return dense(dense(dense(x, 2048), 2048), 3)\n}\n")
    shutil.rmtree(folder, ignore_errors=True)
    run = subprocess.Popen([TOOL, "train", wide, *COMMON, "-q", "--epochs", "1000", "--optimizer",
                            "adam", "--checkpoint", folder],
                           cwd=ROOT, env=CLEAN, stderr=subprocess.PIPE)
    await_steps(folder)
    ends(run, b"--resume goes on",
         (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGINT))
    expect(os.path.exists(os.path.join(folder, "checkpoint.0")), "the save was killed")
    shutil.rmtree(folder)


def interrupted_late():
    """All steps were made: Ctrl-C in the last evaluation does not lose the model."""
    folder, model = path("late"), path("late.taktp")
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.exists(model):
        os.remove(model)
    slow = write("late.takt", "model net(x: f32[batch, 6]) seed=2 {\n"
                 "  param w: f32[512, 512] = uniform(-0.01, 0.01)\n  h = w\n"
                 "  repeat 50 {\n    h = tanh(h @ w)\n  }\n"
                 "  return dense(x, 3) + reduce_mean(h, axes=[0, 1])\n}\n")
    run = subprocess.Popen([TOOL, "train", slow, *COMMON, "-q", "--batch-size", "1", "--limit",
                            "500", "--val-split", "0.9", "--steps", "2", "--checkpoint", folder,
                            "--checkpoint-every", "1", "-o", model],
                           cwd=ROOT, env=CLEAN, stderr=subprocess.PIPE)
    while run.poll() is None and (not os.path.exists(os.path.join(folder, "log.jsonl"))
                                  or len(log_of(folder)) < 2):
        time.sleep(0.02)
    time.sleep(0.1)
    ends(run, b"step 2, which was the last")
    expect(os.path.exists(model), "the model of a complete training is lost")


def without_progress():
    """--patience: it is said when it ends a training; resumed, the training stays ended."""
    folder, model = path("patient"), path("patient.taktp")
    shutil.rmtree(folder, ignore_errors=True)
    still = ["train", NET, *COMMON[:-1], "1e-30", "--val-split", "0.2", "--checkpoint", folder,
             "-o", model]
    for more, epochs in ((["--epochs", "9", "--patience", "2"], 3),
                         (["--epochs", "9", "--patience", "2", "--resume"], 3),
                         (["--epochs", "9", "--patience", "4", "--resume"], 5),
                         (["--epochs", "6", "--resume"], 6)):
        if os.path.exists(model):
            os.remove(model)
        run = takt(*still, *more)
        said = f"stopped after epoch {epochs} of 9: {epochs - 1} evaluations without a better"
        expect(run.returncode == 0 and (said in run.stderr) == ("9" in more[1]), (more, run))
        checks = [row["epoch"] for row in log_of(folder) if "validation_loss" in row]
        expect(checks == list(range(1, epochs + 1)), (more, checks))
        expect(os.path.exists(model), "a training that --patience ends writes its model")


of_one_thread()
interrupted()
interrupted_inside()
interrupted_twice()
interrupted_late()
without_progress()
finish()
