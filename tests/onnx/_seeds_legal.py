"""_seeds_legal.py - features of ONNX that few models use: shapes computed from names, attributes of
functions, activations of cells, ways to resize, lists in subgraphs."""
import struct

from _pb import Graph, attr, field, floats, ints, many, model, node, tensor, value
from _seeds_deep import all_deep
from _seeds_edges import all_edges
from _seeds_load import all_loads
from _seeds_ops import MAX, ML, MS, REFUSED, all_ops, built, f32, i64, i64_0, tree
from _seeds_ops import x as given
from _seeds_ops import zeros
from _seeds_branches import all_branches

STATIC, DTYPE, DIM = 3303, 2103, 2106
LEAST = -(1 << 63)


def all_models(onnx):
    def legal(name, op, *inputs, **rest):
        onnx(f"legal_31_{name}", built(op, inputs, **rest)[0])

    all_loads(onnx)
    all_ops(onnx)
    all_deep(onnx)
    all_branches(onnx)
    all_edges(onnx)
    names_of_sizes(onnx)
    symbols(onnx)
    ranges(onnx)
    functions(onnx)
    cells(legal)
    resizes(legal)
    small(legal)
    contributed(legal)
    within(onnx)
    records(onnx)


def names_of_sizes(onnx):
    """Sizes in words: those with an operator are expressions, the rest are names."""
    texts = ["2*n + 1", "n // 2", "floordiv(n, 2)", "ceildiv(n, 2)", "mod(n, 3)", "min(n, 4)",
             "max( n , m )", "n - 1", " n + m ", "(n)*(m)", "-n + 3", "batch-size", "n -1",
             "min(n)", "min(n, 2", "min + 1", "n + ", "99999999999999999999 + n",
             "4611686018427387904 * n * 4", "n +" + " 1 +" * 130 + " 1",
             "(" * 40 + "n" + ")" * 40, "n / 2", "a.b * 2", "?*2"]
    for number, text in enumerate(texts):
        onnx(f"legal_31_size_{number:02}", Graph([node("Relu", ["x"], ["y"])],
                                                 [value("x", [text, "n"])], [value("y", [1, 1])]))


# Each on s = [n, 4, m], the shape of x.
SYMBOLS = {
    "add": [("Add", "s", [1, 2, 3])], "less": [("Add", "s", [-1, -1, -1])],
    "least": [("Add", "s", [LEAST, 0, 0])], "less_first": [("Add", [-1, -1, 0], "s")],
    "sub": [("Sub", "s", [1, 1, 1])], "sub_from": [("Sub", [9, 9, 9], "s")],
    "mul": [("Mul", "s", [2])], "mul_minus": [("Mul", "s", [-2])], "div": [("Div", "s", [2])],
    "div_0": [("Div", "s", [0])], "mod": [("Mod", "s", [3])], "mod_minus": [("Mod", "s", [-3])],
    "min": [("Min", "s", [4])], "max": [("Max", "s", [4])], "squares": [("Mul", "s", "s")],
    "large": [("Mul", "s", [MAX])], "larger": [("Add", "s", [MAX])], "pow": [("Pow", "s", [2])],
    "equal": [("Equal", "s", "s"), ("Where", "a", "s", [1, 1, 1])],
    "equal_minus": [("Equal", "s", [-1]), ("Where", "a", [1, 1, 1], "s")],
    "equal_known": [("Equal", "s", [0, 4, -3]), ("Where", "a", "s", [1, 1, 1])],
    "not_equal": [("Equal", "s", [-1]), ("Not", "a"), ("Where", "b", "s", [5])],
    "below": [("Less", "s", [-1]), ("Where", "a", [1], "s")],
    "above": [("Greater", "s", [-1]), ("Where", "a", "s", [1])],
    "below_0": [("LessOrEqual", "s", [-1]), ("Where", "a", [1], "s")],
    "not_below": [("GreaterOrEqual", "s", [0]), ("Where", "a", "s", [1])],
    "where_size": [("Where", "s", "s", [1])],
    "product": [("ReduceProd", "s"), ("Reshape", "a", [1])],
    "gather": [("Gather", "s", [0, -1])], "gather_beyond": [("Gather", "s", [3])],
    "gather_before": [("Gather", "s", [-4])], "gather_size": [("Gather", [1, 2, 3, 4], "s")],
    "slice": [("Slice", "s", [0], [2])], "slice_back": [("Slice", "s", [5], [-9], [0], [-1])],
    "slice_far": [("Slice", "s", [1], [3], [0], [MAX])],
    "slice_before": [("Slice", "s", [-9], [2])],
    "slice_second": [("Slice", "s", [0], [3], [0], [2])],
    "slice_back_before": [("Slice", "s", [-9], [-10], [0], [-1])],
    "squeeze": [("Gather", "s", [0]), ("Squeeze", "a"), ("Unsqueeze", "b", [0])],
    "flatten": [("Flatten", "s")], "expand": [("Gather", "s", [0]), ("Expand", "a", [2])],
    "cast": [("Cast", "s")], "concat": [("Concat", "s", [1])], "none": [("Slice", "s", [0], [0])],
    "none_added": [("Slice", "s", [0], [0]), ("Add", "a", [2])], "size": [("Size", "s")],
}
ATTRS = {"Concat": {"axis": 0}, "Cast": {"to": 6}, "ReduceProd": {"keepdims": 0},
         "Flatten": {"axis": 0}}


