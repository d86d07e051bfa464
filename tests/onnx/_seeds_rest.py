"""_seeds_rest.py - branches of the reader that nothing else takes: names of sizes word by word,
depths that add up, the last of a node's checks, and forms that no exporter writes."""
from _pb import Graph, attr, field, floats, ints, many, model, node, tensor, value, varint
from _seeds_ops import BIG, MAX, ML, MS, REFUSED, SHAPE, STATIC, WIRE, built, f32, i64, i64_0
from _seeds_ops import PRODUCT, tree, x, zeros

LEAST = -(1 << 63)
ROW, FLAG = value("x", [3]), tensor("t", [], 9, b"\1")


def scalar(number):
    return "weight", [], 1, floats(number)


def all_rest(onnx):
    def refused(name, op, *inputs, error=REFUSED, **rest):
        content, body = built(op, inputs, **rest)
        onnx(f"29_{name}", content, error, body)

    def legal(name, op, *inputs, **rest):
        onnx(f"legal_29_{name}", built(op, inputs, **rest)[0])

    words(onnx)
    files(onnx)
    depths(onnx)
    shapes(onnx)
    worked_out(onnx)
    own_ops(onnx)
    weights(onnx)
    windows(refused, legal)
    resizes(refused, legal)
    heads(refused, legal)
    bytes_of(refused, legal)
    rows(refused, legal)
    places(refused, legal)
    lists(refused, legal)


def words(onnx):
    """Sizes that end, or have a space or a strange letter, at every place of an expression."""
    texts = ["N + 1", "n + {", "a{b + 1", "Z*2", "n -", "n - ", "n *", "n * ", "n //", "n // ",
             "n +", "(n", "( n ", "( n )", "(n) ", "( )", "(", "( ", "n + 1 ", "n+1", "12 + 3",
             "n*12", "floordiv (n, 2)", "floordiv( n , 2 )", "floordiv", "floordiv (",
             "floordiv + 1", "ceildiv(", "ceildiv(n", "ceildiv(n ", "ceildiv(n,", "ceildiv(n, ",
             "ceildiv(n, 2", "ceildiv(n, 2 ", "ceildiv (n, 2) ", "mod (n, 2)", "mod * 2",
             "min (n, 2)", "max (n, 2)", "max + 1", "maxi(n, 2)", "ceildiv + 1", "[n] + 1",
             "~ * 2", "n@ + 1", "`+1", "n_1*2", "n  -  1", "(n)(m)", "n m + 1", "(-n)", "2n + 1",
             "*", "-", " - ", "a - b", "(a - b)"]
    for number in range(0, len(texts), 12):
        part = texts[number:number + 12]
        onnx(f"legal_29_sizes_{number:02}", Graph(
            [node("Relu", ["x"], ["y"])], [value("x", part)], [value("y", part)]))


