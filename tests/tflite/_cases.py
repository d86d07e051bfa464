"""_cases.py - one-operator models for ops.py: floats, bytes and 16-bit numbers of each."""
import numpy as np

from _flat import Op, Tensor, model

F, I8, U8, I16, I32, I64, BOOL = "FLOAT32 INT8 UINT8 INT16 INT32 INT64 BOOL".split()
NUMPY = {F: np.float32, I8: np.int8, U8: np.uint8, I16: np.int16, I32: np.int32, I64: np.int64,
         BOOL: np.bool_}
CASES = {}
RNG = np.random.default_rng(7)


class Case:
    def __init__(self, data, inputs, runs=1, tolerance=0.0, ops=(), kind=F):
        self.data, self.inputs, self.runs, self.tolerance = data, inputs, runs, tolerance
        self.ops, self.kind = ops, kind.lower()


def value(t, low=None, high=None):
    """Random numbers for an input."""
    dtype = NUMPY[t.dtype]
    if t.dtype == F:
        return RNG.uniform(-3 if low is None else low, 3 if high is None else high,
                           t.shape).astype(dtype)
    if t.dtype == BOOL:
        return RNG.integers(0, 2, t.shape).astype(dtype)
    info = np.iinfo(dtype)
    small = t.dtype in (I32, I64)
    low = (-9 if small else info.min) if low is None else low
    high = (9 if small else info.max) if high is None else high
    return RNG.integers(low, high + 1, t.shape).astype(dtype)


def const(dtype, array, **more):
    array = np.asarray(array, NUMPY[dtype])
    return Tensor(dtype, list(array.shape), array.tobytes(), **more)


def ints(*values):
    return const(I32, values)


def kind_of(given):
    """The type of the first input that is not a setting; weights of bytes make floats hybrid."""
    kinds = [t.dtype for t in given if t is not None]
    main = next((k for k in kinds if k != I32), kinds[0])
    return "hybrid" if main == F and I8 in kinds else main


def add(name, op, given, made, options=None, low=None, high=None, runs=1, tolerance=0.0, more=(),
        between=None):
    """`given` tensors, those without data being inputs; then `made` ones."""
    if isinstance(given, Tensor):
        given = [given]
    if isinstance(made, Tensor):
        made = [made]
    tensors = [t for t in given if t is not None] + made
    places = {id(t): i for i, t in enumerate(tensors)}
    names = [-1 if t is None else places[id(t)] for t in given]
    inputs = [places[id(t)] for t in given
              if t is not None and t.data is None and not t.variable]
    outputs = [places[id(t)] for t in made]
    extra = [len(tensors) + i for i in range(len(between or ()))]
    body = Op(op, names, outputs, options, between=extra)
    values = [value(tensors[i], low, high) for i in inputs]
    CASES[name] = Case(model([body], tensors + list(between or ()), inputs, outputs, more), values,
                       runs, tolerance, [op], kind_of(given))


def q(dtype, shape, scale=0.05, zero=None):
    zero = {I8: -3, U8: 120, I16: 0}[dtype] if zero is None else zero
    return Tensor(dtype, shape, scale=scale, zero=zero)


def weights(dtype, shape, axis=None, scale=0.02, zero=0):
    info = {I8: (-127, 128), U8: (0, 256)}[dtype]
    data = RNG.integers(*info, shape).astype(NUMPY[dtype])
    scales = [scale * (1 + 0.37 * i) for i in range(shape[axis])] if axis is not None else scale
    return Tensor(dtype, shape, data.tobytes(), scale=scales, zero=zero, axis=axis or 0)


def divisors(dtype):
    """None is zero; numerators near zero are for nobody: LiteRT shifts those by more than 31."""
    data = RNG.integers(20, 120, 50)
    if dtype == I8:
        data[::2] *= -1
    return Tensor(dtype, [50], data.astype(NUMPY[dtype]).tobytes(), scale=0.07, zero=1)


def floats(shape, low=-1, high=1):
    return const(F, RNG.uniform(low, high, shape))


def bias(n, dtype=I32, scale=0.001):
    return const(dtype, RNG.integers(-500, 500, n), scale=scale, zero=0)


