"""seeds.py - small models of TensorFlow Lite, good and bad, written by code.

    seeds.py            checks that tests/corpus/tflite holds what this writes
    seeds.py --write    writes it

A name begins with the error that the file is refused with, or with `legal`.
"""
import os
import struct
import sys

from _flat import Graph, Op, Table, Tensor, file_of, model, root_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPUS = os.path.join(ROOT, "tests", "corpus", "tflite")
SEEDS = {}
F = "FLOAT32"
ONES = struct.pack("<6f", *[1.0] * 6)


def relu(tensors=None, inputs=(0,), outputs=(1,), op=None):
    return model([op or Op("RELU", [0], [1])], tensors or [Tensor(F, [2, 3]), Tensor(F, [2, 3])],
                 list(inputs), list(outputs))


def dense(**weight):
    """A layer of bytes, whose weights are wrong in one way."""
    w = dict(dtype="INT8", shape=[2, 3], data=bytes(6), scale=0.5, zero=0)
    w.update(weight)
    return model([Op("FULLY_CONNECTED", [0, 1], [2], (8, {}))],
                 [Tensor("INT8", [1, 3], scale=0.5, zero=3), Tensor(**w),
                  Tensor("INT8", [1, 2], scale=0.25, zero=-1)], [0], [2])


def legal():
    SEEDS["legal_relu"] = relu()
    SEEDS["legal_dense"] = dense()
    SEEDS["legal_conv"] = model(
        [Op("CONV_2D", [0, 1, 2], [3], (1, {1: ("i", 1), 2: ("i", 1), 3: ("b", 1)}))],
        [Tensor("INT8", [1, 3, 3, 2], scale=0.5, zero=1),
         Tensor("INT8", [2, 2, 2, 2], bytes(range(16)), scale=[0.5, 0.25]),
         Tensor("INT32", [2], bytes(8), scale=[0.25, 0.125]),
         Tensor("INT8", [1, 3, 3, 2], scale=1.0, zero=-128)], [0], [3])
    SEEDS["legal_softmax"] = model(
        [Op("SOFTMAX", [0], [1], (9, {0: ("f", 1.0)}))],
        [Tensor("INT8", [1, 4], scale=0.1, zero=0),
         Tensor("INT8", [1, 4], scale=1 / 256, zero=-128)], [0], [1])
    for op, scale, to in (("sqrt", 1.0, 1e-9), ("relu6", 1.0, 1e-9), ("relu", 1e30, 1e-30)):
        SEEDS[f"legal_far_{op}"] = model(
            [Op(op.upper(), [0], [1])],
            [Tensor("INT8", [4], scale=scale, zero=0), Tensor("INT8", [4], scale=to, zero=0)],
            [0], [1])
    sparse = Table({0: ("*i", [0, 1]), 2: ("*t", [
        Table({0: ("b", 0), 1: ("i", 2)}),
        Table({0: ("b", 1), 2: ("B", 3), 3: ("t", Table({0: ("*B", b"\0\1\2")})),
               4: ("B", 3), 5: ("t", Table({0: ("*B", b"\2\0")}))})])})
    SEEDS["legal_sparse"] = dense(data=bytes([7, 9]), sparsity=sparse)
    for name, rows in (("few", b"\0\1"), ("back", b"\2\1\0"), ("far", b"\0\1\x09")):
        bad = Table(sparse)
        bad[2] = ("*t", [sparse[2][1][0], Table({**sparse[2][1][1],
                                                 3: ("t", Table({0: ("*B", rows)}))})])
        SEEDS[f"3501_sparse_{name}"] = dense(data=bytes([7, 9]), sparsity=bad)
    SEEDS["3501_sparse_data"] = dense(data=bytes([7]), sparsity=sparse)