def chain(steps, s="s"):
    """Nodes a, b, … of these steps, their constants, and the name of the last."""
    nodes, weights = [], {}
    for number, (op, *inputs) in enumerate(steps):
        names = []
        for k, of in enumerate(inputs):
            if isinstance(of, list):
                weights[f"w{number}{k}"] = of
                of = f"w{number}{k}"
            names.append(s if of == "s" else of)
        nodes.append(node(op, names, ["abc"[number]], **ATTRS.get(op, {})))
    constants = [tensor(k, [len(v)], 7, ints(*v)) for k, v in weights.items()]
    return nodes, constants, "abc"[len(steps) - 1]


def symbols(onnx):
    """A new shape by the name of a size: worked out, or left to a run."""
    unknown = {"flatten"}
    for name, steps in SYMBOLS.items():
        nodes, weights, last = chain(steps)
        fill = node("ConstantOfShape", [last], ["y"])
        graph = Graph([node("Shape", ["x"], ["s"]), *nodes, fill], [value("x", ["n", 4, "m"])],
                      [value("y", [1])], weights)
        error, at = (STATIC, fill) if name in unknown else (0, None)
        if name == "where_size":  # a size is not a condition
            error, at = DTYPE, nodes[0]
        onnx(f"31_shape_{name}", graph, error, at)


