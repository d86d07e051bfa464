"""_benchmark.py - calls of the command in a folder of their own, where no ceilings are measured."""
import os
import pathlib
import shutil
import signal
import subprocess

import _ceilings
from _cli import TOOL, expect

TMP = pathlib.Path(os.environ["TAKT_TEST_TMP"])
shutil.rmtree(TMP, ignore_errors=True)
TMP.mkdir(parents=True)
ENVIRONMENT = _ceilings.keep(TOOL, TMP / "cache")


def call(line):
    """Runs `takt line` there."""
    return subprocess.run([TOOL, *line.split()], capture_output=True, text=True, cwd=TMP,
                          env=ENVIRONMENT, check=False)


def hear_signals():
    """A job in the background is deaf to SIGINT, one under nohup to SIGHUP, and so are its own."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def start(line, **more):
    """The same, without waiting for its end."""
    return subprocess.Popen([TOOL, *line.split()], cwd=TMP, preexec_fn=hear_signals,
                            **{"env": ENVIRONMENT, **more})


def held(line, code=0, text=None):
    """The result of call; it must end with this code, or one of these, and print this."""
    done = call(line)
    both = done.stdout + done.stderr
    codes = code if isinstance(code, tuple) else (code,)
    expect(done.returncode in codes, f"takt {line}: status {done.returncode}, not {code}\n{both}")
    expect(text is None or text in both, f"takt {line}: no {text!r}:\n{both}")
    return done
