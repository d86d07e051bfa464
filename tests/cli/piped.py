"""piped.py - models, arrays and results through pipes: "-" in place of a file."""
import json
import os
import pty
import resource
import signal
import subprocess

from _cli import (CLEAN, CNN, MLP, ROOT, TMP, TOOL, expect, fails, finish, npy, parsed, path,
                  succeeds, takt, write)


def content(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def pipe(*commands, **more):
    """Pipes each command's output into the next; returns what the last one prints."""
    data = None
    for words in commands:
        run = takt(*words, input=data, text=False, **more)
        expect(run.returncode == 0, f"takt {' '.join(words)}: {run.stderr}")
        data = run.stdout
    return data.decode()


# Every verb that takes a model accepts it from a pipe, with the same output as for the file.
for words in (["inspect", "-"], ["summary", "-"], ["plan", "-"], ["kernels", "-"], ["explain", "-"],
              ["opt", "-"], ["summary", "-m", "-"], ["run", "-", "--json"], ["batch", "-"],
              ["extract", "-", "--to", "dense_0"], ["ops", "-"], ["compile", "-", "-o", "OUT"]):
    words = [path("piped.taktp") if word == "OUT" else word for word in words]
    piped = takt(*words, input=content(MLP))
    named = takt(*[MLP if word == "-" else word for word in words])
    expect(piped.returncode == named.returncode, f"{words}: {piped.stderr}")
    if words[0] not in ("run", "plan"):  # these tell times
        expect(piped.stdout.replace("<stdin>", MLP) == named.stdout, f"{words}: {piped.stdout}")
digest = parsed("run", "--json", CNN)["digest"]
expect(parsed("run", "--json", "-", input=content(CNN))["digest"] == digest, "another result")
with open(os.path.join(ROOT, CNN), encoding="utf-8") as redirected:
    expect(parsed("run", "--json", "-", stdin=redirected)["digest"] == digest, "takt run - < F")

# Commands in a row: models as text, arrays, results.
succeeds("compile", CNN, "-o", path("piped.taktp"))
last = pipe(["convert", path("piped.taktp"), "-o", "-"], ["batch", "-", "many", "-o", "-"],
            ["run", "-", "--json"])
expect(json.loads(last)["outputs"], "a model through three commands")
expect(json.loads(pipe(["convert", CNN, "-o", "-"], ["run", "-", "--json"]))["digest"] == digest,
       "convert -o - loses something")
write("half.takt", "model half(x: f32[n]) { return x * 0.5 }")
write("eight.npy", npy((2,), [8, 4]))
quarter = pipe(["run", path("half.takt"), "-i", path("eight.npy"), "-o", "-"],
               ["run", path("half.takt"), "-i", "x=-", "-o", "-"],
               ["run", path("half.takt"), "-i", "-", "--json"])
expect(json.loads(quarter)["outputs"]["out"]["values"] == [1, 0.5], quarter)
result = pipe(["benchmark", "run", MLP, "--iterations", "20", "--format", "json"],
              ["benchmark", "analyze", "-"])
expect("of the time" in result, result)
again = parsed("benchmark", "run", "-", "--iterations", "5", "--repeat-process", "2", "--format",
               "json", input=content(MLP))
expect(again["results"]["latency"]["n"] == 10, "processes that are started read it as well")
expect(parsed("run", MLP, "--dump-config", "--config", "-", input='{"threads": 1}')["threads"] == 1,
       "a configuration")

expect(parsed("run", "--json", "/dev/stdin", input=content(CNN))["digest"] == digest,
       "the other name of standard input")

# Input that cannot be read, or not in this way.
fails(1, "run", "-", says=["<stdin> is empty"], input="")
fails(1, "run", "-", says=["<stdin>:1:33: error 2201"], input="model m(x: f32[2]) { return x + }")
fails(2, "run", "-", "-i", "-", says=["one thing", "2 times"], input=content(MLP))
fails(2, "benchmark", "prepare", "-", says=["standard input has no place"], input=content(MLP))
fails(1, "run", "-", says=["cannot be kept in /nowhere", "TMPDIR"], input=content(MLP),
      env={"TMPDIR": "/nowhere"})
fails(1, "run", "-", says=["standard input cannot be read"], preexec_fn=lambda: os.close(0))
with open(write("self.takt", content(MLP)), encoding="utf-8") as itself:
    fails(2, "convert", "-", "-o", path("self.takt"), says=["would be written over"], stdin=itself)
expect("usage: takt run" in succeeds("run", "-", "--help"), "--help needs no input")

# Endless input is recognised before it is stored, and the file size limit is reported like any
# other error.


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


with open("/dev/zero", "rb") as file:
    fails(1, "run", "-", says=["of no format that is read here"], stdin=file,
          preexec_fn=small_files)
fails(1, "run", "-", says=["cannot be kept", "File too large"], preexec_fn=small_files,
      input=content(MLP) + "# more\n" * 400000)
fails(1, "run", "-", "-o", path("large.npy"), says=["File too large"], preexec_fn=small_files,
      input="model m(x: f32[1000000]) { return relu(x) }\n")
fails(1, "convert", "-", "-o", path("large.taktp"), says=["File too large"],
      preexec_fn=small_files, input="model m(x: f32[1000]) { return dense(x, 1000) }\n")
expect(not os.path.exists(path("large.npy")) and not os.path.exists(path("large.taktp")),
       "what did not fit is gone")

# Does not wait for a terminal without piped input.
master, slave = pty.openpty()
run = subprocess.run([TOOL, "run", "-"], cwd=ROOT, env=CLEAN, stdin=slave, capture_output=True,
                     text=True, timeout=60, check=False)
expect(run.returncode == 2 and "is a terminal" in run.stderr, run.stderr)
os.close(slave)
os.close(master)
expect(not [name for name in os.listdir(TMP) if name.startswith("takt-")], "files are left over")
finish()
