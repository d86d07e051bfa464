"""_aten_nn.py - ATen's products, convolutions, pools and norms as operations of Takt."""
from __future__ import annotations

import math

from ._aten import aten, cast, constant, full, iota, op, refuse, variance
from ._aten_shape import part
from ._tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._torch_graph import Lowering


# ---- products ----

@aten("mm", "bmm")
def _mm(c: Lowering, a: Any, b: Any) -> Any:
    return op("matmul", a, b)


@aten("addmm", "baddbmm")
def _addmm(c: Lowering, bias: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    y = op("matmul", a, b)
    y = y if alpha == 1 else op("mul", y, alpha)
    if beta == 0:
        return y
    return op("add", y, bias if beta == 1 else op("mul", bias, beta))


@aten("_scaled_dot_product_flash_attention_for_cpu")
def _attention(c: Lowering, q: Any, k: Any, v: Any, dropout: float = 0.0, causal: bool = False,
               *, attn_mask: Any = None, scale: Any = None) -> Any:
    refuse(dropout == 0, "attention with dropout")
    refuse(c.uses_only(0), "attention in training")
    refuse(not causal or q.shape[2] == k.shape[2], "causal attention to a cache")

    def rows(x: Any) -> Any:
        b, h, s, d = x.shape
        return op("reshape", op("transpose", x, perm=[0, 2, 1, 3]), shape=[b, s, h * d])

    batch, heads, length, dim = q.shape
    given = [rows(q), rows(k), rows(v)] + ([attn_mask] if attn_mask is not None else [])
    y = op("attention", *given, heads=heads, kv_heads=k.shape[1], causal=bool(causal),
           scale=float(scale) if scale is not None else 1 / math.sqrt(dim))
    y = op("reshape", y, shape=[batch, length, heads, v.shape[3]])
    return op("transpose", y, perm=[0, 2, 1, 3]), None


def _linear(x: Any, w: Any, bias: Any) -> Any:
    return op("add", op("matmul", x, op("transpose", w, perm=[1, 0])), bias)


def _self_attention(x: Any, heads: int, into: "tuple[Any, Any]",
                    out_of: "tuple[Any, Any]") -> Any:
    """Attention of [batch, length, width] to itself; `into` makes q, k and v at once."""
    width = x.shape[2]
    made = _linear(x, *into)
    q, k, v = (part(made, 2, i * width, (i + 1) * width) for i in range(3))
    y = op("attention", q, k, v, heads=heads, kv_heads=heads, causal=False,
           scale=1 / math.sqrt(width // heads))
    return _linear(y, *out_of)


@aten("_transformer_encoder_layer_fwd")
def _encoder_layer(c: Lowering, x: Any, width: int, heads: int, *rest: Any) -> Any:
    """What nn.TransformerEncoderLayer calls in inference."""
    into, out_of, rest = rest[:2], rest[2:4], rest[4:]
    use_gelu, norm_first, epsilon, *norms = rest[:7]
    wide, narrow = rest[7:9], rest[9:11]
    refuse(all(mask is None for mask in rest[11:12]), "an encoder layer with a mask")

    def norm(y: Any, i: int) -> Any:
        return op("layer_norm", y, norms[2 * i], norms[2 * i + 1], axis=2, epsilon=float(epsilon))

    def attended(y: Any) -> Any:
        return _self_attention(y, heads, into, out_of)

    def fed(y: Any) -> Any:
        h = _linear(y, *wide)
        return _linear(op("gelu", h) if use_gelu else op("relu", h), *narrow)

    if norm_first:
        x = op("add", x, attended(norm(x, 0)))
        return op("add", x, fed(norm(x, 1)))
    x = norm(op("add", x, attended(x)), 0)
    return norm(op("add", x, fed(x)), 1)


# ---- convolutions ----

def _spread(values: Any, rank: int) -> "list[int]":
    """One number for each spatial axis."""
    given = [int(n) for n in values]
    return given * rank if len(given) == 1 else given


def _window(rank: int, stride: Any, padding: Any, dilation: Any, groups: int) -> "dict[str, Any]":
    pad = _spread(padding, rank)
    return {"stride": _spread(stride, rank), "dilation": _spread(dilation, rank),
            "pad": pad + pad, "groups": int(groups)}


def _per_channel(x: Any, rank: int) -> Any:
    return op("reshape", x, shape=[x.shape[0]] + [1] * rank)


@aten("convolution")
def _convolution(c: Lowering, x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
                 transposed: bool, output_padding: Any, groups: int) -> Any:
    rank = w.ndim - 2
    given = _window(rank, stride, padding, dilation, groups)
    if x.ndim == w.ndim - 1:
        refuse(False, "a convolution without a batch")
    if transposed:
        extra = _spread(output_padding, rank)
        sizes = [(x.shape[2 + i] - 1) * given["stride"][i] - 2 * given["pad"][i]
                 + given["dilation"][i] * (w.shape[2 + i] - 1) + extra[i] + 1 for i in range(rank)]
        y = op("conv_dx", x, w, **given, shape=[x.shape[0], w.shape[1] * groups, *sizes])
    else:
        y = op("conv", x, w, **given)
    return y if bias is None else op("add", y, _per_channel(bias, rank))


@aten("convolution_backward")
def _convolution_backward(c: Lowering, dy: Any, x: Any, w: Any, bias_sizes: Any, stride: Any,
                          padding: Any, dilation: Any, transposed: bool, output_padding: Any,
                          groups: int, mask: Any) -> Any:
    rank = w.ndim - 2
    given = _window(rank, stride, padding, dilation, groups)
    dx = dw = db = None
    if mask[0]:
        dx = op("conv", dy, w, **given) if transposed else \
            op("conv_dx", dy, w, **given, shape=list(x.shape))
    if mask[1]:
        dw = op("conv_dw", *((dy, x) if transposed else (x, dy)), **given, shape=list(w.shape))
    if mask[2]:
        db = op("reduce_sum", dy, axes=[0, *range(2, dy.ndim)], keep=False)
    return dx, dw, db


# ---- pools ----

def _pool(rank: int, kernel: Any, stride: Any, padding: Any, dilation: Any,
          ceil: bool) -> "dict[str, Any]":
    sizes = _spread(kernel, rank)
    pad = _spread(padding, rank)
    return {"kernel": sizes, "stride": _spread(stride, rank) if stride else sizes,
            "dilation": _spread(dilation, rank), "pad": pad + pad, "ceil": bool(ceil)}


def _batched(x: Any, rank: int) -> Any:
    refuse(x.ndim == rank + 2, "a pool without a batch")
    return x


@aten("max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool(c: Lowering, x: Any, kernel: Any, stride: Any = (), padding: Any = (0,),
              dilation: Any = (1,), ceil: bool = False) -> Any:
    rank = 2 if "2d" in c.target else 3
    given = _pool(rank, kernel, stride, padding, dilation, ceil)
    y = op("max_pool", _batched(x, rank), **given)
    if c.uses_only(0):
        return y, None
    count = math.prod(x.shape[2:])
    refuse(x.dtype == "f64" or x.dtype == "f32" and count < 1 << 24,
           f"positions in a pool of {x.dtype} with {count} elements")
    places = op("broadcast", cast(iota(count, "i64"), x.dtype).reshape(list(x.shape[2:])),
                shape=list(x.shape))
    return y, cast(op("max_pool_pick", x, places, **given), "i64")


@aten("max_pool2d_with_indices_backward")
def _max_pool_backward(c: Lowering, dy: Any, x: Any, kernel: Any, stride: Any, padding: Any,
                       dilation: Any, ceil: bool, indices: Any) -> Any:
    given = _pool(2, kernel, stride, padding, dilation, ceil)
    return op("max_pool_dx", _batched(x, 2), dy, **given)


@aten("avg_pool2d", "avg_pool3d")
def _avg_pool(c: Lowering, x: Any, kernel: Any, stride: Any = (), padding: Any = (0,),
              ceil: bool = False, count_pad: bool = True, divisor: Any = None) -> Any:
    rank = int(c.target.split("pool")[1][0])
    refuse(divisor is None, "divisor_override")
    return op("avg_pool", _batched(x, rank), **_pool(rank, kernel, stride, padding, (1,), ceil),
              count_pad=bool(count_pad))


@aten("avg_pool2d_backward")
def _avg_pool_backward(c: Lowering, dy: Any, x: Any, kernel: Any, stride: Any, padding: Any,
                       ceil: bool, count_pad: bool, divisor: Any) -> Any:
    refuse(divisor is None, "divisor_override")
    return op("avg_pool_dx", dy, **_pool(2, kernel, stride, padding, (1,), ceil),
              count_pad=bool(count_pad), shape=list(_batched(x, 2).shape))


def _shares(size: int, bins: int, dtype: str) -> Tensor:
    """[bins, size]: the weight of each element in each bin."""
    rows = []
    for i in range(bins):
        first, last = i * size // bins, -(-(i + 1) * size // bins)
        rows.append([1 / (last - first) if first <= j < last else 0.0 for j in range(size)])
    return constant(rows, dtype)


def _by_axes(x: Any, height: Any, width: Any) -> Any:
    """height @ x @ width' over the last two axes."""
    return op("matmul", op("matmul", height, x), width, transpose_b=True)


@aten("_adaptive_avg_pool2d")
def _adaptive(c: Lowering, x: Any, sizes: Any) -> Any:
    old, new = list(x.shape[-2:]), [int(n) for n in sizes]
    if new == old:
        return x
    if new == [1, 1]:
        return op("reduce_mean", x, axes=[x.ndim - 2, x.ndim - 1], keep=True)
    if x.ndim == 4 and all(a % b == 0 for a, b in zip(old, new)):
        each = [a // b for a, b in zip(old, new)]
        return op("avg_pool", x, kernel=each, stride=each)
    refuse(x.dtype in ("f32", "f64"), "uneven bins in 16 bits")
    return _by_axes(x, *[_shares(a, b, x.dtype) for a, b in zip(old, new)])


@aten("_adaptive_avg_pool2d_backward")
def _adaptive_backward(c: Lowering, dy: Any, x: Any) -> Any:
    old, new = list(x.shape[-2:]), list(dy.shape[-2:])
    if new == old:
        return dy
    if new == [1, 1]:
        return op("broadcast", op("mul", dy, 1 / math.prod(old)), shape=list(x.shape))
    refuse(x.dtype in ("f32", "f64"), "uneven bins in 16 bits")
    height, width = [op("transpose", _shares(a, b, x.dtype), perm=[1, 0])
                     for a, b in zip(old, new)]
    return _by_axes(dy, height, width)


# ---- norms ----

@aten("_native_batch_norm_legit_no_training")
def _batch_norm(c: Lowering, x: Any, w: Any, bias: Any, mean: Any, var: Any, momentum: float,
                epsilon: float) -> Any:
    w = full(mean.shape, 1, mean.dtype) if w is None else w
    bias = full(mean.shape, 0, mean.dtype) if bias is None else bias
    none = full((0,), 0, mean.dtype)
    given = [cast(it, x.dtype) for it in (w, bias, mean, var)]
    return op("batch_norm", x, *given, epsilon=float(epsilon)), none, none


@aten("native_layer_norm")
def _layer_norm(c: Lowering, x: Any, shape: Any, w: Any, bias: Any, epsilon: float) -> Any:
    first = x.ndim - len(shape)
    gamma = full(shape, 1, x.dtype) if w is None else w
    y = op("layer_norm", x, gamma, *([bias] if bias is not None else []), axis=first,
           epsilon=float(epsilon))
    if c.uses_only(0):
        return y, None, None
    axes = list(range(first, x.ndim))
    rstd = op("rsqrt", op("add", variance(x, axes, 0, True), float(epsilon)))
    return y, op("reduce_mean", x, axes=axes, keep=True), rstd


@aten("native_group_norm")
def _group_norm(c: Lowering, x: Any, w: Any, bias: Any, n: int, channels: int, size: int,
                groups: int, epsilon: float) -> Any:
    gamma = full((channels,), 1, x.dtype) if w is None else w
    y = op("group_norm", x, gamma, *([bias] if bias is not None else []), groups=int(groups),
           epsilon=float(epsilon))
    if c.uses_only(0):
        return y, None, None
    rows = op("reshape", x, shape=[n, groups, channels // groups * size])
    rstd = op("rsqrt", op("add", variance(rows, [2], 0, False), float(epsilon)))
    return y, op("reduce_mean", rows, axes=[2], keep=False), rstd
