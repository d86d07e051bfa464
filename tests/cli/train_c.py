"""train_c.py - examples/c/train.c: forty lines of C train a network on MNIST's files."""
import os
import random
import struct
import subprocess

from _cli import CLEAN, ROOT, TOOL, expect, finish, parsed, path

DATA = os.environ.get("TAKT_DATA", os.path.join(os.path.dirname(ROOT), "shared", "data"))
PROGRAM = os.path.join(os.environ.get("TAKT_BUILD_DIR", os.path.dirname(TOOL)), "example_train")
CLASSES, SIDE = 10, 28


def pictures(folder, part, count):
    """Files of MNIST's form: a bright bar that is lower for every class, with noise around it."""
    source = random.Random(part)
    images, labels = bytearray(), bytearray()
    for i in range(count):
        labels.append(i % CLASSES)
        first = 2 * labels[-1] + 3
        for y in range(SIDE):
            low, high = (150, 255) if first <= y < first + 4 else (0, 120)
            images += bytes(source.randrange(low, high) for _ in range(SIDE))
    for kind, head, data in (("images-idx3", (0x803, count, SIDE, SIDE), images),
                             ("labels-idx1", (0x801, count), labels)):
        with open(os.path.join(folder, f"{part}-{kind}-ubyte"), "wb") as file:
            file.write(struct.pack(f">{len(head)}i", *head) + data)


def learns(folder, least):
    out = path("c_digits.taktp")
    run = subprocess.run([PROGRAM, "examples/mlp.takt", folder, out], cwd=ROOT, env=CLEAN,
                         text=True, capture_output=True, timeout=300, check=False)
    if expect(run.returncode == 0 and "loss" in run.stdout, run):
        score = parsed("eval", out, "--data", folder, "--split", "test", "--json")["metrics"][0]
        expect(score["metric"] == "top1" and score["value"] >= least, score)


def fails_with_a_sentence():
    for args, code, says in ((["examples/mlp.takt", path("no-digits"), "o"], 1, "no-digits"),
                             (["no-model.takt", ROOT, "o"], 1, "no-model.takt"), ([], 2, "")):
        run = subprocess.run([PROGRAM, *args], cwd=ROOT, env=CLEAN, text=True, capture_output=True,
                             timeout=60, check=False)
        expect(run.returncode == code and says in run.stdout, run)


with open(os.path.join(ROOT, "examples", "c", "train.c"), encoding="utf-8") as text:
    expect(len(text.readlines()) <= 40, "the example has more than forty lines")
os.makedirs(path("bars"), exist_ok=True)
pictures(path("bars"), "train", 1500)
pictures(path("bars"), "t10k", 200)
learns(path("bars"), 0.97)
if os.path.isdir(os.path.join(DATA, "data", "mnist")):
    learns(os.path.join(DATA, "data", "mnist"), 0.94)
fails_with_a_sentence()
finish()
