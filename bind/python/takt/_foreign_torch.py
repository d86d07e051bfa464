"""_foreign_torch.py - the space of torch's tensors, for _foreign_ops.py."""
from __future__ import annotations

import torch
from torch.nn import functional

from .errors import UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

_DTYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16,
           "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32, "i16": torch.int16,
           "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool}
_NAMES = {value: key for key, value in _DTYPES.items()}


class TorchSpace:
    """Tensors on one device."""

    xp = torch

    def __init__(self, device: str = "cpu"):
        self.device = torch.device(device)

    # ---- in and out ----

    def take_in(self, x: Any) -> torch.Tensor:
        """Any array as a tensor."""
        made = x if isinstance(x, torch.Tensor) else torch.from_dlpack(x)
        if made.dtype not in _NAMES:
            raise UnsupportedError(f"torch computes little with {made.dtype}")
        return made.to(self.device)

    def dtype(self, x: torch.Tensor) -> str:
        """The element type's name."""
        return _NAMES[x.dtype]

    def type_of(self, name: str) -> torch.dtype:
        """torch's element type."""
        if name not in _DTYPES:
            raise UnsupportedError(f"torch computes little with {name}")
        return _DTYPES[name]

    def cast(self, x: torch.Tensor, dtype: str) -> torch.Tensor:
        """Another element type."""
        return x.to(self.type_of(dtype))

    # ---- new tensors ----

    def full(self, shape: Any, value: Any, dtype: str) -> torch.Tensor:
        """One number everywhere."""
        return torch.full(tuple(shape), value, dtype=self.type_of(dtype), device=self.device)

    def arange(self, count: int) -> torch.Tensor:
        """0, 1, 2, ..."""
        return torch.arange(count, device=self.device)

    def integers(self, values: Any) -> torch.Tensor:
        """A vector of integers."""
        return torch.tensor(list(values), dtype=torch.int64, device=self.device)

    def zeros_like(self, x: torch.Tensor) -> torch.Tensor:
        """Zeros."""
        return torch.zeros_like(x)

    def ones_like(self, x: torch.Tensor) -> torch.Tensor:
        """Ones."""
        return torch.ones_like(x)

    def lowest(self, x: torch.Tensor) -> int:
        """The smallest integer of the type."""
        return int(torch.iinfo(x.dtype).min)

    # ---- element-wise ----

    def erf(self, x: torch.Tensor) -> torch.Tensor:
        """The error function."""
        return torch.erf(x)

    def sigmoid(self, x: torch.Tensor) -> torch.Tensor:
        """1 / (1 + exp(-x))."""
        return torch.sigmoid(x)

    def softplus(self, x: torch.Tensor) -> torch.Tensor:
        """log(1 + exp(x))."""
        return torch.logaddexp(x, torch.zeros_like(x))

    def divide(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Integers round towards 0."""
        return a / b if a.is_floating_point() else torch.div(a, b, rounding_mode="trunc")

    def power(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """a to the power of b."""
        return torch.pow(a, b)

    # ---- reductions ----

    def sum(self, x: torch.Tensor, axes: Any, keep: bool) -> torch.Tensor:
        """In the type of x."""
        return x.sum(dim=tuple(axes), keepdim=keep, dtype=x.dtype) if x.ndim else x

    def prod(self, x: torch.Tensor, axes: Any, keep: bool) -> torch.Tensor:
        """In the type of x."""
        for axis in sorted(axes, reverse=True):
            x = x.prod(dim=axis, keepdim=keep, dtype=x.dtype)
        return x

    def extreme(self, x: torch.Tensor, axes: Any, keep: bool, largest: bool) -> torch.Tensor:
        """The largest or smallest element."""
        if not x.ndim:
            return x
        return (torch.amax if largest else torch.amin)(x, dim=tuple(axes), keepdim=keep)

    def arg(self, x: torch.Tensor, axis: int, largest: bool) -> torch.Tensor:
        """The position of the first such element."""
        at = torch.sort(x.to(torch.uint8) if x.dtype is torch.bool else x, dim=axis,
                        descending=largest, stable=True)[1]
        return at.select(axis, 0)

    def cumsum(self, x: torch.Tensor, axis: int) -> torch.Tensor:
        """In the type of x."""
        return torch.cumsum(x, axis, dtype=x.dtype)

    def sort(self, x: torch.Tensor, axis: int, descending: bool) -> Any:
        """Values and indices; stable."""
        made = torch.sort(x, dim=axis, descending=descending, stable=True)
        return made[0], made[1]

    # ---- shapes ----

    def reshape(self, x: torch.Tensor, shape: Any) -> torch.Tensor:
        """Other sizes."""
        return x.reshape(tuple(shape))

    def transpose(self, x: torch.Tensor, perm: Any) -> torch.Tensor:
        """The axes in another order."""
        return x.permute(tuple(perm))

    def broadcast(self, x: torch.Tensor, shape: Any) -> torch.Tensor:
        """Repeated to a shape."""
        return torch.broadcast_to(x, tuple(shape))

    def unsqueeze(self, x: torch.Tensor, axis: int) -> torch.Tensor:
        """With a new axis."""
        return x.unsqueeze(axis)

    def along(self, x: torch.Tensor, rank: int, axis: int) -> torch.Tensor:
        """A vector along one of several axes."""
        shape = [1] * rank
        shape[axis] = -1
        return x.reshape(shape)

    def flip(self, x: torch.Tensor, axis: int) -> torch.Tensor:
        """From the end."""
        return torch.flip(x, (axis,))

    def concat(self, xs: Any, axis: int) -> torch.Tensor:
        """One after the other."""
        return torch.cat(tuple(xs), axis)

    def stack(self, xs: Any, axis: int) -> torch.Tensor:
        """Along a new axis."""
        return torch.stack(tuple(xs), axis)

    def pad(self, x: torch.Tensor, before: Any, after: Any, value: Any) -> torch.Tensor:
        """With one number."""
        if not any(before) and not any(after):
            return x
        sides = [n for pair in zip(reversed(list(before)), reversed(list(after))) for n in pair]
        return functional.pad(x, sides, value=value)

    # ---- indices ----

    def take(self, x: torch.Tensor, index: torch.Tensor, axis: int) -> torch.Tensor:
        """Rows of an axis."""
        return torch.index_select(x, axis, index)

    def scatter(self, x: torch.Tensor, at: torch.Tensor, u: torch.Tensor,
                how: str) -> torch.Tensor:
        """A vector with elements set or combined; the last of equal indices wins."""
        if how == "none":
            made = x.clone()
            for i, place in enumerate(at.tolist()):
                made[place] = u[i]
            return made
        names = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}
        return x.scatter_reduce(0, at, u, names[how], include_self=True)

    # ---- layers ----

    def conv(self, x: torch.Tensor, w: torch.Tensor, stride: Any, dilation: Any,
             groups: int) -> torch.Tensor:
        """Without padding; channels first."""
        call = (functional.conv1d, functional.conv2d, functional.conv3d)[x.ndim - 3]
        return call(x, w, None, tuple(stride), 0, tuple(dilation), groups)

    def pull_back(self, f: "Callable[[Any], Any]", x: torch.Tensor,
                  dy: torch.Tensor) -> torch.Tensor:
        """The gradient of f at x, times dy."""
        with torch.enable_grad():
            given = x.detach().clone().requires_grad_(True)
            made, = torch.autograd.grad(f(given), given, dy.expand_as(f(given)))
        return made