def convolutions():
    for padding in (0, 1):
        for stride, dilation in ((1, 1), (2, 1), (1, 2)):
            key = f"{'valid' if padding else 'same'}_{stride}{dilation}"
            conv = (1, {0: ("b", padding), 1: ("i", stride), 2: ("i", stride), 3: ("b", 1),
                        4: ("i", dilation), 5: ("i", dilation)})
            deep = (2, {0: ("b", padding), 1: ("i", stride), 2: ("i", stride), 3: ("i", 1),
                        4: ("b", 3), 5: ("i", dilation), 6: ("i", dilation)})
            add(f"conv_{key}_f32", "CONV_2D", [Tensor(F, [1, 9, 8, 3]), floats([5, 3, 3, 3]),
                                               floats([5])], Tensor(F, []), conv)
            add(f"conv_{key}_i8", "CONV_2D", [q(I8, [2, 9, 8, 3]), weights(I8, [5, 3, 3, 3], 0),
                                              bias(5)], q(I8, [], 0.11, 4), conv)
            add(f"conv_{key}_u8", "CONV_2D",
                [q(U8, [1, 9, 8, 3]), weights(U8, [5, 3, 3, 3], None, 0.02, 117), bias(5)],
                q(U8, [], 0.11, 90), conv)
            add(f"conv_{key}_i16", "CONV_2D",
                [q(I16, [1, 9, 8, 3], 0.0003), weights(I8, [5, 3, 3, 3], 0), bias(5, I64)],
                q(I16, [], 0.002), conv)
            add(f"depthwise_{key}_f32", "DEPTHWISE_CONV_2D",
                [Tensor(F, [1, 9, 8, 6]), floats([1, 3, 3, 6]), floats([6])], Tensor(F, []), deep)
            add(f"depthwise_{key}_i8", "DEPTHWISE_CONV_2D",
                [q(I8, [1, 9, 8, 6]), weights(I8, [1, 3, 3, 6], 3), bias(6)],
                q(I8, [], 0.09, -4), deep)
            add(f"depthwise_{key}_u8", "DEPTHWISE_CONV_2D",
                [q(U8, [1, 9, 8, 6]), weights(U8, [1, 3, 3, 6], None, 0.02, 130), bias(6)],
                q(U8, [], 0.09, 110), deep)
            add(f"depthwise_{key}_i16", "DEPTHWISE_CONV_2D",
                [q(I16, [1, 9, 8, 6], 0.0003), weights(I8, [1, 3, 3, 6], 3), bias(6, I64)],
                q(I16, [], 0.002), deep)
    plain = (1, {0: ("b", 1), 1: ("i", 1), 2: ("i", 1)})
    add("conv_1x1_i8", "CONV_2D", [q(I8, [1, 6, 5, 16]), weights(I8, [33, 1, 1, 16], 0), bias(33)],
        q(I8, [], 0.2, 0), plain)
    add("conv_groups_i8", "CONV_2D", [q(I8, [1, 6, 5, 8]), weights(I8, [6, 3, 3, 4], 0), bias(6)],
        q(I8, [], 0.2, 0), plain)
    add("conv_hybrid_each", "CONV_2D",
        [Tensor(F, [2, 6, 5, 4]), weights(I8, [6, 3, 3, 4], 0), floats([6])], Tensor(F, []),
        (1, {1: ("i", 1), 2: ("i", 1)}), tolerance=1e-5)
    add("depthwise_times_2_i8", "DEPTHWISE_CONV_2D",
        [q(I8, [1, 6, 5, 3]), weights(I8, [1, 3, 3, 6], 3), bias(6)], q(I8, [], 0.09, -4),
        (2, {0: ("b", 0), 1: ("i", 1), 2: ("i", 1), 3: ("i", 2)}))


