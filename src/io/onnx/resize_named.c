/* resize_named.c - Resize along an axis whose size has a name: tables are nodes of the graph. */
#include "io/onnx/resize.h"

#include <math.h>

#include "io/onnx/lengths.h"

/* Scalars and vectors of f64. */
typedef struct work {
    takt_call *c;
    takt_graph *g;
    const takt_resize *r;
    takt_id x, in, out, place; /* sizes, and the position of every result */
    int axis;
} work;

static takt_id num(const work *w, double value)
{
    return takt_onnx_scalar(w->c, TAKT_F64, value);
}

static takt_id scale_of(const work *w, takt_dtype dtype)
{
    return w->r->is_found ? takt_onnx_cast(w->c, w->r->by, dtype)
                          : takt_onnx_scalar(w->c, dtype, w->r->scale);
}

static takt_id op1(const work *w, const takt_op *op, takt_id a)
{
    return takt_unary(w->g, op, a);
}

static takt_id op2(const work *w, const takt_op *op, takt_id a, takt_id b)
{
    return takt_binary(w->g, op, a, b);
}

static takt_id size_of(const work *w, takt_id x, int axis)
{
    return takt_cast(
        w->g,
        takt_onnx_op1(w->c, &takt_op_dim, x, 1, &(takt_named_attr){"axis", takt_attr_i64(axis)}),
        TAKT_F64);
}

/* Positions at element centres: adds half before scaling, and subtracts it after. */
static bool has_centres(const work *w)
{
    return w->r->place != TAKT_RESIZE_ASYMMETRIC && w->r->place != TAKT_RESIZE_CORNERS;
}

static takt_id minus_half(const work *w, takt_id at, takt_id half)
{
    const bool is_there = !has_centres(w) || w->r->place == TAKT_RESIZE_TF_NEAREST;
    return is_there ? at : takt_sub(w->g, at, half);
}

/* `at`, or 0 if there is one result and the mode requires it. */
static takt_id unless_one(const work *w, takt_id at)
{
    if (w->r->place != TAKT_RESIZE_PYTORCH && w->r->place != TAKT_RESIZE_CORNERS)
        return at;
    return takt_select(w->g, op2(w, &takt_op_gt, w->out, num(w, 1)), at, num(w, 0));
}

/* In f32 and in this order, as in Resize.c. */
static takt_id position_in_crop(const work *w, takt_id o, takt_id last)
{
    takt_graph *g = w->g;
    const takt_resize *r = w->r;
    const takt_id start = r->is_cut ? r->from : takt_onnx_scalar(w->c, TAKT_F32, r->start);
    const takt_id end = r->is_cut ? r->to : takt_onnx_scalar(w->c, TAKT_F32, r->end);
    const takt_id wide = takt_cast(g, takt_sub(g, w->in, num(w, 1)), TAKT_F32);
    const takt_id half = takt_onnx_scalar(w->c, TAKT_F32, 0.5);
    const takt_id one = takt_mul(g, takt_mul(g, half, takt_add(g, start, end)), wide);
    takt_id at = takt_mul(g, takt_cast(g, o, TAKT_F32), takt_sub(g, end, start));
    at = takt_div(g, takt_mul(g, at, wide), takt_cast(g, last, TAKT_F32));
    at = takt_add(g, takt_mul(g, start, wide), at);
    return takt_cast(g, takt_select(g, op2(w, &takt_op_gt, last, num(w, 0)), at, one), TAKT_F64);
}

static takt_id position_by_size(const work *w, takt_id o)
{
    takt_graph *g = w->g;
    if (w->r->place == TAKT_RESIZE_CROP)
        return position_in_crop(w, o, takt_sub(g, w->out, num(w, 1)));
    const takt_id one = num(w, 1), half = num(w, 0.5);
    const bool by_corners = w->r->place == TAKT_RESIZE_CORNERS;
    const takt_id in = by_corners ? takt_sub(g, w->in, one) : w->in;
    const takt_id out = by_corners ? takt_sub(g, w->out, one) : w->out;
    o = has_centres(w) ? takt_add(g, o, half) : o;
    return minus_half(w, takt_div(g, takt_mul(g, o, in), out), half);
}

