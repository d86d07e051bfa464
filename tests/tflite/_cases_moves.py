"""_cases_moves.py - one-operator models: moves, reductions, control flow, recurrence, products."""
import numpy as np

from _cases import (BOOL, CASES, Case, F, I16, I32, I64, I8, RNG, U8, add, bias, const, floats,
                    ints, q, value, weights)
from _flat import Graph, Op, Tensor, flex, model


def moves():
    x = [2, 3, 4]
    for dtype in (F, I8):
        def t(shape, kind=dtype):
            return Tensor(F, shape) if kind == F else q(kind, shape)
        key = dtype.lower()
        add(f"reshape_{key}", "RESHAPE", [t(x), ints(4, -1)], t([]))
        add(f"squeeze_{key}", "SQUEEZE", t([1, 3, 1, 2]), t([]), (30, {0: ("*i", [0])}))
        add(f"expand_dims_{key}", "EXPAND_DIMS", [t(x), ints(1)], t([]))
        add(f"transpose_{key}", "TRANSPOSE", [t(x), ints(2, 0, 1)], t([]))
        add(f"tile_{key}" if dtype == F else "tile_skip", "TILE", [t(x), ints(1, 2, 2)], t([]))
        add(f"concat_{key}", "CONCATENATION", [t(x), t(x)], t([]), (10, {0: ("i", -1)}))
        add(f"pad_{key}", "PAD", [t(x), const(I32, [[0, 1], [2, 0], [1, 1]])], t([]))
        add(f"mirror_pad_{key}", "MIRROR_PAD", [t(x), const(I32, [[0, 1], [2, 0], [1, 1]])], t([]),
            (77, {0: ("b", 0)}))
        add(f"mirror_pad_edges_{key}", "MIRROR_PAD", [t(x), const(I32, [[0, 1], [2, 0], [1, 1]])],
            t([]), (77, {0: ("b", 1)}))
        add(f"slice_{key}", "SLICE", [t(x), ints(0, 1, 2), ints(2, -1, 1)], t([]))
        add(f"strided_slice_{key}", "STRIDED_SLICE",
            [t(x), ints(0, 2, -1), ints(2, 0, -4), ints(1, -1, -2)], t([]),
            (32, {0: ("i", 1), 1: ("i", 2)}))
        add(f"strided_shrink_{key}", "STRIDED_SLICE",
            [t(x), ints(1, 0, 1), ints(2, 3, 4), ints(1, 1, 1)], t([]), (32, {4: ("i", 1)}))
        add(f"strided_dots_{key}", "STRIDED_SLICE", [t(x), ints(0, 0, 1), ints(0, 0, 3),
                                                     ints(1, 1, 1)], t([]),
            (32, {2: ("i", 1), 3: ("i", 2)}))
        add(f"gather_{key}", "GATHER", [t(x), ints(2, 0, 1)], t([]), (23, {0: ("i", 1)}))
        add(f"gather_batch_{key}", "GATHER", [t([2, 3, 4]), const(I32, [[2, 0], [1, 1]])], t([]),
            (23, {0: ("i", 2), 1: ("i", 1)}))
        add(f"gather_nd_{key}", "GATHER_ND", [t(x), const(I32, [[0, 2], [1, 1]])], t([]))
        add(f"space_to_depth_{key}", "SPACE_TO_DEPTH", t([1, 4, 6, 2]), t([]), (19, {0: ("i", 2)}))
        add(f"depth_to_space_{key}", "DEPTH_TO_SPACE", t([1, 2, 3, 8]), t([]), (94, {0: ("i", 2)}))
        add(f"space_to_batch_{key}", "SPACE_TO_BATCH_ND",
            [t([1, 3, 4, 2]), ints(2, 2), const(I32, [[1, 0], [0, 2]])], t([]))
        add(f"batch_to_space_{key}", "BATCH_TO_SPACE_ND",
            [t([4, 2, 3, 2]), ints(2, 2), const(I32, [[1, 0], [0, 1]])], t([]))
        add(f"split_{key}", "SPLIT", [ints(1), t([2, 6])], [t([]), t([]), t([])],
            (35, {0: ("i", 3)}))
        add(f"split_v_{key}", "SPLIT_V", [t([2, 6]), ints(1, 3, -1), ints(1)],
            [t([]), t([]), t([])], (79, {0: ("i", 3)}))
        add(f"pack_{key}", "PACK", [t([2, 3]), t([2, 3])], t([]), (59, {0: ("i", 2), 1: ("i", 1)}))
        add(f"unpack_{key}", "UNPACK", t([2, 3]), [t([]), t([])], (64, {0: ("i", 2), 1: ("i", 0)}))
        add(f"reverse_{key}" if dtype == F else "reverse_i8", "REVERSE_V2", [t(x), ints(1)], t([]))
        add(f"arg_max_{key}", "ARG_MAX", [t(x), ints(2)], Tensor(I32, []), (40, {0: ("b", 2)}))
        add(f"arg_min_{key}", "ARG_MIN", [t(x), ints(1)], Tensor(I64, []), (57, {0: ("b", 4)}))
        add(f"top_k_{key}", "TOPK_V2", [t([3, 9]), const(I32, 4)], [t([]), Tensor(I32, [])])
        add(f"select_{key}", "SELECT_V2", [Tensor(BOOL, [2, 1]), t([2, 4]), t([4])], t([]))
    add("broadcast_to", "BROADCAST_TO", [Tensor(F, [3, 1]), ints(2, 3, 4)], Tensor(F, []))
    add("cumsum", "CUMSUM", [Tensor(F, [3, 5]), const(I32, 1)], Tensor(F, []),
        (102, {0: ("b", 1), 1: ("b", 1)}))
    add("one_hot", "ONE_HOT", [Tensor(I32, [5]), const(I32, 4), const(F, 2.0), const(F, -1.0)],
        Tensor(F, []), (61, {0: ("i", -1)}), 0, 3)
    add("fill", "FILL", [ints(2, 3), Tensor(F, [])], Tensor(F, []))
    add("zeros_like", "ZEROS_LIKE", Tensor(F, [2, 3]), Tensor(F, []))
    add("shape", "SHAPE", Tensor(F, [2, 3]), Tensor(I32, []), (55, {0: ("b", 2)}))
    add("rank", "RANK", Tensor(F, [2, 3]), Tensor(I32, []))
    add("cast_f32_i32", "CAST", Tensor(F, [9]), Tensor(I32, []))
    add("cast_i32_f32", "CAST", Tensor(I32, [9]), Tensor(F, []))
    add("embedding", "EMBEDDING_LOOKUP", [Tensor(I32, [3]), floats([5, 4])], Tensor(F, []), None,
        0, 4)
    add("concat_u8_scales", "CONCATENATION", [q(U8, [30, 2], 0.05), q(U8, [30, 2], 0.03, 90)],
        q(U8, [], 0.04, 100), (10, {0: ("i", 1)}))


