"""run_ncnn_session.py - any ONNX file of fixed sizes in ncnn, translated by its own tool pnnx.

A runner of host.py, as run_session.py is one for ONNX Runtime; inputs are the same. ncnn's matrices
have no axis for the batch, so files of a batch above one are refused. Arithmetic and storage are
f32, as for the others.
"""
import os
import re
import subprocess
import sys
import tempfile

import ncnn
import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from flatfile import timed  # pylint: disable=wrong-import-position

TYPES = {"f32": np.float32, "i64": np.int32, "i32": np.int32}  # its numbers have 32 bits


def translated(path, folder):
    """The two files that pnnx writes, and (shape, type) of each input."""
    copy = os.path.join(folder, "m.onnx")
    os.symlink(os.path.abspath(path), copy)
    tool = os.path.join(os.path.dirname(sys.executable), "pnnx")
    done = subprocess.run([tool, copy, "fp16=0"], capture_output=True, text=True, check=False,
                          timeout=100, cwd=folder)
    told = re.search(r"^model inputshape = (.*)$", done.stdout + done.stderr, re.M)
    parts = [os.path.join(folder, f"m.ncnn.{end}") for end in ("param", "bin")]
    if told is None or not all(map(os.path.exists, parts)):
        raise ValueError("pnnx cannot translate the file")
    return parts, [([int(n) for n in shape.split(",")], kind)
                   for shape, kind in re.findall(r"\[([-\d,]*)\](\w+)", told[1])]


def feed(ports):
    """As run_session.py: the same values for every engine, without the axis of the batch."""
    random, found = np.random.default_rng(1), []
    for at, (shape, kind) in enumerate(ports):
        if min(shape) < 0:
            raise ValueError("the sizes of its inputs are not fixed")
        if kind not in TYPES or shape[0] != 1:
            raise ValueError("ncnn has neither this type nor batches")
        if kind == "f32":
            value = random.standard_normal(shape)
        else:  # the second input of an encoder is its mask
            value = np.ones(shape) if at else random.integers(0, 10, shape)
        found.append(np.ascontiguousarray(value.astype(TYPES[kind])[0]))
    return found


class Runner:
    def __init__(self, library):
        del library
        self.net, self.inputs, self.results = ncnn.Net(), [], []

    def version(self):
        return ncnn.__version__

    def load(self, path, threads):
        option = self.net.opt
        option.num_threads = threads
        option.use_fp16_packed = option.use_fp16_storage = option.use_fp16_arithmetic = False
        option.use_bf16_storage = False
        with tempfile.TemporaryDirectory() as folder:
            (param, weights), ports = translated(path, folder)
            if self.net.load_param(param) != 0 or self.net.load_model(weights) != 0:
                raise ValueError("ncnn refuses the network")
        names = self.net.input_names()
        if len(names) != len(ports):
            raise ValueError("ncnn's network has other inputs")
        self.inputs = [(name, ncnn.Mat(value).clone()) for name, value in zip(names, feed(ports))]

    def run(self):
        extractor = self.net.create_extractor()
        for name, mat in self.inputs:
            extractor.input(name, mat)
        self.results = []
        for name in self.net.output_names():
            status, mat = extractor.extract(name)
            if status != 0:
                raise ValueError(f"ncnn failed with {status}")
            self.results.append(mat)

    def output(self):
        self.run()
        return b"".join(np.array(mat).astype(np.float64).tobytes() for mat in self.results)

    def time(self, warm, budget):
        return timed(self.run, warm, budget)
