"""train_accuracy.py - short trainings on real data learn what they should: `make accuracy` in
short."""
import os
import sys

from _cli import ROOT, expect, finish, parsed, path, succeeds

DATA = os.environ.get("TAKT_DATA", os.path.join(os.path.dirname(ROOT), "shared", "data"))
TEXT = os.path.join(DATA, "data", "text", "tinyshakespeare.txt")
DIGITS = os.path.join(DATA, "data", "mnist")


def digits():
    """Two convolutions, a tenth of MNIST once: 0.92 of pictures that were not seen."""
    out = path("digits.taktp")
    succeeds("train", "examples/fashion.takt", "--data", DIGITS, "--limit", "6000", "--epochs", "1",
             "--batch-size", "64", "--optimizer", "adamw", "--lr", "2e-3", "--schedule", "cosine",
             "-q", "-o", out)
    score = parsed("eval", out, "--data", DIGITS, "--split", "test", "--limit", "2000", "--json")
    top = score["metrics"][0]
    print(f"digits: {top['value']}")
    expect(top["metric"] == "top1" and top["value"] >= 0.91, top)


def letters():
    """Two hundred steps on Shakespeare: perplexity of a letter from 65 to 11.6."""
    out = path("letters.taktp")
    flags = ["--data", TEXT, "--window", "64"]
    succeeds("train", "bench/train/accuracy/shakespeare.takt", *flags, "--batch-size", "12",
             "--steps", "200", "--optimizer", "adamw:beta2=0.99", "--lr", "2e-3", "--schedule",
             "cosine:floor=0.1", "--warmup", "20", "--clip", "1", "-q", "-o", out)
    score = parsed("eval", out, *flags, "--limit", "100", "--metric", "ppl", "--json")["metrics"][0]
    print(f"letters: {score['value']}")
    expect(score["value"] <= 12, score)


if not os.path.isdir(DIGITS) or not os.path.exists(TEXT):
    print("skipped: the shared data is not here")
    sys.exit(77)
digits()
letters()
finish()