def ranges(onnx):
    """Slices, pads, ranges and sizes up to a name."""
    def ask(name, last, numbers=(), first=(), shape=("n", 4), error=0):
        weights = [tensor(k, [len(v)], 7, ints(*v)) for k, v in numbers]
        nodes = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"]),
                 node("Squeeze", ["n"], ["m"]), *first, last]
        weights += [tensor("zero", [1], 7, ints(0)), tensor("one", [], 7, ints(1)),
                    tensor("begin", [], 7, ints(0)), tensor("minus", [], 7, ints(-1))]
        onnx(f"31_until_{name}", Graph(nodes, [value("x", shape)], [value("y", [1])], weights),
             error, last if error else None)

    for name, start, step, error in (("all", 0, 1, 0), ("rest", 1, 1, 0), ("last", -1, 1, 0),
                                     ("far", 1 << 40, 1, 0), ("second", 0, 2, REFUSED)):
        ask(name, node("Slice", ["x", "a", "n", "zero", "by"], ["y"]),
            (("a", [start]), ("by", [step])), error=error)
    ask("begin", node("Slice", ["x", "n", "far"], ["y"]), (("far", [MAX]),))
    ask("minus", node("Slice", ["x", "n", "far"], ["y"]), (("far", [-1]),), error=DIM)
    ask("known", node("Slice", ["x", "n", "far", "ax"], ["y"]), (("far", [9]), ("ax", [1])))
    ask("lists", node("Slice", ["x", "a", "n"], ["y"]), (("a", [0, 0]),), error=REFUSED)
    pads = [node("Concat", ["zeros", "n", "none"], ["p"], axis=0)]
    ask("pad", node("Pad", ["x", "p"], ["y"]), (("zeros", [0, 0]), ("none", [0])), pads)
    ask("pad_minus", node("Pad", ["x", "p"], ["y"]), (("zeros", [-1, 0]), ("none", [0])), pads,
        error=STATIC)
    ask("pad_short", node("Pad", ["x", "n"], ["y"]), error=STATIC)
    ask("pad_first", node("Pad", ["x", "p"], ["y"]), (("zeros", [0, 0]), ("none", [0])),
        [node("Concat", ["n", "zeros", "none"], ["p"], axis=0)], error=STATIC)
    ask("range", node("Range", ["begin", "m", "one"], ["y"]))
    ask("range_from", node("Range", ["one", "m", "one"], ["y"]))
    ask("range_both", node("Range", ["m", "m", "one"], ["y"]))
    ask("range_back", node("Range", ["m", "begin", "minus"], ["y"]), error=REFUSED)
    ask("range_minus", node("Range", ["minus", "m", "one"], ["y"]), error=REFUSED)
    ask("range_down", node("Range", ["m", "minus", "one"], ["y"]), error=REFUSED)
    ask("range_step", node("Range", ["begin", "m", "m"], ["y"]), error=REFUSED)
    ask("range_list", node("Range", ["zeros", "m", "one"], ["y"]), (("zeros", [0, 0]),),
        error=REFUSED)


def functions(onnx):
    """A function's attribute is its caller's, its caller's caller's, or its own default."""
    def refers(key, to):
        return field(1, key) + field(21, to) + field(20, 2)

    def function(name, body, more):
        return field(25, field(1, name) + field(4, "a") + field(5, "b") + body + more
                     + field(9, field(2, 21)) + field(9, field(1, "my") + field(2, 1))
                     + field(10, "my"))

    def calls(op, key, to):
        return field(7, many(1, ["a"]) + many(2, ["b"]) + field(4, op) + field(5, refers(key, to))
                     + (field(7, "my") if op == "inner" else b""))

    inner = function("inner", calls("Softmax", "axis", "side"),
                     field(11, attr("side", -1)))
    outer = function("outer", calls("inner", "side", "which"), field(6, "which"))
    for name, op, attrs in (("default", "inner", {}), ("given", "inner", {"side": 0}),
                            ("through", "outer", {"which": 0}), ("lost", "outer", {})):
        graph = Graph([node(op, ["x"], ["y"], domain="my", **attrs)], [value("x", [2, 3])],
                      [value("y", [2, 3])])
        onnx(f"legal_31_function_{name}",
             model(graph, 21, field(8, field(1, "my") + field(2, 1)) + inner + outer))
    good = node("Relu", ["x"], ["y"], domain="ai.onnx")
    onnx("legal_31_own_domain", field(1, 8) + field(7, Graph([good], [value("x", [3])],
                                                             [value("y", [3])]).body)
         + field(8, field(1, "ai.onnx") + field(2, 21)))


