"""benchmark.py - the command lines of the guides, results read back, verdicts, and bad input."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

from _benchmark import TMP, held
from _cli import expect, finish, npy

MODEL = str(pathlib.Path("examples/mlp.takt").resolve())


def takt(line, code=0, text=None):
    return held(line, code, text).stdout


def guides():
    """As the guides write them, with `takt` for the program's name."""
    takt("benchmark system --specs", text="processor")
    takt("benchmark verify --env", text="grade")
    takt("benchmark prepare --model model.takt", text="settings")
    takt("benchmark verify --model model.takt", text="same bits twice  yes")
    takt("benchmark run --model model.takt --type inference --duration 0.05", text="median")
    takt("benchmark run --model model.takt --type inference --iterations 400 --batch-size 8 "
         "--metrics latency throughput memory -o results_v1.json", text="throughput")
    takt("benchmark run --model model.takt --iterations 400 --batch-size 8 -o results_v2.json")
    (TMP / "comparison_config.json").write_text('{"duration": "0.3", "threads": 1}')
    takt("benchmark compare --models model.takt model_v2.takt --type inference "
         "--config comparison_config.json", (0, 5), "interval")
    takt("benchmark compare --results results_v1.json results_v2.json "
         "--output comparison_report.html", (0, 5), "interval")
    takt("benchmark analyze --results results_v1.json", text="of the time")
    bottlenecks()
    takt("benchmark trends --results results_v1.json results_v2.json --metric latency "
         "--output trends.png")
    expect((TMP / "trends.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n", "png")
    takt("benchmark trends --results results_v1.json results_v2.json", text="no step")


def bottlenecks():
    """The steps that make up 80 % of the time, slowest first, each with a suggestion."""
    text = takt("benchmark analyze results_v1.json --bottlenecks")
    expect(text.startswith("batch 8, ") and "to gain\n    " in text, text)
    expect("noise" not in text and "outlier" not in text, f"nothing else: {text}")
    steps = json.loads(takt("benchmark analyze results_v1.json --bottlenecks --format json"))
    steps = steps["cases"][0]["steps"]
    shares = [step["share"] for step in steps]
    expect(sum(shares) >= 0.8 > sum(shares[:-1]) and shares == sorted(shares)[::-1], shares)
    expect(all(0 <= step["largest_gain"] <= step["share"] and step["remedy"] for step in steps),
           steps)
    takt("benchmark analyze results_v1.json --bottlenecks -o b.html", 2, "no such format")


def loaded():
    """A machine on which others compute is not fit to measure on, however steady it seems."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        found = json.loads(takt("benchmark verify --env --json"))
    finally:
        for one in busy:
            one.kill()
            one.wait()
    expect(found["grade"] in "CD", f"a loaded machine has grade {found['grade']}")
    expect(found["others_processors"] > 0.3, f"others are seen: {found['others_processors']}")
    governor = [one for one in found["checks"] if one["check"] == "governor"][0]
    expect(governor["value"] == "performance" or "cpupower" in str(governor), governor)
    fixes = [one["fix"] for one in found["checks"] if one["check"] == "busy"]
    expect(any(fix == "wait until it is done" for fix in fixes), f"who is waited for: {fixes}")
    expect(not any(fix and ("kill" in fix or "stop" in fix) for fix in fixes),
           f"others are to be stopped: {fixes}")


def keys():
    result = json.loads((TMP / "results_v1.json").read_text())
    info, latency = result["benchmark_info"], result["results"]["latency"]
    expect(info["type"] == "inference" and info["model"] == "model.takt", "benchmark_info")
    expect({"cpu", "memory", "os", "ceilings", "fingerprint"} <= set(info["system_info"]), "system")
    wanted = {"mean", "std", "min", "max", "percentiles", "ci95", "samples_ns"}
    expect(wanted <= set(latency), "keys")
    expect(set(latency["percentiles"]) == {"50", "90", "95", "99"}, "percentiles")
    expect(latency["n"] == 400 == len(latency["samples_ns"]), "n")
    expect(latency["resolved"]["99"] is True, "p99 of 400 runs is resolved")
    expect(result["results"]["memory_usage"]["allocations_per_run"] == 0, "allocations")
    expect(info["config"]["batch_size"] == 8 and "--metrics" in info["command"], "config")
    expect({"mean", "std", "min", "max"} <= set(result["results"]["throughput"]), "throughput")
    shares = sum(op["share"] for op in result["results"]["per_op"])
    expect(abs(shares - 1) < 1e-6, f"shares add up to {shares}")


def google_keys(google):
    """What compare.py of Google Benchmark reads, with its types."""
    kinds = {"name": str, "run_name": str, "run_type": str, "iterations": int, "threads": int,
             "real_time": (int, float), "cpu_time": (int, float), "time_unit": str,
             "repetitions": int}
    for row in google["benchmarks"]:
        for key, kind in kinds.items():
            expect(isinstance(row.get(key), kind), f"{key} of {row}")
        expect((row["run_type"] == "aggregate") == ("aggregate_name" in row), f"{row}")
    first, *rest = google["benchmarks"]
    expect(first["run_type"] == "iteration" and first["iterations"] == 10, f"{first}")
    expect([row["aggregate_name"] for row in rest] == ["mean", "median", "stddev"], f"{rest}")
    expect(first["cpu_time"] != first["real_time"], "processor time is its own figure")
    expect(google["context"]["num_cpus"] >= 1 and "caches" in google["context"], "context")


def formats():
    takt("benchmark run model.takt --batch-size 1,4 --threads 1,2 --iterations 20 -o all.html")
    page = (TMP / "all.html").read_text()
    expect(page.count("<svg") >= 9 and "http" not in page, "plots, and nothing from the network")
    again = json.loads(takt("benchmark analyze all.html --format json"))
    expect(len(again["runs"]) == 4, "the page holds its data")
    rows = takt("benchmark run model.takt --batch-size 1-4*2 --iterations 10 -o csv").splitlines()
    expect(len(rows) == 4 and rows[0].startswith("model,type"), "csv")
    lines = takt("benchmark run model.takt --iterations 10 --format jsonl").splitlines()
    expect(json.loads(lines[0])["n"] == 10, "jsonl")
    google = json.loads(takt("benchmark run model.takt --iterations 10 -o gbench"))
    expect(google["benchmarks"][0]["time_unit"] == "ns", "gbench")
    google_keys(google)


def traced():
    """Steps, each thread's part of them, and names for everything."""
    trace = json.loads((TMP / "t.json").read_text())["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in trace
             if event["ph"] == "M" and event["name"] == "thread_name"}
    expect(names == {1: "steps", 2: "work of thread 0 (the caller)", 3: "work of thread 1"}, names)
    expect([event["args"]["name"] for event in trace if event["name"] == "process_name"] ==
           ["model.takt"], trace[:2])
    full = [event["args"]["bytes"] for event in trace if event["ph"] == "C"]
    expect(max(full) > 0 and full[-1] == 0, "the arena's track")
    rest = [event for event in trace if event["ph"] not in "MC"]
    expect(all(event["ph"] == "X" and event["dur"] >= 0 for event in rest), "trace")
    steps = [event for event in rest if event["tid"] == 1 and event["name"] != "run"]
    work = [event for event in rest if event["tid"] > 1]
    expect(steps and work and {event["tid"] for event in rest} <= set(names), names)
    for event in work:
        expect(any(step["name"] == event["name"] and step["ts"] <= event["ts"] and
                   step["ts"] + step["dur"] >= event["ts"] + event["dur"] - 1e-3
                   for step in steps), event)
    begins = {step["ts"] for step in steps}
    expect(any(event["ts"] not in begins for event in work), "bars begin with their steps, all")


def scheduled():
    """Only that many runs are examined; and values that are not a schedule."""
    line = "profile model.takt --duration 0.02 --json --schedule "
    for words, runs in (("wait=1,warmup=1,active=3", 3), ("active=5", 5)):
        expect(json.loads(takt(line + words))["profiled_runs"] == runs, words)
    for words in ("wait=1", "active=0", "active=x", "active", "active=3,late=1"):
        takt(line + words, 2, "does not say which runs")
    takt("profile model.takt model_v2.takt", 2, "does not take the argument model_v2.takt")
    takt("profile --memory m.json", 2, "needs MODEL")
    takt("profile model.takt --impact --memory m.json", 2, "which --memory asks for")


def profiles():
    takt("profile model.takt -D batch=32 -t 2 --duration 0.1 --trace t.json --folded f.txt",
         text="of ceiling")
    traced()
    for line in (TMP / "f.txt").read_text().splitlines():
        expect(line.startswith("run;") and line.rsplit(" ", 1)[1].isdigit(), line)
    shown = takt("profile model.takt --duration 0.05 --layers", text="Total: ")
    expect("Layer 1 (Dense): " in shown and "ms  dense_0: gemm " in shown, shown)
    takt("profile model.takt --duration 0.05 --memory", text="Peak memory:")
    takt("profile model.takt --duration 0.05 --memory", text="Resident memory:")
    memory = json.loads(takt("profile model.takt --duration 0.05 --memory --json"))
    expect(memory["resident_peak_bytes"] >= memory["resident_bytes"] > 0, str(memory)[:200])
    takt("profile model.takt --duration 0.02 --memory m.json", text="Peak memory:")
    kept = json.loads((TMP / "m.json").read_text())
    expect(kept["peak_bytes"] == memory["peak_bytes"] > 0, str(kept)[:200])
    scheduled()
    year = time.strftime("%Y-", time.gmtime())
    takt("profile model.takt -D batch=8 --duration 0.05 --brief -o page.html")
    page = (TMP / "page.html").read_text()
    top = page[:page.index('class="cards"')]
    expect(" &middot; " + year in top or time.strftime("%Y-", time.gmtime()) in top, top[-800:])
    for words in ("<h1>Profile of model.takt</h1>", "x f32[8, 784]", "weights in f32",
                  "numerics exact", "backend cpu"):
        expect(words in top, f"{words} at the top of the page: {top[-800:]}")
    machine = json.loads((TMP / "results_v1.json").read_text())["benchmark_info"]["system_info"]
    expect(f"<p>{machine['cpu']} &middot; " in top, f"{machine['cpu']} at the top: {top[-800:]}")
    for words in ("Memory over the steps", "Roofline", "What to do", "allocations a"):
        expect(words in page, f"{words} on the page")
    expect("What each optimisation" not in page and page.count("<rect class=\"k") >= 2, "boxes")
    takt("profile model.takt -o page.png", 2, "as a page")
    told = takt("profile --help")
    expect("F.html" in told and "format of its ending" not in told, f"what -o takes: {told}")
    takt("profile model.takt -o nowhere/page.html", 1, "there is no folder nowhere")
    start = time.monotonic()
    takt("profile model.takt --duration 0.7 --brief")
    expect(time.monotonic() - start > 0.6, "who asks for a duration gets it")
    takt("profile model.takt --duration 0.05 --brief", text="95 % interval")
    # one thread: its steps are shorter than its time slice, and medians exclude the rest
    shares = []
    while len(shares) < 10 and not (shares and 0.7 < shares[-1] < 1.1):
        data = json.loads(takt("profile model.takt -D batch=32 -t 1 --duration 0.3 --json"))
        shares.append(sum(op["time_us"] for op in data["per_op"]) / data["profiled_run_us"])
    expect(0.7 < shares[-1] < 1.1, f"the steps take {shares} of a run")


def mistakes():
    takt("benchmark run missing.takt", 1, "missing.takt")
    takt("benchmark run", 2, "no model")
    takt("benchmark run model.takt --batch-size x", 2, "not a list")
    takt("benchmark run model.takt --metrics speed", 2, "no metric")
    takt("benchmark run model.takt --type dancing", 2, "no benchmark of type")
    takt("benchmark run model.takt --iterations 5 -o /nowhere/r.json", 1, "there is no folder")
    takt("benchmark run model.takt -o result.xyz", 2, "not a format")
    (TMP / "foreign.json").write_text('{"hello": [1, 2]}')
    (TMP / "cut.json").write_text('{"benchmark_info": {')
    takt("benchmark analyze foreign.json", 1, "benchmark_info")
    takt("benchmark analyze cut.json", 1, "not a benchmark result")
    takt("benchmark analyze cut.json", 1, "TAKT8002")
    takt("benchmark compare model.takt", 2, "give two")
    takt("benchmark compare model.takt foreign.json", 2, "result file")
    takt("benchmark compare model.takt model.takt --fail-on quicker", 2, "not a condition")
    takt("benchmark trends results_v1.json", 4, "1 result makes no trend")
    takt("benchmark run model.takt --iterations 2 -o two.json -q")
    takt("benchmark compare two.json two.json", 5, "2 and 2 times are too few")
    takt("benchmark run model.takt --iterations 2 -o no/where.json", 1, "there is no folder no")
    takt("benchmark run missing.takt", 1, "missing.takt")
    other = json.loads((TMP / "results_v1.json").read_text())
    other["benchmark_info"]["system_info"]["fingerprint"] = "0" * 16
    (TMP / "other.json").write_text(json.dumps(other))
    takt("benchmark trends results_v1.json other.json", 4, "machine")
    takt("benchmark trends results_v1.json other.json", 4, "TAKT8003")
    takt("benchmark compare results_v1.json other.json", 4, "different machines")


def verdicts():
    """Verdicts on recorded times: times of a busy machine may differ by more than a factor."""
    slow = json.loads((TMP / "results_v1.json").read_text())
    latency = slow["results"]["latency"]
    for name, factor in (("steady.json", 1), ("late.json", 1.3), ("slow.json", 2)):
        latency["samples_ns"] = [factor * (15000 + 10 * (i % 7)) for i in range(400)]
        (TMP / name).write_text(json.dumps(slow))
    takt("benchmark compare steady.json slow.json --fail-on slower:2%", 3, "times as slow")
    takt("benchmark compare slow.json steady.json --fail-on slower:2%", 0, "times as fast")
    takt("benchmark compare steady.json late.json --color always", 0, "\033[1;31m30 % slower than")
    takt("benchmark compare slow.json steady.json --color always", 0, "\033[1;32m2 times as fast")
    names = []
    for i in range(8):
        factor = 1.0 + 0.001 * (i % 3) + (0.5 if i >= 5 else 0)
        latency["samples_ns"] = [factor * 1000] * 30
        (TMP / f"h{i}.json").write_text(json.dumps(slow))
        names.append(f"h{i}.json")
    trend = json.loads(takt("benchmark trends --json --fail-on step " + " ".join(names), 3))
    expect(trend["step_at"] == 5, f"step at {trend['step_at']}")
    history(slow)


def history(base):
    """Up by 8 %, later down by 10 %: two steps, in the order of time, whatever the files' names."""
    info, names = base["benchmark_info"], []
    for i in range(20):
        level = 1000 * (1.08 if 8 <= i else 1) * (0.9 if 15 <= i else 1) * (1 + 0.002 * (i % 3))
        base["results"]["latency"]["samples_ns"] = [level] * 30
        info["timestamp"], info["engine"]["commit"] = f"2026-10-{i + 1:02}T10:00:00Z", f"c{i}"
        names.append(f"history_{19 - i:02}.json")
        (TMP / names[-1]).write_text(json.dumps(base))
    names.sort()
    line = "benchmark trends --results " + " ".join(names)
    trend = json.loads(takt(line + " --json"))
    expect([step["at"] for step in trend["steps"]] == [8, 15] and trend["step_at"] == 15, trend)
    expect([step["worse"] for step in trend["steps"]] == [True, False], trend["steps"])
    expect([step["commit"] for step in trend["steps"]] == ["c8", "c15"], trend["steps"])
    expect(abs(trend["steps"][0]["change_pct"] - 8) < 0.5, trend["steps"])
    takt(line + " --fail-on step", 3, "(better) before result 16")
    takt(line + " -o history.html")
    page = (TMP / "history.html").read_text()
    dates = re.findall(r'text-anchor="middle">(2026-10-\d\d)</text>', page)
    expect(dates == [f"2026-10-{day:02}" for day in (1, 5, 9, 13, 17)], f"dates of ticks: {dates}")
    takt(line + " --fail-on slower:2%", 0) # the slower case is fixed
    worse = " ".join(names[5:])
    takt(f"benchmark trends {worse} --fail-on slower:2%", 3, "a step of +8")
    takt(f"benchmark trends {worse} --fail-on slower:20%", 0)
    takt(f"benchmark trends {worse} --fail-on step:2", 2, "is not a condition")
    (TMP / "kept.png").write_text("old")
    takt(f"benchmark trends {names[0]} missing.json -o kept.png", 1)
    expect((TMP / "kept.png").read_text() == "old", "a failure leaves the old picture")
    info["config"]["batch_size"] = 64
    (TMP / "batch64.json").write_text(json.dumps(base))
    takt(f"benchmark trends {names[-1]} batch64.json", 4, "holds nothing of batch")
    info["model"] = "elsewhere/other.takt"
    (TMP / "other_model.json").write_text(json.dumps(base))
    takt(f"benchmark trends {names[-1]} other_model.json", 4,
         "result 2 is of model other.takt, the first of model.takt")


def metrics():
    """Trends of every figure of a result, and of one that it does not have."""
    for metric in ("latency", "mean", "p90", "p95", "p99", "throughput", "memory", "load", "plan",
                   "first", "cpu"):
        trend = json.loads(takt(f"benchmark trends results_v1.json results_v2.json --json "
                                f"--metric {metric}"))
        expect(trend["metric"] == metric and len(trend["points"]) == 2, f"{trend}")
        expect(all(p["low"] <= p["median"] <= p["high"] and p["median"] > 0
                   for p in trend["points"]), f"{trend}")
    memory = json.loads((TMP / "results_v1.json").read_text())["results"]["memory_usage"]
    trend = json.loads(takt("benchmark trends results_v1.json results_v2.json --json "
                            "--metric memory"))
    expect(abs(trend["points"][0]["median"] - memory["planned_peak"] / 1e6) < 1e-9, f"{trend}")
    takt("benchmark trends results_v1.json results_v2.json --metric energy", 4, "holds no energy")
    takt("benchmark trends results_v1.json results_v2.json --metric speed", 2, "no metric speed")
    takt("benchmark trends results_v1.json results_v2.json --metric p99 -o p99.html")
    expect("p99 of model.takt" in (TMP / "p99.html").read_text(), "a page of p99")


def several():
    """Three or more on one page and in one object."""
    names = "steady.json results_v2.json slow.json"
    takt(f"benchmark compare --results {names} --output three.html", (0, 5))
    page = (TMP / "three.html").read_text()
    expect("2 compared with steady.json" in page and page.count("<h2>") == 2, "a page of two")
    both = json.loads(takt(f"benchmark compare --results {names} --json", (0, 5)))
    expect([one["b"] for one in both["comparisons"]] == ["results_v2.json", "slow.json"], f"{both}")
    expect(both["comparisons"][1]["verdict"] == "slower", f"{both}")
    takt(f"benchmark compare --results {names} -o three.json --fail-on slower:2%", 3, "as slow")
    expect(len(json.loads((TMP / "three.json").read_text())["comparisons"]) == 2, "a file of two")
    takt("benchmark compare model.takt model_v2.takt model.takt --blocks 8 -t 1 -o m3.html", (0, 5))
    expect("2 compared with model.takt" in (TMP / "m3.html").read_text(), "models too")
    takt(f"benchmark compare --results {names} -o no/where.html", 1, "there is no folder no")


def prepared():
    """The compiled model, its inputs and every setting next to it; a run with them."""
    takt("benchmark prepare model.takt -D batch=4 --threads 1 --isa scalar --seed 5 --pass=-layout",
         text="compiled  model.taktp")
    config = json.loads((TMP / "model.takt.bench.json").read_text())
    expect(config == {"threads": "1", "dim": ["batch=4"], "seed": 5, "isa": "scalar",
                      "pass": ["-layout"]}, f"{config}")
    expect((TMP / "model.takt.x.npy").exists(), "inputs")
    result = json.loads(takt("benchmark run model.taktp --config model.takt.bench.json "
                             "--iterations 20 --format json"))
    expect(result["results"]["per_op"][0]["name"] != "", "it runs with them")
    takt("benchmark prepare missing.takt", 1, "missing.takt")


def inputs():
    """The batch follows from the sizes, wherever they come from, and input files are used for the
    measurement."""
    (TMP / "eight.npy").write_bytes(npy((8, 784), [0.5] * 8 * 784))
    (TMP / "turns.npy").write_bytes(npy((), [20000], "<i8", "q"))
    (TMP / "turns.takt").write_text("model m(n: i64[], x: f32[4]) {\n  y = x\n  for i in n {\n"
                                    "    y = y * 0.5 + x\n  }\n  return y\n}\n")
    takt("convert model.takt -o weights.safetensors")
    for flags in ("--shape x:8x784", "-D batch=8", "-i x=eight.npy", "-i eight.npy",
                  "--batch-size 8 -w weights.safetensors"):
        result = json.loads(takt(f"benchmark run model.takt --iterations 5 --format json {flags}"))
        batch = result["benchmark_info"]["config"]["batch_size"]
        expect(batch == 8, f"{flags}: batch {batch}")
    few, many = [json.loads(takt(f"benchmark run turns.takt --iterations 50 --format json {flags}"))
                 ["results"]["latency"]["min"] for flags in ("", "-i n=turns.npy")]
    expect(many > 10 * few, f"a file of -i is not what is measured: {few} and {many} ms")
    takt("benchmark run model.takt --batch-size 1,8 -i x=eight.npy", 2, "batch is 1 by --batch")
    takt("benchmark run model.takt -i z=eight.npy", 2, "no input called z")
    takt("benchmark run model.takt -w missing.npz", 1, "missing.npz")


shutil.copy(MODEL, TMP / "model.takt")
shutil.copy(MODEL, TMP / "model_v2.takt")
for part in (guides, keys, formats, profiles, mistakes, verdicts, metrics, several, prepared,
             loaded, inputs):
    part()
finish()
