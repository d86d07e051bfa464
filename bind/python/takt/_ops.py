"""_ops.py - one operation at a time, for the functions of takt.ops."""
from __future__ import annotations

import json
from typing import Any, Sequence

from . import _arrays, _takt
from ._tensor import Tensor, as_tensor, operation
from .errors import ArgumentError


def _plain(value: Any) -> Any:
    """Converts to JSON types: NumPy's numbers, dtypes and tuples too."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        return _plain(value.item())
    return _takt.empty((), value).dtype


def call(name: str, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """Runs operation `name`; its results are NumPy arrays if an input is one, else Arrays.

    With a Tensor among its inputs it is recorded, and computed when a result is read.
    """
    if any(isinstance(x, Tensor) or hasattr(x, "_as_tensor") for x in inputs):
        if attributes.get("dtype") is not None:
            attributes["dtype"] = _takt.empty((), attributes["dtype"]).dtype
        return operation(name, [as_tensor(x) if hasattr(x, "_as_tensor") else x for x in inputs],
                         attributes)
    given = list(inputs)
    while given and given[-1] is None:
        given.pop()
    if any(x is None for x in given):
        raise ArgumentError(f"{name}: an input in the middle is left out; build a model for that")
    numpy_result = any(type(x).__module__ == "numpy" for x in given)
    arrays = [x if hasattr(x, "__array_interface__") or hasattr(x, "__dlpack__")
              else _arrays.asarray(x) for x in given]
    if "dtype" in attributes and attributes["dtype"] is not None:
        attributes["dtype"] = _takt.empty((), attributes["dtype"]).dtype
    set_ones = {key: _plain(value) for key, value in attributes.items() if value is not None}
    made = _takt.op(name, json.dumps(set_ones) if set_ones else None, arrays)
    results = tuple(_arrays.numpy(y) if numpy_result and y.dtype in _arrays._CODES else y
                    for y in made)
    return results[0] if len(results) == 1 else results
