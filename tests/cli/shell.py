"""shell.py - completion scripts and the manual page are accepted by the programs they are for."""
import shutil
import subprocess

from _cli import ROOT, TOOL, expect, finish, succeeds

CHECKS = {"bash": ["bash", "-n"], "zsh": ["zsh", "-n"], "fish": ["fish", "--no-execute"]}
for shell, command in CHECKS.items():
    script = succeeds("completion", shell)
    expect("memory-limit" in script and "summary" in script, f"{shell}: something is missing")
    if shutil.which(shell):
        run = subprocess.run([*command, "/dev/stdin"], input=script, text=True, capture_output=True,
                             check=False)
        expect(run.returncode == 0 and not run.stderr, f"{shell}: {run.stderr}")

# What bash would offer.
def offered(*words):
    script = succeeds("completion", "bash") + (
        f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _takt; "
        "echo ${COMPREPLY[@]}")
    return subprocess.run(["bash", "-c", script], text=True, capture_output=True, cwd=ROOT,
                          check=True).stdout.split()


if shutil.which("bash"):
    expect(offered("takt", "su") == ["summary"], "verbs are not completed")
    expect(offered("takt", "run", "--mem") == ["--memory-limit"], "flags are not completed")
    expect(offered("takt", "summary", "--mem") == [], "flags of another verb are offered")
    expect(offered("takt", "bench") == ["benchmark"], "a verb of two words: the first")
    expect(offered("takt", "benchmark", "r") == ["run"], "a verb of two words: the second")
    expect(offered("takt", "benchmark", "run", "--scen") == ["--scenario"], "and its flags")
    expect(offered("takt", "run", "--scen") == [], "flags of a verb of two words")
    expect(offered("takt", "help", "su") == ["summary"], "what help can be had for")
    expect(offered("takt", "completion", "z") == ["zsh"], "shells")
    expect(offered("takt", "run", "examples/mlp") == ["examples/mlp.takt"], "files")
    expect(offered("takt", "benchmark", "run", "examples/mlp") == ["examples/mlp.takt"], "files")

page = succeeds("help", "--man")
for part in (".TH TAKT 1", ".SH NAME", "memory\\-limit", ".SH EXIT STATUS", "TAKT_"):
    expect(part in page, f"the manual page lacks {part}")
for formatter in (["mandoc", "-Tlint", "-Wwarning"], ["groff", "-man", "-ww", "-z", "-Tutf8"]):
    if shutil.which(formatter[0]):
        run = subprocess.run(formatter, input=page, text=True, capture_output=True, check=False)
        expect(run.returncode == 0 and not run.stderr, f"{formatter[0]}: {run.stdout}{run.stderr}")
expect(TOOL, "no command")
finish()
