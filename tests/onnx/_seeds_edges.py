"""_seeds_edges.py - branches of the adapters A to L that no other seed reaches: one side of a
condition each, found by edge coverage."""
from _pb import Graph, attr, field, floats, ints, many, model, node, tensor, value
from _seeds_ops import ML, REFUSED, TRAINING, built, i64_0
from _seeds_ops import x as given
from _seeds_ops import zeros

WIRE, STATIC = 3301, 3303
SHAPE, DTYPE, ATTR, ARITY, DIM = 2101, 2103, 2104, 2105, 2106
FLAG, COUNT = value("b", [], 9), value("n", [], 7)


def all_edges(onnx):
    def legal(name, op, *inputs, **rest):
        onnx(f"legal_33_{name}", built(op, inputs, **rest)[0])

    def refused(name, op, *inputs, error=REFUSED, **rest):
        content, body = built(op, inputs, **rest)
        onnx(f"33_{name}", content, error, body)

    heads = 1 << 40
    refused("attention_width", "Attention", given(0, 2, heads), given(0, 2, 1),
            given(0, 2, heads), opset=23, q_num_heads=heads, kv_num_heads=1, error=DIM)
    refused("stft_basis", "STFT", given(1, 20000, 1), i64_0(1 << 20), None, i64_0(20000))
    legal("linear_attention_scale", "LinearAttention", *[given(1, 2, 4)] * 3, None,
          given(1, 2, 4), given(1, 2, 2), outputs=("y", "z"), opset=26, q_num_heads=2,
          kv_num_heads=2, scale=0.5)
    refused("linear_attention_width", "LinearAttention", given(0, 0, heads), given(0, 0, 1),
            given(0, 0, heads), opset=26, q_num_heads=heads, kv_num_heads=1, update_rule="linear",
            error=DIM)
    refused("grid_bool", "GridSample", given(1, 1, 2, 2, dtype=9), given(1, 2, 2, 2), error=DTYPE)
    legal("grid_bool_nearest", "GridSample", given(1, 1, 2, 2, dtype=9), given(1, 2, 2, 2),
          mode="nearest")
    for key, wrong in (("value_float", "a"), ("value_float", 1), ("value_floats", [1]),
                       ("value_int", 1.5), ("value_ints", [1.5])):
        refused(f"constant_{key}_{type(wrong).__name__}", "Constant", **{key: wrong})
    legal("constant_floats", "Constant", value_floats=[1.0, 2.0])
    legal("constant_float", "Constant", value_float=1.5)
    for name, kind in (("floats", 6), ("ints", 7)):
        body = many(2, ["y"]) + field(4, "Constant") + field(5, attr(f"value_{name}", [], kind))
        onnx(f"legal_33_constant_no_{name}", Graph([body], [], [value("y", [0])]))
    names(refused, legal)
    long_names(onnx)
    nothing(onnx, legal)
    gradients(onnx)
    no_results(onnx)
    classes_of_no_boxes(onnx)
    full(onnx)


def gradients(onnx):
    """y is an initializer that cannot be read."""
    short = tensor("w", [3], 1, floats(1))
    body = node("Gradient", ["x"], ["y"], domain=TRAINING, xs=["x"], y="w")
    graph = Graph([body], [value("x", [3])], [value("y", [3])], [short])
    onnx("33_gradient_weight", model(graph, 21, field(8, field(1, TRAINING) + field(2, 1))), WIRE,
         field(9, floats(1)))
    imports = field(8, field(1, TRAINING) + field(2, 1))
    product = node("Mul", ["x", "w"], ["z"])
    for name, others in (("zs", ["w"]), ("zs_unknown", ["q"]), ("zs_other", ["x"])):
        body = node("Gradient", ["x", "w"], ["y"], domain=TRAINING, xs=["x"], zs=others, y="z")
        graph = Graph([product, body], [value("x", [3]), value("w", [3])], [value("y", [3])])
        error, at = (0, None) if name == "zs" else (REFUSED, body)
        onnx(f"33_gradient_{name}", model(graph, 21, imports), error, at)
    nowhere = field(1, "xs") + field(21, "xs")
    body = (many(1, ["x"]) + many(2, ["y"]) + field(4, "Gradient") + field(5, nowhere)
            + field(7, TRAINING))
    graph = Graph([body], [value("x", [3])], [value("y", [3])])
    onnx("33_gradient_reference", model(graph, 21, imports), WIRE, nowhere)


def names(refused, legal):
    """A named size is not a number to divide by."""
    legal("group_norm_named", "GroupNormalization", given(1, 6, 4), given("g"), given("g"),
          opset=18, num_groups=2)
    for heads, say in ((1, legal), (2, refused)):
        say(f"flex_heads_{heads}", "FlexAttention", given(1, "h", 2, 4), given(1, heads, 2, 4),
            given(1, heads, 2, 4), domain="ai.onnx.preview", opset=26)
    for of in (given(1, 2, "w"), given(1, 1, 2, "w")):
        refused(f"rotary_width_{len(of[1])}", "RotaryEmbedding", of, given(8, 2), given(8, 2),
                given(1, 2, dtype=7), opset=23, num_heads=1)
    # One row: full before it is one of several, its width is none (sweep_limits.c).
    legal("full_linear_row", "LinearClassifier", given(3), domain=ML, outputs=("y", "z"),
          coefficients=[1.5, -1.0, 0.5], intercepts=[0.5], classlabels_ints=[3, 25])


