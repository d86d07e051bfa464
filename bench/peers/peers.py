"""peers.py - Takt against its peers: the same work, data and threads, alternately; `make peers`."""
import argparse
import datetime
import difflib
import os
import subprocess
import sys
import time

import engines
import limits
import report
import scaling
from bench import Bench, Taken, say
from process import Failed
from workloads import everything

sys.path.insert(0, os.path.join(engines.ROOT, "scripts"))
from _progress import Progress  # pylint: disable=wrong-import-position

# Largest accepted difference from Takt's answer, relative to the largest number in it.
TOLERANCE = {"f32": 3e-5, "f64": 1e-12, "i8": 0, "fast": 5e-2, "f16": 2e-2, "f16-exact": 2**-11,
             "int8": 3e-2, "steps": 2e-2}
PASSES = 4  # over rows in doubt, at most


def prepare(row):
    """The workload's files; its arrays are freed, since only shapes and sizes are needed later."""
    row.graph = row.build()
    folder = row.name if row.numerics == "exact" else f"{row.name}-{row.numerics}"
    row.folder = os.path.join(engines.OUT, "models", folder)
    row.graph.write(row.folder)
    say(row, row.numerics)
    row.tolerance = TOLERANCE[row.kind if row.numerics == "exact" else row.numerics]
    row.graph.bytes = row.graph.traffic() / (1 if row.numerics == "exact" else 2)
    row.graph.inputs = row.graph.weights = None


def selected(text):
    rows = list(everything())
    if not text:
        return rows
    words = text.split(",")
    found = [r for r in rows if any(w in (r.group, r.name) for w in words)]
    unknown = [w for w in words if not any(w in (r.group, r.name) for r in rows)]
    if unknown:
        groups = list(dict.fromkeys(r.group for r in rows))
        near = dict.fromkeys(n for w in unknown for n in difflib.get_close_matches(
            w, dict.fromkeys([*groups, *(r.name for r in rows)]), 2))
        meant = f" (perhaps {' or '.join(near)})" if near else ""
        sys.exit(f"peers: there is no row or group {', '.join(unknown)}{meant}; "
                 f"groups: {', '.join(groups)}; --list names the rows")
    return found


def options():
    parser = argparse.ArgumentParser(prog="make peers", description=__doc__)
    parser.add_argument("--rows", default="", help="groups or workloads, comma-separated")
    parser.add_argument("--peers", default="", help="only these peers, comma-separated")
    parser.add_argument("--threads", default="", help="numbers of threads; default 1 and all")
    parser.add_argument("--quick", action="store_true", help="shorter slices, fewer blocks")
    parser.add_argument("--limit", type=float, default=0,
                        help="seconds, then rows are left out; default 1440, quick 260")
    parser.add_argument("--list", action="store_true", help="the rows, and stop")
    parser.add_argument("--out", help="folder of the results; default: bench/results for all rows")
    return parser.parse_args()


