"""shell.py - completion scripts and the manual page are accepted by the programs they are for, and
installed shells complete a line as intended."""
import os
import shutil
import subprocess

from _cli import CLEAN, ROOT, TMP, expect, finish, path, succeeds, write

CHECKS = {"bash": ["bash", "-n"], "zsh": ["zsh", "-n"], "fish": ["fish", "--no-execute"]}
ENVIRONMENT = {**CLEAN, "HOME": TMP, "XDG_CONFIG_HOME": TMP, "XDG_DATA_HOME": TMP, "TERM": "dumb"}

# The typed line, and the last word after completion; None: the shell cannot be tested.
TYPED = {
    "takt su": "summary",
    "takt run --mem": "--memory-limit",
    "takt summary --mem": None,  # a flag of another verb
    "takt bench": "benchmark",
    "takt benchmark r": "run",
    "takt benchmark run --scen": "--scenario",
    "takt run --scen": None,
    "takt help su": "summary",
    "takt help al": "all",
    "takt completion z": "zsh",
    "takt run examples/ml": "examples/mlp.takt",
    "takt benchmark run examples/ml": "examples/mlp.takt",
    "takt run --threads 2 examples/ml": "examples/mlp.takt",
    "takt convert -o examples/ml": "examples/mlp.takt",
}


def run_shell(*words, **more):
    run = subprocess.run(words, text=True, capture_output=True, cwd=ROOT, env=ENVIRONMENT,
                         timeout=120, check=False, **more)
    expect(run.returncode == 0, f"{words[0]}: {run.stderr}")
    return run.stdout


def of_bash(script):
    for typed in TYPED:
        words = typed.split()
        script += (f"\nCOMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _takt; "
                   "echo ${COMPREPLY[@]}")
    return [line.split() for line in run_shell("bash", "-c", script).splitlines()]


def of_fish(script):
    for typed in TYPED:
        script += f"\ncomplete -C '{typed}'\necho END"
    parts = run_shell("fish", "-c", script).split("END\n")[:-1]
    return [[line.split("\t")[0] for line in part.splitlines()] for part in parts]


# A line editor of its own, which writes each line to a file once it is completed.
ZSH = """zmodload zsh/zpty zsh/datetime
zpty editor zsh -f -i
zpty -w editor "source $1"
zpty -r editor shown '*at your service*' # keys that come before it are the terminal's
for typed in ${@:3}; do zpty -w -n editor $typed$'\\t\\C-t\\C-u'; done
until [[ -f $2 && $(wc -l < $2) -ge $(( $# - 2 )) ]]; do
  zpty -r -t editor shown
  (( EPOCHSECONDS - ${started:=$EPOCHSECONDS} > 60 )) && exit 1
done
zpty -d editor
"""


def of_zsh(script):
    lines = path("completed.txt")
    if os.path.exists(lines):
        os.remove(lines)
    setup = write("setup.zsh", "autoload -Uz compinit; compinit -D -u\n" + script +
                  f"\nshow() {{ print -r -- $BUFFER >> {lines} }}\nzle -N show\n"
                  "zle-line-init() { print -n at your service }\nzle -N zle-line-init\n"
                  "bindkey -e; bindkey '^I' complete-word; bindkey '^T' show\n"
                  "setopt no_list_ambiguous no_auto_list\n")
    run_shell("zsh", "-f", "-c", ZSH, "zsh", setup, lines, *TYPED)
    with open(lines, encoding="utf-8") as file:
        for typed, line in zip(TYPED, file.read().splitlines()):
            yield [] if line == typed else [line.split()[-1].rstrip("=")]


for shell, offers in (("bash", of_bash), ("zsh", of_zsh), ("fish", of_fish)):
    script = succeeds("completion", shell)
    expect("memory-limit" in script and "summary" in script, f"{shell}: something is missing")
    if not shutil.which(shell):
        print(shell, "is not installed: what it offers is not looked at")
        continue
    read = subprocess.run([*CHECKS[shell], "/dev/stdin"], input=script, text=True,
                          capture_output=True, check=False)
    expect(read.returncode == 0 and not read.stderr, f"{shell}: {read.stderr}")
    for (typed, wanted), offered in zip(TYPED.items(), offers(script), strict=True):
        expect(offered == ([wanted] if wanted else []), f"{shell}: {typed}: {offered}")

page = succeeds("help", "--man")
for part in (".TH TAKT 1", ".SH NAME", "memory\\-limit", ".SH EXIT STATUS", "TAKT_"):
    expect(part in page, f"the manual page lacks {part}")
for formatter in (["mandoc", "-Tlint", "-Wwarning"], ["groff", "-man", "-ww", "-z", "-Tutf8"]):
    if shutil.which(formatter[0]):
        read = subprocess.run(formatter, input=page, text=True, capture_output=True, check=False)
        expect(read.returncode == 0 and not read.stderr,
               f"{formatter[0]}: {read.stdout}{read.stderr}")
finish()
