"""_seeds_deep.py - values that the reader computes inside subgraphs and from several results, and
forms of operations that need two conditions at once."""
from _pb import Graph, field, floats, ints, many, model, node, tensor, value
from _seeds_ops import ML, MS, TRAINING, built, f32, i64, i64_0, tree, zeros
from _seeds_ops import x as given

REFUSED, FOUND = 3302, 0  # FOUND: a run finds the sizes
ROW = value("x", [3])


def vector(name, *numbers):
    return tensor(name, [len(numbers)], 7, ints(*numbers))


def all_deep(onnx):
    def legal(name, op, *inputs, **rest):
        onnx(f"legal_32_{name}", built(op, inputs, **rest)[0])

    def refused(name, op, *inputs, error=REFUSED, **rest):
        content, body = built(op, inputs, **rest)
        onnx(f"32_{name}", content, error, body)

    known(onnx)
    captured(onnx)
    bodies(onnx)
    nothing(onnx)
    forms(legal)
    narrow(legal)
    heads(legal)
    limits(refused)
    wires(onnx)
    settings(legal, refused)


def known(onnx):
    """A shape from one of several results, from a loop, from a scan, from an unknown value."""
    def shape(name, nodes, weights, error=0, inputs=()):
        last = node("Reshape", ["x", "t"], ["y"])
        onnx(f"32_known_{name}", Graph([*nodes, last], [ROW, *inputs], [value("y", [3])], weights),
             error, last if error else None)

    shape("top_k", [node("TopK", ["v", "k"], ["t", "i"])], [vector("v", 1, 3), vector("k", 1)])
    shape("top_k_index", [node("TopK", ["v", "k"], ["a", "i"]), node("Add", ["i", "two"], ["t"])],
          [vector("v", 3, 7), vector("k", 1), vector("two", 2)])
    shape("split", [node("Split", ["v", "s"], ["t", "i"])], [vector("v", 3, 7), vector("s", 1, 1)])
    shape("range", [node("Range", ["a", "b", "c"], ["t"])],
          [tensor("a", [], 7, ints(3)), tensor("b", [], 7, ints(4)), tensor("c", [], 7, ints(1))])
    three = tensor("", [1], 7, ints(3))
    shape("large", [node("ConstantOfShape", ["n"], ["v"], value=three),
                    node("ReduceMax", ["v"], ["t"], keepdims=1)], [vector("n", 1 << 23)], FOUND)
    body = Graph([node("Identity", ["c"], ["d"]), node("Add", ["h", "one"], ["k"])],
                 [value("i", [], 7), value("c", [], 9), value("h", [1], 7)],
                 [value("d", [], 9), value("k", [1], 7)])
    flag = tensor("true", [], 9, b"\1")
    loop = node("Loop", ["trip", "true", "v"], ["t"], body=body)
    for name, trips in (("loop", 300), ("loop_minus", -5)):
        shape(name, [loop], [vector("v", 3 - max(trips, 0)), vector("one", 1),
                             tensor("trip", [], 7, ints(trips)), flag])
    outer = Graph([node("Identity", ["c"], ["d"]),
                   node("Loop", ["m", "true", "h"], ["o"], body=body)],
                  [value("i", [], 7), value("c", [], 9), value("h", [1], 7)],
                  [value("d", [], 9), value("o", [1], 7)])
    again = node("Loop", ["m", "true", "v"], ["t"], body=outer)
    shape("loops_exponential", [again], [vector("v", -89997), vector("one", 1),
                                         tensor("m", [], 7, ints(300)), flag], FOUND)
    sums = Graph([node("Add", ["h", "e"], ["k"]), node("Identity", ["e"], ["r"])],
                 [value("h", [1], 7), value("e", [1], 7)], [value("k", [1], 7), value("r", [1], 7)])
    scan = node("Scan", ["v", "rows"], ["t", "u"], body=sums, num_scan_inputs=1)
    shape("scan", [scan], [vector("v", 1), tensor("rows", [2, 1], 7, ints(1, 1))])
    one = Graph([node("Identity", ["e"], ["r"])], [value("e", [1], 7)], [value("r", [1], 7)])
    scan = node("Scan", ["rows"], ["u"], body=one, num_scan_inputs=1)
    shape("scan_only", [scan, node("Reshape", ["u", "v"], ["t"])],
          [vector("v", 1), tensor("rows", [1, 1], 7, ints(3))])
    shape("division", [node("Div", ["v", "zero"], ["t"])], [vector("v", 3), vector("zero", 0)],
          FOUND)
    shape("gap", [node("Clip", ["v", "", "m"], ["t"])],
          [vector("v", 3), tensor("m", [], 7, ints(9))])
    shape("noise", [node("RandomUniform", [], ["r"], shape=[1]), node("Cast", ["r"], ["t"], to=7)],
          [], FOUND)


