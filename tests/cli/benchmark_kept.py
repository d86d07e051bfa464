"""benchmark_kept.py - measurements are kept, however a run ends; cases are distinguished."""
import json
import os
import shutil
import signal
import subprocess
import time

from _benchmark import ENVIRONMENT, TMP, call, held, start
from _cli import expect, finish, is_written

THOUSAND = "benchmark run model.takt --iterations 20 -o kept.json --repeat-process 1000 -q"



def takt(line, code=0, text=None):
    return held("benchmark " + line, code, text)


def first_is_done(path):
    return is_written(path) and json.loads(path.read_text())["results"]["incomplete"] is False


def broken_off(number, code):
    """Interrupts one of many cases after the first is done. They would take at least a minute, so
    it cannot have ended before."""
    path = TMP / "kept.json"
    path.unlink(missing_ok=True)
    run = start("benchmark run model.takt --batch-size 1-60 --duration 1 --threads 1 "
                "-o kept.json -q")
    while run.poll() is None and not first_is_done(path):
        time.sleep(0.05)
    run.send_signal(number)
    expect(run.wait() == code, f"status {run.returncode} after signal {number}")
    data = json.loads(path.read_text())
    info = data["benchmark_info"]
    count = info["cases"]["measured"]
    expect(info["incomplete"] is True and info["cases"]["asked"] == 60 > count, info["cases"])
    first = data["results"]
    expect(first["incomplete"] is False and first["latency"]["n"] > 0, "first")
    said = takt("analyze kept.json", 0).stdout.splitlines()[1]
    expect(said in (f"INCOMPLETE: {count} of 60 cases were measured",
                    "INCOMPLETE: the measurement was broken off"), said)
    noted()
    # a killed process cannot remove the file it was writing
    expect(code < 0 or not (TMP / "kept.json.part").exists(), "no part is left")


def killed():
    """A single case of two minutes, killed: its times have been saved, and more are every second.
    So have those of processes that have ended."""
    path = TMP / "kept.json"
    path.unlink(missing_ok=True)
    run = start("benchmark run model.takt --iterations 100000000 --threads 1 -o kept.json -q")
    counts = []
    while run.poll() is None and len(counts) < 2:
        time.sleep(0.05)
        count = json.loads(path.read_text())["results"]["latency"]["n"] if is_written(path) else 0
        if count > (counts[-1] if counts else 0):
            counts.append(count)
    run.kill()
    expect(run.wait() == -9 and len(counts) == 2, f"status {run.returncode}, {counts}")
    data = json.loads(path.read_text())["results"]
    expect(data["incomplete"] is True and data["latency"]["n"] == len(data["latency"]["samples_ns"])
           and data["throughput"]["mean"] > 0 and data["memory_usage"]["planned_peak"] > 0, "rest")
    said = takt("analyze kept.json", 0).stdout.splitlines()[1]
    expect(said == "INCOMPLETE: the measurement was broken off", said)
    path.unlink()
    run = start(THOUSAND)
    while run.poll() is None and not is_written(path):
        time.sleep(0.05)
    run.kill()
    run.wait()
    data = json.loads(path.read_text())
    expect(data["benchmark_info"]["incomplete"] is True, "processes are missing")
    expect(data["results"]["latency"]["n"] % 20 == 0, data["results"]["latency"]["n"])


def told_to_end():
    """Interrupts a thousand processes at the second or later: their measurements are kept, and
    neither a process nor a temporary file is left."""
    path, folder = TMP / "kept.json", TMP / "temporary"
    folder.mkdir(exist_ok=True)
    for number in (signal.SIGINT, signal.SIGTERM):
        path.unlink(missing_ok=True)
        run = start(THOUSAND, env={**ENVIRONMENT, "TMPDIR": str(folder)})
        while run.poll() is None and not is_written(path):
            time.sleep(0.05)
        run.send_signal(number)
        expect(run.wait() == 130, f"status {run.returncode} after signal {number}")
        data = json.loads(path.read_text())
        expect(data["benchmark_info"]["incomplete"] is True, "processes are missing")
        expect(1 <= data["results"]["processes"]["n"] < 1000, data["results"]["processes"]["n"])
        expect(not list(folder.iterdir()), f"left behind: {list(folder.iterdir())}")


def noted():
    """An incomplete result among others is reported, once for each such file."""
    note = "note: kept.json is incomplete: its measurement was broken off\n"
    for line in ("compare whole.json kept.json", "compare kept.json whole.json whole.json",
                 "trends whole.json kept.json", "trends kept.json whole.json --json"):
        said = call("benchmark " + line).stderr
        expect(said.count(note) == 1 and said.count("is incomplete") == 1, f"{line}: {said}")
        said = call("benchmark " + line.replace("kept", "whole")).stderr
        expect("incomplete" not in said, f"{line} of whole results: {said}")


def pages():
    """Pages and objects made from incomplete results are marked, others are not."""
    told = ('<p class="warn">Incomplete: kept.json',
            '<p class="warn">Incomplete: 1 of 2 results was broken off.</p>',
            '<p class="warn">Incomplete: ')
    lines = ("compare whole.json kept.json", "trends whole.json kept.json", "analyze kept.json")
    for line, words in zip(lines, told):
        for name in ("kept", "whole"):
            call(f"benchmark {line.replace('kept', name)} -o page.html")
            expect((words in (TMP / "page.html").read_text()) == (name == "kept"), f"{line} {name}")
    pair = takt_json("compare whole.json kept.json --json")
    expect(pair["comparisons"][0]["b_incomplete"] and not pair["comparisons"][0]["a_incomplete"],
           pair)
    trend = takt_json("trends whole.json kept.json --json")
    expect([point["incomplete"] for point in trend["points"]].count(True) == 1, trend)


