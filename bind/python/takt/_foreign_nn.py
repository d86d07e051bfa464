"""_foreign_nn.py - definitions of products, convolutions, pools, norms and losses, for any
space."""
from __future__ import annotations

import itertools
import math

from ._foreign_ops import OPS, log_softmax, op, softmax, variance
from .errors import UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


# ---- products ----

@op("matmul")
def _matmul(s: Any, a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False) -> Any:
    def transposed(x: Any) -> Any:
        return s.transpose(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])
    return s.xp.matmul(transposed(a) if transpose_a else a, transposed(b) if transpose_b else b)


@op("einsum")
def _einsum(s: Any, *xs: Any, equation: str) -> Any:
    return s.xp.einsum(equation.replace(" ", ""), *xs)


# ---- windows ----

def _first(x: Any, layout: str) -> "list[int]":
    """Channels first."""
    return [0, x.ndim - 1, *range(1, x.ndim - 1)] if layout == "nhwc" else list(range(x.ndim))


def _last(rank: int, layout: str) -> "list[int]":
    return [0, *range(2, rank), 1] if layout == "nhwc" else list(range(rank))


@op("conv")
def _conv(s: Any, x: Any, w: Any, stride: Any = None, dilation: Any = None, pad: Any = None,
          groups: int = 1, layout: str = "nchw") -> Any:
    rank = x.ndim - 2
    x, w = s.transpose(x, _first(x, layout)), s.transpose(w, _first(w, layout))
    pads = pad or [0] * (2 * rank)
    y = s.conv(s.pad(x, [0, 0, *pads[:rank]], [0, 0, *pads[rank:]], 0), w,
               stride or [1] * rank, dilation or [1] * rank, groups)
    return s.transpose(y, _last(rank + 2, layout))


@op("conv_dx")
def _conv_dx(s: Any, dy: Any, w: Any, shape: Any, **given: Any) -> Any:
    zero = s.full(shape, 0, s.dtype(dy))
    return s.pull_back(lambda x: _conv(s, x, w, **given), zero, dy)


@op("conv_dw")
def _conv_dw(s: Any, x: Any, dy: Any, shape: Any, **given: Any) -> Any:
    zero = s.full(shape, 0, s.dtype(dy))
    return s.pull_back(lambda w: _conv(s, x, w, **given), zero, dy)


OPS["winograd_conv"] = _conv
OPS["winograd_conv_dx"] = _conv_dx
OPS["winograd_conv_dw"] = _conv_dw


