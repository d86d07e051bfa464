"""_cases_wide.py - the same operators with other sizes, axes, types and activations."""
from _cases import (BOOL, CASES, Case, F, I16, I32, I64, I8, U8, add, bias, const, floats, ints, q,
                    value, weights)
from _flat import Op, Tensor, model

RELU, RELU_N1, RELU6, TANH = 1, 2, 3, 4


def plain(dtype, shape):
    return q(dtype, shape) if dtype in (I8, U8, I16) else Tensor(dtype, shape)


def convolutions():
    """Inner sizes and outputs around the kernels' block sizes."""
    options = (1, {0: ("b", 1), 1: ("i", 1), 2: ("i", 1)})
    for inner, outputs in ((1, 1), (4, 8), (7, 9), (8, 16), (15, 17), (24, 3), (40, 65)):
        key = f"{inner}_{outputs}"
        add(f"conv_1x1_{key}_i8", "CONV_2D",
            [q(I8, [1, 5, 7, inner]), weights(I8, [outputs, 1, 1, inner], 0), bias(outputs)],
            q(I8, [], 0.2, 0), options)
        add(f"conv_3x3_{key}_i8", "CONV_2D",
            [q(I8, [1, 6, 7, inner]), weights(I8, [outputs, 3, 3, inner], 0), bias(outputs)],
            q(I8, [], 0.4, -7), (1, {0: ("b", 0), 1: ("i", 1), 2: ("i", 1), 3: ("b", RELU6)}))
        add(f"conv_line_{key}_i8", "CONV_2D",
            [q(I8, [1, 1, 19, inner]), weights(I8, [outputs, 1, 5, inner], 0), bias(outputs)],
            q(I8, [], 0.3, 3), (1, {0: ("b", 0), 1: ("i", 1), 2: ("i", 1), 5: ("i", 2)}))
    for act in (RELU_N1, RELU6):
        sized = (1, {0: ("b", 0), 1: ("i", 2), 2: ("i", 1), 3: ("b", act)})
        add(f"conv_act_{act}_f32", "CONV_2D",
            [Tensor(F, [1, 9, 8, 3]), floats([5, 5, 3, 3]), floats([5])], Tensor(F, []), sized,
            tolerance=4e-6)  # of sums that are bounded only afterwards
        add(f"conv_act_{act}_i8", "CONV_2D",
            [q(I8, [1, 9, 8, 3]), weights(I8, [5, 5, 3, 3], 0), bias(5)], q(I8, [], 0.02), sized)
        add(f"conv_act_{act}_u8", "CONV_2D",
            [q(U8, [1, 9, 8, 3]), weights(U8, [5, 5, 3, 3], None, 0.02, 117), bias(5)],
            q(U8, [], 0.02), sized)
    for channels in (1, 8, 16, 20):
        for size in (3, 5):
            deep = (2, {0: ("b", 0), 1: ("i", 1), 2: ("i", 1), 3: ("i", 1), 4: ("b", RELU)})
            add(f"depthwise_{size}x{size}_{channels}_i8", "DEPTHWISE_CONV_2D",
                [q(I8, [1, 7, 6, channels]), weights(I8, [1, size, size, channels], 3),
                 bias(channels)], q(I8, [], 0.2, -20), deep)
    for dtype, key in ((I8, "i8"), (I16, "i16")):
        wide = (2, {0: ("b", 1), 1: ("i", 2), 2: ("i", 2), 3: ("i", 3)})
        add(f"depthwise_times_3_{key}", "DEPTHWISE_CONV_2D",
            [q(dtype, [2, 7, 6, 4], 0.01), weights(I8, [1, 3, 3, 12], 3),
             bias(12, I32 if dtype == I8 else I64)], q(dtype, [], 0.05), wide)


