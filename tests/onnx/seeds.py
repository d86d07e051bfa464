"""seeds.py - the named bad inputs of ONNX, safetensors, npy, JSON and .taktp, written by code.

    seeds.py            checks that tests/corpus and the dictionaries hold what this writes
    seeds.py --write    writes it, and what each is refused with into tests/corpus/expected.tsv

What a seed is refused with stands next to its defect: an error id, and the bytes that are wrong,
whose place is the offset: of a message its first byte, of a field its tag, of what a node does the
node. The first two digits of a name are its class; `legal` ones load; hostile.c makes large ones.
"""
import os
import sys

from _pb import Graph, attr, field, floats, ints, many, model, node, tensor, value
from _seeds_legal import all_models
from _seeds_taktp import all_taktp
from _seeds_weights import SEEDS, WANTS, all_npy, all_safetensors, want
from _seeds_words import check_classes, check_words

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPUS = os.path.join(ROOT, "tests", "corpus")
MAX = (1 << 63) - 1
WIRE, REFUSED, EXTERNAL, SHAPE, ATTR, NO_FORMAT = 3301, 3302, 3304, 2101, 2104, 3006
PRODUCT, ARITY = 2106, 2105


def onnx(name, data, error=0, at=None):
    """`at`: the position of the defect, as bytes or as an offset."""
    SEEDS[f"onnx/{name}"] = data if isinstance(data, bytes) else model(data)
    want(f"onnx/{name}", error, at)


X, Y, ROW = value("x", [3]), value("y", [3]), floats(1, 2, 3)


def with_weight(name, weight, error=WIRE, at=None):
    """x + w, where only w, or its part `at`, is wrong."""
    onnx(name, Graph([node("Add", ["x", "w"], ["y"])], [X], [Y], [weight]), error,
         None if error == 0 else at or weight)


def one(name, op, shape, constants=(), out=None, opset=21, error=REFUSED, **attrs):
    """One node on an input x of this shape and constants (dims, dtype, raw)."""
    names = [f"c{i}" for i in range(len(constants))]
    weights = [tensor(key, *constant) for key, constant in zip(names, constants)]
    body = node(op, ["x", *names], ["y"], **attrs)
    graph = Graph([body], [value("x", shape)], [value("y", out or shape)], weights)
    onnx(name, model(graph, opset), error, body if error else None)


def tensors():
    with_weight("legal_add", tensor("w", [3], 1, ROW), 0)
    with_weight("01_dims_overflow", tensor("w", [1 << 32, 1 << 32], 1, ROW))
    with_weight("02_dim_minus_1", tensor("w", [-1], 1, ROW))
    with_weight("02_dim_least", tensor("w", [-(1 << 63)], 1, ROW))
    with_weight("03_zero_with_data", tensor("w", [0], 1, floats(1)), at=field(9, floats(1)))
    with_weight("03_no_data", tensor("w", [3], 1))
    for kind, raw in (("short", ROW[:-1]), ("long", ROW + b"\0\0\0\0")):
        with_weight(f"04_raw_{kind}", tensor("w", [3], 1, raw), at=field(9, raw))
    for kind, count, dtype in (("int4", 3, 22), ("uint4", 3, 21), ("int2", 5, 26),
                               ("uint2", 5, 25)):
        with_weight(f"05_{kind}_short", tensor("w", [count], dtype, b"\x21"),
                    at=field(9, b"\x21"))
    with_weight("06_two_data_fields", tensor("w", [3], 1, ROW, field(4, ROW)), at=field(4, ROW))
    packed = field(7, b"\1\2\3")
    with_weight("06_wrong_field", tensor("w", [3], 1, None, packed), at=packed)
    for kind in (0, 9999, 8, 14, 15):
        with_weight(f"07_dtype_{kind}", tensor("w", [3], kind, ROW))
    places = ["../../etc/passwd", "a/../../b", "/etc/passwd", "C:\\x", "", "a\0b"]
    for number, place in enumerate(places):
        with_weight(f"08_external_{number}", external(("location", place)), EXTERNAL)
    whole = (("location", "w.bin"),)
    for name, entries in (("offset_negative", (*whole, ("offset", "-1"))),
                          ("offset_word", (*whole, ("offset", "x"))),
                          ("offset_huge", (*whole, ("offset", "99999999999999999999"))),
                          ("offset_wraps", (*whole, ("offset", "9223372036854775807"))),
                          ("length_negative", (*whole, ("length", "-12"))),
                          ("length_word", (*whole, ("length", "twelve"))),
                          ("length_other", (*whole, ("length", "11"))),
                          ("unknown_key", (*whole, ("size", "12"))),
                          ("key_twice", (*whole, *whole))):
        # The message has the keys, the file next to it the values.
        last = field(13, field(1, entries[-1][0]) + field(2, entries[-1][1]))
        if "key" in name:
            weight = external(*entries)
            with_weight(f"09_external_{name}", weight, WIRE, weight[weight.rindex(last) + 2:])
        else:
            with_weight(f"09_external_{name}", external(*entries), EXTERNAL)


