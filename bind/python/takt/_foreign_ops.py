"""_foreign_ops.py - definitions of Takt's operations, shared by torch and jax.numpy.

Each function gets a space (_foreign_torch.py, _foreign_jax.py), the inputs and the attributes. They
share no code with the engine, so that they can serve as its reference. Missing operations raise
UnsupportedError.
"""
from __future__ import annotations

import math

from .errors import UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

OPS: "dict[str, Callable[..., Any]]" = {}


def op(*names: str) -> "Callable[[Callable[..., Any]], Callable[..., Any]]":
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            OPS[name] = function
        return function
    return register


def axes_of(x: Any, axes: Any) -> "list[int]":
    return [a % max(x.ndim, 1) for a in axes] if axes else list(range(x.ndim))


# ---- element-wise ----

_SAME = ("abs acos acosh asin asinh atan atanh ceil cos cosh exp exp2 expm1 floor log log1p log2 "
         "round sign sin sinh sqrt tan tanh trunc square").split()
_UNARY: "dict[str, Callable[..., Any]]" = {
    "neg": lambda s, x: s.zeros_like(x) - x if s.dtype(x)[0] == "u" else -x,
    "erf": lambda s, x: s.erf(x),
    "reciprocal": lambda s, x: 1 / x,
    "rsqrt": lambda s, x: 1 / s.xp.sqrt(x),
    "sigmoid": lambda s, x: s.sigmoid(x),
    "silu": lambda s, x: x * s.sigmoid(x),
    "relu": lambda s, x: s.xp.where(x < 0, s.zeros_like(x), x),
    "relu6": lambda s, x: s.xp.clip(x, 0, 6),
    "softplus": lambda s, x: s.softplus(x),
    "softsign": lambda s, x: x / (1 + s.xp.abs(x)),
    "mish": lambda s, x: x * s.xp.tanh(s.softplus(x)),
    "hard_swish": lambda s, x: x * s.xp.clip(x + 3, 0, 6) / 6,
    "is_inf": lambda s, x: s.xp.isinf(x),
    "is_nan": lambda s, x: s.xp.isnan(x),
    "not": lambda s, x: s.xp.bitwise_not(x),
}


def _plain(name: str) -> "Callable[..., Any]":
    return lambda s, x: getattr(s.xp, name)(x)


for _name in _SAME:
    OPS[_name] = _plain(_name)
OPS.update(_UNARY)


@op("sign")
def _sign(s: Any, x: Any) -> Any:
    return s.xp.where(x < 0, -s.ones_like(x), s.xp.where(x > 0, s.ones_like(x), x)) \
        if s.dtype(x)[0] != "u" else s.xp.where(x > 0, s.ones_like(x), x)