def graphs():
    """Branches, loops, variables and recurrence."""
    two = [Tensor(F, [2]), Tensor(F, [2])]
    bodies = [Graph([Op(op, [0], [1])], two, [0], [1]) for op in ("NEG", "EXP")]
    SEEDS["legal_if"] = model(
        [Op("IF", [0, 1], [2], (92, {0: ("i", 1), 1: ("i", 2)}))],
        [Tensor("BOOL", []), Tensor(F, [2]), Tensor(F, [2])], [0, 1], [2], bodies)
    one = struct.pack("<i", 1)
    test = Graph([Op("LESS", [0, 1], [2])],
                 [Tensor("INT32", []), Tensor("INT32", [], struct.pack("<i", 5)),
                  Tensor("BOOL", [])], [0], [2])
    step = Graph([Op("ADD", [0, 1], [2], (11, {}))],
                 [Tensor("INT32", []), Tensor("INT32", [], one), Tensor("INT32", [])], [0], [2])
    SEEDS["legal_while"] = model(
        [Op("WHILE", [0], [1], (93, {0: ("i", 1), 1: ("i", 2)}))],
        [Tensor("INT32", []), Tensor("INT32", [])], [0], [1], [test, step])
    first = Graph([Op("VAR_HANDLE", [], [0], (111, {1: ("s", "v")})),
                   Op("ASSIGN_VARIABLE", [0, 1], [])],
                  [Tensor("RESOURCE", []), Tensor(F, [6], ONES)], [], [])
    SEEDS["legal_variable"] = model(
        [Op("CALL_ONCE", [], [], (103, {0: ("i", 1)})),
         Op("VAR_HANDLE", [], [1], (111, {1: ("s", "v")})), Op("READ_VARIABLE", [1], [2]),
         Op("ADD", [0, 2], [3], (11, {})), Op("ASSIGN_VARIABLE", [1, 3], [])],
        [Tensor(F, [6]), Tensor("RESOURCE", []), Tensor(F, [6]), Tensor(F, [6])], [0], [3], [first])
    state = Tensor(F, [1, 6], variable=True)
    SEEDS["legal_svdf"] = model(
        [Op("SVDF", [0, 1, 2, -1, 3], [4], (6, {0: ("i", 1)}))],
        [Tensor(F, [1, 3]), Tensor(F, [2, 3], ONES), Tensor(F, [2, 3], ONES), state,
         Tensor(F, [1, 2])], [0], [4])
    # An operator that is imported as a whole if scales are kept.
    SEEDS["legal_svdf_i8"] = model(
        [Op("SVDF", [0, 1, 2, 3, 4], [5], (6, {0: ("i", 1), 1: ("b", 1)}))],
        [Tensor("INT8", [1, 3], scale=0.05, zero=-3),
         Tensor("INT8", [2, 3], bytes([1, 250, 90, 7, 40, 200]), scale=0.02, zero=0),
         Tensor("INT16", [2, 3], struct.pack("<6h", 900, -70, 300, 5, -1200, 64), scale=0.001,
                zero=0),
         Tensor("INT32", [2], struct.pack("<2i", 40, -9), scale=0.00001, zero=0),
         Tensor("INT16", [1, 6], scale=0.01, zero=0, variable=True),
         Tensor("INT8", [1, 2], scale=0.03, zero=4)], [0], [5])
    SEEDS["3502_not_a_variable"] = model(
        [Op("SVDF", [0, 1, 2, -1, 3], [4], (6, {0: ("i", 1)}))],
        [Tensor(F, [1, 3]), Tensor(F, [2, 3], ONES), Tensor(F, [2, 3], ONES),
         Tensor(F, [1, 6], ONES), Tensor(F, [1, 2])], [0], [4])
    SEEDS["3502_read_first"] = model(
        [Op("READ_VARIABLE", [0], [1])], [Tensor(F, [2]), Tensor(F, [2])], [0], [1])
    loop = Graph([Op("WHILE", [0], [1], (93, {0: ("i", 1), 1: ("i", 1)}))],
                 [Tensor("INT32", []), Tensor("INT32", [])], [0], [1])
    SEEDS["3501_calls_itself"] = model(
        [Op("WHILE", [0], [1], (93, {0: ("i", 1), 1: ("i", 1)}))],
        [Tensor("INT32", []), Tensor("INT32", [])], [0], [1], [loop])


