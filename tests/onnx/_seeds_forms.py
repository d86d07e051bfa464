"""_seeds_forms.py - the remaining checks of operators, and forms that no exporter writes."""
from _pb import Graph, floats, node, tensor, value
from _seeds_ops import BIG, ML, MS, PRODUCT, REFUSED, SHAPE, built, f32, i64, i64_0, tree, x, zeros

LEAST = -(1 << 63)


def scalar(number):
    return "weight", [], 1, floats(number)


def all_forms(onnx):
    def refused(name, op, *inputs, error=REFUSED, **rest):
        content, body = built(op, inputs, **rest)
        onnx(f"29_{name}", content, error, body)

    def legal(name, op, *inputs, **rest):
        onnx(f"legal_29_{name}", built(op, inputs, **rest)[0])

    weights(onnx)
    windows(refused, legal)
    resizes(refused, legal)
    heads(refused, legal)
    bytes_of(refused, legal)
    rows(refused, legal)
    places(refused, legal)
    lists(refused)


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
    one_block = [1] + [2] * 15
    refused("quantize_rank_16", "QuantizeLinear", x(*[2] * 16), x(*one_block),
            x(*one_block, dtype=2), axis=0, block_size=2, error=2102)


def rows(refused, legal):
    """Classic machine learning."""
    legal("unique_rows", "Unique", zeros(4097))
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
    refused("slice_uneven", "Slice", x(3, 2), i64(0, 1), i64(BIG, 2), i64(1), error=2104)
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


def lists(refused):
    body = Graph([node("Add", ["h", "e"], ["k"]), node("Identity", ["e"], ["r"])],
                 [value("h", [1]), value("e", [1])], [value("k", [1]), value("r", [1])])
    for batch in (0, 65):
        refused(f"scan_8_batch_{batch}", "Scan", None, x(batch, 1), x(batch, 3, 1), opset=8,
                num_scan_inputs=1, body=body, outputs=("y", "z"))

