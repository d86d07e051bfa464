"""bench.py - measures one row: which engines take part, whether their answers agree, and rounds in
blocks."""
import math
import os
import time

import engines
import tails
from gate import Block, Gate
from late import np
from machine import Machine
from process import Failed, Process, Stable
from scaling import Scaling

NARROW = ("fast", "f16", "f16-exact")  # rows that are held against f32, Takt's own answer too
WIDE, SURE = math.log(1.05), 1.5  # intervals that are worth more rounds: see Taken.certainty
SLOW = 3  # a peer slower than the best one by this factor is dropped after the trial


class Mode:
    """The number of blocks, and the length of an engine's round, after a warm-up. A row of long
    runs needs only the minimum number of blocks."""

    def __init__(self, quick):
        self.blocks, self.least, self.trial = (5, 4, 1) if quick else (12, 8, 2)
        self.warm_ns, self.slice_ns = (2e6, 4e6) if quick else (4e6, 20e6)
        self.row_s = 0.6 if quick else 6
        self.starts = 1 if quick else 3


class Taken:
    """The measurements of one row at one thread count, and the verdict."""

    def __init__(self, row, threads):
        self.row, self.threads, self.passes = row, threads, 0
        self.blocks, self.reasons, self.errors, self.repeated = [], {}, {}, {}
        self.known, self.out, self.beside_one = None, None, {}

    def stayed(self):
        """Who is in every block."""
        return list(self.blocks[-1].rounds)

    def drop(self, name):
        for block in self.blocks:
            block.rounds.pop(name, None)

    def certainty(self):
        """Distance of the ratio from 1 in widths of its interval, either way; None where more
        rounds would not help."""
        low, high = self.out.get("ratio_interval") or (1, 1)
        width = math.log(high / low)
        far = abs(math.log(self.out["ratio"] or 1))
        if self.out["unsteady"]:
            return far / max(width, WIDE)
        return far / width if width > WIDE and far < SURE * width else None


