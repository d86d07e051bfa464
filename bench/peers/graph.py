"""graph.py - a workload as a list of operations, and the files that engines read it from."""
import os

import onnxfile
from late import np


class Graph:
    """Operations in the order in which they run; a value is known by its name."""

    def __init__(self, seed=1):
        self.random = np.random.default_rng(seed)
        self.inputs, self.weights, self.shapes, self.types = {}, {}, {}, {}
        self.nodes = []  # as ONNX has them
        self.flat = []   # the same for graph.txt, where a layer may be one operation
        self.output = None
        self.flops = 0  # of products only: the floor is computed from it

    def _name(self, kind):
        return f"{kind}{len(self.shapes)}"

    def _know(self, name, array):
        self.shapes[name], self.types[name] = array.shape, array.dtype
        return name

    def _values(self, shape, dtype, scale):
        if np.issubdtype(dtype, np.integer):
            info = np.iinfo(dtype)
            return self.random.integers(info.min, info.max + 1, shape, dtype=dtype)
        return (self.random.standard_normal(shape) * scale).astype(dtype)

    def input(self, *shape, dtype="float32"):
        name = self._name("x")
        self.inputs[name] = self._values(shape, dtype, 1.0)
        return self._know(name, self.inputs[name])

    def weight(self, *shape, dtype="float32", scale=None):
        """By default so small that sums keep the magnitude of their terms."""
        fan = int(np.prod(shape[1:])) if len(shape) == 4 else shape[0]
        return self.constant(self._values(shape, dtype, scale or fan ** -0.5))

    def constant(self, array):
        name = self._name("w")
        self.weights[name] = array
        return self._know(name, array)

    def node(self, op, inputs, shape, dtype=None, **attributes):
        name = self._name("v")
        self.shapes[name] = tuple(shape)
        self.types[name] = np.dtype(dtype or self.types[inputs[0]])
        self.nodes.append((op, list(inputs), name, attributes))
        self.flat.append(self.nodes[-1])
        self.output = name
        return name

    def _as_one(self, mark, op, inputs, **attributes):
        """Turns what was appended to `flat` since `mark` into one operation."""
        self.flat[mark:] = [(op, inputs, self.output, attributes)]
        return self.output

    # ---- operations ----

    def matmul(self, a, b):
        x, y = self.shapes[a], self.shapes[b]
        self.flops += 2 * int(np.prod(x)) * y[-1]
        integer = np.issubdtype(self.types[a], np.integer)
        return self.node("MatMulInteger" if integer else "MatMul", [a, b], (*x[:-1], y[-1]),
                         np.int32 if integer else None)

    def dense(self, x, units):
        """A product with a matrix of weights, and a bias."""
        w, b = self.weight(self.shapes[x][-1], units), self.weight(units, scale=0.1)
        mark = len(self.flat)
        if len(self.shapes[x]) == 2:
            self.flops += 2 * int(np.prod(self.shapes[x])) * units
            self.node("Gemm", [x, w, b], (self.shapes[x][0], units))
        else:
            self.add(self.matmul(x, w), b)
        return self._as_one(mark, "Linear", [x, w, b])

    def block_matmul(self, x, n, bits=4, block=32, accuracy=0):
        """Weights of a few bits with a scale for each block. With accuracy 4 an engine may round
        the activations to 8 bits."""
        k = self.shapes[x][-1]
        levels = self.random.integers(0, 256, (n, k // block, block * bits // 8), dtype=np.uint8)
        scales = self.random.uniform(0.5, 1, n * k // block) / (k ** 0.5 * 2 ** (bits - 1))
        self.flops += 2 * int(np.prod(self.shapes[x])) * n
        return self.node("com.microsoft.MatMulNBits",
                         [x, self.constant(levels), self.constant(scales.astype(np.float32))],
                         (*self.shapes[x][:-1], n), K=k, N=n, bits=bits, block_size=block,
                         accuracy_level=accuracy)

    def quantize(self, x, scale):
        zero = self.constant(np.array(128, np.uint8))
        return self.node("QuantizeLinear", [x, self.constant(np.array(scale, np.float32)), zero],
                         self.shapes[x], np.uint8)

    def dequantize(self, x, scale, zero=None, axis=None):
        zero = self.constant(np.array(128, np.uint8)) if zero is None else zero
        more = {} if axis is None else {"axis": axis}
        inputs = [x, self.constant(np.asarray(scale, np.float32)), zero]
        return self.node("DequantizeLinear", inputs, self.shapes[x], np.float32, **more)

    def quantized_conv(self, x, filters, kernel, scale):
        """A convolution of bytes to bytes, as in quantised models: each filter has its scale."""
        n, c, h, w = self.shapes[x]
        each = np.full(filters, 0.01, np.float32)
        weight = self.dequantize(self.weight(filters, c, kernel, kernel, dtype=np.int8), each,
                                 self.constant(np.zeros(filters, np.int8)), axis=0)
        bias = self.dequantize(self.constant(self._values((filters,), np.int32, 1) >> 20),
                               each * np.float32(scale), self.constant(np.zeros(filters, np.int32)),
                               axis=0)
        self.flops += 2 * n * filters * h * w * c * kernel * kernel
        return self.node("Conv", [x, weight, bias], (n, filters, h, w), group=1,
                         kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4, strides=[1, 1])

    def attention(self, q, k, v):
        """Attention over q, k and v of [batch, seq, heads, width]; gives [batch, heads, seq,
        width]."""
        mark, scale = len(self.flat), self.shapes[q][-1] ** -0.5
        scores = self.matmul(self.transpose(q, 0, 2, 1, 3), self.transpose(k, 0, 2, 3, 1))
        self.matmul(self.softmax(self.mul(scores, scale)), self.transpose(v, 0, 2, 1, 3))
        return self._as_one(mark, "Attention", [q, k, v], scale=scale)

    def conv(self, x, filters, kernel, stride=1, groups=1):
        n, c, h, w = self.shapes[x]
        pad = kernel // 2
        out = [(size + 2 * pad - kernel) // stride + 1 for size in (h, w)]
        weight = self.weight(filters, c // groups, kernel, kernel)
        bias = self.weight(filters, scale=0.1)
        self.flops += 2 * n * filters * out[0] * out[1] * (c // groups) * kernel * kernel
        return self.node("Conv", [x, weight, bias], (n, filters, *out), group=groups,
                         kernel_shape=[kernel] * 2, pads=[pad] * 4, strides=[stride] * 2)

    def add(self, a, b):
        return self.node("Add", [a, b], np.broadcast_shapes(self.shapes[a], self.shapes[b]))

    def relu(self, x):
        return self.node("Relu", [x], self.shapes[x])

    def relu6(self, x):
        low, high = (self.constant(np.array(v, np.float32)) for v in (0, 6))
        return self.node("Clip", [x, low, high], self.shapes[x])

    def gelu(self, x):
        return self.node("Gelu", [x], self.shapes[x])

    def softmax(self, x):
        return self.node("Softmax", [x], self.shapes[x], axis=-1)

    def layer_norm(self, x):
        width = self.shapes[x][-1]
        scale = self.constant(1 + self._values((width,), np.float32, 0.1))
        return self.node("LayerNormalization", [x, scale, self.weight(width, scale=0.1)],
                         self.shapes[x], axis=-1, epsilon=1e-5)

    def sum(self, x):
        return self.node("ReduceSum", [x], (), keepdims=0)

    def mul(self, x, value):
        return self.node("Mul", [x, self.constant(np.array(value, np.float32))], self.shapes[x])

    def reshape(self, x, *shape):
        return self.node("Reshape", [x, self.constant(np.array(shape, np.int64))], shape)

    def transpose(self, x, *perm):
        return self.node("Transpose", [x], [self.shapes[x][i] for i in perm], perm=list(perm))

    def max_pool(self, x, kernel, stride, pad):
        n, c, h, w = self.shapes[x]
        out = [(size + 2 * pad - kernel) // stride + 1 for size in (h, w)]
        return self.node("MaxPool", [x], (n, c, *out), kernel_shape=[kernel] * 2, pads=[pad] * 4,
                         strides=[stride] * 2)

    def average(self, x):
        """Over each channel's image: [n, c]."""
        n, c = self.shapes[x][:2]
        return self.reshape(self.node("GlobalAveragePool", [x], (n, c, 1, 1)), n, c)

    # ---- its minimum cost ----

    def traffic(self):
        """Bytes of inputs, weights and output: each must be moved once."""
        values = [*self.inputs.values(), *self.weights.values()]
        size = int(np.prod(self.shapes[self.output])) * self.types[self.output].itemsize
        return sum(v.nbytes for v in values) + size

    # ---- files ----

    def write(self, folder):
        """model.onnx, and for engines without a reader of their own: graph.txt and data.bin."""
        os.makedirs(folder, exist_ok=True)
        onnxfile.write(self, os.path.join(folder, "model.onnx"))
        lines, at = [], 0
        with open(os.path.join(folder, "data.bin"), "wb") as data:
            for kind, values in (("input", self.inputs), ("weight", self.weights)):
                for name, array in values.items():
                    lines.append(f"{kind} {name} {array.dtype} {at} {_dims(array.shape)}")
                    data.write(np.ascontiguousarray(array).tobytes())
                    at += array.nbytes
                    at += data.write(b"\0" * (-at % 64))
        for op, inputs, name, attributes in self.flat:
            flat = ";".join(f"{k}={_attribute(v)}" for k, v in attributes.items()) or "-"
            lines.append(f"node {op} {name} {flat} {len(inputs)} {' '.join(inputs)} "
                         f"{_dims(self.shapes[name])}")
        lines.append(f"output {self.output} {self.types[self.output]} 0 "
                     f"{_dims(self.shapes[self.output])}")
        with open(os.path.join(folder, "graph.txt"), "w", encoding="ascii") as text:
            text.write("\n".join(lines) + "\n")


def _dims(shape):
    return " ".join(str(n) for n in (len(shape), *shape))


def _attribute(value):
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
