"""_foreign_shape.py - the meaning of Takt's operations on shapes and indices, for any array
library."""
from __future__ import annotations

import itertools
import math

from ._foreign_ops import OPS, op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# ---- shapes ----

OPS["reshape"] = lambda s, x, shape: s.reshape(x, shape)
OPS["broadcast"] = lambda s, x, shape: s.broadcast(x, shape)
OPS["concat"] = lambda s, *xs, axis=0: s.concat(xs, axis)
OPS["stack"] = lambda s, *xs, axis=0: s.stack(xs, axis)
OPS["tile"] = lambda s, x, repeats: s.xp.tile(x, tuple(repeats))


@op("transpose")
def _transpose(s: Any, x: Any, perm: Any = None) -> Any:
    return s.transpose(x, perm or list(range(x.ndim))[::-1])


@op("flatten")
def _flatten(s: Any, x: Any, axis: int = 1) -> Any:
    at = axis + x.ndim if axis < 0 else axis
    return s.reshape(x, [math.prod(x.shape[:at]), math.prod(x.shape[at:])])


@op("squeeze")
def _squeeze(s: Any, x: Any, axes: Any = None) -> Any:
    ones = [i for i, n in enumerate(x.shape) if n == 1]
    gone = ones if axes is None else [a % x.ndim for a in axes]
    return s.reshape(x, [n for i, n in enumerate(x.shape) if i not in gone])


@op("unsqueeze")
def _unsqueeze(s: Any, x: Any, axes: Any) -> Any:
    rank = x.ndim + len(axes)
    new, rest = {a % rank for a in axes}, iter(x.shape)
    return s.reshape(x, [1 if i in new else next(rest) for i in range(rank)])


@op("split")
def _split(s: Any, x: Any, sizes: Any, axis: int = 0) -> Any:
    ends = list(itertools.accumulate(sizes))
    return tuple(x[tuple(slice(b - n, b) if i == axis % x.ndim else slice(None)
                         for i in range(x.ndim))] for n, b in zip(sizes, ends))


@op("slice")
def _slice(s: Any, x: Any, start: Any, stop: Any, axes: Any = None, step: Any = None) -> Any:
    over = axes or range(len(start))
    for i, axis in enumerate(over):
        n = x.shape[axis]
        rows = list(range(n))[slice(start[i], _stop(stop[i], n, step[i] if step else 1),
                                    step[i] if step else 1)]
        x = s.take(x, s.integers(rows), axis % x.ndim)
    return x


def _stop(stop: int, size: int, step: int) -> Any:
    """Below the first element, going down, means to the end."""
    return None if step < 0 and stop < -size else stop


@op("pad")
def _pad(s: Any, x: Any, before: Any, after: Any, mode: str = "constant",
         value: float = 0) -> Any:
    for axis in range(x.ndim):
        n, old = x.shape[axis], list(range(x.shape[axis]))
        places = range(-before[axis], n + after[axis])
        if mode == "constant":
            continue
        if mode == "edge":
            rows = [min(max(i, 0), n - 1) for i in places]
        elif mode == "wrap":
            rows = [old[i % n] for i in places]
        else:
            span = max(2 * (n - 1), 1)
            rows = [min(i % span, span - i % span) if n > 1 else 0 for i in places]
        x = s.take(x, s.integers(rows), axis)
    return s.pad(x, before, after, value) if mode == "constant" else x


@op("trilu")
def _trilu(s: Any, x: Any, upper: bool = True, k: int = 0) -> Any:
    rows, columns = x.shape[-2:]
    gap = s.arange(columns)[None, :] - s.arange(rows)[:, None]
    return s.xp.where(gap >= k if upper else gap <= k, x, s.zeros_like(x))


@op("depth_to_space")
def _depth_to_space(s: Any, x: Any, block: int, mode: str = "dcr") -> Any:
    n, c, h, w = x.shape
    d = c // (block * block)
    if mode == "dcr":
        y = s.transpose(s.reshape(x, [n, block, block, d, h, w]), [0, 3, 4, 1, 5, 2])
    else:
        y = s.transpose(s.reshape(x, [n, d, block, block, h, w]), [0, 1, 4, 2, 5, 3])
    return s.reshape(y, [n, d, h * block, w * block])