def takt_json(line):
    return json.loads(call("benchmark " + line).stdout)


def said_by_file():
    """A file marked incomplete is treated as such, even if its cases do not show why."""
    data = json.loads((TMP / "whole.json").read_text())
    data["benchmark_info"]["incomplete"] = True
    (TMP / "kept.json").write_text(json.dumps(data))
    expect("INCOMPLETE" in takt("analyze kept.json").stdout.splitlines()[1], "analyze")
    expect("INCOMPLETE" not in takt("analyze whole.json").stdout, "a whole one is not")
    noted()
    pages()


def whole():
    takt("run model.takt --batch-size 1,2 --iterations 20 -o whole.json -q")
    info = json.loads((TMP / "whole.json").read_text())["benchmark_info"]
    expect(info["incomplete"] is False and info["cases"] == {"asked": 2, "measured": 2}, info)
    takt("run model.takt --batch-size 1,8192 --iterations 5 --memory-limit 2M -o less.json -q")
    info = json.loads((TMP / "less.json").read_text())["benchmark_info"]
    expect(info["incomplete"] is False and info["cases"]["asked"] == 1, "what has no room is left")


def unwritable():
    start = time.monotonic()
    takt("run model.takt --duration 600 -o nowhere/r.json", 1, "no folder nowhere")
    takt("compare model.takt model.takt --duration 600 -o nowhere/r.html", 1, "no folder nowhere")
    expect(time.monotonic() - start < 300, "that is known before anything is measured")
    (TMP / "old.json").write_text("old")
    os.mkfifo(TMP / "pipe.json")
    with subprocess.Popen(["cat", "pipe.json"], cwd=TMP, stdout=subprocess.PIPE) as read:
        takt("run model.takt --batch-size 1,2 --iterations 5 -o pipe.json -q")
        try:
            got = read.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:  # the other end is not open
            read.kill()
            got = b'{"runs": []}'
        expect(len(json.loads(got)["runs"]) == 2, "a pipe gets one result whole")
    takt("run missing.takt -o old.json", 1)
    expect((TMP / "old.json").read_text() == "old", "a failure leaves the old file")
    expect(not (TMP / "nowhere").exists(), "no folder is made")
    full = takt("run model.takt --iterations 20 -o /dev/full --format json", 1, "/dev/full")
    expect("median" in full.stdout, "figures are shown if they cannot be saved")


def cases():
    """Results with several cases are compared case by case, and only like with like."""
    takt("run model.takt --batch-size 1,2 --threads 1 --iterations 60 -o two.json -q")
    takt("run model.takt --batch-size 2,4 --threads 1 --iterations 60 -o more.json -q")
    takt("run model.takt --batch-size 4 --threads 1 --iterations 60 -o four.json -q")
    done = call("benchmark compare two.json more.json --json")
    pair = json.loads(done.stdout)
    expect("more.json holds nothing of batch 1, 1 thread" in done.stderr, done.stderr)
    expect("batch 2, 1 thread" in pair["a"] and "batch 2, 1 thread" in pair["b"], pair)
    done = call("benchmark compare two.json two.json --json")
    pairs = json.loads(done.stdout)["comparisons"]
    expect(len(pairs) == 2 and all(pair["ratio"] == 1 for pair in pairs), done.stdout)
    takt("compare two.json four.json", 4, "no case in common: two.json is of batch 1, 1 thread")
    slow = json.loads((TMP / "two.json").read_text())
    for name, factor in (("two.json", 1), ("slow.json", 9)):  # no times of this machine
        times = slow["runs"][1]["results"]["latency"]
        times["samples_ns"] = [factor * (9000 + i) for i in range(60)]
        (TMP / name).write_text(json.dumps(slow))
    takt("compare two.json slow.json --fail-on slower:50%", 3, "batch 2, 1 thread is 9 times")


def memory():
    """--type memory reports memory, not only times."""
    text = takt("run model.takt --type memory --iterations 30").stdout
    for words in ("peak 8", "live on average", "0 allocations a run", "a run moves", "fits into"):
        expect(words in text, f"{words}: {text}")
    expect("live on average" not in takt("run model.takt --iterations 30").stdout, "only there")


def rates():
    """Rates and times are written with readable units."""
    text = takt("run model.takt --scenario offline --iterations 3000 --slo p50=1us", 4).stdout
    expect("e+0" not in text and "NOT within 1 us" in text, text)


def mistakes():
    takt("run model.takt --metrics latency beauty", 2, "there is no metric beauty")
    takt("run model.takt other.takt", 2, "one model is measured at a time")
    takt("run model.takt --iterations 0", 2, "measures nothing")
    takt("run model.takt --iterations auto --duration 20ms", 0, "median")


shutil.copy("examples/mlp.takt", TMP / "model.takt")
for part in (whole, killed, told_to_end, said_by_file, unwritable, cases, memory, rates, mistakes):
    part()
for wanted in ((signal.SIGKILL, -9), (signal.SIGTERM, 130), (signal.SIGHUP, 130)):
    broken_off(*wanted)
finish()