def commit():
    done = subprocess.run(["git", "-C", engines.ROOT, "describe", "--always", "--dirty"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.strip()


def provide():
    """Installs what is missing; the packages of build/peers/venv are those that are used."""
    if not os.environ.get("PEERS_NO_INSTALL"):
        os.makedirs(engines.OUT, exist_ok=True)
        engines.install(lambda line: print(f"peers: {line}", flush=True))
    python = os.path.join(engines.VENV, "bin", "python")
    here = os.path.realpath(sys.prefix) == os.path.realpath(engines.VENV)
    if os.access(python, os.X_OK) and not here:
        os.environ["PEERS_NO_INSTALL"] = "1"
        os.execv(python, [python, *sys.argv])
    if not engines.has("numpy"):
        sys.exit("peers: this Python has no numpy, which all rows need")


def first_pass(bench, rows, threads, result):
    """Every row, until the time is over."""
    all_taken, bar = [], Progress(len(rows) * len(threads))
    for number, row in enumerate(rows):
        if time.monotonic() > bench.deadline:
            result["left_out"].append(row.name)
            continue
        prepare(row)
        of_row = []
        for part, count in enumerate(threads):
            taken = Taken(row, count)
            bar.at(number * len(threads) + part, f"peers: {row.name}, {count} threads")
            try:
                line = report.line(bench.measure(taken), bench.peers)
                bar.end()
                print(line, flush=True)
                of_row.append(taken)
            except Failed as problem:
                bar.end()
                print(f"{row.name} {count}: Takt failed: {problem}", flush=True)
                result["left_out"].append(f"{row.name}, {count} threads: {problem}")
        beside_one(bench, row, of_row)
        all_taken += of_row
        if row.name in ("mlp_b1", "mobilenet_v2") and row.numerics == "exact":
            result.setdefault("start", {})[row.name] = bench.start(row)
    return all_taken


def beside_one(bench, row, of_row):
    """Speedup of more threads over one."""
    threads = [taken.threads for taken in of_row]
    counts = scaling.counts(threads, len(bench.machine.cpus()))
    if not counts:
        return
    try:
        found = bench.scale(row, counts)
    except Failed as problem:
        print(f"{row.name}: not against one thread: {problem}", flush=True)
        return
    for taken in of_row:
        taken.beside_one = scaling.of_row(found, taken.threads, threads)
    print(report.scaling_line(row, found), flush=True)


def more_passes(bench, all_taken):
    """Repeats uncertain rows while there is time: those measured least often and least certain
    first, whichever engine leads."""
    while time.monotonic() < bench.deadline:
        found = [(t.passes, bench.judged(t) and t.certainty(), n) for n, t in enumerate(all_taken)]
        doubtful = [f for f in found if f[0] < PASSES and f[1] is not None]
        if not doubtful:
            return
        taken = all_taken[min(doubtful)[2]]
        try:
            print(report.line(bench.measure(taken), bench.peers), flush=True)
        except Failed as problem:  # results of earlier passes are kept
            print(f"{taken.row.name} {taken.threads}: not again: {problem}", flush=True)
            taken.passes = PASSES


def run(arguments, rows):
    bench = Bench(arguments)
    everyone = len(os.sched_getaffinity(0))
    threads = [int(t) for t in arguments.threads.split(",")] if arguments.threads \
        else sorted({1, everyone})
    result = {"made": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
              "commit": commit(), "quick": arguments.quick, "unit": "us",
              "machine": bench.machine.facts, "missing": bench.missing, "rows": [], "left_out": []}
    print(report.heading(bench), flush=True)
    try:
        all_taken = first_pass(bench, rows, threads, result)
        more_passes(bench, all_taken)
        result["rows"] = [{**bench.judged(t), "made": result["made"], "commit": result["commit"],
                           "quick": arguments.quick, "beside_one": t.beside_one,
                           "tail_interval": bench.tail(t)}
                          for t in all_taken]
        result["processor"] = bench.gate.summary()
        if not arguments.rows:
            result["overhead"] = limits.overhead()
        result["engines"] = {e.name: {"version": e.version, "call": e.note, "code_bytes": e.size}
                             for e in [bench.takt, *bench.peers]}
    finally:
        bench.close()
    return result


def train(arguments):
    """Training steps are a separate comparison, with their own rows, peers and table."""
    provide()
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    folder = arguments.out or (engines.OUT if arguments.quick
                               else os.path.join(engines.ROOT, "bench", "results"))
    os.environ.setdefault("TAKT", os.path.join(engines.ROOT, "build", "takt"))
    command = [sys.executable, os.path.join(engines.ROOT, "bench", "train", "run"), "--peers",
               arguments.peers or "torch,torch-compile,jax", "--threads",
               arguments.threads or (f"1,{count}" if count > 1 else "1"), "--seconds",
               "1" if arguments.quick else "5", "--out", folder]
    return subprocess.run(command, check=False).returncode


def main():
    arguments = options()
    if arguments.rows == "train" and not arguments.list:
        return train(arguments)
    rows = selected(arguments.rows)
    if arguments.list:
        for row in rows:
            print(f"{row.group:10} {row.name}")
        return 0
    provide()
    try:
        result = run(arguments, rows)
    except engines.Missing as problem:
        sys.exit(f"peers: {problem}")
    whole = not (arguments.rows or arguments.peers or arguments.threads or arguments.quick)
    folder = arguments.out or (os.path.join(engines.ROOT, "bench", "results") if whole
                               else engines.OUT)
    order = [row.name for row in everything()]
    report.write(result if whole else report.merged(result, folder, order), folder)
    return 1 if result["left_out"] or not all(r["agree"] for r in result["rows"]) else 0


if __name__ == "__main__":
    sys.exit(main())
