"""_seeds_empty.py - lists, tables and results of nothing, and sizes whose product is wrong."""
from _pb import Graph, field, floats, ints, many, model, node, tensor, value
from _seeds_ops import BIG, MAX, ML, MS, PRODUCT, REFUSED, STATIC, built, f32, i64, i64_0, tree, x

ROW = value("x", [3])
WIDE = 1 << 40


def vector(name, *numbers):
    return tensor(name, [len(numbers)], 7, ints(*numbers))


def all_empty(onnx):
    def refused(name, op, *inputs, error=REFUSED, is_whole=False, **rest):
        """`is_whole`: found when all nodes have been read, so without a position in the file."""
        content, body = built(op, inputs, **rest)
        onnx(f"29_{name}", content, error, None if is_whole else body)

    def legal(name, op, *inputs, **rest):
        onnx(f"legal_29_{name}", built(op, inputs, **rest)[0])

    nothing(refused, legal)
    products(refused)
    ranges(onnx)
    files(onnx)
    shapes(onnx)
    within(onnx)
    bound(onnx)
    last_ones(refused, legal)


def nothing(refused, legal):
    def boxes(name, batch, count, classes, most=5):
        """All scores are equal and no two boxes share anything."""
        legal(f"boxes_{name}", "NonMaxSuppression",
              ("weight", [batch, count, 4], 1, bytes(16 * batch * count)),
              ("weight", [batch, classes, count], 1, bytes(4 * batch * classes * count)),
              i64_0(most))

    boxes("none", 1, 0, 1)
    boxes("no_batch", 0, 2, 1)
    boxes("no_class", 1, 2, 0)
    boxes("many", 1, 500, 1, 500)
    legal("non_zero_none", "NonZero", ("weight", [0], 7, b""))
    for name, attrs in (("sorted", {}), ("as_they_come", {"sorted": 0})):
        legal(f"unique_none_{name}", "Unique", ("weight", [0], 7, b""), **attrs)
    legal("unique_u64", "Unique", ("weight", [3], 13, ints(-1, 1, 2)))
    legal("shape_none", "Shape", x(2, 3), start=2, end=1)
    legal("tf_idf_none", "TfIdfVectorizer", x(1, 4, dtype=7), mode="IDF", min_gram_length=1,
          max_gram_length=1, max_skip_count=0, ngram_counts=[0], ngram_indexes=[], pool_int64s=[])
    empty = {"nodes_featureids": [], "nodes_trueleafs": [], "nodes_falseleafs": [],
             "nodes_truenodeids": [], "nodes_falsenodeids": []}
    refused("tree_of_leaves", "TreeEnsemble", x(1, 2), domain=ML, **tree(
        modes=(), splits=(), **empty))
    refused("trees_no_labels", "TreeEnsembleClassifier", x(1, 1), domain=ML,
            classlabels_strings=[], outputs=("y", "z"))
    axes = {"axes": [2, 3], "keep_aspect_ratio_policy": "not_smaller"}
    refused("resize_from_nothing", "Resize", x(1, 1, 0, 4), None, None, i64(8, 8), **axes)


def products(refused):
    refused("windows_rows", "LpPool", x(WIDE, WIDE, 2), kernel_shape=[1], error=PRODUCT)
    refused("compress_product", "Compress", x(WIDE, WIDE), ("weight", [2], 9, b"\1\0"),
            error=PRODUCT)
    refused("reshape_product", "Reshape", x(WIDE, WIDE), i64(-1), error=PRODUCT)
    refused("reshape_rest", "Reshape", x(4), i64(WIDE, WIDE, -1), error=PRODUCT)
    most, block = (1 << 63) - 1, (1 << 31) - 1
    count = most // block + 1  # of blocks, whose last one ends behind 2^63
    refused("blocks_product", "QuantizeLinear", x(most), x(count), x(count, dtype=2), axis=0,
            block_size=block, error=PRODUCT)