def long_names(onnx):
    """Names that messages cut at each byte of a character, and bytes that are not UTF-8."""
    for number, text in enumerate(["é" * 300, "a" + "é" * 300, *[k * "a" + "🎈" * 150
                                                                for k in range(4)]]):
        text = text.encode()
        for what, error in (("node", ATTR), ("op", REFUSED), ("size", SHAPE)):
            op = text if what == "op" else "Einsum" if what == "node" else "Add"
            body = (many(1, ["x", "w"]) + many(2, ["y"]) + field(3, text if what == "node" else "n")
                    + field(4, op))
            shape = [text.decode(), 3] if what == "size" else [3]
            graph = Graph([body], [value("x", shape), value("w", [4])], [value("y", [3])])
            onnx(f"33_long_{what}_{number}", graph, error, body)
    body = many(1, ["x"]) + many(2, ["y"]) + field(3, b"\x80" * 300) + field(4, "Nothing")
    onnx("33_long_bytes", Graph([body], [value("x", [3])], [value("y", [3])]), REFUSED, body)


def nothing(onnx, legal):
    """Empty boxes, rows and sizes; an attribute from nowhere, inside a branch."""
    for name, boxes, scores in (("batch", (0, 2, 4), (0, 1, 2)), ("class", (1, 2, 4), (1, 0, 2)),
                                ("box", (1, 0, 4), (1, 1, 0))):
        legal(f"boxes_no_{name}", "NonMaxSuppression", zeros(*boxes), zeros(*scores), i64_0(3))
    # No element, but 2^32 positions to search: not computed.
    last = node("Reshape", ["x", "s"], ["y"])
    onnx("33_empty_wide", Graph([node("Softmax", ["w"], ["s"], axis=2), last], [value("x", [4])],
                                [value("y", [4])], [tensor("w", [1 << 31, 2, 0], 1, b"")]),
         STATIC, last)
    legal("unique_none", "Unique", zeros(0), outputs=("y", "a", "b", "c"))
    weight = (field(1, tensor("w", [2], 1, floats(1, 2)))
              + field(2, tensor("i", [2, 0], 7, b"")))
    onnx("33_sparse_scalar", Graph([node("Add", ["x", "w"], ["y"])], [value("x", [4])],
                                   [value("y", [4])], (), field(15, weight)), WIRE, weight)
    nowhere = field(1, "axis") + field(21, "q")
    inner = many(1, ["x"]) + many(2, ["z"]) + field(4, "Softmax") + field(5, nowhere)
    branch = Graph([inner], (), [value("z", [3])])
    choice = node("If", ["b"], ["y"], then_branch=branch, else_branch=branch)
    onnx("33_reference_in_branch", Graph([choice], [value("x", [3]), FLAG], [value("y", [3])]),
         WIRE, nowhere)


def no_results(onnx):
    """Branches and loops whose results are unused, or that have none."""
    relu = Graph([node("Relu", ["x"], ["z"])], (), [value("z", [3])])
    empty = Graph([node("Relu", ["x"], ["z"])])
    row, out = value("x", [3]), value("y", [3])
    after = node("Relu", ["x"], ["y"])
    choice = node("If", ["b"], [], then_branch=empty, else_branch=empty)
    onnx("33_if_nothing", Graph([choice, after], [row, FLAG], [out]), ARITY, choice)
    onnx("legal_33_if_taken_by_nobody", Graph([node("If", ["b"], [""], then_branch=relu,
                                              else_branch=relu), after], [row, FLAG], [out]))
    body = Graph([node("Identity", ["c"], ["d"])], [value("i", [], 7), value("c", [], 9)],
                 [value("d", [], 9)])
    for name, inputs in (("count", ["n", "b"]), ("condition", ["", "b"])):
        loop = node("Loop", inputs, [], body=body)
        onnx(f"33_loop_nothing_{name}", Graph([loop, after], [row, FLAG, COUNT], [out]), ARITY,
             loop)
    keeps = Graph([node("Identity", ["c"], ["d"]), node("Relu", ["h"], ["k"])],
                  [value("i", [], 7), value("c", [], 9), value("h", [3])],
                  [value("d", [], 9), value("k", [3])])
    loop = node("Loop", ["n", "b", "x"], [], body=keeps)
    onnx("legal_33_loop_taken_by_nobody", Graph([loop, after], [row, FLAG, COUNT], [out]))


def full(onnx):
    """An unrolled loop whose body has a node and a loop that captures the iteration number:
    sweep_limits.c limits the graph at each of its nodes."""
    inner = Graph([node("Identity", ["q"], ["r"]), node("Add", ["k", "i"], ["l"])],
                  [value("j", [], 7), value("q", [], 9), value("k", [1], 7)],
                  [value("r", [], 9), value("l", [1], 7)])
    outer = Graph([node("Identity", ["c"], ["d"]), node("Neg", ["i"], ["m"]),
                   node("Loop", ["n", "b", "h"], ["o"], body=inner)],
                  [value("i", [], 7), value("c", [], 9), value("h", [1], 7)],
                  [value("d", [], 9), value("o", [1], 7)])
    loop = node("Loop", ["trip", "true", "x"], ["y"], body=outer)
    weights = [tensor("trip", [], 7, ints(3)), tensor("true", [], 9, b"\1")]
    onnx("legal_33_full_loops", Graph([loop], [value("x", [1], 7), FLAG, COUNT],
                                      [value("y", [1], 7)], weights))


def classes_of_no_boxes(onnx):
    """Billions of empty elements take neither bytes nor time."""
    boxes = node("NonMaxSuppression", ["b", "s", "most"], ["y"])
    onnx("33_classes_of_no_boxes", Graph([boxes], [], [value("y", [0, 3], 7)], [
        tensor("b", [1, 0, 4], 1, b""), tensor("s", [1, 1 << 39, 0], 1, b""),
        tensor("most", [], 7, ints(5))]), 0)
