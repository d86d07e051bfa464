"""_seeds_ops.py - the checks of each ONNX operation, with a seed for each."""
from _pb import Graph, field, floats, ints, many, model, node, tensor, value

WIRE, REFUSED, STATIC, SHAPE, ATTR, PRODUCT = 3301, 3302, 3303, 2101, 2104, 2106
MS, ML, TRAINING = "com.microsoft", "ai.onnx.ml", "ai.onnx.preview.training"
BIG, MAX = 1 << 32, (1 << 63) - 1


def x(*dims, dtype=1):
    """An input of the model."""
    return "input", list(dims), dtype


def i64(*numbers):
    return "weight", [len(numbers)], 7, ints(*numbers)


def i64_0(number):
    return "weight", [], 7, ints(number)


def f32(*numbers):
    return "weight", [len(numbers)], 1, floats(*numbers)


def zeros(*dims, dtype=1):
    sizes, count = {1: 4, 2: 1, 3: 1, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8}, 1
    for size in dims:
        count *= size
    return "weight", list(dims), dtype, bytes(count * sizes[dtype])


def built(op, inputs, outputs=("y",), opset=21, domain="", **attrs):
    """A model of one node, and the node."""
    names = [f"i{k}" if given else "" for k, given in enumerate(inputs)]
    body = node(op, names, list(outputs), domain=domain, **attrs)
    pairs = [pair for pair in zip(names, inputs) if pair[1]]
    graph = Graph([body], [value(n, *of[1:]) for n, of in pairs if of[0] == "input"],
                  [value(n, [1]) for n in outputs if n],
                  [tensor(n, *of[1:]) for n, of in pairs if of[0] == "weight"])
    more = field(8, field(1, domain) + field(2, 1)) if domain else b""
    return model(graph, opset, more), body


def all_ops(onnx):
    def refused(name, op, *inputs, error=REFUSED, **rest):
        content, body = built(op, inputs, **rest)
        onnx(f"30_{name}", content, error, body)

    spatial(refused)
    tables(refused)
    trees(refused)
    classic_ml(refused)
    attention(refused)
    quantized(refused)
    lists(refused)
    recurrent(refused)
    subgraphs(onnx)
    sparse(onnx)


