"""_tensor.py - tensors that are computed lazily.

A Tensor is a node of a graph: an operation of other tensors, or an array. Its element type and
shape are known at once, so that mistakes are reported where they are made. numpy(), item(), print
and the like compute it: the graph behind it becomes the text of a model, and a text that was seen
before already has a plan.
"""
from __future__ import annotations

import json

from . import _arrays, _takt
from ._node import Node, type_text
from .errors import ArgumentError, RangeError, StateError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, Optional, Sequence, Union

    from ._node import Dim


def _results(node: Node) -> Any:
    made = tuple(Tensor(node, i) for i in range(len(node.types)))
    return made[0] if len(made) == 1 else made


def operation(name: str, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """An operation on tensors; arrays and numbers among its inputs become tensors."""
    like = next(x for x in inputs if isinstance(x, Tensor))
    given: list[Optional[Tensor]] = [None if x is None else held(as_tensor(x, like))
                                     for x in inputs]
    while given and given[-1] is None:
        given.pop()
    kept = {key: value for key, value in attributes.items() if value is not None}
    types = tuple(None if x is None else type_text(x.dtype, x.shape) for x in given)
    found = _takt.infer(name, json.dumps(kept, default=_plain) if kept else None, types)
    return _results(Node("op", name, given, kept,
                         [(dtype, tuple(dims)) for _, dtype, dims in found]))


def held(x: Tensor) -> Tensor:
    """The tensor's value for an operation, unaffected by later writes."""
    x._shared = True
    return Tensor(x._node, x._index)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else _takt.empty((), value).dtype


def as_tensor(x: Any, like: Optional[Tensor] = None) -> Tensor:
    """A Tensor of an array's memory, of lists, or of a number of the type of `like`."""
    if isinstance(x, Tensor):
        return x
    if hasattr(x, "_as_tensor"):
        made = x._as_tensor()
        assert isinstance(made, Tensor)
        return made
    if isinstance(x, (bool, int, float)) and like is not None:
        if isinstance(x, float) and like.dtype[0] in "iub":
            raise ArgumentError(f"{x} is not a valid {like.dtype}: cast() the tensor first")
        return Tensor(Node("number", "", (), {"value": x}, [(like.dtype, ())]), 0)
    array = _arrays.asarray(x)
    return Tensor(Node("array", "", (), {}, [(array.dtype, array.shape)], array), 0)


def tensor(data: Any, dtype: Any = None) -> Tensor:
    """A Tensor with its own memory: a copy of an array, or of nested lists of numbers."""
    return as_tensor(_arrays.array(data.array() if isinstance(data, Tensor) else data, dtype))


class Tensor:
    """A value of a graph, computed when it is read. ``takt.tensor`` makes one of numbers.

    Operators, ``takt.ops`` and the methods here make new tensors. ``numpy()``, ``item()``,
    ``tolist()``, ``print`` and the buffer and DLPack protocols compute the value.
    """

    __slots__ = ("_node", "_index", "_shared", "__weakref__")
    __array_priority__ = 1000

    def __init__(self, node: Node, index: int):
        self._node, self._index = node, index
        self._shared = False

    # ---- facts ----

    @property
    def dtype(self) -> str:
        """The element type: 'f32', 'i64'."""
        return self._node.types[self._index][0]

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The sizes; while a model is traced some are names."""
        return self._node.types[self._index][1]

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements there are."""
        count = 1
        for dim in self.shape:
            if isinstance(dim, str):
                raise StateError(f"the size {dim} is not known while the model is traced")
            count *= dim
        return count

    @property
    def is_computed(self) -> bool:
        """Whether the value is already in memory."""
        return self._node.kind == "array"

    # ---- values ----

    def array(self) -> _takt.Array:
        """The value as a takt.Array, which shares its memory with this tensor."""
        if self._node.kind != "array":
            from ._text import evaluate
            evaluate([self])
        assert isinstance(self._node.array, _takt.Array)
        return self._node.array

    def numpy(self) -> Any:
        """The value as a NumPy array of the same memory."""
        self._shared = True
        return _arrays.numpy(self.array())

    def item(self) -> Union[int, float, bool]:
        """The value of a tensor with one element, as a number."""
        return self.array().item()

    def tolist(self) -> Any:
        """The value as nested lists."""
        return self.array().tolist()

    def __dlpack__(self, **kwargs: Any) -> Any:
        self._shared = True
        return self.array().__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        made = self.numpy()
        return made if dtype is None else made.astype(dtype)

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __len__(self) -> int:
        if not self.shape or isinstance(self.shape[0], str):
            raise ArgumentError("a scalar, or an axis with a name, has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        from ._text import behind
        if any(node.kind == "input" for node in behind([self])):
            return f"<takt.Tensor {type_text(self.dtype, self.shape)}, traced>"
        return f"takt.Tensor({self.tolist()}, dtype={self.dtype})"

    # ---- operators ----

    def _two(self, name: str, other: Any, swapped: bool = False) -> Any:
        if not isinstance(other, (Tensor, bool, int, float)) and not _is_array(other):
            return NotImplemented
        return operation(name, (other, self) if swapped else (self, other), {})

    def __add__(self, other: Any) -> Any: return self._two("add", other)
    def __radd__(self, other: Any) -> Any: return self._two("add", other, True)
    def __sub__(self, other: Any) -> Any: return self._two("sub", other)
    def __rsub__(self, other: Any) -> Any: return self._two("sub", other, True)
    def __mul__(self, other: Any) -> Any: return self._two("mul", other)
    def __rmul__(self, other: Any) -> Any: return self._two("mul", other, True)
    def __truediv__(self, other: Any) -> Any: return self._two("div", other)
    def __rtruediv__(self, other: Any) -> Any: return self._two("div", other, True)
    def __pow__(self, other: Any) -> Any: return self._two("pow", other)
    def __rpow__(self, other: Any) -> Any: return self._two("pow", other, True)
    def __matmul__(self, other: Any) -> Any: return self._two("matmul", other)
    def __rmatmul__(self, other: Any) -> Any: return self._two("matmul", other, True)
    def __lt__(self, other: Any) -> Any: return self._two("lt", other)
    def __le__(self, other: Any) -> Any: return self._two("le", other)
    def __gt__(self, other: Any) -> Any: return self._two("gt", other)
    def __ge__(self, other: Any) -> Any: return self._two("ge", other)
    def __eq__(self, other: Any) -> Any: return self._two("eq", other)
    def __ne__(self, other: Any) -> Any: return self._two("ne", other)
    def __and__(self, other: Any) -> Any: return self._two("and", other)
    def __or__(self, other: Any) -> Any: return self._two("or", other)
    def __neg__(self) -> Any: return operation("neg", (self,), {})
    def __abs__(self) -> Any: return operation("abs", (self,), {})
    def __invert__(self) -> Any: return operation("not", (self,), {})

    __hash__ = object.__hash__

    # ---- shapes ----

    def reshape(self, *shape: Any) -> Tensor:
        """Other sizes; one may be -1."""
        sizes = list(shape[0]) if len(shape) == 1 and isinstance(shape[0], (list, tuple)) \
            else list(shape)
        if -1 in sizes:
            rest = 1
            for n in sizes:
                rest *= n if isinstance(n, int) and n != -1 else 1
            if all(isinstance(n, int) for n in (*sizes, *self.shape)) and rest:
                sizes[sizes.index(-1)] = self.size // rest
        made = operation("reshape", (self,), {"shape": sizes})
        assert isinstance(made, Tensor)
        return made

    def transpose(self, *perm: int) -> Tensor:
        """The axes in another order; without numbers in reverse order."""
        order = list(perm[0]) if len(perm) == 1 and isinstance(perm[0], (list, tuple)) else \
            list(perm) or list(range(self.ndim))[::-1]
        made = operation("transpose", (self,), {"perm": [p % max(self.ndim, 1) for p in order]})
        assert isinstance(made, Tensor)
        return made

    @property
    def T(self) -> Tensor:
        """The axes in reverse order."""
        return self.transpose()

    def cast(self, dtype: Any) -> Tensor:
        """Another element type."""
        made = operation("cast", (self,), {"dtype": _takt.empty((), dtype).dtype})
        assert isinstance(made, Tensor)
        return made

    def _reduced(self, name: str, axis: Any, keepdims: bool) -> Any:
        axes = list(range(self.ndim)) if axis is None else \
            [a % max(self.ndim, 1) for a in (axis if isinstance(axis, (list, tuple)) else [axis])]
        return operation(name, (self,), {"axes": axes, "keep": keepdims})

    def sum(self, axis: Any = None, keepdims: bool = False) -> Any:
        """The sum over axes, or over all."""
        return self._reduced("reduce_sum", axis, keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False) -> Any:
        """The mean over axes, or over all."""
        return self._reduced("reduce_mean", axis, keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Any:
        """The largest element over axes, or over all."""
        return self._reduced("reduce_max", axis, keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Any:
        """The smallest element over axes, or over all."""
        return self._reduced("reduce_min", axis, keepdims)

    def __getitem__(self, key: Any) -> Any:
        if self.is_computed:  # a view of the same memory
            view = self.array()[key]
            if isinstance(view, _takt.Array):
                self._shared = True
                made = as_tensor(view)
                made._shared = True
                return made
            return as_tensor(_arrays.array(view, self.dtype))
        return _sliced(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Writes elements; memory that is shared is copied first."""
        if self._node.kind == "input":
            raise StateError("an input of a traced model cannot be written: make a new tensor")
        array = self.array()
        if self._shared or array.readonly:
            array = array.copy()
        self._node = Node("array", "", (), {}, [(array.dtype, array.shape)], array)
        self._index, self._shared = 0, False
        _fill(array, key, value)


def _is_array(x: Any) -> bool:
    return hasattr(x, "__dlpack__") or hasattr(x, "__array_interface__") or hasattr(x, "_as_tensor")


def _fill(array: _takt.Array, key: Any, value: Any) -> None:
    part = array[key]
    if not isinstance(part, _takt.Array):  # one element
        places = tuple(key) if isinstance(key, tuple) else (key,)
        memoryview(array)[places[0] if len(places) == 1 else places] = \
            value.item() if hasattr(value, "item") else value
        return
    given = as_tensor(value, as_tensor(part))
    whole = operation("broadcast", (given,), {"shape": list(part.shape)}) \
        if given.shape != part.shape else given
    if whole.dtype != array.dtype:
        raise ArgumentError(f"the tensor is {array.dtype}, the value {whole.dtype}: cast() it")
    _copy(whole.array(), part)


def _copy(source: _takt.Array, to: _takt.Array) -> None:
    if to.ndim == 0:
        memoryview(to)[()] = source.item()
    elif to.ndim == 1:
        seen, given = memoryview(to), memoryview(source)
        for i in range(to.shape[0]):
            seen[i] = given[i]
    else:
        for i in range(to.shape[0]):
            _copy(source[i], to[i])


def _sliced(x: Tensor, key: Any) -> Tensor:
    """Indices and slices of a tensor that is not computed yet, as operations."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if Ellipsis in [k for k in keys if k is Ellipsis]:
        at = next(i for i, k in enumerate(keys) if k is Ellipsis)
        keys[at:at + 1] = [slice(None)] * (x.ndim - (len(keys) - 1))
    if len(keys) > x.ndim:
        raise RangeError(f"{len(keys)} indices for {x.ndim} axes")
    dropped = []
    for axis, k in enumerate(keys):
        if isinstance(k, Tensor):
            x = operation("gather", (x, k), {"axis": axis})
            continue
        if isinstance(k, slice) and k == slice(None):
            continue
        size = x.shape[axis]
        if isinstance(size, str):
            raise UnsupportedError(f"axis {axis} has the size {size}: only [:] is known there")
        if isinstance(k, slice):
            first, last, step = k.indices(size)
        else:
            at = k.__index__() + (size if k.__index__() < 0 else 0)
            if not 0 <= at < size:
                raise RangeError(f"index {k} of an axis of {size}")
            first, last, step = at, at + 1, 1
            dropped.append(axis)
        rows = list(range(first, last, step))
        x = operation("gather", (x, as_tensor(_arrays.array(rows, "i64"))), {"axis": axis})
    if dropped:
        x = x.reshape([dim for i, dim in enumerate(x.shape) if i not in dropped])
    return x
