"""screen.py - reports on a terminal: a row is a line, in the characters of the locale."""
import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading

from _cli import CLEAN, MLP, ROOT, TMP, TOOL, expect, fails, finish, succeeds, takt, write

UTF8 = {"LC_ALL": "C.UTF-8", "COLUMNS": "", "TERM": "dumb"}
NAME = "a_layer_whose_name_is_as_long_as_those_that_other_programs_write_"
LONG = write("long.takt", f"""model long(x: f32[batch, 784]) {{
  {NAME}first = relu(x)
  {NAME}last = dense({NAME}first, 10)
  return {NAME}first, {NAME}last
}}
""")
NAMES = ["summary", "plan", "kernels", "explain", "inspect"]


END = b"\x1eend of what the command wrote\x1e"


def on_terminal(columns, *words, env=None, errors=False):
    """The screen of a terminal of `columns`, line by line; with `errors` both outputs."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    shown = bytearray()

    def read():
        while END not in shown:
            shown.extend(os.read(master, 1 << 16))

    reader = threading.Thread(target=read)
    reader.start()
    run = subprocess.run([TOOL, *words], cwd=ROOT, env={**CLEAN, **UTF8, **(env or {})},
                         stdout=slave, stderr=slave if errors else None, check=False)
    # Some kernels drop what is unread when the last writer closes a terminal: one stays until
    # everything has arrived.
    os.write(slave, END)
    reader.join()
    os.close(slave)
    os.close(master)
    expect(run.returncode == 0, f"takt {words} exits with {run.returncode}")
    return shown.replace(END, b"").decode().replace("\r\n", "\n").splitlines()


def rules(lines):
    return [line for line in lines if line.strip() and not line.strip("─- ")]


for columns in (80, 100, 133):
    for words in (["summary", LONG], ["plan", LONG]):
        lines = on_terminal(columns, *words)
        table = [line for line in lines if line.startswith("  ") and "  " in line.strip()]
        expect(len(table) >= 4, f"{words}: {lines}")
        for line in table + rules(lines):
            expect(len(line) <= columns, f"{words}: {len(line)} characters in {columns}: {line}")
        expect(any("…" in line for line in table) or columns > 110, f"{words}: {table}")
        expect(any("relu" in line.split("…")[-1] for line in table), f"the ends are kept: {table}")
lines = on_terminal(200, "summary", LONG)
expect(f"{NAME}first (relu)" in "\n".join(lines), "nothing is shortened where there is room")
expect(lines == takt("summary", LONG, env=UTF8).stdout.splitlines(), "and all is as in a pipe")
expect(f"{NAME}first (relu)" in succeeds("summary", LONG, env={**UTF8, "COLUMNS": "40"}),
       "a pipe has no width")
expect(max(map(len, rules(on_terminal(200, "summary", LONG, env={"COLUMNS": "90"})))) <= 90,
       "COLUMNS goes before the terminal")

# Prose is wrapped within its column, and none of it is lost.
wide, narrow = (on_terminal(columns, "ops") for columns in (400, 90))
expect(all(len(line) <= 90 for line in narrow), [line for line in narrow if len(line) > 90])
expect(" ".join(" ".join(wide).split()) == " ".join(" ".join(narrow).split()), "words are lost")

for words in (["help"], ["help", "all"], ["help", "run"], ["benchmark", "--help"],
              ["benchmark", "run", "--help"]):
    wide, narrow = (on_terminal(columns, *words) for columns in (400, 72))
    expect(max(map(len, wide)) <= 100, f"{words}: prose is hard to read in lines of {wide}")
    expect(max(map(len, narrow)) <= 72, f"{words}: {[line for line in narrow if len(line) > 72]}")
    flow = [" ".join(" ".join(lines).replace(" \\", " ").split()) for lines in (wide, narrow)]
    expect(flow[0] == flow[1], f"{words}: words are lost")

# An example that takes two lines is one command for a shell.
EXAMPLE = 'takt explain 2103; takt explain examples/family.takt --fact "ancestor(ann, eve)"'
lines = on_terminal(50, "explain", "--help")
shown = "\n".join(lines)[len("example: ") + "\n".join(lines).index("example: "):]
expect(len(shown.splitlines()) > 1 and shown.replace("\\\n", "").split() == EXAMPLE.split(), shown)

# Colours: for our own words, on a terminal, unless switched off.
PROVE = ["verify", "examples/bounded.takt", "--property", "examples/bounded.vnnlib"]
SHOWN = {"TERM": "xterm"}
expect(on_terminal(80, *PROVE, env=SHOWN)[0].startswith("\033[1;32mproved\033[0m for"), "a verdict")
for env, flags in (({"NO_COLOR": "1"}, []), ({"TERM": "dumb"}, []), ({}, ["--color", "never"])):
    text = "\n".join(on_terminal(80, *PROVE, *flags, env={**SHOWN, **env}))
    expect("\033" not in text and "proved" in text, f"{env} {flags}: {text!r}")
expect("\033" not in succeeds(*PROVE), "colours in a pipe")
page = on_terminal(80, "run", "--help", env=SHOWN)
expect("\033" not in "".join(page), "a colour in a help text")
expect("\033[1;32mproved" in succeeds(*PROVE, "--color", "always"), "--color always")
wrong = takt("run", "nowhere.takt", "--color", "always").stderr
expect(wrong.startswith("\033[1;31merror\033[0m[TAKT"), wrong)
fails(2, *PROVE, "--color", "red", says=["--color does not take red", "auto, always or never"])

# Figures are not shortened.
figures = {word for line in takt("plan", LONG, env=UTF8).stdout.splitlines()
           if not line.startswith("process:")
           for word in line.split() if word.replace(",", "").isdigit()}
shown = {word for line in on_terminal(80, "plan", LONG) for word in line.split()}
expect(figures <= shown, f"lost: {figures - shown}")

# Characters of the locale.
for locale, mark in (({"LC_ALL": "C"}, "-"), ({"LC_ALL": "POSIX"}, "-"),
                     ({"LC_ALL": "", "LANG": "de_DE.utf8"}, "─"), (UTF8, "─"),
                     ({"LC_ALL": "", "LC_CTYPE": "C", "LANG": "de_DE.UTF-8"}, "-")):
    clean = {"LC_ALL": "", "LC_CTYPE": "", "LANG": "", **locale}
    for name in NAMES:
        text = takt(name, MLP, env=clean, text=False).stdout.decode()
        expect(mark == "─" or text.isascii(), f"{locale}: takt {name} is not ASCII: {text}")
    text = succeeds("summary", MLP, env=clean)
    expect(rules(text.splitlines()) and set(rules(text.splitlines())[0]) == {" ", mark},
           f"{locale}: {text}")
    text = "\n".join(on_terminal(80, "plan", LONG, env=clean))
    expect(mark == "─" or (text.isascii() and ".." in text), f"{locale}: {text}")
unicode_model = write("name.takt", "model `größe`(x: f32[2]) { return x }")
expect("größe" in takt("summary", unicode_model, env={"LC_ALL": "C"}, encoding="utf-8").stdout,
       "names are the model's, whatever the locale")

# One spelling of microseconds, on the terminal and in pages; both are read.
for file in ("page.html", "page.md"):
    page = os.path.join(TMP, file)
    succeeds("benchmark", "run", MLP, "--iterations", "20", "-q", "-o", page)
    with open(page, encoding="utf-8") as written:
        text = written.read()
    expect("&micro;" not in text and "µ" not in text and " us" in text or file.endswith(".md"),
           f"{file} writes microseconds otherwise")
succeeds("run", MLP, "--deadline", "900000µs")
# Anything that takes longer than a second shows its progress, only on terminals; nothing of it
# stays.
SLOW = ("benchmark", "run", MLP, "--duration", "2.5", "--ci-width", "0.0001")
shown = "\n".join(on_terminal(120, *SLOW, errors=True))
expect("measuring [" in shown and " s left" in shown, shown[:300])
expect("\x1b[K" in shown.rsplit("s left", 1)[-1], "the bar is not wiped away")
for quiet in (takt(*SLOW).stderr, "\n".join(on_terminal(120, *SLOW, "--quiet", errors=True))):
    expect("measuring" not in quiet, quiet[:200])

finish()
