"""test_torch.py - torch.compile(backend="takt"): converters; modules are in test_torch_modules.py.

The ten models of torchvision are in tests/python/torch_models_slow.py.
"""
import unittest

try:
    import torch
    from torch.nn import functional as F
except ImportError:
    torch = None

if torch is not None:
    from takt import torch_backend
    from takt._aten import CONVERTERS
    from torch.fx.experimental.proxy_tensor import make_fx
    A = torch.ops.aten


def floats(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + len(shape)))


def integers(*shape, low=0, high=9):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(3))


def samples():
    """(function, arguments): operations as torch.compile hands them over."""
    x, y, image = floats(3, 4), floats(3, 4, seed=9), floats(2, 3, 8, 9)
    positive, unit = x.abs() + 0.5, x.clamp(-0.9, 0.9)
    n, m = integers(3, 4), integers(3, 4, low=1)
    flags, others = n > 4, m > 4
    rows = torch.tensor([[2, 0], [1, 1]])
    w, b = floats(4, 3, 3, 3), floats(4)
    for name in ("abs ceil cos cosh erf exp exp2 expm1 floor neg relu round sigmoid sign silu sin "
                 "sinh tan tanh trunc mish square isinf isnan gelu leaky_relu elu softplus "
                 "hardswish hardsigmoid hardtanh asinh atan").split():
        yield getattr(A, name).default, (x,)
    for name in "log log1p log2 log10 reciprocal rsqrt sqrt".split():
        yield getattr(A, name).default, (positive,)
    for name in "acos asin atanh".split():
        yield getattr(A, name).default, (unit,)
    yield A.acosh.default, (positive + 1,)
    yield A.sqrt.default, (m,)
    for name in "ceil floor round trunc isnan".split():
        yield getattr(A, name).default, (n,)
    yield lambda a: F.gelu(a, approximate="tanh"), (x,)
    yield F.selu, (x,)
    yield lambda a: F.celu(a, 0.5), (x,)
    yield lambda a: a.clamp(-0.5, 0.5), (x,)
    yield lambda a: a.clamp(min=2, max=6), (n,)
    yield lambda a, c: A.clamp.Tensor(a, c, c + 1), (x, y)
    for f in (A.add, A.sub, A.mul, A.div, A.maximum, A.minimum):
        f = f.default if f in (A.maximum, A.minimum) else f.Tensor
        yield f, (x, y)
        yield f, (x, n)
        yield f, (n, m)
    for f in (A.eq, A.ne, A.lt, A.le, A.gt, A.ge):
        yield f.Tensor, (n, m)
        yield f.Tensor, (n, x)
        yield lambda a, f=f: f.Scalar(a, 4), (n,)
        yield lambda a, f=f: f.Scalar(a, 0.5), (n,)
    yield lambda a, c: A.add.Tensor(a, c, alpha=3), (x, y)
    yield lambda a, c: A.rsub.Tensor(a, c, alpha=2), (x, y)
    yield lambda a: A.rsub.Scalar(a, 2.5), (x,)
    yield lambda a: A.add.Scalar(a, 2), (n,)
    yield lambda a: A.sub.Scalar(a, 2), (n,)
    yield lambda a: A.mul.Scalar(a, 2), (n,)
    yield lambda a: A.div.Scalar(a, 2), (n,)
    yield A.mul.Tensor, (flags, others)
    yield A.add.Tensor, (flags, others)
    for mode in ("floor", "trunc"):
        yield lambda a, c, mode=mode: A.div.Tensor_mode(a, c, rounding_mode=mode), (n - 4, m)
        yield lambda a, c, mode=mode: A.div.Tensor_mode(a, c, rounding_mode=mode), (x, y)
        yield lambda a, mode=mode: A.div.Scalar_mode(a, 2, rounding_mode=mode), (n - 4,)
    yield A.floor_divide.default, (n - 4, m)
    for power in (2, 3, 0.5, -1, 1):
        yield lambda a, power=power: A.pow.Tensor_Scalar(a, power), (positive,)
    yield lambda a: A.pow.Tensor_Scalar(a, 2), (n,)
    yield A.pow.Tensor_Tensor, (positive, y)
    yield lambda a: A.pow.Scalar(2.0, a), (x,)
    yield A.remainder.Tensor, (n - 4, m)
    yield lambda a: A.remainder.Scalar(a, 3), (n - 4,)
    yield A.fmod.Tensor, (x, positive)
    yield lambda a: A.fmod.Scalar(a, 3), (n - 4,)
    for f in (A.bitwise_and, A.bitwise_or, A.bitwise_xor):
        yield f.Tensor, (n, m)
        yield f.Tensor, (flags, others)
        yield lambda a, f=f: f.Scalar(a, 3), (n,)
    for f in (A.logical_and, A.logical_or, A.logical_xor):
        yield f.default, (n, others)
    yield A.bitwise_left_shift.Tensor, (n, m)
    yield A.bitwise_right_shift.Tensor, (n * 100, m)
    yield lambda a: A.bitwise_left_shift.Tensor_Scalar(a, 2), (n,)
    yield lambda a: A.bitwise_right_shift.Tensor_Scalar(a, 1), (n,)
    yield A.logical_not.default, (n,)
    yield A.logical_not.default, (flags,)
    yield A.bitwise_not.default, (n,)
    yield A.where.self, (flags, x, y)
    yield lambda c, a: torch.where(c, a, 1.5), (flags, x)
    yield lambda a, c: A.masked_fill.Scalar(a, c, float("-inf")), (x, flags)
    yield lambda a, c: A.masked_fill.Tensor(a, c, torch.tensor(2.0)), (x, flags)
    # reductions
    for f in (A.sum, A.mean):
        yield f.default, (x,)
        yield (lambda a: A.sum.dim_IntList(a, [0], True)) if f is A.sum else \
            (lambda a: A.mean.dim(a, [-1])), (x,)
    yield A.sum.default, (flags,)
    yield A.prod.default, (x,)
    yield lambda a: A.prod.dim_int(a, 1), (x,)
    for f in (A.amax, A.amin):
        yield lambda a, f=f: f.default(a, [1], True), (x,)
    for f in (A.any, A.all):
        yield f.default, (n,)
        yield lambda a, f=f: f.dim(a, 1), (flags,)
        yield lambda a, f=f: f.dims(a, [0, 1]), (flags,)
    for f in (A.max, A.min):
        yield f.default, (x,)
        yield lambda a, f=f: f.dim(a, 1, True), (x,)
    for f in (A.argmax, A.argmin):
        yield f.default, (x,)
        yield lambda a, f=f: f.default(a, 1, True), (x,)
    yield lambda a: A.var.correction(a, [1], correction=0), (x,)
    yield lambda a: A.var_mean.correction(a, [0], keepdim=True), (x,)
    yield lambda a: A.cumsum.default(a, 1), (n,)
    yield lambda a: A._softmax.default(a, 1, False), (x,)
    yield lambda a: A._log_softmax.default(a, -1, False), (x,)
    yield lambda a, c: A._softmax_backward_data.default(a, c.softmax(1), 1, torch.float32), (x, y)
    yield lambda a: A.topk.default(a, 2, 1), (x,)
    yield lambda a: A.topk.default(a, 2, 1, False), (x,)
    yield lambda a: A.sort.default(a, 1, True), (x,)
    yield lambda a: A.sort.stable(a, stable=True, dim=0), (x,)
    layer = [floats(*shape, seed=i) for i, shape in enumerate(
        ((48, 16), (48,), (16, 16), (16,), (16,), (16,), (16,), (16,), (32, 16), (32,), (16, 32),
         (16,)))]
    yield lambda a, *w: A._transformer_encoder_layer_fwd.default(
        a, 16, 4, *w[:4], True, False, 1e-5, *w[4:]), (floats(2, 7, 16), *layer)
    # shapes
    yield A.clone.default, (x,)
    yield A.alias.default, (x,)
    yield A.detach.default, (x,)
    for size, step in ((2, 1), (2, 2), (3, 2), (4, 4), (1, 3), (2, 3)):
        yield A.unfold.default, (x, 1, size, step)
        yield A.unfold.default, (image, -2, size, step)
    yield A.lift_fresh_copy.default, (x,)
    yield lambda a: A._to_copy.default(a, dtype=torch.float64), (x,)
    yield lambda a: A._to_copy.default(a, dtype=torch.int32), (x,)
    yield A.copy.default, (x, floats(4))
    yield lambda a: A.view.default(a, [2, -1]), (x,)
    yield lambda a: A._unsafe_view.default(a, [12]), (x,)
    yield lambda a: A.expand.default(a, [2, -1, 4]), (floats(3, 1),)
    yield lambda a: A.permute.default(a, [0, -1, 1, 2]), (image,)
    yield lambda a: A.transpose.int(a, 1, -1), (image,)
    yield A.t.default, (x,)
    yield lambda a: A.unsqueeze.default(a, -1), (x,)
    yield A.squeeze.default, (floats(1, 3, 1),)
    yield lambda a: A.squeeze.dim(a, 0), (floats(1, 3, 1),)
    yield lambda a: A.squeeze.dims(a, [0, 1]), (floats(1, 3, 1),)
    yield lambda a: A.as_strided.default(a, [4, 3], [1, 4]), (x,)
    yield lambda a: A.slice.Tensor(a, 1, 1, -1, 2), (x,)
    yield lambda a: A.slice.Tensor(a, 0, -2), (x,)
    yield lambda a: A.select.int(a, 1, -1), (x,)
    yield lambda a: A.split_with_sizes.default(a, [1, 3], 1), (x,)
    yield lambda a: A.split_with_sizes_copy.default(a, [1, 3], 1), (x,)
    yield lambda a: A.split.Tensor(a, 3, 1), (x,)
    yield lambda a: A.unbind.int(a, 1), (x,)
    yield lambda a, c: A.cat.default([a, c, a], -1), (x, y)
    yield lambda a, c: A.stack.default([a, c], 1), (x, y)
    yield lambda a: A.constant_pad_nd.default(a, [1, 2, -1, 0], 3.0), (x,)
    yield lambda a: A.flip.default(a, [0, -1]), (x,)
    yield lambda a: A.repeat.default(a, [2, 1, 3]), (x,)
    yield lambda a: A.tril.default(a, 1), (x,)
    yield lambda a: A.triu.default(a, -1), (x,)
    # indices
    yield lambda a, i: A.index_select.default(a, 1, i), (x, torch.tensor([3, 0]))
    yield A.embedding.default, (x, rows)
    for padding in (1, -1):
        yield (lambda a, i, p=padding: A.embedding_dense_backward.default(a, i, 3, p, False),
               (floats(2, 2, 4), rows))
    yield lambda a, i: A.gather.default(a, 0, i), (x, rows)
    yield lambda a, i, u: A.scatter.src(a, 0, i, u), (x, torch.tensor([[2, 0], [1, 1]]), y)
    yield lambda a, i: A.scatter.value(a, 1, i, 7.0), (x, rows)
    yield lambda a, i, u: A.scatter_add.default(a, 0, i, u), (x, rows, y)
    yield lambda a, i: A.index.Tensor(a, [None, i]), (x, rows)
    yield lambda a, i, j: A.index.Tensor(a, [i, j]), (x, rows, torch.tensor([1, 3]))
    yield lambda a, i, j: A.index.Tensor(a, [None, None, i, j]), (image, rows, rows.T)
    yield lambda a, i, j: A.index.Tensor(a, [i % 2, None, j]), (image, rows, rows.T)
    yield lambda a, i, v: A.index_put.default(a, [i], v, True), (x, rows, floats(2, 2, 4))
    yield lambda a, i: A.index_put.default(a, [i], torch.tensor(1.0)), (x, torch.tensor([0, 2]))
    yield lambda a, i, v: A._unsafe_index_put.default(a, [i], v, True), (x, rows, floats(2, 2, 4))
    yield lambda a, u: A.slice_scatter.default(a, u, 1, 1, 3), (x, floats(3, 2))
    yield lambda a, u: A.select_scatter.default(a, u, 0, -1), (x, floats(4))
    # new tensors
    yield lambda a: a + A.full.default([3, 1], 2.5), (x,)
    yield lambda a: A.full_like.default(a, 4), (n,)
    yield lambda a: a + A.zeros.default([4]) + A.ones.default([3, 1]), (x,)
    yield lambda a: A.zeros_like.default(a) + A.ones_like.default(a), (x,)
    yield lambda a: A.fill.Scalar(A.empty_like.default(a), 1.0), (x,)
    yield lambda a: A.zeros_like.default(A.empty.memory_format([4])) + a, (x,)
    yield lambda a: A.new_zeros.default(a, [2]) + A.new_ones.default(a, [2]), (x,)
    yield lambda a: A.new_full.default(a, [2], 3.0), (x,)
    yield lambda a: a + A.scalar_tensor.default(2.5), (x,)
    yield lambda a: A.fill.Scalar(a, 2.0), (x,)
    yield lambda a: a + A.arange.default(4), (x,)
    yield lambda a: a + A.arange.start(1, 5), (x,)
    yield lambda a: a + A.arange.start_step(1.0, 3.0, 0.5), (x,)
    # layers
    yield A.mm.default, (x, floats(4, 5))
    yield A.bmm.default, (floats(2, 3, 4), floats(2, 4, 5))
    yield lambda c, a, d: A.addmm.default(c, a, d, beta=0.5, alpha=2), (b[:3], x, floats(4, 3))
    yield A.addmm.default, (b[:3], x, floats(4, 3))
    yield A.baddbmm.default, (floats(2, 3, 5), floats(2, 3, 4), floats(2, 4, 5))
    heads = floats(2, 3, 5, 8)
    attention = A._scaled_dot_product_flash_attention_for_cpu.default
    yield lambda q, k, v: attention(q, k, v)[0], (heads, heads + 1, heads * 2)
    yield lambda q, k, v: attention(q, k, v, 0.0, True, scale=0.2)[0], (heads, heads + 1, heads * 2)
    yield (lambda q, k, v, s: attention(q, k, v, attn_mask=s)[0],
           (heads, heads + 1, heads * 2, floats(2, 1, 5, 5)))
    conv = A.convolution.default
    yield (lambda a, k, c: conv(a, k, c, [2, 1], [1, 0], [1, 2], False, [0, 0], 1), (image, w, b))
    yield (lambda a, k: conv(a, k, None, [1], [1], [1], False, [0], 3), (floats(2, 3, 9),
                                                                         floats(6, 1, 3)))
    yield (lambda a, k, c: conv(a, k, c, [2, 2], [1, 1], [1, 1], True, [1, 0], 1),
           (floats(2, 4, 5, 5), w, b[:3]))
    back = A.convolution_backward.default
    shape = [2, 4, 8, 9]
    yield (lambda d, a, k: back(d, a, k, [4], [1, 1], [1, 1], [1, 1], False, [0, 0], 1,
                                [True, True, True]), (floats(*shape), image, w))
    yield (lambda d, a, k: back(d, a, k, None, [1, 1], [1, 1], [1, 1], True, [0, 0], 1,
                                [True, True, False]), (floats(2, 3, 8, 9), floats(*shape), w))
    pool = A.max_pool2d_with_indices.default
    yield lambda a: pool(a, [3, 3], [2, 2], [1, 1], [1, 1], True), (image,)
    yield lambda a: pool(a, [2, 2])[0], (image,)
    yield lambda a: A.max_pool3d_with_indices.default(a, [2, 2, 2])[0], (floats(1, 2, 4, 4, 4),)
    yield (lambda d, a: A.max_pool2d_with_indices_backward.default(
        d, a, [2, 2], [2, 2], [0, 0], [1, 1], False, pool(a, [2, 2])[1]),
        (floats(2, 3, 4, 4), image))
    yield lambda a: A.avg_pool2d.default(a, [3, 3], [2, 2], [1, 1], False, False), (image,)
    yield lambda a: A.avg_pool2d.default(a, [2, 3], [2, 2], [1, 1], True), (image,)
    yield lambda a: A.avg_pool1d.default(a, [2]), (floats(2, 3, 8),)
    yield lambda a: A.avg_pool3d.default(a, [2]), (floats(1, 2, 4, 4, 4),)
    yield (lambda d, a: A.avg_pool2d_backward.default(d, a, [2, 2], [2, 2], [0, 0], False, True,
                                                      None), (floats(2, 3, 4, 4), image))
    for size in ([1, 1], [4, 3], [3, 5], [8, 9]):
        yield lambda a, size=size: A._adaptive_avg_pool2d.default(a, size), (image,)
        yield (A._adaptive_avg_pool2d_backward.default, (floats(2, 3, *size), image))
    norm = A._native_batch_norm_legit_no_training.default
    c3 = floats(3)
    yield lambda a, g, h, u, v: norm(a, g, h, u, v, 0.1, 1e-5)[0], (image, c3, c3, c3, c3.abs())
    yield lambda a, u, v: norm(a, None, None, u, v, 0.1, 1e-5)[0], (image, c3, c3.abs())
    yield lambda a, g, h: A.native_layer_norm.default(a, [4], g, h, 1e-5), (x, b, b + 1)
    yield lambda a: A.native_layer_norm.default(a, [3, 4], None, None, 1e-5)[0], (x,)
    yield (lambda a, g, h: A.native_group_norm.default(a, g, h, 2, 6, 12, 3, 1e-5),
           (floats(2, 6, 3, 4), floats(6), floats(6) + 1))
    yield lambda a: A.native_group_norm.default(a, None, None, 2, 6, 12, 2, 1e-5)[0], (
        floats(2, 6, 3, 4),)