def dense():
    for act in (0, 1, 3):
        options = (8, {0: ("b", act)})
        add(f"dense_{act}_f32", "FULLY_CONNECTED",
            [Tensor(F, [3, 17]), floats([9, 17]), floats([9])], Tensor(F, []), options)
        add(f"dense_{act}_i8", "FULLY_CONNECTED",
            [q(I8, [3, 17]), weights(I8, [9, 17]), bias(9)], q(I8, [], 0.06, -20), options)
        add(f"dense_{act}_u8", "FULLY_CONNECTED",
            [q(U8, [3, 17]), weights(U8, [9, 17], None, 0.02, 128), bias(9)],
            q(U8, [], 0.06, 100), options)
        add(f"dense_each_{act}_i8", "FULLY_CONNECTED",
            [q(I8, [3, 17]), weights(I8, [9, 17], 0), bias(9)], q(I8, [], 0.06, -20), options)
        add(f"dense_{act}_i16", "FULLY_CONNECTED",
            [q(I16, [3, 17], 0.0003), weights(I8, [9, 17]), bias(9, I64, 6e-6)],
            q(I16, [], 0.001), options)
    add("dense_half_i8", "FULLY_CONNECTED",
        [q(I8, [4, 8], 0.5, 0), weights(I8, [5, 8], None, 0.5)], q(I8, [], 16.0, 0), (8, {}))
    add("dense_keeps_f32", "FULLY_CONNECTED", [Tensor(F, [2, 3, 7]), floats([5, 7]), None],
        Tensor(F, []), (8, {2: ("b", 1)}))
    add("dense_hybrid", "FULLY_CONNECTED",
        [Tensor(F, [3, 17]), weights(I8, [9, 17]), floats([9])], Tensor(F, []), (8, {}),
        tolerance=1e-5)
    add("dense_hybrid_asymmetric", "FULLY_CONNECTED",
        [Tensor(F, [3, 17]), weights(I8, [9, 17]), floats([9])], Tensor(F, []),
        (8, {3: ("b", 1)}), tolerance=1e-5)
    packed = Tensor("INT4", [4, 6], bytes(RNG.integers(0, 256, 12).astype(np.uint8)), scale=0.1,
                    zero=0)
    add("dense_int4_i8", "FULLY_CONNECTED", [q(I8, [2, 6]), packed, bias(4, I32, 0.005)],
        q(I8, [], 0.2, 0), (8, {}))


def pools():
    for padding in (0, 1):
        pool = (5, {0: ("b", padding), 1: ("i", 2), 2: ("i", 2), 3: ("i", 3), 4: ("i", 2)})
        for op in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
            for dtype in (F, I8, U8, I16):
                x = Tensor(F, [2, 7, 6, 5]) if dtype == F else q(dtype, [2, 7, 6, 5])
                y = Tensor(F, []) if dtype == F else q(dtype, [])
                add(f"{op.lower()}_{padding}_{dtype.lower()}", op, x, y, pool)
    add("l2_pool_f32", "L2_POOL_2D", Tensor(F, [1, 6, 6, 3]), Tensor(F, []), pool)