def files(onnx):
    """Beginnings of a file, tags, attributes and sparse tensors."""
    good = Graph([node("Relu", ["x"], ["y"])], [ROW], [value("y", [3])]).body
    for number, name in ((5, "version"), (6, "text")):
        extra = field(number, 1 if number == 5 else "a model")
        onnx(f"legal_29_begins_with_{name}",
             field(1, 8) + extra + field(7, good) + field(8, field(2, 21)))
    wide = varint((0x20000000 << 3) | 0) + b"\1"
    onnx("29_field_number", field(1, 8) + field(7, good) + field(8, field(2, 21)) + wide, WIRE,
         wide)
    complex_ = value("x", [1], 14)
    onnx("29_complex_input", Graph([node("Neg", ["x"], ["y"])], [complex_], [value("y", [1])]),
         REFUSED)
    unknown = node("Louder", ["x"], ["a"])
    onnx("29_after_refused", Graph([unknown, node("Relu", ["a"], ["b"], domain="ai.onnx"),
                                    node("Louder", ["b"], ["y"], domain="ai.onnx")], [ROW],
                                   [value("y", [3])]), REFUSED, unknown)
    state = field(14, field(1, "takt.state.h") + field(2, "s"))
    listed = Graph([node("SequenceConstruct", ["h"], ["s"])], [ROW], [value("s", [3])],
                   [tensor("h", [3], 1, floats(1, 2, 3))])
    onnx("29_state_is_a_list", model(listed, 21, state), WIRE, (value("s", [3]),))
    for name, body in (("values", field(2, tensor("i", [1], 7, ints(0))) + field(3, 4)),
                       ("indices", field(1, tensor("v", [1], 1, floats(1))) + field(3, 4))):
        kept = field(1, "sparse_value") + field(22, body) + field(20, 11)
        constant = many(2, ["y"]) + field(4, "Constant") + field(5, kept)
        onnx(f"29_sparse_without_{name}", Graph([constant], [], [value("y", [4])]), WIRE, body)

    def sparse(name, values, indices, dims, error=WIRE):
        content = field(1, values) + field(2, indices) + many(3, dims)
        onnx(f"29_sparse_{name}", Graph([node("Neg", ["w"], ["y"])], [], [value("y", [1])], (),
                                        field(15, content)), error, content if error else None)

    sparse("nothing", tensor("w", [0], 1, b""), tensor("i", [0], 7, b""), [0], 0)
    sparse("wide", tensor("w", [0], 1, b""), tensor("i", [0], 7, b""), [BIG])


def depths(onnx):
    """Functions in functions, and in the last of them branches in branches: 40 in all."""
    inner = Graph([node("Relu", ["a"], ["r"])], (), [value("r", [3])])
    level = [inner]
    for _ in range(19):
        level.append(Graph([node("Constant", [], ["t"], value=FLAG),
                            node("If", ["t"], ["r"], then_branch=level[-1], else_branch=inner)], (),
                           [value("r", [3])]))
    own = field(9, field(2, 21)) + field(9, field(1, "my") + field(2, 1)) + field(10, "my")
    calls = [node(f"f{i + 1}", ["a"], ["b"], domain="my") for i in range(19)]
    last = [node("Constant", [], ["t"], value=FLAG),
            node("If", ["t"], ["b"], then_branch=level[-1], else_branch=inner)]
    functions = b"".join(field(25, field(1, f"f{i}") + field(4, "a") + field(5, "b")
                               + many(7, [calls[i]] if i < 19 else last) + own) for i in range(20))
    graph = Graph([node("f0", ["x"], ["y"], domain="my")], [ROW], [value("y", [3])])
    # 20 scopes of functions; the 13th branch is one too deep.
    onnx("29_functions_and_branches",
         model(graph, 21, field(8, field(1, "my") + field(2, 1)) + functions), WIRE,
         level[19 - 12].body)


