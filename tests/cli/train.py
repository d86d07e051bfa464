"""train.py - training from the command line: it learns, resumes, and reports mistakes."""
import hashlib
import json
import math
import os
import random
import re
import shutil
import struct
import subprocess

from _cli import CLEAN, ROOT, TOOL, expect, fails, finish, parsed, path, succeeds, takt, write
from _training import COMMON, NET, TABLE, await_steps, log_of


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
    expect(re.search(r"parameters, .* [1-9][\d.]* [kM]B peak", out.splitlines()[0]), out[:200])
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
    succeeds(*args[:-2], "-o", path("whole.taktp"))
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


def logged_once():
    """Stopped between an evaluation and the checkpoint behind it: the log has it once."""
    args = ["train", NET, *COMMON, "--val-split", "0.2", "--checkpoint-every", "1", "-q"]
    for length in ([["--epochs", "1"], ["--epochs", "2"]], [["--steps", "30"], ["--steps", "40"]]):
        whole, first = path("logged"), path("logged_first")
        for folder, flags in ((whole, length[1]), (first, length[0])):
            shutil.rmtree(folder, ignore_errors=True)
            succeeds(*args, *flags, "--checkpoint", folder)
        ended = log_of(first)
        for lost in ("checkpoint.0", "checkpoint.1"):
            folder = path("logged_again")
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(first, folder)
            os.remove(os.path.join(folder, lost))
            succeeds(*args, *length[0], "--checkpoint", folder, "--resume")
            expect(log_of(folder) == ended, f"{length[0]}, {lost} lost: {log_of(folder)[-3:]}")
            if length[0][0] == "--epochs":
                succeeds(*args, *length[1], "--checkpoint", folder, "--resume")
                expect(log_of(folder) == log_of(whole), f"{length}, {lost} lost")


def narrow():
    """Samples of 2 and 4 bits: any number of shards and workers, the losses of wider ones."""
    source = random.Random(1)
    data = write("narrow.csv", "".join(
        "".join(f"{source.randrange(4)}," for _ in range(5)) + f"{i % 3}\n" for i in range(300)))
    seen = {}
    for kind in ("i64", "u4", "u2"):
        net = write(f"{kind}.takt", f"model net(x: {kind}[batch, 5]) seed=2 {{\n"
                    "  return dense(cast(x, f32), 3)\n}\n")
        for shards in ("1", "4", "7"):
            succeeds("train", net, "--data", data, "--batch-size", "60", "--shards", shards, "-q",
                     "--workers", shards, "--epochs", "2", "--log", path("narrow.jsonl"))
            with open(path("narrow.jsonl"), encoding="utf-8") as lines:
                losses = [json.loads(line)["loss"] for line in lines]
            expect(seen.setdefault(shards, losses) == losses, f"{kind}, {shards} shards: {losses}")


