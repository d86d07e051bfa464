"""counters.py - takt profile --counters: the cache hit rate, and its source."""
import json
import shutil

import _ceilings
from _cli import CNN, MLP, TOOL, expect, fails, finish, parsed, path, succeeds, takt

CALM = {"XDG_CACHE_HOME": path("cache")}
_ceilings.keep(TOOL, CALM["XDG_CACHE_HOME"])
QUICK = ("--duration", "50ms")


def cache(word, *more, **env):
    found = parsed("profile", *QUICK, "--json", "--counters", word, *more, env={**CALM, **env})
    return check(word, found.get("cache", {}))


def check(word, found):
    for key in ("hit_rate", "ll_hit_rate"):
        expect(key not in found or 0 <= found[key] <= 1, f"{word}: {found}")
    expect("hit_rate" in found and found["per_run"] > 0, f"{word}: {found}")
    return found


def modelled():
    """The bytes of steps that fit L1, over all bytes."""
    small, large = cache("model", CNN), cache("model", MLP, "-D", "batch=64")
    for found in (small, large):
        expect(found["source"] == "modelled" and found["unit"] == "bytes", found)
        expect(found["ll_hit_rate"] >= found["hit_rate"], found)
    expect(large["per_run"] > small["per_run"], f"{small} {large}")
    expect(large["hit_rate"] <= small["hit_rate"], f"{small} {large}")


def simulated():
    if shutil.which("valgrind") is None:
        fails(1, "profile", CNN, *QUICK, "--counters", "cachegrind", env=CALM,
              says=("TAKT8004", "valgrind is not installed"))
        print("SKIP simulated: no valgrind")
        return
    found, larger = cache("cachegrind", CNN), cache("cachegrind", MLP, "-D", "batch=8")
    for use in (found, larger):
        expect(use["source"] == "simulated" and use["unit"] == "accesses", use)
    expect(0.5 < found["hit_rate"] < 1, found)
    # 800 kB of weights are read in every run: no L1 holds them.
    expect(larger["l1_misses"] > 800e3 / 64 / 2, larger)
    again = cache("cachegrind", CNN)
    expect(abs(again["per_run"] / found["per_run"] - 1) < 0.01, f"{found} {again}")


def measured():
    """If the kernel does not count, a sentence says so."""
    done = takt("profile", CNN, *QUICK, "--counters", "perf", env=CALM)
    if done.returncode == 0:
        expect(cache("perf", CNN)["source"] == "measured", done.stdout)
        return
    expect(done.returncode == 1 and "TAKT8004" in done.stderr and
           "not counted here" in done.stderr and done.stdout == "", done.stderr)
    print("SKIP measured: the kernel grants no counters")


def automatic():
    """Without valgrind there is still the model, with the reasons."""
    found = cache("auto", CNN, PATH="/nowhere")
    expect(found["source"] in ("measured", "modelled"), found)
    if found["source"] == "modelled":
        expect("not counted here" in found["note"] and "valgrind" in found["note"], found)
        expect(found["hit_rate"] == cache("model", CNN)["hit_rate"], found)
    fails(1, "profile", CNN, *QUICK, "--counters", "cachegrind", env={**CALM, "PATH": "/nowhere"},
          says=("TAKT8004", "valgrind is not installed"))


def benchmark():
    """The same figures in a result, by case, and read back."""
    file = path("cache.json")
    run = ("benchmark", "run", MLP, "--iterations", "20", "--threads", "1")
    succeeds(*run, "--batch-size", "1,8", "--counters", "model", "-o", file, env=CALM)
    with open(file, encoding="utf-8") as text:
        runs = json.load(text)["runs"]
    found = [check("model", one["results"]["cache"]) for one in runs]
    expect([one["source"] for one in found] == ["modelled"] * 2, found)
    expect(found[1]["per_run"] > found[0]["per_run"], found)
    told = succeeds("benchmark", "analyze", file, env=CALM)
    expect(told.count("cache (modelled): ") == 2, told)
    expect("cache" not in parsed(*run, "--json", env=CALM)["results"], "nobody asked")
    fails(2, *run, "--counters", "guess", says=("auto, perf, cachegrind and model",))
    if shutil.which("valgrind") is None:
        print("SKIP benchmark: no valgrind")
        return
    several = parsed(*run, "-D", "batch=8", "--counters", "cachegrind", "--json", env=CALM)
    use = check("cachegrind", several["results"]["cache"])
    expect(use["source"] == "simulated" and use["l1_misses"] > 800e3 / 64 / 2, use)


def words():
    fails(2, "profile", CNN, "--counters", "guess",
          says=("--counters guess", "auto, perf, cachegrind and model"))
    fails(2, "profile", CNN, "--impact", "--counters", "model", says=("--impact",))
    plain = parsed("profile", CNN, *QUICK, "--json", env=CALM)
    expect("cache" not in plain, "cache figures that nobody asked for")
    text = succeeds("profile", CNN, *QUICK, "--brief", "--counters", "model", env=CALM)
    expect("cache (modelled): " in text and "hit L1" in text, text)


for part in (modelled, simulated, measured, automatic, benchmark, words):
    part()
finish()