def spatial(refused):
    theta = x(1, 2, 3)
    refused("affine_grid_rank", "AffineGrid", theta, i64(1, 1, 2, 2, 2, 2))
    refused("affine_grid_theta", "AffineGrid", x(2, 3), i64(1, 1, 2, 2))
    for name, size in (("0", 0), ("large", 1 << 15)):
        refused(f"affine_grid_{name}", "AffineGrid", theta, i64(1, 1, size, 2))
    refused("affine_grid_product", "AffineGrid", x(1, 3, 4), i64(1, 1, 1 << 13, 1 << 13, 2))
    refused("batch_norm_spatial", "BatchNormalization", x(1, 2, 3), *[x(2)] * 4, opset=7, spatial=0)
    refused("crop_pad_negative", "CenterCropPad", x(2, 3), i64(-1, 3))
    refused("crop_pad_large", "CenterCropPad", x(2, 3), i64(BIG, 3))
    refused("crop_pad_count", "CenterCropPad", x(2, 3), i64(1))
    refused("crop_pad_many", "CenterCropPad", x(2, 3), i64(1, 2, 1), axes=[0, 1, 0])
    refused("crop_pad_twice", "CenterCropPad", x(2, 3), i64(1, 2), axes=[1, 1])
    refused("lp_norm_p", "LpNormalization", x(2, 3), p=3)
    refused("group_norm_rank", "GroupNormalization", x(2), x(2), x(2), num_groups=1)
    refused("grid_sample_rank", "GridSample", x(1, 1, 2, 2, 2, 2), x(1, 2, 2, 2, 2, 4))
    refused("conv_transpose_shape", "ConvTranspose", x(1, 1, 3, 3), x(1, 1, 2, 2),
            output_shape=[5, 5, 5])
    refused("col2im_rank", "Col2Im", x(1, 4, 4), i64(*[2] * 7), i64(*[1] * 7))
    refused("unpool_negative", "MaxUnpool", x(1, 1, 2, 2), x(1, 1, 2, 2, dtype=7),
            i64(1, 1, -4, 4), kernel_shape=[2, 2], strides=[2, 2])
    refused("unpool_smaller", "MaxUnpool", x(1, 1, 2, 2), x(1, 1, 2, 2, dtype=7), i64(1, 1, 2, 2),
            kernel_shape=[2, 2], strides=[2, 2])
    refused("pool_rank", "LpPool", x(*[1] * 9), kernel_shape=[1] * 7)
    refused("pool_pads_end", "LpPool", x(1, 1, 4), kernel_shape=[2], pads=[0, -BIG])
    refused("pool_named", "MaxPool", x(1, 1, "n", 4), kernel_shape=[2, 2], outputs=("y", "z"))
    refused("windows_product", "LpPool", x(1, 1, 1 << 40, 1 << 40), kernel_shape=[2, 2])
    refused("resize_large", "Resize", x(1, 1, 1 << 30), None, f32(1, 1, 1e6))
    refused("resize_roi", "Resize", x(1, 1, 4), f32(0, 0), None, i64(1, 1, 3),
            coordinate_transformation_mode="tf_crop_and_resize")
    for name, end in (("nan", float("nan")), ("far", 1e30)):
        refused(f"resize_roi_{name}", "Resize", x(1, 1, 4), f32(0, 0, 0, 1, 1, end), None,
                i64(1, 1, 3), coordinate_transformation_mode="tf_crop_and_resize")
    refused("resize_proportion", "Resize", x(1, 1, 2, 1 << 62), None, None, i64(1, 1, 9, 9),
            keep_aspect_ratio_policy="not_smaller", mode="nearest")
    refused("resize_wide", "Resize", x(1, 1, 1 << 40), None, None, i64(1, 1, 3), antialias=1,
            mode="linear")
    refused("upsample_first", "Upsample", x(1, 1, 2, 2), opset=1, mode="bilinear",
            height_scale=2.0, width_scale=1.5)
    refused("roi_pool_shape", "MaxRoiPool", x(1, 1, 4, 4), x(1, 5), pooled_shape=[2])
    refused("scatter_axis", "TensorScatter", x(1, 4, 2), x(1, 2, 2), x(1, dtype=7), axis=0)
    refused("reverse_axes", "ReverseSequence", x(3, 2), x(2, dtype=7), batch_axis=1, time_axis=1)
    refused("reshape_rank", "Reshape", x(1), i64(*[1] * 17))
    refused("split_sum_large", "Split", x(4), i64(MAX, MAX), outputs=("y", "z"))
    refused("split_negative", "Split", x(4), i64(-1, 5), outputs=("y", "z"))
    refused("one_hot_depth", "OneHot", x(2, dtype=7), i64_0(BIG), f32(0, 1))
    refused("random_rank", "RandomNormal", shape=[1] * 17)
    refused("slice_lists", "Slice", x("n"), i64(0), i64(2), i64(0), i64(1, 1), error=ATTR)


def tables(refused):
    refused("window_large", "HannWindow", i64_0(1 << 25))
    refused("window_negative", "HammingWindow", i64_0(-1))
    refused("eye_large", "EyeLike", x(4, 1 << 15))
    mel = [i64_0(8), i64_0(16), i64_0(8000), f32(0), f32(4000)]
    for at, name, number in ((0, "bins", 1 << 14), (1, "length", 1 << 20), (2, "rate", 0)):
        refused(f"mel_{name}", "MelWeightMatrix", *mel[:at], i64_0(number), *mel[at + 1:])
    refused("range_large", "Range", f32(0)[:1] + ([], 1, floats(0)),
            ("weight", [], 1, floats(1e9)), ("weight", [], 1, floats(1)))
    refused("dft_columns", "DFT", x(1, 4, 1), i64_0(1 << 15), error=REFUSED)
    refused("dft_axis_large", "DFT", x(1, BIG, 1))
    refused("stft_step", "STFT", x(1, 16, 1), i64_0(0), f32(*[1] * 8))
    refused("stft_long", "STFT", x(1, 4, 1), i64_0(2), None, i64_0(8))
    refused("stft_rank", "STFT", x(1, 2, 16, 1), i64_0(2), None, i64_0(8))
    refused("stft_large", "STFT", x(1, BIG, 1), i64_0(2), None, i64_0(8))
    grams = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0,
             "ngram_counts": [0], "ngram_indexes": [0, 1], "pool_int64s": [2, 3]}
    for name, wrong in (("skips", {"max_skip_count": 4097}), ("lengths", {"max_gram_length": 2}),
                        ("starts", {"ngram_counts": [0] * 17}), ("least", {"min_gram_length": 0}),
                        ("counts", {"ngram_counts": [3]}), ("indexes", {"ngram_indexes": [0]})):
        refused(f"tf_idf_{name}", "TfIdfVectorizer", x(1, 4, dtype=7), **{**grams, **wrong})