def captured(onnx):
    """Captures of a body: many values, a shape by name, one through two bodies."""
    names = [f"a{i}" for i in range(12)]
    b = value("b", [], 9)
    total = Graph([node("Sum", names, ["o"])], (), [value("o", [3])])
    choice = node("If", ["b"], ["y"], then_branch=total, else_branch=total)
    onnx("legal_32_captures", Graph([*[node("Relu" if i % 2 else "Neg", ["x"], [n])
                                       for i, n in enumerate(names[:2])],
                                     *[node("Add", [names[i - 1], "x"], [names[i]])
                                       for i in range(2, 12)], choice], [ROW, b],
                                    [value("y", [3])]))
    flat = Graph([node("Reshape", ["x", "s"], ["o"])], (), [value("o", ["n", 3])])
    choice = node("If", ["b"], ["y"], then_branch=flat, else_branch=flat)
    onnx("legal_32_captured_shape", Graph([node("Shape", ["x"], ["s"]), choice],
                                          [value("x", ["n", 3]), b], [value("y", ["n", 3])]))
    deep = Graph([node("If", ["b"], ["o"], then_branch=flat, else_branch=flat)], (),
                 [value("o", ["n", 3])])
    choice = node("If", ["b"], ["y"], then_branch=deep, else_branch=flat)
    onnx("legal_32_captured_deep", Graph([node("Shape", ["x"], ["s"]), choice],
                                         [value("x", ["n", 3]), b], [value("y", ["n", 3])]))
    levels = [Graph([node("Relu", ["x"], ["y"])], (), [value("y", [3])])]
    for _ in range(12):
        choice = node("If", ["b"], ["y"], then_branch=levels[-1], else_branch=levels[0])
        levels.append(Graph([choice], (), [value("y", [3])]))
    onnx("legal_32_subgraphs_12", Graph([node("If", ["b"], ["y"], then_branch=levels[-1],
                                              else_branch=levels[0])], [ROW, b],
                                        [value("y", [3])]))


def bodies(onnx):
    """Lists and gradients."""
    def lists(name, nodes, error=0, at=None, weights=()):
        onnx(f"32_list_{name}", Graph(nodes, [value("x", [3, 2])], [value("y", [3, 2])], weights),
             error, at)

    split = node("SplitToSequence", ["x"], ["s"])
    join = node("ConcatFromSequence", ["m"], ["y"], axis=0)
    two = Graph([node("Add", ["a", "b"], ["r"])], [value("a", [1, 2]), value("b", [1, 2])],
                [value("r", [1, 2])])
    lists("two", [split, node("SequenceMap", ["s", "s"], ["m"], body=two), join])
    lists("and_value", [split, node("SequenceMap", ["s", "x"], ["m"], body=two), join])
    same = node("ConcatFromSequence", ["s"], ["y"], axis=0)
    lists("no_result", [split, node("SequenceMap", ["s", "s"], [], body=two), same])
    long = node("Relu", ["s"], ["y"], "relu_" * 60)
    lists("long_name", [split, long], REFUSED, long)
    short = node("SequenceErase", ["s"], ["u"])
    each = node("SequenceMap", ["s", "u"], ["m"], body=two)
    lists("shorter", [split, short, each, join], REFUSED, node("Add", ["a", "b"], ["r"]))
    at = node("SequenceAt", ["s", "i"], ["y"])
    lists("index_two", [split, at], REFUSED, at, [vector("i", 0, 1)])
    lists("index_last", [split, at], weights=[tensor("i", [], 7, ints(-1))])
    first = node("SequenceInsert", ["s", "x", "i"], ["m"])
    lists("insert", [split, first, node("SequenceLength", ["m"], ["y"])],
          weights=[tensor("i", [], 7, ints(1))])
    maybe = node("Optional", ["x"], ["o"])
    lists("optional", [maybe, node("OptionalGetElement", ["o"], ["y"])])
    nothing = many(2, ["o"]) + field(4, "Optional")
    lists("nothing", [nothing, node("OptionalHasElement", ["o"], ["y"])])
    square = node("Mul", ["x", "x"], ["q"])
    total = node("ReduceSum", ["q"], ["l"], keepdims=0)
    grad = node("Gradient", ["x", "w"], ["y"], domain=TRAINING, xs=["x"], zs=["w"], y="l")
    more = field(8, field(1, TRAINING) + field(2, 1))
    onnx("legal_32_gradient_zs", model(Graph([square, total, grad], [ROW, value("w", [3])],
                                             [value("y", [3])]), 21, more))
    grad = node("Gradient", ["x"], ["y"], domain=TRAINING, xs=["x"], zs=["w", "v"], y="l")
    onnx("legal_32_gradient_few", model(Graph([square, total, grad], [ROW], [value("y", [3])]), 21,
                                        more))