def quantise():
    for dtype in (I8, U8, I16):
        add(f"quantize_{dtype.lower()}", "QUANTIZE", Tensor(F, [300]), q(dtype, [300]))
        add(f"dequantize_{dtype.lower()}", "DEQUANTIZE", q(dtype, [300]), Tensor(F, [300]))
        for other in (I8, U8):
            if dtype != I16 or other == I8:
                add(f"requantize_{dtype.lower()}_{other.lower()}", "QUANTIZE", q(dtype, [300]),
                    q(other, [300], 0.037))
    add("quantize_halves", "QUANTIZE", const(F, np.arange(-20, 20) * 0.25), q(I8, [40], 0.5, 0))
    add("requantize_same", "QUANTIZE", q(I8, [300], 0.05, -3), q(U8, [300], 0.05, 125))
    half = Tensor("FLOAT16", [5], np.float16([1, -2, 0.1, 3e-5, 9]).tobytes())
    add("dequantize_f16", "DEQUANTIZE", half, Tensor(F, [5]))
    add("fake_quant", "FAKE_QUANT", Tensor(F, [300]), Tensor(F, []),
        (58, {0: ("f", -1.3), 1: ("f", 2.1), 2: ("i", 8)}), tolerance=1e-6)


def reductions():
    for op in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"):
        for keep in (0, 1):
            options = (27, {0: ("b", keep)})
            add(f"{op.lower()}_{keep}_f32", op, [Tensor(F, [2, 3, 4, 5]), ints(1, 2)],
                Tensor(F, []), options, tolerance=1e-6)
            if op != "REDUCE_PROD":
                # LiteRT's own sum of int8 is always -1: it is not compared
                for dtype in (U8,) if op == "SUM" else (I8, U8):
                    add(f"{op.lower()}_{keep}_{dtype.lower()}", op,
                        [q(dtype, [2, 3, 7, 5], 0.05), ints(1, 2)],
                        q(dtype, [], 0.05 if "REDUCE" in op else 0.07), options)
        add(f"{op.lower()}_i32", op, [Tensor(I32, [4, 5]), ints(1)], Tensor(I32, []), (27, {}))
    for axes in ((1,), (0, 2), (0, 1, 2)):
        key = "".join(map(str, axes))
        add(f"mean_{key}_i16", "MEAN", [q(I16, [3, 5, 7], 0.001), ints(*axes)],
            q(I16, [], 0.004), (27, {}))
        for dtype, scale, made in ((I8, 0.02, 0.03), (I16, 0.0001, 0.0002)):
            add(f"reduce_prod_{key}_{dtype.lower()}", "REDUCE_PROD",
                [q(dtype, [3, 5, 7], scale), ints(*axes)], q(dtype, [], made),
                (27, {0: ("b", len(axes) == 2)}))
    for dtype in (I8, U8):
        for scale in (0.02, 0.1):
            add(f"log_softmax_{scale}_{dtype.lower()}", "LOG_SOFTMAX", q(dtype, [20, 31], scale),
                q(dtype, [], 1 / 16, 127 if dtype == I8 else 255), tolerance=1)
    add("mean_all_i8", "MEAN", [q(I8, [1, 8, 8, 16], 0.05), ints(1, 2)], q(I8, [], 0.02),
        (27, {0: ("b", 1)}))
    add("mean_same_i8", "MEAN", [q(I8, [1, 8, 8, 16], 0.05), ints(1, 2)], q(I8, [], 0.05),
        (27, {0: ("b", 1)}))
    for op in ("SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN"):
        add(f"{op.lower()}_bool", op, [Tensor(BOOL, [4, 5]), ints(1)], Tensor(BOOL, []), (27, {}))
    add("scatter_nd_bool", "SCATTER_ND",
        [const(I32, [[1], [3], [1]]), Tensor(BOOL, [3, 3]), ints(5, 3)], Tensor(BOOL, []))
    add("reduce_any", "REDUCE_ANY", [Tensor(BOOL, [4, 3]), ints(1)], Tensor(BOOL, []), (27, {}))
    add("reduce_all", "REDUCE_ALL", [Tensor(BOOL, [4, 3]), ints(1)], Tensor(BOOL, []), (27, {}))