NOT_TRACED = {"_assert_tensor_metadata"}  # of 16-bit modules


@unittest.skipIf(torch is None, "torch is not installed")
class Converters(unittest.TestCase):
    def test_each_agrees_with_torch(self):
        table = torch_backend.decompositions()
        reached = set()
        for i, (function, args) in enumerate(samples()):
            graph = make_fx(lambda *given, f=function: f(*given), decomposition_table=table,
                            tracing_mode="fake")(*args)
            names = [str(n.target) for n in graph.graph.nodes if n.op == "call_function"]
            with self.subTest(f"{i}: {' '.join(names)}"):
                torch_backend.clear_reports()
                run = torch_backend.compile_graph(graph, set(), "sample", {"threads": 1})
                self.assertEqual(torch_backend.reports()[-1].left, {})
                with torch.no_grad():
                    got, want = run(*args), function(*args)
                    self.same(got, want)
                reached.update(names)
        missing = {name for name in CONVERTERS if name not in reached
                   and name.split(".")[1] not in NOT_TRACED}
        self.assertEqual(missing, set(), "converters that no sample reaches")

    def same(self, got, want):
        got = got if isinstance(got, (tuple, list)) else (got,)
        want = want if isinstance(want, (tuple, list)) else (want,)
        self.assertEqual(len(got), len(want))
        for a, b in zip(got, want):
            if b is not None:
                torch.testing.assert_close(a, b, rtol=2e-5, atol=2e-5, check_stride=False)

    def test_weights_are_part_of_the_model(self):
        w, x = floats(4, 3), floats(2, 4)
        graph = make_fx(lambda a, b: a @ b, tracing_mode="fake")(x, w)
        run = torch_backend.compile_graph(graph, {1}, "frozen", {"threads": 1})
        torch.testing.assert_close(run(x, w), x @ w)
        self.assertEqual([name for _, name in run.ready[None].inputs], ["x0"])
        w.mul_(2)  # a change is seen; after the second one weights are read in every call
        torch.testing.assert_close(run(x, w), x @ w)
        w.mul_(2)
        torch.testing.assert_close(run(x, w), x @ w)
        self.assertEqual([name for _, name in run.ready[None].inputs], ["x0", "x1"])