def external(*entries):
    return tensor("w", [3], 1, None, many(13, [field(1, k) + field(2, v) for k, v in entries])
                  + field(14, 1))


def wire():
    head = field(1, 8)
    onnx("10_varint_11_bytes", head + b"\x3a\x0c\x08" + b"\xff" * 11, WIRE, 4)
    onnx("10_field_0", head + b"\x3a\x02\x02\x00", WIRE, 4)
    onnx("10_group", head + b"\x3a\x02\x0b\x0c", WIRE, 4)
    onnx("10_group_end", head + b"\x3a\x01\x0c", WIRE, 4)
    onnx("10_groups_nested", head + b"\x3a\x7f" + b"\x0b" * 127, WIRE, 4)
    onnx("10_wire_6", head + b"\x3a\x02\x0e\x00", WIRE, 4)
    onnx("10_wire_7", head + b"\x3a\x02\x0f\x00", WIRE, 4)
    onnx("11_longer_than_parent", head + b"\x3a\x64\x01", WIRE, 2)
    onnx("11_cut_in_tag", head + b"\x3a\x01\x80", WIRE, 4)
    onnx("12_version_twice", field(1, 8) + model(Graph([], [X])), WIRE, len(field(1, 8)))
    once = model(Graph([], [X]))
    onnx("12_graph_twice", once + field(7, Graph([], [X]).body), WIRE, len(once))
    with_weight("12_type_twice", tensor("w", [3], 1, ROW, field(2, 1)), at=(field(2, 1),))
    onnx("13_unknown_fields", model(Graph([node("Relu", ["x"], ["y"])], [X], [Y]), 21,
                                    field(999, b"\0" * 200)))


def structure():
    levels = [Graph([node("Relu", ["x"], ["y"])], (), [Y])]
    for _ in range(40):
        levels.append(Graph([node("Loop", ["", "c"], ["y"], body=levels[-1])], (), [Y]))
    onnx("14_subgraphs_deep", levels[-1], WIRE, levels[40 - 32].body)  # the 33rd graph

    def function(name, body, outputs=("b",)):
        return field(25, field(1, name) + field(4, "a") + many(5, outputs) + many(7, body)
                     + field(9, field(2, 21)) + field(9, field(1, "my") + field(2, 1))
                     + field(10, "my"))

    def calls(name, functions, at, first="f0"):
        graph = Graph([node(first, ["x"], ["y"], domain="my")], [X], [Y])
        onnx(name, model(graph, 21, field(8, field(1, "my") + field(2, 1)) + functions), WIRE, at)

    def call(name, result="b"):
        return node(name, ["a"], [result], domain="my")

    calls("15_function_calls_itself", function("f0", [call("f0")]), call("f0"))
    calls("15_functions_call_each_other", function("f0", [call("f1")])
          + function("f1", [call("f0")]), call("f0"))
    body = Graph([call("f0", "z")], (), [value("z", [3])])
    calls("15_function_cycle_in_if", function("f0", [
        node("Constant", [], ["t"], value=tensor("t", [], 9, b"\1")),
        node("If", ["t"], ["b"], then_branch=body, else_branch=body)]), call("f0", "z"))
    first = [node(f"f{i}", ["a"], ["m"], domain="my") for i in range(31)]
    second = [node(f"f{i}", ["m"], ["b"], domain="my") for i in range(31)]
    relu = node("Relu", ["a"], ["b"])
    calls("15_functions_exponential", b"".join(
        function(f"f{i}", [first[i + 1], second[i + 1]]) for i in range(30))
        + function("f30", [relu]), node_number(10000 + 256 * 62, first, second, relu))
    lacking = function("f0", [node("Relu", ["a"], ["c"])])
    calls("15_function_lacks_output", lacking, lacking[3:])
    calls("15_function_twice", 2 * function("f0", [node("Relu", ["a"], ["b"])]),
          (function("f0", [node("Relu", ["a"], ["b"])])[3:],))
    broken_graphs()


