"""_aten_shape.py - ATen's operations on shapes, indices and new tensors as operations of Takt."""
from __future__ import annotations

import math
from itertools import accumulate

from ._aten import aten, axes_of, cast, constant, full, iota, op, refuse
from ._tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._torch_graph import Lowering


# ---- the same elements ----

@aten("clone", "alias", "detach", "lift_fresh_copy", "_to_copy", "copy")
def _same(c: Lowering, x: Any, *args: Any, **kwargs: Any) -> Any:
    if c.target == "aten.copy.default":
        x = args[0]
        shape = list(c.shape())
        x = x if isinstance(x, Tensor) else full((), x, c.dtype())
        x = x if list(x.shape) == shape else op("broadcast", x, shape=shape)
    return cast(x, c.dtype())


@aten("view", "_unsafe_view")
def _view(c: Lowering, x: Any, shape: Any) -> Any:
    sizes = [int(n) for n in shape]
    if -1 in sizes:
        rest = -math.prod(sizes)
        sizes[sizes.index(-1)] = x.size // rest if rest else 0
    found = c.product(sizes)
    if found is None:
        return op("reshape", x, shape=sizes)
    left, right, bias = found
    y = op("matmul", left, right)
    return y if bias is None else op("add", y, bias)


@aten("expand")
def _expand(c: Lowering, x: Any, shape: Any, implicit: bool = False) -> Any:
    sizes = [int(n) for n in shape]
    new = len(sizes) - x.ndim
    return op("broadcast", x, shape=[x.shape[i - new] if n == -1 else n
                                     for i, n in enumerate(sizes)])


@aten("permute")
def _permute(c: Lowering, x: Any, dims: Any) -> Any:
    return op("transpose", x, perm=[d % max(x.ndim, 1) for d in dims])


@aten("transpose.int", "t")
def _transpose(c: Lowering, x: Any, a: int = 0, b: int = -1) -> Any:
    order = list(range(x.ndim))
    if x.ndim > 1:
        order[a], order[b] = order[b], order[a]
    return op("transpose", x, perm=order)


@aten("unsqueeze")
def _unsqueeze(c: Lowering, x: Any, dim: int) -> Any:
    shape = list(x.shape)
    shape.insert(dim % (x.ndim + 1), 1)
    return op("reshape", x, shape=shape)


@aten("squeeze", "squeeze.dim", "squeeze.dims")
def _squeeze(c: Lowering, x: Any, dim: Any = None) -> Any:
    axes = set(axes_of(x, dim))
    return op("reshape", x, shape=[n for i, n in enumerate(x.shape) if i not in axes or n != 1])


def _storage_order(shape: Any, strides: Any) -> "list[int]":
    """Axes from the slowest to the fastest; elements must be contiguous."""
    order = sorted(range(len(shape)), key=lambda i: (shape[i] != 1, -strides[i]))
    step = 1
    for i in reversed(order):
        refuse(shape[i] == 1 or strides[i] == step, "as_strided with gaps or overlaps")
        step *= shape[i]
    return order


@aten("as_strided")
def _as_strided(c: Lowering, x: Any, shape: Any, strides: Any, offset: Any = None) -> Any:
    refuse(not offset and math.prod(shape) == x.size, "as_strided of a part")
    old = _storage_order(x.shape, c.strides(0))
    new = _storage_order(shape, strides)
    flat = op("transpose", x, perm=old)
    y = op("reshape", flat, shape=[int(shape[i]) for i in new])
    return op("transpose", y, perm=[new.index(i) for i in range(len(new))])


# ---- parts ----

def part(x: Any, axis: int, start: int, stop: int, step: int = 1) -> Any:
    """Elements of one axis."""
    if (start, stop, step) == (0, x.shape[axis], 1):
        return x
    return op("slice", x, axes=[axis], start=[start], stop=[max(stop, start)], step=[step])


@aten("slice.Tensor")
def _slice(c: Lowering, x: Any, dim: int = 0, start: Any = None, stop: Any = None,
           step: int = 1) -> Any:
    axis, = axes_of(x, dim)
    first, last, by = slice(start, stop, step).indices(x.shape[axis])
    return part(x, axis, first, last, by)


@aten("select.int")
def _select(c: Lowering, x: Any, dim: int, index: int) -> Any:
    axis, = axes_of(x, dim)
    at = index % x.shape[axis]
    return op("reshape", part(x, axis, at, at + 1),
              shape=[n for i, n in enumerate(x.shape) if i != axis])


def _cuts(x: Any, axis: int, sizes: "list[int]") -> "tuple[Any, ...]":
    """Slices, not `split`: the pass that chooses layouts moves transposes through them."""
    ends = list(accumulate(sizes))
    return tuple(part(x, axis, end - n, end, 1) for n, end in zip(sizes, ends))


