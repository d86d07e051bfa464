"""run_compiled.py - a row of wide_models.py as torch.compile has it (inductor), f32.

A runner of host.py; `library` is the name of the row, whose module is made as for its export.
"""
import importlib
import os
import sys
import time

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import wide_models  # pylint: disable=wrong-import-position
from flatfile import timed  # pylint: disable=wrong-import-position


def feed(torch, inputs):
    """As run_session.py: the same values for every engine; inputs after the first are masks."""
    random, found = np.random.default_rng(1), []
    for at, x in enumerate(inputs):
        if x.is_floating_point():
            value = torch.from_numpy(random.standard_normal(tuple(x.shape)))
        else:
            value = torch.ones_like(x) if at else \
                torch.from_numpy(random.integers(0, 10, tuple(x.shape)))
        found.append(value.to(x.dtype))
    return found


def flat(result):
    """Tensors of nested tuples, lists and dictionaries, in their order."""
    if isinstance(result, dict):
        result = list(result.values())
    return [t for part in result for t in flat(part)] if isinstance(result, (list, tuple)) \
        else [result]


class Runner:
    def __init__(self, library):
        self.torch = importlib.import_module("torch")
        self.entry = next(e for e in wide_models.ROWS if e.name == library)
        self.call = self.inputs = None

    def version(self):
        return str(self.torch.__version__)

    def load(self, _, threads):
        self.torch.set_num_threads(threads)
        self.torch.manual_seed(1)
        model, inputs = wide_models.SOURCES[self.entry.source](self.entry, self.torch)
        self.inputs = feed(self.torch, inputs)
        start = time.monotonic_ns()
        self.call = self.torch.compile(model.eval())
        self.run()
        return {"plan_ms": (time.monotonic_ns() - start) / 1e6}

    def run(self):
        with self.torch.no_grad():
            return self.call(*self.inputs)

    def output(self):
        return b"".join(t.double().numpy().tobytes() for t in flat(self.run()))

    def time(self, warm, budget):
        return timed(self.run, warm, budget)
