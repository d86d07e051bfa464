"""train.py - training from the command line: it learns, stops, goes on, and names mistakes."""
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import time

from _cli import CLEAN, ROOT, TOOL, expect, fails, finish, parsed, path, succeeds, write

NET = write("net.takt", """model net(x: f32[batch, 6]) seed=2 {
  h = dense(x, 16, act=relu) |> dropout(0.1)
  return dense(h, 3, act=softmax)
}
""")


def table(rows, name="table.csv"):
    """Three classes by the largest of three sums: easy to learn."""
    source = random.Random(5)
    lines = ["a,b,c,d,e,f,kind"]
    for _ in range(rows):
        x = [source.uniform(-1, 1) for _ in range(6)]
        sums = [x[0] + x[3], x[1] + x[4], x[2] + x[5]]
        kind = ("red", "green", "blue")[sums.index(max(sums))]
        lines.append(",".join([f"{v:.6f}" for v in x] + [kind]))
    return write(name, "\n".join(lines) + "\n")


TABLE = table(900)
COMMON = ["--data", TABLE, "--batch-size", "32", "--optimizer", "adam", "--lr", "1e-2"]


def digest(file):
    with open(file, "rb") as source:
        return hashlib.sha256(source.read()).hexdigest()


def weights_of(model):
    """A digest of the weights alone: a compiled model also holds how it was made."""
    succeeds("convert", model, "-o", model + ".safetensors")
    return digest(model + ".safetensors")


def learns():
    out = succeeds("train", NET, *COMMON, "--epochs", "12", "--val-split", "0.2", "-o",
                   path("net.taktp"))
    last = [row for row in out.splitlines() if row.startswith("epoch 12")][0]
    expect(float(last.rsplit("accuracy ", 1)[1].split(";")[0]) > 0.85, last)
    expect("softmax was taken off" in out, "the end of the model is not spoken of")
    expect("parameters" in out.splitlines()[0] and "MB peak" in out.splitlines()[0], out[:200])
    succeeds("run", path("net.taktp"), "-D", "batch=4", "--random")
    facts = parsed("data", TABLE, "--json")
    expect(facts["samples"] == 900 and facts["classes"] == 3, facts)


def same_bits():
    seen = set()
    for flags in (["--threads", "1"], ["--threads", "2"], ["--isa", "scalar"],
                  ["--batch-size", "16", "--accumulate", "2", "--shards", "2"]):
        out = path("bits.taktp")
        more = ["--shards", "2"] if "--accumulate" not in flags else []
        succeeds("train", NET, *COMMON, *more, *flags, "--epochs", "2", "-q", "-o", out)
        seen.add(weights_of(out))
    expect(len(seen) == 1, "threads, instruction set or micro-batches change the weights")


def goes_on():
    """Killed at any moment and resumed until done: the weights of a training without a break."""
    args = ["train", NET, *COMMON, "--epochs", "6", "-q", "--checkpoint-every", "3"]
    succeeds(*args, "-o", path("whole.taktp"))
    folder, source, kills = path("checkpoints"), random.Random(3), 0
    shutil.rmtree(folder, ignore_errors=True)
    done = False
    while not done and kills < 200:
        run = subprocess.Popen([TOOL, *args, "--checkpoint", folder, "--resume", "-o",
                                path("broken.taktp")], cwd=ROOT, env=CLEAN, stderr=subprocess.PIPE)
        try:
            run.wait(timeout=source.uniform(0.01, 0.12) + 0.01 * kills)
        except subprocess.TimeoutExpired:
            run.kill()
            kills += 1
            run.wait()
            continue
        done = run.returncode == 0
        expect(done, run.stderr.read().decode())
        if not done:
            return
    expect(done and kills > 0, f"{kills} kills")
    expect(weights_of(path("broken.taktp")) == weights_of(path("whole.taktp")),
           f"after {kills} kills the weights differ")
    with open(os.path.join(folder, "checkpoint.0"), "r+b") as file:
        file.seek(200)
        file.write(b"\xff\x00\xff")
    out = subprocess.run([TOOL, *args[:-2], "--epochs", "7", "--checkpoint", folder, "--resume"],
                         cwd=ROOT, env=CLEAN, capture_output=True, text=True, timeout=60,
                         check=False)
    expect(out.returncode == 0, f"a damaged generation ends the training: {out.stderr}")
    fails(2, "train", NET, *COMMON, "--limit", "500", "--checkpoint", folder, "--resume",
          says=["other data or batches"])


def await_steps(folder):
    """Until steps are in the log: then signals are caught, however slow the machine is."""
    log = os.path.join(folder, "log.jsonl")
    for _ in range(1200):
        if os.path.exists(log) and os.path.getsize(log) > 0:
            return
        time.sleep(0.05)