def shapes(onnx):
    """A shape that is worked out from s = [n, 4, m], numbers, and what is not known, v."""
    def ask(name, nodes, constants=(), error=STATIC):
        fill = node("ConstantOfShape", ["t"], ["y"])
        onnx(f"29_shape_{name}", Graph(
            [node("Shape", ["x"], ["s"]), *nodes, fill],
            [value("x", ["n", 4, "m"]), value("v", [3], 7), value("c", [3], 9)], [value("y", [1])],
            [tensor(k, [len(of)], 7, ints(*of)) for k, of in constants]), error,
            fill if error else None)

    ask("div_minus", [node("Concat", ["s", "minus"], ["a"], axis=0),
                      node("Div", ["a", "two"], ["t"])], [("minus", [-4]), ("two", [2])])
    ask("less_names", [node("Less", ["s", "s"], ["a"]), node("Where", ["a", "s", "s"], ["t"])])
    ask("number_first", [node("Equal", ["w", "s"], ["a"]), node("Where", ["a", "w", "s"], ["t"])],
        [("w", [-1])], 0)
    ask("zero_first", [node("Equal", ["w", "s"], ["a"]), node("Where", ["a", "w", "s"], ["t"])],
        [("w", [0])])
    ask("add_nothing", [node("Gather", ["s", "w"], ["a"]), node("Add", ["a", "none"], ["t"])],
        [("w", [0]), ("none", [])], 0)
    ask("product_unknown", [node("ReduceProd", ["v"], ["a"], keepdims=1),
                            node("Concat", ["a", "s"], ["t"], axis=0)])
    same = node("Equal", ["s", "s"], ["a"])
    ask("where_first_unknown", [same, node("Where", ["a", "v", "s"], ["t"])])
    ask("where_second_unknown", [same, node("Where", ["a", "s", "v"], ["t"])])
    ask("where_one", [same, node("Where", ["a", "w", "s"], ["t"])], [("w", [5])], 0)
    # Whether a size is 0 is not known, and as a byte it would be another number.
    ask("where_truth", [node("Cast", ["s"], ["a"], to=9), node("Where", ["a", "s", "s"], ["t"])])
    for name, to in (("truth", 9), ("byte", 2)):
        ask(f"through_{name}", [node("Cast", ["s"], ["a"], to=to),
                                node("Cast", ["a"], ["t"], to=7)])
    ask("through_i32", [node("Cast", ["s"], ["a"], to=6), node("Cast", ["a"], ["t"], to=7)], (), 0)
    ask("number_through_byte", [node("Gather", ["s", "w"], ["a"]), node("Add", ["a", "far"], ["b"]),
                                node("Cast", ["b"], ["d"], to=2), node("Cast", ["d"], ["t"], to=7)],
        [("w", [1]), ("far", [256])], 0)


def worked_out(onnx):
    """Values that are worked out by ops that make numbers, that lack an input, and by branches and
    scans in a loop."""
    def shape(name, nodes, constants, error=0):
        last = node("Reshape", ["x", "t"], ["y"])
        onnx(f"29_known_{name}", Graph([*nodes, last], [ROW], [value("y", [3])], constants), error,
             last if error else None)

    def vector(name, *numbers):
        return tensor(name, [len(numbers)], 7, ints(*numbers))

    shape("one_hot", [node("OneHot", ["i", "depth", "values"], ["a"]),
                      node("ReduceMax", ["a", "axes"], ["t"], keepdims=0)],
          [vector("i", 0), tensor("depth", [], 7, ints(2)), vector("values", 1, 3),
           vector("axes", 1)])
    shape("integer_product", [node("MatMulInteger", ["a", "b", "", "zero"], ["c"]),
                              node("Cast", ["c"], ["d"], to=7),
                              node("Reshape", ["d", "one"], ["t"])],
          [tensor("a", [1, 1], 2, b"\1"), tensor("b", [1, 1], 2, b"\5"),
           tensor("zero", [], 2, b"\2"), vector("one", 1)])
    numbers = [value("i", [], 7), value("c", [], 9), value("h", [1], 7)]
    results = [value("d", [], 9), value("k", [1], 7)]
    same = Graph([node("Identity", ["h"], ["o"])], (), [value("o", [1], 7)])
    more = Graph([node("Add", ["h", "one"], ["o"])], (), [value("o", [1], 7)])
    branch = [node("Identity", ["c"], ["d"]), node("Less", ["i", "few"], ["q"]),
              node("If", ["q"], ["k"], then_branch=more, else_branch=same)]
    one = Graph([node("Add", ["u", "e"], ["w"])], [value("u", [1], 7), value("e", [1], 7)],
                [value("w", [1], 7)])
    scan = [node("Identity", ["c"], ["d"]),
            node("Scan", ["h", "rows"], ["k"], body=one, num_scan_inputs=1)]
    weights_ = [vector("one", 1), tensor("few", [], 7, ints(3)), tensor("true", [], 9, b"\1"),
                tensor("rows", [3, 1], 7, ints(0, 0, 1))]
    # A branch adds 1 in the first 3 turns, a scan in each.
    for name, body, first in (("branch", branch, 0), ("scan_exponential", scan, -297)):
        loop = node("Loop", ["trip", "true", "v"], ["t"], body=Graph(body, numbers, results))
        shape(f"loop_{name}", [loop], [tensor("trip", [], 7, ints(300)), vector("v", first),
                                       *weights_])
    empty = node("Reshape", ["s", "s"], ["y"])
    onnx("29_nothing_reshape", Graph([node("SequenceEmpty", [], ["s"]), empty], [],
                                     [value("y", [3])]), REFUSED, empty)


