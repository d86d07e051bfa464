"""_converter.py - models of one operator, made by TensorFlow's converter.

Every case is a function of tensors, their shapes and the kinds it is converted to: f32, i8 (all
integers) and i16 (activations of 16 bits). Kinds that the converter refuses are left out.
"""
import itertools
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

ALL, TWO = ("f32", "i8", "i16"), ("f32", "i8")
CASES = {}
random = np.random.default_rng(24)


def case(name, fn, *shapes, kinds=ALL, positive=False, dtype=tf.float32):
    for kind in kinds:
        CASES[f"{name} {kind}"] = (fn, shapes, kind, positive, dtype)


def weights(*shape):
    return random.standard_normal(shape).astype(np.float32)


def samples(shapes, positive):
    """The same for every call: ranges must not depend on the order of cases."""
    own = np.random.default_rng(7)
    for _ in range(8):
        x = [own.uniform(-1, 1, s).astype(np.float32) for s in shapes]
        yield [np.abs(v) + np.float32(0.1) for v in x] if positive else x


def convert(fn, shapes, kind, positive, dtype):
    """Bytes of the file; None if the converter refuses."""
    signature = [tf.TensorSpec(s, dtype) for s in shapes]

    class Module(tf.Module):
        @tf.function(input_signature=signature)
        def run(self, *x):
            return fn(*x)

    module = Module()
    made = tf.lite.TFLiteConverter.from_concrete_functions([module.run.get_concrete_function()],
                                                           module)
    if kind != "f32":
        made.optimizations = [tf.lite.Optimize.DEFAULT]
        made.representative_dataset = lambda: samples(shapes, positive)
        sets = tf.lite.OpsSet
        wide = "EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8"
        made.target_spec.supported_ops = [sets.TFLITE_BUILTINS_INT8 if kind == "i8"
                                          else getattr(sets, wide)]
        made.inference_input_type = made.inference_output_type = (tf.int8 if kind == "i8"
                                                                  else tf.int16)
    try:
        return made.convert()
    except Exception:  # the converter raises many kinds
        return None


ACTS = {"none": lambda x: x, "relu": tf.nn.relu, "relu6": tf.nn.relu6}


def convolutions():
    for k, s, p, act in itertools.product((1, 3), (1, 2), ("SAME", "VALID"), ACTS):
        w, b = weights(k, k, 3, 5), weights(5)
        case(f"conv {k} stride {s} {p} {act}",
             lambda x, w=w, b=b, s=s, p=p, a=ACTS[act]: a(tf.nn.conv2d(x, w, s, p) + b),
             (1, 7, 6, 3))
    for d, p in itertools.product((2, 3), ("SAME", "VALID")):
        w = weights(3, 3, 2, 4)
        case(f"conv dilated {d} {p}",
             lambda x, w=w, d=d, p=p: tf.nn.conv2d(x, w, 1, p, dilations=d), (1, 9, 8, 2))
    for k, s, p, m, act in itertools.product((3, 5), (1, 2), ("SAME", "VALID"), (1, 2),
                                             ("none", "relu6")):
        w = weights(k, k, 3, m)
        case(f"depthwise {k} stride {s} {p} times {m} {act}",
             lambda x, w=w, s=s, p=p, a=ACTS[act]:
             a(tf.nn.depthwise_conv2d(x, w, (1, s, s, 1), p)), (1, 8, 7, 3))
    for s, p in itertools.product((1, 2), ("SAME", "VALID")):
        w, n = weights(3, 3, 2, 3), 4 * s + (0 if p == "SAME" else 3 - s)
        case(f"transposed stride {s} {p}",
             lambda x, w=w, s=s, p=p, n=n: tf.nn.conv2d_transpose(x, w, (1, n, n, 2), s, p),
             (1, 4, 4, 3))


def products():
    for (rows, inner, out), bias, act in itertools.product(((1, 8, 4), (3, 16, 8), (2, 7, 5)),
                                                           (0, 1), ACTS):
        w, b = weights(inner, out), weights(out) * bias
        case(f"dense {rows}x{inner}x{out} bias {bias} {act}",
             lambda x, w=w, b=b, bias=bias, a=ACTS[act]: a(x @ w + b if bias else x @ w),
             (rows, inner))
    for a, b in itertools.product((False, True), repeat=2):
        case(f"batch matmul {int(a)}{int(b)}",
             lambda x, y, a=a, b=b: tf.matmul(x, y, transpose_a=a, transpose_b=b),
             (2, 5, 3) if a else (2, 3, 5), (2, 4, 5) if b else (2, 5, 4), kinds=TWO)


