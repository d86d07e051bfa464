"""train_bar.py - the display of a training: the bar on a terminal, and parts that add up."""
import fcntl
import os
import pty
import re
import struct
import termios

from _cli import CLEAN, TOOL, expect, finish, parsed, path, succeeds, write

NET = write("seen.takt", "model seen(x: f32[batch, 4]) seed=1 {\n"
            "  return dense(dense(x, 8, act=relu), 3)\n}\n")
ROWS = write("seen.csv", "".join(f"{i % 3},{i % 5},{i % 7},1,{i % 3}\n" for i in range(60)))
FLAGS = ["train", NET, "--data", ROWS, "--epochs", "2", "--batch-size", "4", "-o",
         path("seen.taktp")]


def on_terminal(columns):
    """All that the training writes to a terminal as wide as this."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        os.execve(TOOL, [TOOL, *FLAGS], {**CLEAN, "TERM": "xterm"})
    parts = []
    while True:
        try:
            parts.append(os.read(terminal, 65536))
        except OSError:  # the training has ended
            break
        if not parts[-1]:
            break
    os.close(terminal)
    expect(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, b"".join(parts))
    return b"".join(parts).decode()


def bar():
    """Loss, metric, samples a second, wait and time left; it is wiped before a line is printed."""
    text = on_terminal(110)
    found = re.findall(r"\r(epoch \d/2 \[[= ]{24}\] loss [\d.]+  accuracy [\d.]+  \d+ samples/s  "
                       r"\d+ % waiting  \S+ \S+ left)\x1b\[K", text)
    expect(len(found) >= 1, text)
    expect("\r\x1b[Kepoch 1: loss" in text and "\r\x1b[Kepoch 2: loss" in text, text)
    for columns in (40, 60, 80, 100):
        lines = re.findall(r"\r(epoch [^\r\n\x1b]*)\x1b\[K", on_terminal(columns))
        expect(lines and all(len(line) < columns and "left" in line for line in lines),
               f"{columns} columns: {lines}")
    plain = succeeds(*FLAGS)
    expect("\x1b" not in plain and "\r" not in plain and "left" not in plain, plain)


def parts_add_up():
    """Data, forward, gradient, optimizer and rest are the iteration, within 3 %."""
    parts = parsed("benchmark", "run", NET, "--type", "training", "--batch-size", "8", "--threads",
                   "1", "--iterations", "50", "--json")["parts_ns"]
    means = {name: part["mean"] for name, part in parts.items()}
    whole = means.pop("iteration")
    expect(set(means) >= {"data", "forward", "gradient", "optimizer"}, parts)
    expect(all(mean >= 0 for mean in means.values()), parts)
    expect(abs(sum(means.values()) - whole) <= 0.03 * whole, parts)


def pictures(count):
    """Files of MNIST's form, with a bright line that is lower for every class."""
    folder = path("lines")
    os.makedirs(folder, exist_ok=True)
    rows = [i % 10 * 2 for i in range(count)]
    images = b"".join(bytes(56 * row) + bytes([200]) * 56 + bytes(784 - 56 * (row + 1))
                      for row in (row // 2 for row in rows))
    with open(os.path.join(folder, "train-images-idx3-ubyte"), "wb") as file:
        file.write(struct.pack(">4i", 0x803, count, 28, 28) + images)
    with open(os.path.join(folder, "train-labels-idx1-ubyte"), "wb") as file:
        file.write(struct.pack(">2i", 0x801, count) + bytes(row // 2 for row in rows))
    return folder


def waits_little():
    """Batches are ready when a step wants them, also behind the end of an epoch: in the best epoch,
    since other programs may take the processor that prepares them, at most 2 % is waiting."""
    digits, text = pictures(640), write("seen.txt", "to be or not to be, that is " * 200)
    for model, data, *flags in (("spirals", "examples/spirals.csv", "--epochs", "60"),
                                ("mlp", digits, "--epochs", "20"),
                                ("fashion", digits, "--epochs", "2"),
                                ("gpt", text, "--epochs", "3")):
        out = succeeds("train", f"examples/{model}.takt", "--data", data, "--batch-size", "32",
                       *flags)
        shares = [float(share) for share in re.findall(r"([\d.]+) % waiting for data", out)]
        expect(len(shares) == int(flags[1]), out)
        expect(shares and min(shares) <= 2, f"{model}: {shares} % of the epochs are waiting")


bar()
parts_add_up()
waits_little()
finish()
