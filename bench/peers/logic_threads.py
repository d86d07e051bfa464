"""logic_threads.py - what a second thread gains in rules: runs of one bound session.

Facts that stand in a text are followed while a plan is made, so its runs have nothing left to do.
Here they are inputs instead, and `takt run -r N` tells the median time of a run: no process is
subtracted from another. Processes of 1, 2, 2 and 1 threads follow each other, so that what drifts
falls on both.
"""
import json
import os
import re
import statistics
import subprocess


def with_inputs(text, folder):
    """The text with facts as inputs: tuples where a rule has a capacity, bools where it has none. A
    dense relation is returned as it is: counting it takes longer than deriving it."""
    is_sparse = "capacity=" in text
    if not is_sparse:
        counted = re.search(r"count x, y: (\w+)", text)[1]
        text = text.replace("return pairs", f"return {counted}")

    def one(match):
        if not is_sparse:
            return match[1]
        with open(os.path.join(folder, match[2]), "rb") as file:
            return f"{match[1]} sparse capacity={sum(1 for _ in file)}"
    files = dict(re.findall(r'relation (\w+)\(.*?\) = "(.*?)"', text))
    bound = "".join(f"# {name}={file}\n" for name, file in files.items())
    return bound + re.sub(r'(relation \w+\(.*?\)) = "(.*?)"', one, text)


def run(tool, path, threads, repeats):
    """Seconds of a run: the median of `repeats`."""
    with open(path, encoding="utf-8") as file:
        bound = [line[2:].strip() for line in file if line.startswith("# ")]
    command = [tool, "run", "-t", str(threads), "-r", str(repeats), "--json", path]
    for item in bound:
        command += ["-i", item]
    out = subprocess.run(command, capture_output=True, text=True, check=True,
                         cwd=os.path.dirname(path)).stdout
    return json.loads(out)["time_ns"]["median"] / 1e9


def gain(tool, path, seconds, rounds):
    """(median gain, least, most, seconds with 1 thread, with 2), from ABBA blocks."""
    repeats = max(3, min(99, int(1 / max(seconds, 1e-3))))
    blocks = [[run(tool, path, n, repeats) for n in (1, 2, 2, 1)] for _ in range(max(rounds, 2))]
    gains = sorted((a + d) / (b + c) for a, b, c, d in blocks)
    return (statistics.median(gains), gains[0], gains[-1],
            min(t for block in blocks for t in (block[0], block[3])),
            min(t for block in blocks for t in (block[1], block[2])))