class Bench:
    def __init__(self, arguments):
        self.mode = Mode(arguments.quick)
        os.makedirs(engines.OUT, exist_ok=True)
        log = os.path.join(engines.OUT, "engines.log")
        self.log = open(log, "wb")  # pylint: disable=consider-using-with
        self.takt, self.peers, self.missing = engines.takt(), [], {}
        self.machine = Machine(engines.statistics())
        self.gate = Gate(self.machine)
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
        limit = arguments.limit or (260 if arguments.quick else 1440)
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

    def field(self, taken):
        """The engines that take part, {name: process}; notes which do not and why, and how far
        answers are from Takt's in f32, and for a row of 16 bits from Takt's own."""
        row, threads, errors, reasons = taken.row, taken.threads, taken.errors, taken.reasons
        if row.numerics in NARROW:
            say(row, "exact")
            truth = self.load(self.takt, row, threads)[1]
            say(row, row.numerics)
        process, answer = self.load(self.takt, row, threads)
        if row.numerics in NARROW:
            errors["takt"] = difference(truth, answer)
        else:
            truth = answer
        there = {"takt": process}
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
        return there

    def take_round(self, name, process):
        """Samples of one engine and, with one thread, the probes around them."""
        def run(cpu):
            if cpu is not None:
                process.pin(cpu)
            got = process.ask(do="time", warm=self.mode.warm_ns, budget=self.mode.slice_ns)
            return got["samples"], got["share"]
        return self.gate.take_round(name, run) if process.threads == 1 else (run(None)[0], None)

    def block(self, taken, left):
        """Runs the engines in ABBA order, so that drift affects all equally."""
        order, block = list(left), Block(left)
        taken.blocks.append(block)
        self.gate.begin_block(2 * len(order))
        for name in order + order[::-1]:
            if name not in left:
                continue
            try:
                block.add(name, *self.take_round(name, left[name]))
            except Failed as problem:  # a peer alone is not a reason to have no row
                if name == "takt":
                    raise
                taken.reasons[name] = str(problem)
                taken.drop(name)
                del left[name]

    def rivals(self, taken, left):
        """Those that are not far behind the best after the trial."""
        first = taken.blocks[0]
        level = {name: self.machine.stats(first.counted(name, lambda rates: True))["median"]
                 for name in left}
        best = min((v for name, v in level.items() if name != "takt"
                    and "differs" not in taken.reasons.get(name, "")), default=0)
        return {name: p for name, p in left.items()
                if name == "takt" or level[name] <= SLOW * best}

    def rounds(self, taken, left):
        """Runs the blocks of one pass; an engine that dropped out stays out in the second."""
        self.gate.begin(taken.threads)
        start = time.monotonic()
        for number in range(self.mode.blocks):
            if number >= self.mode.least and time.monotonic() - start > self.mode.row_s:
                break
            self.block(taken, left)
            if taken.passes == 0 and number + 1 == self.mode.trial:
                left = self.rivals(taken, left)
        if taken.threads == 1:  # where the rounds were
            self.machine.look(taken.row.graph, taken.row.kind, taken.threads)
        self.gate.end()
        if taken.threads != 1:
            self.machine.look(taken.row.graph, taken.row.kind, taken.threads)
        for name, count in self.gate.repeated.items():
            taken.repeated[name] = taken.repeated.get(name, 0) + count
        taken.passes += 1

    def measure(self, taken):
        """One row of the table, or part of it."""
        if taken.passes == 0:
            there = self.field(taken)
        else:
            known = {e.name: e for e in [self.takt, *self.peers]}
            there = {name: self.load(known[name], taken.row, taken.threads)[0]
                     for name in taken.stayed()}
        self.rounds(taken, there)
        return self.judged(taken)

    def judged(self, taken):
        """Statistics of the blocks that count, judged by the best probe so far; times in
        microseconds."""
        known = self.gate.best, taken.passes
        if taken.out and taken.known == known:
            return self.held(taken)
        counted, is_steady = self.gate.counting(taken.blocks)
        taken.known, row, reasons = known, taken.row, taken.reasons
        all_of = {n: self.machine.stats(sum(of, [])) for n, of in counted.items()}
        out = {"workload": row.name, "group": row.group, "threads": taken.threads,
               "numerics": row.numerics, "takt": all_of["takt"]["median"] / 1e3}
        for engine in self.peers:
            stats = all_of.get(engine.name)
            out[engine.name] = stats and stats["median"] / 1e3
        out["agree"] = all("differs" not in text for text in reasons.values())
        # An engine with a different answer is shown, but not counted as a rival.
        rivals = {name: s["median"] for name, s in all_of.items()
                  if name != "takt" and "differs" not in reasons.get(name, "")}
        out["best"] = min(rivals, key=rivals.get) if rivals else None
        out["ratio"] = rivals[out["best"]] / all_of["takt"]["median"] if rivals else None
        if rivals:
            mine, best = ([self.machine.stats(b)["median"] for b in counted[name]]
                          for name in ("takt", out["best"]))
            count = min(len(mine), len(best))
            compared = self.machine.compare(mine[:count], best[:count])
            out.update(ratio_interval=compared["interval"], verdict=compared["verdict"])
        out["interval"] = {n: [s["low"] / 1e3, s["high"] / 1e3] for n, s in all_of.items()}
        out["p99"] = {n: s["p99"] / 1e3 for n, s in all_of.items()}
        out["runs"] = {n: sum(map(len, of)) for n, of in counted.items()}
        out.update(unsteady=not is_steady, repeated=taken.repeated, passes=taken.passes,
                   blocks=len(counted["takt"]))
        out.update(errors=taken.errors, reasons=reasons)
        taken.out = out
        return self.held(taken)

    def tail(self, taken):
        """The interval of Takt's p99 over median over the best peer's."""
        best = taken.out["best"]
        if taken.row.name != tails.ROW or best is None:
            return None
        counted = self.gate.counting(taken.blocks)[0]
        return tails.interval(counted["takt"], counted[best])

    def held(self, taken):
        """Adds what the machine allows, from the ceilings known so far."""
        out = taken.out
        row = taken.row
        out.update(self.machine.floor(row.graph, row.kind, taken.threads, out["takt"]))
        out["share"] = out["floor"] / out["takt"]
        return out

    def scale(self, row, counts):
        """Takt with that many threads against Takt with one."""
        def load(is_new):
            there = {}
            for count in [1, *counts]:
                there[count] = self.stable.get(self.takt, count, is_new)
                if there[count].folder != row.folder:
                    there[count].ask(do="load", folder=row.folder, threads=count)
            return there
        return Scaling(self.machine, self.mode).measure(load)

    # ---- starting, memory, size ----

    def start(self, row):
        """Time from start to first result for each engine, each in a new process."""
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
    """The files of the row's folder that the engines read."""
    with open(os.path.join(row.folder, "numerics"), "w", encoding="ascii") as file:
        file.write(numerics + "\n")