@op("gelu")
def _gelu(s: Any, x: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        return 0.5 * x * (1 + s.xp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + s.erf(x / math.sqrt(2)))


@op("elu")
def _elu(s: Any, x: Any, alpha: float = 1.0) -> Any:
    return s.xp.where(x > 0, x, alpha * s.xp.expm1(x))


@op("celu")
def _celu(s: Any, x: Any, alpha: float = 1.0) -> Any:
    return s.xp.where(x > 0, x, alpha * s.xp.expm1(x / alpha))


@op("selu")
def _selu(s: Any, x: Any, alpha: float = 1.6732631921768188,
          scale: float = 1.0507010221481323) -> Any:
    return scale * s.xp.where(x > 0, x, alpha * s.xp.expm1(x))


@op("leaky_relu")
def _leaky(s: Any, x: Any, slope: float = 0.01) -> Any:
    return s.xp.where(x > 0, x, slope * x)


@op("thresholded_relu")
def _thresholded(s: Any, x: Any, alpha: float = 1.0) -> Any:
    return s.xp.where(x > alpha, x, s.zeros_like(x))


@op("hard_sigmoid")
def _hard_sigmoid(s: Any, x: Any, alpha: float = 0.2, beta: float = 0.5) -> Any:
    return s.xp.clip(alpha * x + beta, 0, 1)


@op("shrink")
def _shrink(s: Any, x: Any, bias: float = 0.0, lambd: float = 0.5) -> Any:
    return s.xp.where(x > lambd, x - bias, s.xp.where(x < -lambd, x + bias, s.zeros_like(x)))


@op("clip")
def _clip(s: Any, x: Any, min: Any = None, max: Any = None) -> Any:  # noqa: A002
    return x if min is None and max is None else s.xp.clip(x, min, max)


@op("cast")
def _cast(s: Any, x: Any, dtype: str, saturate: bool = True) -> Any:
    limits = {"i8": (-128, 127), "u8": (0, 255), "i16": (-32768, 32767), "u16": (0, 65535)}
    if dtype == "bool":
        return x != 0
    if dtype in limits and s.dtype(x)[0] in "fb" and s.dtype(x) != "bool":
        if not saturate:
            raise UnsupportedError("cast of floats that wraps")
        x = s.xp.clip(x, *limits[dtype])
    return s.cast(x, dtype)


_BINARY: "dict[str, Callable[..., Any]]" = {
    "add": lambda s, a, b: a + b, "sub": lambda s, a, b: a - b, "mul": lambda s, a, b: a * b,
    "div": lambda s, a, b: s.divide(a, b), "pow": lambda s, a, b: s.power(a, b),
    "max": lambda s, a, b: s.xp.maximum(a, b), "min": lambda s, a, b: s.xp.minimum(a, b),
    "eq": lambda s, a, b: a == b, "ne": lambda s, a, b: a != b, "lt": lambda s, a, b: a < b,
    "le": lambda s, a, b: a <= b, "gt": lambda s, a, b: a > b, "ge": lambda s, a, b: a >= b,
    "and": lambda s, a, b: a & b, "or": lambda s, a, b: a | b, "xor": lambda s, a, b: a ^ b,
    "prelu": lambda s, x, slope: s.xp.where(x > 0, x, slope * x),
    "select": lambda s, c, a, b: s.xp.where(c, a, b), "check": lambda s, x, ok: x,
}
OPS.update({name: (lambda f: lambda s, *xs, **given: f(s, *xs))(f)
            for name, f in _BINARY.items()})


@op("mod")
def _mod(s: Any, a: Any, b: Any, fmod: bool = False) -> Any:
    return s.xp.fmod(a, b) if fmod else s.xp.remainder(a, b)


# ---- reductions ----

def _reduction(f: "Callable[..., Any]") -> "Callable[..., Any]":
    def reduce(s: Any, x: Any, axes: Any = None, keep: bool = False, **more: Any) -> Any:
        return f(s, x, axes_of(x, axes), keep, **more)
    return reduce


_REDUCTIONS: "dict[str, Callable[..., Any]]" = {
    "sum": lambda s, x, a, k: s.sum(x, a, k),
    "mean": lambda s, x, a, k: s.sum(x, a, k) / math.prod(x.shape[i] for i in a),
    "max": lambda s, x, a, k: s.extreme(x, a, k, True),
    "min": lambda s, x, a, k: s.extreme(x, a, k, False),
    "prod": lambda s, x, a, k: s.prod(x, a, k),
    "l1": lambda s, x, a, k: s.sum(s.xp.abs(x), a, k),
    "l2": lambda s, x, a, k: s.xp.sqrt(s.sum(x * x, a, k)),
    "sum_square": lambda s, x, a, k: s.sum(x * x, a, k),
    "log_sum": lambda s, x, a, k: s.xp.log(s.sum(x, a, k)),
}
for _name, _f in _REDUCTIONS.items():
    OPS[f"reduce_{_name}"] = _reduction(_f)


@op("reduce_log_sum_exp")
def _log_sum_exp(s: Any, x: Any, axes: Any = None, keep: bool = False) -> Any:
    over = axes_of(x, axes)
    top = s.extreme(x, over, True, True)
    y = s.xp.log(s.sum(s.xp.exp(x - top), over, True)) + top
    return y if keep else s.reshape(y, [n for i, n in enumerate(x.shape) if i not in over])


def variance(s: Any, x: Any, axes: "list[int]", keep: bool, correction: int = 0) -> Any:
    count = math.prod(x.shape[i] for i in axes)
    d = x - s.sum(x, axes, True) / count
    return s.sum(d * d, axes, keep) / (count - correction)


OPS["reduce_var"] = _reduction(variance)


@op("argmax", "argmin")
def _argmax(s: Any, x: Any, axis: int, keep: bool = False, last: bool = False,
            largest: bool = True) -> Any:
    at = s.arg(s.flip(x, axis) if last else x, axis, largest)
    at = x.shape[axis] - 1 - at if last else at
    return s.unsqueeze(at, axis % x.ndim) if keep else at


OPS["argmin"] = lambda s, x, **given: _argmax(s, x, largest=False, **given)


@op("cumsum")
def _cumsum(s: Any, x: Any, axis: int, exclusive: bool = False, reverse: bool = False) -> Any:
    y = s.flip(x, axis) if reverse else x
    made = s.cumsum(y, axis)
    made = made - y if exclusive else made
    return s.flip(made, axis) if reverse else made


@op("softmax")
def softmax(s: Any, x: Any, axis: int = -1) -> Any:
    over = [axis % x.ndim]
    e = s.xp.exp(x - s.extreme(x, over, True, True))
    return e / s.sum(e, over, True)


@op("log_softmax")
def log_softmax(s: Any, x: Any, axis: int = -1) -> Any:
    d = x - s.extreme(x, [axis % x.ndim], True, True)
    return d - s.xp.log(s.sum(s.xp.exp(d), [axis % x.ndim], True))


@op("softmax_dx")
def _softmax_dx(s: Any, y: Any, dy: Any, axis: int = -1) -> Any:
    return y * (dy - s.sum(dy * y, [axis % y.ndim], True))


@op("hardmax")
def _hardmax(s: Any, x: Any, axis: int = -1) -> Any:
    at = s.unsqueeze(s.arg(x, axis, True), axis % x.ndim)
    return s.cast(s.along(s.arange(x.shape[axis]), x.ndim, axis) == at, s.dtype(x))


@op("sort")
def _sort(s: Any, x: Any, axis: int = -1, descending: bool = False) -> Any:
    return s.sort(x, axis, descending)


@op("top_k")
def _top_k(s: Any, x: Any, k: int, axis: int = -1, largest: bool = True,
           sorted: bool = True) -> Any:  # noqa: A002
    values, at = s.sort(x, axis, largest)
    cut = tuple(slice(0, k) if i == axis % x.ndim else slice(None) for i in range(x.ndim))
    if sorted:
        return values[cut], at[cut]
    places = s.sort(at[cut], axis, False)[0]  # as they come in x
    return OPS["gather_elements"](s, x, places, axis), places
