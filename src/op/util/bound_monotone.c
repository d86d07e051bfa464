/* bound_monotone.c - ops that rise or fall with each input: bounds are values at the ends. */
#include <math.h>

#include "op/util/bound.h"
#include "op/util/index.h"

enum { MOST = 8 };

typedef takt_range input_fn(takt_bounding *b, size_t k);

/* The inputs of the op for its lower (upper) bound. False: nothing is known. */
static bool ends(takt_bounding *b, input_fn *input, bool upper, takt_id *in)
{
    const takt_op *op = b->node->op;
    for (size_t k = 0; k < b->node->in_count; k++) {
        const takt_range *r = &b->in[k];
        const bool is_other = (op->fixed >> (k < 32 ? k : 31) & 1) != 0;
        in[k] = r->lo;
        if (r->lo == TAKT_NONE)
            continue;
        if (is_other && !r->is_point)
            return false;
        if (is_other && !takt_dtype_is_float(takt_type_of(b->g, r->lo)->dtype))
            continue;
        const takt_range ends = input(b, k);
        in[k] = ((op->falls >> k & 1) != 0) == upper ? ends.lo : ends.hi;
    }
    return true;
}

typedef void finish_fn(takt_bounding *b, size_t k, takt_id lo, takt_id hi);

static void at_ends(takt_bounding *b, input_fn *input, finish_fn *finish)
{
    takt_id few_lo[MOST], few_hi[MOST], *lo = few_lo, *hi = few_hi;
    if (b->node->in_count > MOST) {
        lo = takt_arena_array(&b->g->arena, b->node->in_count, sizeof *lo);
        hi = takt_arena_array(&b->g->arena, b->node->in_count, sizeof *hi);
        if (lo == NULL || hi == NULL) {
            takt_graph_fail(b->g, TAKT_ERR_MEMORY);
            return;
        }
    }
    if (!ends(b, input, false, lo) || !ends(b, input, true, hi)) {
        takt_bound_any(b);
        return;
    }
    for (size_t k = 0; k < b->node->out_count; k++)
        finish(b, k, takt_bound_call(b, lo, k), takt_bound_call(b, hi, k));
}

/* Whether all inputs that are numbers are f32. */
static bool is_single(const takt_bounding *b)
{
    for (size_t k = 0; k < b->node->in_count; k++)
        if (b->node->in[k] != TAKT_NONE && (b->node->op->fixed >> (k < 32 ? k : 31) & 1) == 0 &&
            !takt_bound_is_single(b, k))
            return false;
    return true;
}

void takt_bound_exact(takt_bounding *b)
{
    at_ends(b, is_single(b) ? takt_bound_input : takt_bound_wide, takt_bound_keep);
}

static void with_error(takt_bounding *b, size_t k, takt_id lo, takt_id hi)
{
    takt_bound_set(b, k, lo, hi, b->node->op->error.ulps, TAKT_NONE);
}

void takt_bound_monotone(takt_bounding *b)
{
    at_ends(b, takt_bound_wide, with_error);
}

void takt_bound_add(takt_bounding *b)
{
    const bool is_sub = (b->node->op->falls & 2) != 0;
    const bool single = takt_bound_is_single(b, 0);
    const bool has_point = b->in[0].is_point || b->in[1].is_point;
    const takt_range x = takt_bound_input(b, 0);
    takt_range y = takt_bound_input(b, 1);
    if (is_sub)
        y = (takt_range){.lo = y.hi, .hi = y.lo};
    /* If infinities of opposite signs can meet, one of these is NaN; otherwise both are between the
     * ends. For a point they are the ends. */
    takt_id cross = TAKT_NONE;
    if (!has_point)
        cross = takt_bound_min(b, takt_binary(b->g, b->node->op, x.lo, y.hi),
                               takt_binary(b->g, b->node->op, x.hi, y.lo));
    takt_id lo = takt_binary(b->g, b->node->op, x.lo, y.lo);
    takt_id hi = takt_binary(b->g, b->node->op, x.hi, y.hi);
    if (cross != TAKT_NONE) {
        lo = takt_bound_min(b, lo, cross);
        hi = takt_bound_max(b, hi, cross);
    }
    /* One rounding is monotone: the ends of a sum of f32 numbers are the sums that the kernel
     * computes of their ends. Else it is half a unit in the last place; a sum never underflows. */
    if (single)
        takt_bound_both(b, 0, lo, hi);
    else
        takt_bound_set(b, 0, lo, hi, b->node->op->error.ulps, TAKT_NONE);
}

static void not_negative(takt_bounding *b, size_t k, takt_id lo, takt_id hi)
{
    with_error(b, k, lo, hi);
    const takt_id zero = takt_bound_number(b, 0);
    b->out[k].lo = takt_bound_max(b, b->out[k].lo, zero);
}