def control():
    pair = [Tensor(F, [3]), Tensor(F, [3])]
    more = [Graph([Op(op, [0], [1])], pair, [0], [1]) for op in ("NEG", "EXP")]
    add("if", "IF", [Tensor(BOOL, []), Tensor(F, [3])], Tensor(F, [3]),
        (92, {0: ("i", 1), 1: ("i", 2)}), more=more, tolerance=1e-6)
    test = Graph([Op("LESS", [0, 2], [3])],
                 [Tensor(I32, []), Tensor(F, [3]), const(I32, 5), Tensor(BOOL, [])], [0, 1], [3])
    step = Graph([Op("ADD", [0, 2], [3], (11, {})), Op("MUL", [1, 4], [5], (21, {}))],
                 [Tensor(I32, []), Tensor(F, [3]), const(I32, 2), Tensor(I32, []), const(F, 1.5),
                  Tensor(F, [3])], [0, 1], [3, 5])
    add("while", "WHILE", [Tensor(I32, []), Tensor(F, [3])], [Tensor(I32, []), Tensor(F, [3])],
        (93, {0: ("i", 1), 1: ("i", 2)}), more=[test, step], tolerance=1e-6)


def recurrent():
    state = Tensor(F, [2, 4 * 3], variable=True)
    add("svdf_f32", "SVDF", [Tensor(F, [2, 5]), floats([4, 5]), floats([4, 3]), floats([2]), state],
        Tensor(F, [2, 2]), (6, {0: ("i", 2), 1: ("b", 1)}), runs=3, tolerance=1e-6)
    integer = Tensor(I16, [2, 4 * 3], scale=0.001, zero=0, variable=True)
    add("svdf_i8", "SVDF",
        [q(I8, [2, 5]), weights(I8, [4, 5]),
         const(I16, RNG.integers(-2000, 2000, [4, 3]), scale=0.0005, zero=0), bias(2), integer],
        q(I8, [2, 2], 0.02, 0), (6, {0: ("i", 2), 1: ("b", 1)}), runs=3)


