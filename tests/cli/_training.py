"""_training.py - a small training that several tests begin: its model, its data, its log."""
import json
import os
import random
import time

from _cli import write

NET = write("net.takt", """model net(x: f32[batch, 6]) seed=2 {
  h = dense(x, 16, act=relu) |> dropout(0.1)
  return dense(h, 3, act=softmax)
}
""")


def table(rows):
    """Three classes by the largest of three sums: easy to learn."""
    source = random.Random(5)
    lines = ["a,b,c,d,e,f,kind"]
    for _ in range(rows):
        x = [source.uniform(-1, 1) for _ in range(6)]
        sums = [x[0] + x[3], x[1] + x[4], x[2] + x[5]]
        kind = ("red", "green", "blue")[sums.index(max(sums))]
        lines.append(",".join([f"{v:.6f}" for v in x] + [kind]))
    return write("table.csv", "\n".join(lines) + "\n")


TABLE = table(900)
COMMON = ["--data", TABLE, "--batch-size", "32", "--optimizer", "adam", "--lr", "1e-2"]


def log_of(folder):
    with open(os.path.join(folder, "log.jsonl"), encoding="utf-8") as file:
        return [{key: value for key, value in json.loads(line).items() if key != "ms"}
                for line in file]


def await_steps(folder):
    """Waits until steps are in the log: then signals are caught, however slow the machine is."""
    log = os.path.join(folder, "log.jsonl")
    for _ in range(1200):
        if os.path.exists(log) and os.path.getsize(log) > 0:
            return
        time.sleep(0.05)
