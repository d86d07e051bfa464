"""run_session.py - any ONNX file in Takt or ONNX Runtime, by the classes that both have.

A runner of host.py: `library` is the name of the Python module, "folder" the path of the file;
":plain" behind the name switches the module's own optimisations of graphs off.
Sizes of named dimensions come from PEERS_SIZES (name=N,name=N), else from the name: sequences have
64 elements, sounds 16000, pictures 224 rows and columns, anything else is 1.
    run_session.py PATH THREADS SECONDS prints how long ONNX Runtime is in each kind of operator.
"""
import importlib
import json
import os
import sys
import time

TYPES = {"float": "f4", "float16": "f2", "double": "f8", "int64": "i8", "int32": "i4",
         "int8": "i1", "uint8": "u1", "bool": "?", "int16": "i2"}


def sizes():
    pairs = (p.split("=") for p in os.environ.get("PEERS_SIZES", "").split(",") if p)
    return {name: int(size) for name, size in pairs}


def options(module, threads):
    found = module.SessionOptions()
    found.intra_op_num_threads, found.inter_op_num_threads = threads, 1
    found.log_severity_level = 3
    for name, size in sizes().items():
        found.add_free_dimension_override_by_name(name, size)
    return found


def guess(name, axis, rank):
    name = str(name).lower()
    if any(word in name for word in ("seq", "len", "time", "frame", "token")):
        return 64
    if any(word in name for word in ("sample", "audio", "wave")) or (name == "n" and axis > 0):
        return 16000
    is_size = "height" in name or "width" in name or name in ("h", "w")
    return 224 if is_size or (rank == 4 and axis > 1) else 1


def size_of(port, name, axis):
    """Of a dimension that the file does not name, too: Takt calls it after its input."""
    given = sizes()
    return given.get(name, given.get(f"{port.name}_{axis}", guess(name, axis, len(port.shape))))


def feed(session):
    """The same values for every engine: tokens are small numbers, masks are ones, types of tokens
    zeros."""
    import numpy as np  # the driver may have no numpy
    random, found = np.random.default_rng(1), {}
    for port in session.get_inputs():
        shape = [d if isinstance(d, int) and d > 0 else size_of(port, d, i)
                 for i, d in enumerate(port.shape)]
        dtype = np.dtype(TYPES[port.type[len("tensor("):-1]])
        if np.issubdtype(dtype, np.floating):
            found[port.name] = random.standard_normal(shape).astype(dtype)
        elif dtype == np.bool_ or "mask" in port.name:
            found[port.name] = np.ones(shape, dtype)
        elif "token_type" in port.name:
            found[port.name] = np.zeros(shape, dtype)
        else:
            found[port.name] = random.integers(0, 10, shape).astype(dtype)
    return found


class Runner:
    def __init__(self, library):
        if library == "takt":
            build = os.environ.get("BUILD") or os.path.join(
                os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                "build", "release")
            sys.path.insert(0, os.path.join(build, "python"))
        name, _, how = library.partition(":")
        self.module, self.is_plain = importlib.import_module(name), how == "plain"
        self.session = self.binding = self.inputs = None

    def version(self):
        return str(self.module.__version__)

    def load(self, path, threads):
        """Time to make the session: reading the file and planning."""
        self.session = self.binding = None
        wanted = options(self.module, threads)
        if self.is_plain:
            wanted.graph_optimization_level = self.module.GraphOptimizationLevel.ORT_DISABLE_ALL
        start = time.monotonic_ns()
        self.session = self.module.InferenceSession(path, wanted,
                                                    providers=["CPUExecutionProvider"])
        took = (time.monotonic_ns() - start) / 1e6
        self.inputs = feed(self.session)
        self.binding = self.session.io_binding()
        for name, value in self.inputs.items():
            self.binding.bind_cpu_input(name, value)
        for port in self.session.get_outputs():
            self.binding.bind_output(port.name)
        return {"plan_ms": took}

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def output(self):
        """All outputs, as f64."""
        import numpy as np
        found = self.session.run(None, self.inputs)
        return b"".join(np.asarray(v).astype(np.float64).tobytes() for v in found)

    def time(self, warm, budget):
        run, session, binding = self.session.run_with_iobinding, self.session, self.binding
        assert session is not None
        end = time.perf_counter_ns() + warm
        while True:
            run(binding)
            if time.perf_counter_ns() >= end:
                break
        samples, before = [], time.perf_counter_ns()
        end = before + budget
        while not samples or before < end:
            run(binding)
            after = time.perf_counter_ns()
            samples.append(after - before)
            before = after
        return samples


def profile(path, threads, seconds):
    """Microseconds of a run in each kind of operator, by ONNX Runtime's own profile."""
    module = importlib.import_module("onnxruntime")
    wanted = options(module, threads)
    wanted.enable_profiling = True
    wanted.profile_file_prefix = path + ".profile"
    session = module.InferenceSession(path, wanted, providers=["CPUExecutionProvider"])
    inputs, runs, end = feed(session), 0, time.monotonic() + seconds
    while runs < 3 or time.monotonic() < end:
        session.run(None, inputs)
        runs += 1
    name = session.end_profiling()
    with open(name, encoding="utf-8") as file:
        events = json.load(file)
    os.remove(name)
    found = {}
    for event in events:
        kind = event.get("args", {}).get("op_name")
        if event.get("cat") == "Node" and kind and event["name"].endswith("_kernel_time"):
            found[kind] = found.get(kind, 0) + event["dur"] / runs
    return found


if __name__ == "__main__":
    print(json.dumps(profile(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))))