def own_ops(onnx):
    """Nodes of domain takt, and attributes of the first opsets."""
    more = field(8, field(1, "takt") + field(2, 1))

    def own(name, op, inputs, outputs=("y",), error=0, **attrs):
        last = node(op, inputs, list(outputs), domain="takt", **attrs)
        onnx(f"29_takt_{name}", model(Graph([last], [ROW], [value(n, [1]) for n in outputs]), 21,
                                      more), error, last if error else None)

    own("two_results", "top_k", ["x"], ("y", "z"), k=2)
    own("tensor", "constant", [], error=REFUSED, value=tensor("", [1], 1, floats(1)))
    two = tensor("", [2], 11, bytes(16))
    own("two_doubles", "leaky_relu", ["x"], error=REFUSED, slope=two)
    fill = node("ConstantOfShape", ["t"], ["y"])
    shape = node("Shape", ["x"], ["s"])
    one, minus = tensor("one", [1], 7, ints(1)), tensor("minus", [1], 7, ints(-1))
    for name, nodes in (
            ("last_size", [node("dim", ["x"], ["a"], domain="takt", axis=-2),
                           node("Reshape", ["a", "one"], ["t"])]),
            ("not_equal", [node("ne", ["s", "minus"], ["a"], domain="takt"),
                           node("Where", ["a", "s", "minus"], ["t"])])):
        onnx(f"29_takt_{name}", model(Graph([shape, *nodes, fill], [value("x", ["n", 4])],
                                            [value("y", [1])], [one, minus]), 21, more))
    old = node("Ceil", ["x"], ["y"], consumed_inputs=[0])
    onnx("legal_29_consumed_inputs", model(Graph([old], [ROW], [value("y", [3])]), 1))


def weights(onnx):
    """Trees: lists of which one is shorter, or none; a leaf of two trees."""
    old = {"nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0],
           "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_values": [0.5, 0.0, 0.0],
           "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
           "target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0],
           "target_weights": [1.0, 2.0], "n_targets": 1}
    sorts = {"class_treeids": [0, 0, 0], "class_nodeids": [1, 1, 2], "class_ids": [0, 1, 2],
             "class_weights": [1.0, 2.0, 3.0], "classlabels_int64s": [0, 1, 2]}

    def trees(name, op="TreeEnsembleRegressor", error=REFUSED, dtype=1, outputs=("y",), **attrs):
        content, body = built(op, [x(1, 1, dtype=dtype)], domain=ML, outputs=outputs, **attrs)
        onnx(f"29_trees_{name}", content, error, body if error else None)

    trees("none", **{**old, "nodes_treeids": []})
    for name in ("nodes_nodeids", "nodes_featureids", "nodes_falsenodeids", "nodes_truenodeids",
                 "target_treeids"):
        trees(f"short_{name}", **{**old, name: old[name][1:]})
    trees("short_modes", **{**old, "nodes_modes": ["LEAF"]})
    trees("no_modes", **{k: v for k, v in old.items() if k != "nodes_modes"})
    trees("f64", error=0, dtype=11, **old)
    classes = {**{k: v for k, v in old.items() if not k.startswith("target")}, **sorts}
    del classes["n_targets"]
    trees("classes_f64", "TreeEnsembleClassifier", 0, 11, ("y", "z"), **classes)
    trees("classes_base", "TreeEnsembleClassifier", outputs=("y", "z"), base_values=[1.0, 2.0],
          **classes)
    content, body = built("TreeEnsemble", [x(1, 2)], domain=ML, **tree(
        nodes_modes=tensor("", [2], 3, b"\0\xff")))
    onnx("29_tree_mode_negative", content, REFUSED, body)
    content, body = built("TreeEnsemble", [x()], domain=ML, **tree())
    onnx("29_tree_of_a_number", content, REFUSED, body)
    labels = {"classlabels_int64s": [0, 1, 2], "classlabels_strings": []}
    trees("labels_empty", "TreeEnsembleClassifier", 0, 1, ("y", "z"),
          **{**classes, **labels})