def dense():
    for inner, outputs, rows in ((1, 1, 1), (8, 16, 1), (33, 5, 1), (64, 40, 2), (130, 17, 7)):
        key = f"{rows}x{inner}x{outputs}"
        add(f"dense_{key}_f32", "FULLY_CONNECTED",
            [Tensor(F, [rows, inner]), floats([outputs, inner]), None], Tensor(F, []), (8, {}),
            tolerance=1e-5)
        add(f"dense_{key}_i8", "FULLY_CONNECTED",
            [q(I8, [rows, inner]), weights(I8, [outputs, inner]), bias(outputs)],
            q(I8, [], 0.3, 9), (8, {0: ("b", RELU)}))
        add(f"dense_{key}_i16", "FULLY_CONNECTED",
            [q(I16, [rows, inner], 0.0003), weights(I8, [outputs, inner]),
             bias(outputs, I64, 6e-6)], q(I16, [], 0.01), (8, {}))


def pools():
    for size, stride in ((1, 1), (2, 2), (3, 1), (5, 3)):
        for op in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
            for dtype in (F, I8):
                options = (5, {0: ("b", 0), 1: ("i", stride), 2: ("i", stride), 3: ("i", size),
                               4: ("i", size), 5: ("b", RELU6)})
                add(f"{op.lower()}_{size}{stride}_{dtype.lower()}", op,
                    plain(dtype, [1, 8, 7, 9]), plain(dtype, []), options)


def arithmetic():
    shapes = (([6], [6]), ([2, 3, 17], [17]), ([4, 1, 5], [3, 5]), ([2, 3, 4, 5], [2, 1, 4, 1]))
    for op, code in (("ADD", 11), ("SUB", 28), ("MUL", 21)):
        for i, (a, b) in enumerate(shapes):
            add(f"{op.lower()}_shape_{i}_i8", op, [q(I8, a, 0.03), q(I8, b, 0.011, 8)],
                q(I8, [], 0.05, 1), (code, {0: ("b", RELU_N1 if i == 3 else 0)}))
        add(f"{op.lower()}_scalar_u8", op, [q(U8, [3, 33], 0.02), q(U8, [1], 0.05, 3)],
            q(U8, [], 0.1, 128), (code, {}))
        add(f"{op.lower()}_i64", op, [Tensor(I64, [2, 3]), Tensor(I64, [3])], Tensor(I64, []),
            (code, {}))
    for op in ("MAXIMUM", "MINIMUM"):
        for dtype in (U8, I16, I32, I64):
            add(f"{op.lower()}_{dtype.lower()}", op, [plain(dtype, [3, 5]), plain(dtype, [5])],
                plain(dtype, []))
    for op in ("LESS", "GREATER", "GREATER_EQUAL", "LESS_EQUAL", "EQUAL", "NOT_EQUAL"):
        add(f"{op.lower()}_i64", op, [Tensor(I64, [20, 5]), Tensor(I64, [5])], Tensor(BOOL, []))
        add(f"{op.lower()}_u8", op, [q(U8, [30, 5], 0.05), q(U8, [5], 0.07)], Tensor(BOOL, []))
    add("floor_div_i64", "FLOOR_DIV", [Tensor(I64, [9, 3]), const(I64, [2, -3, 5])],
        Tensor(I64, []))
    add("floor_mod_i64", "FLOOR_MOD", [Tensor(I64, [9, 3]), const(I64, [2, -3, 5])],
        Tensor(I64, []))
    add("squared_difference_i32", "SQUARED_DIFFERENCE", [Tensor(I32, [4, 5]), Tensor(I32, [5])],
        Tensor(I32, []))


