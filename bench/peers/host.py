"""host.py RUNNER LIBRARY - a process that holds one engine and obeys the driver.

One line of JSON in, one out. RUNNER is a shared object as in runner.h, or a Python file with a
class Runner of the same methods; only the start is timed here.
"""
import ctypes
import importlib.util
import json
import os
import sys
import time

CAPACITY = 20000


class Native:
    """Calls a shared object, which contains the timed loop."""

    def __init__(self, path, library):
        self.lib = ctypes.CDLL(path)
        for name in ("peer_open", "peer_version", "peer_load", "peer_run"):
            getattr(self.lib, name).restype = ctypes.c_char_p
        self.lib.peer_output.restype = ctypes.c_void_p
        self.lib.peer_time.restype = ctypes.c_long
        self._check(self.lib.peer_open(library.encode()))
        self.samples = (ctypes.c_double * CAPACITY)()

    @staticmethod
    def _check(problem):
        if problem is not None:
            raise RuntimeError(problem.decode(errors="replace"))

    def version(self):
        return self.lib.peer_version().decode(errors="replace")

    def load(self, folder, threads):
        self._check(self.lib.peer_load(folder.encode(), threads))

    def run(self):
        self._check(self.lib.peer_run())

    def output(self):
        size = ctypes.c_size_t()
        data = self.lib.peer_output(ctypes.byref(size))
        return ctypes.string_at(data, size.value)

    def time(self, warm, budget):
        count = self.lib.peer_time(ctypes.c_double(warm), ctypes.c_double(budget), self.samples,
                                   ctypes.c_long(CAPACITY))
        if count < 0:
            self.run()  # for its message
        return self.samples[:count]


def python_runner(path, library):
    spec = importlib.util.spec_from_file_location("runner", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Runner(library)


def memory(field):
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    return 0


def answer(runner, ask):
    if ask["do"] == "load":
        told = runner.load(ask["folder"], ask["threads"])
        runner.run()
        return told or {}
    if ask["do"] == "output":
        with open(ask["path"], "wb") as file:
            file.write(runner.output())
        return {}
    wall, spent = time.perf_counter(), time.process_time()
    samples = runner.time(ask["warm"], ask["budget"])
    spent, wall = time.process_time() - spent, time.perf_counter() - wall
    return {"samples": samples, "share": min(1, spent / wall)}  # of one processor


def main():
    """Output of engines must not mix with the answers: it goes to standard error."""
    reply = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    before, start = memory("VmRSS"), time.monotonic_ns()
    runner, first = None, True
    for line in sys.stdin:
        ask = json.loads(line)
        try:
            if runner is None:
                make = python_runner if sys.argv[1].endswith(".py") else Native
                start = time.monotonic_ns()
                runner = make(sys.argv[1], sys.argv[2])
                out = {"version": runner.version()}
            else:
                out = answer(runner, ask)
            if ask["do"] == "load" and first:  # from loading the library to the first result
                out["start_ms"] = (time.monotonic_ns() - start) / 1e6
                out["memory"] = memory("VmHWM") - before
                first = False
        except Exception as problem:  # pylint: disable=broad-except
            out = {"problem": str(problem).split("\n", maxsplit=1)[0][:300] or repr(problem)}
        reply.write(json.dumps(out) + "\n")
        reply.flush()


if __name__ == "__main__":
    main()