def windows(refused, legal):
    half = (1 << 31) - 1
    cube = [half] * 3
    refused("windows_size", "LpPool", x(1, 1, *cube), kernel_shape=[1, 1, 1])
    refused("windows_places", "LpPool", x(1, 1, 1, 1, 1), kernel_shape=[1, 1, 1], pads=[half] * 6)
    refused("windows_elements", "LpPool", x(1, 1, 1, 1, 1), kernel_shape=cube, pads=[1 << 30] * 6)
    refused("windows_all", "LpPool", x(1, 1, 1, 1), kernel_shape=[2, 2], pads=[1 << 30] * 4)
    legal("same_far", "MaxPool", x(1, 1, 5), kernel_shape=[1], strides=[3], auto_pad="SAME_UPPER")
    legal("pool_begins_inside", "MaxPool", x(1, 1, 2), kernel_shape=[2], strides=[3], pads=[0, 1],
          ceil_mode=1, outputs=("y", "z"))
    refused("conv_kernel_shape_rank", "FusedConv", x(1, 1, 4, 4), x(1, 1, 2, 2), domain=MS,
            kernel_shape=[2])
    refused("conv_vector", "FusedConv", x(1, 1, 4), x(2), domain=MS)
    refused("col2im_counts", "Col2Im", x(1, 4, 4), i64(5, 5), i64(2))
    refused("col2im_rows", "Col2Im", x(1 << 40, 1 << 40, 4), i64(3, 3), i64(2, 2), error=PRODUCT)
    legal("unpool_part", "MaxUnpool", x(1, 1, 2, 2), x(1, 1, 2, 2, dtype=7), i64(1, 1),
          kernel_shape=[2, 2], strides=[2, 2])
    refused("unpool_cut", "MaxUnpool", x(1, 1, 2), x(1, 1, 2, dtype=7), kernel_shape=[2],
            pads=[9, 9])
    refused("unpool_inner", "MaxUnpool", x(1 << 40, 1 << 20, 1024), x(1, dtype=7),
            kernel_shape=[1], pads=[512, 512], error=PRODUCT)
    legal("roi_align_old", "RoiAlign", x(1, 1, 4, 4), x(1, 4), x(1, dtype=7), opset=10)


def resizes(refused, legal):
    def scaled(name, length, scale, **attrs):
        legal(f"resize_{name}", "Resize", x(1, 1, length), None, f32(1, 1, scale), **attrs)

    scaled("pytorch_single", 4, 1.3, coordinate_transformation_mode="pytorch_half_pixel")
    scaled("tf_single", 4, 1.3, coordinate_transformation_mode="tf_half_pixel_for_nn")
    scaled("floor", 4, 2.0, nearest_mode="floor")
    refused("resize_steep", "Resize", x(1, 1, "n"), None, f32(1, 1, 70000.0))
    refused("resize_rounded_down", "Resize", x(1, 1, "n"), None, f32(1, 1, 1 / 41))
    refused("resize_nothing", "Resize", x(1, 1, 0, 4), None, None, i64(1, 1, 0, 8), mode="nearest",
            keep_aspect_ratio_policy="not_smaller")
    crop = {"coordinate_transformation_mode": "tf_crop_and_resize"}
    legal("resize_crop_ends", "Resize", x(1, 1, 4), f32(0, 0, 0, 1, 1, 0.5), None, i64(1, 1, 4),
          **crop)
    legal("resize_crop_one", "Resize", x(1, 1, 4), f32(0, 0, 0.25, 1, 1, 0.5), None, i64(1, 1, 1),
          **crop)