def rnn():
    for major in (0, 1):
        shape = [3, 2, 5] if major else [2, 3, 5]
        state = Tensor(F, [2, 4], variable=True)
        add(f"rnn_{major}", "UNIDIRECTIONAL_SEQUENCE_RNN",
            [Tensor(F, shape), floats([4, 5]), floats([4, 4]), floats([4]), state], Tensor(F, []),
            (31, {0: ("b", major), 1: ("b", 4)}), runs=2, tolerance=1e-6)
    add("rnn_cell", "RNN", [Tensor(F, [2, 5]), floats([4, 5]), floats([4, 4]), floats([4]),
                            Tensor(F, [2, 4], variable=True)], Tensor(F, []), (7, {0: ("b", 1)}),
        runs=2, tolerance=1e-6)


def lstm():
    for cifg in (0, 1):
        for peephole in (0, 1):
            for project in (0, 1):
                n, m = 4, 3 if project else 4
                gates = [None if cifg and k == 0 else True for k in range(4)]
                given = [Tensor(F, [2, 3, 5])]
                given += [g and floats([n, 5]) for g in gates]
                given += [g and floats([n, m]) for g in gates]
                given += [floats([n]) if peephole and not (cifg and k == 0) else None
                          for k in range(3)]
                given += [g and floats([n]) for g in gates]
                given += [floats([m, n]), floats([m])] if project else [None, None]
                given += [Tensor(F, [2, m], variable=True), Tensor(F, [2, n], variable=True)]
                add(f"lstm_{cifg}{peephole}{project}", "UNIDIRECTIONAL_SEQUENCE_LSTM", given,
                    Tensor(F, []), (71, {0: ("b", 4), 1: ("f", 1.5), 3: ("b", 0)}), runs=2,
                    tolerance=1e-5)


def resize():
    for aligns, halves in ((0, 0), (1, 0), (0, 1)):
        for size in ((7, 9), (3, 2), (4, 5)):
            key = f"{aligns}{halves}_{size[0]}"
            for dtype in (F, I8, U8):
                x = Tensor(F, [1, 4, 5, 3]) if dtype == F else q(dtype, [1, 4, 5, 3])
                y = Tensor(F, []) if dtype == F else q(dtype, [])
                # LiteRT mixes bytes in floats; on Arm its compiler fuses products and sums
                add(f"bilinear_{key}_{dtype.lower()}", "RESIZE_BILINEAR", [x, ints(*size)], y,
                    (15, {2: ("b", aligns), 3: ("b", halves)}),
                    tolerance=1 if dtype == U8 and halves else 1e-6)
                x = Tensor(F, [1, 4, 5, 3]) if dtype == F else q(dtype, [1, 4, 5, 3])
                y = Tensor(F, []) if dtype == F else q(dtype, [])
                add(f"nearest_{key}_{dtype.lower()}", "RESIZE_NEAREST_NEIGHBOR", [x, ints(*size)],
                    y, (74, {0: ("b", aligns), 1: ("b", halves)}))


def products():
    for turns in ((0, 0), (1, 0), (0, 1)):
        a, b = ([2, 5, 3] if turns[0] else [2, 3, 5]), ([2, 4, 5] if turns[1] else [2, 5, 4])
        options = (101, {0: ("b", turns[0]), 1: ("b", turns[1])})
        key = f"{turns[0]}{turns[1]}"
        add(f"batch_matmul_{key}_f32", "BATCH_MATMUL", [Tensor(F, a), Tensor(F, b)], Tensor(F, []),
            options, tolerance=1e-6)
        add(f"batch_matmul_{key}_i8", "BATCH_MATMUL", [q(I8, a), q(I8, b, 0.02, 5)],
            q(I8, [], 0.1), options)
        add(f"batch_matmul_{key}_i16", "BATCH_MATMUL", [q(I16, a, 0.0003), q(I16, b, 0.0002)],
            q(I16, [], 0.0004), options)
    for padding in (0, 1):
        for stride in (1, 2):
            options = (49, {0: ("b", padding), 1: ("i", stride), 2: ("i", stride)})
            out = 4 * stride + (0 if padding == 0 else 3 - stride)
            key = f"{padding}{stride}"
            add(f"transpose_conv_{key}_f32", "TRANSPOSE_CONV",
                [ints(1, out, out, 3), floats([3, 3, 3, 2]), Tensor(F, [1, 4, 4, 2])],
                Tensor(F, []), options, tolerance=1e-6)
            add(f"transpose_conv_{key}_i8", "TRANSPOSE_CONV",
                [ints(1, out, out, 3), weights(I8, [3, 3, 3, 2], 0), q(I8, [1, 4, 4, 2])],
                q(I8, [], 0.1), options)
            add(f"transpose_conv_{key}_hybrid", "TRANSPOSE_CONV",
                [ints(1, out, out, 3), weights(I8, [3, 3, 3, 2], 0), Tensor(F, [1, 4, 4, 2])],
                Tensor(F, []), options, tolerance=1e-5)
    for scale, zero, out, out_zero in ((0.05, -128, 0.02, -128), (0.9, -120, 0.01, -128),
                                       (0.0039, -128, 0.1, 5), (2e-5, -128, 1.7, -128)):
        for op in ("SQRT", "RSQRT"):
            add(f"{op.lower()}_{scale}_i8", op, q(I8, [16, 64], scale, zero),
                q(I8, [], out, out_zero), low=zero, high=127)
    add("conv_3d", "CONV_3D", [Tensor(F, [1, 4, 5, 6, 2]), floats([2, 3, 3, 2, 4]), floats([4])],
        Tensor(F, []), (106, {0: ("b", 0), 1: ("i", 1), 2: ("i", 2), 3: ("i", 1)}), tolerance=1e-6)
    add("log_softmax", "LOG_SOFTMAX", Tensor(F, [3, 7]), Tensor(F, []), tolerance=1e-6)
    add("l2_norm", "L2_NORMALIZATION", Tensor(F, [3, 7]), Tensor(F, []), (12, {}), tolerance=1e-6)
    add("local_norm", "LOCAL_RESPONSE_NORMALIZATION", Tensor(F, [1, 2, 3, 9]), Tensor(F, []),
        (13, {0: ("i", 2), 1: ("f", 1.5), 2: ("f", 0.3), 3: ("f", 0.7)}), tolerance=1e-6)


