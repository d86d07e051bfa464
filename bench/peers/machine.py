"""machine.py - the statistics and ceilings of src/measure, called from Python."""
import ctypes
import os
import platform
import subprocess
import time

LEVELS = ["L1", "L2", "L3", "DRAM"]
# the ceilings that the products of a row are compared with
PEAKS = ["f32", "f64", "i8", "f16", "bf16"]
RAISE_S = 10  # seconds between two measurements of the peaks
# fraction of the bytes that is written: reading, copying, adding two arrays
MIXES = (0, 1 / 2, 1 / 3)


class Statistics:
    """Statistics of samples, by the library built from statistics.c."""

    def __init__(self, library):
        self.lib = ctypes.CDLL(library)
        self.lib.peers_verdict.restype = ctypes.c_char_p

    def stats(self, samples):
        out = (ctypes.c_double * 4)()
        values = (ctypes.c_double * len(samples))(*samples)
        if self.lib.peers_stats(values, ctypes.c_size_t(len(samples)), out) != 0:
            raise RuntimeError(f"no statistics of {len(samples)} samples")
        return dict(zip(("median", "low", "high", "p99"), out))

    def compare(self, mine, other):
        """How many times as long the other takes, from alternating blocks."""
        out, count = (ctypes.c_double * 4)(), len(mine)
        array = ctypes.c_double * count
        if self.lib.peers_compare(array(*mine), array(*other), ctypes.c_size_t(count),
                                  ctypes.c_double(0.02), out) != 0:
            return {"interval": None, "verdict": "inconclusive"}
        word = self.lib.peers_verdict(int(out[3])).decode()
        # The verdict is about the second, the peer; the table is about Takt.
        word = {"faster": "slower", "slower": "faster"}.get(word, word)
        return {"interval": [out[1], out[2]], "verdict": word}


class Machine(Statistics):
    def __init__(self, library):
        super().__init__(library)
        self.usable = os.sched_getaffinity(0)
        self.lib.peers_bandwidth.restype = self.lib.peers_call_us.restype = ctypes.c_double
        fingerprint, threads = ctypes.create_string_buffer(17), ctypes.c_int()
        if self.lib.peers_measure(fingerprint, ctypes.byref(threads)) != 0:
            raise RuntimeError("the machine's ceilings cannot be measured")
        self.threads, self.bandwidths, self.raised = threads.value, {}, {}
        self.calls = {}
        self.ceilings = {1: self._ceiling(0), self.threads: self._ceiling(1)}
        self.facts = {"cpu": cpu(), "architecture": platform.machine(),
                      "cores": len(os.sched_getaffinity(0)), "system": platform.platform(),
                      "fingerprint": fingerprint.value.decode(), "ceilings": self.ceilings}

    def _ceiling(self, every):
        count = len(PEAKS)
        out = (ctypes.c_double * (count + 2 * len(LEVELS)))()
        self.lib.peers_ceiling(every, out)
        peaks = {f"{k}_gops" if k == "i8" else f"{k}_gflops": v for k, v in zip(PEAKS, out)}
        return {**peaks, "read_gbs": dict(zip(LEVELS, out[count:count + len(LEVELS)])),
                "copy_gbs": dict(zip(LEVELS, out[count + len(LEVELS):]))}

    def probe(self, cpu):
        """What one thread reaches on that processor now, in arithmetic and in reading from L2; the
        driver stays on it and sleeps while an engine runs."""
        os.sched_setaffinity(0, {cpu})
        out = (ctypes.c_double * 2)()
        if self.lib.peers_probe(out) != 0:
            raise RuntimeError("the processor cannot be probed")
        return tuple(out)

    def cpus(self):
        """The processors that the driver may use, or some of them if there are very many."""
        return sorted(self.usable)[:64]

    def release(self):
        os.sched_setaffinity(0, self.usable)

    def look(self, graph, kind, threads):
        """Peak rates and the cost of waking all threads, measured now and then, and the bandwidth
        for the row's mix, measured where and when its rounds ran: the best of a run is the ceiling.
        """
        if threads not in self.ceilings:
            return
        every = int(threads != 1)
        if time.monotonic() - self.raised.get(threads, 0) > RAISE_S:
            self.lib.peers_raise(every)
            self.ceilings[threads].update(self._ceiling(every))
            if every:
                call = self.lib.peers_call_us()
                self.calls[threads] = min(self.calls.get(threads, call), call)
            self.raised[threads] = time.monotonic()
        arithmetic, moving, _ = self._floors(graph, kind, threads)
        key = self._moved(graph, threads)
        if moving > 0.5 * arithmetic:
            now = self.lib.peers_bandwidth(ctypes.c_double(key[0]), key[1], every)
            self.bandwidths[key] = max(self.bandwidths.get(key, 0), now)

    @staticmethod
    def _moved(graph, threads):
        """Bytes of each thread, the number of the nearest mix of reading and writing, threads."""
        out = graph.types[graph.output].itemsize
        for size in graph.shapes[graph.output]:
            out *= size
        nearest = min(range(len(MIXES)), key=lambda i: abs(MIXES[i] - out / graph.bytes))
        return graph.bytes / threads, nearest, threads

    def _floors(self, graph, kind, threads):
        """The least times for arithmetic and for memory, in microseconds, and the memory level."""
        c = self.ceilings.get(threads) or self.ceilings[self.threads]
        peak = c["i8_gops" if kind == "i8" else f"{kind}_gflops"] or c["f32_gflops"]
        bytes_each, mix, _ = key = self._moved(graph, threads)
        level = LEVELS[self.lib.peers_level(ctypes.c_double(bytes_each))]
        bandwidth = self.bandwidths.get(key) or c["copy_gbs" if mix else "read_gbs"][level]
        return (graph.flops / peak / 1e3 if peak else 0,
                graph.bytes / bandwidth / 1e3 if bandwidth else 0, level)

    def floor(self, graph, kind, threads, took):
        """The minimum time for the products, or for moving every byte once, in microseconds; also
        `moving` alone, by a loop with the row's mix of reads and writes, and `call`: what any
        engine needs at least to wake all threads and wait for them, 0 with one."""
        arithmetic, moving, level = self._floors(graph, kind, threads)
        if kind == "f16" and took < arithmetic:  # then the factors were multiplied as bf16
            arithmetic, moving, level = self._floors(graph, "bf16", threads)
        bound = "fma" if arithmetic >= moving else level
        return {"floor": max(arithmetic, moving), "bound": bound, "moving": moving,
                "call": self.calls.get(threads, 0)}


def cpu():
    try:
        text = subprocess.run(["lscpu"], stdout=subprocess.PIPE, text=True, check=False).stdout
    except OSError:
        text = ""
    for line in text.splitlines():
        if line.startswith("Model name:"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