def nothing(onnx):
    """A list where a number is expected, while the graph has no value yet."""
    def after_a_list(name, last):
        onnx(f"32_nothing_{name}", Graph([node("SequenceEmpty", [], ["s"]), last], [],
                                         [value("y", [3])]), REFUSED, last)

    nameless = field(1, "x") + field(2, "y") + field(7, "takt")
    more = field(8, field(1, "takt") + field(2, 1))
    onnx("32_nothing_named", model(Graph([nameless], [ROW], [value("y", [3])]), 21, more),
         3301, nameless)
    after_a_list("reduce", node("ReduceSum", ["s", "s"], ["y"]))
    branch = Graph([node("Identity", ["s"], ["o"])], [], [value("o", [1])])
    after_a_list("if", node("If", ["s"], ["y"], then_branch=branch, else_branch=branch))


def forms(legal):
    four = given(1, 2, 3, 4)
    for mode in range(4):
        legal(f"attention_mode_{mode}", "Attention", four, four, four, given(3, 3), opset=23,
              qk_matmul_output_mode=mode, outputs=("y", "", "", "z"), softcap=2.0)
    legal("attention_f16", "Attention", *[given(1, 2, 3, 4, dtype=10)] * 3, opset=23)
    for name, mode in (("up", "up"), ("down", "down"), ("nearest", "nearest")):
        legal(f"cast_power_{name}", "Cast", given(3), to=24, round_mode=mode, opset=25)
    for to in (17, 18, 19, 20, 21, 22, 23, 25, 26):
        legal(f"cast_{to}", "Cast", given(3), to=to, opset=25)
    legal("dropout_0", "Dropout", given(3), ("weight", [], 1, floats(0)),
          ("weight", [], 9, b"\1"), outputs=("y", "m"))
    legal("svm_one", "SVMRegressor", given(2, 1), domain=ML, coefficients=[1.0], rho=[0.5],
          n_supports=1, support_vectors=[1.0], kernel_type="LINEAR",
          kernel_params=[0.0, 0.0, 0.0], one_class=1)
    legal("shift_left", "BitShift", given(3, dtype=2), given(3, dtype=2), direction="LEFT")
    legal("rnn_one_number", "RNN", given(2, 1, 3), given(2, 4, 3), given(2, 4, 4), hidden_size=4,
          activations=["Affine", "Affine"], activation_alpha=[0.5], activation_beta=[0.1],
          direction="bidirectional")
    legal("trees_members", "TreeEnsemble", given(1, 2), domain=ML, **tree(
        modes=(6, 0), membership_values=tensor("", [3], 1, floats(1, 2, float("nan")))))
    legal("trees_shared", "TreeEnsemble", given(1, 2), domain=ML, **tree(
        nodes_falseleafs=[1, 1], nodes_falsenodeids=[0, 0], tree_roots=[0, 1]))
    legal("eye_u2", "EyeLike", given(7, 1, dtype=25), opset=25)
    legal("eye_far", "EyeLike", given(3, 3), k=-(1 << 21))
    legal("mel_narrow", "MelWeightMatrix", i64_0(8), i64_0(4), i64_0(8000),
          ("weight", [], 1, floats(100)), ("weight", [], 1, floats(100)))
    legal("resize_sizes_named", "Resize", given(1, 1, "n"), None, None, i64(1, 1, 3), mode="linear")
    for name, more in (("pytorch", {"coordinate_transformation_mode": "pytorch_half_pixel"}),
                       ("tf", {"coordinate_transformation_mode": "tf_half_pixel_for_nn"})):
        for size in (0.25, 1.5):
            legal(f"resize_{name}_{size}", "Resize", given(1, 1, 4), None, f32(1, 1, size),
                  mode="nearest", **more)
    legal("resize_crop_out", "Resize", given(1, 1, 4), f32(0, 0, -0.5, 1, 1, 1.5), None,
          i64(1, 1, 4), coordinate_transformation_mode="tf_crop_and_resize",
          extrapolation_value=7.0, mode="linear")
    legal("resize_far_out", "Resize", given(1, 1, 4), f32(0, 0, 9, 1, 1, 10), None, i64(1, 1, 3),
          coordinate_transformation_mode="tf_crop_and_resize", exclude_outside=1, mode="cubic")