def cells(legal):
    names = ["Relu", "Affine", "LeakyRelu", "ScaledTanh", "HardSigmoid", "Elu", "ThresholdedRelu",
             "Softsign", "Softplus", "sigmoid", "TANH"]
    for name in names:
        legal(f"rnn_{name}", "RNN", given(2, 1, 3), given(1, 4, 3), given(1, 4, 4), hidden_size=4,
              activations=[name])
    legal("rnn_numbers", "RNN", given(2, 1, 3), given(2, 4, 3), given(2, 4, 4), hidden_size=4,
          activations=["Affine", "HardSigmoid"], activation_alpha=[0.5, 0.3],
          activation_beta=[0.1, 0.2], direction="bidirectional", outputs=("y", "z"))
    lstm = given(1, 16, 3), given(1, 16, 4)
    legal("lstm_forget", "LSTM", given(2, 1, 3), *lstm, hidden_size=4, input_forget=1, clip=2.0)
    legal("lstm_layout", "LSTM", given(1, 2, 3), *lstm, None, None, given(1, 1, 4), given(1, 1, 4),
          hidden_size=4, layout=1, outputs=("y", "z", "w"))
    legal("gru_lengths", "GRU", given(2, 1, 3), given(1, 12, 3), given(1, 12, 4), None,
          given(1, dtype=6), hidden_size=4, linear_before_reset=1)
    byte = given(1, 3, 16, dtype=3), given(1, 4, 16, dtype=3)
    legal("lstm_bytes", "DynamicQuantizeLSTM", given(2, 1, 3), *byte, None, None, None, None, None,
          f32(1), zeros(1, dtype=3), f32(1), zeros(1, dtype=3), domain=MS, hidden_size=4)


def resizes(legal):
    places = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
              "tf_half_pixel_for_nn", "half_pixel_symmetric", "tf_crop_and_resize"]
    whole = {"half_pixel": "round_prefer_ceil", "asymmetric": "ceil", "align_corners": "floor"}
    for place in places:
        roi = f32(0, 0, 0.2, 1, 1, 0.7) if place == "tf_crop_and_resize" else None
        for name, mode, more in (("nearest", "nearest", (None, i64(1, 1, 1))),
                                 ("linear", "linear", (None, i64(1, 1, 7))),
                                 ("scale", "cubic", (f32(1, 1, 1.6),)),
                                 ("less", "linear", (f32(1, 1, 0.3),)),
                                 ("nearest_scale", "nearest", (f32(1, 1, 2.5),))):
            legal(f"resize_{place}_{name}", "Resize", given(1, 1, 4), roi, *more, mode=mode,
                  coordinate_transformation_mode=place,
                  nearest_mode=whole.get(place, "round_prefer_floor"))
            if place != "tf_crop_and_resize" and len(more) == 1:
                legal(f"resize_named_{place}_{name}", "Resize", given(1, 1, "n"), roi, *more,
                      mode=mode, coordinate_transformation_mode=place,
                      nearest_mode=whole.get(place, "round_prefer_floor"))
    for name, attrs in (("antialias", {"antialias": 1}), ("outside", {"exclude_outside": 1}),
                        ("both", {"antialias": 1, "exclude_outside": 1, "mode": "cubic"})):
        for size in (2, 7):
            legal(f"resize_{name}_{size}", "Resize", given(1, 1, 4), None, None, i64(1, 1, size),
                  **{"mode": "linear", **attrs})
    for name, policy in (("smaller", "not_smaller"), ("larger", "not_larger")):
        legal(f"resize_{name}", "Resize", given(1, 1, 4, 8), None, None, i64(7, 6), axes=[2, 3],
              keep_aspect_ratio_policy=policy)
    legal("upsample", "Upsample", given(1, 1, 4), f32(1, 1, 2), opset=9, mode="linear")


