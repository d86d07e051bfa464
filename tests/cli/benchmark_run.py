"""benchmark_run.py - scenarios, SLOs, processes, counters, energy, interruption."""
import glob
import json
import os
import shutil
import signal
import subprocess
import time

from _benchmark import ENVIRONMENT, TMP, call, held, start
from _cli import expect, finish, is_written



def takt(line, code=0, text=None):
    return held("benchmark " + line, code, text).stdout


def result(line, code=0):
    return json.loads(takt(f"run model.takt --format json {line}", code))


def in_time(line, is_good):
    """The first good result of ten attempts: a busy machine may spoil one."""
    for _ in range(10):
        done = held(f"benchmark run model.takt --format json {line}", (0, 4))
        told = json.loads(done.stdout)
        if is_good(told["results"]):
            break
    expect(is_good(told["results"]) and done.returncode == 0, f"{line}: {told['results']}")
    return told


def scenarios():
    server = in_time("--scenario server --qps 300 --duration 0.2 --slo p99=500ms --streams 1",
                     lambda results: results["slo"]["met"] and results["load"]["qps"] > 50)
    load = server["results"]["load"]
    expect(server["benchmark_info"]["scenario"] == "server", "scenario")
    expect(load["qps_asked"] == 300 and load["streams"] == 1, load)
    expect(load["waiting"]["median"] >= 0, "waiting")
    together = result("--scenario multi-stream --streams 2 --iterations 50")
    expect(together["results"]["latency"]["n"] == 50, "multi-stream")
    offline = result("--scenario offline --iterations 60 --streams 2")
    rate = offline["results"]["throughput"]["mean"]
    expect(rate > 0 and offline["results"]["load"]["unanswered"] == 0, "offline")
    peak = in_time("--find-peak --slo p50=500ms --duration 0.2 --streams 1",
                   lambda results: (results["load"]["peak"]["qps"] or 0) > 0)["results"]["load"]
    expect(len(peak["peak"]["tries"]) >= 1, peak)
    takt("run model.takt --find-peak --slo p99=1us --duration 0.05 --streams 1", 4, "peak: none")
    takt("run model.takt --iterations 40 --slo p50=1ns", 4, "NOT within")
    noise = result("--iterations 40")["benchmark_info"]["noise"]
    expect(noise["grade"] == "unknown" and noise["aa_floor_pct"] is None, "40 runs show no noise")
    few = takt("run model.takt --iterations 40 --slo p99=10s", 0, "p99 is at least")
    expect("too few runs to be sure" in few, few)
    many = result("--slo p99=10s -t 1")["results"]
    expect(many["slo"]["resolved"] and many["latency"]["n"] >= 368, "runs enough for an SLO")
    takt("run model.takt --qps 50 --duration 0.1", 0, "server, ")


def batches():
    text = takt("run model.takt --batch-size 1-16*2 --iterations 30 --slo p50=1s -t 1")
    for word in ("best within the SLO", "knee: batch", "rule of thumb: batch 2 ="):
        expect(word in text, f"{word} in {text}")
    takt("run model.takt --batch-size 1,2 --iterations 30 --slo p50=1s -t 1 -o slo.html")
    expect("Best within the SLO: batch" in (TMP / "slo.html").read_text(), "which best it is")
    suggestion = result("--batch-size 1,8 --iterations 30 -t 1")["suggestion"]
    expect({"batch_size", "knee", "formula", "bytes_per_sample"} <= set(suggestion), suggestion)
    rows = takt("run model.takt --batch-size 1,4096 --iterations 5 --memory-limit 2M -o csv",
                0, "batch 4096 does not fit")
    expect(len(rows.splitlines()) == 2, rows)
    takt("run model.takt --batch-size 2048,4096 --iterations 5 --memory-limit 1M", 4, "TAKT4002")


def processes():
    data = result("--repeat-process 2 --iterations 30")["results"]
    expect(data["processes"]["n"] == 2 == len(data["processes"]["medians_ms"]), "processes")
    expect(data["latency"]["n"] == 60 and data["throughput"]["median"] > 0, "pooled")
    takt("run missing.takt --repeat-process 2", 1, "missing.takt")


