"""Functions in PyTorch's argument order, made of takt.ops."""
from typing import Any, Sequence, Union

from . import ops
from .errors import ArgumentError

_Sizes = Union[int, Sequence[int]]


def einsum(equation: str, *operands: Any) -> Any:
    """Sums products of elements: each letter is an axis, and letters after the arrow remain.

    Without an arrow, letters that occur once remain, in alphabetical order.

        takt.einsum("ij,jk->ik", a, b)      # a matrix product
        takt.einsum("bhqd,bhkd->bhqk", q, k)
    """
    if not isinstance(equation, str):
        raise ArgumentError("the equation comes first, as in einsum('ij,jk->ik', a, b); it is "
                            f"{type(equation).__name__}")
    return ops.einsum(*operands, equation=equation)


def _sizes(name: str, value: _Sizes, rank: int) -> "list[int]":
    """A number for each spatial axis."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    given = [value] * rank if whole else list(value) if isinstance(value, (tuple, list)) else []
    if len(given) != rank or not all(isinstance(v, int) for v in given):
        raise ArgumentError(f"{name} is a whole number, or {rank} of them; it is {value!r}")
    return given


def _pad(padding: "Union[str, _Sizes]", weight: Any, stride: "list[int]",
         dilation: "list[int]") -> "list[int]":
    rank = len(stride)
    if not isinstance(padding, str):
        return 2 * _sizes("padding", padding, rank)
    if padding == "valid":
        return [0] * 2 * rank
    if padding != "same" or any(s != 1 for s in stride):
        raise ArgumentError("padding is a number, numbers, 'valid', or 'same' with stride 1; it is "
                            f"{padding!r}")
    both = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:])]
    return [n // 2 for n in both] + [n - n // 2 for n in both]


def _conv(rank: int, x: Any, weight: Any, bias: Any, how: "dict[str, Any]") -> Any:
    shape = getattr(weight, "shape", None)
    if shape is None or len(shape) != rank + 2:
        raise ArgumentError(f"conv{rank}d needs weights of rank {rank + 2}: "
                            "[out, in / groups, kernel...]")
    stride = _sizes("stride", how["stride"], rank)
    dilation = _sizes("dilation", how["dilation"], rank)
    y = ops.conv(x, weight, stride=stride, dilation=dilation, groups=how["groups"],
                 pad=_pad(how["padding"], weight, stride, dilation))
    return y if bias is None else ops.add(y, ops.reshape(bias, shape=[shape[0]] + [1] * rank))


def conv1d(x: Any, weight: Any, bias: Any = None, stride: _Sizes = 1,
           padding: "Union[str, _Sizes]" = 0, dilation: _Sizes = 1, groups: int = 1) -> Any:
    """Convolution over one axis, as conv2d over two.

    x is [batch, in, length], weight [out, in / groups, kernel], bias [out].
    """
    return _conv(1, x, weight, bias, {"stride": stride, "padding": padding, "dilation": dilation,
                                      "groups": groups})


def conv2d(x: Any, weight: Any, bias: Any = None, stride: _Sizes = 1,
           padding: "Union[str, _Sizes]" = 0, dilation: _Sizes = 1, groups: int = 1) -> Any:
    """Convolution over two axes.

    x is [batch, in, height, width], weight [out, in / groups, kernel height, kernel width], bias
    [out]; the result is [batch, out, height, width]. stride, padding and dilation are a number or
    one for each axis; padding may be "valid" (none) or "same" (the result is as large as x). Other
    layouts and padding of one side: takt.ops.conv.

        y = takt.conv2d(x, weight, bias, stride=2, padding=1)
    """
    return _conv(2, x, weight, bias, {"stride": stride, "padding": padding, "dilation": dilation,
                                      "groups": groups})


def conv3d(x: Any, weight: Any, bias: Any = None, stride: _Sizes = 1,
           padding: "Union[str, _Sizes]" = 0, dilation: _Sizes = 1, groups: int = 1) -> Any:
    """Convolution over three axes, as conv2d over two.

    x is [batch, in, depth, height, width], weight [out, in / groups, kernel...], bias [out].
    """
    return _conv(3, x, weight, bias, {"stride": stride, "padding": padding, "dilation": dilation,
                                      "groups": groups})
