"""peers.py - Takt beside its peers: the same work, data and threads, in turns; `make peers`."""
import argparse
import datetime
import difflib
import json
import os
import subprocess
import sys
import time

import engines
import report
from late import np
from machine import Machine
from process import Failed, Process, Stable
from workloads import everything

# How large a difference from Takt's answer may be, as a part of the largest number in it.
TOLERANCE = {"f32": 3e-5, "f64": 1e-12, "i8": 0, "fast": 5e-2, "f16": 2e-2, "f16-exact": 2**-11,
             "int8": 3e-2, "steps": 2e-2}
NARROW = ("fast", "f16", "f16-exact")  # rows that are held against f32, Takt's own answer too
SLOW = 3  # a peer that takes so many times as long as the best one leaves after the trial


class Mode:
    """How many blocks, and how long an engine's turn is; before each it runs itself warm."""

    def __init__(self, quick):
        self.blocks, self.trial = (4, 1) if quick else (8, 2)
        self.warm_ns, self.slice_ns = (2e6, 6e6) if quick else (4e6, 30e6)
        self.starts = 1 if quick else 3


class Bench:
    def __init__(self, arguments):
        self.mode = Mode(arguments.quick)
        os.makedirs(engines.OUT, exist_ok=True)
        log = os.path.join(engines.OUT, "engines.log")
        self.log = open(log, "wb")  # pylint: disable=consider-using-with
        self.takt, self.peers, self.missing = engines.takt(), [], {}
        self.machine = Machine(engines.statistics())
        self.stable = Stable(self.log)
        wanted = arguments.peers.split(",") if arguments.peers else None
        for make in engines.PEERS:
            name = make.__name__.strip("_")
            if wanted is not None and name not in wanted:
                continue
            try:
                engine = make()
                self.stable.get(engine, 1)
                self.peers.append(engine)
            except (engines.Missing, Failed) as problem:
                self.missing[name] = str(problem)
                print(f"peers: without {name}: {problem}", flush=True)
        limit = arguments.limit or (220 if arguments.quick else 1440)
        self.deadline = time.monotonic() + limit

    # ---- one row ----

    def load(self, engine, row, threads):
        """The engine's process with the workload loaded, and its answer."""
        process = self.stable.get(engine, threads)
        process.ask(do="load", folder=row.folder, threads=threads)
        path = os.path.join(engines.OUT, "output.bin")
        process.ask(do="output", path=path)
        answer = np.fromfile(path, row.graph.types[row.graph.output]).astype(np.float64)
        return process, answer

    def field(self, row, threads):
        """Who takes part: {name: process}, who not and why, and how far answers are from Takt's in
        f32; for a row of 16 bits Takt's own too."""
        errors = {}
        if row.numerics in NARROW:
            say(row, "exact")
            truth = self.load(self.takt, row, threads)[1]
            say(row, row.numerics)
        process, answer = self.load(self.takt, row, threads)
        if row.numerics in NARROW:
            errors["takt"] = difference(truth, answer)
        else:
            truth = answer
        there, reasons = {"takt": process}, {}
        for engine in self.peers:
            try:
                process, answer = self.load(engine, row, threads)
            except Failed as problem:
                reasons[engine.name] = str(problem)
                continue
            errors[engine.name] = difference(truth, answer)
            if not errors[engine.name] <= row.tolerance:
                reasons[engine.name] = f"its answer differs by {errors[engine.name]:.1e}"
            there[engine.name] = process
        if errors.get("takt", 0) > row.tolerance:
            reasons["takt"] = f"its answer differs by {errors['takt']:.1e}"
        return there, reasons, errors

    def turns(self, there, reasons):
        """Samples of each, block by block: there and back, so that drifts fall on all alike."""
        blocks = {name: [] for name in there}
        left = dict(there)
        for number in range(self.mode.blocks):
            order = list(left)
            if all(process.threads == 1 for process in left.values()):
                cpu = self.machine.fastest()
                for process in left.values():
                    process.pin(cpu)
            for name in order:
                blocks[name].append([])
            for name in order + order[::-1]:
                if name not in left:
                    continue
                try:
                    got = left[name].ask(do="time", warm=self.mode.warm_ns,
                                         budget=self.mode.slice_ns)
                    blocks[name][-1] += got["samples"]
                except Failed as problem:  # a peer alone is no reason to have no row
                    if name == "takt":
                        raise
                    reasons[name] = str(problem)
                    del left[name], blocks[name]
            if number + 1 == self.mode.trial:
                level = {name: self.machine.stats(blocks[name][0])["median"] for name in left}
                best = min((v for name, v in level.items() if name != "takt"
                            and "differs" not in reasons.get(name, "")), default=0)
                left = {name: p for name, p in left.items()
                        if name == "takt" or level[name] <= SLOW * best}
        return blocks

    def measure(self, row, threads):
        """One row of the table; times in microseconds."""
        there, reasons, errors = self.field(row, threads)
        blocks = self.turns(there, reasons)
        all_of = {name: self.machine.stats(sum(b, [])) for name, b in blocks.items()}
        out = {"workload": row.name, "group": row.group, "threads": threads,
               "numerics": row.numerics, "takt": all_of["takt"]["median"] / 1e3}
        for engine in self.peers:
            stats = all_of.get(engine.name)
            out[engine.name] = stats and stats["median"] / 1e3
        out["agree"] = all("differs" not in text for text in reasons.values())
        # One whose answer is another one is shown, but nobody's rival.
        rivals = {name: s["median"] for name, s in all_of.items()
                  if name != "takt" and "differs" not in reasons.get(name, "")}
        out["best"] = min(rivals, key=rivals.get) if rivals else None
        out["ratio"] = rivals[out["best"]] / all_of["takt"]["median"] if rivals else None
        if rivals:
            mine, best = ([self.machine.stats(b)["median"] for b in blocks[name]]
                          for name in ("takt", out["best"]))
            count = min(len(mine), len(best))
            compared = self.machine.compare(mine[:count], best[:count])
            out.update(ratio_interval=compared["interval"], verdict=compared["verdict"])
        out["interval"] = {n: [s["low"] / 1e3, s["high"] / 1e3] for n, s in all_of.items()}
        out["p99"] = {n: s["p99"] / 1e3 for n, s in all_of.items()}
        out["runs"] = {n: sum(map(len, b)) for n, b in blocks.items()}
        out.update(self.machine.floor(row.graph, row.kind, threads))
        out["share"] = out["floor"] / out["takt"]
        out.update(errors=errors, reasons=reasons)
        return out

    # ---- starting, memory, size ----

    def start(self, row):
        """Each engine's way to the first result of a workload, in a process made for it."""
        out = {}
        for engine in [self.takt, *self.peers]:
            times, memory = [], 0
            try:
                for _ in range(self.mode.starts):
                    process = Process(engine, 1, self.log)
                    got = process.ask(do="load", folder=row.folder, threads=1)
                    process.close()
                    times.append(got["start_ms"])
                    memory = max(memory, got["memory"])
                out[engine.name] = {"start_ms": sorted(times)[len(times) // 2],
                                    "peak_memory_bytes": memory}
            except Failed as problem:
                out[engine.name] = {"problem": str(problem)}
        return out

    def close(self):
        self.stable.close()
        self.log.close()


def difference(truth, answer):
    """Infinite if the answers cannot be compared at all."""
    if truth.shape != answer.shape or not np.isfinite(answer).all():
        return float("inf")
    scale = np.abs(truth).max()
    return float(np.abs(truth - answer).max() / (scale if scale > 0 else 1))


def say(row, numerics):
    """What the engines read in the row's folder."""
    with open(os.path.join(row.folder, "numerics"), "w", encoding="ascii") as file:
        file.write(numerics + "\n")


def prepare(row):
    """The workload's files; its arrays are let go, only shapes and sizes are needed after."""
    row.graph = row.build()
    folder = row.name if row.numerics == "exact" else f"{row.name}-{row.numerics}"
    row.folder = os.path.join(engines.OUT, "models", folder)
    row.graph.write(row.folder)
    say(row, row.numerics)
    row.tolerance = TOLERANCE[row.kind if row.numerics == "exact" else row.numerics]
    row.graph.bytes = row.graph.traffic() / (1 if row.numerics == "exact" else 2)
    row.graph.inputs = row.graph.weights = None


def scaling(rows):
    """Beside a row with more threads: its time over that of one thread, both Takt's."""
    last = rows[-1]
    for r in rows[:-1]:
        if r["threads"] == 1 != last["threads"] and \
                (r["workload"], r["numerics"]) == (last["workload"], last["numerics"]):
            last["over_one_thread"] = last["takt"] / r["takt"]


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
                        help="seconds, then rows are left out; default 1440, quick 220")
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
        for row in rows:
            if time.monotonic() > bench.deadline:
                result["left_out"].append(row.name)
                continue
            prepare(row)
            for count in threads:
                try:
                    result["rows"].append(bench.measure(row, count))
                    scaling(result["rows"])
                    result["rows"][-1].update(made=result["made"], commit=result["commit"],
                                              quick=arguments.quick)
                    print(report.line(result["rows"][-1], bench.peers), flush=True)
                except Failed as problem:
                    print(f"{row.name} {count}: Takt failed: {problem}", flush=True)
                    result["left_out"].append(f"{row.name}, {count} threads: {problem}")
            if row.name in ("mlp_b1", "mobilenet_v2") and row.numerics == "exact":
                result.setdefault("start", {})[row.name] = bench.start(row)
        result["engines"] = {e.name: {"version": e.version, "call": e.note, "code_bytes": e.size}
                             for e in [bench.takt, *bench.peers]}
    finally:
        bench.close()
    return result


def main():
    arguments = options()
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