def lists():
    """A list cut before and behind `rows` elements, put together around new ones."""
    def pack(*v):
        return struct.pack(f"<{len(v)}i", *v)

    def replaced(rows, size, dtype=F, **after):
        more = {} if dtype == F else {"scale": 0.5, "zero": 0}
        i32 = "INT32"
        return model(
            [Op("ADD", [1, 3], [9]), Op("RESHAPE", [9, 8], [10]),
             Op("CONCATENATION", [10, 5], [11]), Op("SLICE", [0, 11, 7], [12]),
             Op("RESHAPE", [1, 8], [13]), Op("CONCATENATION", [13, 4], [14]),
             Op("SLICE", [0, 6, 14], [15]), Op("CONCATENATION", [15, 2, 12], [16])],
            [Tensor(dtype, [4, 3], **more), Tensor(i32, []), Tensor(dtype, [rows, 3], **more),
             Tensor(i32, [], pack(1)), Tensor(i32, [1], pack(-1)), Tensor(i32, [1], pack(0)),
             Tensor(i32, [2], pack(0, 0)), Tensor(i32, [2], pack(-1, -1)),
             Tensor(i32, [1], pack(1)), Tensor(i32, []), Tensor(i32, [1]), Tensor(i32, [2]),
             Tensor(dtype, [1, 3], **{**more, **after}), Tensor(i32, [1]), Tensor(i32, [2]),
             Tensor(dtype, [1, 3], **more), Tensor(dtype, [size, 3], **more)], [0, 1, 2], [16])
    SEEDS["legal_list"] = replaced(1, 4)
    SEEDS["3502_list_rows"] = replaced(2, 5)
    SEEDS["3502_list_two_rows"] = replaced(2, 4)
    SEEDS["3502_list_size"] = replaced(1, 5)
    SEEDS["3502_list_scales"] = replaced(1, 4, "UINT8", scale=0.25)


