"""run_ncnn.py - ncnn, through its Python package, which exports nothing that C could call."""
import os
import sys
import tempfile

import ncnn
import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from flatfile import Flat, timed  # pylint: disable=wrong-import-position


class Writer:
    """The network in ncnn's own format: a text of layers, and their weights in order."""

    def __init__(self, flat):
        self.flat, self.layers, self.bin, self.blobs = flat, [], b"", 0
        self.left, self.skip = {}, set()
        for name in flat.inputs:
            self.layer("Input", [], name, "")
        for node in flat.nodes:
            if node.output not in self.skip:
                self.node(node)

    def layer(self, kind, inputs, output, parameters):
        names = [self.left[i].pop() if i in self.left else i for i in inputs]
        self.layers.append(f"{kind} l{len(self.layers)} {len(names)} 1 {' '.join(names)} {output} "
                           f"{parameters}")
        self.blobs += 1
        uses = sum(n.inputs.count(output) for n in self.flat.nodes)
        if uses > 1:
            copies = [f"{output}_{i}" for i in range(uses)]
            self.layers.append(f"Split l{len(self.layers)} 1 {uses} {output} {' '.join(copies)}")
            self.blobs += uses
            self.left[output] = copies

    def weights(self, name, tagged=True, transposed=False):
        array = self.flat.weights[name]
        array = array.T if transposed else array
        self.bin += (b"\0" * 4 if tagged else b"") + np.ascontiguousarray(array).tobytes()

    def activation(self, node):
        """Operations after a layer that can be fused into it: its parameters, and the last output.
        """
        users = self.flat.users(node.output)
        if len(users) != 1 or users[0].op not in ("Relu", "Clip"):
            return "", node.output
        self.skip.add(users[0].output)
        more = " 9=1" if users[0].op == "Relu" else " 9=3 -23310=2,0.0,6.0"
        return more, users[0].output

    def node(self, n):
        known = {"Relu": ("ReLU", ""), "Clip": ("Clip", "0=0 1=6"), "Add": ("BinaryOp", "0=0"),
                 "Gelu": ("GELU", "0=0"), "GlobalAveragePool": ("Pooling", "0=1 4=1"),
                 "ReduceSum": ("Reduction", "0=0 1=1 5=1")}
        if n.op in known:
            kind, parameters = known[n.op]
            wanted = [i for i in n.inputs if i not in self.flat.weights]
            return self.layer(kind, wanted, n.output, parameters)
        method = getattr(self, n.op.lower(), None)
        if method is None:
            raise ValueError(f"ncnn has no {n.op} here")
        return method(n)

    def softmax(self, n):
        rows = len(n.shape) > 1 and n.shape[0] > 1
        self.layer("Softmax", n.inputs, n.output, f"0={1 if rows else 0} 1=1")

    def matmul(self, n):
        self.product(n, None)

    def linear(self, n):
        self.product(n, n.inputs[2])

    def product(self, n, bias):
        """One row is a vector there; more are a matrix, packed beforehand."""
        k, units = self.flat.weights[n.inputs[1]].shape
        rows = int(np.prod(n.shape[:-1]))
        if rows == 1:
            act, output = self.activation(n)
            self.layer("InnerProduct", n.inputs[:1], output,
                       f"0={units} 1={int(bias is not None)} 2={units * k}{act}")
            self.weights(n.inputs[1], transposed=True)
            if bias:
                self.weights(bias, tagged=False)
            return
        has_bias = f"6=1 10=4" if bias else "6=1 10=-1"
        self.layer("Gemm", n.inputs[:1], n.output,
                   f"2=0 3=1 4=0 5=1 {has_bias} 7=0 8={units} 9={k}")
        self.weights(n.inputs[1], transposed=True)
        if bias:
            self.weights(bias)

    def conv(self, n):
        weight = self.flat.weights[n.inputs[1]]
        groups = int(n.number("group", 1))
        act, output = self.activation(n)
        self.layer("Convolution" if groups == 1 else "ConvolutionDepthWise", n.inputs[:1], output,
                   f"0={weight.shape[0]} 1={weight.shape[2]} 3={int(n.number('strides'))} "
                   f"4={int(n.number('pads'))} 5=1 6={weight.size}"
                   + (f" 7={groups}" if groups > 1 else "") + act)
        self.weights(n.inputs[1])
        self.weights(n.inputs[2], tagged=False)

    def maxpool(self, n):
        self.layer("Pooling", n.inputs, n.output, f"0=0 1={int(n.number('kernel_shape'))} "
                   f"2={int(n.number('strides'))} 3={int(n.number('pads'))} 5=1")

    def layernormalization(self, n):
        self.layer("LayerNorm", n.inputs[:1], n.output,
                   f"0={n.shape[-1]} 1={n.number('epsilon')} 2=1")
        self.weights(n.inputs[1], tagged=False)
        self.weights(n.inputs[2], tagged=False)

    def reshape(self, n):
        self.layer("Reshape", n.inputs[:1], n.output, f"0={n.shape[-1]}")