def moves():
    shape = [2, 3, 4]
    for dtype in (U8, I32, I64):
        def t(size, kind=dtype):
            return plain(kind, size)
        key = dtype.lower()
        add(f"reshape_wide_{key}", "RESHAPE", [t(shape), ints(-1, 6)], t([]))
        add(f"transpose_wide_{key}", "TRANSPOSE", [t(shape), ints(1, 2, 0)], t([]))
        add(f"concat_wide_{key}", "CONCATENATION", [t([2, 1, 4]), t(shape), t([2, 2, 4])], t([]),
            (10, {0: ("i", 1)}))
        add(f"pad_wide_{key}", "PAD", [t(shape), const(I32, [[1, 0], [0, 2], [0, 0]])], t([]))
        add(f"slice_wide_{key}", "SLICE", [t(shape), ints(1, 0, 1), ints(1, 2, -1)], t([]))
        add(f"strided_slice_wide_{key}", "STRIDED_SLICE",
            [t(shape), ints(1, 0, 3), ints(2, 3, 0), ints(1, 2, -1)], t([]), (32, {}))
        add(f"gather_wide_{key}", "GATHER", [t(shape), ints(3, 3, 0)], t([]), (23, {0: ("i", 2)}))
        add(f"gather_nd_wide_{key}", "GATHER_ND", [t(shape), const(I32, [[1], [0]])], t([]))
        add(f"split_wide_{key}", "SPLIT", [ints(0), t([4, 3])], [t([]), t([])],
            (35, {0: ("i", 2)}))
        add(f"pack_wide_{key}", "PACK", [t([2, 3]), t([2, 3]), t([2, 3])], t([]),
            (59, {0: ("i", 3), 1: ("i", 2)}))
        add(f"unpack_wide_{key}", "UNPACK", t([2, 3]), [t([]), t([]), t([])],
            (64, {0: ("i", 3), 1: ("i", 1)}))
        add(f"select_wide_{key}", "SELECT_V2", [Tensor(BOOL, [2, 3, 1]), t(shape), t([4])], t([]))
        add(f"squeeze_wide_{key}", "SQUEEZE", t([1, 3, 1, 2]), t([]), (30, {0: ("*i", [0, 2])}))
        add(f"expand_dims_wide_{key}", "EXPAND_DIMS", [t(shape), ints(-1)], t([]))
        add(f"reverse_wide_{key}", "REVERSE_V2", [t(shape), ints(2)], t([]))
    for dtype in (I32, I64):
        add(f"tile_wide_{dtype.lower()}", "TILE", [Tensor(dtype, shape), ints(2, 1, 3)],
            Tensor(dtype, []))
    for to in (I8, U8, I16, I64, BOOL):
        add(f"cast_i32_{to.lower()}", "CAST", Tensor(I32, [40]), Tensor(to, []), None, 0, 9)
    for of in (I8, U8, I16, I64, BOOL):
        add(f"cast_{of.lower()}_f32", "CAST", Tensor(of, [40]), Tensor(F, []))
    for axis in (0, 1, 2):
        for op, code in (("ARG_MAX", 40), ("ARG_MIN", 57)):
            add(f"{op.lower()}_axis_{axis}_u8", op, [q(U8, shape), ints(axis)], Tensor(I32, []),
                (code, {0: ("b", 2)}))


def reductions():
    for axes in ((0,), (3,), (0, 3), (1, 2, 3)):
        key = "".join(map(str, axes))
        options = (27, {0: ("b", 0)})
        for op in ("MEAN", "REDUCE_MAX", "REDUCE_MIN"):
            add(f"{op.lower()}_over_{key}_i8", op, [q(I8, [2, 3, 4, 5], 0.05), ints(*axes)],
                q(I8, [], 0.05 if "REDUCE" in op else 0.06), options)
        for op in ("MEAN", "SUM", "REDUCE_MAX"):
            add(f"{op.lower()}_over_{key}_f32", op, [Tensor(F, [2, 3, 4, 5]), ints(*axes)],
                Tensor(F, []), options, tolerance=1e-6)


def softmax():
    for rows, n in ((1, 3), (7, 5), (33, 16), (5, 17)):
        add(f"softmax_{rows}x{n}_f32", "SOFTMAX", Tensor(F, [rows, n]), Tensor(F, []),
            (9, {0: ("f", 1.0)}), tolerance=1e-6)
        add(f"softmax_{rows}x{n}_i8", "SOFTMAX", q(I8, [rows, n], 0.11), q(I8, [], 1 / 256, -128),
            (9, {0: ("f", 1.0)}))
    add("softmax_4d_i8", "SOFTMAX", q(I8, [2, 3, 2, 6]), q(I8, [], 1 / 256, -128),
        (9, {0: ("f", 1.0)}))


