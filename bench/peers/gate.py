"""gate.py - with one thread, rounds count only if the processor was at its full rate.

On a shared host a program on the other thread of a core takes a part of what is measured there,
for tenths of seconds to minutes. So the processor is probed right before and after every round of
every engine. Where it was below a part (FULL) of the best seen in this sitting the round is
repeated, on a processor that is at its full rate if there is one. Every round of a block has the
same right to that, whichever comes first; a row has it for as long as its patience lasts.
"""
import time

# Of the best probe: on a processor of one's own arithmetic is the same within 1 %, reading from L2
# within 3 %; the clock of a busy host moves both by a tenth, a program that reads, by a fifth.
# The last is the part of a round in which the engine's process had the processor: other processes
# of this system had the rest.
FULL = (0.8, 0.85, 0.9)
LEAST = 4  # minimum number of blocks of every engine before one is dropped
TRIES = 3  # of a round at most
PATIENCE, SHARE = 0.2, 0.5  # seconds of a row to wait and repeat; part of the time that counted
REST = 0.005  # seconds between two checks for a free one
# processors that are probed again, and how often: idle ones raise their clock slowly
NEAREST, SETTLE = 3, 4


class Gate:
    """`machine` has cpus(), probe(cpu) and release(); probes are rates, larger is faster."""

    def __init__(self, machine, clock=time.monotonic, sleep=time.sleep):
        self.machine, self.clock, self.sleep = machine, clock, sleep
        self.best, self.cpu, self.patience, self.allowed = None, machine.cpus()[0], 0, 0
        # all probes; and the one that ended a round on this processor
        self.seen, self.last = [], None
        self.repeated = {}

    def level(self, rates):
        """From 1 on, a probe is of a processor at its full rate."""
        return min(r / (b * part) for r, b, part in zip(rates, self.best, FULL))

    def _probe(self, cpu):
        rates = (*self.machine.probe(cpu), 1.0)
        self.best = tuple(map(max, rates, self.best or rates))
        self.seen.append(rates)
        return rates

    def begin(self, threads):
        """A row begins; with one thread where the processor is fastest."""
        self.patience, self.repeated, self.last = PATIENCE, {}, None
        if threads == 1:
            self._move()

    def begin_block(self, rounds):
        """The time that a round may wait and be repeated is the same for all engines: twice its
        share of the patience, since most need none."""
        self.allowed = max(0, 2 * self.patience / rounds)

    def _move(self):
        """Moves to the processor that is fastest now."""
        found = {cpu: self._probe(cpu) for cpu in self.machine.cpus()}
        ranked = sorted(found, key=lambda cpu: self.level(found[cpu]), reverse=True)[:NEAREST]
        for cpu in ranked:
            for _ in range(SETTLE):
                found[cpu] = max(found[cpu], self._probe(cpu), key=self.level)
                if self.level(found[cpu]) >= 1:
                    self.cpu = cpu
                    return found[cpu]
        self.cpu = max(ranked, key=lambda cpu: self.level(found[cpu]))
        self._probe(self.cpu)  # so that the driver exists
        return found[self.cpu]

    def _ready(self, until):
        """The probe before a round: elsewhere or later, if that helps."""
        rates = self.last or self._probe(self.cpu)
        while self.level(rates) < 1 and self.clock() < until:
            rates = self._move()
            if self.level(rates) < 1:
                self.sleep(REST)
        return rates

    def take_round(self, name, run):
        """The samples of run(cpu), which also returns its share of the processor, and the lower of
        the probes around it. Of several attempts, keeps the one with the best probes, whatever the
        engine's times."""
        tries, begun = [], self.clock()
        until = begun + self.allowed
        while True:
            before = self._ready(until)
            start = self.clock()
            samples, share = run(self.cpu)
            took = self.clock() - start
            self.last = self._probe(self.cpu)
            rates = tuple(map(min, before, self.last, (*before[:-1], share)))
            tries.append((rates, samples))
            if self.level(rates) >= 1 or len(tries) == TRIES or self.clock() >= until:
                break
            self.repeated[name] = self.repeated.get(name, 0) + 1
        rates, samples = max(tries, key=lambda t: self.level(t[0]))
        self.patience -= self.clock() - begun - took
        if self.level(rates) >= 1:
            self.patience += SHARE * took
        return samples, rates

    def end(self):
        self.machine.release()

    def counting(self, blocks):
        """For each engine the samples that count, block by block: those of rounds at full rate by
        the best probe so far, and whether it is so; if an engine that stayed to the end has too
        few, all rounds of all engines count."""
        found = {n: [b.counted(n, self._is_full) for b in blocks] for n in blocks[0].rounds}
        found = {n: [s for s in of if s] for n, of in found.items()}
        enough = min(LEAST, len(blocks))
        if all(len(found[n]) >= enough for n in blocks[-1].rounds):
            early = [n for n in found if n not in blocks[-1].rounds]
            return {**found, **{n: self._all(blocks, n) for n in early}}, True
        return {n: self._all(blocks, n) for n in found}, False

    def _is_full(self, rates):
        return rates is None or self.level(rates) >= 1

    @staticmethod
    def _all(blocks, name):
        found = [b.counted(name, lambda rates: True) for b in blocks if name in b.rounds]
        return [s for s in found if s]

    def summary(self):
        """What the probes saw of the processor: the best, and its 5th percentile and median as
        fractions of the best."""
        count, out = len(self.seen), {"probes": len(self.seen)}
        for name, values in zip(("f32_gflops", "l2_gbs"), zip(*self.seen)):
            ordered = sorted(values)
            out[name] = {"best": ordered[-1], "p5": ordered[count // 20] / ordered[-1],
                         "median": ordered[count // 2] / ordered[-1]}
        out["slow"] = sum(1 for rates in self.seen if self.level(rates) < 1) / max(count, 1)
        return out


class Block:
    """One time there and back through the engines: the rounds of each, with their lowest probe."""

    def __init__(self, names):
        self.rounds = {name: [] for name in names}

    def add(self, name, samples, rates):
        self.rounds[name].append((samples, rates))

    def counted(self, name, is_full):
        """The samples of the rounds that count."""
        return [x for samples, rates in self.rounds.get(name, []) if is_full(rates)
                for x in samples]