def locked():
    """Two trainings in one folder: the second one reports it and changes nothing."""
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
    """Batches that are prepared ahead are the same: so are weights and logs."""
    os.makedirs(path("workers"), exist_ok=True)
    run = ["train", NET, *COMMON, "--epochs", "2", "-q", "--limit", "333", "--log",
           path("workers/log.jsonl"), "-o", path("workers.taktp"), "--workers"]
    seen = set()
    for count in ("0", "1", "4"):
        succeeds(*run, count)
        seen.add((weights_of(path("workers.taktp")), json.dumps(log_of(path("workers")))))
    expect(len(seen) == 1, "the number of workers changes the weights")
    plain = set(seen)
    for count in ("0", "4"):
        succeeds(*run, count, "--augment", "noise=0.1,time_shift=1")
        seen.add((weights_of(path("workers.taktp")), json.dumps(log_of(path("workers")))))
    expect(len(seen) == 2 and plain < seen, "augmentation depends on the workers, or does nothing")
    fails(2, "train", NET, *COMMON, "--augment", "flop=1", says=["did you mean flip"])
    kept = path("mirrored")
    told = fails(2, "train", NET, *COMMON, "--augment", "noise=0.1,flip=0.5", "--checkpoint", kept,
                 says=["flip is for rows and columns", "hint: "])
    expect("peak" not in told and not os.path.exists(kept), f"columns of a table: {told}")
    labels = write("late.csv", "\n".join("1,2,3,4,5,6," + str(int(i == 150) * 9) for i in
                                         range(200)) + "\n")
    fails(2, "train", NET, "--data", labels, "--loss", "focal", "--workers", "4",
          says=["sample 150 has the label 9"])


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
    fails(2, "train", NET, *COMMON, "--optimizer", "sgd:lr=1", says=["--lr, in programs rate"])
    fails(2, "train", NET, *COMMON, "--optimizer", "sgd:warmth=1", says=["its numbers are moment"])
    fails(2, "train", NET, *COMMON, "--loss", "crossentropy", says=["cross_entropy"])
    fails(2, "train", NET, *COMMON, "--lr", "fast", says=["--lr"])
    fails(2, "train", NET, *COMMON, "--freeze", "(", says=["--freeze"])
    fails(1, "train", NET, *COMMON, "--freeze", ".", says=["no parameter"])
    fails(1, "train", NET, "--data", write("ragged.csv", "1,2,0\n1,2\n"),
          says=["line 2", "2 columns"])
    fails(1, "train", NET, "--data", write("words.csv", "a,b,c\n\n1,x,0\n"),
          says=["line 3, column 2", "x"])
    fails(1, "train", NET, "--data", write("names.csv", "a,b,c\n"), says=["no rows"])
    fails(1, "train", NET, "--data", write("named.csv", "a,b,c\n1,2,0\n"), "--label", "z",
          says=["no column called z", "its columns are a, b, c"])
    fails(2, "train", NET, "--data", write("few.csv", "1,2,0\n2,3,1\n"),
          says=["sample of the data is [2]", "takes [6]", "`takt data "])
    fails(2, "train", NET, *COMMON, "--loss", "mse", says=["1 label, mse compares 3 numbers"])
    fails(2, "train", NET, *COMMON, "--resume", says=["--resume needs", "--checkpoint DIR"])
    fails(1, "train", NET, *COMMON, "--lr", "1e6", "--optimizer", "sgd", "--epochs", "9",
          says=["the loss of step"])
    labels = write("labels.csv", "\n".join("1,2,3,4,5,6," + str(i) for i in range(4)) + "\n")
    fails(2, "train", NET, "--data", labels, says=["sample 3 has the label 3", "for 3 classes"])
    succeeds("train", NET, "--data", labels, "--loss", "cross_entropy:ignore=3")
    ages = write("ages.csv", "\n".join(f"1,2,{i},{20 + i}" for i in range(40)) + "\n")
    one = write("one.takt", "model one(x: f32[batch, 3]) { return dense(x, 1) }\n")
    fails(2, "train", one, "--data", ages, says=["sample 0 has the label 20", "--loss mse"])
    succeeds("train", one, "--data", ages, "--loss", "mse", "--val-split", "0.2")
    told = fails(4, "train", NET, *COMMON, "--memory-limit", "1K",
                 says=["the least is --batch-size "])
    expect("-D " not in told, f"a flag that train does not have: {told}")
    for flag in ("-o", "--curve", "--log"):
        told = fails(1, "train", NET, *COMMON, flag, path("nowhere/net.taktp"),
                     says=["there is no folder"])
        expect("epoch" not in told, f"{flag} is found out after the training: {told}")


def skips():
    """Steps whose loss is not finite: reported with their cause, or skipped."""
    wild = ["--lr", "1e6", "--optimizer", "sgd", "--epochs", "3"]
    shutil.rmtree(path("wild"), ignore_errors=True)
    if os.path.exists(path("lost.taktp")):
        os.remove(path("lost.taktp"))
    fails(1, "train", NET, "--data", TABLE, *wild, "--checkpoint", path("wild"),
          "--checkpoint-every", "1",
          says=["7003", "the first result that is not finite is that of dense_", "--on-nan skip",
                "--resume"])
    fails(1, "train", NET, "--data", TABLE, *wild, "--on-nan", "skip", "-o", path("lost.taktp"),
          says=["no step had a finite loss"])
    huge = write("huge.csv", "".join("1e38,-1e38,1e38,1e38,-1e38,1e38,%d\n" % (i % 3)
                                     for i in range(90)))
    fails(1, "train", NET, "--data", huge, "--on-nan", "skip", "-o", path("lost.taktp"),
          says=["no step had a finite loss"])
    expect(not os.path.exists(path("lost.taktp")), "weights were written without a step")
    some = write("some.csv", "".join("1,2,3,%d,5,6,%d\n" % (i, 1 if i < 40 else 2)
                                     for i in range(80)))
    only = ["train", NET, "--data", some, "--no-shuffle", "--batch-size", "20", "--loss",
            "cross_entropy:ignore=2", "--epochs", "2"]
    told = takt(*only, "--val-split", "0.2", "--log", path("some.jsonl"))
    expect(told.returncode == 0 and "2 steps skipped" in told.stdout and "nan" not in told.stdout
           and told.stderr.count("none of these labels counts") == 1, told)
    with open(path("some.jsonl"), encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    expect([row.get("skipped", False) for row in rows if "rate" in row]
           == 2 * [False, False, True, True], rows)
    fails(1, *only[:7], *only[9:], "--loss", "cross_entropy:ignore=1", "--limit", "40",
          says=["no step had a finite loss and labels that count"])
    fails(2, "train", NET, "--data", TABLE, "--on-nan", "ignore", says=["stop or skip"])
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (40, 6), }"
    head = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.ljust(117).encode() + b"\n"
    rows = [[math.nan if i in (7, 33) and k == 2 else i / 40 - k / 6 for k in range(6)]
            for i in range(40)]
    bad = path("bad.npy")
    with open(bad, "wb") as out:
        out.write(head + b"".join(struct.pack("<6f", *row) for row in rows))
    own = write("own.takt", "model own(x: f32[batch, 6]) seed=1 {\n  h = dense(x, 2)\n"
                "  return loss=reduce_mean(h * h)\n}\n")
    facts = parsed("data", bad, "--json")["fields"][0]
    expect(facts["not_finite"] == [7, 33] and math.isfinite(facts["mean"]), facts)
    expect("not finite: samples 7 33" in succeeds("data", bad), "bad samples are not listed")
    flags = ["--data", write("zeros.csv", "0,0,0,0,0,0,0\n1,1,1,1,1,1,0\n"), "--batch-size", "1",
             "--no-shuffle", "--on-nan", "skip", "-q", "--log", path("root.jsonl")]
    steep = write("steep.takt", "model steep(x: f32[batch, 6]) seed=1 {\n"
                  "  h = dense(x, 2, bias=false)\n  return loss=reduce_mean(sqrt(h * h))\n}\n")
    succeeds("train", steep, *flags)
    with open(path("root.jsonl")) as lines:
        rows = [json.loads(line) for line in lines]
    expect([row.get("skipped", False) for row in rows] == [True, False], rows)
    expect(rows[0]["loss"] == 0 and rows[1]["loss"] > 0, rows)
    flags = ["--data", bad, "--batch-size", "4", "--no-shuffle"]
    fails(1, "train", own, *flags, says=["step 2", "x of sample 3 of the batch"])
    out = succeeds("train", own, *flags, "--on-nan", "skip", "--log", path("bad.jsonl"))
    expect("2 steps skipped" in out, out)
    with open(path("bad.jsonl")) as lines:
        rows = [json.loads(line) for line in lines]
    expect([row["step"] for row in rows if row.get("skipped")] == [2, 9], rows)
    expect(all((row["loss"] is None) == ("skipped" in row) for row in rows), rows)