def node_number(n, first, second, relu):
    """The n-th node, from 0, of two calls of two calls …: one more than import.c's bound, 10,000
    and 256 for each of the 62 nodes in the file."""
    sizes = [2]
    while len(sizes) < 31:
        sizes.insert(0, 1 + 2 * sizes[0])  # of a call of function i with all below
    at, body = 0, None
    while n > 0:
        n -= 1
        at += 1
        if at == len(sizes):
            return relu
        body = first[at]
        if n >= sizes[at]:
            n, body = n - sizes[at], second[at]
    return body


def broken_graphs():
    def relu(x, y):
        return node("Relu", [x], [y])

    onnx("16_cycle", Graph([relu("b", "a"), relu("a", "b")], [X], [value("b", [3])]), WIRE,
         relu("b", "a"))
    onnx("16_input_from_nobody", Graph([relu("q", "y")], [X], [Y]), WIRE, relu("q", "y"))
    onnx("16_output_from_nobody", Graph([relu("x", "a")], [X], [Y]), WIRE, (Y,))
    onnx("16_two_write_one", Graph([relu("x", "y"), node("Abs", ["x"], ["y"])], [X], [Y]), WIRE,
         node("Abs", ["x"], ["y"]))
    onnx("16_writes_an_input", Graph([relu("x", "x")], [X], [X]), WIRE, relu("x", "x"))
    onnx("16_input_twice", Graph([relu("x", "y")], [X, X], [Y]), WIRE, (X,))
    nothing = tensor("t", [], 9, b"\1")
    for name, inner in (("value", "a"), ("input", "x")):
        branch = Graph([relu("x", inner)], (), [value(inner, [3])])
        choice = node("If", ["t"], ["y"], then_branch=branch, else_branch=branch)
        # The contents count there: defined behaviour, even if not good.
        onnx(f"legal_16_shadowed_{name}", Graph([node("Neg", ["x"], ["a"]), choice], [X], [Y],
                                                [nothing]))
    onnx("16_output_without_name", Graph([relu("x", "y")], [X], [value("", [3])]), WIRE,
         value("", [3]))
    good = Graph([node("Relu", ["x"], ["y"])], [X], [Y])
    onnx("17_no_opset", field(1, 8) + field(7, good.body), WIRE, 0)
    onnx("17_domain_twice", model(good, 21, field(8, field(2, 20))), WIRE, field(2, 20))
    onnx("legal_domain_twice", model(good, 21, field(8, field(2, 21))))
    for version in (0, -1, 1 << 31):
        onnx(f"17_version_{version & 0xffffffff}", model(good, version), WIRE, field(2, version))
    gelu = node("Gelu", ["x"], ["y"], domain="other")
    onnx("17_domain_not_imported", Graph([gelu], [X], [Y]), WIRE, gelu)


def vector(*numbers):
    return [len(numbers)], 7, ints(*numbers)


def huge_products():
    """Sizes that are fine one by one, but whose products are not."""
    point = ([1, 1, 1, 2], 1, floats(0, 0))
    one("20_grid_sample_product", "GridSample", [1, 1, (1 << 62) + 3, 2], [point], error=PRODUCT)
    one("20_max_unpool_product", "MaxUnpool", [1, 1 << 60, 2, 2], [([1], 7, ints(0))],
        error=PRODUCT, kernel_shape=[2, 2], strides=[2, 2])
    one("20_col2im_product", "Col2Im", [1, 4, 4], [vector(5, 5), vector(1 << 32, 1 << 32)])
    one("20_col2im_negative", "Col2Im", [1, 4, 4], [vector(-5, 5), vector(2, 2)])
    one("20_windows_many", "LpPool", [1, 1, 1 << 15, 1 << 15, 1 << 15], kernel_shape=[2, 2, 2])
    one("20_sequence_long", "SplitToSequence", [1 << 40, 2], keepdims=0)
    one("20_dft_long", "DFT", [1, 1 << 62, 1, 2], inverse=1, onesided=1)


