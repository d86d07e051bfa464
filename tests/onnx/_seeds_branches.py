"""_seeds_branches.py - branches of the reader that nothing else takes: names of sizes word by word,
accumulated depths, values computed in rare ways, and expensive ones."""
from _pb import Graph, field, floats, ints, many, model, node, tensor, value, varint
from _seeds_empty import all_empty
from _seeds_forms import all_forms
from _seeds_named import all_named
from _seeds_ops import BIG, MAX, REFUSED, WIRE

ROW, FLAG = value("x", [3]), tensor("t", [], 9, b"\1")


def all_branches(onnx):
    words(onnx)
    files(onnx)
    depths(onnx)
    shapes(onnx)
    worked_out(onnx)
    long_lists(onnx)
    own_ops(onnx)
    all_forms(onnx)
    all_empty(onnx)
    all_named(onnx)
    found_sizes(onnx)


def words(onnx):
    """Size expressions that end, or have a space or an invalid letter, at every position."""
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
    """A shape that is computed from s = [n, 4, m], numbers, and the unknown v."""
    def ask(name, nodes, constants=(), error=0):  # a run finds the sizes
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


def long_lists(onnx):
    """Work that grows more than linearly: as much of it as a load's budget allows."""
    def vector(name, *numbers):
        return tensor(name, [len(numbers)], 7, ints(*numbers))

    each = [node("Unique", ["q"], [f"y{i}"], axis=0) for i in range(20)]
    table = [node("Range", ["zero", "many", "one"], ["r"]), node("Unsqueeze", ["r", "axis"], ["u"]),
             node("Pad", ["u", "pads"], ["q"])]  # rows that differ in their last element
    onnx("legal_29_tables_of_rows", Graph(
        [*table, *each], [], [value("y0", [1, 1])],
        [tensor("zero", [], 7, ints(0)), tensor("many", [], 7, ints(2000)),
         tensor("one", [], 7, ints(1)), vector("axis", 1), vector("pads", 0, 15, 0, 0)]))
    boxes = node("NonMaxSuppression", ["b", "s", "most"], ["y"])
    again = [node("NonMaxSuppression", ["b", "s", "most"], [f"y{i}"]) for i in range(9)]
    onnx("29_tables_of_boxes", Graph(
        [node("ConstantOfShape", ["four"], ["b"]), node("ConstantOfShape", ["one"], ["s"]), *again,
         boxes], [], [value("y", [1, 3])],
        [vector("four", 1, 8000, 4), vector("one", 1, 4, 8000), vector("most", MAX)]), 0)
    # One NaN after the numbers; or in their order.
    for name, sorted_, want in (("sorted", 1, (1, 2)), ("as_they_come", 0, (2, 1))):
        last = node("Reshape", ["x", "times"], ["y"])
        onnx(f"legal_29_unique_{name}", Graph(
            [node("Unique", ["v"], ["u", "", "", "n"], sorted=sorted_),
             node("Sub", ["n", "less"], ["d"]), node("Add", ["d", "three"], ["times"]), last],
            [value("x", [3])], [value("y", [3, 1])],
            [tensor("v", [3], 1, floats(float("nan"), 1, float("nan"))), vector("less", *want),
             vector("three", 3, 1)]))
    # Numbers that are one in f64.
    onnx("legal_29_unique_large", Graph(
        [node("Unique", ["v"], ["u"]), node("Shape", ["u"], ["n"]),
         node("Reshape", ["x", "n"], ["y"])], [value("x", [2])], [value("y", [2])],
        [vector("v", MAX, MAX - 1, MAX)]))


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


def found_sizes(onnx):
    """Sizes found at run time that broadcast, and an input that only one branch reads."""
    zero, one = tensor("zero", [1], 7, ints(0)), tensor("one", [1], 7, ints(1))
    found = [n for x, to in (("x", "a"), ("y", "b"))
             for n in (node("NonZero", [x], ["at_" + to]),
                       node("Squeeze", ["at_" + to, "zero"], ["in_" + to]),
                       node("Gather", [x, "in_" + to], [to], axis=0))]
    both = [node("Add", ["a", "b"], ["s"]), node("Mul", ["s", "b"], ["t"]),
            node("Shape", ["b"], ["size"]), node("Expand", ["a", "size"], ["z"])]
    onnx("legal_29_sizes_meet", model(Graph(
        [*found, *both], [value("x", ["n"]), value("y", ["m"])],
        [value("t", ["k"]), value("z", ["k"])], [zero]), 13))
    names = [f"v{i}" for i in range(8)]
    around = [node("Neg", [a], [b]) for a, b in zip(names, names[1:])]

    def branch(reads, *last):
        return Graph([node("Mul", [reads, "mask"], ["v0"]), *around, *last], (),
                     [value("v7", ["b", "e"]), value("k", ["b", "k"])])

    yes = branch("past", node("Slice", ["past", "zero", "zero", "one"], ["k"]))
    no = branch("h", node("Identity", ["h"], ["k"]))
    choice = node("If", ["c"], ["y", "cache"], then_branch=yes, else_branch=no)
    onnx("legal_29_split_caches", model(Graph(
        [choice], [value(n, ["b", "e"]) for n in ("h", "past", "mask")] + [value("c", [], 9)],
        [value("y", ["b", "e"]), value("cache", ["b", "k"])], [zero, one]), 13))
