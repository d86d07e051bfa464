/* resize_found.c - Resize by scales found at run time. */
#include "io/onnx/lengths.h"
#include "io/onnx/resize.h"

takt_id takt_resize_found(takt_call *c, takt_id x, const takt_resize *base, takt_id scales)
{
    takt_graph *g = c->g;
    const takt_type t = *takt_type_of(g, x), s = *takt_type_of(g, scales);
    const takt_ints axes = takt_onnx_ints(c, "axes");
    const size_t count = axes.is_set ? axes.count : (size_t)t.rank;
    takt_onnx_bound bounds[TAKT_MAX_RANK];
    takt_dim dims[TAKT_MAX_RANK];
    takt_id by[TAKT_MAX_RANK], wide[TAKT_MAX_RANK];
    if (s.rank != 1 || s.dtype != TAKT_F32 || s.dim[0] != (takt_dim)count || count == 0 ||
        count > TAKT_MAX_RANK) {
        (void)takt_onnx_refuse(c, "scales are not as many as axes");
        return TAKT_NONE;
    }
    for (size_t i = 0; i < count; i++) {
        const int axis = axes.is_set ? takt_onnx_axis(c, axes.at[i], t.rank) : (int)i;
        const takt_id in = takt_onnx_cast(c, takt_onnx_size(c, x, axis), TAKT_F32);
        by[i] = takt_onnx_item(c, scales, i);
        wide[i] =
            takt_onnx_cast(c, takt_unary(g, &takt_op_floor, takt_mul(g, in, by[i])), TAKT_I64);
        bounds[i] = takt_onnx_at_most(TAKT_LENGTH_OPEN);
    }
    takt_onnx_lengths(c, takt_onnx_pack(c, wide, count), bounds, count, dims);
    for (size_t i = 0; i < count && x != TAKT_NONE && c->status == TAKT_OK; i++) {
        const int axis = axes.is_set ? takt_onnx_axis(c, axes.at[i], t.rank) : (int)i;
        takt_resize r = *base;
        r.basis = TAKT_RESIZE_BY_SCALE;
        r.in = t.dim[axis];
        r.out = dims[i];
        r.is_found = true;
        r.by = by[i];
        x = takt_resize_named(c, x, &r, axis);
    }
    return x;
}

takt_id takt_resize_unknown(takt_call *c)
{
    const bool is_up = takt_span_is(c->node->op, "Upsample");
    const size_t at = is_up ? 1 : 2;
    if ((!is_up && c->opset < 11) || takt_onnx_attr(c, "scales") != NULL || !takt_onnx_has(c, at) ||
        !takt_onnx_may_find(c) || takt_onnx_type(c, at)->dim[0] == 0)
        return TAKT_NONE;
    return takt_onnx_peek(c, at) == NULL ? takt_onnx_in(c, at) : TAKT_NONE;
}
