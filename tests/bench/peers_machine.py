"""peers_machine.py - a row is held against its own mix of reading and writing, and calls."""
import os
import sys
from types import SimpleNamespace

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.getcwd(), "bench", "peers"))
from machine import LEVELS, Machine  # noqa: E402


class Library:
    """A machine that reads 50 GB/s, copies 70 and adds 60, whatever the size."""

    def __init__(self):
        self.asked, self.calls = [], iter((0.4, 0.3))

    def peers_level(self, _):
        return 2

    def peers_bandwidth(self, size, kind, every):
        self.asked.append((size.value, kind, every))
        return (50.0, 70.0, 60.0)[kind]

    def peers_raise(self, _):
        pass

    def peers_ceiling(self, _, out):
        out[:] = [1000.0] * len(out)

    def peers_call_us(self):
        return next(self.calls)


def graph(read, written):
    return SimpleNamespace(bytes=4 * (read + written), flops=0, output="y",
                           shapes={"y": (written,)}, types={"y": SimpleNamespace(itemsize=4)})


def made():
    machine = Machine.__new__(Machine)
    machine.lib, machine.threads = Library(), 2
    machine.bandwidths, machine.raised, machine.calls = {}, {}, {}
    peaks = {"f32_gflops": 80.0, "read_gbs": dict.fromkeys(LEVELS, 40.0),
             "copy_gbs": dict.fromkeys(LEVELS, 80.0)}
    machine.ceilings = {1: dict(peaks), 2: dict(peaks)}
    return machine


SUM, RELU, ADD = graph(30000, 1), graph(15000, 15000), graph(20000, 10000)

# bytes read, copied and added, each measured by its own loop
machine = made()
for each in (SUM, RELU, ADD):
    machine.look(each, "f32", 1)
assert [kind for _, kind, _ in machine.lib.asked] == [0, 1, 2], machine.lib.asked
took = [machine.floor(g, "f32", 1, 9)["moving"] for g in (SUM, RELU, ADD)]
assert [round(t, 2) for t in took] == [2.4, round(120 / 70, 2), 2.0], took
assert machine.floor(ADD, "f32", 1, 9)["call"] == 0

# several threads: a share of the bytes each, and the least call of the sitting next to the floor
machine = made()
machine.look(ADD, "f32", 2)
assert machine.lib.asked == [(60000.0, 2, 1)], machine.lib.asked
machine.raised.clear()
machine.look(ADD, "f32", 2)
found = machine.floor(ADD, "f32", 2, 9)
assert found["call"] == 0.3 and found["floor"] == found["moving"] == 2.0, found

# before it was measured: the ceiling of its level
assert made().floor(ADD, "f32", 1, 9) == {"floor": 1.5, "bound": "L3", "moving": 1.5, "call": 0}