def pools():
    for k, s, p in itertools.product((2, 3), (1, 2), ("SAME", "VALID")):
        case(f"max pool {k} stride {s} {p}", lambda x, k=k, s=s, p=p: tf.nn.max_pool2d(x, k, s, p),
             (1, 7, 6, 3))
        case(f"avg pool {k} stride {s} {p}", lambda x, k=k, s=s, p=p: tf.nn.avg_pool2d(x, k, s, p),
             (1, 7, 6, 3))


def maps():
    plain = {"abs": tf.abs, "neg": tf.negative, "exp": tf.exp, "sin": tf.sin, "cos": tf.cos,
             "floor": tf.floor, "ceil": tf.math.ceil, "round": tf.round, "square": tf.square,
             "sigmoid": tf.sigmoid, "tanh": tf.tanh, "relu": tf.nn.relu, "relu6": tf.nn.relu6,
             "elu": tf.nn.elu, "leaky": lambda x: tf.nn.leaky_relu(x, 0.2), "gelu": tf.nn.gelu,
             "gelu tanh": lambda x: tf.nn.gelu(x, approximate=True), "sign": tf.sign,
             "hard swish": lambda x: x * tf.nn.relu6(x + 3) * (1 / 6)}
    for name, fn in plain.items():
        for shape in ((2, 9), (1, 3, 4, 5)):
            case(f"{name} {len(shape)}", fn, shape)
    for name, fn in {"log": tf.math.log, "sqrt": tf.sqrt, "rsqrt": tf.math.rsqrt}.items():
        for shape in ((2, 9), (1, 3, 4, 5)):
            case(f"{name} {len(shape)}", fn, shape, positive=True)
    for shape in ((1, 9), (3, 7), (2, 3, 4), (1, 2, 3, 5)):
        text = "x".join(map(str, shape))
        case(f"softmax {text}", tf.nn.softmax, shape)
        case(f"log softmax {text}", tf.nn.log_softmax, shape)
    slope = weights(1, 1, 5)
    case("prelu", lambda x: tf.maximum(x, 0) + slope * tf.minimum(x, 0), (1, 3, 4, 5))