def operators():
    weight = ([4, 3, 3, 3], 1, floats(*[0.5] * 108))
    for name, attrs in (("stride_0", {"strides": [0, 1]}), ("dilation_0", {"dilations": [1, 0]}),
                        ("group_0", {"group": 0}), ("group_2", {"group": 2}),
                        ("pads_negative", {"pads": [-9, 0, 0, 0]}), ("pads_rank", {"pads": [1, 1]}),
                        ("strides_rank", {"strides": [1, 1, 1]}),
                        ("dilations_rank", {"dilations": [1]}),
                        ("auto_pad", {"auto_pad": "SOMEHOW"}),
                        ("auto_pad_and_pads", {"auto_pad": "VALID", "pads": [1, 1, 1, 1]}),
                        ("kernel_shape", {"kernel_shape": [2, 2]}),
                        ("stride_huge", {"strides": [MAX, 1]}),
                        ("pads_huge", {"pads": [MAX, 0, MAX, 0]})):
        error = {"group_0": ATTR, "group_2": SHAPE, "pads_negative": ATTR}.get(name, REFUSED)
        one(f"18_conv_{name}", "Conv", [1, 3, 5, 5], [weight], [1, 4, 3, 3], error=error, **attrs)
    one("18_conv_kernel_larger", "Conv", [1, 3, 2, 2], [weight], [1, 4, 1, 1], error=SHAPE)
    one("18_pool_kernel_0", "MaxPool", [1, 1, 4, 4], kernel_shape=[0, 2])
    one("18_pool_no_kernel", "MaxPool", [1, 1, 4, 4])
    one("18_pool_stride_0", "AveragePool", [1, 1, 4, 4], kernel_shape=[2, 2], strides=[0, 0])
    one("18_pool_pads_larger", "MaxPool", [1, 1, 4, 4], kernel_shape=[2, 2], pads=[3, 0, 0, 0],
        error=ATTR)
    one("18_pool_pads_negative", "AveragePool", [1, 1, 4, 4], kernel_shape=[2, 2],
        pads=[0, 0, -4, 0], error=ATTR)
    turned = ([3, 4, 3, 3], 1, floats(*[0.5] * 108))
    for name, attrs in (("stride_0", {"strides": [0, 1]}), ("pads_huge", {"pads": [0, 9, 0, 9]}),
                        ("group_2", {"group": 2})):
        one(f"18_conv_transpose_{name}", "ConvTranspose", [1, 3, 5, 5], [turned], [1, 4, 7, 7],
            error=ATTR if name == "group_2" else REFUSED, **attrs)
    one("18_pool_kernel_larger", "MaxPool", [1, 1, 2, 2], error=SHAPE, kernel_shape=[5, 5])
    for name, index in (("size", 3), ("below", -4), ("least", -(1 << 63))):
        # An index is data: it is checked at run time (hostile.c).
        one(f"19_gather_{name}", "Gather", [3], [([1], 7, ints(index))], [1], error=0)
        at, row, item = ([1], 7, ints(index)), ([1, 1], 7, ints(index)), ([1], 1, floats(5))
        one(f"19_gather_elements_{name}", "GatherElements", [3], [at], [1], error=0)
        one(f"19_gather_nd_{name}", "GatherND", [3], [row], [1], error=0)
        one(f"19_scatter_elements_{name}", "ScatterElements", [3], [at, item], error=0)
        one(f"19_scatter_nd_{name}", "ScatterND", [3], [row, item], error=0)
        # ONNX defines this: an index out of range gives a row without a hot element.
        hot = node("OneHot", ["c0", "c1", "c2"], ["y"])
        weights = [tensor("c0", *at), tensor("c1", [], 7, ints(3)),
                   tensor("c2", [2], 1, floats(0, 1))]
        onnx(f"legal_19_one_hot_{name}", Graph([hot], [X], [value("y", [1, 3])], weights))
    one("20_slice_step_0", "Slice", [3], [vector(0), vector(2), vector(0), vector(0)], error=ATTR)
    one("20_slice_step_least", "Slice", [3], [vector(2), vector(0), vector(0), vector(-(1 << 63))],
        error=ATTR)
    one("20_slice_axes", "Slice", [3], [vector(0), vector(2), vector(5)], error=ATTR)
    one("20_reshape_two_minus_1", "Reshape", [6], [vector(-1, -1)])
    one("20_reshape_zero_minus_1", "Reshape", [0], [vector(0, -1)], allowzero=1)
    one("20_reshape_count", "Reshape", [6], [vector(4)], error=SHAPE)
    one("20_squeeze_twice", "Squeeze", [1, 1], [vector(0, 0)], error=ATTR)
    one("20_concat_axis", "Concat", [3], axis=1, error=ATTR)
    one("20_transpose_perm", "Transpose", [2, 3], perm=[0, 0], error=ATTR)
    one("20_transpose_rank", "Transpose", [2, 3], perm=[0])
    one("20_expand_huge", "Expand", [1], [vector(1 << 40, 1 << 40)], error=0)
    one("20_tile_huge", "Tile", [3, 3], [vector(1 << 62, 1 << 62)], error=ATTR)
    one("20_tile_2_31", "Tile", [3], [vector(1 << 31)], [3 << 31], error=0)
    one("20_tile_negative", "Tile", [3], [vector(-1)], error=ATTR)
    one("20_pad_too_much_off", "Pad", [3], [vector(-9, 0)])
    one("20_pad_rank", "Pad", [3], [vector(1)])
    one("20_split_sum", "Split", [3], [vector(1, 1)], [1])
    one("20_top_k_large", "TopK", [3], [vector(9)], error=ATTR)
    one("20_resize_scale_0", "Resize", [1, 1, 2, 2], [([0], 1, b""), ([4], 1, floats(1, 1, 0, 1))])
    one("20_resize_scale_nan", "Resize", [1, 1, 2, 2],
        [([0], 1, b""), ([4], 1, floats(1, 1, float("nan"), 1))])
    one("20_resize_scale_inf", "Resize", [1, 1, 2, 2],
        [([0], 1, b""), ([4], 1, floats(1, 1, float("inf"), 1))])
    scalar = lambda v: ([], 1, floats(v))
    for name, numbers in (("step_0", (0, 3, 0)), ("step_tiny", (0, 3, 1e-30))):
        weights = [tensor(f"c{i}", *scalar(v)) for i, v in enumerate(numbers)]
        body = node("Range", ["c0", "c1", "c2"], ["y"])
        onnx(f"20_range_{name}", Graph([body], [X], [Y], weights), REFUSED, body)
    huge_products()
    one("21_broadcast", "Add", [2], [([3], 1, ROW)], error=SHAPE)
    for rank in (65, 17):
        onnx(f"21_rank_{rank}", Graph([node("Relu", ["x"], ["y"])], [value("x", [1] * rank)], [Y]),
             WIRE, value("x", [1] * rank))
    one("23_quantize_axis", "QuantizeLinear", [2, 3], [([2], 1, floats(1, 1)), ([2], 3, b"\0\0")],
        error=SHAPE, axis=1)
    one("23_quantize_zero_dtype", "QuantizeLinear", [2, 3], [scalar(1.0), ([], 7, ints(0))])
    one("23_dequantize_float", "DequantizeLinear", [2, 3], [scalar(1.0), ([], 3, b"\0")])
    for name, number in (("0", 0.0), ("nan", float("nan")), ("inf", float("inf")),
                         ("negative", -0.5), ("denormal", 1e-45)):
        one(f"legal_23_scale_{name}", "QuantizeLinear", [2, 3], [scalar(number), ([], 3, b"\5")],
            error=0)


