"""run_tflite.py - LiteRT on a .tflite file, as a runner of host.py: "folder" is the file's path.

Inputs are zeros. A call through Python costs about 0.5 us.
"""
import importlib.metadata
import os
import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from flatfile import timed  # pylint: disable=wrong-import-position

OWN_KERNELS = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES


def opened(path, threads, resolver=OpResolverType.AUTO):
    found = Interpreter(path, num_threads=threads, experimental_op_resolver_type=resolver)
    found.allocate_tensors()
    for port in found.get_input_details():
        found.set_tensor(port["index"], np.zeros(port["shape"], port["dtype"]))
    return found


def arena(path):
    """Bytes between the first and the last value that it computes, in whole lines of 64 bytes, with
    its own kernels: XNNPACK keeps intermediate values elsewhere and does not report their size."""
    found = opened(path, 1, OWN_KERNELS)
    found.invoke()
    ports = [p["index"] for p in found.get_input_details() + found.get_output_details()]
    # pylint: disable-next=protected-access
    made = {int(i) for op in found._get_ops_details() for i in op["outputs"]} | set(ports)
    ends = []
    for index in made:
        try:
            value = found.tensor(index)()
        except ValueError:  # a temporary one
            continue
        if value.nbytes:
            at = np.asarray(value).ctypes.data  # of a tensor without axes it is a number
            ends.append((at, at + value.nbytes))
    if not ends:
        return 0
    span = -(-(max(end for _, end in ends) - min(begin for begin, _ in ends)) // 64) * 64
    return span if span < 1 << 30 else 0  # beyond that, some lie outside the arena: unknown


class Runner:
    def __init__(self, _):
        self.interpreter = None

    @staticmethod
    def version():
        return importlib.metadata.version("ai-edge-litert")

    def load(self, path, threads):
        self.interpreter = None
        told = {"arena": arena(path)}
        self.interpreter = opened(path, threads)
        return told

    def run(self):
        self.interpreter.invoke()

    def output(self):
        port = self.interpreter.get_output_details()[0]
        return self.interpreter.get_tensor(port["index"]).tobytes()

    def time(self, warm, budget):
        return timed(self.interpreter.invoke, warm, budget)