def attention(flat):
    """Three products, attention and a product are one layer there: MultiHeadAttention."""
    made = {n.output: n for n in flat.nodes}
    for n in [n for n in flat.nodes if n.op == "Attention"]:
        heads = made[n.inputs[0]].shape[2]
        shapes = [made[i] for i in n.inputs]
        linears = [made[s.inputs[0]] for s in shapes]
        transposed = flat.users(n.output)[0]
        joined = flat.users(transposed.output)[0]
        last = flat.users(joined.output)[0]
        gone = {x.output for x in (*shapes, *linears, n, transposed, joined)}
        last.op, last.heads = "MultiHead", heads
        last.parts = [w for x in (*linears, last) for w in x.inputs[1:]]
        last.inputs = linears[0].inputs[:1]
        flat.nodes = [x for x in flat.nodes if x.output not in gone]


def multihead(self, n):
    width = n.shape[-1]
    self.layer("MultiHeadAttention", n.inputs, n.output,
               f"0={width} 1={n.heads} 2={width * width} 3={width} 4={width}")
    for i, part in enumerate(n.parts):
        self.weights(part, tagged=i % 2 == 0, transposed=i % 2 == 0)


Writer.multihead = multihead


class Runner:
    def __init__(self, library):
        del library
        self.net = self.flat = self.inputs = self.result = None

    def version(self):
        return ncnn.__version__

    def load(self, folder, threads):
        self.flat = Flat(folder)
        if any(x.dtype != np.float32 for x in self.flat.inputs.values()):
            raise ValueError("ncnn has f32 inputs only here")
        attention(self.flat)
        text = Writer(self.flat)
        self.net = ncnn.Net()
        option = self.net.opt
        option.num_threads = threads
        half = self.flat.numerics != "exact"  # with arithmetic in f16 it is fastest
        option.use_fp16_packed = option.use_fp16_storage = option.use_fp16_arithmetic = half
        option.use_bf16_storage = False
        with tempfile.TemporaryDirectory() as at:
            param, weights = os.path.join(at, "param"), os.path.join(at, "bin")
            with open(param, "w", encoding="ascii") as file:
                file.write(f"7767517\n{len(text.layers)} {text.blobs}\n" + "\n".join(text.layers)
                           + "\n")
            with open(weights, "wb") as file:
                file.write(text.bin)
            if self.net.load_param(param) != 0 or self.net.load_model(weights) != 0:
                raise ValueError("ncnn refuses the network")
        self.inputs = []
        for name, x in self.flat.inputs.items():
            x = x[0] if x.ndim > 2 or (x.ndim == 2 and x.shape[0] == 1) else x
            self.inputs.append((name, ncnn.Mat(np.ascontiguousarray(x)).clone()))

    def run(self):
        extractor = self.net.create_extractor()
        for name, mat in self.inputs:
            extractor.input(name, mat)
        status, self.result = extractor.extract(self.flat.output)
        if status != 0:
            raise ValueError(f"ncnn failed with {status}")

    def output(self):
        return np.ascontiguousarray(np.array(self.result)).tobytes()

    def time(self, warm, budget):
        return timed(self.run, warm, budget)
