#!/usr/bin/env python3
"""keep.py - run one group of rows, show its table, and keep it with the machine it comes from.

    bench/peers/keep.py NAME COMMAND...     writes bench/results/NAME-<machine>.md

A table with missed bars (exit 1) is kept and says so; one that was skipped or broke off is not.
Before NAME, `--out FOLDER` writes elsewhere and `--gpu` names the file after the GPU.
"""
import argparse
import datetime
import os
import platform
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from machine import cpu  # noqa: E402: next to this file
from report import name_of  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def commit():
    command = ["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "unknown"


def shown(command):
    """Runs the command; its output is shown as it comes, and returned with the exit status."""
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line.rstrip())
    return lines, process.returncode


def gpu():
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        answer = ""
    return answer.splitlines()[0].strip() if answer.strip() else "no GPU"


def page(title, command, lines, status):
    machine = f"{cpu()}, {len(os.sched_getaffinity(0))} cores, {platform.machine()}"
    when = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    head = [f"# {title}", "", f"{machine}; commit {commit()}; {when}.",
            f"`{' '.join([os.path.basename(command[0]), *command[1:]])}`", "", "```"]
    tail = ["```", ""] + (["Exit status 1: a row missed its bar or failed.", ""] if status else [])
    return "\n".join(head + lines + tail)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=os.path.join(ROOT, "bench", "results"))
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("name")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    lines, status = shown(args.command)
    if status not in (0, 1) or any(line.startswith("skipped:") for line in lines):
        print(f"{args.name}: exit {status}, the table is not kept")
        return status
    if args.gpu:
        title, machine = f"make {args.name}: {gpu()}", gpu().split()[-1].lower()
    else:
        title = f"make peers ROWS={args.name}"
        machine = name_of({"cpu": cpu(), "architecture": platform.machine(),
                           "cores": len(os.sched_getaffinity(0))})
    path = os.path.join(args.out, f"{args.name}-{machine}.md")
    os.makedirs(args.out, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(page(title, args.command, lines, status))
    print(f"kept in {os.path.relpath(path)}")
    return status


if __name__ == "__main__":
    sys.exit(main())