@op("space_to_depth")
def _space_to_depth(s: Any, x: Any, block: int) -> Any:
    n, c, h, w = x.shape
    y = s.reshape(x, [n, c, h // block, block, w // block, block])
    return s.reshape(s.transpose(y, [0, 3, 5, 1, 2, 4]),
                     [n, c * block * block, h // block, w // block])


@op("iota")
def _iota(s: Any, shape: Any, dtype: str = "i64", axis: int = 0) -> Any:
    return s.broadcast(s.cast(s.along(s.arange(shape[axis]), len(shape), axis), dtype), shape)


@op("one_hot")
def _one_hot(s: Any, index: Any, depth: int, axis: int = -1, dtype: str = "f32") -> Any:
    rank = index.ndim + 1
    at = s.unsqueeze(index, axis % rank)
    at = s.xp.where(at < 0, at + depth, at)
    return s.cast(s.along(s.arange(depth), rank, axis) == at, dtype)


# ---- indices ----

def _wrapped(s: Any, index: Any, size: int) -> Any:
    return s.xp.where(index < 0, index + size, index)


@op("gather")
def _gather(s: Any, x: Any, index: Any, axis: int = 0) -> Any:
    at = axis % x.ndim
    flat = s.take(x, s.reshape(_wrapped(s, index, x.shape[at]), [-1]), at)
    return s.reshape(flat, [*x.shape[:at], *index.shape, *x.shape[at + 1:]])


def _linear(s: Any, shape: Any, places: Any) -> Any:
    """Flat positions of coordinates, one tensor for each axis."""
    at = 0
    for n, p in zip(shape, places):
        at = at * n + _wrapped(s, p, n)
    return at


def _grid(s: Any, shape: Any) -> "list[Any]":
    return [s.broadcast(s.along(s.arange(n), len(shape), i), shape) for i, n in enumerate(shape)]


@op("gather_elements")
def _gather_elements(s: Any, x: Any, index: Any, axis: int = 0) -> Any:
    places = _grid(s, index.shape)
    places[axis] = s.cast(index, "i64")
    at = _linear(s, x.shape, places)
    return s.reshape(s.take(s.reshape(x, [-1]), s.reshape(at, [-1]), 0), index.shape)


@op("scatter_elements")
def _scatter_elements(s: Any, x: Any, index: Any, u: Any, axis: int = 0,
                      reduce: str = "none") -> Any:
    places = _grid(s, index.shape)
    places[axis] = s.cast(index, "i64")
    at = s.reshape(_linear(s, x.shape, places), [-1])
    return s.reshape(s.scatter(s.reshape(x, [-1]), at, s.reshape(u, [-1]), reduce), x.shape)


def _nd_places(s: Any, x: Any, index: Any, batch: int) -> "tuple[Any, list[int], int]":
    """Flat positions of blocks, their shape, and how many elements a block has."""
    depth = index.shape[-1]
    places = _grid(s, index.shape[:-1])[:batch] + [s.cast(index[..., i], "i64")
                                                  for i in range(depth)]
    rest = x.shape[batch + depth:]
    return (_linear(s, x.shape[:batch + depth], places), [*index.shape[:-1], *rest],
            math.prod(rest))


@op("gather_nd")
def _gather_nd(s: Any, x: Any, index: Any, batch: int = 0) -> Any:
    at, shape, each = _nd_places(s, x, index, batch)
    return s.reshape(s.take(s.reshape(x, [-1, each]), s.reshape(at, [-1]), 0), shape)


@op("scatter_nd")
def _scatter_nd(s: Any, x: Any, index: Any, u: Any, batch: int = 0, reduce: str = "none") -> Any:
    at, _, each = _nd_places(s, x, index, batch)
    lanes = s.reshape(at, [-1, 1]) * each + s.arange(each)[None, :]
    made = s.scatter(s.reshape(x, [-1]), s.reshape(lanes, [-1]), s.reshape(u, [-1]), reduce)
    return s.reshape(made, x.shape)


@op("index_add")
def _index_add(s: Any, x: Any, index: Any, u: Any, axis: int = 0) -> Any:
    at = axis % x.ndim
    before, after = math.prod(x.shape[:at]), math.prod(x.shape[at + 1:])
    rows = s.reshape(_wrapped(s, s.cast(index, "i64"), x.shape[at]), [1, -1, 1])
    lanes = (s.reshape(s.arange(before), [-1, 1, 1]) * x.shape[at] + rows) * after + \
        s.reshape(s.arange(after), [1, 1, -1])
    made = s.scatter(s.reshape(x, [-1]), s.reshape(lanes, [-1]), s.reshape(u, [-1]), "add")
    return s.reshape(made, x.shape)
