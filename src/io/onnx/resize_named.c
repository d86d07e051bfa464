/* resize_named.c - Resize along an axis whose size has a name: tables are nodes of the graph. */
#include "io/onnx/resize.h"

#include <math.h>

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

/* `at`, or 0 if there is one result and the mode asks for that. */
static takt_id unless_one(const work *w, takt_id at)
{
    if (w->r->place != TAKT_RESIZE_PYTORCH && w->r->place != TAKT_RESIZE_CORNERS)
        return at;
    return takt_select(w->g, op2(w, &takt_op_gt, w->out, num(w, 1)), at, num(w, 0));
}

static takt_id position_by_size(const work *w, takt_id o)
{
    takt_graph *g = w->g;
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

/* Weight of element `k` after the one below; `part` is the distance of the position from that. */
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
    if (r->antialias || r->exclude_outside || r->place == TAKT_RESIZE_CROP) {
        (void)takt_onnx_refuse(c, "antialias, exclude_outside or a crop along a dimension without "
                                  "a number");
        return TAKT_NONE;
    }
    const takt_named_attr attrs[] = {{"dtype", takt_attr_dtype(TAKT_F64)},
                                     {"shape", takt_attr_shape(&r->out, 1)}};
    const takt_id o = takt_graph_call(c->g, &takt_op_iota, 0, NULL, 2, attrs);
    w.in = size_of(&w, x, axis);
    w.out = size_of(&w, o, 0);
    w.place = position(&w, o);
    if (c->g->status != TAKT_OK)
        return TAKT_NONE;
    if (r->mode != TAKT_RESIZE_NEAREST)
        return weighted(&w);
    return takt_onnx_gather(c, x, indices(&w, nearest(&w)), axis);
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