def arithmetic():
    for op, code in (("ADD", 11), ("SUB", 28), ("MUL", 21)):
        for act in (0, 1, 3):
            add(f"{op.lower()}_{act}_f32", op, [Tensor(F, [2, 3, 4]), Tensor(F, [3, 1])],
                Tensor(F, []), (code, {0: ("b", act)}))
            for dtype in (I8, U8):
                add(f"{op.lower()}_{act}_{dtype.lower()}", op,
                    [q(dtype, [2, 3, 40], 0.03), q(dtype, [1, 3, 40], 0.07)],
                    q(dtype, [], 0.09), (code, {0: ("b", act)}))
        add(f"{op.lower()}_i16", op, [q(I16, [2, 50], 0.0003), q(I16, [2, 50], 0.0005)],
            q(I16, [], 0.0007), (code, {1: ("b", 0)}))
        add(f"{op.lower()}_i32", op, [Tensor(I32, [2, 3]), Tensor(I32, [3])], Tensor(I32, []),
            (code, {}))
    add("div_f32", "DIV", [Tensor(F, [2, 5]), Tensor(F, [2, 5])], Tensor(F, []), (29, {}), 1, 3)
    for dtype in (I8, U8):
        for act in (0, 1):
            add(f"div_{act}_{dtype.lower()}", "DIV",
                [q(dtype, [40, 50], 0.03, -3 if dtype == I8 else 0), divisors(dtype)],
                q(dtype, [], 0.09), (29, {0: ("b", act)}), 40, 120)
        add(f"div_by_{dtype.lower()}", "DIV",
            [q(dtype, [40, 50], 0.7), q(dtype, [40, 50], 0.05, -128 if dtype == I8 else 0)],
            q(dtype, [], 0.04), (29, {}), 1, 127)
    for dtype in (I8, I16):
        pair = [q(dtype, [9, 4]), q(dtype, [9, 4])]
        add(f"floor_mod_{dtype.lower()}", "FLOOR_MOD", pair, q(dtype, [], 0.1), None, 1, 100)
        add(f"right_shift_{dtype.lower()}", "RIGHT_SHIFT", pair, q(dtype, [], 0.1), None, 0, 7)
        add(f"bitwise_xor_{dtype.lower()}", "BITWISE_XOR", pair, q(dtype, [], 0.1))
        add(f"neg_{dtype.lower()}", "NEG", q(dtype, [400]), q(dtype, [400], 0.1))
    for op in ("MAXIMUM", "MINIMUM"):
        add(f"{op.lower()}_f32", op, [Tensor(F, [2, 5]), Tensor(F, [5])], Tensor(F, []))
        add(f"{op.lower()}_i8", op, [q(I8, [2, 5]), q(I8, [5])], q(I8, []))
    for op in ("LESS", "GREATER", "GREATER_EQUAL", "LESS_EQUAL", "EQUAL", "NOT_EQUAL"):
        add(f"{op.lower()}_f32", op, [Tensor(F, [2, 5]), Tensor(F, [5])], Tensor(BOOL, []))
        add(f"{op.lower()}_i32", op, [Tensor(I32, [20, 5]), Tensor(I32, [5])], Tensor(BOOL, []))
        add(f"{op.lower()}_i8", op, [q(I8, [30, 5], 0.05), q(I8, [5], 0.07)], Tensor(BOOL, []))
    add("pow_f32", "POW", [Tensor(F, [2, 5]), Tensor(F, [2, 5])], Tensor(F, []), None, 0.1, 3)
    add("pow_i32", "POW", [Tensor(I32, [2, 5]), Tensor(I32, [2, 5])], Tensor(I32, []), None, 0, 5)
    add("floor_div_f32", "FLOOR_DIV", [Tensor(F, [2, 5]), const(F, [0.5, -0.7, 1, -2, 3])],
        Tensor(F, []))
    add("floor_div_i32", "FLOOR_DIV", [Tensor(I32, [9, 4]), ints(2, -3, 5, -1)], Tensor(I32, []))
    add("floor_mod_i32", "FLOOR_MOD", [Tensor(I32, [9, 4]), ints(2, -3, 5, -1)], Tensor(I32, []))
    add("floor_mod_f32", "FLOOR_MOD", [Tensor(F, [9, 2]), const(F, [0.7, -1.1])], Tensor(F, []),
        tolerance=1e-5)
    add("squared_difference_f32", "SQUARED_DIFFERENCE", [Tensor(F, [2, 5]), Tensor(F, [5])],
        Tensor(F, []))
    add("squared_difference_i8", "SQUARED_DIFFERENCE", [q(I8, [9, 5], 0.03), q(I8, [9, 5], 0.05)],
        q(I8, [], 0.3, -128))
    add("logical_or", "LOGICAL_OR", [Tensor(BOOL, [9]), Tensor(BOOL, [9])], Tensor(BOOL, []))
    add("logical_and", "LOGICAL_AND", [Tensor(BOOL, [9]), Tensor(BOOL, [9])], Tensor(BOOL, []))
    add("logical_not", "LOGICAL_NOT", Tensor(BOOL, [9]), Tensor(BOOL, []))
    add("bitwise_xor", "BITWISE_XOR", [Tensor(I32, [9]), Tensor(I32, [9])], Tensor(I32, []))
    add("right_shift", "RIGHT_SHIFT", [Tensor(I32, [9]), ints(*range(9))], Tensor(I32, []))
    add("atan2", "ATAN2", [Tensor(F, [40]), Tensor(F, [40])], Tensor(F, []), tolerance=1e-6)
    add("add_n", "ADD_N", [Tensor(F, [4]), Tensor(F, [4]), Tensor(F, [4])], Tensor(F, []))