def wrong_tables():
    whole = relu()
    SEEDS["3501_version"] = file_of(root_of([Graph([], [], [], [])], version=2))
    SEEDS["3501_no_graph"] = file_of(Table({0: ("I", 3)}))
    SEEDS["3501_root_far"] = struct.pack("<I", 1 << 30) + whole[4:]
    SEEDS["3501_root_zero"] = bytes(4) + whole[4:]
    SEEDS["3501_cut"] = whole[:len(whole) // 2]
    at = struct.unpack("<I", whole[:4])[0]
    SEEDS["3501_vtable_far"] = whole[:at] + struct.pack("<i", -(1 << 30)) + whole[at + 4:]
    SEEDS["3501_vtable_before"] = whole[:at] + struct.pack("<i", 1 << 30) + whole[at + 4:]
    SEEDS["3501_vtable_itself"] = whole[:at] + bytes(4) + whole[at + 4:]
    for i, value in enumerate((0xffffffff, 0x7fffffff, 0x40000000)):
        place = whole.index(struct.pack("<3I", 2, 2, 3))
        SEEDS[f"3501_count_{i}"] = whole[:place] + struct.pack("<I", value) + whole[place + 4:]


def wrong_graphs():
    two = [Tensor(F, [2, 3]), Tensor(F, [2, 3])]
    SEEDS["3501_input_index"] = relu(inputs=[7])
    SEEDS["3501_input_twice"] = relu(inputs=[0, 0])
    SEEDS["3501_output_index"] = relu(outputs=[-2])
    SEEDS["3501_output_unmade"] = model([], two, [0], [1])
    SEEDS["3501_no_outputs"] = relu(outputs=[])
    SEEDS["3501_read_before"] = relu(op=Op("RELU", [1], [1]))
    SEEDS["3501_made_twice"] = model([Op("RELU", [0], [1])] * 2, two, [0], [1])
    SEEDS["3501_made_input"] = relu(op=Op("RELU", [0], [0]), outputs=[0])
    SEEDS["3501_operand"] = relu(op=Op("RELU", [1 << 20], [1]))
    SEEDS["3501_buffer_short"] = relu([Tensor(F, [2, 3], ONES[:-1]), Tensor(F, [2, 3])], [])
    SEEDS["3501_buffer_long"] = relu([Tensor(F, [2, 3], ONES + b"\0"), Tensor(F, [2, 3])], [])
    SEEDS["3501_dim_minus"] = relu([Tensor(F, [2, -3]), Tensor(F, [2, 3])])
    SEEDS["3501_rank"] = relu([Tensor(F, [1] * 17), Tensor(F, [2, 3])])
    SEEDS["3501_options"] = relu(op=Op("SOFTMAX", [0], [1], (5, {})))
    SEEDS["3501_itself"] = model([Op("IF", [0, 1], [2], (92, {}))],
                                 [Tensor("BOOL", []), Tensor(F, [2]), Tensor(F, [2])], [0, 1], [2])
    SEEDS["3501_no_such_graph"] = model(
        [Op("IF", [0, 1], [2], (92, {0: ("i", 9), 1: ("i", 9)}))],
        [Tensor("BOOL", []), Tensor(F, [2]), Tensor(F, [2])], [0, 1], [2])
    for name, scale in (("zero", 0.0), ("nan", float("nan")), ("inf", float("inf")),
                        ("minus", -1.0), ("count", [0.5, 0.5, 0.5])):
        SEEDS[f"3501_scale_{name}"] = dense(scale=scale)
    SEEDS["3501_zero_point"] = model(
        [Op("LOGISTIC", [0], [1])],
        [Tensor("INT8", [2], scale=0.5, zero=200), Tensor("INT8", [2], scale=1 / 256, zero=-128)],
        [0], [1])
    SEEDS["3502_stablehlo"] = relu(op=Op("STABLEHLO_ADD", [0, 0], [1]))
    SEEDS["3502_hashtable"] = relu(op=Op("HASHTABLE_FIND", [0, 0], [1]))
    SEEDS["3502_custom"] = relu(op=Op("Nobody_Knows_It", [0], [1]))
    SEEDS["3502_string"] = relu([Tensor("STRING", [2]), Tensor("STRING", [2])])
    SEEDS["3502_missing_input"] = relu(op=Op("ADD", [0], [1]))
    SEEDS["3502_axis"] = relu(op=Op("CONCATENATION", [0, 0], [1], (10, {0: ("i", 7)})))
    SEEDS["3502_stride"] = model(
        [Op("MAX_POOL_2D", [0], [1], (5, {3: ("i", 2), 4: ("i", 2)}))],
        [Tensor(F, [1, 4, 4, 1]), Tensor(F, [1, 2, 2, 1])], [0], [1])


def main(writes):
    legal()
    graphs()
    lists()
    wrong_tables()
    wrong_graphs()
    os.makedirs(CORPUS, exist_ok=True)
    there = set(os.listdir(CORPUS))
    wrong = [name for name in there ^ set(SEEDS)]
    for name, data in SEEDS.items():
        path = os.path.join(CORPUS, name)
        if writes:
            with open(path, "wb") as f:
                f.write(data)
        elif name in there:
            with open(path, "rb") as f:
                if f.read() != data:
                    wrong.append(name)
    if wrong and not writes:
        print(f"tests/corpus/tflite is not what seeds.py --write makes: {', '.join(sorted(wrong))}")
    print(f"{len(SEEDS)} seeds")
    sys.exit(1 if wrong and not writes else 0)


main("--write" in sys.argv)
