"""format.py - clang-format has nothing to change in the files under git; `make format` applies it.
"""
import shutil
import subprocess

from _lint import ROOT, complain, finish, skip

if shutil.which("clang-format") is None:
    skip("clang-format is not installed")
listed = subprocess.run(["git", "ls-files", "*.c", "*.h", "src/kernel/*.inc"], cwd=ROOT, text=True,
                        capture_output=True, check=False)
if listed.returncode != 0 or not listed.stdout:
    skip("no files under git")
run = subprocess.run(["clang-format", "--dry-run", "-Werror", "--ferror-limit=1",
                      *listed.stdout.split()], cwd=ROOT, text=True, capture_output=True,
                     check=False)
if run.returncode != 0:
    lines = [line for line in run.stderr.splitlines() if "error:" in line]
    complain("\n".join(lines[:40]) or run.stderr)
    complain("`make format` puts this right")
finish()
