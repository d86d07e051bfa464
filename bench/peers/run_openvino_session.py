"""run_openvino_session.py - any ONNX file of fixed sizes in OpenVINO, by its Python classes.

A runner of host.py, as run_session.py is one for the classes of ONNX Runtime; inputs are the same.
Inference is set to f32, which the others compute in.
"""
import importlib
import time

import numpy as np


def feed(ports):
    """As run_session.py: the same values for every engine."""
    random, found = np.random.default_rng(1), {}
    for port in ports:
        name, shape = port.any_name, list(port.shape)
        dtype = np.dtype(port.element_type.to_dtype())
        if np.issubdtype(dtype, np.floating):
            found[name] = random.standard_normal(shape).astype(dtype)
        elif dtype == np.bool_ or "mask" in name:
            found[name] = np.ones(shape, dtype)
        else:
            found[name] = random.integers(0, 10, shape).astype(dtype)
    return found


class Runner:
    def __init__(self, library):
        self.module = importlib.import_module(library)
        self.core, self.request = self.module.Core(), None

    def version(self):
        return str(self.module.__version__).split("-", maxsplit=1)[0]

    def load(self, path, threads):
        start = time.monotonic_ns()
        model = self.core.read_model(path)
        if model.is_dynamic():
            raise ValueError("the sizes of its inputs are not fixed")
        self.request = self.core.compile_model(model, "CPU", {
            "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
            "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"
        }).create_infer_request()
        took = (time.monotonic_ns() - start) / 1e6
        for name, value in feed(self.request.model_inputs).items():
            self.request.set_tensor(name, self.module.Tensor(value))
        return {"plan_ms": took}

    def run(self):
        self.request.infer()

    def output(self):
        self.request.infer()
        return b"".join(np.asarray(self.request.get_tensor(port).data).astype(np.float64).tobytes()
                        for port in self.request.model_outputs)

    def time(self, warm, budget):
        run, end = self.request.infer, time.perf_counter_ns() + warm
        while True:
            run()
            if time.perf_counter_ns() >= end:
                break
        samples, before = [], time.perf_counter_ns()
        end = before + budget
        while not samples or before < end:
            run()
            after = time.perf_counter_ns()
            samples.append(after - before)
            before = after
        return samples