/* `at`, or the position by sizes if the scale is their quotient. */
static takt_id unless_sizes(const work *w, takt_id o, takt_id at)
{
    takt_graph *g = w->g;
    const takt_id scale = scale_of(w, TAKT_F32);
    const takt_id quotient =
        takt_div(g, takt_cast(g, w->out, TAKT_F32), takt_cast(g, w->in, TAKT_F32));
    return takt_select(g, op2(w, &takt_op_eq, quotient, scale), position_by_size(w, o), at);
}

static takt_id position_single(const work *w, takt_id o)
{
    takt_graph *g = w->g;
    const takt_id scale = scale_of(w, TAKT_F32);
    const takt_id half = takt_onnx_scalar(w->c, TAKT_F32, 0.5);
    const takt_id narrow = takt_cast(g, o, TAKT_F32);
    if (!has_centres(w))
        return takt_cast(g, takt_div(g, narrow, scale), TAKT_F64);
    const takt_id at = minus_half(w, takt_div(g, takt_add(g, narrow, half), scale), half);
    return unless_sizes(w, o, takt_cast(g, at, TAKT_F64));
}

static takt_id position_by_length(const work *w, takt_id o)
{
    takt_graph *g = w->g;
    const takt_id scale = scale_of(w, TAKT_F64), one = num(w, 1), half = num(w, 0.5);
    const takt_id wide = takt_mul(g, scale, w->in);
    if (w->r->place == TAKT_RESIZE_CROP)
        return position_in_crop(w, o, takt_sub(g, wide, one));
    if (w->r->place == TAKT_RESIZE_CORNERS)
        return takt_div(g, takt_mul(g, o, takt_sub(g, w->in, one)), takt_sub(g, wide, one));
    const takt_id at = takt_div(g, takt_add(g, o, half), scale);
    const takt_id part = takt_div(g, w->out, wide);
    const takt_id from = takt_mul(g, takt_div(g, w->in, num(w, 2)), takt_sub(g, one, part));
    return takt_sub(g, takt_add(g, from, at), half);
}

static takt_id position_by_scale(const work *w, takt_id o)
{
    takt_graph *g = w->g;
    const takt_id scale = scale_of(w, TAKT_F64), half = num(w, 0.5);
    if (takt_resize_by_length(w->r))
        return unless_sizes(w, o, position_by_length(w, o));
    return minus_half(w, takt_div(g, has_centres(w) ? takt_add(g, o, half) : o, scale), half);
}

/* As in Resize.c, in nodes. */
static takt_id position(const work *w, takt_id o)
{
    return unless_one(w, w->r->basis == TAKT_RESIZE_BY_SIZE ? position_by_size(w, o)
                         : takt_resize_is_single(w->r)      ? position_single(w, o)
                                                            : position_by_scale(w, o));
}

/* Integer positions as indices, clamped to the border. */
static takt_id indices(const work *w, takt_id at)
{
    const takt_id last = takt_sub(w->g, w->in, num(w, 1));
    at = op2(w, &takt_op_min, op2(w, &takt_op_max, at, num(w, 0)), last);
    return takt_cast(w->g, at, TAKT_I64);
}

static takt_id nearest(const work *w)
{
    const takt_id half = num(w, 0.5);
    switch (w->r->nearest) {
    case TAKT_RESIZE_PREFER_CEIL: return op1(w, &takt_op_floor, takt_add(w->g, w->place, half));
    case TAKT_RESIZE_FLOOR: return op1(w, &takt_op_floor, w->place);
    case TAKT_RESIZE_CEIL: return op1(w, &takt_op_ceil, w->place);
    default: return op1(w, &takt_op_ceil, takt_sub(w->g, w->place, half));
    }
}