def costs():
    data = result("--iterations 200 --metrics latency energy")["results"]
    energy = data["energy"]
    expect((energy["value"] is None) == (energy["source"] == "unavailable"), energy)
    expect(0 <= data["utilisation"]["cpu_pct"] <= 120, data["utilisation"])
    expect("energy" not in result("--iterations 20")["results"], "energy only where asked for")
    with_copy = result("--iterations 300 --batch-size 64 -t 1 --include-copy")["results"]
    expect(with_copy["latency"]["phases_ms"]["input_copy"] > 0, "copy")


def counters():
    lines = "--counter instructions --iterations 5 -t 1"
    done = call(f"benchmark run model.takt {lines} --json")
    if "8004" in done.stdout + done.stderr or '"counters"' not in done.stdout:
        print("SKIP counters: neither perf nor valgrind")
        return
    first = json.loads(done.stdout)["results"]["counters"]["instructions"]
    again = result(lines)["results"]["counters"]["instructions"]
    expect(first["source"] in ("measured", "simulated") and first["per_run"] > 1000, first)
    expect(abs(first["per_run"] / again["per_run"] - 1) < 0.001, f"{first} {again}")


def interruption():
    """Interrupted once there is something in the file; it would run for minutes."""
    broken = TMP / "broken.json"
    broken.unlink(missing_ok=True)
    run = start("benchmark run model.takt --iterations 100000000 -o broken.json -q")
    while run.poll() is None and not is_written(broken):
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    expect(run.wait() == 130, f"status {run.returncode} after an interrupt")
    data = json.loads((TMP / "broken.json").read_text())["results"]
    expect(data["incomplete"] is True and data["latency"]["n"] > 0, "what was measured is there")
    takt("analyze broken.json", 0, "broken off")


def aliases():
    takt("run --graph model.takt --num_runs 20 --warmup_runs 2 --num_threads 1", 0,
         "--num_runs is called --iterations")
    takt("run model.takt -niter 20 -nireq 1 -hint latency --scenario offline", 0, "offline")
    takt("run model.takt --warmUp=2 --num_runs 5", 0, "--warmUp is called --warmup")
    usual = result("--iterations 5")["benchmark_info"]["config"]["threads"]
    for word in ("auto", "physical"):
        expect(result(f"--iterations 5 -t {word}")["benchmark_info"]["config"]["threads"] == usual,
               word)
    takt("run model.takt --threads many", 2, "not a list")
    takt("run model.takt --repetitions 2 --iterations 10", 0, "2 processes")


def system():
    told = json.loads(takt("system --measure --json"))
    expect(told["ceilings"]["one_thread"]["threads"] == 1, told["ceilings"])
    expect({"disk", "network", "thread_efficiency"} <= set(told), told.keys())
    expect({"usable_cpus", "topology", "gpus", "cgroup_quota", "memory_limit"} <= set(told), told)
    peaks = {(peak["type"], peak["isa"]): peak for peak in told["peaks"]}
    for kind in ("f32", "f64", "int8"):
        best = max(peaks[key]["one_thread_gops"] for key in peaks if key[0] == kind)
        expect((kind, "scalar") in peaks and best > 0, peaks)
    sets = set(told["isa"].split("+")) | {"scalar"}
    expect({isa for _, isa in peaks} <= sets, f"{sets} {peaks.keys()}")


NVML = """
#include <time.h>
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = "gpu"; return i > 1; }
int nvmlDeviceGetName(void *d, char *to, unsigned n)
{ (void)d; for (unsigned i = 0; i < n && (to[i] = "Paper GPU"[i]) != 0; i++) {} return 0; }
int nvmlDeviceGetMemoryInfo(void *d, unsigned long long *m) { (void)d; *m = 1ull << 30; return 0; }
int nvmlDeviceGetTotalEnergyConsumption(void *d, unsigned long long *m)
{ (void)d; struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t);
  *m = t.tv_sec * 1000000ull + t.tv_nsec / 1000; return 0; }
"""