def interrupted():
    shutil.rmtree(path("stopped"), ignore_errors=True)
    run = subprocess.Popen([TOOL, "train", NET, *COMMON, "--epochs", "100000", "-q", "--checkpoint",
                            path("stopped")], cwd=ROOT, env=CLEAN, stderr=subprocess.PIPE)
    await_steps(path("stopped"))
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=20)
    expect(run.returncode == 130 and b"--resume" in said, f"{run.returncode}: {said}")
    expect(os.path.exists(os.path.join(path("stopped"), "checkpoint.0")), "nothing was saved")


def locked():
    """Two trainings on one folder: the second one says so and changes nothing."""
    folder = path("locked")
    shutil.rmtree(folder, ignore_errors=True)
    run = subprocess.Popen([TOOL, "train", NET, *COMMON, "--epochs", "100000", "-q", "--checkpoint",
                            folder], cwd=ROOT, env=CLEAN, stderr=subprocess.PIPE)
    await_steps(folder)
    fails(2, "train", NET, *COMMON, "--checkpoint", folder, "--resume",
          says=["7007", "another training"])
    run.kill()
    run.communicate(timeout=20)
    succeeds("train", NET, *COMMON, "-q", "--checkpoint", folder)


def workers():
    """Batches that are prepared ahead are the same."""
    seen = set()
    for count in ("0", "1", "4"):
        succeeds("train", NET, *COMMON, "--workers", count, "--epochs", "2", "-q", "--limit", "333",
                 "-o", path("workers.taktp"))
        seen.add(weights_of(path("workers.taktp")))
    expect(len(seen) == 1, "the number of workers changes the weights")
    plain = set(seen)
    for count in ("0", "4"):
        succeeds("train", NET, *COMMON, "--workers", count, "--epochs", "2", "-q", "--limit", "333",
                 "--augment", "noise=0.1,shift=1", "-o", path("workers.taktp"))
        seen.add(weights_of(path("workers.taktp")))
    expect(len(seen) == 2 and plain < seen, "augmentation depends on the workers, or does nothing")
    fails(2, "train", NET, *COMMON, "--augment", "flop=1", says=["did you mean flip"])
    labels = write("late.csv", "\n".join("1,2,3,4,5,6," + str(int(i == 150) * 9) for i in
                                         range(200)) + "\n")
    fails(1, "train", NET, "--data", labels, "--workers", "4", says=["9"])


def logs():
    log = path("log.jsonl")
    succeeds("train", NET, *COMMON, "--log", log, "-q", "--clip", "1")
    with open(log) as lines:
        rows = [json.loads(line) for line in lines]
    expect(len(rows) == 29 and [row["step"] for row in rows] == list(range(1, 30)), len(rows))
    expect(all({"loss", "rate", "accuracy", "norm", "ms"} <= set(row) for row in rows), rows[0])


def mistakes():
    fails(2, "train", NET, says=["--data"])
    fails(2, "train", NET, *COMMON, "--steps", "20", "--epochs", "3", says=["--steps and --epochs"])
    fails(1, "train", NET, "--data", path("nothing"), says=["nothing"])
    fails(2, "train", NET, *COMMON, "--optimizer", "adma", says=["did you mean adam"])
    fails(2, "train", NET, *COMMON, "--optimizer", "adam:beta3=1", says=["beta3", "did you mean"])
    fails(2, "train", NET, *COMMON, "--loss", "crossentropy", says=["cross_entropy"])
    fails(2, "train", NET, *COMMON, "--lr", "fast", says=["--lr"])
    fails(2, "train", NET, *COMMON, "--freeze", "(", says=["--freeze"])
    fails(1, "train", NET, *COMMON, "--freeze", ".", says=["no parameter"])
    fails(1, "train", NET, "--data", write("ragged.csv", "1,2,0\n1,2\n"),
          says=["row 1", "2 columns"])
    fails(1, "train", NET, "--data", write("words.csv", "a,b,c\n1,x,0\n"), says=["column 2", "x"])
    fails(1, "train", NET, "--data", write("few.csv", "1,2,0\n2,3,1\n"), says=["2 elements", "6"])
    fails(1, "train", NET, *COMMON, "--lr", "1e6", "--optimizer", "sgd", "--epochs", "9",
          says=["the loss of step"])
    labels = write("labels.csv", "\n".join("1,2,3,4,5,6," + str(i) for i in range(4)) + "\n")
    fails(1, "train", NET, "--data", labels, says=["3"])


learns()
same_bits()
goes_on()
interrupted()
locked()
workers()
logs()
mistakes()
finish()
