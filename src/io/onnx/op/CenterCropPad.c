/* CenterCropPad.c - cuts or pads axes to a size, evenly on both sides. */
#include "io/onnx/lengths.h"

static takt_id fitted(takt_call *c, takt_id x, int axis, int64_t want)
{
    if (x == TAKT_NONE)
        return x;
    const takt_type t = *takt_type_of(c->g, x);
    const int64_t size = t.dim[axis];
    if (size >= want) {
        const int64_t start = (size - want) / 2;
        return size == want ? x : takt_slice(c->g, x, axis, start, start + want, 1);
    }
    int64_t before[TAKT_MAX_RANK] = {0};
    takt_dim after[TAKT_MAX_RANK] = {0};
    before[axis] = (want - size) / 2;
    after[axis] = want - size - before[axis];
    const takt_named_attr attrs[] = {{"before", takt_attr_i64s(before, (size_t)t.rank)},
                                     {"after", takt_attr_shape(after, (size_t)t.rank)}};
    return takt_onnx_op1(c, &takt_op_pad, x, 2, attrs);
}

/* Trailing axes of size 1, so that a vector along `axis` broadcasts with values of `rank`. */
static takt_id along(takt_call *c, takt_id x, int axis, int rank)
{
    for (int i = axis + 1; i < rank && x != TAKT_NONE; i++)
        x = takt_onnx_unsqueeze(c, x, i - axis);
    return x;
}

/* If the axis length or the result's is known only at run time: element i of the result is the one
 * `shift` positions later, or 0 if there is none. */
static takt_id moved(takt_call *c, takt_id x, int axis, takt_dim want)
{
    takt_graph *g = c->g;
    const takt_id place = takt_onnx_counted(c, want), size = takt_onnx_size(c, x, axis);
    if (x == TAKT_NONE || c->status != TAKT_OK)
        return TAKT_NONE;
    const takt_type t = *takt_type_of(g, x);
    const takt_id two = takt_scalar_i64(g, 2), length = takt_onnx_size(c, place, 0);
    const takt_id more = takt_onnx_with(c, &takt_op_max, takt_sub(g, size, length), 0),
                  less = takt_onnx_with(c, &takt_op_max, takt_sub(g, length, size), 0);
    const takt_id shift =
        takt_sub(g, takt_onnx_floordiv(c, more, two), takt_onnx_floordiv(c, less, two));
    const takt_id at = takt_add(g, place, shift), last = takt_onnx_with(c, &takt_op_sub, size, 1);
    const takt_id inside = takt_binary(g, &takt_op_and, takt_onnx_with(c, &takt_op_ge, at, 0),
                                       takt_binary(g, &takt_op_le, at, last));
    const takt_id near = takt_onnx_with(c, &takt_op_max, takt_binary(g, &takt_op_min, at, last), 0);
    const takt_id y = takt_onnx_gather(c, x, near, axis);
    return takt_select(g, along(c, inside, axis, t.rank), y, takt_onnx_scalar(c, t.dtype, 0));
}

/* The requested sizes: numbers and dimensions, or values found by a run. */
static const takt_dim *wanted(takt_call *c, size_t *count)
{
    static const takt_dim none;
    const takt_syms syms = takt_onnx_peek_syms(c, 1);
    const takt_id shape = syms.at == NULL ? takt_onnx_vector(c, 1, count) : TAKT_NONE;
    if (shape == TAKT_NONE)
        return takt_onnx_dims(c, 1, count);
    takt_onnx_bound bounds[TAKT_MAX_RANK];
    takt_dim *found = takt_onnx_get(c, *count + 1, sizeof *found);
    for (size_t i = 0; i < *count && i < TAKT_MAX_RANK; i++)
        bounds[i] = takt_onnx_at_most(TAKT_LENGTH_OPEN);
    if (found != NULL && *count > 0 && *count <= TAKT_MAX_RANK)
        takt_onnx_lengths(c, shape, bounds, *count, found);
    return found != NULL ? found : &none;
}

static takt_status adapt(takt_call *c)
{
    const takt_type t = *takt_onnx_type(c, 0);
    const takt_ints axes = takt_onnx_ints(c, "axes");
    size_t count = 0;
    const takt_dim *shape = wanted(c, &count);
    takt_id x = takt_onnx_in(c, 0);
    if (c->status != TAKT_OK)
        return c->status;
    if (count != (axes.is_set ? axes.count : (size_t)t.rank) || count > (size_t)t.rank)
        return takt_onnx_refuse(c, "%zu sizes", count);
    unsigned done = 0;
    for (size_t i = 0; i < count; i++) {
        const int axis = axes.is_set ? takt_onnx_axis(c, axes.at[i], t.rank) : (int)i;
        if (c->status != TAKT_OK)
            return c->status;
        if (done >> axis & 1)
            return takt_onnx_refuse(c, "axis %d twice", axis);
        done |= 1U << axis;
        const bool is_known = takt_dim_is_number(shape[i]) && takt_dim_is_number(t.dim[axis]);
        if (takt_dim_is_number(shape[i]) && (shape[i] < 0 || shape[i] > INT32_MAX))
            return takt_onnx_refuse(c, "a size of %lld", (long long)shape[i]);
        x = is_known ? fitted(c, x, axis, shape[i]) : moved(c, x, axis, shape[i]);
    }
    return takt_onnx_done(c, x);
}

const takt_onnx_op takt_onnx_CenterCropPad = {.names = {"CenterCropPad"}, .adapt = adapt};