/* ((a x + b) x + c) x + d. */
static takt_id cubic(const work *w, takt_id x, const double term[4])
{
    takt_id y = takt_mul(w->g, x, num(w, term[0]));
    for (int i = 1; i < 4; i++) {
        y = term[i] == 0 ? y : takt_add(w->g, y, num(w, term[i]));
        y = i < 3 ? takt_mul(w->g, y, x) : y;
    }
    return y;
}

/* Weight of element `k` after the one below; `part` is the distance of the position from that
 * one. */
static takt_id weight(const work *w, int k, takt_id part)
{
    const double a = w->r->cubic;
    const double inner[] = {a + 2, -(a + 3), 0, 1}, outer[] = {a, -5 * a, 8 * a, -4 * a};
    const takt_id far = op1(w, &takt_op_abs, takt_sub(w->g, num(w, k), part));
    if (w->r->mode == TAKT_RESIZE_LINEAR)
        return takt_sub(w->g, num(w, 1), far);
    return cubic(w, far, k == 0 || k == 1 ? inner : outer);
}

static takt_id weighted(const work *w)
{
    enum { MOST = 4 };
    const takt_dtype dtype = takt_type_of(w->g, w->x)->dtype;
    const int first = w->r->mode == TAKT_RESIZE_LINEAR ? 0 : -1, count = 2 - 2 * first;
    const takt_id base = takt_sub(w->g, op1(w, &takt_op_ceil, w->place), num(w, 1));
    const takt_id part = takt_sub(w->g, w->place, base);
    takt_id at[MOST], by[MOST];
    for (int k = 0; k < count; k++) {
        at[k] = takt_onnx_unsqueeze(w->c, indices(w, takt_add(w->g, base, num(w, first + k))), 0);
        by[k] = takt_onnx_unsqueeze(w->c, takt_cast(w->g, weight(w, first + k, part), dtype), 0);
    }
    if (w->g->status != TAKT_OK)
        return TAKT_NONE;
    return takt_resize_sum(w->c, w->x, takt_concat(w->g, at, (size_t)count, 0),
                           takt_concat(w->g, by, (size_t)count, 0), w->axis);
}

/* ---- taps whose number or sum depends on the sizes ---- */

/* The scale of the kernel: a mean over a window where the picture shrinks. A result of one element
 * has the whole axis as its window, which is the maximum. */
static takt_id window(const work *w)
{
    const bool has_number = !w->r->is_found && !isnan(w->r->scale);
    const takt_id scale = w->r->is_found ? takt_cast(w->g, w->r->by, TAKT_F64)
                          : has_number   ? num(w, w->r->scale)
                                         : takt_div(w->g, w->out, w->in);
    const takt_id least = takt_div(w->g, num(w, 1), w->in);
    return op2(w, &takt_op_max, op2(w, &takt_op_min, scale, num(w, 1)), least);
}

static takt_id kernel(const work *w, takt_id x)
{
    const double a = w->r->cubic;
    const double inner[] = {a + 2, -(a + 3), 0, 1}, outer[] = {a, -5 * a, 8 * a, -4 * a};
    if (w->r->mode == TAKT_RESIZE_LINEAR)
        return op2(w, &takt_op_max, takt_sub(w->g, num(w, 1), x), num(w, 0));
    const takt_id far =
        takt_select(w->g, op2(w, &takt_op_lt, x, num(w, 2)), cubic(w, x, outer), num(w, 0));
    return takt_select(w->g, op2(w, &takt_op_le, x, num(w, 1)), cubic(w, x, inner), far);
}