def loops_and_rest():
    body = Graph([node("Identity", ["c"], ["d"]), node("Identity", ["h"], ["k"])],
                 [value("i", [], 7), value("c", [], 9), value("h", [3])],
                 [value("d", [], 9), value("k", [3])])
    weights = [tensor("trip", [], 7, ints(MAX)), tensor("true", [], 9, b"\1")]
    onnx("legal_loop_endless",
         Graph([node("Loop", ["trip", "true", "x"], ["y"], body=body)], [X], [Y], weights))
    for name, wrong in (("count", "trip"), ("condition", "true")):
        mixed = [tensor(w, [], 1, floats(1)) if w == wrong else weight
                 for w, weight in zip(("trip", "true"), weights)]
        loop = node("Loop", ["trip", "true", "x"], ["y"], body=body)
        onnx(f"25_loop_{name}_float", Graph([loop], [X], [Y], mixed), SHAPE, loop)
    for op, attrs in (("Einsum", {"equation": "i,i,i"}), ("Concat", {"axis": 0}), ("Sum", {})):
        gap = node(op, ["x", "", "x"], ["y"], **attrs)
        onnx(f"25_{op.lower()}_gap", Graph([gap], [X], [Y]), ARITY, gap)
    branch = Graph([node("Identity", ["x"], ["y"])], [], [Y])
    choice = node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    onnx("25_if_float", Graph([choice], [X], [Y], [tensor("c", [], 1, floats(1))]), REFUSED, choice)

    def sparse(name, indices, values=ROW[:8], dims=(4,)):
        weight = (field(1, tensor("w", [2], 1, values))
                  + field(2, tensor("i", [2], 7, ints(*indices))) + many(3, dims))
        onnx(f"24_sparse_{name}", Graph([node("Add", ["x", "w"], ["y"])], [value("x", [4])],
                                        [value("y", [4])], (), field(15, weight)), WIRE, weight)

    sparse("unsorted", (2, 1))
    sparse("twice", (1, 1))
    sparse("beyond", (1, 4))
    sparse("negative", (-1, 1))
    for name, op, key, wrong in (("ints_as_float", "Transpose", "perm", 1.5),
                                 ("axis_as_text", "Softmax", "axis", "last")):
        body = node(op, ["x"], ["y"], **{key: wrong})
        onnx(f"25_{name}", Graph([body], [value("x", [2, 3])], [Y]), WIRE, attr(key, wrong))
    text = b"\x22\x80\x80\x80\x80\x04"
    graph = Graph([many(1, ["x"]) + many(2, ["y"]) + field(4, "Softmax")
                   + b"\x2a\x0c\x0a\x04axis" + text], [X], [Y])
    onnx("25_text_1_gib", graph, WIRE, text)
    dangling = field(1, "axis") + field(21, "nobody")
    onnx("25_dangling_reference", Graph([many(1, ["x"]) + many(2, ["y"]) + field(4, "Softmax")
                                         + field(5, dangling)], [X], [Y]), WIRE, dangling)
    outside = external(("location", "w"))
    onnx("26_constant_external", Graph([node("Constant", [], ["y"], value=outside)], [X], [Y]),
         EXTERNAL, outside)
    nothing = node("Constant", [], ["y"])
    onnx("26_constant_nothing", Graph([nothing], [X], [Y]), REFUSED, nothing)
    onnx("26_empty", b"", NO_FORMAT)
    onnx("26_text", b"ir_version: 8\ngraph { name: \"g\" }\n", 2201)  # a text has lines instead
    onnx("26_no_graph", field(1, 8) + field(8, field(2, 21)), WIRE, 0)


