"""run_litert.py - LiteRT, whose XNNPACK does the work, through its Python package."""
import importlib.metadata
import os
import sys

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from flatfile import Flat, timed  # pylint: disable=wrong-import-position

TYPES = {"float32": schema.TensorType.FLOAT32, "int32": schema.TensorType.INT32}
ACTIVATION = schema.ActivationFunctionType
BUILTIN = schema.BuiltinOperator


class Writer:
    """The network as a .tflite file, with channels last."""

    def __init__(self, flat):
        self.flat, self.places, self.skip, self.codes = flat, {}, set(), {}
        self.model, self.graph = schema.ModelT(), schema.SubGraphT()
        self.graph.tensors, self.graph.operators = [], []
        self.model.buffers = [schema.BufferT()]
        self.is_image = any(n.op == "Conv" for n in flat.nodes)
        self.graph.inputs = [self.tensor(n, x.shape) for n, x in flat.inputs.items()]
        for node in flat.nodes:
            if node.output not in self.skip:
                getattr(self, node.op.lower(), self.unknown)(node)
        self.graph.outputs = [self.places[flat.output]]

    def bytes(self):
        self.model.version, self.model.subgraphs = 3, [self.graph]
        self.model.operatorCodes = []
        for code in self.codes:
            entry = schema.OperatorCodeT()
            entry.builtinCode, entry.version = code, 1
            entry.deprecatedBuiltinCode = min(code, 127)
            self.model.operatorCodes.append(entry)
        if self.flat.numerics != "exact":
            self.allow_f16()
        builder = flatbuffers.Builder(1 << 20)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())

    def allow_f16(self):
        """XNNPACK computes in f16 if the file says that this is good enough."""
        buffer, entry = schema.BufferT(), schema.MetadataT()
        buffer.data = np.frombuffer(b"fp16accfp16", np.uint8)
        self.model.buffers.append(buffer)
        entry.name, entry.buffer = "reduced_precision_support", len(self.model.buffers) - 1
        self.model.metadata = [entry]

    # ---- tensors ----

    def tensor(self, name, shape, values=None):
        shape = list(shape)
        if values is None and self.is_image and len(shape) == 4:
            shape = [shape[0], shape[2], shape[3], shape[1]]
        t = schema.TensorT()
        t.name, t.shape, t.type = name, shape, TYPES["float32" if values is None
                                                     else str(values.dtype)]
        t.buffer = 0
        if values is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(values).tobytes(), np.uint8)
            self.model.buffers.append(buffer)
            t.buffer = len(self.model.buffers) - 1
        self.graph.tensors.append(t)
        self.places[name] = len(self.graph.tensors) - 1
        return self.places[name]

    def constant(self, values):
        values = np.asarray(values)
        return self.tensor(f"c{len(self.graph.tensors)}", values.shape, values)

    def value(self, name):
        if name not in self.places:
            self.tensor(name, self.flat.weights[name].shape, self.flat.weights[name])
        return self.places[name]

    def extra(self, shape):
        return self.tensor(f"t{len(self.graph.tensors)}", shape)

    # ---- operations ----

    def op(self, code, inputs, output, options=None):
        o = schema.OperatorT()
        o.opcodeIndex = self.codes.setdefault(code, len(self.codes))
        o.inputs, o.outputs = inputs, [output]
        if options is not None:
            o.builtinOptions = options
            o.builtinOptionsType = getattr(schema.BuiltinOptions, type(options).__name__[:-1])
        self.graph.operators.append(o)
        return output

    @staticmethod
    def unknown(node):
        raise ValueError(f"LiteRT has no {node.op} here")

    def fused(self, n):
        users = self.flat.users(n.output)
        if len(users) != 1 or users[0].op not in ("Relu", "Clip"):
            return ACTIVATION.NONE, n.output
        self.skip.add(users[0].output)
        return (ACTIVATION.RELU if users[0].op == "Relu" else ACTIVATION.RELU6), users[0].output

    def simple(self, code, n, options=None):
        self.op(code, [self.value(i) for i in n.inputs], self.tensor(n.output, n.shape), options)

    def relu(self, n):
        self.simple(BUILTIN.RELU, n)

    def gelu(self, n):
        options = schema.GeluOptionsT()
        options.approximate = False
        self.simple(BUILTIN.GELU, n, options)

    def add(self, n):
        options = schema.AddOptionsT()
        options.fusedActivationFunction, last = self.fused(n)
        n.output = last
        self.simple(BUILTIN.ADD, n, options)

    def softmax(self, n):
        options = schema.SoftmaxOptionsT()
        options.beta = 1.0
        self.simple(BUILTIN.SOFTMAX, n, options)

    def reducesum(self, n):
        axes = np.arange(next(iter(self.flat.inputs.values())).ndim, dtype=np.int32)
        self.op(BUILTIN.SUM, [self.value(n.inputs[0]), self.constant(axes)],
                self.tensor(n.output, n.shape), schema.ReducerOptionsT())

    def globalaveragepool(self, n):
        options = schema.ReducerOptionsT()
        options.keepDims = True
        self.op(BUILTIN.MEAN, [self.value(n.inputs[0]), self.constant(np.array([1, 2], np.int32))],
                self.tensor(n.output, n.shape), options)

    def reshape(self, n):
        self.op(BUILTIN.RESHAPE, [self.value(n.inputs[0]),
                                  self.constant(np.array(n.shape, np.int32))],
                self.tensor(n.output, n.shape), schema.ReshapeOptionsT())

    def transpose(self, source, perm, target):
        return self.op(BUILTIN.TRANSPOSE, [source, self.constant(np.array(perm, np.int32))], target,
                       schema.TransposeOptionsT())

    def transpose(self, n):
        perm = [int(i) for i in n.attributes["perm"].split(",")]
        self.transpose(self.value(n.inputs[0]), perm, self.tensor(n.output, n.shape))

    def linear(self, n):
        options = schema.FullyConnectedOptionsT()
        options.fusedActivationFunction, last = self.fused(n)
        options.keepNumDims = True
        weight = self.constant(self.flat.weights[n.inputs[1]].T)
        bias = [self.value(i) for i in n.inputs[2:]] or [-1]
        self.op(BUILTIN.FULLY_CONNECTED, [self.value(n.inputs[0]), weight, *bias],
                self.tensor(last, n.shape), options)

    matmul = linear

    def padded(self, n):
        """The source, padded with zeros if its padding differs from "same"."""
        pad, stride = int(n.number("pads")), int(n.number("strides"))
        source = self.value(n.inputs[0])
        if pad == 0 or stride == 1:
            return source, schema.Padding.SAME if pad else schema.Padding.VALID
        b, h, w, c = self.graph.tensors[source].shape
        sides = self.constant(np.array([[0, 0], [pad, pad], [pad, pad], [0, 0]], np.int32))
        wide = self.extra([b, c, h + 2 * pad, w + 2 * pad])
        self.op(BUILTIN.PAD, [source, sides], wide, schema.PadOptionsT())
        return wide, schema.Padding.VALID

    def conv(self, n):
        depthwise = n.number("group", 1) > 1
        options = schema.DepthwiseConv2DOptionsT() if depthwise else schema.Conv2DOptionsT()
        source, options.padding = self.padded(n)
        options.strideW = options.strideH = int(n.number("strides"))
        options.dilationWFactor = options.dilationHFactor = 1
        if depthwise:
            options.depthMultiplier = 1
        options.fusedActivationFunction, last = self.fused(n)
        order = (1, 2, 3, 0) if depthwise else (0, 2, 3, 1)
        weight = self.constant(self.flat.weights[n.inputs[1]].transpose(order))
        self.op(BUILTIN.DEPTHWISE_CONV_2D if depthwise else BUILTIN.CONV_2D,
                [source, weight, self.value(n.inputs[2])], self.tensor(last, n.shape), options)

    def maxpool(self, n):
        """A max pool of values that are not negative, so that zeros around them do no harm."""
        options = schema.Pool2DOptionsT()
        source, options.padding = self.padded(n)
        options.strideW = options.strideH = int(n.number("strides"))
        options.filterWidth = options.filterHeight = int(n.number("kernel_shape"))
        self.op(BUILTIN.MAX_POOL_2D, [source], self.tensor(n.output, n.shape), options)

    def attention(self, n):
        b, seq, heads, width = self.graph.tensors[self.value(n.inputs[0])].shape
        q, k, v = (self.value(i) for i in n.inputs)
        rows = [b, heads, seq, width]
        q = self.transpose(q, (0, 2, 1, 3), self.extra(rows))
        v = self.transpose(v, (0, 2, 1, 3), self.extra(rows))
        k = self.transpose(k, (0, 2, 3, 1), self.extra([b, heads, width, seq]))
        scores = [self.extra([b, heads, seq, seq]) for _ in range(3)]
        self.op(BUILTIN.BATCH_MATMUL, [q, k], scores[0], schema.BatchMatMulOptionsT())
        self.op(BUILTIN.MUL, [scores[0], self.constant(np.float32(n.number("scale")))], scores[1],
                schema.MulOptionsT())
        options = schema.SoftmaxOptionsT()
        options.beta = 1.0
        self.op(BUILTIN.SOFTMAX, [scores[1]], scores[2], options)
        self.op(BUILTIN.BATCH_MATMUL, [scores[2], v], self.tensor(n.output, n.shape),
                schema.BatchMatMulOptionsT())

    def layernormalization(self, n):
        """There is no such operation: built from its definition."""
        x, shape = self.value(n.inputs[0]), n.shape
        narrow, axis = [*shape[:-1], 1], np.array([len(shape) - 1], np.int32)
        keep = schema.ReducerOptionsT()
        keep.keepDims = True
        mean = self.op(BUILTIN.MEAN, [x, self.constant(axis)], self.extra(narrow), keep)
        centred = self.op(BUILTIN.SUB, [x, mean], self.extra(shape), schema.SubOptionsT())
        squares = self.op(BUILTIN.MUL, [centred, centred], self.extra(shape), schema.MulOptionsT())
        variance = self.op(BUILTIN.MEAN, [squares, self.constant(axis)], self.extra(narrow), keep)
        raised = self.op(BUILTIN.ADD, [variance, self.constant(np.float32(n.number("epsilon")))],
                         self.extra(narrow), schema.AddOptionsT())
        root = self.op(BUILTIN.RSQRT, [raised], self.extra(narrow))
        unit = self.op(BUILTIN.MUL, [centred, root], self.extra(shape), schema.MulOptionsT())
        scaled = self.op(BUILTIN.MUL, [unit, self.value(n.inputs[1])], self.extra(shape),
                         schema.MulOptionsT())
        self.op(BUILTIN.ADD, [scaled, self.value(n.inputs[2])], self.tensor(n.output, shape),
                schema.AddOptionsT())