def narrow(legal):
    levels, scale = given(2, 4, dtype=3), given(2, 2)
    legal("dequantize_blocks", "DequantizeLinear", levels, scale, axis=1, block_size=2)
    legal("dequantize_f16", "DequantizeLinear", levels, scale, axis=1, block_size=2,
          output_dtype=10, opset=23)
    legal("dequantize_f8", "DequantizeLinear", given(2, 4, dtype=17), scale, axis=1, block_size=2)
    eight = given(2, 4, dtype=2)
    legal("q_softmax_old", "QLinearSoftmax", eight, given(), given(dtype=2), given(),
          given(dtype=2), domain=MS, opset=12, axis=1)
    legal("q_softmax_old_first", "QLinearSoftmax", eight, given(), given(dtype=2), given(),
          given(dtype=2), domain=MS, axis=0)
    legal("q_gemm", "QGemm", eight, given(1), given(1, dtype=2), given(4, 3, dtype=3), given(3),
          given(3, dtype=3), None, given(), domain=MS)
    legal("n_bits_bf16", "MatMulNBits", given(1, 16, dtype=16), zeros(2, 1, 8, dtype=2), zeros(2),
          domain=MS, K=16, N=2, bits=4, block_size=16)
    legal("n_bits_level", "MatMulNBits", given(1, 16), zeros(2, 1, 8, dtype=2), zeros(2),
          domain=MS, K=16, N=2, bits=4, block_size=16, accuracy_level=4)


def heads(legal):
    legal("ms_attention_f16", "Attention", given(1, 2, 4, dtype=10), given(4, 12, dtype=10),
          domain=MS, num_heads=2)
    legal("ms_attention_mask", "Attention", given("b", 2, 4), given(4, 12), None,
          given("b", dtype=6), domain=MS, num_heads=2)
    legal("ms_attention_past", "Attention", given(1, 2, 4), given(4, 12), None, None,
          given(2, 1, 2, 3, 2), domain=MS, num_heads=2, outputs=("y", ""))
    legal("multi_head_out", "MultiHeadAttention", given(1, 2, 4), given(1, 2, 4), given(1, 2, 4),
          domain=MS, num_heads=2, outputs=("y", "", "", ""))
    legal("ms_rotary_4", "RotaryEmbedding", given(1, 2, 3, 8), given(1, 3, dtype=7), given(8, 2),
          given(8, 2), domain=MS, rotary_embedding_dim=4)
    legal("embed_two", "EmbedLayerNormalization", given(1, 3, dtype=6), None, given(8, 4),
          given(8, 4), None, given(4), given(4), domain=MS, outputs=("y", ""))