void takt_bound_positive(takt_bounding *b)
{
    at_ends(b, takt_bound_wide, not_negative);
}

void takt_bound_sum(takt_bounding *b)
{
    const takt_node *n = b->node;
    takt_id lo[MOST], hi[MOST], size[MOST];
    if (n->in_count > MOST || !ends(b, takt_bound_wide, false, lo) ||
        !ends(b, takt_bound_wide, true, hi)) {
        takt_bound_any(b);
        return;
    }
    for (size_t k = 0; k < n->in_count; k++) {
        const bool is_value = lo[k] != TAKT_NONE && (n->op->fixed >> k & 1) == 0;
        size[k] = is_value ? takt_bound_magnitude(b, takt_bound_wide(b, k)) : lo[k];
    }
    const takt_dtype dtype = n->type[0].dtype;
    const double count = n->op->error.roundings(b->model, n);
    double share = takt_grid_gamma(TAKT_F64, count);
    if (takt_dtype_is_float(dtype) && !b->is_real)
        share += takt_grid_gamma(dtype, count);
    /* A mean is a sum first. */
    const bool is_mean = n->op == &takt_op_avg_pool || n->op == &takt_op_avg_pool_dx;
    const takt_id total = takt_bound_call(b, size, 0);
    const takt_id sum =
        takt_bound_overflow(b, is_mean ? takt_mul_scalar(b->g, total, count) : total, dtype);
    const takt_id error = takt_mul_scalar(b->g, sum, share * 1.0001 / (is_mean ? count : 1));
    takt_bound_set(b, 0, takt_bound_call(b, lo, 0), takt_bound_call(b, hi, 0), 0, error);
}

void takt_bound_valley(takt_bounding *b, double x_least, double least, takt_id more)
{
    const takt_range x = takt_bound_wide(b, 0);
    const takt_id at_lo = takt_bound_call(b, &x.lo, 0), at_hi = takt_bound_call(b, &x.hi, 0);
    const takt_id bottom = takt_bound_number(b, x_least);
    const takt_id has_bottom =
        takt_binary(b->g, &takt_op_and, takt_binary(b->g, &takt_op_lt, x.lo, bottom),
                    takt_binary(b->g, &takt_op_lt, bottom, x.hi));
    /* The bottom is flat: a bound a little below it is right on both sides. */
    const takt_id lo = takt_bound_min(b, at_lo, at_hi);
    takt_bound_set(b, 0, takt_select(b->g, has_bottom, takt_bound_number(b, least), lo),
                   takt_bound_max(b, at_lo, at_hi), b->node->op->error.ulps, more);
}

void takt_bound_scatter(takt_bounding *b)
{
    const int64_t how = takt_node_attr(b->node, "reduce")->i64;
    if (how == TAKT_ADD)
        takt_bound_sum(b);
    else if (how == TAKT_MUL)
        takt_bound_any(b);
    else
        takt_bound_exact(b);
}

/* ---- waves ---- */

/* Whether `at` + k period is in [lo, hi] for an integer k; errs on the side of true. */
static takt_id reaches(takt_bounding *b, takt_range x, double at)
{
    const double period = 6.28318530717958647693;
    takt_graph *g = b->g;
    const takt_id from = takt_mul_scalar(g, takt_add_scalar(g, x.lo, -at), 1 / period);
    const takt_id to = takt_mul_scalar(g, takt_add_scalar(g, x.hi, -at), 1 / period);
    const takt_id slack = takt_add_scalar(
        g, takt_mul_scalar(g, takt_add(g, takt_bound_abs(b, from), takt_bound_abs(b, to)), 0x1p-45),
        0x1p-45);
    const takt_id first = takt_unary(g, &takt_op_ceil, takt_sub(g, from, slack));
    return takt_binary(g, &takt_op_le, first, takt_add(g, to, slack));
}

void takt_bound_wave(takt_bounding *b, double top)
{
    takt_graph *g = b->g;
    const takt_range x = takt_bound_wide(b, 0);
    const takt_id first = takt_bound_call(b, &x.lo, 0), last = takt_bound_call(b, &x.hi, 0);
    const takt_id has_top = reaches(b, x, top);
    const takt_id has_bottom = reaches(b, x, top + 3.14159265358979323846);
    const takt_id lo =
        takt_select(g, has_bottom, takt_bound_number(b, -1), takt_bound_min(b, first, last));
    const takt_id hi =
        takt_select(g, has_top, takt_bound_number(b, 1), takt_bound_max(b, first, last));
    /* An infinite end gives NaN at that end, which the other end, or a maximum between them, must
     * not hide.
     */
    const takt_id nan = takt_unary(g, &takt_op_is_nan,
                                   takt_add(g, takt_bound_abs(b, first), takt_bound_abs(b, last)));
    takt_bound_set(b, 0, takt_bound_spoil(b, nan, lo), takt_bound_spoil(b, nan, hi),
                   b->node->op->error.ulps, TAKT_NONE);
}