def small(legal):
    legal("affine_grid_corners", "AffineGrid", given(1, 2, 3), i64(1, 1, 1, 3), align_corners=1)
    legal("transpose_same", "ConvTranspose", given(1, 1, 3, 3), given(1, 1, 2, 2),
          auto_pad="SAME_LOWER")
    legal("transpose_shape", "ConvTranspose", given(1, 1, 3, 3), given(1, 1, 2, 2),
          output_shape=[1, 1, 5, 5], strides=[2, 2])
    legal("cum_reverse", "CumProd", given(4), i64_0(0), opset=26, reverse=1, exclusive=1)
    legal("dft_longer", "DFT", given(1, 4, 1), i64_0(7))
    legal("dft_shorter", "DFT", given(1, 4, 1), i64_0(3))
    legal("dft_inverse_odd", "DFT", given(1, 4, 2), i64_0(5), inverse=1, onesided=1)
    legal("grid_reflect", "GridSample", given(1, 1, 1, 3), given(1, 2, 2, 2), align_corners=1,
          padding_mode="reflection", mode="linear")
    legal("label_tensors", "LabelEncoder", given(3, dtype=7), domain=ML, opset=21,
          keys_tensor=tensor("", [2], 7, ints(1, 2)),
          values_tensor=tensor("", [2], 1, floats(3, 4)),
          default_tensor=tensor("", [1], 1, floats(9)))
    legal("layer_norm_f16", "LayerNormalization", given(2, 3, dtype=10), given(3, dtype=10),
          outputs=("y", "m", "s"))
    legal("mvn_axes", "MeanVarianceNormalization", given(2, 3), axes=[1])
    legal("lp_norm", "LpNormalization", given(2, 3), p=1)
    legal("linear_two", "LinearRegressor", given(2, 3), domain=ML, targets=2,
          coefficients=[1.0] * 6, post_transform="SOFTMAX")
    legal("nms_all", "NonMaxSuppression", zeros(1, 2, 4), zeros(1, 1, 2), i64(2), f32(0.5))
    legal("unpool_shape", "MaxUnpool", given(1, 1, 2, 2), given(1, 1, 2, 2, dtype=7),
          i64(1, 1, 5, 5), kernel_shape=[2, 2], strides=[2, 2])
    legal("scatter_ring", "TensorScatter", given(1, 4, 2), given(1, 2, 2), given(1, dtype=7),
          opset=24, mode="circular")
    legal("pool_columns", "MaxPool", given(1, 1, 4), kernel_shape=[2], storage_order=1,
          outputs=("y", "z"))
    legal("pad_first", "Pad", given(3), opset=1, paddings=[1, 1], value=2.0)
    legal("noise", "RandomNormal", shape=[2, 3], seed=1.0, mean=1.0, scale=2.0)
    legal("draws", "Multinomial", given(2, 3), sample_size=4, seed=1.0)
    legal("reshape_old", "Reshape", given(6), opset=4, shape=[2, 3])
    legal("is_inf_none", "IsInf", given(3), detect_negative=0, detect_positive=0)
    legal("window_one", "BlackmanWindow", i64_0(1), periodic=0)
    legal("window", "HammingWindow", i64_0(5))
    legal("mel", "MelWeightMatrix", i64_0(4), i64_0(32), i64_0(8000), ("weight", [], 1, floats(0)),
          ("weight", [], 1, floats(4000)))
    grams = {"min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 1,
             "ngram_counts": [0, 2], "ngram_indexes": [0, 1, 2], "pool_int64s": [2, 3, 2, 3],
             "weights": [0.5, 2.0, 1.0]}
    for mode in ("TF", "IDF", "TFIDF"):
        legal(f"tf_idf_{mode}", "TfIdfVectorizer", given(1, 4, dtype=7), mode=mode, **grams)
    legal("trees_missing", "TreeEnsemble", given(1, 2), domain=ML,
          nodes_missing_value_tracks_true=[1, 0], **tree())
    legal("trees_f64", "TreeEnsemble", given(1, 2, dtype=11), domain=ML, aggregate_function=3,
          post_transform=2, **tree())
    legal("add_axis", "Add", given(2, 3, 4), given(3), opset=6, broadcast=1, axis=-2)
    legal("prelu", "PRelu", given(3), given(3), opset=6)
    legal("cast_up", "Cast", given(3), to=24, round_mode="up", opset=25)
    legal("unique_axis", "Unique", zeros(2, 3), axis=1, outputs=("y", "a", "b", "c"))
    legal("unique_scalar", "Unique", zeros())
    legal("gather_quantized", "QuantizeLinear", given(2, 4), given(2, 2), axis=1, block_size=2)


