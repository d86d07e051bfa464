"""process.py - engines in processes of their own: one runs while the others stand still."""
import json
import os
import select
import signal
import subprocess
import sys

from engines import HERE

TIMEOUT = 120  # seconds for one answer


class Failed(Exception):
    """What an engine said instead of an answer."""


class Process:
    def __init__(self, engine, threads, log):
        cpus = sorted(os.sched_getaffinity(0))
        self.cpus = set(cpus[:1] if threads == 1 else cpus)  # one thread is moved: pin
        self.threads, self.engine = threads, engine
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        if threads > 1:  # threads that spin, woken on one processor, would wait for each other
            environment.setdefault("OMP_PROC_BIND", "true")
        # pylint: disable-next=consider-using-with
        self.child = subprocess.Popen(
            [sys.executable, *([] if engine.runner.endswith(".py") else ["-S"]),
             os.path.join(HERE, "host.py"), engine.runner, engine.library],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment,
            preexec_fn=lambda: os.sched_setaffinity(0, self.cpus))
        self.is_asleep, self.cpu, self.folder = False, None, None
        try:
            engine.version = self.ask(do="open")["version"]
        except Failed:  # the child is known only here
            self.close()
            raise

    def ask(self, **what):
        """Wakes the process, waits for its answer, and suspends it again."""
        if what["do"] == "load":
            self.cpu, self.folder = None, what["folder"]  # it may start threads
        self._wake()
        try:
            self.child.stdin.write(json.dumps(what).encode() + b"\n")
            self.child.stdin.flush()
            ready, _, _ = select.select([self.child.stdout], [], [], TIMEOUT)
            line = self.child.stdout.readline() if ready else b""
        except BrokenPipeError:
            line = b""
        if not line:
            self.close()
            raise Failed(f"died ({self.child.returncode})" if line == b"" else "no answer")
        self.child.send_signal(signal.SIGSTOP)
        self.is_asleep = True
        answer = json.loads(line)
        if "problem" in answer:
            raise Failed(answer["problem"])
        return answer

    def pin(self, cpu):
        """Moves all its threads to one processor, unless they are there."""
        if cpu != self.cpu:
            self._place({cpu}, {cpu})
            self.cpu = cpu

    def hold(self, cpu):
        """The thread that calls on one processor, its helpers on the others."""
        if self.threads == 1:
            self.pin(cpu)
        else:
            self._place({cpu}, self.cpus - {cpu} or {cpu})

    def free(self):
        """Threads that it starts may be anywhere again."""
        if self.threads > 1:
            self._place(self.cpus, self.cpus)

    def _place(self, caller, helpers):
        if not self.is_alive():  # which the next question tells
            return
        for name in os.listdir(f"/proc/{self.child.pid}/task"):
            thread = int(name)
            try:
                os.sched_setaffinity(thread, caller if thread == self.child.pid else helpers)
            except OSError:  # the thread has ended meanwhile
                pass

    def _wake(self):
        if self.is_asleep:
            self.child.send_signal(signal.SIGCONT)
            self.is_asleep = False

    def is_alive(self):
        return self.child.poll() is None

    def close(self):
        if self.is_alive():
            self.child.kill()
        self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout):
            pipe.close()


class Stable:
    """One process for each engine and number of threads, started when first needed."""

    def __init__(self, log):
        self.log, self.processes = log, {}

    def get(self, engine, threads, is_new=False):
        process = self.processes.get((engine.name, threads))
        if process is not None and is_new:
            process.close()
        if process is None or not process.is_alive():
            process = Process(engine, threads, self.log)
            self.processes[engine.name, threads] = process
        return process

    def close(self):
        for process in self.processes.values():
            process.close()