def scatters():
    add("scatter_nd", "SCATTER_ND", [const(I32, [[1], [3], [1]]), Tensor(F, [3, 2]), ints(5, 2)],
        Tensor(F, []))
    add("sparse_to_dense", "SPARSE_TO_DENSE",
        [const(I32, [[0, 1], [2, 0]]), ints(3, 2), Tensor(F, [2]), const(F, -1.0)], Tensor(F, []))
    add("dynamic_update_slice", "DYNAMIC_UPDATE_SLICE",
        [Tensor(F, [4, 5]), Tensor(F, [2, 3]), ints(1, 9)], Tensor(F, []))
    add("segment_sum", "SEGMENT_SUM", [Tensor(F, [4, 2]), ints(0, 0, 1, 3)], Tensor(F, []))
    for how in ("SUM", "PROD", "MIN", "MAX"):
        add(f"unsorted_segment_{how.lower()}", f"UNSORTED_SEGMENT_{how}",
            [Tensor(F, [4, 2]), ints(1, 0, 1, 1), const(I32, 3)], Tensor(F, []))
    add("reverse_sequence", "REVERSE_SEQUENCE", [Tensor(F, [3, 4, 2]), ints(4, 2, 1)],
        Tensor(F, []), (87, {0: ("i", 1), 1: ("i", 0)}))
    add("matrix_diag", "MATRIX_DIAG", Tensor(F, [2, 3]), Tensor(F, []))
    add("matrix_set_diag", "MATRIX_SET_DIAG", [Tensor(F, [2, 3, 4]), Tensor(F, [2, 3])],
        Tensor(F, []))
    add("bucketize", "BUCKETIZE", Tensor(F, [30]), Tensor(I32, []),
        (115, {0: ("*f", [-1.0, 0.5, 2.0])}))
    add("dilate", "DILATE", [Tensor(F, [3, 4]), ints(2, 3), const(F, -1.0)], Tensor(F, []))
    boxes = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11],
                      [1, 11.1, 0, 10.1], [0, 100, 1, 101]], np.float32)
    scores = const(F, [0.9, 0.75, 0.6, 0.95, 0.5, 0.3])
    common = [const(F, boxes), scores, const(I32, 4), const(F, 0.5), const(F, 0.4)]
    add("nms_v4", "NON_MAX_SUPPRESSION_V4", common, [Tensor(I32, [4]), Tensor(I32, [])])
    add("nms_v5", "NON_MAX_SUPPRESSION_V5", common + [const(F, 0.0)],
        [Tensor(I32, [4]), Tensor(F, [4]), Tensor(I32, [])])