def contributed(legal):
    for name, op, inputs, attrs in (
            ("fast_gelu", "FastGelu", [given(2, 4), given(4)], {}),
            ("bias_gelu", "BiasGelu", [given(2, 4), given(4)], {}),
            ("fused_alpha", "FusedMatMul", [given(2, 2), given(2, 2)], {"alpha": 0.5}),
            ("skip_norm", "SkipLayerNormalization", [given(1, 2, 4)] * 2 + [given(4)] * 3, {}),
            ("skip_rms", "SkipSimplifiedLayerNormalization", [given(1, 2, 4)] * 2 + [given(4)] * 2,
             {}),
            ("skip_bare", "SkipLayerNormalization", [given(1, 2, 4)] * 2 + [given(4)], {}),
            ("rotary_width", "RotaryEmbedding", [given(1, 2, 8), given(1, 2, dtype=7), given(8, 2),
                                                 given(8, 2)],
             {"rotary_embedding_dim": 4, "num_heads": 1}),
            ("n_bits_f16", "MatMulNBits", [given(1, 16, dtype=10), zeros(2, 1, 8, dtype=2),
                                           zeros(2, dtype=10)],
             {"K": 16, "N": 2, "bits": 4, "block_size": 16}),
            ("n_bits_input", "MatMulNBits", [given(1, 16), given(2, 1, 8, dtype=2), given(2)],
             {"K": 16, "N": 2, "bits": 4, "block_size": 16}),
            ("q_leaky", "QLinearLeakyRelu", [given(2, dtype=2), given(), given(dtype=2), given(),
                                             given(dtype=2)], {"alpha": 0.1})):
        legal(name, op, *inputs, domain=MS, **attrs)


def within(onnx):
    """Subgraphs with several results, lists of the outside, and sequences that run backwards."""
    def branch(*ops):
        names = [f"o{i}" for i in range(len(ops))]
        return Graph([node(op, ["x"], [name]) for op, name in zip(ops, names)], (),
                     [value(name, [3]) for name in names])

    b, rows = value("b", [], 9), value("x", [3])
    two = node("If", ["b"], ["y", "z"], then_branch=branch("Relu", "Neg"),
               else_branch=branch("Abs", "Neg"))
    onnx("legal_31_if_two", Graph([two], [rows, b], [value("y", [3]), value("z", [3])]))
    known = node("If", ["t"], ["y"], then_branch=branch("Relu"), else_branch=branch("Abs"))
    onnx("legal_31_if_false", Graph([known], [rows], [value("y", [3])],
                                    [tensor("t", [], 9, b"\0")]))
    body = Graph([node("Identity", ["c"], ["d"]), node("Add", ["h", "h"], ["k"]),
                  node("Neg", ["h"], ["r"])],
                 [value("i", [], 7), value("c", [], 9), value("h", [3])],
                 [value("d", [], 9), value("k", [3]), value("r", [3])])
    loop = node("Loop", ["n", "b", "x"], ["y", "z"], body=body)
    onnx("31_loop_rows", Graph([loop], [rows, b, value("n", [], 7)],
                               [value("y", [3]), value("z", [1, 3])]), 0)
    for trips in (0, 2):
        onnx(f"31_loop_{trips}", Graph([loop], [rows], [value("y", [3]), value("z", [1, 3])],
                                       [tensor("n", [], 7, ints(trips)),
                                        tensor("b", [], 9, b"\1")]), 0, None)
    scans = Graph([node("Add", ["h", "e"], ["k"]), node("Neg", ["e"], ["r"])],
                  [value("h", []), value("e", [])], [value("k", []), value("r", [])])
    for name, attrs, opset in (("back", {"scan_input_directions": [1],
                                         "scan_output_directions": [1]}, 21),
                               ("ahead", {"scan_input_directions": [0],
                                          "scan_output_directions": [0]}, 21)):
        scan = node("Scan", ["s", "x"], ["y", "z"], body=scans, num_scan_inputs=1, **attrs)
        onnx(f"legal_31_scan_{name}", model(Graph([scan], [value("s", []), rows],
                                                  [value("y", []), value("z", [3])]), opset))
    old = node("Scan", ["", "s", "x"], ["y", "z"], body=scans, num_scan_inputs=1, directions=[1])
    onnx("legal_31_scan_old", model(Graph([old], [value("s", [2]), value("x", [2, 3])],
                                          [value("y", [2]), value("z", [2, 3])]), 8))
    joined = Graph([node("ConcatFromSequence", ["l"], ["o0"], axis=0)], (), [value("o0", [3])])
    choice = node("If", ["b"], ["y"], then_branch=joined, else_branch=branch("Relu"))
    onnx("31_list_inside", Graph([node("SplitToSequence", ["x"], ["l"]), choice], [rows, b],
                                 [value("y", [3])]), STATIC, choice)


