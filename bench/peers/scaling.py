"""scaling.py - Takt with more threads alternates with itself with one, under the same conditions.

In the rows a round of one thread counts only at the processor's full rate, on the fastest one there
is (gate.py); one of more threads always counts, since no probe sees all their processors. So those
times must not be divided by each other. Here nothing is gated: the thread that calls is on the same
processor in all rounds of a block, its helpers are on the others, and every block has another
processor, fast or slow. A gate on the caller's processor would hold the best of them against the
mean of all. Two processes that do the same may differ for as long as they live, by where their
memory lies: every round is of new ones, and there are two at least.
"""
import statistics
import time

LIMIT = 1.02  # of the time of one thread: slowdown that is accepted where more threads cannot help
ROUNDS, AGAIN = 2, 2  # of separate processes; more if those are inconclusive
STRIDE = 37  # from processor to processor, past the neighbours, which may share a core


def counts(threads, processors):
    """Thread counts that are compared with one: that of the rows, and two."""
    more = {count for count in threads if count > 1}
    return sorted(more | {2}) if more and processors > 1 else sorted(more)


def of_row(found, threads, all_threads):
    """What a row shows: its own thread count, and for the largest also two."""
    shown = {threads, 2} if threads == max(all_threads) else {threads}
    return {str(count): of for count, of in found.items() if count in shown}


def is_open(found):
    """Whether the limit is inside an interval."""
    return any(low <= LIMIT <= high for low, high in (of["interval"] for of in found.values()))


class Scaling:
    """`machine` has cpus(), stats(samples) and compare(a, b)."""

    def __init__(self, machine, mode, clock=time.monotonic):
        self.machine, self.mode, self.clock = machine, mode, clock

    def measure(self, load):
        """{threads: ratio to one, interval, blocks}. load(is_new) gives {threads: process}, with 1
        among them, each with the row loaded; new processes if is_new."""
        blocks = self._round(load(False), 0, self.mode.least)
        for _ in range(ROUNDS - 1):
            blocks += self._round(load(True), len(blocks), 1)
        if is_open(self._found(blocks)):
            for _ in range(AGAIN):
                blocks += self._round(load(True), len(blocks), 1)
        return self._found(blocks)

    def _round(self, processes, before, least):
        """The mode's number of blocks, fewer if they are long; `before`: the blocks so far."""
        blocks, start, cpus = [], self.clock(), self.machine.cpus()
        try:
            while len(blocks) < self.mode.blocks and \
                    (len(blocks) < least or self.clock() - start < self.mode.row_s):
                cpu = cpus[(before + len(blocks)) * STRIDE % len(cpus)]
                blocks.append(self._block(processes, cpu))
        finally:
            for process in processes.values():
                process.free()
        return blocks

    def _block(self, processes, cpu):
        """The median of each number of threads, there and back."""
        samples = {count: [] for count in processes}
        for process in processes.values():
            process.hold(cpu)
        for count in [*processes, *reversed(processes)]:
            samples[count] += processes[count].ask(
                do="time", warm=self.mode.warm_ns, budget=self.mode.slice_ns)["samples"]
        return {count: self.machine.stats(of)["median"] for count, of in samples.items()}

    def _found(self, blocks):
        one, out = [block[1] for block in blocks], {}
        for count in (c for c in blocks[0] if c != 1):
            many = [block[count] for block in blocks]
            ratios = [m / o for m, o in zip(many, one)]
            # Too few for an interval: the range of all blocks.
            interval = self.machine.compare(one, many)["interval"] or [min(ratios), max(ratios)]
            out[count] = {"ratio": statistics.median(ratios), "interval": interval,
                          "blocks": len(blocks)}
        return out