def ranges(onnx):
    """Ranges from a size to a number, or with floats that are not finite."""
    def ask(name, inputs, error=0):
        numbers = [node("Shape", ["x"], ["s"]), node("Squeeze", ["s"], ["n"]),
                   node("Cast", ["n"], ["f"], to=1)]
        last = node("Range", inputs, ["y"])
        given = [tensor(k, [], 7, ints(v)) for k, v in (("one", 1), ("minus", -1), ("five", 5))]
        floats_ = [tensor(k, [], 1, floats(v)) for k, v in (("far", 3e7), ("half", 0.5),
                                                             ("unit", 1))]
        two = tensor("two", [2], 1, floats(0, 1))
        onnx(f"29_range_{name}", Graph([*numbers, last], [value("x", ["n"])], [value("y", ["m"])],
                                       [*given, *floats_, two]), error, last if error else None)

    ask("to_number", ["n", "five", "one"])
    ask("to_minus", ["n", "minus", "one"], REFUSED)
    ask("from_far", ["far", "f", "unit"], REFUSED)
    ask("from_half", ["half", "f", "unit"], REFUSED)
    ask("from_two", ["two", "f", "unit"], REFUSED)


def files(onnx):
    listed = node("SequenceEmpty", [], ["y"])
    onnx("legal_29_list_of_nothing", Graph([listed], [ROW], [value("y", [3])]))
    outside = tensor("w", [3], 1, None, field(14, 1))
    onnx("29_external_nothing", Graph([node("Add", ["x", "w"], ["y"])], [ROW], [value("y", [3])],
                                      [outside]), 3304, outside)
    more = field(8, field(1, "takt") + field(2, 1))
    onnx("legal_29_takt_no_results", model(Graph(
        [node("top_k", ["x"], [], domain="takt", k=2), node("Relu", ["x"], ["y"])], [ROW],
        [value("y", [3])]), 21, more))
    broken = node("leaky_relu", ["x"], ["y"], domain="takt", slope=tensor("", [1], 11, b"\0"))
    onnx("29_takt_short_double", model(Graph([broken], [ROW], [value("y", [3])]), 21, more),
         REFUSED, broken)
    body = Graph([node("Relu", ["a"], ["r"])], [value("a", [1])], [value("r", [1])])
    split = node("SplitToSequence", ["x"], ["s"])
    onnx("legal_29_map_no_results", Graph(
        [split, node("SequenceMap", ["s"], [], body=body), node("Relu", ["x"], ["y"])], [ROW],
        [value("y", [3])]))

    def sparse(name, indices, dims):
        content = field(1, tensor("w", [1], 1, floats(1))) + field(2, indices) + many(3, dims)
        onnx(f"legal_29_sparse_{name}", Graph([node("Neg", ["w"], ["y"])], [], [value("y", [1])],
                                              (), field(15, content)))

    sparse("rows_of_one", tensor("i", [1, 1], 7, ints(2)), [4])
    sparse("number", tensor("i", [1, 0], 7, b""), [])
    old = [node("QLinearSoftmax", ["x", "s", "z", "s", "z"], ["y"], domain=MS, opset=12, axis=axis)
           for axis in (0, 1)]
    parts = [value("s", []), value("z", [], 2)]
    more = field(8, field(1, MS) + field(2, 1))
    onnx("legal_29_q_softmax_last", model(Graph([old[1]], [value("x", [2, 4], 2), *parts],
                                                [value("y", [2, 4], 2)]), 21, more))
    onnx("29_q_softmax_product", model(Graph([old[0]], [value("x", [WIDE, WIDE], 2), *parts],
                                             [value("y", [1], 2)]), 21, more), REFUSED, old[0])
    onnx("29_q_softmax_named", model(Graph([old[0]], [value("x", ["n", 4], 2), *parts],
                                           [value("y", [1], 2)]), 21, more), REFUSED, old[0])