def detections():
    """Boxes far enough apart that all results are valid: LiteRT leaves the others uninitialised."""
    anchors = np.array([[0.5, 0.5 + i, 1, 1] for i in range(8)], np.float32)
    anchors[5:, 1] = anchors[:3, 1] + 0.05
    options = flex({"max_detections": 3, "max_classes_per_detection": 1, "num_classes": 2,
                    "nms_score_threshold": 0.05, "nms_iou_threshold": 0.5, "y_scale": 10.0,
                    "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0, "use_regular_nms": False})
    tensors = [Tensor(F, [1, 8, 4]), Tensor(F, [1, 8, 3]), const(F, anchors),
               Tensor(F, [1, 3, 4]), Tensor(F, [1, 3]), Tensor(F, [1, 3]), Tensor(F, [1])]
    body = Op("TFLite_Detection_PostProcess", [0, 1, 2], [3, 4, 5, 6], custom=options)
    for i in range(4):
        inputs = [value(tensors[0], -0.5, 0.5), value(tensors[1], 0.1, 1)]
        CASES[f"detections_{i}"] = Case(model([body], tensors, [0, 1], [3, 4, 5, 6]), inputs,
                                        tolerance=1e-5, ops=["TFLite_Detection_PostProcess"])


def fourier():
    for shape, size in (([8, 8], (8, 8)), ([1, 4, 16], (4, 16)), ([3, 5], (4, 8))):
        tensors = [Tensor(F, shape), ints(*size), Tensor("COMPLEX64", []), Tensor(F, [])]
        for op in ("COMPLEX_ABS", "REAL", "IMAG"):
            x = value(tensors[0])
            CASES[f"rfft2d_{op.lower()}_{shape[-1]}"] = Case(
                model([Op("RFFT2D", [0, 1], [2], (105, {})), Op(op, [2], [3])], tensors, [0], [3]),
                [x], tolerance=1e-5, ops=["RFFT2D", op])
    moves = (("SQUEEZE", None, (43, {0: ("*i", [-2])})), ("SQUEEZE", None, (43, {})),
             ("RESHAPE", ints(9, 4), (17, {})), ("RESHAPE", ints(-1), (17, {})),
             ("EXPAND_DIMS", ints(-1), None))
    for i, (op, where, options) in enumerate(moves):
        tensors = [Tensor(F, [4, 1, 16]), ints(1, 16), Tensor("COMPLEX64", []),
                   Tensor("COMPLEX64", []), Tensor(F, [])] + ([] if where is None else [where])
        CASES[f"complex_{i}_{op.lower()}"] = Case(
            model([Op("RFFT2D", [0, 1], [2], (105, {})), Op(op, [2] if where is None else [2, 5],
                                                            [3], options),
                   Op("CAST", [3], [4], (37, {}))], tensors, [0], [4]),
            [value(tensors[0])], tolerance=1e-5, ops=["RFFT2D", op, "CAST"])


def lists():
    """An element of a list replaced, at a position that depends on values; parts and results of
    bytes have their own scales."""
    for key, dtype, part, made in (("f32", F, None, None), ("u8", U8, None, None),
                                   ("scales_u8", U8, (0.5, 7), (1.1, 3)),
                                   ("element_u8", U8, (0.5, 7), None)):
        def row(shape, given=None, kind=dtype):
            scale, zero = given or (0.05, 120)
            return Tensor(F, shape) if kind == F else q(kind, shape, scale, zero)
        one, last = part if made else None, made
        tensors = [row([4, 3], one), Tensor(I32, []), row([1, 3], part), const(I32, 1), ints(-1),
                   ints(0), ints(0, 0), ints(-1, -1), ints(1), Tensor(I32, []), Tensor(I32, [1]),
                   Tensor(I32, [2]), row([1, 3], one), Tensor(I32, [1]), Tensor(I32, [2]),
                   row([1, 3], one), row([4, 3], last)]
        tensors[12].signature = tensors[15].signature = [-1, -1]
        ops = [Op("ADD", [1, 3], [9]), Op("RESHAPE", [9, 8], [10]),
               Op("CONCATENATION", [10, 5], [11]), Op("SLICE", [0, 11, 7], [12]),
               Op("RESHAPE", [1, 8], [13]), Op("CONCATENATION", [13, 4], [14]),
               Op("SLICE", [0, 6, 14], [15]), Op("CONCATENATION", [15, 2, 12], [16])]
        for at in (0, 2, 3):
            inputs = [value(tensors[0]), np.array(at, np.int32), value(tensors[2])]
            CASES[f"list_{key}_{at}"] = Case(model(ops, tensors, [0, 1, 2], [16]), inputs)


GROUPS = (detections, moves, quantise, reductions, control, recurrent, rnn, lstm, resize, products,
          scatters, fourier, lists)
