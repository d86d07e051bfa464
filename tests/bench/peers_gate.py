"""peers_gate.py - rounds on a slow processor are repeated and counted, and every row ends."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.getcwd(), "bench", "peers"))
import bench  # noqa: E402
import gate  # noqa: E402

FAST, SLOW = (100.0, 50.0), (55.0, 28.0)


class Machine:
    """Processors whose speed is a function of time; probing and running take time."""

    def __init__(self, pace, count=2):
        self.pace, self.count, self.time, self.released = pace, count, 0.0, False

    def cpus(self):
        return list(range(self.count))

    def probe(self, cpu):
        self.time += 0.0002
        return self.pace(self.time, cpu)

    def release(self):
        self.released = True

    def clock(self):
        return self.time

    def sleep(self, seconds):
        self.time += seconds


def row(machine, found, blocks=6, share=lambda time: 1.0):
    """Blocks of two engines as the driver runs them; a run of 6 ms reports its speed."""
    found.begin(1)
    taken = []
    for _ in range(blocks):
        found.begin_block(4)
        taken.append(gate.Block(["takt", "peer"]))
        for name in ("takt", "peer", "peer", "takt"):
            def run(cpu):
                rate = machine.pace(machine.time, cpu)[0]
                part = share(machine.time)
                machine.time += 0.006
                return [rate], part
            taken[-1].add(name, *found.take_round(name, run))
    found.end()
    assert machine.released, "the driver stays on one processor"
    return taken


def made(pace, count=2):
    machine = Machine(pace, count)
    return machine, gate.Gate(machine, machine.clock, machine.sleep)


def rates_of(counted):
    return {r for of in counted.values() for samples in of for r in samples}


def lengths(counted):
    return {name: len(of) for name, of in counted.items()}


# alone on the machine: nothing is repeated, all counts; probes may swing a little
machine, found = made(lambda time, cpu: (100.0, 50.0 if int(time * 1e4) % 2 else 46.0))
taken = row(machine, found)
counted, is_steady = found.counting(taken)
assert found.repeated == {} and is_steady, found.repeated
assert lengths(counted) == {"takt": 6, "peer": 6} and all(len(s) == 2 for s in counted["takt"])
assert machine.time < 6 * 4 * 0.0075, machine.time
assert found.summary()["slow"] == 0 and found.summary()["probes"] >= 24, found.summary()

# another program for 30 ms in every 100, on the only processor: those rounds are repeated
machine, found = made(lambda time, cpu: SLOW if 0.03 < time % 0.1 < 0.06 else FAST, count=1)
taken = row(machine, found)
counted, is_steady = found.counting(taken)
assert is_steady and rates_of(counted) == {100.0}, rates_of(counted)
assert sum(found.repeated.values()) > 0 and set(found.repeated) <= {"takt", "peer"}, found.repeated
assert all(len(block.rounds[name]) == 2 for block in taken for name in ("takt", "peer"))

# another program that only reads counts as well
machine, found = made(lambda time, cpu: (100.0, 28.0 if 0.03 < time % 0.1 < 0.06 else 50.0), 1)
row(machine, found)
assert sum(found.repeated.values()) > 0

# one processor becomes slow for good: the other is used, and hardly any round is lost
machine, found = made(lambda time, cpu: SLOW if cpu == 0 and time > 0.05 else FAST)
taken = row(machine, found)
assert found.cpu == 1 and sum(found.repeated.values()) <= 1, (found.cpu, found.repeated)
assert found.counting(taken)[1] and rates_of(found.counting(taken)[0]) == {100.0}

# other processes of this system use the processor: probes do not see that, the engine's time does
machine, found = made(lambda time, cpu: FAST)
taken = row(machine, found, share=lambda time: 0.5 if 0.03 < time % 0.1 < 0.06 else 1.0)
assert sum(found.repeated.values()) > 0 and found.counting(taken)[1]

# fast once and never again: the row ends, is marked unsteady, and all rounds of all engines count
machine, found = made(lambda time, cpu: FAST if time < 0.001 else SLOW)
taken = row(machine, found)
counted, is_steady = found.counting(taken)
assert not is_steady and lengths(counted) == {"takt": 6, "peer": 6}, lengths(counted)
counts = [found.repeated.get(name, 0) for name in ("takt", "peer")]
assert abs(counts[0] - counts[1]) <= 1, found.repeated
plain = 6 * 4 * 0.006
assert machine.time < plain + 2 * gate.PATIENCE + 4 * 0.02 + 0.1, machine.time
assert found.summary()["slow"] > 0.9, found.summary()

# slow from the start and fast later: then earlier rounds are recognised as slow
machine, found = made(lambda time, cpu: SLOW if time < 0.5 else FAST)
early = row(machine, found, blocks=3)
assert found.repeated == {} and found.counting(early)[1], "nobody knows better yet"
machine.time = 0.6
late = row(machine, found, blocks=5)
assert not found.counting(early)[1] and rates_of(found.counting(early)[0]) == {55.0}
counted, is_steady = found.counting(early + late)
assert is_steady and rates_of(counted) == {100.0} and lengths(counted) == {"takt": 5, "peer": 5}

# one engine was never at full rate: all engines are judged by the same rounds
for block in late:
    block.rounds["peer"] = [(samples, SLOW + (1.0,)) for samples, _ in block.rounds["peer"]]
assert not found.counting(late)[1] and lengths(found.counting(late)[0])["takt"] == 5
# but an engine that left after the first block keeps its samples
for block in late[1:]:
    del block.rounds["peer"]
assert found.counting(late)[1] and lengths(found.counting(late)[0]) == {"takt": 5, "peer": 1}

# a block with more threads has no probes and counts
block = gate.Block(["takt"])
block.add("takt", [1.0], None)
assert found.counting([block]) == ({"takt": [[1.0]]}, True)
# more rounds go to rows whose winner is least certain
def certainty(ratio, low, high, unsteady=False):
    doubtful = bench.Taken(None, 1)
    doubtful.out = {"ratio": ratio, "ratio_interval": [low, high], "unsteady": unsteady}
    return doubtful.certainty()


assert certainty(1.01, 1.0, 1.02) is None and certainty(0.99, 0.98, 1.0) is None, "narrow"
assert certainty(3.0, 2.8, 3.1) is None and certainty(1 / 3, 1 / 3.1, 1 / 2.8) is None, "far"
assert certainty(1.05, 0.95, 1.15) < certainty(1.1, 0.95, 1.15) < certainty(1.2, 1.05, 1.25)
assert abs(certainty(1.1, 1.0, 1.2) - certainty(1 / 1.1, 1 / 1.2, 1.0)) < 1e-9, "both sides alike"
assert certainty(3.0, 2.9, 3.1, unsteady=True) is not None
none = bench.Taken(None, 1)
none.out = {"ratio": None, "unsteady": False}
assert none.certainty() is None, "there is no rival"
print("slow rounds are repeated and counted, and a machine that is always slow ends")