def heads(refused, legal):
    three = x(1, 2, 4)
    refused("mask_named_batch", "Attention", x("b", 2, 4), x(4, 12), None, x(5, dtype=6), domain=MS,
            num_heads=2)
    refused("heads_no_value", "MultiHeadAttention", three, three, None, domain=MS, num_heads=2)
    legal("heads_bias_of_query", "MultiHeadAttention", three, x(1, 2, 2, 2), x(1, 2, 2, 2), x(12),
          domain=MS, num_heads=2)
    legal("heads_of_keys_named", "MultiHeadAttention", three, *[x(1, "h", 2, 2)] * 2, domain=MS,
          num_heads=2)
    refused("heads_of_keys_0", "MultiHeadAttention", three, *[x(1, 0, 2, 2)] * 2, domain=MS,
            num_heads=2, error=SHAPE)
    group = [x(1, 1, 8), x(1, 1, 4), x(1, 1, 4), x(1, 1, 4, 4), x(1, 1, 4, 4),
             ("weight", [1], 6, b"\0" * 4), ("weight", [], 6, b"\1\0\0\0")]
    both = {"num_heads": 2, "kv_num_heads": 1, "domain": MS}
    legal("group_query_total_below", "GroupQueryAttention", *group, **both)
    legal("group_query_total_two", "GroupQueryAttention", *group[:6],
          ("weight", [2], 6, b"\1\0\0\0" * 2), **both)
    refused("group_query_no_heads", "GroupQueryAttention", *group, domain=MS)
    refused("group_query_cache", "GroupQueryAttention", *group, x(8, 8), x(8, 8), do_rotary=1,
            **both)


def bytes_of(refused, legal):
    """Quantised operators."""
    eight = x(2, 4, dtype=2)
    gemm = [eight, x(1), x(1, dtype=2), x(4, 3, dtype=3), x(3), x(3, dtype=3)]
    for name, c in (("one", x(1, dtype=6)), ("one_by_one", x(1, 1, dtype=6))):
        refused(f"q_gemm_c_{name}", "QGemm", *gemm, c, domain=MS)
    refused("integer_no_b", "MatMulIntegerToFloat", eight, None, x(1), x(1), domain=MS)
    levels, scale = zeros(2, 1, 8, dtype=2), zeros(2)
    good = {"K": 16, "N": 2, "bits": 4, "block_size": 16, "domain": MS}
    refused("n_bits_k_0", "MatMulNBits", x(1, 16), levels, scale, **{**good, "K": 0})
    refused("n_bits_block_4", "MatMulNBits", x(1, 16), levels, scale, **{**good, "block_size": 4})
    legal("n_bits_float_zero", "MatMulNBits", x(1, 16), levels, scale, zeros(2), accuracy_level=4,
          **good)
    refused("n_bits_three", "MatMulNBits", x(1, 16), x(*[1 << 30] * 3, dtype=2), scale, **good)
    legal("n_bits_long_block", "MatMulNBits", x(1, 16), zeros(1, 1, 2048, dtype=2), zeros(1),
          **{**good, "N": 1, "block_size": 4096})
    parts = [x(), x(dtype=2), x(), x(dtype=2)]
    refused("q_softmax_rank", "QLinearSoftmax", eight, *parts, domain=MS, axis=2)
    for name, gap in (("x", 1), ("condition", 0)):
        where = [x(2, dtype=9), x(2, dtype=2), x(), x(dtype=2), x(2, dtype=2), x(), x(dtype=2), x(),
                 x(dtype=2)]
        where[gap] = None
        refused(f"q_where_no_{name}", "QLinearWhere", *where, domain=MS)
    refused("quantize_rank_16", "QuantizeLinear", x(*[2] * 16), x(*[1] * 16), x(*[1] * 16, dtype=2),
            axis=0, block_size=2, error=2102)