def _sizes(x: Any, kernel: Any, stride: Any, dilation: Any, pads: Any, ceil: bool) -> "list[int]":
    made = []
    for i, k in enumerate(kernel):
        room = x.shape[2 + i] + pads[i] + pads[len(kernel) + i] - dilation[i] * (k - 1) - 1
        count = -(-room // stride[i]) + 1 if ceil else room // stride[i] + 1
        if ceil and (count - 1) * stride[i] >= x.shape[2 + i] + pads[i]:
            count -= 1  # a window must begin inside
        made.append(count)
    return made


def _taps(s: Any, x: Any, fill: Any, given: "dict[str, Any]") -> "list[Any]":
    """x as each tap of a window sees it: one tensor of the pooled shape for each."""
    rank = x.ndim - 2
    kernel, pads = given["kernel"], given.get("pad") or [0] * (2 * rank)
    stride, dilation = (given.get(key) or [1] * rank for key in ("stride", "dilation"))
    sizes = _sizes(x, kernel, stride, dilation, pads, given.get("ceil", False))
    more = [max(0, (n - 1) * st + d * (k - 1) + 1 - x.shape[2 + i] - pads[i])
            for i, (n, st, d, k) in enumerate(zip(sizes, stride, dilation, kernel))]
    wide = s.pad(x, [0, 0, *pads[:rank]], [0, 0, *more], fill)
    made = []
    for tap in itertools.product(*(range(k) for k in kernel)):
        at = [slice(t * d, t * d + (n - 1) * st + 1, st)
              for t, d, n, st in zip(tap, dilation, sizes, stride)]
        made.append(wide[(slice(None), slice(None), *at)])
    return made


def _pooled(pool: "Callable[..., Any]") -> "Callable[..., Any]":
    def run(s: Any, x: Any, layout: str = "nchw", **given: Any) -> Any:
        y = pool(s, s.transpose(x, _first(x, layout)), given)
        return s.transpose(y, _last(x.ndim, layout))
    return run


def _lowest(s: Any, x: Any) -> Any:
    return -math.inf if s.dtype(x)[0] in "fb" else s.lowest(x)


def _max_pool(s: Any, x: Any, given: "dict[str, Any]") -> Any:
    return s.extreme(s.stack(_taps(s, x, _lowest(s, x), given), 0), [0], False, True)


def _avg_pool(s: Any, x: Any, given: "dict[str, Any]") -> Any:
    total = s.sum(s.stack(_taps(s, x, 0, given), 0), [0], False)
    one = s.ones_like(x)
    rank = x.ndim - 2
    if given.get("count_pad"):
        pads = given.get("pad") or [0] * (2 * rank)
        one = s.pad(one, [0, 0, *pads[:rank]], [0, 0, *pads[rank:]], 1)
        given = {**given, "pad": None}
    return total / s.sum(s.stack(_taps(s, one, 0, given), 0), [0], False)


OPS["max_pool"] = _pooled(_max_pool)
OPS["avg_pool"] = _pooled(_avg_pool)


@op("avg_pool_dx")
def _avg_pool_dx(s: Any, dy: Any, shape: Any, **given: Any) -> Any:
    zero = s.full(shape, 0, s.dtype(dy))
    return s.pull_back(lambda x: OPS["avg_pool"](s, x, **given), zero, dy)


def _pick(s: Any, x: Any, t: Any, given: "dict[str, Any]") -> Any:
    seen = s.stack(_taps(s, x, -math.inf, given), 0)
    at = s.unsqueeze(s.arg(seen, 0, True), 0)
    hot = s.cast(s.along(s.arange(seen.shape[0]), seen.ndim, 0) == at, s.dtype(t))
    return s.sum(hot * s.stack(_taps(s, t, 0, given), 0), [0], False)


@op("max_pool_pick")
def _max_pool_pick(s: Any, x: Any, t: Any, layout: str = "nchw", **given: Any) -> Any:
    y = _pick(s, s.transpose(x, _first(x, layout)), s.transpose(t, _first(x, layout)), given)
    return s.transpose(y, _last(x.ndim, layout))


@op("max_pool_dx")
def _max_pool_dx(s: Any, x: Any, dy: Any, **given: Any) -> Any:
    return s.pull_back(lambda t: _max_pool_pick(s, x, t, **given), s.zeros_like(x), dy)


@op("global_avg_pool", "global_max_pool")
def _global(s: Any, x: Any, layout: str = "nchw", largest: bool = False) -> Any:
    over = list(range(2, x.ndim)) if layout == "nchw" else list(range(1, x.ndim - 1))
    if largest:
        return s.extreme(x, over, True, True)
    return s.sum(x, over, True) / math.prod(x.shape[i] for i in over)


OPS["global_max_pool"] = lambda s, x, **given: _global(s, x, largest=True, **given)


@op("lrn")
def _lrn(s: Any, x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75,
         bias: float = 1.0) -> Any:
    before = [0] * x.ndim
    before[1] = (size - 1) // 2
    after = [0] * x.ndim
    after[1] = size - 1 - before[1]
    wide = s.pad(x * x, before, after, 0)
    total = 0
    for i in range(size):
        total = total + wide[:, i:i + x.shape[1]]
    return x / (bias + alpha / size * total) ** beta


# ---- norms ----

def _channel(s: Any, x: Any, v: Any, layout: str) -> Any:
    shape = [1] * x.ndim
    shape[1 if layout == "nchw" or x.ndim == 2 else -1] = -1
    return s.reshape(v, shape)


@op("batch_norm")
def _batch_norm(s: Any, x: Any, scale: Any, bias: Any, mean: Any, var: Any,
                epsilon: float = 1e-5, layout: str = "nchw") -> Any:
    m, v, g, b = (_channel(s, x, it, layout) for it in (mean, var, scale, bias))
    return (x - m) / s.xp.sqrt(v + epsilon) * g + b


def _normal(s: Any, x: Any, over: "list[int]", epsilon: float, centred: bool = True) -> Any:
    if not centred:
        count = math.prod(x.shape[i] for i in over)
        return x / s.xp.sqrt(s.sum(x * x, over, True) / count + epsilon)
    mean = s.sum(x, over, True) / math.prod(x.shape[i] for i in over)
    return (x - mean) / s.xp.sqrt(variance(s, x, over, True) + epsilon)


@op("layer_norm")
def _layer_norm(s: Any, x: Any, gamma: Any, beta: Any = None, axis: int = -1,
                epsilon: float = 1e-5, centred: bool = True) -> Any:
    y = _normal(s, x, list(range(axis % x.ndim, x.ndim)), epsilon, centred) * gamma
    return y if beta is None else y + beta


OPS["rms_norm"] = lambda s, x, gamma, **given: _layer_norm(s, x, gamma, centred=False, **given)


@op("norm_dx")
def _norm_dx(s: Any, x: Any, gamma: Any, dy: Any, **given: Any) -> Any:
    return s.pull_back(lambda t: _layer_norm(s, t, gamma, **given), x, dy)


@op("norm_dgamma")
def _norm_dgamma(s: Any, x: Any, dy: Any, axis: int = -1, epsilon: float = 1e-5,
                 centred: bool = True) -> Any:
    return dy * _normal(s, x, list(range(axis % x.ndim, x.ndim)), epsilon, centred)


@op("group_norm", "instance_norm")
def _group_norm(s: Any, x: Any, gamma: Any, beta: Any = None, groups: int = 0,
                epsilon: float = 1e-5, layout: str = "nchw") -> Any:
    first = s.transpose(x, _first(x, layout))
    n, c = first.shape[:2]
    rows = s.reshape(first, [n, groups or c, -1])
    y = s.reshape(_normal(s, rows, [2], epsilon), first.shape)
    y = y * _channel(s, first, gamma, "nchw")
    y = y if beta is None else y + _channel(s, first, beta, "nchw")
    return s.transpose(y, _last(x.ndim, layout))


@op("rotary_embedding")
def _rotary(s: Any, x: Any, cos: Any, sin: Any, interleaved: bool = False) -> Any:
    half = x.shape[-1] // 2
    if interleaved:
        pairs = s.reshape(x, [*x.shape[:-1], half, 2])
        a, b = pairs[..., 0], pairs[..., 1]
        return s.reshape(s.stack([a * cos - b * sin, b * cos + a * sin], -1), x.shape)
    a, b = x[..., :half], x[..., half:]
    return s.concat([a * cos - b * sin, b * cos + a * sin], -1)


# ---- attention ----

@op("attention")
def _attention(s: Any, q: Any, k: Any, v: Any, mask: Any = None, length: Any = None,
               heads: int = 1, kv_heads: int = 0, scale: Any = None, causal: bool = False) -> Any:
    if length is not None:
        raise UnsupportedError("attention to a cache that is filled so far")
    kv = kv_heads or heads

    def parts(x: Any, count: int) -> Any:
        b, n, d = x.shape
        y = s.transpose(s.reshape(x, [b, n, count, d // count]), [0, 2, 1, 3])
        if count == heads:
            return y
        wide = s.broadcast(s.unsqueeze(y, 2), [b, count, heads // count, n, d // count])
        return s.reshape(wide, [b, heads, n, d // count])

    a, b, c = parts(q, heads), parts(k, kv), parts(v, kv)
    rate = scale if scale is not None else 1 / math.sqrt(a.shape[-1])
    score = s.xp.matmul(a, s.transpose(b, [0, 1, 3, 2])) * rate
    score = score if mask is None else score + mask
    if causal:
        rows, columns = score.shape[-2:]
        seen = s.arange(columns)[None, :] - s.arange(rows)[:, None] <= columns - rows
        score = s.xp.where(seen, score, s.full([], -math.inf, s.dtype(score)))
    y = s.transpose(s.xp.matmul(softmax(s, score), c), [0, 2, 1, 3])
    return s.reshape(y, [y.shape[0], y.shape[1], y.shape[2] * y.shape[3]])


@op("attention_dx")
def _attention_dx(s: Any, q: Any, k: Any, v: Any, dy: Any, **given: Any) -> Any:
    return (s.pull_back(lambda x: _attention(s, x, k, v, **given), q, dy),
            s.pull_back(lambda x: _attention(s, q, x, v, **given), k, dy),
            s.pull_back(lambda x: _attention(s, q, k, x, **given), v, dy))


# ---- losses ----

def _averaged(s: Any, x: Any, reduction: str) -> Any:
    if reduction == "none":
        return x
    total = s.sum(x, list(range(x.ndim)), False)
    return total if reduction == "sum" else total / math.prod(x.shape)


def _loss(f: "Callable[..., Any]") -> "Callable[..., Any]":
    def run(s: Any, x: Any, t: Any, reduction: str = "mean", **more: Any) -> Any:
        return _averaged(s, f(s, x, t, **more), reduction)
    return run


OPS["mse"] = _loss(lambda s, x, t: (x - t) * (x - t))
OPS["mae"] = _loss(lambda s, x, t: s.xp.abs(x - t))
OPS["bce"] = _loss(lambda s, p, t: -(t * s.xp.log(p) + (1 - t) * s.xp.log(1 - p)))
OPS["bce_logits"] = _loss(lambda s, x, t: s.softplus(x) - x * t)
OPS["kl_div"] = _loss(lambda s, x, t: s.xp.where(t > 0, t * (s.xp.log(t) - x), s.zeros_like(x)))


def _huber(s: Any, x: Any, t: Any, delta: float = 1.0) -> Any:
    d = s.xp.abs(x - t)
    return s.xp.where(d <= delta, d * d / 2, delta * (d - delta / 2))


OPS["huber"] = _loss(_huber)


@op("cross_entropy")
def _cross_entropy(s: Any, x: Any, labels: Any, reduction: str = "mean", smoothing: float = 0.0,
                   ignore: Any = None) -> Any:
    logs = log_softmax(s, x)
    if s.dtype(labels)[0] in "fb":  # probabilities
        soft = (1 - smoothing) * labels + smoothing / x.shape[-1]
        return _averaged(s, -s.sum(soft * logs, [x.ndim - 1], False), reduction)
    wrapped = s.xp.where(labels < 0, labels + x.shape[-1], labels)
    hot = s.cast(s.along(s.arange(x.shape[-1]), x.ndim, -1) == s.unsqueeze(wrapped, x.ndim - 1),
                 s.dtype(x))
    rows = -s.sum(hot * logs, [x.ndim - 1], False)
    rows = (1 - smoothing) * rows - smoothing / x.shape[-1] * s.sum(logs, [x.ndim - 1], False)
    if ignore is None:
        return _averaged(s, rows, reduction)
    counts = s.cast(labels != ignore, s.dtype(x))
    if reduction == "mean":
        over = list(range(rows.ndim))
        return s.sum(rows * counts, over, False) / s.sum(counts, over, False)
    return _averaged(s, rows * counts, reduction)


@op("cross_entropy_dx")
def _cross_entropy_dx(s: Any, x: Any, labels: Any, dy: Any, ignore: Any = None) -> Any:
    def rows(t: Any) -> Any:
        return _cross_entropy(s, t, labels, "none", ignore=ignore)
    return s.pull_back(rows, x, s.broadcast(dy, list(labels.shape)))


# ---- integers for floats ----

def _along(s: Any, x: Any, v: Any, axis: int) -> Any:
    return s.along(v, x.ndim, axis) if v is not None and v.ndim else v


@op("dequantize")
def _dequantize(s: Any, q: Any, scale: Any, zero: Any = None, axis: int = 1,
                dtype: Any = None) -> Any:
    x = s.cast(q, s.dtype(scale))
    x = x if zero is None else x - s.cast(_along(s, q, zero, axis), s.dtype(scale))
    y = x * _along(s, q, scale, axis)
    return y if dtype is None else s.cast(y, dtype)


@op("quantize")
def _quantize(s: Any, x: Any, scale: Any, zero: Any = None, axis: int = 1,
              dtype: str = "i8") -> Any:
    limits = {"i8": (-128, 127), "u8": (0, 255), "i16": (-32768, 32767)}
    if dtype not in limits:
        raise UnsupportedError(f"quantize to {dtype}")
    y = s.xp.round(x / _along(s, x, scale, axis))
    y = y if zero is None else y + s.cast(_along(s, x, zero, axis), s.dtype(x))
    return s.cast(s.xp.clip(y, *limits[dtype]), dtype)


@op("fake_quantize")
def _fake_quantize(s: Any, x: Any, scale: Any, zero: Any, low: int = -128,
                   high: int = 127) -> Any:
    return (s.xp.clip(s.xp.round(x / scale) + zero, low, high) - zero) * scale