def unwritten():
    """A checkpoint that could not be written is not resumed from."""
    for generation, saved in ((0, None), (1, 29)):
        folder = path(f"unwritten{generation}")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.join(folder, f"checkpoint.{generation}", "in the way"))
        said = fails(1, "train", NET, *COMMON, "--epochs", "4", "-q", "--checkpoint", folder,
                     says=[f"checkpoint.{generation}"])
        expect(("has the state" in said) == (saved is not None), said)
        expect(saved is None or f"the state after step {saved};" in said, said)


def of_its_own():
    """A model that returns `loss` ignores labels; files may lie in the folder of --checkpoint."""
    model = write("auto.takt", "model auto(x: f32[batch, 6]) seed=1 {\n  z = dense(x, 2)\n"
                  "  d = dense(z, 6) - x\n  return code=z, loss=reduce_mean(d * d)\n}\n")
    folder = path("within")
    shutil.rmtree(folder, ignore_errors=True)
    succeeds("train", model, "--data", TABLE, "--epochs", "1", "--checkpoint", folder, "-o",
             os.path.join(folder, "auto.taktp"), "--log", os.path.join(folder, "own.jsonl"))
    expect({"auto.taktp", "own.jsonl"} <= set(os.listdir(folder)), os.listdir(folder))


def not_lost():
    """Weights are written though the curve could not be; and an earlier training is kept aside."""
    model, curve = path("not_lost.taktp"), path("in the way.svg")
    shutil.rmtree(curve, ignore_errors=True)
    os.makedirs(curve)
    if os.path.exists(model):
        os.remove(model)
    fails(1, "train", NET, *COMMON, "-q", "--curve", curve, "-o", model, says=["cannot be written"])
    expect(os.path.exists(model), "a curve that could not be drawn costs the training")
    folder = path("twice")
    shutil.rmtree(folder, ignore_errors=True)
    args = ["train", NET, *COMMON, "--checkpoint", folder]
    expect("no checkpoint" in takt(*args, "--epochs", "3", "--resume").stderr, "a first resume")
    expect("earlier.1 --resume" in takt(*args, "--epochs", "1").stderr, "where the earlier one is")
    expect(sorted(os.listdir(folder)) == ["checkpoint.0", "curve.svg", "earlier.1", "lock",
                                          "log.jsonl"], os.listdir(folder))
    kept = os.path.join(folder, "earlier.1")
    expect(sorted(os.listdir(kept)) == ["checkpoint.0", "checkpoint.1", "log.jsonl"],
           os.listdir(kept))
    expect("going on after step 29\n" in takt(*args, "--epochs", "2", "--resume").stderr,
           "two trainings are mixed")
    said = takt(*args, "--epochs", "2", "--resume").stderr
    expect("complete since step 58; more --epochs" in said, said)


learns()
same_bits()
goes_on()
logged_once()
narrow()
locked()
workers()
logs()
skips()
unwritten()
of_its_own()
not_lost()
mistakes()
finish()
