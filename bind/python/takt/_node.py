"""_node.py - nodes of a graph that is being recorded, and their values in the model language."""
from __future__ import annotations

import re

from . import _takt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional, Sequence, Union

    from ._tensor import Tensor

    Dim = Union[int, str]

_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9.]*\Z")


class Word(str):
    """A string that is written into a model's text without quotes."""


def quoted(text: str) -> str:
    """A string of the language."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
    return '"' + "".join(escapes.get(c, c) for c in text) + '"'


def name_of(text: str) -> str:
    """A name in the model language: unchanged, or in backquotes."""
    return text if _WORD.match(text) else "`" + text.replace("\\", "\\\\").replace("`", "\\`") + "`"


def written(value: Any) -> str:
    """A Python value in the syntax of the model language."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Word) or isinstance(value, str) and _WORD.match(value):
        return str(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float):
        return repr(value) if value == value else "nan"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(str(v) if isinstance(v, str) else written(v) for v in value) + "]"
    if hasattr(value, "item"):
        return written(value.item())
    if hasattr(value, "__index__"):
        return str(value.__index__())
    return str(_takt.empty((), value).dtype)  # numpy.float32, torch.float32


def type_text(dtype: str, shape: Sequence[Dim]) -> str:
    """'f32[batch, 4]'."""
    return f"{dtype}[{', '.join(str(dim) for dim in shape)}]"


class Node:
    """One operation, layer, parameter, input or array, and its results."""

    __slots__ = ("kind", "name", "inputs", "attributes", "types", "array", "owner")

    def __init__(self, kind: str, name: str, inputs: Sequence[Optional[Tensor]],
                 attributes: dict[str, Any], types: list[tuple[str, tuple[Dim, ...]]],
                 array: Any = None, owner: Any = None):
        self.kind, self.name, self.inputs, self.attributes = kind, name, inputs, attributes
        self.types, self.array, self.owner = types, array, owner