TREE = {"nodes_featureids": [0, 1], "nodes_trueleafs": [1, 1], "nodes_falseleafs": [0, 1],
        "nodes_truenodeids": [0, 1], "nodes_falsenodeids": [1, 2], "tree_roots": [0],
        "leaf_targetids": [0, 0, 0], "n_targets": 1}


def tree(modes=(0, 0), splits=(0.5, 1.5), weights=(1.0, 2.0, 3.0), **more):
    return {**TREE, "nodes_modes": tensor("", [len(modes)], 2, bytes(modes)),
            "nodes_splits": tensor("", [len(splits)], 1, floats(*splits)),
            "leaf_weights": tensor("", [len(weights)], 1, floats(*weights)), **more}


def trees(refused):
    def one(name, **wrong):
        refused(f"tree_{name}", "TreeEnsemble", x(1, 2), domain=ML, **tree(**wrong))

    one("modes", modes=(0,))
    one("mode", modes=(0, 9))
    one("weights", weights=(1.0,))
    one("true_ids", nodes_truenodeids=[0])
    one("false_ids", nodes_falsenodeids=[0])
    one("true_leaves", nodes_trueleafs=[0])
    one("false_leaves", nodes_falseleafs=[0])
    one("target_negative", leaf_targetids=[-1, 0, 0])
    one("target", leaf_targetids=[0, 0, 7])
    one("root_negative", tree_roots=[-1])
    one("root", tree_roots=[2])
    one("next", nodes_truenodeids=[0, 9])
    one("next_negative", nodes_truenodeids=[0, -1])
    one("cycle", nodes_falseleafs=[0, 0], nodes_falsenodeids=[1, 0])
    for name, wrong in (("how", {"aggregate_function": 9}), ("how_negative",
                                                           {"aggregate_function": -1}),
                        ("post", {"post_transform": 9}), ("post_negative", {"post_transform": -1})):
        one(name, **wrong)
    refused("tree_bytes", "TreeEnsemble", x(1, 2, dtype=2), domain=ML, **tree())
    old = {"nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0],
           "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_values": [0.5, 0.0, 0.0],
           "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0]}
    votes = {"target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0],
             "target_weights": [1.0, 2.0], "n_targets": 1}
    sorts = {"class_treeids": [0, 0, 0], "class_nodeids": [1, 1, 2], "class_ids": [0, 1, 2],
             "class_weights": [1.0, 2.0, 3.0], "classlabels_int64s": [0, 1, 2]}
    refused("trees_base", "TreeEnsembleRegressor", x(1, 1), domain=ML, base_values=[1.0, 2.0],
            **old, **votes)
    refused("trees_base_classes", "TreeEnsembleClassifier", x(1, 1), domain=ML,
            outputs=("y", "z"), base_values=[1.0], **old, **sorts)
    for name, wrong in (("mode", {"nodes_modes": ["BRANCH_LEQ", "LEAF", "TWIG"]}),
                        ("node_twice", {"nodes_nodeids": [0, 1, 1]}),
                        ("next", {"nodes_truenodeids": [7, 0, 0]}),
                        ("values", {"nodes_values": [0.5]}),
                        ("target", {"target_nodeids": [1, 9]}),
                        ("target_id", {"target_ids": [0, 4]}),
                        ("weights", {"target_weights": [1.0]})):
        refused(f"trees_{name}", "TreeEnsembleRegressor", x(1, 1), domain=ML,
                **{**old, **votes, **wrong})


def classic_ml(refused):
    for op, key in (("LabelEncoder", "keys_strings"), ("LabelEncoder", "values_strings"),
                    ("LabelEncoder", "classes_strings"), ("OneHotEncoder", "cats_strings")):
        refused(f"labels_{key}", op, x(2, dtype=7), domain=ML, **{key: ["a", "b"]})
    refused("features_none", "FeatureVectorizer", domain=ML)
    refused("features_large", "FeatureVectorizer", x(2, 2), domain=ML, inputdimensions=[BIG])
    refused("features_named", "FeatureVectorizer", x(2, "n"), domain=ML, inputdimensions=[2])
    for name, targets in (("0", 0), ("2", 2)):
        refused(f"linear_targets_{name}", "LinearRegressor", x(2, 3), domain=ML, targets=targets,
                coefficients=[1.0, 2.0, 3.0])
    refused("linear_labels", "LinearClassifier", x(2, 1), domain=ML, outputs=("y", "z"),
            coefficients=[1.0], intercepts=[0.0], classlabels_ints=[0, 1, 2])
    refused("rows_empty", "TreeEnsemble", x(1, 0), domain=ML, **tree())
    kernel = {"kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 0.0]}
    refused("svm_negative", "SVMRegressor", x(2, 1), domain=ML, coefficients=[1.0], rho=[0.0],
            n_supports=-1, support_vectors=[1.0], **kernel)
    two = {"coefficients": [1.0, -1.0], "rho": [0.5], "support_vectors": [1.0, 2.0],
           "vectors_per_class": [1, 1], "classlabels_ints": [0, 1], **kernel}
    for name, wrong in (("vectors", {"vectors_per_class": [1, BIG]}),
                        ("vectors_negative", {"vectors_per_class": [1, -1]}),
                        ("rho", {"rho": [0.5], "vectors_per_class": [1, 1, 1],
                                 "classlabels_ints": [0, 1, 2]}),
                        ("classes", {"classlabels_ints": list(range(300))}),
                        ("prob", {"prob_a": [1.0, 2.0], "prob_b": [1.0, 2.0]}),
                        ("prob_lengths", {"prob_a": [1.0], "prob_b": []})):
        refused(f"svm_{name}", "SVMClassifier", x(2, 1), domain=ML, outputs=("y", "z"),
                **{**two, **wrong})


def attention(refused):
    packed, weight = x(1, 2, 4), x(4, 12)
    for name, attrs in (("rotary", {"do_rotary": 1}), ("shared", {"past_present_share_buffer": 1})):
        refused(f"attention_{name}", "Attention", packed, weight, domain=MS, num_heads=2, **attrs)
    refused("attention_weight_rank", "Attention", packed, x(4), domain=MS, num_heads=2)
    refused("attention_weight_named", "Attention", packed, x(4, "n"), domain=MS, num_heads=2)
    refused("multi_head_packed", "MultiHeadAttention", x(1, 2, 2, 3, 2), x(1, 2, 4), domain=MS,
            num_heads=2)
    group = (x(1, 1, 8), x(1, 1, 4), x(1, 1, 4), x(1, 1, 0, 4), x(1, 1, 0, 4),
             i64(0)[:1] + ([1], 6, b"\0" * 4), ("weight", [], 6, b"\1\0\0\0"))
    for name, attrs in (("k_quant", {"k_quant_type": "PER_TENSOR"}),
                        ("v_quant", {"v_quant_type": "PER_TENSOR"}), ("kv_0", {"kv_num_heads": 0}),
                        ("heads", {"num_heads": 65537}), ("smooth", {"smooth_softmax": 1}),
                        ("qk", {"qk_output": 1}), ("parts", {"num_heads": 3, "kv_num_heads": 2})):
        refused(f"group_query_{name}", "GroupQueryAttention", *group, domain=MS,
                **{"num_heads": 2, "kv_num_heads": 1, **attrs})
    refused("group_query_rank", "GroupQueryAttention", x(8, 8), *group[1:], domain=MS, num_heads=2,
            kv_num_heads=1)
    refused("group_query_large", "GroupQueryAttention", x(1, 1, BIG), *group[1:], domain=MS,
            num_heads=2, kv_num_heads=1)
    caches = (x(1, 2, dtype=7), x(8, 2), x(8, 2))
    for name, of, attrs in (("packed", x(1, 2, 8), {"is_packed_batching": 1}),
                            ("scale", x(1, 2, 8), {"scale": 0.5}),
                            ("rank", x(1, 1, 1, 2, 4), {}),
                            ("width", x(1, 2, 8), {"rotary_embedding_dim": 4}),
                            ("narrow", x(1, 2, 8), {"rotary_embedding_dim": 1, "num_heads": 2})):
        refused(f"rotary_{name}", "RotaryEmbedding", of, *caches, domain=MS, **attrs)
    refused("rotary_onnx_rank", "RotaryEmbedding", x(1, 1, 1, 2, 4), x(8, 2), x(8, 2),
            x(1, 2, dtype=7), opset=23)
    refused("linear_attention_heads", "LinearAttention", *[x(1, 2, 4)] * 3, opset=26,
            q_num_heads=0, kv_num_heads=1)
    refused("linear_attention_kv", "LinearAttention", *[x(1, 2, 4)] * 3, opset=26, q_num_heads=1,
            kv_num_heads=0)
    refused("flex_rank", "FlexAttention", *[x(1, 2, 4)] * 3, opset=26)
    for name, of in (("rank", x(2, 1)), ("named", x(2, 1, "k")), ("empty", x(2, 1, 0))):
        refused(f"causal_conv_{name}", "CausalConvWithState", x(1, 2, 4), of, opset=26)
    for name in ("transBatchA", "transBatchB"):
        refused(name, "FusedMatMul", x(2, 2, 2), x(2, 2, 2), domain=MS, **{name: 1})
    refused("skip_norm_gap", "SkipLayerNormalization", x(1, 2, 4), None, x(4), domain=MS)


def quantized(refused):
    levels, scale = zeros(2, 1, 8, dtype=2), zeros(2)
    good = {"K": 16, "N": 2, "bits": 4, "block_size": 16}
    for name, wrong in (("n_0", {"N": 0}), ("n_large", {"N": BIG}), ("k_large", {"K": BIG}),
                        ("block_large", {"block_size": BIG}), ("block_12", {"block_size": 12}),
                        ("bits", {"bits": 3}), ("k", {"K": 40})):
        refused(f"n_bits_{name}", "MatMulNBits", x(1, 16), levels, scale, domain=MS,
                **{**good, **wrong})
    refused("n_bits_named", "MatMulNBits", x(1, 16), x(2, "b", 8, dtype=2), scale, domain=MS,
            **good)
    refused("n_bits_product", "MatMulNBits", x(1, 16), x(BIG - 1, BIG - 1, 8, dtype=2), scale,
            domain=MS, **good)
    for name, number in (("order_large", 9), ("order_negative", -1)):
        order = "weight", [16], 6, number.to_bytes(4, "little", signed=True) * 16
        refused(f"n_bits_{name}", "MatMulNBits", x(1, 16), levels, scale, None, order, domain=MS,
                **good)
    refused("quantize_block", "QuantizeLinear", x(2, 4), x(2, 2), None, axis=1, block_size=BIG)
    for name, count in (("more", 3), ("fewer", 1)):
        refused(f"quantize_{name}_blocks", "QuantizeLinear", x(2, 4), x(2, count), None, axis=1,
                block_size=2)
        refused(f"quantize_{name}_zeros", "QuantizeLinear", x(2, 4), x(2, 2),
                x(2, count, dtype=2), axis=1, block_size=2)
    refused("quantize_rows", "QuantizeLinear", x(2, 4), x(1, 2), axis=1, block_size=2)
    refused("quantize_bool", "QuantizeLinear", x(2), x(), x(dtype=9))
    refused("qconcat_none", "QLinearConcat", x(), x(dtype=2), domain=MS, axis=0)
    refused("qconcat_gap", "QLinearConcat", x(), x(dtype=2), None, x(), x(dtype=2), domain=MS,
            axis=0)


def lists(refused):
    refused("boxes_scores", "NonMaxSuppression", zeros(1, 2, 4), zeros(1, 2))
    refused("boxes_sides", "NonMaxSuppression", zeros(1, 2, 3), zeros(1, 1, 2))
    refused("boxes_count", "NonMaxSuppression", zeros(1, 2, 4), zeros(1, 1, 3))
    refused("boxes_batch", "NonMaxSuppression", zeros(2, 2, 4), zeros(1, 1, 2))
    refused("sequence_part_0", "SplitToSequence", x(4), i64_0(0))
    refused("sequence_sum", "SplitToSequence", x(4), i64(MAX, MAX))
    refused("compress_float", "Compress", x(4), f32(1, 0))
    refused("gradient_nothing", "Gradient", x(2), domain=TRAINING, xs=[], y="y")
    refused("gradient_unknown", "Gradient", x(2), domain=TRAINING, xs=["i0"], y="q")
    refused("broadcast_axis", "Add", x(2, 3), x(3), opset=6, broadcast=1, axis=2)
    refused("broadcast_axis_negative", "Add", x(2, 3), x(3), opset=6, broadcast=1, axis=-4)
    refused("opset_reduction", "ReduceSumSquare", x(2), i64(5), error=ATTR)


def recurrent(refused):
    weights = (x(2, 1, 3), x(1, 4, 3), x(1, 4, 4))
    refused("rnn_activation", "RNN", *weights, hidden_size=4, activations=["Loud"])
    refused("rnn_directions", "RNN", x(2, 1, 3), x(0, 4, 3), x(0, 4, 4), hidden_size=4)
    refused("rnn_hidden", "RNN", x(2, 1, 3), x(1, BIG, 3), x(1, BIG, BIG))


def subgraphs(onnx):
    """Bodies with too many results, random numbers within one, and too many opsets."""
    flag, trip = tensor("t", [], 9, b"\1"), tensor("n", [], 7, ints(3))
    items = [value(f"o{i}", [3]) for i in range(63)]
    body = Graph([node("Identity", ["c"], ["d"]), *[node("Relu", ["x"], [f"o{i}"])
                                                    for i in range(63)]],
                 [value("i", [], 7), value("c", [], 9)], [value("d", [], 9), *items])
    loop = node("Loop", ["n", "t"], ["y"], body=body)
    onnx("30_loop_results", Graph([loop], [value("x", [3])], [value("y", [3])], [flag, trip]),
         REFUSED, loop)
    loop = node("Loop", ["n", "t"] + ["x"] * 63, ["y"], body=body)
    onnx("30_loop_carried", Graph([loop], [value("x", [3])], [value("y", [3])], [flag, trip]),
         REFUSED, loop)
    noise = node("RandomNormalLike", ["x"], ["z"])
    branch = Graph([noise], (), [value("z", [3])])
    choice = node("If", ["b"], ["y"], then_branch=branch, else_branch=branch)
    onnx("30_random_inside", Graph([choice], [value("x", [3]), value("b", [], 9)],
                                   [value("y", [3])]), REFUSED, noise)
    opsets = many(8, [field(1, f"d{i}") + field(2, 1) for i in range(1024)])
    onnx("30_opsets", model(Graph([node("Relu", ["x"], ["y"])], [value("x", [3])],
                                  [value("y", [3])]), 21, opsets), WIRE, 0)


def sparse(onnx):
    def weight(name, values, indices, dims, error=WIRE):
        content = field(1, values) + field(2, indices) + many(3, dims)
        onnx(f"30_sparse_{name}", Graph([node("Add", ["x", "w"], ["y"])], [value("x", [4])],
                                        [value("y", [4])], (), field(15, content)), error, content)

    two, at = tensor("w", [2], 1, floats(1, 2)), tensor("i", [2], 7, ints(0, 1))
    weight("index_type", two, tensor("i", [2], 6, b"\0" * 8), [4])
    weight("index_rank", two, tensor("i", [], 7, ints(0)), [4])
    weight("index_count", two, tensor("i", [3], 7, ints(0, 1, 2)), [4])
    weight("bits", tensor("w", [2], 22, b"\1"), at, [4])
    weight("empty", two, at, [0])
