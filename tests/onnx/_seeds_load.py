"""_seeds_load.py - ONNX models whose defect, or endless work, shows only when they have been read
completely."""
from _pb import Graph, floats, ints, node, tensor, value

REFUSED, DIM, MEMORY = 3302, 2106, 9001
MAX = (1 << 63) - 1


def vector(*numbers):
    return [len(numbers)], 7, ints(*numbers)


def late_sizes(onnx):
    """Facts inferred from a name must hold for the size that the name gets later."""
    def late(name, op, constants, error=DIM, **attrs):
        row = [1, 1, "n"]
        names = [f"c{i}" for i in range(len(constants))]
        weights = [tensor(key, *constant) for key, constant in zip(names, constants)]
        weights.append(tensor("w", [3], 1, floats(1, 1, 1)))
        nodes = [node(op, ["x", *names], ["y"], **attrs), node("Add", ["x", "w"], ["z"])]
        onnx(f"27_{name}", Graph(nodes, [value("x", row)], [value("y", row), value("z", row)],
                                 weights), error)

    for size in (5, 3):
        late(f"late_conv_{size}", "Conv", [([1, 1, size], 1, floats(*[1] * size))],
             DIM if size > 3 else 0)
    late("late_pool", "MaxPool", [], kernel_shape=[5])
    late("late_pad", "Pad", [vector(0, 0, -5, 0, 0, 0)])
    late("late_top_k", "TopK", [vector(9)], 0)  # a plan is refused instead


def long_loads(onnx):
    """A shape that depends on hours of arithmetic: a load computes as much as its budget allows,
    and leaves the rest to a run."""
    def ask(name, nodes, weights):
        shape = node("Reshape", ["x", "t"], ["y"])
        onnx(f"28_{name}", Graph([*nodes, shape], [value("x", [3])], [value("y", [3])],
                                 [tensor(key, *of) for key, of in weights.items()]), 0)

    small = tensor("v", [1], 1, floats(1e-7))
    ask("product", [node("ConstantOfShape", ["size"], ["a"], value=small),
                    node("MatMul", ["a", "a"], ["b"]),
                    node("ReduceMax", ["b"], ["c"], keepdims=0),
                    node("Cast", ["c"], ["d"], to=7),
                    node("Reshape", ["d", "one"], ["t"])],
        {"size": vector(2000, 2000), "one": vector(1)})
    inner = Graph([node("Identity", ["q"], ["r"]), node("Add", ["k", "zero"], ["l"])],
                  [value("j", [], 7), value("q", [], 9), value("k", [1], 7)],
                  [value("r", [], 9), value("l", [1], 7)])
    outer = Graph([node("Identity", ["c"], ["d"]),
                   node("Loop", ["trip", "true", "h"], ["o"], body=inner)],
                  [value("i", [], 7), value("c", [], 9), value("h", [1], 7)],
                  [value("d", [], 9), value("o", [1], 7)])
    ask("loops_exponential", [node("Loop", ["trip", "true", "first"], ["t"], body=outer)],
        {"trip": ([], 7, ints(MAX)), "true": ([], 9, b"\1"), "first": vector(-1),
         "zero": vector(0)})


def maps(onnx):
    """Repeats all items for every item of a list."""
    inner = Graph([node("Relu", ["b"], ["p"])], [value("b", [1, 2])], [value("p", [1, 2])])
    again = node("SequenceMap", ["s"], ["q"], body=inner)
    outer = Graph([again, node("ConcatFromSequence", ["q"], ["r"], axis=0)], [value("a", [1, 2])],
                  [value("r", [256, 2])])
    onnx("28_maps_exponential",
         Graph([node("SplitToSequence", ["x"], ["s"]),
                node("SequenceMap", ["s"], ["m"], body=outer),
                node("ConcatFromSequence", ["m"], ["y"], axis=0)], [value("x", [256, 2])],
               [value("y", [65536, 2])]), REFUSED, again)


def tables(onnx):
    """Large constants from a few numbers."""
    numbers = {"bins": ([], 7, ints(16000)), "length": ([], 7, ints(1 << 19)),
               "rate": ([], 7, ints(8000)), "low": ([], 1, floats(0)),
               "high": ([], 1, floats(4000))}
    weights = [tensor(key, *of) for key, of in numbers.items()]
    onnx("28_mel_matrix", Graph([node("MelWeightMatrix", list(numbers), ["y"])], (),
                                [value("y", [1, 1])], weights), MEMORY)
    onnx("28_eye", Graph([node("EyeLike", ["x"], ["y"])], [value("x", [16384, 16384])],
                         [value("y", [16384, 16384])]), MEMORY)


def gaps(onnx):
    """Optional inputs left out of nodes with subgraphs, which the subgraphs use."""
    flag, rows = tensor("true", [], 9, b"\1"), value("x", [3, 2])
    body = Graph([node("Identity", ["c"], ["d"]), node("Identity", ["h"], ["k"])],
                 [value("i", [], 7), value("c", [], 9), value("h", [3])],
                 [value("d", [], 9), value("k", [3])])
    loop = node("Loop", ["trip", "true", ""], ["y"], body=body)
    onnx("29_loop_gap", Graph([loop], (), [value("y", [3])],
                              [tensor("trip", [], 7, ints(3)), flag]), REFUSED, loop)
    plain = Graph([node("Relu", ["a"], ["r"])], [value("a", [1, 2]), value("b", [1, 2])],
                  [value("r", [1, 2])])
    each = node("SequenceMap", ["s", ""], ["m"], body=plain)
    onnx("29_map_gap", Graph([node("SplitToSequence", ["x"], ["s"]), each,
                              node("ConcatFromSequence", ["m"], ["y"], axis=0)], [rows],
                             [value("y", [3, 2])]), REFUSED, each)


def all_loads(onnx):
    gaps(onnx)
    tables(onnx)
    maps(onnx)
    late_sizes(onnx)
    long_loads(onnx)
