"""_foreign_jax.py - the space of jax.numpy's arrays, for _foreign_ops.py."""
from __future__ import annotations

import jax
from jax import numpy as jnp

from .errors import UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

_DTYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16",
           "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u64": "uint64",
           "u32": "uint32", "u16": "uint16", "u8": "uint8", "bool": "bool"}
_NAMES = {value: key for key, value in _DTYPES.items()}


class JaxSpace:
    """Arrays of JAX, with 64 bits where the model has them."""

    xp = jnp

    def __init__(self) -> None:
        jax.config.update("jax_enable_x64", True)

    # ---- in and out ----

    def take_in(self, x: Any) -> Any:
        """Any array as JAX's."""
        return x if isinstance(x, jax.Array) else jnp.array(jnp.from_dlpack(x), copy=True) \
            if hasattr(x, "__dlpack__") else jnp.asarray(x)

    def dtype(self, x: Any) -> str:
        """The element type's name."""
        return _NAMES[str(x.dtype)]

    def type_of(self, name: str) -> Any:
        """JAX's element type."""
        if name not in _DTYPES:
            raise UnsupportedError(f"{name} has no counterpart in JAX")
        return jnp.dtype(_DTYPES[name])

    def cast(self, x: Any, dtype: str) -> Any:
        """Another element type."""
        return x.astype(self.type_of(dtype))

    # ---- new arrays ----

    def full(self, shape: Any, value: Any, dtype: str) -> Any:
        """One number everywhere."""
        return jnp.full(tuple(shape), value, self.type_of(dtype))

    def arange(self, count: int) -> Any:
        """0, 1, 2, ..."""
        return jnp.arange(count)

    def integers(self, values: Any) -> Any:
        """A vector of integers."""
        return jnp.asarray(list(values), dtype="int64")

    def zeros_like(self, x: Any) -> Any:
        """Zeros."""
        return jnp.zeros_like(x)

    def ones_like(self, x: Any) -> Any:
        """Ones."""
        return jnp.ones_like(x)

    def lowest(self, x: Any) -> int:
        """The smallest integer of the type."""
        return int(jnp.iinfo(x.dtype).min)

    # ---- element-wise ----

    def erf(self, x: Any) -> Any:
        """The error function."""
        return jax.scipy.special.erf(x)

    def sigmoid(self, x: Any) -> Any:
        """1 / (1 + exp(-x))."""
        return jax.nn.sigmoid(x)

    def softplus(self, x: Any) -> Any:
        """log(1 + exp(x))."""
        return jax.nn.softplus(x)

    def divide(self, a: Any, b: Any) -> Any:
        """Integers round towards 0."""
        return a / b if jnp.issubdtype(a.dtype, jnp.floating) else \
            jax.lax.div(*jnp.broadcast_arrays(a, b))

    def power(self, a: Any, b: Any) -> Any:
        """a to the power of b."""
        return jnp.power(a, b)

    # ---- reductions ----

    def sum(self, x: Any, axes: Any, keep: bool) -> Any:
        """In the type of x."""
        return jnp.sum(x, axis=tuple(axes), keepdims=keep, dtype=x.dtype)

    def prod(self, x: Any, axes: Any, keep: bool) -> Any:
        """In the type of x."""
        return jnp.prod(x, axis=tuple(axes), keepdims=keep, dtype=x.dtype)

    def extreme(self, x: Any, axes: Any, keep: bool, largest: bool) -> Any:
        """The largest or smallest element."""
        return (jnp.max if largest else jnp.min)(x, axis=tuple(axes), keepdims=keep)

    def arg(self, x: Any, axis: int, largest: bool) -> Any:
        """The position of the first such element."""
        return (jnp.argmax if largest else jnp.argmin)(x, axis=axis).astype("int64")

    def cumsum(self, x: Any, axis: int) -> Any:
        """In the type of x."""
        return jnp.cumsum(x, axis=axis, dtype=x.dtype)

    def sort(self, x: Any, axis: int, descending: bool) -> Any:
        """Values and indices; stable."""
        at = jnp.argsort(x, axis=axis, stable=True, descending=descending).astype("int64")
        return jnp.take_along_axis(x, at, axis=axis), at

    # ---- shapes ----

    def reshape(self, x: Any, shape: Any) -> Any:
        """Other sizes."""
        return jnp.reshape(x, tuple(shape))

    def transpose(self, x: Any, perm: Any) -> Any:
        """The axes in another order."""
        return jnp.transpose(x, tuple(perm))

    def broadcast(self, x: Any, shape: Any) -> Any:
        """Repeated to a shape."""
        return jnp.broadcast_to(x, tuple(shape))

    def unsqueeze(self, x: Any, axis: int) -> Any:
        """With a new axis."""
        return jnp.expand_dims(x, axis)

    def along(self, x: Any, rank: int, axis: int) -> Any:
        """A vector along one of several axes."""
        shape = [1] * rank
        shape[axis] = -1
        return jnp.reshape(x, shape)

    def flip(self, x: Any, axis: int) -> Any:
        """From the end."""
        return jnp.flip(x, axis)

    def concat(self, xs: Any, axis: int) -> Any:
        """One after the other."""
        return jnp.concatenate(list(xs), axis)

    def stack(self, xs: Any, axis: int) -> Any:
        """Along a new axis."""
        return jnp.stack(list(xs), axis)

    def pad(self, x: Any, before: Any, after: Any, value: Any) -> Any:
        """With one number."""
        return jnp.pad(x, list(zip(before, after)), constant_values=value) if x.ndim else x

    # ---- indices ----

    def take(self, x: Any, index: Any, axis: int) -> Any:
        """Rows of an axis."""
        return jnp.take(x, index, axis=axis)

    def scatter(self, x: Any, at: Any, u: Any, how: str) -> Any:
        """A vector with elements set or combined; the last of equal indices wins."""
        if how == "none":
            for i, place in enumerate(at.tolist()):
                x = x.at[place].set(u[i])
            return x
        return getattr(x.at[at], {"mul": "multiply"}.get(how, how))(u)

    # ---- layers ----

    def conv(self, x: Any, w: Any, stride: Any, dilation: Any, groups: int) -> Any:
        """Without padding; channels first."""
        return jax.lax.conv_general_dilated(
            x, w, tuple(stride), [(0, 0)] * (x.ndim - 2), rhs_dilation=tuple(dilation),
            feature_group_count=groups, precision=jax.lax.Precision.HIGHEST)

    def pull_back(self, f: "Callable[[Any], Any]", x: Any, dy: Any) -> Any:
        """The gradient of f at x, times dy."""
        y, back = jax.vjp(f, x)
        return back(jnp.broadcast_to(dy, y.shape))[0]
