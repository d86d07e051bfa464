"""benchmark_compare.py - models, backends, builds, counts; injected slowdowns; exit codes."""
import json
import shutil
import signal
import subprocess
import time

from _benchmark import ENVIRONMENT, TMP, held, start
from _cli import TOOL, expect, finish



def compare(line, code=0, text=None):
    return held("benchmark compare " + line, code, text)


def models():
    fixed = json.loads(compare("a.takt b.takt --blocks 9 -t 1 --json", (0, 5)).stdout)
    expect(fixed["blocks"] == 9 == len(fixed["a_blocks_ns"]) == len(fixed["b_blocks_ns"]), fixed)
    slow = "a.takt b.takt -t 1 --inject 100% --duration 1 --fail-on slower:2%"
    done = compare(slow, (3, 5))
    expect(done.returncode == 3 or "inconclusive" in done.stdout, done.stdout)
    three = compare("a.takt b.takt c.takt -t 1 --duration 0.2", (0, 5)).stdout
    expect("b.takt" in three and "c.takt" in three, three)
    compare("a.takt b.takt -t 1 --blocks 8 -o models.html", (0, 5))
    page = (TMP / "models.html").read_text()
    expect(page.count("<svg") >= 3, "the blocks are drawn")


def backends():
    done = compare("a.takt --backends cpu,ref --duration 0.3", (0, 5), "ref")
    expect("ref is" in done.stdout or done.returncode == 5, done.stdout)
    compare("a.takt --backends cpu,nothing", 2, "nothing")
    compare("a.takt b.takt --backends cpu,ref", 2, "one model")


def builds():
    compare(f"a.takt --bin-a {TOOL} --bin-b {TOOL} --blocks 4", (0, 5), "4 blocks")
    compare(f"a.takt --bin-a {TOOL} --bin-b {TOOL} --blocks 25", 2, "at most 24 blocks")
    compare(f"a.takt --bin-a {TOOL} --bin-b /bin/false", 1, "/bin/false")
    compare(f"a.takt --bin-a {TOOL}", 2, "two programs")
    ENVIRONMENT["TMPDIR"] = str(TMP / "nowhere")
    compare(f"a.takt --bin-a {TOOL} --bin-b {TOOL}", 1, "set TMPDIR to a folder that can be")
    folder = TMP / "temporary"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    ENVIRONMENT["TMPDIR"] = str(folder)
    run = start(f"benchmark compare a.takt --bin-a {TOOL} --bin-b {TOOL} --blocks 24 "
                "--duration 600", stdout=subprocess.DEVNULL)
    while run.poll() is None and not any(f.stat().st_size > 0 for f in folder.iterdir()):
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    # 0, 5: it was done before the signal came
    expect(run.wait() in (130, 0, 5), f"status {run.returncode} after an interrupt")
    expect(not list(folder.iterdir()), f"left behind: {list(folder.iterdir())}")
    del ENVIRONMENT["TMPDIR"]


def counts():
    # The count of a small model moves by about a thousandth from one run to the next.
    done = compare("a.takt b.takt --counter instructions --margin 1% --json", (0, 1))
    if done.returncode == 1:
        expect("8004" in done.stdout + done.stderr, done.stderr)
        print("SKIP counts: no valgrind")
        return
    same = json.loads(done.stdout)
    expect(same["verdict"] == "same" and abs(same["ratio"] - 1) < 0.01, same)
    compare("a.takt larger.takt --counter instructions --fail-on slower:2%", 3, "more")
    compare("a.takt larger.takt --counter smiles", 2, "no counter smiles")


def counted_files():
    result = {"benchmark_info": {"model": "a", "system_info": {"fingerprint": "f" * 16}},
              "results": {"latency": {"samples_ns": [1000] * 9},
                          "counters": {"instructions": {"per_run": 1000, "source": "measured"}}}}
    counter = result["results"]["counters"]["instructions"]
    for name, count, source in (("m1", 1000, "measured"), ("m2", 1005, "measured"),
                                ("s1", 1000, "simulated")):
        counter.update(per_run=count, source=source)
        (TMP / f"{name}.json").write_text(json.dumps(result))
    compare("m1.json m2.json --counter instructions", 0, "0.5 % more")
    compare("m1.json m2.json --counter instructions --fail-on slower:0.2%", 3)
    compare("m1.json s1.json --counter instructions", 4, "simulated")
    del result["results"]["counters"]
    (TMP / "n1.json").write_text(json.dumps(result))
    compare("m1.json n1.json --counter instructions", 1, "TAKT8004")


def apart():
    """Results of one process each: 2 % is not a verdict, 10 % is; a busy machine is reported."""
    times = [1000 + at % 3 for at in range(60)]
    for name, factor, others in (("q1", 1, 0), ("q2", 1.02, 0), ("q3", 1.1, 0), ("d1", 1.02, 2)):
        result = {"benchmark_info": {"model": "a", "system_info": {"fingerprint": "f" * 16},
                                     "noise": {"others_processors": others, "processors": 2}},
                  "results": {"latency": {"samples_ns": [factor * value for value in times]}}}
        (TMP / f"{name}.json").write_text(json.dumps(result))
    quiet = compare("q1.json q2.json --fail-on slower:1%", 5, "--repeat-process")
    expect("grade" not in quiet.stdout and "1 process each" in quiet.stdout, quiet.stdout)
    compare("q1.json q3.json --fail-on slower:1%", 3, "10 % slower")
    compare("q1.json d1.json", 5, "noise: d1.json has grade D")
    told = json.loads(compare("q1.json d1.json --json", 5).stdout)
    expect((told["a_grade"], told["b_grade"], told["processes"]) == ("A", "D", 1), told)
    compare("q1.json d1.json -o apart.html", 5)
    expect("d1.json has grade D" in (TMP / "apart.html").read_text(), "the page warns")


def mistakes():
    compare("a.takt", 2, "two or more")
    few = compare("a.takt b.takt --duration 1ms", (0, 5)).stdout
    expect("0.00 % today" not in few, f"nothing was measured: {few}")
    long = json.loads((TMP / "q1.json").read_text())
    long["results"]["latency"]["samples_ns"][5] = 1e308
    (TMP / "long.json").write_text(json.dumps(long))
    compare("q1.json long.json", 1, "1e+308 ns is not a time")
    compare("a.takt b.takt c.takt -o x.png", 2, "no such format")
    compare("a.takt b.takt -o x.csv", 2, "no such format")
    compare("a.takt b.takt --inject much", 2, "not a fraction")
    compare("a.takt missing.takt", 1, "missing.takt")


for letter in "abc":
    shutil.copy("examples/mlp.takt", TMP / f"{letter}.takt")
(TMP / "larger.takt").write_text(
    (TMP / "a.takt").read_text().replace("256", "288"))
for part in (models, backends, builds, counts, counted_files, apart, mistakes):
    part()
finish()