/* How many taps a result has; `*first`: the first one, relative to the element below. */
static takt_dim taps(const work *w, takt_id scale, takt_id *first)
{
    const int64_t half = w->r->mode == TAKT_RESIZE_LINEAR ? 1 : 2;
    takt_dim most = 0;
    if (!w->r->antialias) {
        *first = num(w, 1 - (double)half);
        return 2 * half;
    }
    const takt_id below = op1(w, &takt_op_floor, takt_div(w->g, num(w, (double)-half), scale));
    *first = takt_add(w->g, below, num(w, 1));
    const takt_id count = takt_sub(w->g, num(w, 2), takt_mul(w->g, num(w, 2), *first));
    const takt_status status = takt_dim_make(w->g->dims, TAKT_DIM_MUL, w->r->in, 2 * half, &most);
    if (status != TAKT_OK || w->c->status != TAKT_OK) {
        w->c->status = w->c->status == TAKT_OK ? status : w->c->status;
        return 0;
    }
    return takt_onnx_length(w->c, takt_cast(w->g, count, TAKT_I64), takt_onnx_at_most(most));
}

/* Weights that sum to 1: one after the other, as Resize.c adds them up. */
static takt_id shared(const work *w, takt_id by)
{
    takt_id sum =
        takt_onnx_op1(w->c, &takt_op_cumsum, by, 1, &(takt_named_attr){"axis", takt_attr_i64(0)});
    sum = takt_slice(w->g, sum, 0, -1, INT64_MAX, 1);
    const takt_id none = op2(w, &takt_op_eq, sum, num(w, 0));
    return takt_div(w->g, by, takt_select(w->g, none, num(w, 1), sum));
}

/* Sums of as many taps as the run finds. They are added in the order of reduce_sum, so the last
 * bits may differ from those of a model with known sizes. */
static takt_id gathered(const work *w, takt_id index, takt_id by)
{
    const takt_id all = takt_onnx_gather(w->c, w->x, index, w->axis);
    if (all == TAKT_NONE || by == TAKT_NONE)
        return TAKT_NONE;
    const takt_type *t = takt_type_of(w->g, by);
    takt_dim dims[TAKT_MAX_RANK] = {t->dim[0], t->dim[1]};
    const int rank = takt_type_of(w->g, all)->rank - w->axis;
    for (int i = 2; i < rank; i++)
        dims[i] = 1;
    by = takt_reshape(w->g, by, dims, (size_t)rank);
    return takt_reduce_over(w->g, &takt_op_reduce_sum, takt_mul(w->g, all, by),
                            (int64_t[]){w->axis}, 1, false);
}

/* With antialias or exclude_outside. */
static takt_id windowed(const work *w)
{
    takt_graph *g = w->g;
    const takt_id scale = w->r->antialias ? window(w) : num(w, 1);
    takt_id first;
    const takt_dim count = taps(w, scale, &first), column[2] = {count, 1};
    if (w->c->status != TAKT_OK)
        return TAKT_NONE;
    takt_id k = takt_onnx_cast(w->c, takt_onnx_counted(w->c, count), TAKT_F64);
    k = takt_add(g, takt_reshape(g, k, column, 2), first);
    const takt_id base = takt_sub(g, op1(w, &takt_op_ceil, w->place), num(w, 1));
    const takt_id part = takt_onnx_unsqueeze(w->c, takt_sub(g, w->place, base), 0);
    const takt_id at = takt_add(g, takt_onnx_unsqueeze(w->c, base, 0), k);
    takt_id by = kernel(w, op1(w, &takt_op_abs, takt_mul(g, scale, takt_sub(g, k, part))));
    if (w->r->exclude_outside) {
        const takt_id inside = op2(w, &takt_op_and, op2(w, &takt_op_ge, at, num(w, 0)),
                                   op2(w, &takt_op_lt, at, w->in));
        by = takt_select(g, inside, by, num(w, 0));
    }
    by = takt_cast(g, shared(w, by), takt_type_of(g, w->x)->dtype);
    if (g->status != TAKT_OK)
        return TAKT_NONE;
    return takt_dim_is_number(count) ? takt_resize_sum(w->c, w->x, indices(w, at), by, w->axis)
                                     : gathered(w, indices(w, at), by);
}