def rows(refused, legal):
    """Classic machine learning."""
    legal("normalizer_l2", "Normalizer", x(2, 3), domain=ML, norm="L2")
    legal("zip_strings", "ZipMap", x(2, 2), domain=ML, classlabels_int64s=[],
          classlabels_strings=["a", "b"])
    legal("roi_none", "NonMaxSuppression", ("weight", [1, 2, 4], 1, floats(0, 0, 1, 1, 2, 2, 3, 3)),
          ("weight", [1, 1, 2], 1, floats(0.1, 0.9)), i64_0(5), scalar(0.5), scalar(0.4))
    grams = {"mode": "TFIDF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0,
             "ngram_counts": [0], "ngram_indexes": [0, 1], "pool_int64s": [2, 3]}
    legal("tf_idf_weights", "TfIdfVectorizer", x(1, 4, dtype=7), weights=[1.0, 2.0, 3.0], **grams)
    refused("tf_idf_rank", "TfIdfVectorizer", x(1, 1, 4, dtype=7), **grams)
    refused("tf_idf_index", "TfIdfVectorizer", x(1, 4, dtype=7), **{**grams,
                                                                  "ngram_indexes": [0, BIG]})
    two = {"coefficients": [1.0], "rho": [0.5], "kernel_type": "LINEAR",
           "kernel_params": [0.0, 0.0, 0.0], "support_vectors": [1.0], "vectors_per_class": [1]}
    refused("svm_many", "SVMClassifier", x(2, 1), domain=ML, outputs=("y", "z"),
            classlabels_ints=[1] * 1025, **two)


def places(refused, legal):
    refused("one_hot_rank", "OneHot", x(*[1] * 16, dtype=7), i64_0(2), f32(0, 1), error=2102)
    refused("pad_named_far", "Pad", x("n"), i64(-1, -BIG))
    legal("pad_named_both", "Pad", x("n"), i64(-1, -1))
    for name, pads in (("before", (BIG, 0)), ("before_minus", (-BIG, 0)), ("after", (0, BIG))):
        refused(f"pad_{name}", "Pad", x(3), i64(*pads))
    legal("shape_before", "Shape", x(2, 3), start=-9, end=-1)
    legal("slice_least", "Slice", x(3), i64(LEAST), i64(LEAST))
    legal("split_named", "Split", x("n"), i64(1, 2), outputs=("y", "z"))
    refused("eye_high", "EyeLike", x(1 << 15, 4))
    legal("eye_below", "EyeLike", x(3, 3), k=-1)
    refused("mel_none", "MelWeightMatrix", i64_0(8), i64_0(0), i64_0(8000), scalar(0), scalar(4000))
    legal("rnn_reverse", "RNN", x(2, 1, 3), x(1, 4, 3), x(1, 4, 4), hidden_size=4,
          direction="reverse")
    legal("random_like_bytes", "RandomNormalLike", x(2, 3, dtype=2))
    refused("random_minus", "RandomNormal", shape=[-5])
    refused("mean_nothing", "Mean", None, error=2105)
    refused("compress_nothing", "Compress", None, ("weight", [2], 9, b"\1\0"))


def lists(refused, legal):
    body = Graph([node("Add", ["h", "e"], ["k"]), node("Identity", ["e"], ["r"])],
                 [value("h", [1]), value("e", [1])], [value("k", [1]), value("r", [1])])
    for batch in (0, 65):
        refused(f"scan_8_batch_{batch}", "Scan", None, x(batch, 1), x(batch, 3, 1), opset=8,
                num_scan_inputs=1, body=body, outputs=("y", "z"))

