"""gate.py - with one thread, turns count only if the processor was at its full rate.

On a shared host a stranger on the other thread of a core halves what is measured there, for
seconds at a time. So the processor is probed right before and after every turn of every engine.
Where it was below a part (FULL) of the best seen in this sitting the turn is repeated, on a
processor that is at its full rate if there is one. Every turn of a block has the same right to
that, whoever comes first; a row has it for as long as its patience lasts.
"""
import time

# Of the best probe: on a processor of one's own arithmetic is the same within 1 %, reading from L2
# within 3 %. The last is the part of a turn in which the engine's process had the processor: other
# processes of this system had the rest.
FULL = (0.9, 0.9, 0.9)
LEAST = 4  # blocks, below which none is left out
TRIES, WAIT = 3, 0.05  # of a turn at most; seconds for a processor at its full rate
PATIENCE, SHARE = 0.4, 0.5  # seconds of a row for both, and as a part of the time that counted
REST = 0.01  # seconds between two looks for a processor at its full rate


class Gate:
    """`machine` has cpus(), probe(cpu) and release(); probes are rates, larger is faster."""

    def __init__(self, machine, clock=time.monotonic, sleep=time.sleep):
        self.machine, self.clock, self.sleep = machine, clock, sleep
        self.best, self.cpu, self.patience, self.may_repeat = None, machine.cpus()[0], 0, False
        self.seen = []  # every probe
        self.repeated = {}

    def level(self, rates):
        """From 1 on a probe is one of a processor at its full rate."""
        return min(r / (b * part) for r, b, part in zip(rates, self.best, FULL))

    def _probe(self, cpu):
        rates = (*self.machine.probe(cpu), 1.0)
        self.best = tuple(map(max, rates, self.best or rates))
        self.seen.append(rates)
        return rates

    def begin(self, threads):
        """A row begins; with one thread where the processor is fastest."""
        self.patience, self.repeated = PATIENCE, {}
        if threads == 1:
            self._move()

    def begin_block(self):
        """Whether turns may be repeated is said for all engines alike."""
        self.may_repeat = self.patience > 0

    def _move(self):
        found = {cpu: self._probe(cpu) for cpu in self.machine.cpus()}
        self.cpu = max(found, key=lambda cpu: self.level(found[cpu]))
        return found[self.cpu]

    def _ready(self):
        """The probe before a turn: elsewhere or later, if that helps."""
        rates, start = self._probe(self.cpu), self.clock()
        while self.level(rates) < 1 and self.may_repeat and self.clock() - start < WAIT:
            rates = self._move()
            if self.level(rates) < 1:
                self.sleep(REST)
        self.patience -= self.clock() - start
        return rates

    def turn(self, name, run):
        """The samples of run(cpu), which also says what part of the processor it had, and the
        lower of the probes around it. Of several tries the one with the best probes is taken,
        whatever the engine's times."""
        tries = []
        while True:
            before = self._ready()
            start = self.clock()
            samples, share = run(self.cpu)
            took = self.clock() - start
            rates = tuple(map(min, before, self._probe(self.cpu), (*before[:-1], share)))
            tries.append((rates, samples))
            if self.level(rates) >= 1:
                self.patience += SHARE * took
                break
            if not self.may_repeat or len(tries) == TRIES:
                break
            self.patience -= took
            self.repeated[name] = self.repeated.get(name, 0) + 1
        rates, samples = max(tries, key=lambda t: self.level(t[0]))
        return samples, rates

    def end(self):
        self.machine.release()

    def counting(self, blocks):
        """The blocks at full rate by the best probe known now, and whether enough of them are
        left; if not, all."""
        full = [b for b in blocks if b.rates is None or self.level(b.rates) >= 1]
        is_steady = len(full) >= min(LEAST, len(blocks))
        return full if is_steady else blocks, is_steady

    def summary(self):
        """What was seen of the processor, for the result: of all probes the best, and the parts of
        it that a twentieth and half of them were below."""
        count, out = len(self.seen), {"probes": len(self.seen)}
        for name, values in zip(("f32_gflops", "l2_gbs"), zip(*self.seen)):
            ordered = sorted(values)
            out[name] = {"best": ordered[-1], "p5": ordered[count // 20] / ordered[-1],
                         "median": ordered[count // 2] / ordered[-1]}
        out["slow"] = sum(1 for rates in self.seen if self.level(rates) < 1) / max(count, 1)
        return out


class Block:
    """One time there and back through the engines: the samples of each, the lowest probe."""

    def __init__(self, names):
        self.samples, self.rates = {name: [] for name in names}, None

    def add(self, name, samples, rates):
        self.samples[name] += samples
        if rates is not None:
            self.rates = tuple(map(min, rates, self.rates or rates))