# ---- the expected errors ----

EXPECTED = os.path.join(CORPUS, "expected.tsv")


def read_expected():
    with open(EXPECTED, encoding="ascii") as file:
        rows = [line.split() for line in file]
    return {row[0]: (int(row[1]), int(row[2])) for row in rows}


def write_expected():
    """Rows of seeds that are not made here stay."""
    rows = {**read_expected(), **WANTS}
    with open(EXPECTED, "w", encoding="ascii") as file:
        for name in sorted(rows):
            file.write("\t".join(map(str, (name, *rows[name]))) + "\n")


def check_expected():
    rows = read_expected()
    return [f"expected.tsv has {rows.get(name)} for {name}; its defect is {pair}"
            for name, pair in WANTS.items() if rows.get(name) != pair]


if __name__ == "__main__":
    for part in (tensors, wire, structure, operators, loops_and_rest, all_safetensors, all_npy,
                 all_taktp):
        part()
    all_models(onnx)
    if sys.argv[1:] == ["--write"]:
        for seed, content in SEEDS.items():
            with open(os.path.join(CORPUS, seed), "wb") as out:
                out.write(content)
        write_expected()
        check_words(writes=True)
        print(f"{len(SEEDS)} seeds")
        sys.exit(0)
    bad = check_words() + check_classes(SEEDS) + check_expected()
    for seed, content in SEEDS.items():
        try:
            with open(os.path.join(CORPUS, seed), "rb") as have:
                if have.read() != content:
                    bad.append(f"tests/corpus/{seed} is not what seeds.py writes")
        except OSError:
            bad.append(f"tests/corpus/{seed} is missing; run seeds.py --write")
    print("\n".join(bad) or f"{len(SEEDS)} seeds are what the code writes")
    sys.exit(1 if bad else 0)