/* ---- order ---- */

/* An unknown element may end up anywhere in the order, so its whole line is unknown. */
void takt_bound_order(takt_bounding *b)
{
    const takt_range x = takt_bound_wide(b, 0);
    const takt_attr *given = takt_node_attr(b->node, "axis");
    const takt_attr *sorted = takt_node_attr(b->node, "sorted");
    const int rank = takt_type_of(b->g, x.lo)->rank;
    const int64_t axis = given->i64 < 0 ? given->i64 + rank : given->i64;
    takt_bound_any(b);
    if (sorted == NULL || sorted->boolean) {
        const takt_id marks = takt_cast(b->g, takt_bound_unknown(b, x), TAKT_F64);
        const takt_id line = takt_reduce_over(b->g, &takt_op_reduce_max, marks, &axis, 1, true);
        const takt_id is_bad = takt_binary(b->g, &takt_op_lt, takt_bound_number(b, 0), line);
        const takt_id nan = takt_bound_number(b, NAN);
        takt_bound_keep(b, 0, takt_select(b->g, is_bad, nan, takt_bound_call(b, &x.lo, 0)),
                        takt_select(b->g, is_bad, nan, takt_bound_call(b, &x.hi, 0)));
    }
    const takt_dim size = b->node->type[1].dim[axis];
    const takt_dim all = takt_type_of(b->g, x.lo)->dim[axis];
    if (size > 0) {
        const takt_range any = b->out[1];
        takt_bound_keep(b, 1, takt_mul_scalar(b->g, any.lo, 0),
                        takt_add_scalar(b->g, takt_mul_scalar(b->g, any.lo, 0),
                                        (double)(all > 0 ? all - 1 : 0)));
    }
}

void takt_bound_index(takt_bounding *b)
{
    const takt_attr *given = takt_node_attr(b->node, "axis");
    const takt_type *x = takt_type_of(b->model, b->node->in[0]);
    const int64_t axis = given->i64 < 0 ? given->i64 + x->rank : given->i64;
    const takt_type *type = &b->node->type[0];
    const double last = axis < x->rank && x->dim[axis] > 0 ? (double)(x->dim[axis] - 1) : 0;
    const takt_id zero =
        takt_broadcast(b->g, takt_bound_number(b, 0), type->dim, (size_t)type->rank);
    takt_bound_keep(b, 0, zero, takt_add_scalar(b->g, zero, last));
}

/* ---- truth values ---- */

void takt_bound_logic(takt_bounding *b)
{
    const takt_op *op = b->node->op;
    if (b->node->type[0].dtype != TAKT_BOOL) {
        takt_bound_any(b);
        return;
    }
    const takt_range x = takt_bound_wide(b, 0);
    if (op == &takt_op_not) {
        const takt_id one = takt_bound_number(b, 1);
        takt_bound_keep(b, 0, takt_sub(b->g, one, x.hi), takt_sub(b->g, one, x.lo));
        return;
    }
    const takt_range y = takt_bound_wide(b, 1);
    if (op == &takt_op_and) {
        takt_bound_keep(b, 0, takt_bound_min(b, x.lo, y.lo), takt_bound_min(b, x.hi, y.hi));
    } else if (op == &takt_op_or) {
        takt_bound_keep(b, 0, takt_bound_max(b, x.lo, y.lo), takt_bound_max(b, x.hi, y.hi));
    } else {
        /* x xor y is x + y - 2 x y: its extremes are at the corners. */
        const takt_id two = takt_bound_number(b, 2);
        const takt_id corner[4][2] = {{x.lo, y.lo}, {x.lo, y.hi}, {x.hi, y.lo}, {x.hi, y.hi}};
        takt_id lo = TAKT_NONE, hi = TAKT_NONE;
        for (int i = 0; i < 4; i++) {
            const takt_id both = takt_mul(b->g, two, takt_mul(b->g, corner[i][0], corner[i][1]));
            const takt_id at = takt_sub(b->g, takt_add(b->g, corner[i][0], corner[i][1]), both);
            lo = i == 0 ? at : takt_bound_min(b, lo, at);
            hi = i == 0 ? at : takt_bound_max(b, hi, at);
        }
        takt_bound_keep(b, 0, lo, hi);
    }
}
