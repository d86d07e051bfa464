"""monitor.py - watching a run: lines at an interval, reports, limits on processors and memory."""
import json
import re

from _cli import MLP, expect, fails, finish, parsed, path, succeeds, takt

LINE = re.compile(r"^monitor +[\d.]+ s +(\d+) runs +[\d.]+/s +p50 [\d.e-]+ ms +p95 [\d.e-]+ ms +"
                  r"p99 [\d.e-]+ ms +cpu \d+ % +memory [\d.]+ MB$")

# Lines on standard error; results on standard output are unchanged.
plain = succeeds("run", MLP, "--json")
run = takt("run", MLP, "--monitor", "--interval", "20ms", "--repeat", "3000", "-D", "batch=32")
lines = [LINE.match(line) for line in run.stderr.splitlines() if line.startswith("monitor ")]
expect(run.returncode == 0 and lines and all(lines), f"lines of the monitor: {run.stderr}")
expect(sum(int(line.group(1)) for line in lines) == 3000, "every run is in one interval")
expect("whole" in run.stderr and "3000 runs" in run.stderr, run.stderr)
expect("cache hits" in run.stderr, run.stderr)
watched = takt("run", MLP, "--monitor", "--json")
expect(json.loads(watched.stdout)["digest"] == json.loads(plain)["digest"], "the same bits")

# Reports by their ending.
for name in ("m.json", "m.html", "m.txt"):
    succeeds("run", MLP, "--monitor-report", path(name), "--interval", "5ms", "--repeat", "500")
with open(path("m.json"), encoding="utf-8") as file:
    report = json.load(file)
expect(report["whole"]["runs"] == 500, f"{report['whole']}")
expect(sum(one["runs"] for one in report["samples"]) == 500, "samples add up")
expect(report["whole"]["p50_ms"] <= report["whole"]["p99_ms"], "percentiles in order")
with open(path("m.html"), encoding="utf-8") as file:
    page = file.read()
expect("<svg" in page and "takt-monitor/1" in page and "http://" not in
       page.replace("http://www.w3.org", ""), "a page of its own")

# Mistakes.
fails(2, "run", MLP, "--interval", "5ms", says=["--monitor"])
fails(2, "run", MLP, "--monitor", "--interval", "5us", says=["--interval"])
fails(2, "run", MLP, "--monitor", "--batch-size", "2", says=["--monitor is for one session"])
fails(1, "run", MLP, "--monitor-report", "/nowhere/m.json", says=["/nowhere/m.json"])
for wrong in ("much", "90x", "0%", "101%", "-5", "90%%"):
    fails(2, "run", MLP, "--cpu-limit", wrong)

# A limit on the processors: half as much in use, and twice the time.
short = takt("run", MLP, "--monitor", "--monitor-report", path("limit.json"), "--repeat", "1500",
             "-D", "batch=64", "--threads", "1", "--cpu-limit", "10%")
expect(short.returncode == 0, short.stderr)
with open(path("limit.json"), encoding="utf-8") as file:
    used = json.load(file)["whole"]
expect(used["cpu_pct"] < 16 or used["to_s"] < 0.05, f"10 % allowed: {used}")

# A limit on memory in per cent is one of this machine.
expect(parsed("plan", MLP, "--memory-limit", "80%", "--json"), "it fits into 80 %")
fails(4, "plan", MLP, "-D", "batch=100000", "--memory-limit", "0.001%", says=["bytes"])
fails(2, "run", MLP, "--memory-limit", "120%", says=["64M"])
finish()
