"""interrupted.py - a measurement interrupted by Ctrl-C shows its results so far."""
import json
import signal
import subprocess
import time

from _cli import CLEAN, CNN, MLP, ROOT, TOOL, expect, finish, path
import _ceilings


def interrupted(*words, after, env):
    """Exit code, output and messages of a command that gets SIGINT after `after` seconds."""
    with subprocess.Popen([TOOL, *words], text=True, cwd=ROOT, env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as run:
        time.sleep(after)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
        return run.returncode, out, err


def until(good, *words, env=CLEAN):
    """A busy machine may be slow to begin: longer each time."""
    for after in (1.5, 4, 10):
        code, out, err = interrupted(*words, after=after, env=env)
        if code == 130 and out != "" and good(out, err):
            return
    expect(False, f"{words}: exit code {code}: {out[-400:]}{err[-400:]}")


def rows(out):
    report = json.loads(out)
    return report["interrupted"] and len(report["times"]) > 0


env = _ceilings.keep(TOOL, path("cache"))
until(lambda out, err: "interrupted after" in err and "blocks" in out,
      "benchmark", "compare", MLP, CNN, "--duration", "60s", "--blocks", "40000")
until(lambda out, err: "interrupted after" in err and json.loads(out),
      "benchmark", "compare", MLP, CNN, "--duration", "60s", "--blocks", "40000", "--format",
      "json")
for duration in ("60s", "4s"):  # while it times runs, and while it looks at steps
    until(lambda out, err: "interrupted" in err and json.loads(out)["per_op"],
          "profile", MLP, "--json", "--duration", duration, env=env)
until(lambda out, err: rows(out), "benchmark", "seeds", "--json", "--duration", "400ms", env=env)
until(lambda out, err: "MLP 784-256-10, batch 1 " in out, "benchmark", "seeds", "--duration",
      "400ms", env=env)
finish()
