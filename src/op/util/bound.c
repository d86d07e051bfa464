/* bound.c - building blocks of bounds: rounding outwards, and the limits of types. */
#include "op/util/bound.h"

#include <float.h>
#include <math.h>

/* The f64 nodes of a bound round a few times each; four units cover the elementary functions. */
#define OWN_ULPS 0x1p-49
#define WHOLE 0x1p53 /* integers up to here are exact in f64 */

takt_grid takt_grid_of(takt_dtype dtype)
{
    switch (dtype) {
    case TAKT_F32: return (takt_grid){0x1p-23, 0x1p-149, FLT_MAX};
    case TAKT_F16: return (takt_grid){0x1p-10, 0x1p-24, 65504};
    case TAKT_BF16: return (takt_grid){0x1p-7, 0x1p-133, 0x1.fep127};
    default: return (takt_grid){0x1p-52, 0x1p-1074, DBL_MAX};
    }
}

double takt_grid_gamma(takt_dtype dtype, double n)
{
    /* Sums of narrow types are kept in f32 and rounded once at the end. */
    const double u = dtype == TAKT_F64 ? 0x1p-53 : 0x1p-24, nu = n * u;
    return nu < 0.5 ? nu / (1 - nu) : INFINITY;
}

void takt_bound_limits(takt_dtype dtype, double *least, double *greatest)
{
    const bool is_signed = takt_dtype_is_signed(dtype);
    const int bits = dtype == TAKT_BOOL ? 1 : (int)takt_dtype_bits(dtype);
    *least = is_signed ? -ldexp(1, bits - 1) : 0;
    *greatest = bits > 53 ? ldexp(1, bits - is_signed) : ldexp(1, bits - is_signed) - 1;
}

/* ---- pieces ---- */

takt_id takt_bound_number(takt_bounding *b, double value)
{
    takt_tensor t;
    const takt_type type = {.dtype = TAKT_F64};
    const takt_status status = takt_tensor_create(b->g->ctx, &type, &t);
    if (status != TAKT_OK)
        return takt_graph_fail(b->g, status);
    *(double *)takt_tensor_data(&t) = value;
    const takt_id id = takt_graph_constant(b->g, &t);
    takt_tensor_release(&t);
    return id;
}

takt_id takt_bound_max(takt_bounding *b, takt_id x, takt_id y)
{
    return takt_binary(b->g, &takt_op_max, x, y);
}

takt_id takt_bound_min(takt_bounding *b, takt_id x, takt_id y)
{
    return takt_binary(b->g, &takt_op_min, x, y);
}

takt_id takt_bound_abs(takt_bounding *b, takt_id x)
{
    return takt_unary(b->g, &takt_op_abs, x);
}

takt_id takt_bound_magnitude(takt_bounding *b, takt_range x)
{
    return takt_bound_max(b, takt_bound_abs(b, x.lo), takt_bound_abs(b, x.hi));
}

takt_id takt_bound_unknown(takt_bounding *b, takt_range x)
{
    /* Only a NaN makes the sum of the magnitudes one. */
    return takt_unary(b->g, &takt_op_is_nan,
                      takt_add(b->g, takt_bound_abs(b, x.lo), takt_bound_abs(b, x.hi)));
}

/* Beyond 2^53 the conversion of an integer rounds. */
static takt_id outwards(takt_bounding *b, takt_id x, double sign)
{
    const takt_id far = takt_bound_abs(b, x);
    const takt_id step = takt_mul_scalar(b->g, far, sign * 0x1p-52);
    const takt_id is_large = takt_binary(b->g, &takt_op_le, takt_bound_number(b, WHOLE), far);
    return takt_select(b->g, is_large, takt_add(b->g, x, step), x);
}

takt_range takt_bound_wide(takt_bounding *b, size_t k)
{
    const takt_range *in = &b->in[k];
    if (!in->is_point)
        return *in;
    const takt_dtype dtype = takt_type_of(b->g, in->lo)->dtype;
    takt_range wide = {.is_point = false};
    wide.lo = wide.hi = takt_cast(b->g, in->lo, TAKT_F64);
    if (dtype == TAKT_I64 || dtype == TAKT_U64) {
        wide.lo = outwards(b, wide.hi, -1);
        wide.hi = outwards(b, wide.hi, 1);
    }
    return wide;
}

bool takt_bound_is_single(const takt_bounding *b, size_t k)
{
    return !b->is_real && takt_type_of(b->model, b->node->in[k])->dtype == TAKT_F32;
}

takt_id takt_bound_single(takt_bounding *b, takt_id x)
{
    if (x == TAKT_NONE)
        return TAKT_NONE;
    const takt_node *n = takt_node_at(b->g, x);
    const bool is_wide = n->op == &takt_op_cast && n->type[0].dtype == TAKT_F64 &&
                         takt_type_of(b->g, n->in[0])->dtype == TAKT_F32;
    return is_wide ? n->in[0] : takt_cast(b->g, x, TAKT_F32);
}

takt_range takt_bound_input(takt_bounding *b, size_t k)
{
    if (!takt_bound_is_single(b, k))
        return takt_bound_wide(b, k);
    const takt_range *in = &b->in[k];
    return (takt_range){.lo = takt_bound_single(b, in->lo), .hi = takt_bound_single(b, in->hi)};
}

takt_id takt_bound_call(takt_bounding *b, const takt_id *in, size_t k)
{
    for (size_t i = 0; i < b->node->in_count; i++)
        if (in[i] == TAKT_NONE && b->node->in[i] != TAKT_NONE)
            return TAKT_NONE;
    const takt_id id = takt_graph_append(b->g, b->node->op, b->node->in_count, in, b->node->attr);
    return takt_cast(b->g, takt_graph_get(b->g, id, k), TAKT_F64);
}