@aten("split_with_sizes", "split_with_sizes_copy", "split.Tensor")
def _split(c: Lowering, x: Any, sizes: Any, dim: int = 0) -> Any:
    axis, = axes_of(x, dim)
    if isinstance(sizes, int):
        n, each = x.shape[axis], sizes
        sizes = [min(each, n - at) for at in range(0, n, each)]
    return _cuts(x, axis, [int(n) for n in sizes])


@aten("unbind.int")
def _unbind(c: Lowering, x: Any, dim: int = 0) -> Any:
    axis, = axes_of(x, dim)
    shape = [n for i, n in enumerate(x.shape) if i != axis]
    return tuple(op("reshape", y, shape=shape) for y in _cuts(x, axis, [1] * x.shape[axis]))


@aten("cat")
def _cat(c: Lowering, xs: Any, dim: int = 0) -> Any:
    kept = [x for x in xs if x.shape != (0,)] or list(xs)[:1]
    kept = [cast(x, c.dtype()) for x in kept]
    return kept[0] if len(kept) == 1 else op("concat", *kept, axis=axes_of(kept[0], dim)[0])


@aten("stack")
def _stack(c: Lowering, xs: Any, dim: int = 0) -> Any:
    return op("stack", *[cast(x, c.dtype()) for x in xs], axis=dim % (xs[0].ndim + 1))


