"""config.py - a flag counts before the environment, and that before the file of --config."""
import json
import os
import subprocess

from _cli import CNN, MLP, expect, fails, finish, parsed, path, succeeds, takt, write


def config(**settings):
    return write("config.json", json.dumps({key.replace("_", "-"): value
                                            for key, value in settings.items()}))


def batch(*args, **more):
    return parsed("run", "--json", MLP, *args, **more)["outputs"]["out"]["shape"][0]


def seed(*args, **more):
    return parsed("run", "--json", MLP, *args, **more)["seed"]


# Who wins.
expect(batch() == 1 and batch("-D", "batch=5") == 5, "-D")
expect(batch(env={"TAKT_DIM": "batch=4"}) == 4, "environment")
expect(batch("--config", config(dim=["batch=3"])) == 3, "configuration")
expect(batch("--config", config(dim="batch=3"), env={"TAKT_DIM": "batch=4"}) == 4, "env > config")
expect(batch("-D", "batch=5", "--config", config(dim="batch=3"), env={"TAKT_DIM": "batch=4"}) == 5,
       "flag > env > config")
expect(batch(env={"TAKT_CONFIG": config(dim="batch=6")}) == 6, "TAKT_CONFIG")
expect(seed("--seed", "9", "--seed", "8") == 8, "the last of several counts")
expect(seed("--config", config(seed=7)) == 7, "a number in the configuration")
expect(seed("--config", config(seed="18446744073709551615")) == 2**64 - 1,
       "a large seed as a string")
expect(seed(env={"TAKT_SEED": ""}) == 0, "an empty variable is none")
expect(succeeds("version", env={"TAKT_JSON": "1"}).startswith("{"), "TAKT_JSON=1")
expect(succeeds("version", env={"TAKT_JSON": "off"}).startswith("takt"), "TAKT_JSON=off")
expect(succeeds("version", "--config", config(json=True, threads=2)).startswith("{"),
       "a flag of another verb in the configuration is not a mistake")
expect("TAKT_ISA" and "gemm_f32/scalar" in succeeds("kernels", MLP, env={"TAKT_ISA": "scalar"}),
       "TAKT_ISA caps the kernels")

# The effective configuration is itself a configuration.
text = succeeds("run", MLP, "-t", "2", "-D", "batch=2", "--random", "--memory-limit", "64M",
                "--dump-config", env={"TAKT_SEED": "5"})
dumped = json.loads(text)
expect(dumped == {"model": MLP, "dim": ["batch=2"], "seed": "5", "random": True, "threads": 2,
                  "memory-limit": "64M"}, dumped)
again = succeeds("run", "--config", write("dumped.json", text), "--dump-config")
expect(json.loads(again) == dumped,
       "--dump-config of a dumped configuration differs")
expect(parsed("run", "--json", "--config", write("dumped.json", text))["seed"] == 5, "dumped run")

expect(json.loads(succeeds("run", MLP, "--config", config(memory_limit="64M"), "--dump-config"))[
    "memory-limit"] == "64M", "underscores mean hyphens")

# Mistakes.
fails(2, "run", MLP, "--config", config(thread=2),
      says=['no flag "thread"', 'did you mean "threads"?'])
fails(2, "run", MLP, "--config", config(threads="two"), says=['"threads" in', "a number from 1"])
fails(2, "run", MLP, "--config", config(dim={"batch": 2}), says=["error[TAKT1003]", '"dim"'])
fails(2, "run", MLP, "--config", write("c.json", "[1]"), says=["not a JSON object"])
fails(2, "run", MLP, "--config", write("c.json", "{"), says=["error[TAKT3101]"])
fails(2, "run", MLP, "--config", "missing.json", says=["error[TAKT3001]", "missing.json"])
fails(2, "run", MLP, env={"TAKT_THREADS": "x"}, says=["TAKT_THREADS needs a number from 1"])

# A settings file cannot name code: a library's constructor would run before anything is checked.
EVIL, MARK = path("evil.so"), path("evil.mark")
for left in (EVIL, MARK):
    if os.path.exists(left):
        os.remove(left)
source = write("evil.c", """#include <stdio.h>
__attribute__((constructor)) static void run(void) {
    FILE *f = fopen("%s", "w");
    if (f != NULL)
        fclose(f);
}
""" % MARK)
is_built = subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", EVIL, source],
                          capture_output=True, check=False).returncode == 0
blas = ["run", MLP, "--backend", "blas"]
for given in (EVIL, "./evil.so", "..\\evil.dll", "evil.so"):
    fails(2, *blas, "--config", config(blas=given), says=['"blas" in', "names code", "--blas"])
    fails(2, "run", MLP, "--config", config(backend="blas", blas=given), says=["names code"])
    fails(2, *blas, env={"TAKT_CONFIG": config(blas=given)}, says=["names code"])
    fails(2, "version", "--config", config(blas=given), says=["names code"])  # whatever the verb
expect(not os.path.exists(MARK), "a library that a settings file named was loaded")
for key in ("bin-a", "bin-b", "bin_a"):
    file = write("c.json", json.dumps({key: "/bin/true"}))
    fails(2, "benchmark", "compare", MLP, "--config", file, says=["names code"])
for words in (["--blas", EVIL], []):  # it is not a CBLAS, but was named explicitly
    if os.path.exists(MARK):
        os.remove(MARK)
    takt(*blas, *words, env={} if words else {"TAKT_BLAS": EVIL})
    expect(not is_built or os.path.exists(MARK), f"{words or 'the environment'} may name a library")
run = takt(*blas, "--config", config(blas="openblas"))
expect("names code" not in run.stderr, "a word for a library is not a path")

# Aliases and forms.
expect(succeeds("summary", "-m", CNN) == succeeds("summary", CNN), "-m")
expect(parsed("run", "-jqD", "batch=2", MLP)["outputs"]["out"]["shape"][0] == 2, "-jqD batch=2")
expect(parsed("run", "-j", "-O0", MLP)["steps"] > parsed("run", "-j", "-O2", MLP)["steps"], "-O0")
expect(succeeds("summary", "--", MLP) == succeeds("summary", MLP), "--")
finish()