def shapes(onnx):
    """A shape that is worked out from s = [4, n]."""
    def ask(name, nodes, constants=(), error=0, last=None):  # a run finds the sizes
        last = last or node("ConstantOfShape", ["t"], ["y"])
        onnx(f"29_shape_{name}", Graph(
            [node("Shape", ["x"], ["s"]), *nodes, last], [value("x", [4, "n"])], [value("y", [1])],
            [vector(k, *of) for k, of in constants]), error, last if error else None)

    ask("bytes", [node("Cast", ["s"], ["a"], to=2), node("Cast", ["a"], ["t"], to=7)])
    for name, number in (("minus", -2), ("most", MAX)):
        ask(f"product_{name}", [node("Concat", ["s", "w"], ["a"], axis=0),
                                node("ReduceProd", ["a"], ["t"], keepdims=1)], [("w", [number])])
    ask("pad_far", [node("Concat", ["w", "s"], ["p"], axis=0)], [("w", [BIG, 0])], STATIC,
        node("Pad", ["x", "p"], ["y"]))
    ask("resize_to_name", [node("Gather", ["s", "w"], ["z"])], [("w", [1, 1])], 0,
        node("Resize", ["x", "", "", "z"], ["y"]))
    scan = node("Scan", ["h", "rows"], ["a"], num_scan_inputs=1, body=Graph(
        [node("Add", ["u", "e"], ["w"])], [value("u", [], 7), value("e", [], 7)],
        [value("w", [], 7)]))
    last = node("ConstantOfShape", ["t"], ["y"])
    onnx("29_known_scan_of_numbers", Graph(
        [scan, node("Reshape", ["a", "one"], ["t"]), last], [], [value("y", [6])],
        [tensor("h", [], 7, ints(0)), vector("rows", 1, 2, 3), vector("one", 1)]))


def within(onnx):
    """An attribute of the caller, in a branch of a function; branches without results in a loop."""
    softmax = many(1, ["a"]) + many(2, ["r"]) + field(4, "Softmax") + field(
        5, field(1, "axis") + field(21, "side") + field(20, 2))
    branch = Graph([softmax], (), [value("r", [2, 3])])
    choice = [node("Constant", [], ["t"], value=tensor("", [], 9, b"\1")),
              node("If", ["t"], ["b"], then_branch=branch, else_branch=branch)]
    function = field(25, field(1, "f") + field(4, "a") + field(5, "b") + field(6, "side")
                     + many(7, choice) + field(9, field(2, 21)) + field(10, "my"))
    call = node("f", ["x"], ["y"], domain="my", side=1)
    onnx("legal_29_attribute_within", model(
        Graph([call], [value("x", [2, 3])], [value("y", [2, 3])]), 21,
        field(8, field(1, "my") + field(2, 1)) + function))
    empty = Graph([])
    idle = node("If", ["b"], [], then_branch=empty, else_branch=empty)
    onnx("29_branches_of_nothing", Graph([idle, node("Relu", ["x"], ["y"])],
                                         [ROW, value("b", [], 9)], [value("y", [3])]), 2105, idle)
    extract = node("ArrayFeatureExtractor", ["x", "s"], ["y"], domain=ML)
    more = field(8, field(1, ML) + field(2, 1))
    onnx("29_columns_of_a_list", model(Graph(
        [node("SequenceEmpty", [], ["s"]), extract], [value("x", [WIDE, WIDE])],
        [value("y", [1])]), 21, more), REFUSED, extract)