def unary():
    for op in ("LOGISTIC", "TANH", "EXP", "SIN", "COS", "ELU", "FLOOR", "CEIL", "ROUND", "NEG",
               "ABS", "SQUARE", "RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "HARD_SWISH",
               "SIGN"):
        add(f"{op.lower()}_f32", op, Tensor(F, [4, 50]), Tensor(F, [4, 50]), None, -8, 8,
            tolerance=1e-6)
    for op in ("LOG", "SQRT", "RSQRT"):
        add(f"{op.lower()}_f32", op, Tensor(F, [50]), Tensor(F, [50]), None, 0.1, 9,
            tolerance=1e-6)
    for approximate in (0, 1):
        add(f"gelu_{approximate}_f32", "GELU", Tensor(F, [50]), Tensor(F, [50]),
            (116, {0: ("b", approximate)}), tolerance=1e-6)
        for dtype in (I8, U8):
            add(f"gelu_{approximate}_{dtype.lower()}", "GELU", q(dtype, [300]),
                q(dtype, [300], 0.04), (116, {0: ("b", approximate)}))
    for dtype, least in ((I8, -128), (U8, 0)):
        add(f"logistic_{dtype.lower()}", "LOGISTIC", q(dtype, [400]),
            q(dtype, [400], 1 / 256, least))
        add(f"tanh_{dtype.lower()}", "TANH", q(dtype, [400]),
            q(dtype, [400], 1 / 128, 0 if dtype == I8 else 128))
        for op in ("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "HARD_SWISH"):
            add(f"{op.lower()}_{dtype.lower()}", op, q(dtype, [400]), q(dtype, [400], 0.04))
        add(f"leaky_{dtype.lower()}", "LEAKY_RELU", q(dtype, [400]), q(dtype, [400], 0.04),
            (75, {0: ("f", 0.3)}))
        add(f"prelu_{dtype.lower()}", "PRELU",
            [q(dtype, [2, 3, 4, 5]), weights(dtype, [1, 1, 5], None, 0.01,
                                             5 if dtype == I8 else 100)], q(dtype, [], 0.04))
    for scale in (1 / 4096, 1 / 2048, 0.0003, 0.0011):
        for op in ("LOGISTIC", "TANH"):
            add(f"{op.lower()}_i16_{scale:.4f}", op, q(I16, [4000], scale),
                q(I16, [4000], 1 / 32768))
    add("elu_i8", "ELU", q(I8, [400]), q(I8, [400], 0.04))
    for op, scale in (("EXP", 0.002), ("LOG", 0.001), ("GELU", 0.001)):
        for least in (-32768, 1):
            add(f"{op.lower()}_{least}_i16", op, q(I16, [4000], 0.0003), q(I16, [4000], scale),
                (116, {0: ("b", least > 0)}) if op == "GELU" else None, least)
    add("exp_i8", "EXP", q(I8, [400], 0.02), q(I8, [400], 0.06, -100))
    add("log_i8", "LOG", q(I8, [400], 0.02, -128), q(I8, [400], 0.04), None, -100, 127)
    add("abs_i8", "ABS", q(I8, [400]), q(I8, [400], 0.03, -100))
    add("relu_i16", "RELU", q(I16, [100], 0.001), q(I16, [100], 0.0007))
    add("leaky_f32", "LEAKY_RELU", Tensor(F, [50]), Tensor(F, []), (75, {0: ("f", 0.3)}))
    add("prelu_f32", "PRELU", [Tensor(F, [2, 3, 4, 5]), floats([1, 1, 5])], Tensor(F, []))


def softmax():
    for beta in (1.0, 0.5):
        options = (9, {0: ("f", beta)})
        add(f"softmax_{beta}_f32", "SOFTMAX", Tensor(F, [5, 9]), Tensor(F, []), options,
            tolerance=1e-6)
        for n in (1, 2, 9, 300):
            add(f"softmax_{beta}_{n}_i8", "SOFTMAX", q(I8, [5, n]), q(I8, [], 1 / 256, -128),
                options)
            add(f"softmax_{beta}_{n}_u8", "SOFTMAX", q(U8, [5, n]), q(U8, [], 1 / 256, 0), options)
        add(f"softmax_{beta}_i16", "SOFTMAX", q(I16, [5, 9], 0.0003), q(I16, [], 1 / 32768, 0),
            options)
        add(f"softmax_{beta}_i8_i16", "SOFTMAX", q(I8, [5, 9]), q(I16, [], 1 / 32768, -32768),
            options)


GROUPS = (convolutions, dense, pools, arithmetic, unary, softmax)