def limits(refused):
    refused("scan_many", "Scan", *[given(3)] * 61, num_scan_inputs=61,
            body=Graph([node("Relu", ["e"], ["r"])], [value("e", [])], [value("r", [])]))
    refused("scan_results", "Scan", given(3), num_scan_inputs=1, body=Graph(
        [node("Relu", ["e"], [f"r{i}"]) for i in range(70)], [value("e", [])],
        [value(f"r{i}", []) for i in range(70)]))
    refused("svm_classes", "SVMClassifier", given(2, 1), domain=ML, outputs=("y", "z"),
            coefficients=[1.0] * 600, rho=[0.0], support_vectors=[1.0] * 600,
            vectors_per_class=[1] * 600, classlabels_ints=list(range(600)), kernel_type="LINEAR",
            kernel_params=[0.0, 0.0, 0.0])
    refused("flex", "FlexAttention", given(1, 2, 4), given(1, 2, 2, 4), given(1, 2, 2, 4), opset=26)


def wires(onnx):
    """External files without a folder, and doubles that are packed."""
    def outside(name, *entries):
        weight = tensor("w", [3], 1, None, many(13, [field(1, k) + field(2, v) for k, v in entries])
                        + field(14, 1))
        onnx(f"32_external_{name}", Graph([node("Add", ["x", "w"], ["y"])], [ROW],
                                          [value("y", [3])], [weight]), 3304, weight)

    outside("checksum", ("location", "w.bin"), ("checksum", "00"))
    outside("offset_empty", ("location", "w.bin"), ("offset", ""))
    outside("long", ("location", "w" * 5000))
    packed = tensor("w", [2], 11) + field(10, bytes(16))
    onnx("legal_32_doubles_packed", Graph([node("Neg", ["w"], ["y"])], (), [value("y", [2], 11)],
                                          [packed]))
    complex_ = tensor("w", [1], 14) + field(4, floats(1, 2))
    onnx("32_complex", Graph([node("Neg", ["w"], ["y"])], (), [value("y", [1])], [complex_]), 3301,
         complex_)
    value_ = value("x", [1], 15)
    onnx("32_complex_input", Graph([node("Neg", ["x"], ["y"])], [value_], [value("y", [1])]), 3302)


def settings(legal, refused):
    """Operator settings from inputs that are found at run time; and some that cannot be."""
    number, real = given(dtype=7), given()
    legal("resize_outside_named", "Resize", given(1, 1, "n"), None, f32(1, 1, 2.0),
          exclude_outside=1, mode="cubic")
    legal("resize_window", "Resize", given(1, 1, 4), None, given(3), antialias=1, mode="cubic")
    legal("resize_part", "Resize", given(1, 1, 4), given(6), f32(1, 1, 2.0), mode="linear",
          coordinate_transformation_mode="tf_crop_and_resize")
    legal("dft_axis", "DFT", given(2, 3, 4, 1), None, number)
    legal("dft_axis_half", "DFT", given(2, 3, 4, 2), None, number, onesided=1, inverse=1)
    legal("stft_step", "STFT", given(1, "n", 1), number, given(4))
    legal("stft_frame", "STFT", given(1, 9, 2), number, None, number, onesided=0)
    legal("columns", "Col2Im", given(1, 6, 4), given(2, dtype=7), given(2, dtype=7))
    legal("unpool", "MaxUnpool", given(1, 1, 2), given(1, 1, 2, dtype=7), given(3, dtype=7),
          kernel_shape=[2], strides=[2])
    legal("mel", "MelWeightMatrix", number, number, number, real, real)
    legal("dropout", "Dropout", given(3), real, given(dtype=9))
    legal("split", "SplitToSequence", given(9), given(3, dtype=7))
    legal("reshape_empty", "Reshape", given(0, 3), given(2, dtype=7), allowzero=1)
    legal("reduce_none", "ReduceSum", given(2, 3), given(0, dtype=7), noop_with_empty_axes=1)
    refused("dft_one_axis", "DFT", given("n", 4, 1), None, number, error=3303)
    refused("columns_of_two", "Col2Im", given(6, 4), given(2, dtype=7), given(2, dtype=7))
    refused("stft_rank", "STFT", given(4), number, given(4))
    refused("split_many", "SplitToSequence", given(90), given(64, dtype=7), error=3303)
    refused("roi_short", "Resize", given(1, 1, 4), given(5), f32(1, 1, 2.0), error=3303,
            coordinate_transformation_mode="tf_crop_and_resize")
