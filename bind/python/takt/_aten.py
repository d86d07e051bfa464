"""_aten.py - ATen's element-wise operations and reductions as operations of Takt.

A converter gets the lowering, which knows the current node, and the node's arguments, with tensors
as takt.Tensor. It returns a tensor, or a tuple where ATen has several results. It raises
UnsupportedError for what it cannot express: torch then runs that node.
"""
from __future__ import annotations

import math

from ._arrays import array
from ._node import Node
from ._tensor import Tensor, as_tensor, operation
from .errors import UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional, Sequence

    from ._torch_graph import Lowering

CONVERTERS: "dict[str, Callable[..., Any]]" = {}


def aten(*names: str) -> "Callable[[Callable[..., Any]], Callable[..., Any]]":
    """Registers a converter for operations such as 'add.Tensor'."""
    def register(convert: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            CONVERTERS[f"aten.{name}" if "." in name else f"aten.{name}.default"] = convert
        return convert
    return register


# ---- what converters share ----

def op(name: str, *inputs: Any, **attributes: Any) -> Any:
    """One operation of Takt."""
    return operation(name, inputs, attributes)


def cast(x: Any, dtype: str) -> Any:
    """A tensor of this element type; numbers stay numbers."""
    return x if not isinstance(x, Tensor) or x.dtype == dtype else op("cast", x, dtype=dtype)


def full(shape: "Sequence[int]", value: Any, dtype: str) -> Tensor:
    """One number everywhere."""
    if dtype == "bool":
        value = bool(value)
    elif dtype[0] in "iu":
        value = int(value)
    else:
        value = float(value)
    made = as_tensor(value, Tensor(Node("number", "", (), {}, [(dtype, ())]), 0))
    whole = op("broadcast", made, shape=list(shape)) if len(shape) else \
        op("reshape", made, shape=[])
    assert isinstance(whole, Tensor)
    return whole


def iota(count: int, dtype: str) -> Tensor:
    """0, 1, 2, ..."""
    return Tensor(Node("op", "iota", (), {"dtype": dtype, "shape": [count]},
                       [(dtype, (count,))]), 0)


def constant(values: Any, dtype: str) -> Tensor:
    """A small tensor that is part of the model."""
    made = array(values, dtype)
    return Tensor(Node("array", "", (), {}, [(made.dtype, made.shape)], made), 0)


def axes_of(x: Tensor, dim: Any) -> "list[int]":
    """Axes from 0; none means all."""
    if dim is None or isinstance(dim, (list, tuple)) and not dim:
        return list(range(x.ndim))
    return [d % max(x.ndim, 1) for d in (dim if isinstance(dim, (list, tuple)) else [dim])]


def refuse(unless: bool, why: str) -> None:
    """Leaves the node to torch."""
    if not unless:
        raise UnsupportedError(why)


# ---- one input ----

_ONE = ("abs acos acosh asin asinh atan atanh ceil cos cosh erf exp exp2 expm1 floor log log1p "
        "log2 neg reciprocal relu round rsqrt sigmoid sign silu sin sinh sqrt tan tanh trunc mish")
_SAME_FOR_INTEGERS = {"ceil", "floor", "round", "trunc"}


def _one(name: str) -> "Callable[..., Any]":
    def convert(c: Lowering, x: Any) -> Any:
        if name in _SAME_FOR_INTEGERS and x.dtype[0] in "iub":
            return x
        return op(name, cast(x, c.dtype()))
    return convert


for _name in _ONE.split():
    aten(_name)(_one(_name))


@aten("isinf", "isnan")
def _is(c: Lowering, x: Any) -> Any:
    if x.dtype[0] in "iub":
        return full(x.shape, False, "bool")
    return op("is_inf" if "isinf" in c.target else "is_nan", x)


@aten("log10")
def _log10(c: Lowering, x: Any) -> Any:
    return op("mul", op("log", cast(x, c.dtype())), 1 / math.log(10))


@aten("logical_not")
def _logical_not(c: Lowering, x: Any) -> Any:
    return op("not", x) if x.dtype == "bool" else op("eq", x, 0)


@aten("bitwise_not")
def _bitwise_not(c: Lowering, x: Any) -> Any:
    return op("not", x)


@aten("gelu")
def _gelu(c: Lowering, x: Any, approximate: str = "none") -> Any:
    return op("gelu", x, approximate=approximate)


@aten("leaky_relu")
def _leaky_relu(c: Lowering, x: Any, slope: float = 0.01) -> Any:
    return op("leaky_relu", x, slope=float(slope))


@aten("elu")
def _elu(c: Lowering, x: Any, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Any:
    if input_scale != 1:
        refuse(alpha * input_scale == 1, "elu with a scale of its own")
        y = op("celu", x, alpha=float(alpha))
    else:
        y = op("elu", x, alpha=float(alpha))
    return y if scale == 1 else op("mul", y, float(scale))


@aten("softplus")
def _softplus(c: Lowering, x: Any, beta: float = 1, threshold: float = 20) -> Any:
    refuse(beta == 1, "softplus with beta")
    return op("select", op("gt", x, float(threshold)), x, op("softplus", x))


@aten("hardswish")
def _hardswish(c: Lowering, x: Any) -> Any:
    return op("hard_swish", x)


@aten("hardsigmoid")
def _hardsigmoid(c: Lowering, x: Any) -> Any:
    return op("hard_sigmoid", x, alpha=1 / 6, beta=0.5)


@aten("clamp", "hardtanh")
def _clamp(c: Lowering, x: Any, low: Any = None, high: Any = None) -> Any:
    if "hardtanh" in c.target:
        low, high = -1.0 if low is None else low, 1.0 if high is None else high
    x = cast(x, c.dtype())
    if x.dtype[0] in "iu":
        x = x if low is None else op("max", x, int(low))
        return x if high is None else op("min", x, int(high))
    given = {"min": low, "max": high}
    return op("clip", x, **{k: float(v) for k, v in given.items() if v is not None})


@aten("clamp.Tensor")
def _clamp_tensor(c: Lowering, x: Any, low: Any = None, high: Any = None) -> Any:
    x = cast(x, c.dtype())
    x = x if low is None else op("max", x, cast(low, c.dtype()))
    return x if high is None else op("min", x, cast(high, c.dtype()))


# ---- two inputs ----

_TWO = {"mul.Tensor": "mul", "mul.Scalar": "mul", "maximum": "max", "minimum": "min",
        "bitwise_and.Tensor": "and", "bitwise_and.Scalar": "and", "bitwise_or.Tensor": "or",
        "bitwise_or.Scalar": "or", "bitwise_xor.Tensor": "xor", "bitwise_xor.Scalar": "xor"}
_COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")


def both(c: Lowering, a: Any, b: Any, dtype: str) -> "tuple[Any, Any]":
    """Two operands of one element type; at least one is a tensor."""
    def fit(x: Any) -> Any:
        if isinstance(x, Tensor):
            return cast(x, dtype)
        return float(x) if dtype[0] in "fb" and dtype != "bool" else \
            bool(x) if dtype == "bool" else int(x)
    a, b = fit(a), fit(b)
    return (a if isinstance(a, Tensor) else full((), a, dtype)), b


def _two(name: str) -> "Callable[..., Any]":
    def convert(c: Lowering, a: Any, b: Any) -> Any:
        if c.dtype() == "bool" and name == "mul":
            return op("and", *both(c, a, b, "bool"))
        return op(name, *both(c, a, b, c.dtype()))
    return convert


for _theirs, _ours in _TWO.items():
    aten(_theirs)(_two(_ours))


def _compare(name: str) -> "Callable[..., Any]":
    def convert(c: Lowering, a: Any, b: Any) -> Any:
        return op(name, *both(c, a, b, c.common(0, 1)))
    return convert


for _name in _COMPARE:
    aten(f"{_name}.Tensor", f"{_name}.Scalar")(_compare(_name))


@aten("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar", "rsub.Scalar", "rsub.Tensor")
def _add(c: Lowering, a: Any, b: Any, alpha: Any = 1) -> Any:
    dtype = c.dtype()
    a, b = both(c, a, b, dtype)
    if alpha != 1 and "rsub" in c.target:
        a = op("mul", a, alpha)
    elif alpha != 1:
        b = op("mul", b, alpha) if isinstance(b, Tensor) else b * alpha
    if dtype == "bool":
        return op("or", a, b)
    if "rsub" in c.target:
        return op("sub", b if isinstance(b, Tensor) else full((), b, dtype), a)
    return op("add" if "add" in c.target else "sub", a, b)


@aten("div.Tensor", "div.Scalar", "div.Tensor_mode", "div.Scalar_mode", "floor_divide")
def _div(c: Lowering, a: Any, b: Any, rounding_mode: "Optional[str]" = None) -> Any:
    dtype = c.dtype()
    mode = "floor" if "floor_divide" in c.target else rounding_mode
    a, b = both(c, a, b, dtype)
    if dtype[0] in "iu":
        if mode == "trunc" or dtype[0] == "u":
            return op("div", a, b)
        return op("div", op("sub", a, op("mod", a, b)), b)
    y = op("div", a, b)
    return y if mode is None else op("floor" if mode == "floor" else "trunc", y)


@aten("pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar")
def _pow(c: Lowering, a: Any, b: Any) -> Any:
    a, b = both(c, a, b, c.dtype())
    known = {2.0: "square", 0.5: "sqrt", -0.5: "rsqrt", -1.0: "reciprocal"}
    if not isinstance(b, Tensor) and b == 1:
        return a
    if not isinstance(b, Tensor) and b in known and c.dtype()[0] not in "iu":
        return op(known[b], a)
    if not isinstance(b, Tensor) and b == 2:
        return op("square", a)
    return op("pow", a, b)


@aten("remainder.Tensor", "remainder.Scalar", "fmod.Tensor", "fmod.Scalar")
def _mod(c: Lowering, a: Any, b: Any) -> Any:
    return op("mod", *both(c, a, b, c.dtype()), fmod="fmod" in c.target)


@aten("bitwise_left_shift.Tensor", "bitwise_right_shift.Tensor",
      "bitwise_left_shift.Tensor_Scalar", "bitwise_right_shift.Tensor_Scalar")
def _shift(c: Lowering, a: Any, b: Any) -> Any:
    return op("shl" if "left" in c.target else "shr", *both(c, a, b, c.dtype()))


@aten("logical_and", "logical_or", "logical_xor")
def _logical(c: Lowering, a: Any, b: Any) -> Any:
    def truth(x: Any) -> Any:
        return x if x.dtype == "bool" else op("ne", x, 0)
    return op(c.target.split(".")[1].split("_")[1], truth(a), truth(b))


@aten("where.self")
def _where(c: Lowering, condition: Any, a: Any, b: Any) -> Any:
    a, b = both(c, a, b, c.dtype())
    return op("select", condition, a, b)


@aten("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(c: Lowering, x: Any, mask: Any, value: Any) -> Any:
    x, value = both(c, x, value, c.dtype())
    return op("select", mask, value if isinstance(value, Tensor) else full((), value, x.dtype), x)


# ---- reductions ----

def _reduce(name: str, x: Any, dim: Any, keep: bool) -> Any:
    axes = axes_of(x, dim)
    return op(name, x, axes=axes, keep=bool(keep)) if x.ndim else x


@aten("sum.dim_IntList", "sum", "mean.dim", "mean", "prod", "prod.dim_int")
def _sum(c: Lowering, x: Any, dim: Any = None, keep: bool = False, *, dtype: Any = None) -> Any:
    name = {"sum": "reduce_sum", "mean": "reduce_mean", "prod": "reduce_prod"}
    return _reduce(name[c.target.split(".")[1]], cast(x, c.dtype()), dim, keep)


@aten("amax", "amin", "any.dim", "any.dims", "any", "all.dim", "all.dims", "all", "max", "min")
def _extreme(c: Lowering, x: Any, dim: Any = None, keep: bool = False) -> Any:
    word = c.target.split(".")[1]
    if word in ("any", "all") and x.dtype != "bool":
        x = op("ne", x, 0)
    return _reduce("reduce_max" if word in ("amax", "any", "max") else "reduce_min", x, dim, keep)


@aten("max.dim", "min.dim")
def _max_dim(c: Lowering, x: Any, dim: int, keep: bool = False) -> Any:
    word = c.target.split(".")[1]
    axis, = axes_of(x, dim)
    return (op(f"reduce_{word}", x, axes=[axis], keep=bool(keep)),
            op(f"arg{word}", x, axis=axis, keep=bool(keep)))


@aten("argmax", "argmin")
def _arg(c: Lowering, x: Any, dim: Any = None, keep: bool = False) -> Any:
    if dim is None:
        refuse(not keep, "keepdim without a dimension")
        x, dim = x.reshape([x.size]), 0
    return op(c.target.split(".")[1], x, axis=axes_of(x, dim)[0], keep=bool(keep))


def variance(x: Any, axes: "list[int]", correction: Any, keep: bool) -> Any:
    """With a correction of 1 where none is given."""
    refuse(correction is None or int(correction) == correction,
           "a correction that is not an integer")
    return op("reduce_var", x, axes=axes, keep=bool(keep),
              correction=1 if correction is None else int(correction))


@aten("var.correction", "var_mean.correction")
def _var(c: Lowering, x: Any, dim: Any = None, *, correction: Any = None,
         keepdim: bool = False) -> Any:
    axes = axes_of(x, dim)
    var = variance(x, axes, correction, keepdim)
    return var if "var_mean" not in c.target else \
        (var, op("reduce_mean", x, axes=axes, keep=bool(keepdim)))


@aten("cumsum")
def _cumsum(c: Lowering, x: Any, dim: int, *, dtype: Any = None) -> Any:
    return op("cumsum", cast(x, c.dtype()), axis=axes_of(x, dim)[0]) if x.ndim else x


@aten("_softmax", "_log_softmax")
def _softmax(c: Lowering, x: Any, dim: int, half_to_float: bool = False) -> Any:
    return op("log_softmax" if "log" in c.target else "softmax", cast(x, c.dtype()),
              axis=axes_of(x, dim)[0])


@aten("_softmax_backward_data")
def _softmax_backward(c: Lowering, dy: Any, y: Any, dim: int, dtype: Any) -> Any:
    return cast(op("softmax_dx", y, dy, axis=axes_of(y, dim)[0]), c.dtype())


@aten("topk", "sort", "sort.stable")
def _order(c: Lowering, x: Any, *args: Any, **kwargs: Any) -> Any:
    if "topk" in c.target:
        k, dim, largest, _ = (*args, *(-1, True, True)[len(args) - 1:])
        return op("top_k", x, k=int(k), axis=axes_of(x, dim)[0], largest=bool(largest))
    names = ("dim", "descending")
    given = dict(zip(names, args)) | kwargs
    return op("sort", x, axis=axes_of(x, given.get("dim", -1))[0],
              descending=bool(given.get("descending", False)))