bool takt_bound_fixed(const takt_bounding *b)
{
    for (size_t k = 0; k < b->node->in_count; k++)
        if ((b->node->op->fixed >> k & 1) != 0 && b->in[k].lo != TAKT_NONE && !b->in[k].is_point)
            return false;
    return true;
}

/* ---- results ---- */

void takt_bound_keep(takt_bounding *b, size_t k, takt_id lo, takt_id hi)
{
    b->out[k] = (takt_range){.lo = lo, .hi = hi};
}

void takt_bound_both(takt_bounding *b, size_t k, takt_id lo, takt_id hi)
{
    takt_bound_keep(b, k, takt_cast(b->g, takt_bound_min(b, lo, hi), TAKT_F64),
                    takt_cast(b->g, takt_bound_max(b, lo, hi), TAKT_F64));
}

/* Integers wrap: a result that may leave the type may be anything in it. */
static void set_integer(takt_bounding *b, size_t k, takt_id lo, takt_id hi)
{
    double least, greatest;
    takt_bound_limits(b->node->type[k].dtype, &least, &greatest);
    const takt_id from = takt_bound_number(b, least), to = takt_bound_number(b, greatest);
    const takt_id fits = takt_binary(b->g, &takt_op_and, takt_binary(b->g, &takt_op_le, from, lo),
                                     takt_binary(b->g, &takt_op_le, hi, to));
    takt_bound_keep(b, k, takt_select(b->g, fits, lo, from), takt_select(b->g, fits, hi, to));
}

/* x + sign * (|x| * share + tiny + more) */
static takt_id widen(takt_bounding *b, takt_id x, double sign, double share, double tiny,
                     takt_id more)
{
    takt_id by = takt_mul_scalar(b->g, takt_bound_abs(b, x), share);
    if (tiny > 0)
        by = takt_add_scalar(b->g, by, tiny);
    if (more != TAKT_NONE)
        by = takt_add(b->g, by, more);
    return sign < 0 ? takt_sub(b->g, x, by) : takt_add(b->g, x, by);
}

/* Beyond the greatest number a result is infinite. */
static takt_id end(takt_bounding *b, takt_id x, double max)
{
    const takt_id limit = takt_bound_number(b, max);
    const takt_id beyond = max < 0 ? takt_binary(b->g, &takt_op_lt, x, limit)
                                   : takt_binary(b->g, &takt_op_lt, limit, x);
    return takt_select(b->g, beyond, takt_bound_number(b, max < 0 ? -INFINITY : INFINITY), x);
}

static bool has_more(takt_id more)
{
    return more != TAKT_NONE;
}

void takt_bound_set(takt_bounding *b, size_t k, takt_id lo, takt_id hi, double ulps, takt_id more)
{
    const takt_dtype dtype = b->node->type[k].dtype;
    const takt_grid grid = takt_grid_of(dtype);
    double share = OWN_ULPS, tiny = ulps > 0 || has_more(more) ? DBL_MIN : 0;
    if (!takt_dtype_is_float(dtype)) {
        if (has_more(more) || ulps > 0) {
            lo = widen(b, lo, -1, share, 0, more);
            hi = widen(b, hi, 1, share, 0, more);
        }
        set_integer(b, k, lo, hi);
        return;
    }
    if (!b->is_real) {
        const bool is_narrow = dtype == TAKT_F16 || dtype == TAKT_BF16;
        /* Narrow types are computed in f32, then rounded again. */
        share += is_narrow ? 0.5 * grid.ulp + 1.01 * ulps * 0x1p-23 : ulps * grid.ulp;
        if (ulps > 0 || is_narrow)
            tiny += grid.tiny * (ulps > 1 ? ulps : 1);
    }
    lo = widen(b, lo, -1, share, tiny, more);
    hi = widen(b, hi, 1, share, tiny, more);
    if (!b->is_real) {
        lo = end(b, lo, -grid.max);
        hi = end(b, hi, grid.max);
    }
    takt_bound_both(b, k, lo, hi);
}

takt_id takt_bound_below(takt_bounding *b, takt_id x)
{
    return widen(b, x, -1, 0x1p-23, 0x1p-149, TAKT_NONE);
}

takt_id takt_bound_above(takt_bounding *b, takt_id x)
{
    return widen(b, x, 1, 0x1p-23, 0x1p-149, TAKT_NONE);
}

takt_id takt_bound_spoil(takt_bounding *b, takt_id condition, takt_id x)
{
    return takt_select(b->g, condition, takt_bound_number(b, NAN), x);
}

takt_id takt_bound_overflow(takt_bounding *b, takt_id magnitude, takt_dtype dtype)
{
    const double max = b->is_real || dtype == TAKT_F64 ? DBL_MAX : FLT_MAX;
    return takt_bound_spoil(b, takt_binary(b->g, &takt_op_lt, takt_bound_number(b, max), magnitude),
                            magnitude);
}

static takt_id fill(takt_bounding *b, size_t k, double value)
{
    const takt_type *type = &b->node->type[k];
    return takt_broadcast(b->g, takt_bound_number(b, value), type->dim, (size_t)type->rank);
}

void takt_bound_any(takt_bounding *b)
{
    for (size_t k = 0; k < b->node->out_count; k++) {
        double least = NAN, greatest = NAN;
        if (!takt_dtype_is_float(b->node->type[k].dtype))
            takt_bound_limits(b->node->type[k].dtype, &least, &greatest);
        takt_bound_keep(b, k, fill(b, k, least), fill(b, k, greatest));
    }
}
