"""progress.py - bars of long commands: on terminals, gone before the results, never in pipes."""
import json
import os
import pty
import random
import re
import struct
import subprocess

from _cli import CLEAN, ROOT, TOOL, expect, finish, path, write

BAR = r"\[[= ]{24}\] +\d+ %"


def on_terminal(*flags, **env):
    """All that a command writes to a terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(TOOL, [TOOL, *flags], {**CLEAN, "TERM": "xterm", **env})
    parts = []
    while True:
        try:
            parts.append(os.read(terminal, 65536))
        except OSError:  # the command has ended
            break
        if not parts[-1]:
            break
    os.close(terminal)
    expect(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, b"".join(parts))
    return b"".join(parts).decode()


def shown(text):
    """The final contents of the screen: each line from its last carriage return or erase on."""
    return [re.split(r"\r(?!\n)|\x1b\[K", line.rstrip("\r"))[-1] for line in text.split("\n")]


def check(what, *flags):
    """A bar after no time, none after a long time, with --quiet or in a pipe."""
    text = on_terminal(*flags, TAKT_PROGRESS="0")
    expect(re.search(rf"\r{what} {BAR}", text), text)
    expect(not any("left" in line and "[" in line for line in shown(text)), shown(text))
    expect(not re.search(BAR, on_terminal(*flags, TAKT_PROGRESS="1000")), "it is too early")
    expect(not re.search(BAR, on_terminal(*flags, "--quiet", TAKT_PROGRESS="0")), "quiet")
    piped = subprocess.run([TOOL, *flags], env={**CLEAN, "TAKT_PROGRESS": "0"}, text=True,
                           capture_output=True, check=False)
    expect(piped.returncode == 0, piped.stderr)
    expect("\x1b" not in piped.stdout + piped.stderr and "\r" not in piped.stderr, piped.stderr)


# Large files while they are read: 24 MiB, most of it a hole.
ROWS, COLUMNS = 6144, 1024
head = json.dumps({"w": {"dtype": "F32", "shape": [ROWS, COLUMNS],
                         "data_offsets": [0, 4 * ROWS * COLUMNS]}}).encode()
WEIGHTS = write("w.safetensors", struct.pack("<Q", len(head)) + head)
os.truncate(WEIGHTS, 8 + len(head) + 4 * ROWS * COLUMNS)
LARGE = write("large.takt", f"model m(x: f32[1, {ROWS}]) {{\n"
              f"  param w: f32[{ROWS}, {COLUMNS}] = 0\n  return y = matmul(x, w)\n}}\n")
check("reading", "run", LARGE, "-w", WEIGHTS, "-o", path("y.npy"))
check("factoring", "lowrank", os.path.join(ROOT, "examples", "mlp.takt"), "--rank", "16",
      "--size-first")

# Parts of a quantisation.
random.seed(1)
NET = write("net.takt", "model q(x: f32[batch, 32]) seed=1 {\n  return dense(x, 40, act=relu) |> "
            "dense(48, act=relu) |> dense(56, act=relu) |> dense(10)\n}\n")
DATA = write("net.csv", "".join(
    ",".join(f"{random.random():.3f}" for _ in range(32)) + f",{i % 10}\n" for i in range(64)))
check("(observing|rounding|measuring)", "quantize", NET, "--calib", DATA, "--size-first")
finish()