/* Results whose position is outside the picture become one value. */
static takt_id cropped(const work *w, takt_id y)
{
    if (w->r->place != TAKT_RESIZE_CROP || y == TAKT_NONE)
        return y;
    takt_graph *g = w->g;
    const takt_type t = *takt_type_of(g, y);
    takt_dim dims[TAKT_MAX_RANK];
    for (int i = 0; i < t.rank; i++)
        dims[i] = i == w->axis ? w->r->out : 1;
    const takt_id last = takt_sub(g, w->in, num(w, 1));
    const takt_id beyond = op2(w, &takt_op_or, op2(w, &takt_op_lt, w->place, num(w, 0)),
                               op2(w, &takt_op_gt, w->place, last));
    return takt_select(g, takt_reshape(g, beyond, dims, (size_t)t.rank),
                       takt_onnx_scalar(w->c, t.dtype, w->r->beyond), y);
}

takt_id takt_resize_sum(takt_call *c, takt_id x, takt_id index, takt_id weight, int axis)
{
    if (x == TAKT_NONE || index == TAKT_NONE || weight == TAKT_NONE)
        return TAKT_NONE;
    return takt_graph_call(c->g, &takt_op_gather_sum, 3, (takt_id[]){x, index, weight}, 1,
                           &(takt_named_attr){"axis", takt_attr_i64(axis)});
}

takt_id takt_resize_named(takt_call *c, takt_id x, const takt_resize *r, int axis)
{
    work w = {.c = c, .g = c->g, .r = r, .x = x, .axis = axis};
    const takt_named_attr attrs[] = {{"dtype", takt_attr_dtype(TAKT_F64)},
                                     {"shape", takt_attr_shape(&r->out, 1)}};
    const takt_id o = takt_graph_call(c->g, &takt_op_iota, 0, NULL, 2, attrs);
    w.in = size_of(&w, x, axis);
    w.out = size_of(&w, o, 0);
    w.place = position(&w, o);
    if (c->g->status != TAKT_OK)
        return TAKT_NONE;
    if (r->mode == TAKT_RESIZE_NEAREST)
        return cropped(&w, takt_onnx_gather(c, x, indices(&w, nearest(&w)), axis));
    const bool has_window = r->antialias || r->exclude_outside;
    return cropped(&w, has_window ? windowed(&w) : weighted(&w));
}

/* `scale` as above / below with a small divisor, so that floor(d * above / below) is the product of
 * d and `scale`, rounded to f32 and truncated. Only a product that is a power of two can be rounded
 * below the fraction; false if the scale is too small for that. */
static bool as_fraction(double scale, int64_t *above, int64_t *below)
{
    for (*below = 1; *below <= 256; ++*below) {
        const double whole = floor(scale * (double)*below + 0.5), exact = whole / (double)*below;
        if (!(whole >= 1 && whole <= 65536) || (double)(float)exact != scale)
            continue;
        *above = (int64_t)whole;
        return (*above & (*above - 1)) != 0 || scale >= exact * (1 - 0x1p-25);
    }
    return false;
}

takt_dim takt_resize_scaled(takt_call *c, takt_dim d, double scale)
{
    int64_t above, below;
    takt_dim out = 0;
    if (!as_fraction(scale, &above, &below)) {
        (void)takt_onnx_refuse(c, "a scale of %g along a dimension without a number", scale);
        return 0;
    }
    takt_status status = takt_dim_make(c->g->dims, TAKT_DIM_MUL, d, above, &out);
    if (status == TAKT_OK)
        status = takt_dim_make(c->g->dims, TAKT_DIM_FLOORDIV, out, below, &out);
    if (status != TAKT_OK && c->status == TAKT_OK)
        c->status = status;
    return out;
}