@aten("constant_pad_nd")
def _pad(c: Lowering, x: Any, pad: Any, value: Any = 0) -> Any:
    before, after = [0] * x.ndim, [0] * x.ndim
    for i in range(len(pad) // 2):
        before[x.ndim - 1 - i], after[x.ndim - 1 - i] = int(pad[2 * i]), int(pad[2 * i + 1])
    for axis in range(x.ndim):  # less than nothing cuts
        n = x.shape[axis]
        x = part(x, axis, max(0, -before[axis]), n - max(0, -after[axis]))
    before, after = [max(0, n) for n in before], [max(0, n) for n in after]
    return op("pad", x, before=before, after=after, value=float(value))


@aten("flip")
def _flip(c: Lowering, x: Any, dims: Any) -> Any:
    for axis in axes_of(x, list(dims)) if dims else []:
        x = op("slice", x, axes=[axis], start=[x.shape[axis] - 1], stop=[-x.shape[axis] - 1],
               step=[-1])
    return x


@aten("repeat")
def _repeat(c: Lowering, x: Any, repeats: Any) -> Any:
    x = op("reshape", x, shape=[1] * (len(repeats) - x.ndim) + list(x.shape))
    return op("tile", x, repeats=[int(n) for n in repeats])


@aten("tril", "triu")
def _triangle(c: Lowering, x: Any, diagonal: int = 0) -> Any:
    return op("trilu", x, upper="triu" in c.target, k=int(diagonal))


@aten("unfold")
def _unfold(c: Lowering, x: Any, dim: int, size: int, step: int) -> Any:
    refuse(x.ndim > 0, "unfold of a scalar")
    axis, = axes_of(x, dim)
    count = (x.shape[axis] - size) // step + 1
    if step == size:
        y = part(x, axis, 0, count * size)
    else:
        y = op("gather", x, constant([i * step + j for i in range(count) for j in range(size)],
                                     "i64"), axis=axis)
    y = op("reshape", y, shape=[*x.shape[:axis], count, size, *x.shape[axis + 1:]])
    return op("transpose", y, perm=[i for i in range(y.ndim) if i != axis + 1] + [axis + 1])


# ---- indices ----

@aten("index_select")
def _index_select(c: Lowering, x: Any, dim: int, index: Any) -> Any:
    refuse(x.ndim > 0, "index_select of a scalar")
    return op("gather", x, index, axis=axes_of(x, dim)[0])


@aten("embedding")
def _embedding(c: Lowering, table: Any, index: Any, *rest: Any) -> Any:
    return op("gather", table, index, axis=0)


@aten("embedding_dense_backward")
def _embedding_backward(c: Lowering, dy: Any, index: Any, rows: int, padding: int,
                        by_frequency: bool) -> Any:
    refuse(not by_frequency, "scale_grad_by_freq")
    width = dy.shape[-1]
    made = op("index_add", full((rows, width), 0, dy.dtype), index.reshape([index.size]),
              dy.reshape([index.size, width]), axis=0)
    if padding < 0:
        return made
    kept = op("ne", iota(rows, "i64"), padding).reshape([rows, 1])
    return op("select", kept, made, full((), 0, dy.dtype))


@aten("gather")
def _gather(c: Lowering, x: Any, dim: int, index: Any, **rest: Any) -> Any:
    refuse(x.ndim > 0 and index.ndim == x.ndim, "gather of a scalar")
    axis, = axes_of(x, dim)
    for i in range(x.ndim):  # an index may have fewer rows on other axes
        x = part(x, i, 0, index.shape[i]) if i != axis else x
    return op("gather_elements", x, index, axis=axis)


@aten("scatter.src", "scatter.value", "scatter_add")
def _scatter(c: Lowering, x: Any, dim: int, index: Any, source: Any) -> Any:
    refuse(x.ndim > 0, "scatter to a scalar")
    if not isinstance(source, Tensor):
        source = full(index.shape, source, x.dtype)
    for i in range(x.ndim):
        source = part(source, i, 0, index.shape[i])
    return op("scatter_elements", x, index, source, axis=axes_of(x, dim)[0],
              reduce="add" if "add" in c.target else "none")


def _places(x: Any, indices: Any) -> "tuple[list[int], Any]":
    """The axes that are indexed, and rows of coordinates on them."""
    axes = [i for i, it in enumerate(indices) if it is not None]
    given = [indices[i] for i in axes]
    refuse(all(it.dtype in ("i64", "i32") for it in given), "a mask as an index")
    rank = max(it.ndim for it in given)
    shape = [1] * rank
    for it in given:
        for i, n in enumerate(it.shape):
            at = rank - it.ndim + i
            shape[at] = n if shape[at] == 1 else shape[at]
    rows = [op("broadcast", cast(it, "i64"), shape=shape) for it in given]
    return axes, op("stack", *rows, axis=rank) if len(rows) > 1 else \
        rows[0].reshape([*shape, 1])


@aten("index.Tensor")
def _index(c: Lowering, x: Any, indices: Any) -> Any:
    axes = [i for i, it in enumerate(indices) if it is not None]
    if len(axes) == 1 and indices[axes[0]].dtype in ("i64", "i32"):
        return op("gather", x, indices[axes[0]], axis=axes[0])
    axes, rows = _places(x, indices)
    rest = [i for i in range(x.ndim) if i not in axes]
    made = op("gather_nd", op("transpose", x, perm=axes + rest), rows)
    new = rows.ndim - 1
    if axes != list(range(axes[0], axes[0] + len(axes))) or axes[0] == 0:
        return made  # the indexed axes come first
    before = [new + i for i in range(axes[0])]
    after = [new + i for i in range(axes[0], len(rest))]
    return op("transpose", made, perm=before + list(range(new)) + after)


@aten("index_put", "_unsafe_index_put")
def _index_put(c: Lowering, x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    axes, rows = _places(x, indices)
    refuse(axes == list(range(len(axes))), "index_put behind axes without an index")
    shape = [*rows.shape[:-1], *x.shape[len(axes):]]
    if list(values.shape) != shape:
        values = op("broadcast", values, shape=shape)
    return op("scatter_nd", x, rows, values, reduce="add" if accumulate else "none")


@aten("slice_scatter", "select_scatter")
def _slice_scatter(c: Lowering, x: Any, source: Any, dim: int = 0, start: Any = None,
                   stop: Any = None, step: int = 1) -> Any:
    axis, = axes_of(x, dim)
    if "select" in c.target:
        start, step = start % x.shape[axis], 1
        stop = start + 1
        source = op("reshape", source, shape=[*x.shape[:axis], 1, *x.shape[axis + 1:]])
    first, last, by = slice(start, stop, step).indices(x.shape[axis])
    refuse(by == 1, "slice_scatter with a step")
    parts = [part(x, axis, 0, first), source, part(x, axis, max(first, last), x.shape[axis])]
    kept = [p for p in parts if p.shape[axis] != 0]
    return kept[0] if len(kept) == 1 else op("concat", *kept, axis=axis)


# ---- new tensors ----

@aten("full", "full_like", "zeros", "zeros_like", "ones", "ones_like", "empty.memory_format",
      "empty_like", "new_zeros", "new_full", "new_ones", "scalar_tensor")
def _full(c: Lowering, *args: Any, **kwargs: Any) -> Any:
    word = c.target.split(".")[1]
    value = 1 if "ones" in word else 0
    if word == "scalar_tensor":
        value = args[0]
    elif "full" in word:
        value = args[-1] if len(args) > 1 else kwargs["fill_value"]
    refuse(not isinstance(value, Tensor), "a tensor as a value to fill with")
    shape = () if word == "scalar_tensor" else \
        args[0].shape if word.endswith("like") else args[1] if "new" in word else args[0]
    return full([int(n) for n in shape], value, c.dtype())


@aten("arange", "arange.start", "arange.start_step")
def _arange(c: Lowering, *args: Any, **kwargs: Any) -> Any:
    start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
    count = max(0, math.ceil((stop - start) / step))
    dtype = c.dtype()
    if dtype[0] in "iu":
        x = iota(count, dtype)
        x = x if step == 1 else op("mul", x, int(step))
        return x if start == 0 else op("add", x, int(start))
    refuse(dtype in ("f32", "f64"), "arange in 16 bits")
    return constant([start + step * i for i in range(count)], dtype) if count else \
        full((0,), 0, dtype)


@aten("fill.Scalar")
def _fill(c: Lowering, x: Any, value: Any) -> Any:
    return full(x.shape, value, c.dtype())


@aten("_assert_tensor_metadata")
def _nothing(c: Lowering, *args: Any, **kwargs: Any) -> Any:
    return ()
