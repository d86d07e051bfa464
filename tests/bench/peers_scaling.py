"""peers_scaling.py - one thread and more take turns from the same processor, whatever its rate."""
import os
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.getcwd(), "bench", "peers"))
import process  # noqa: E402
import report  # noqa: E402
import scaling  # noqa: E402


class Mode:
    blocks, least, row_s, warm_ns, slice_ns = 5, 4, 0.6, 2e6, 4e6


class Machine:
    """Four processors, of which one is at half its rate; the interval is the range of the blocks.
    """
    time = 0.0

    def cpus(self):
        return [0, 1, 2, 3]

    def pace(self, cpu):
        return 0.5 if cpu == 1 else 1.0

    def stats(self, samples):
        return {"median": statistics.median(samples)}

    def compare(self, mine, other):
        ratios = [o / m for m, o in zip(mine, other)]
        return {"interval": [min(ratios), max(ratios)]}


class Takt:
    """Takes as long as `took` says of the run's number, slower on a slow processor."""

    def __init__(self, machine, told, threads, took):
        self.machine, self.told, self.threads, self.took = machine, told, threads, took
        self.cpu, self.runs, self.is_free = None, 0, False

    def hold(self, cpu):
        self.cpu = cpu

    def free(self):
        self.is_free = True

    def ask(self, **what):
        self.is_free = False
        assert what == {"do": "time", "warm": Mode.warm_ns, "budget": Mode.slice_ns}, what
        self.told.append((self.threads, self.cpu))
        self.machine.time += 0.006
        took, self.runs = self.took(self.runs) / self.machine.pace(self.cpu), self.runs + 1
        return {"samples": [took, took, 9 * took]}


def measured(took):
    machine, told = Machine(), []
    processes = {threads: Takt(machine, told, threads, of) for threads, of in took.items()}
    loads = []

    def load(is_new):
        assert all(p.is_free for p in processes.values()) or not loads, "workers would be held"
        loads.append(is_new)
        return processes
    clock = lambda: machine.time  # noqa: E731
    found = scaling.Scaling(machine, Mode, clock).measure(load)
    assert all(p.is_free for p in processes.values()), "helpers of the next row would be held"
    assert loads == [False] + [True] * (len(loads) - 1), loads
    return found, told


# a processor at half its rate changes nothing, since all rounds of a block run on the same one
found, told = measured({1: lambda run: 10.0, 2: lambda run: 6.0, 4: lambda run: 10.0})
assert found[2] == {"ratio": 0.6, "interval": [0.6, 0.6], "blocks": 10}, found
assert found[4] == {"ratio": 1.0, "interval": [1.0, 1.0], "blocks": 10}, found
assert [threads for threads, _ in told[:6]] == [1, 2, 4, 4, 2, 1], told
assert all(len({cpu for _, cpu in told[i:i + 6]}) == 1 for i in range(0, len(told), 6)), told
assert {cpu for _, cpu in told} == {0, 1, 2, 3}, told

# an interval with the limit in it takes more rounds of blocks, by new processes; one beyond it none
found, _ = measured({1: lambda run: 10.0, 4: lambda run: 10.0 + 0.1 * (run // 2 % 5)})
assert found[4]["blocks"] == (scaling.ROUNDS + scaling.AGAIN) * Mode.blocks, found
found, _ = measured({1: lambda run: 10.0, 4: lambda run: 11.0 + 0.1 * (run // 2 % 5)})
assert found[4]["blocks"] == scaling.ROUNDS * Mode.blocks, found
assert found[4]["interval"][0] > scaling.LIMIT, found

# if there are too few blocks for an interval, it is the range of all blocks
Machine.compare = lambda self, mine, other: {"interval": None}
found, _ = measured({1: lambda run: 10.0, 4: lambda run: 5.0 + (run // 2 % 2)})
assert found[4]["interval"] == [0.5, 0.6], found

# two threads are compared with one as well, in the row of the most threads
assert scaling.counts([1, 16], 16) == [2, 16] and scaling.counts([1, 2], 2) == [2]
assert scaling.counts([1], 16) == [] and scaling.counts([2], 1) == [2]
of = {2: "two", 4: "four", 16: "sixteen"}
assert scaling.of_row(of, 16, [1, 4, 16]) == {"2": "two", "16": "sixteen"}
assert scaling.of_row(of, 4, [1, 4, 16]) == {"4": "four"}
assert scaling.of_row(of, 1, [1, 4, 16]) == {}
slow = {"workload": "relu_1m", "numerics": "fast", "threads": 16, "beside_one":
        {"2": {"ratio": 0.6, "interval": [0.5, 0.7]}, "16": {"ratio": 1.1, "interval": [1.0, 1.2]}}}
assert report.slower({"rows": [slow]}) == ["relu_1m fast 16T 1.10"], report.slower({"rows": [slow]})
assert report.over_one(slow) == "1.100 (1.000 to 1.200)" and report.over_one({"threads": 1}) == ""

# a real process: the thread that calls is held, its helpers are elsewhere, and all are free again
CODE = ("import threading as t, time; t.Thread(target=time.sleep, args=[60], daemon=True).start();"
        "print(flush=True); time.sleep(60)")
with subprocess.Popen([sys.executable, "-c", CODE], stdout=subprocess.PIPE) as child:
    child.stdout.readline()
    held = process.Process.__new__(process.Process)
    held.child, held.threads, held.cpus = child, 2, os.sched_getaffinity(0)
    cpu = max(held.cpus)
    threads = [int(name) for name in os.listdir(f"/proc/{child.pid}/task")]
    held.hold(cpu)
    assert os.sched_getaffinity(child.pid) == {cpu} and len(threads) == 2
    helper = next(thread for thread in threads if thread != child.pid)
    assert os.sched_getaffinity(helper) == (held.cpus - {cpu} or {cpu})
    held.free()
    assert all(os.sched_getaffinity(thread) == held.cpus for thread in threads)
    child.kill()
    child.wait()
    held.free()  # a dead one does not fail here, only when it is read
print("one thread and more are compared on the same processors")