def driver():
    """A stand-in for NVIDIA's library: two GPUs, a thousand watts each."""
    (TMP / "nvml.c").write_text(NVML)
    made = subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o",
                           "libnvidia-ml.so.1", "nvml.c"], cwd=TMP, check=False)
    if made.returncode != 0 or glob.glob("/sys/class/powercap/intel-rapl:*"):
        print("SKIP driver: no compiler, or energy is counted by others")
        return
    ENVIRONMENT["LD_LIBRARY_PATH"] = str(TMP)
    told = json.loads(takt("system --specs --json"))["gpus"]
    expect(told == [{"name": "Paper GPU", "memory_bytes": 1 << 30}] * 2, told)
    takt("system --specs", text="GPU 1             Paper GPU, 1 GiB")
    energy = result("--iterations 100 --metrics energy")["results"]["energy"]
    expect(energy["source"] in ("nvml", "hwmon") and energy["value"] > 0, energy)
    takt("run model.takt --iterations 100 --metrics latency energy", text="J")
    del ENVIRONMENT["LD_LIBRARY_PATH"]


def seeds():
    """Ceilings that are impossibly low: floors must be dropped, with a note."""
    for path in (TMP / "cache/takt").glob("ceilings-*.json"):
        kept = json.loads(path.read_text())
        for key in ("one", "all"):
            for name in ("f32_gflops", "f64_gflops", "int8_gops"):
                kept[key][name] = 0.001 * kept[key]["threads"]
        path.write_text(json.dumps(kept))
    done = call("benchmark seeds --duration 5ms --json")
    report = json.loads(done.stdout)
    times = report["times"]
    expect(report["machine"] and report["threads"] >= 1 and report["dtype"] == "f32", report)
    expect([row["dtype"] for row in times].count("f64") == 3, times)
    named = {row["name"] for row in report["backends_us"]}
    guide = {row["name"] for row in times if row["guide"] == "000"}
    expect(guide <= named and len(guide) == 6, (guide, named))
    expect("busy machine" in done.stderr, done.stderr)
    expect(all(row["floor_us"] <= 1.04 * row["median_us"] for row in times), times)
    for row in times:  # a claim within the interval is neither met nor missed
        low, high = row["ci95_us"]
        for claim in row["claims"]:
            want = ["met"] if high < 0.999 * claim["us"] else ["not met", "impossible here"] \
                if low > 1.001 * claim["us"] else ["met", "inconclusive", "impossible here"]
            expect(claim["verdict"] in want, row)
    reuse = [row for row in json.loads(done.stdout)["metrics"] if "best_possible" in row]
    expect(len(reuse) == 1 and reuse[0]["achieved"] <= reuse[0]["best_possible"] * 1.001, reuse)
    expect((reuse[0]["verdict"] == "impossible here") ==
           (reuse[0]["best_possible"] < reuse[0]["target"]), reuse)
    (TMP / "targets.json").write_text('{"model": "model.takt", "latency": "10s", "memory": "1K"}')
    takt("seeds --targets targets.json --duration 20ms", 4, "not met")
    (TMP / "targets.json").write_text('{"model": "model.takt", "latency": "10s"}')
    takt("seeds --targets targets.json --duration 20ms", 0, "met")
    (TMP / "targets.json").write_text('{"model": "model.takt", "beauty": 3}')
    takt("seeds --targets targets.json", 2, "not a target")


def mistakes():
    takt("run model.takt --scenario both", 2, "no scenario")
    takt("run model.takt --scenario server", 2, "how many queries")
    takt("run model.takt --scenario offline --qps 5", 2, "no meaning")
    takt("run model.takt --qps many", 2, "not a rate")
    takt("run model.takt --slo fast", 2, "not an SLO")
    takt("run model.takt --slo p0=5ms", 2, "not an SLO")
    takt("run model.takt --find-peak", 2, "needs an SLO")
    takt("run model.takt --counter smiles", 2, "no counter smiles")


shutil.copy("examples/mlp.takt", TMP / "model.takt")
for part in (scenarios, batches, processes, costs, counters, interruption, aliases, system,
             driver, seeds, mistakes):
    part()
finish()