class Runner:
    def __init__(self, library):
        del library
        self.flat = self.interpreter = self.run = None

    def version(self):
        return importlib.metadata.version("ai-edge-litert")

    def load(self, folder, threads):
        self.flat = Flat(folder)
        if any(x.dtype != np.float32 for x in self.flat.inputs.values()):
            raise ValueError("LiteRT has f32 inputs only here")
        writer = Writer(self.flat)
        self.interpreter = Interpreter(model_content=writer.bytes(), num_threads=threads)
        self.interpreter.allocate_tensors()
        for place, x in zip(self.interpreter.get_input_details(), self.flat.inputs.values()):
            x = x.transpose(0, 2, 3, 1) if writer.is_image and x.ndim == 4 else x
            self.interpreter.set_tensor(place["index"], np.ascontiguousarray(x))
        self.run = self.interpreter._interpreter.Invoke  # pylint: disable=protected-access

    def output(self):
        place = self.interpreter.get_output_details()[0]["index"]
        y = self.interpreter.get_tensor(place)
        is_image = y.ndim == 4 and any(n.op == "Conv" for n in self.flat.nodes)
        y = y.transpose(0, 3, 1, 2) if is_image else y
        return np.ascontiguousarray(y).tobytes()

    def time(self, warm, budget):
        return timed(self.run, warm, budget)
