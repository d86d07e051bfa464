"""_seeds_named.py - named sizes where an operator computes with them, and the indices of MaxPool:
hostile_runs.c has the results of those that load."""
import math
import struct

from _pb import Graph, floats, ints, model, node, tensor, value
from _seeds_ops import REFUSED, built, i64_0, x

NAMED = value("x", ["n"])


def vector(name, *numbers):
    return tensor(name, [len(numbers)], 7, ints(*numbers))


def all_named(onnx):
    elements(onnx)
    blocks(onnx)
    pools(onnx)
    heads(onnx)
    causal(onnx)


def elements(onnx):
    """Indices that are fewer than the rows, whose number has a name."""
    up = node("Unsqueeze", ["x", "one"], ["c"])
    onnx("legal_29_gather_shorter", Graph(
        [up, node("GatherElements", ["c", "at"], ["y"], axis=1)], [NAMED], [value("y", [2, 2])],
        [vector("one", 1), tensor("at", [2, 2], 7, ints(0, 0, 0, 0))]))
    onnx("legal_29_scatter_shorter", Graph(
        [up, node("ScatterElements", ["c", "at", "u"], ["y"], axis=1)], [NAMED],
        [value("y", ["n", 1])],
        [vector("one", 1), tensor("at", [2, 1], 7, ints(0, 0)),
         tensor("u", [2, 1], 1, floats(9, 8))]))


def blocks(onnx):
    """The second block ends before its length."""
    scale, zero = tensor("s", [2], 1, floats(.5, .25)), tensor("z", [2], 3, b"\0\1")
    first = node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=0, block_size=2)
    onnx("legal_29_blocks_named", Graph(
        [first, node("Cast", ["q"], ["y"], to=1)], [NAMED], [value("y", ["n"])], [scale, zero]))


def pools(onnx):
    def indices(name, shape, fill, **attrs):
        """The indices of the maxima of x + fill, position by position."""
        count = math.prod(shape)
        weight = tensor("w", [1, *shape], 1, struct.pack(f"<{count}f", *[fill] * count))
        axes = list(range(len(shape), -1, -1))
        onnx(f"legal_29_{name}", Graph(
            [node("Add", ["x", "w"], ["c"]), node("MaxPool", ["c"], ["m", "i"], **attrs),
             node("Transpose", ["i"], ["t"], perm=axes), node("Cast", ["t"], ["y"], to=1)],
            [value("x", [3])], [value("y", [1] * (len(shape) + 1))], [weight]))

    indices("columns_of_three", (1, 2, 2, 3), 0., kernel_shape=[1, 1, 1], storage_order=1)
    indices("lowest_pool", (2, 3), float("-inf"), kernel_shape=[2], pads=[1, 1])


def heads(onnx):
    """1 / sqrt(size) needs the size, and repeating the heads of keys needs their number; frames do
    not."""
    def refused(name, op, *inputs, **rest):
        content, body = built(op, inputs, **rest)
        onnx(f"29_{name}", content, REFUSED, body)

    def legal(name, op, *inputs, **rest):
        onnx(f"legal_29_{name}", built(op, inputs, **rest)[0])

    ways = (("flex", "FlexAttention", {"domain": "ai.onnx.preview", "opset": 26}),
            ("attention", "Attention", {"opset": 23}))
    for name, op, way in ways:
        size, count = x(1, 2, 2, "d"), x(1, "h", 2, 4)
        refused(f"{name}_size_named", op, size, size, size, **way)
        legal(f"{name}_size_scaled", op, size, size, size, scale=.5, **way)
        refused(f"{name}_queries_named", op, count, *[x(1, 2, 2, 4)] * 2, **way)
        refused(f"{name}_keys_named", op, x(1, 4, 2, 4), count, count, **way)
    legal("stft_length", "STFT", x(1, "n"), i64_0(2), None, i64_0(8))


def causal(onnx):
    """The keys that a query sees depend on how many came before, and on the number of queries."""
    def seed(name, inputs, weights, **attrs):
        nodes = [node("Unsqueeze", ["x", "around"], ["c"]), node("Mul", ["c", "zero"], ["none"]),
                 node("Attention", inputs, ["y", "a", "b"], **attrs)]
        graph = Graph(nodes, [NAMED], [value("y", [1, 1, 3, 1])],
                      [vector("around", 0, 1, 3), tensor("zero", [], 1, floats(0)), *weights])
        onnx(f"legal_29_causal_{name}", model(graph, 24))

    def column(name, *numbers):
        return tensor(name, [1, 1, len(numbers), 1], 1, floats(*numbers))

    seed("past", ["q", "k", "v", "", "none", "c"],
         [column("q", 0, 0, 0), column("k", 0), column("v", 10)], is_causal=1)
    seed("lengths", ["none", "k", "v", "", "", "", "used"],
         [column("k", 0, 0, 0, 0), column("v", 0, 0, 0, 4), vector("used", 4)], is_causal=1)
    seed("window", ["none", "k", "v"], [column("k", 0, 0, 0, 0), column("v", 2, 4, 6, 8)],
         left_window_size=0, right_window_size=1)
    of = x(1, 1, 2, 4)
    content, body = built("Attention", [of] * 3, opset=25, left_window_size=-2)
    onnx("29_attention_window", content, REFUSED, body)
