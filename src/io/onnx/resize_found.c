/* resize_found.c - Resize by scales found at run time, given or computed from sizes. */
#include <math.h>

#include "io/onnx/lengths.h"
#include "io/onnx/resize.h"

/* A dimension as a scalar of f64. */
static takt_id scalar_of(takt_call *c, takt_dim d)
{
    const takt_id size = takt_dim_is_number(d) ? takt_scalar_i64(c->g, d)
                                               : takt_onnx_size(c, takt_onnx_counted(c, d), 0);
    return takt_onnx_cast(c, size, TAKT_F64);
}

/* Positions beyond this cannot be numbers of elements; neither can NaN. */
static bool is_near(double border)
{
    return fabs(border) <= 1e6;
}

takt_status takt_resize_part(takt_call *c, takt_resize *r, size_t i, size_t count)
{
    if (r->place != TAKT_RESIZE_CROP)
        return TAKT_OK;
    const takt_type t = *takt_onnx_type(c, 1);
    if (takt_onnx_has(c, 1) && takt_onnx_peek(c, 1) == NULL && t.rank == 1 &&
        t.dim[0] == (takt_dim)(2 * count) && takt_dtype_is_float(t.dtype)) {
        const takt_id roi = takt_onnx_cast(c, takt_onnx_in(c, 1), TAKT_F32);
        r->is_cut = true;
        r->from = takt_onnx_item(c, roi, i);
        r->to = takt_onnx_item(c, roi, count + i);
        return c->status;
    }
    const takt_array *roi = takt_onnx_known_floats(c, 1);
    if (c->status != TAKT_OK || roi == NULL)
        return c->status;
    if (roi->count != 2 * count)
        return takt_onnx_refuse(c, "roi has %zu values for %zu axes", roi->count, count);
    r->start = roi->f[i];
    r->end = roi->f[count + i];
    if (!is_near(r->start) || !is_near(r->end))
        return takt_onnx_refuse(c, "roi from %g to %g", r->start, r->end);
    return TAKT_OK;
}

bool takt_resize_is_fitted(takt_call *c)
{
    const takt_type t = *takt_onnx_type(c, 0);
    const takt_pb_attr *way = takt_onnx_attr(c, "keep_aspect_ratio_policy");
    if (way == NULL || takt_span_is(way->s, "stretch") || !takt_onnx_has(c, 3) ||
        takt_dtype_is_float(takt_onnx_type(c, 3)->dtype))
        return false;
    const takt_ints axes = takt_onnx_ints(c, "axes");
    const takt_syms sizes = takt_onnx_peek_syms(c, 3);
    const size_t count = axes.is_set ? axes.count : (size_t)t.rank;
    bool is_open = sizes.at == NULL;
    for (size_t i = 0; i < sizes.count && sizes.at != NULL; i++)
        is_open = is_open || sizes.at[i].is_dim;
    for (size_t i = 0; i < count && c->status == TAKT_OK; i++) {
        const int axis = axes.is_set ? takt_onnx_axis(c, axes.at[i], t.rank) : (int)i;
        is_open = is_open || (c->status == TAKT_OK && !takt_dim_is_number(t.dim[axis]));
    }
    return is_open && c->status == TAKT_OK;
}

/* Every axis to the size that the run finds, by its scale. */
static takt_id resized(takt_call *c, takt_id x, const takt_resize *base, const takt_id *by,
                       const takt_dim *dims)
{
    const takt_type t = *takt_type_of(c->g, x);
    const takt_ints axes = takt_onnx_ints(c, "axes");
    const size_t count = axes.is_set ? axes.count : (size_t)t.rank;
    for (size_t i = 0; i < count && x != TAKT_NONE && c->status == TAKT_OK; i++) {
        const int axis = axes.is_set ? takt_onnx_axis(c, axes.at[i], t.rank) : (int)i;
        takt_resize r = *base;
        r.in = t.dim[axis];
        r.out = dims[i];
        r.is_found = true;
        r.by = by[i];
        if (takt_resize_part(c, &r, i, count) != TAKT_OK)
            return TAKT_NONE;
        x = takt_resize_named(c, x, &r, axis);
    }
    return x;
}

/* One scale for all axes: the least or the largest quotient of two sizes. */
static takt_id fitted(takt_call *c, takt_id x, const takt_resize *base)
{
    takt_graph *g = c->g;
    const takt_type t = *takt_type_of(g, x);
    const takt_ints axes = takt_onnx_ints(c, "axes");
    const bool is_least =
        takt_onnx_choice(c, "keep_aspect_ratio_policy", "stretch",
                         (const char *const[]){"stretch", "not_larger", "not_smaller", NULL}) == 1;
    takt_onnx_bound bounds[TAKT_MAX_RANK];
    takt_dim dims[TAKT_MAX_RANK];
    takt_id in[TAKT_MAX_RANK], wide[TAKT_MAX_RANK], by[TAKT_MAX_RANK], best = TAKT_NONE;
    size_t count = 0;
    if (!takt_onnx_may_find(c)) {
        (void)takt_onnx_refuse_size(c, "proportions of a dimension without a number");
        return TAKT_NONE;
    }
    const takt_dim *sizes = takt_onnx_dims(c, 3, &count);
    if (c->status != TAKT_OK || count == 0 || count > TAKT_MAX_RANK ||
        count != (axes.is_set ? axes.count : (size_t)t.rank)) {
        (void)takt_onnx_refuse(c, "sizes are not as many as axes");
        return TAKT_NONE;
    }
    for (size_t i = 0; i < count; i++) {
        const int axis = axes.is_set ? takt_onnx_axis(c, axes.at[i], t.rank) : (int)i;
        in[i] = takt_onnx_cast(c, takt_onnx_size(c, x, axis), TAKT_F64);
        const takt_id ratio = takt_div(g, scalar_of(c, sizes[i]), in[i]);
        best = i == 0 ? ratio : takt_binary(g, is_least ? &takt_op_min : &takt_op_max, best, ratio);
        bounds[i] = takt_onnx_at_most(is_least ? sizes[i] : TAKT_LENGTH_OPEN);
    }
    for (size_t i = 0; i < count; i++) {
        const takt_id half = takt_onnx_scalar(c, TAKT_F64, 0.5);
        const takt_id size = takt_add(g, takt_mul(g, best, in[i]), half);
        wide[i] = takt_onnx_cast(c, takt_unary(g, &takt_op_floor, size), TAKT_I64);
    }
    takt_onnx_lengths(c, takt_onnx_pack(c, wide, count), bounds, count, dims);
    takt_resize r = *base;
    r.basis = TAKT_RESIZE_BY_PROPORTION;
    for (size_t i = 0; i < count; i++)
        by[i] = best;
    return resized(c, x, &r, by, dims);
}

takt_id takt_resize_found(takt_call *c, takt_id x, const takt_resize *base, takt_id scales)
{
    takt_graph *g = c->g;
    if (scales == TAKT_NONE)
        return fitted(c, x, base);
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
    takt_resize r = *base;
    r.basis = TAKT_RESIZE_BY_SCALE;
    return resized(c, x, &r, by, dims);
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