def records(onnx):
    """Takt's own operations, as it writes them, and numbers of every wire type."""
    def own(name, op, error=REFUSED, **attrs):
        body = node(op, ["x"], ["y"], domain="takt", **attrs)
        onnx(f"31_own_{name}", model(Graph([body], [value("x", [1])], [value("y", [1])]), 21,
                                     field(8, field(1, "takt") + field(2, 1))), error,
             body if error else None)

    def number(v, dtype=11, dims=()):
        return tensor("", list(dims), dtype, struct.pack("<d" if dtype == 11 else "<f", v))

    own("broadcast", "broadcast", 0, shape=[3])
    own("broadcast_minus", "broadcast", shape=[-3])
    own("broadcast_number", "broadcast", shape=3)
    own("slope", "leaky_relu", 0, slope=number(0.5))
    own("slope_f32", "leaky_relu", slope=number(0.5, 1))
    own("slope_float", "leaky_relu", slope=0.5)
    own("slope_broken", "leaky_relu", slope=tensor("", [2], 11, b"\0"))
    own("cast", "cast", 0, dtype=7)
    own("cast_text", "cast", dtype="i64")
    own("cast_unknown", "cast", dtype=99)
    own("unknown", "leaky_relu", steepness=1)
    own("long", "leaky_relu", **{"a" * 70: 1})
    own("split", "split", 0, axis=0, sizes=[1])
    wide = tensor("w", [2], 11) + many(10, [])
    wide += b"".join(bytes([10 << 3 | 1]) + bytes(8) for _ in range(2))
    onnx("legal_31_doubles", Graph([node("Add", ["x", "w"], ["y"])], [value("x", [2], 11)],
                                   [value("y", [2], 11)], [wide]))
    flags = tensor("w", [2], 9) + field(5, b"\1\0")
    onnx("legal_31_bools", Graph([node("Not", ["w"], ["y"])], (), [value("y", [2], 9)], [flags]))
    words = tensor("w", [2], 13) + field(11, b"\1\2")
    onnx("legal_31_u64", Graph([node("Identity", ["w"], ["y"])], (), [value("y", [2], 13)],
                               [words]))
    held = field(1, tensor("", [1], 1, floats(5))) + field(2, tensor("", [1], 7, ints(1)))
    sparse = field(1, "sparse_value") + field(22, held + many(3, [3])) + field(20, 11)
    onnx("legal_31_sparse_constant", Graph([many(2, ["y"]) + field(4, "Constant")
                                            + field(5, sparse)], (), [value("y", [3])]))
    pair = field(1, tensor("w", [1], 1, floats(5))) + field(2, tensor("", [1, 2], 7, ints(1, 1)))
    onnx("legal_31_sparse_pairs", Graph([node("Neg", ["w"], ["y"])], (), [value("y", [2, 2])], (),
                                        field(15, pair + many(3, [2, 2]))))