def quantise():
    for scale, zero in ((0.007, 0), (0.3, 100), (1.0, -128)):
        key = f"{scale:g}_{zero}"
        add(f"quantize_{key}", "QUANTIZE", Tensor(F, [100]), q(I8, [100], scale, zero), None, -9, 9)
        add(f"dequantize_{key}", "DEQUANTIZE", q(I8, [100], scale, zero), Tensor(F, [100]))
        add(f"requantize_{key}", "QUANTIZE", q(I8, [100], 0.05), q(I8, [100], scale, zero))
        add(f"logistic_{key}", "LOGISTIC", q(I8, [300], scale, zero), q(I8, [300], 1 / 256, -128))
        add(f"tanh_{key}", "TANH", q(I8, [300], scale, zero), q(I8, [300], 1 / 128, 0))
        add(f"hard_swish_{key}", "HARD_SWISH", q(I8, [300], scale, zero), q(I8, [300], 0.05))


def volumes():
    for padding in (0, 1):
        for strides in ((1, 1, 1), (2, 1, 3)):
            options = (106, {0: ("b", padding), 1: ("i", strides[0]), 2: ("i", strides[2]),
                             3: ("i", strides[1])})
            out = [(n * s if padding == 0 else (n - 1) * s + k)
                   for n, s, k in zip((3, 4, 2), strides, (2, 3, 3))]
            add(f"conv_3d_transpose_{padding}{strides[0]}", "CONV_3D_TRANSPOSE",
                [ints(1, *out, 4), floats([2, 3, 3, 4, 2]), Tensor(F, [1, 3, 4, 2, 2])],
                Tensor(F, []), options, tolerance=1e-6)


def products_of_one():
    """Products whose factors depend on the same bytes: x * sigmoid(x), x * x, and a number."""
    for dtype, key, zero in ((I8, "i8", -128), (U8, "u8", 0)):
        x, s, y = q(dtype, [3, 100]), q(dtype, [], 1 / 256, zero), q(dtype, [], 0.02, zero + 9)
        ops = [Op("LOGISTIC", [0], [1], None), Op("MUL", [1, 0], [2], (21, {0: ("b", RELU6)}))]
        CASES[f"swish_{key}"] = Case(model(ops, [x, s, y], [0], [2]), [value(x)], ops=["MUL"],
                                     kind=dtype)
        ops = [Op("MUL", [0, 0], [1], (21, {}))]
        CASES[f"square_{key}"] = Case(model(ops, [x, q(dtype, [], 0.16, zero)], [0], [1]),
                                      [value(x)], ops=["MUL"], kind=dtype)


def sums_of_one():
    """The same of sums: 1 - x, x + sigmoid(x), x - x, and a number."""
    for dtype, key, zero in ((I8, "i8", -128), (U8, "u8", 0)):
        x, s, y = q(dtype, [3, 100]), q(dtype, [], 1 / 256, zero), q(dtype, [], 0.06, zero + 99)
        one = const(dtype, zero + 255, scale=1 / 255, zero=zero)
        for name, op, code, given in (("less_from", "SUB", 28, [2, 0]), ("plus", "ADD", 11, [0, 2]),
                                      ("twice", "ADD", 11, [0, 0]), ("none", "SUB", 28, [0, 0])):
            CASES[f"one_{name}_{key}"] = Case(
                model([Op(op, given, [1], (code, {0: ("b", RELU6)}))], [x, y, one], [0], [1]),
                [value(x)], ops=[op], kind=dtype)
        ops = [Op("LOGISTIC", [0], [1], None), Op("ADD", [1, 0], [2], (11, {}))]
        CASES[f"one_gate_{key}"] = Case(model(ops, [x, s, y], [0], [2]), [value(x)], ops=["ADD"],
                                        kind=dtype)


GROUPS = (convolutions, dense, pools, arithmetic, moves, reductions, softmax, quantise, volumes,
          products_of_one, sums_of_one)