def pairs():
    plain = {"add": tf.add, "sub": tf.subtract, "mul": tf.multiply, "maximum": tf.maximum,
             "minimum": tf.minimum, "squared difference": tf.math.squared_difference,
             "greater": tf.greater, "less": tf.less, "equal": tf.equal, "not equal": tf.not_equal,
             "greater equal": tf.greater_equal, "less equal": tf.less_equal}
    shapes = (((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (4,)), ((2, 3, 4), (2, 1, 4)),
              ((1, 5, 1), (2, 1, 3)))
    for (name, fn), (i, (a, b)) in itertools.product(plain.items(), enumerate(shapes)):
        case(f"{name} {i}", fn, a, b)
        case(f"{name} {i} int", fn, a, b, kinds=("f32",), dtype=tf.int32)
    for i, (a, b) in enumerate(shapes):
        case(f"div {i}", tf.divide, a, b, kinds=("f32",), positive=True)
        case(f"pow {i}", tf.pow, a, b, kinds=("f32",), positive=True)
        case(f"floor div {i}", tf.math.floordiv, a, b, kinds=("f32",), positive=True)
        case(f"floor mod {i}", tf.math.floormod, a, b, kinds=("f32",), positive=True)
        case(f"logical and {i}", tf.logical_and, a, b, kinds=("f32",), dtype=tf.bool)
        case(f"logical or {i}", tf.logical_or, a, b, kinds=("f32",), dtype=tf.bool)


def sums():
    plain = {"mean": tf.reduce_mean, "sum": tf.reduce_sum, "max": tf.reduce_max,
             "min": tf.reduce_min}
    for (name, fn), axes, keep in itertools.product(plain.items(), ((1,), (2,), (1, 2), (-1,)),
                                                    (False, True)):
        case(f"{name} over {axes} {'kept' if keep else 'gone'}",
             lambda x, fn=fn, axes=axes, keep=keep: fn(x, axes, keep), (2, 4, 5, 3))
    for name, fn in {"arg max": tf.argmax, "arg min": tf.argmin}.items():
        for axis in (1, -1):
            case(f"{name} {axis}", lambda x, fn=fn, a=axis: fn(x, a, tf.int32), (2, 4, 5),
                 kinds=TWO)
    case("cumsum", lambda x: tf.cumsum(x, 1), (2, 5), kinds=("f32",))
    case("top k", lambda x: tf.math.top_k(x, 3)[0], (2, 9), kinds=TWO)


def moves():
    table, picked = weights(5, 4), np.array([[0, 1], [1, 2]], np.int32)
    plain = {
        "reshape": lambda x: tf.reshape(x, (4, 6)), "flatten": lambda x: tf.reshape(x, (-1,)),
        "transpose 021": lambda x: tf.transpose(x, (0, 2, 1)),
        "transpose 201": lambda x: tf.transpose(x, (2, 0, 1)),
        "concat 0": lambda x: tf.concat((x, x), 0), "concat 2": lambda x: tf.concat((x, x, x), 2),
        "split": lambda x: tf.split(x, 2, 2)[1], "split v": lambda x: tf.split(x, (1, 3), 2)[1],
        "pack": lambda x: tf.stack((x, x), 1), "unpack": lambda x: tf.unstack(x, axis=1)[2],
        "slice": lambda x: tf.slice(x, (0, 1, 1), (2, 2, 2)),
        "strided slice": lambda x: x[:, ::2, 1:], "strided back": lambda x: x[:, ::-1, :3],
        "strided drop": lambda x: x[1, :, 1:3],
        "pad": lambda x: tf.pad(x, ((0, 0), (1, 2), (0, 1))),
        "mirror pad": lambda x: tf.pad(x, ((0, 0), (1, 2), (1, 0)), "REFLECT"),
        "symmetric pad": lambda x: tf.pad(x, ((0, 0), (1, 2), (1, 0)), "SYMMETRIC"),
        "tile": lambda x: tf.tile(x, (1, 2, 3)), "expand": lambda x: tf.expand_dims(x, 1),
        "gather": lambda x: tf.gather(x, (2, 0, 1), axis=1),
        "gather nd": lambda x: tf.gather_nd(x, picked), "reverse": lambda x: tf.reverse(x, (1,)),
        "select": lambda x: tf.where(x > 0.1, x, tf.zeros_like(x)),
        "broadcast": lambda x: tf.broadcast_to(x, (2, 2, 3, 4)),
        "cast": lambda x: tf.cast(x * 4, tf.int32),
        "one hot": lambda x: tf.one_hot(tf.cast(x * 3, tf.int32), 4)}
    for name, fn in plain.items():
        case(name, fn, (2, 3, 4))
    case("squeeze", lambda x: tf.squeeze(x, 1), (2, 1, 4))
    case("lookup", lambda x: tf.gather(table, x), (3,), kinds=("f32",), dtype=tf.int32)
    for name, fn in {"space to depth": tf.nn.space_to_depth,
                     "depth to space": tf.nn.depth_to_space}.items():
        case(name, lambda x, fn=fn: fn(x, 2), (1, 4, 6, 4))
    case("space to batch", lambda x: tf.space_to_batch(x, (2, 2), ((0, 0), (1, 1))), (1, 4, 6, 2))
    case("batch to space", lambda x: tf.batch_to_space(x, (2, 2), ((0, 0), (0, 1))), (4, 2, 3, 2))
    for method, align, half in itertools.product(("bilinear", "nearest_neighbor"), (0, 1), (0, 1)):
        fn = getattr(tf.compat.v1.image, f"resize_{method}")
        if not (align and half):
            case(f"resize {method} {align}{half}",
                 lambda x, fn=fn, a=align, h=half: fn(x, (7, 5), align_corners=bool(a),
                                                      half_pixel_centers=bool(h)), (1, 4, 3, 2))


def lists():
    """Loops that fill a list, as recurrent layers of Keras do."""
    w = weights(4, 4)

    def filled(x, from_end):
        made, last = tf.TensorArray(tf.float32, 6, element_shape=(2, 4)), tf.zeros((2, 4))
        for i in tf.range(6):
            last = tf.tanh(last @ w + x[i])
            made = made.write(5 - i if from_end else i, last)
        return made.stack()

    for from_end in (False, True):
        case(f"list filled from the {'end' if from_end else 'beginning'}",
             lambda x, e=from_end: filled(x, e), (6, 2, 4), kinds=("f32",))


for group in (convolutions, products, pools, maps, pairs, sums, moves, lists):
    group()