def last_ones(refused, legal):
    leaf = {"nodes_treeids": [0], "nodes_nodeids": [0], "nodes_featureids": [0],
            "nodes_modes": ["LEAF"], "nodes_values": [0.0], "nodes_truenodeids": [0],
            "nodes_falsenodeids": [0]}
    weight = {"treeids": [0], "nodeids": [0], "ids": [0], "weights": [2.0]}
    target = {f"target_{k}": v for k, v in weight.items()}
    labels = {f"class_{k}": v for k, v in weight.items()}
    legal("trees_of_one_leaf", "TreeEnsembleRegressor", x(1, 1), domain=ML, **leaf, **target)
    for name, given in (("one_leaf", labels), ("no_weights", {k: [] for k in labels})):
        legal(f"classes_of_{name}", "TreeEnsembleClassifier", x(1, 1), domain=ML,
              outputs=("y", "z"), classlabels_int64s=[0, 1, 2], **leaf, **given)
    two = {k: v * 2 for k, v in leaf.items()}
    legal("trees_with_a_lost_leaf", "TreeEnsembleClassifier", x(1, 1), domain=ML,
          outputs=("y", "z"), classlabels_int64s=[0, 1, 2], **{**two, "nodes_nodeids": [0, 1]},
          **labels)
    good = {"K": 16, "N": 2, "block_size": 16, "domain": MS}
    scale = f32(1, 1)
    for bits in (2, 8):
        legal(f"n_bits_{bits}_computed", "MatMulNBits", x(1, 16), x(2, 1, 2 * bits, dtype=2), scale,
              bits=bits, **good)
    levels = "weight", [2, 1, 8], 2, bytes(16)
    refused("n_bits_order_short", "MatMulNBits", x(1, 16), levels, scale, None,
            ("weight", [8], 6, bytes(32)), **good)
    refused("n_bits_order_float", "MatMulNBits", x(1, 16), levels, scale, None, f32(*[0] * 16),
            **good)
    legal("tf_idf_alone", "TfIdfVectorizer", x(1, 4, dtype=7), mode="IDF", min_gram_length=1,
          max_gram_length=1, max_skip_count=0, ngram_counts=[0], ngram_indexes=[0, 1],
          pool_int64s=[2, 3])
    refused("resize_beyond", "Resize", x(1, 1, "4611686018427387904 * n"), None, f32(1, 1, 4),
            error=PRODUCT, is_whole=True)


def bound(onnx):
    """Named sizes that have become numbers and are used as values: hostile_runs.c has their
    results."""
    first = node("Add", ["x", "zero"], ["a"])
    zero = tensor("zero", [3], 1, floats(0, 0, 0))
    scatter = [node("Unsqueeze", ["x", "around"], ["c"]),
               node("TensorScatter", ["c", "row", "at"], ["d"], mode="circular"),
               node("Squeeze", ["d", "around"], ["y"])]
    onnx("legal_29_circular_bound", Graph(
        [first, *scatter], [value("x", ["n"])], [value("y", ["n"])],
        [zero, vector("around", 0, 2), tensor("row", [1, 1, 1], 1, floats(7)), vector("at", 4)]))
    pool = [node("Unsqueeze", ["x", "before"], ["c"]),
            node("MaxPool", ["c"], ["m", "i"], kernel_shape=[1, 1], storage_order=1),
            node("Squeeze", ["i", "before"], ["s"]), node("Cast", ["s"], ["y"], to=1)]
    onnx("legal_29_columns_bound", Graph(
        [first, *pool], [value("x", ["n"])], [value("y", ["n"])],
        [zero, vector("before", 0, 1, 2)]))
    flex = node("FlexAttention", ["q", "k", "k"], ["y"], domain="ai.onnx.preview")
    onnx("legal_29_flex_heads_bound", model(Graph(
        [node("Add", ["q", "two"], ["z"]), flex], [value("q", [1, "h", 2, 4]),
                                                   value("k", [1, 2, 2, 4])],
        [value("y", [1, "h", 2, 4])], [tensor("two", [1, 2, 1, 1], 1, floats(0, 0))]), 21,
        field(8, field(1, "ai.onnx.preview") + field(2, 1))))
    onnx("legal_29_circular_named", Graph(scatter, [value("x", ["n"])], [value("y", ["n"])], [
        vector("around", 0, 2), tensor("row", [1, 1, 1], 1, floats(7)), vector("at", 4)]))
