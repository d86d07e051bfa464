"""_tensorflow.py - TensorFlow's converter applied to an ONNX network.

The nodes become TensorFlow's, convolutions and pools with channels last between transposes; the
converter makes all of it integers, with floats at both ends.
"""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import onnx
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
from onnx import helper, numpy_helper


def padded(x, attrs, kernel, fill):
    """x with channels last and its padding; what TensorFlow does about the rest."""
    if attrs.get("auto_pad", b"NOTSET").startswith(b"SAME"):
        return x, "SAME"
    pads = attrs.get("pads", [0] * 2 * len(kernel))
    rows, columns = (pads[0], pads[2]), (pads[1], pads[3])
    if any(pads):
        x = tf.pad(x, ((0, 0), rows, columns, (0, 0)), constant_values=fill)
    return x, "VALID"


def window(op, attrs, x, w=None):
    """A convolution or a pool of x, [batch, channels, rows, columns]."""
    x = tf.transpose(x, (0, 2, 3, 1))
    kernel = list(w.shape[2:]) if w is not None else attrs["kernel_shape"]
    strides = attrs.get("strides", [1, 1])
    x, rule = padded(x, attrs, kernel, 0.0 if op != "MaxPool" else -1e9)
    if op == "Conv":
        y = tf.nn.conv2d(x, w.transpose(2, 3, 1, 0), strides, rule)
    else:
        pool = tf.nn.max_pool2d if op == "MaxPool" else tf.nn.avg_pool2d
        y = pool(x, kernel, strides, rule)
    return tf.transpose(y, (0, 3, 1, 2))


def product(attrs, x, w, bias=None):
    w = w.T if attrs.get("transB", 0) else w
    y = tf.matmul(x, w)
    return y if bias is None else y + bias


def compute(node, attrs, x):
    """The results of a node; constants are arrays of numpy."""
    op = node.op_type
    if op == "Conv":
        y = window(op, attrs, x[0], x[1])
        return y if len(x) < 3 else y + x[2].reshape(1, -1, 1, 1)
    if op in ("MaxPool", "AveragePool"):
        return window(op, attrs, x[0])
    if op in ("Gemm", "MatMul"):
        return product(attrs, *x)
    simple = {"Add": tf.add, "Relu": tf.nn.relu, "Softmax": tf.nn.softmax, "Identity": tf.identity,
              "Reshape": lambda a, shape: tf.reshape(a, tuple(int(k) for k in shape)),
              "GlobalAveragePool": lambda a: tf.reduce_mean(a, (2, 3), keepdims=True),
              "Transpose": lambda a: tf.transpose(a, attrs["perm"]),
              "Flatten": lambda a: tf.reshape(a, (a.shape[0], -1))}
    return simple[op](*x)


def integers(model, name, calib):
    """Bytes of a .tflite file that the converter made of an ONNX file."""
    graph = onnx.load(model).graph
    constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}

    class Network(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec(calib[0].shape, tf.float32)])
        def run(self, x):
            values = {**constants, name: x}
            for node in graph.node:
                attrs = {a.name: helper.get_attribute_value(a) for a in node.attribute}
                values[node.output[0]] = compute(node, attrs, [values[k] for k in node.input if k])
            return values[graph.output[0].name]

    network = Network()
    made = tf.lite.TFLiteConverter.from_concrete_functions([network.run.get_concrete_function()],
                                                           network)
    made.optimizations = [tf.lite.Optimize.DEFAULT]
    made.representative_dataset = lambda: ([x] for x in calib)
    made.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    return made.convert()


def right(model, samples, labels):
    """Which samples LiteRT classifies correctly with the file."""
    it = Interpreter(model_content=model)
    it.allocate_tensors()
    place, result = it.get_input_details()[0]["index"], it.get_output_details()[0]["index"]
    hits = []
    for x, label in zip(samples, labels):
        it.set_tensor(place, x)
        it.invoke()
        hits.append(int(it.get_tensor(result).argmax()) == label)
    return np.array(hits)
