"""_arrays.py - arrays in and out, with NumPy or without it."""
from __future__ import annotations

import sys

from . import _takt
from .errors import ArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing would take longer than the rest of the package
    from typing import Any

_CODES = {"f64": "d", "f32": "f", "i64": "q", "i32": "i", "i16": "h", "i8": "b", "u64": "Q",
          "u32": "I", "u16": "H", "u8": "B", "bool": "?", "f16": "e"}


def empty(shape: Any, dtype: Any = "f32") -> _takt.Array:
    """An Array of zeros; `shape` is a number or a sequence."""
    return _takt.empty(shape, dtype)


zeros = empty


def _shape_of(data: Any) -> list[int]:
    shape: list[int] = []
    while isinstance(data, (list, tuple)):
        shape.append(len(data))
        if not data:
            break
        data = data[0]
    return shape


def _flat(data: Any, shape: list[int], out: list[Any]) -> None:
    if not shape:
        if isinstance(data, (list, tuple)):
            raise ArgumentError("the lists are not equally deep")
        out.append(data)
        return
    if not isinstance(data, (list, tuple)) or len(data) != shape[0]:
        raise ArgumentError("the lists are not equally long")
    for item in data:
        _flat(item, shape[1:], out)


def _guess(values: list[Any]) -> str:
    if values and all(isinstance(v, bool) for v in values):
        return "bool"
    return "i64" if values and all(isinstance(v, int) for v in values) else "f32"


# Types of less than a byte: NumPy's name by ml_dtypes, which gives each element a byte, and a type
# that holds all of their values.
_SMALL = {"i2": ("int2", "i8"), "u2": ("uint2", "u8"), "i4": ("int4", "i8"), "u4": ("uint4", "u8"),
          "f4e2m1": ("float4_e2m1fn", "f32")}


def array(data: Any, dtype: Any = None) -> _takt.Array:
    """An Array with its own memory: a copy of an array, or of nested lists of numbers.

    Without `dtype` floats become f32, integers i64 and bools bool.
    """
    if not isinstance(data, (list, tuple, int, float, bool)):
        made = _takt.wrap(data).copy()
        if dtype is not None and _takt.empty((), dtype).dtype != made.dtype:
            raise ArgumentError(f"the array is {made.dtype}, not {dtype}: takt.ops.cast converts")
        return made
    shape = _shape_of(data)
    values: list[Any] = []
    _flat(data, shape, values)
    made = _takt.empty(shape, dtype if dtype is not None else _guess(values))
    if made.dtype not in _CODES:
        raise ArgumentError(f"lists cannot be {made.dtype}: takt.ops.cast converts an array")
    if values:
        import struct
        try:
            packed = struct.pack(f"={len(values)}{_CODES[made.dtype]}", *values)
        except (struct.error, OverflowError) as error:
            raise ArgumentError(f"an element does not fit {made.dtype}: {error}") from None
        memoryview(made).cast("B")[:] = packed
    return made


def restored(elements: Any, dtype: str, shape: tuple[int, ...]) -> _takt.Array:
    """The array of which `reduced` made these."""
    if isinstance(elements, _takt.Array):
        from . import ops
        return asarray(ops.cast(elements, dtype=dtype))
    made = _takt.empty(shape, dtype)
    if elements:
        memoryview(_plain(made)).cast("B")[:] = elements
    return made


def reduced(x: _takt.Array) -> Any:
    """What pickle stores of an Array: its bytes, or of small types a wider array."""
    if x.dtype in _SMALL:
        from . import ops
        return restored, (asarray(ops.cast(x, dtype=_SMALL[x.dtype][1])), x.dtype, x.shape)
    return restored, (bytes(memoryview(_plain(x.copy()))), x.dtype, x.shape)


def _plain(x: _takt.Array) -> _takt.Array:
    """The same memory in a type that buffers have."""
    return x if x.dtype in _CODES else _takt.view_as(x, "u16" if x.dtype == "bf16" else "u8")


def asarray(data: Any) -> _takt.Array:
    """An Array of the same memory as `data`: nothing is copied. Lists are copied, as by array().

    So are NumPy's elements of less than a byte, which have a byte each there.
    """
    if isinstance(data, _takt.Array):
        return data
    if isinstance(data, (list, tuple, int, float, bool)):
        return array(data)
    return _takt.wrap(data)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> _takt.Array:
    """An Array of the memory of any object with ``__dlpack__``, or of a capsule."""
    if device not in (None, "cpu", (1, 0)):
        raise ArgumentError(f"arrays are on the host, not on {device}")
    if hasattr(x, "__dlpack__") and not isinstance(x, _takt.Array):
        kwargs = {"copy": True} if copy else {}
        try:
            capsule = x.__dlpack__(max_version=(1, 1), **kwargs)
        except TypeError:
            capsule = x.__dlpack__()
        made = _takt.wrap(capsule)
    else:
        made = _takt.wrap(x)
    return made.copy() if copy and isinstance(x, _takt.Array) else made


def numpy(x: Any) -> Any:
    """A NumPy array of the same memory; bf16 and narrower types need ml_dtypes.

    Elements of less than a byte are copied: NumPy has a byte for each.
    """
    import numpy as np
    if not isinstance(x, _takt.Array):
        return np.asarray(x)
    try:
        return np.asarray(memoryview(x))
    except BufferError:
        pass
    import ml_dtypes
    names = {"bf16": "bfloat16", "f8e4m3fn": "float8_e4m3fn", "f8e4m3fnuz": "float8_e4m3fnuz",
             "f8e5m2": "float8_e5m2", "f8e5m2fnuz": "float8_e5m2fnuz", "f8e8m0": "float8_e8m0fnu"}
    if x.dtype in _SMALL:
        from . import ops
        name, wide = _SMALL[x.dtype]
        return np.asarray(asarray(ops.cast(x, dtype=wide))).astype(getattr(ml_dtypes, name))
    if x.dtype not in names:
        raise ArgumentError(f"{x.dtype} has no type in NumPy: tolist() gives its elements")
    return np.asarray(memoryview(_plain(x))).view(getattr(ml_dtypes, names[x.dtype]))


def for_numpy(x: _takt.Array, dtype: Any = None, copy: bool | None = None) -> Any:
    """What ``__array__`` of an Array is; NumPy asks for it where memoryview() has no format."""
    made = numpy(x)
    is_other = dtype is not None and made.dtype != dtype
    if copy is False and (is_other or x.dtype in _SMALL):
        raise ValueError(f"an array of {x.dtype} cannot be had as {dtype or made.dtype} "
                         "without a copy")
    if is_other:
        return made.astype(dtype)
    return made.copy() if copy else made


def has_numpy() -> bool:
    """Whether the program has imported NumPy."""
    return "numpy" in sys.modules
