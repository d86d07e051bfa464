/* softmax.c - exp(x), scaled to sum to 1 along an axis. */
#include <math.h>

#include "op/util/bound.h"
#include "op/util/formula.h"
#include "op/util/norm.h"
#include "op/util/stops.h"
#include "op/util/walk.h"

enum { AXIS };

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0];
    const takt_rows rows = takt_rows_of(x, e->attr[AXIS].i64);
    for (size_t r = 0; r < rows.outer * rows.inner && !takt_eval_stops(e, rows.size); r++) {
        const size_t start = r / rows.inner * rows.size * rows.inner + r % rows.inner;
        const double *in = x->f + start;
        double *out = e->out[0].f + start;
        double most = -INFINITY, sum = 0;
        for (size_t k = 0; k < rows.size; k++)
            most = in[k * rows.inner] > most ? in[k * rows.inner] : most;
        for (size_t k = 0; k < rows.size; k++)
            sum += exp(in[k * rows.inner] - most);
        for (size_t k = 0; k < rows.size; k++)
            out[k * rows.inner] = exp(in[k * rows.inner] - most) / sum;
    }
    return TAKT_OK;
}

/* Uses the result, so x need not be kept. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_named_attr axis = {"axis", takt_node_at(g, id)->attr[AXIS]};
    dx[0] = takt_graph_call(g, &takt_op_softmax_dx, 2, (takt_id[]){id, dy[0]}, 1, &axis);
}

/* exp(x) of x <= 0; kernels of f32 have 0 where it would be denormal. */
static takt_id shares(takt_graph *g, takt_id x)
{
    const takt_id e = takt_unary(g, &takt_op_exp, x);
    if (takt_type_of(g, x)->dtype == TAKT_F64)
        return e;
    const takt_id is_small = takt_binary(g, &takt_op_lt, x, takt_scalar_like(g, x, -87.3));
    return takt_select(g, is_small, takt_scalar_like(g, x, 0), e);
}

/* exp(x - max) * (1 / sum): one division per row. */
static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    int64_t axis;
    const takt_reduction r = takt_axis_reduction(n, &axis);
    const takt_id powers = shares(g, takt_shifted(g, &r));
    const takt_id sum = takt_reduce_by(g, &takt_op_reduce_sum, powers, &r);
    out[0] = takt_mul(g, powers, takt_reciprocal(g, sum));
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *c)
{
    takt_cost_of_input(g, n, 14, c);
}

/* p_i = e_i / (e_i + the others) is least where x_i is least and the others are greatest. The
 * kernel's relative error: x - max is rounded, which changes its exponential by as much; in the sum
 * this contributes at most log n, as exp(-t) is small where t is large. */
static void bound(takt_bounding *b)
{
    takt_graph *g = b->g;
    int64_t axis;
    const takt_reduction r = takt_axis_reduction(b->node, &axis);
    const takt_range x = takt_bound_wide(b, 0);
    const takt_id top = takt_reduce_by(g, &takt_op_reduce_max, x.hi, &r);
    const takt_id lo = takt_unary(g, &takt_op_exp, takt_sub(g, x.lo, top));
    const takt_id hi = takt_unary(g, &takt_op_exp, takt_sub(g, x.hi, top));
    const takt_id sum_lo = takt_reduce_by(g, &takt_op_reduce_sum, lo, &r);
    const takt_id sum_hi = takt_reduce_by(g, &takt_op_reduce_sum, hi, &r);
    /* The sums without one term; f64 rounds at 2^-53 of the sums. */
    const takt_id least =
        takt_bound_max(b, takt_sub(g, takt_sub(g, sum_lo, lo), takt_mul_scalar(g, sum_lo, 0x1p-40)),
                       takt_bound_number(b, 0));
    const takt_id most = takt_add(g, takt_sub(g, sum_hi, hi), takt_mul_scalar(g, sum_hi, 0x1p-40));
    const double count = b->node->op->error.roundings(b->model, b->node);
    const double own = b->is_real ? 0x1p-40 : takt_grid_of(b->node->type[0].dtype).ulp;
    const takt_id upper = takt_div(g, hi, takt_add(g, hi, least));
    const takt_id depth = takt_sub(g, top, x.lo);
    const takt_id share = takt_mul_scalar(g, takt_add_scalar(g, depth, count), own);
    /* f32 is 0 where it would be denormal. */
    const double lost = b->is_real || b->node->type[0].dtype == TAKT_F64 ? 0 : 0x1p-125;
    takt_bound_set(b, 0, takt_div(g, lo, takt_add(g, lo, most)), upper, 1,
                   takt_add_scalar(g, takt_mul(g, upper, share), lost));
    b->out[0].lo = takt_bound_max(b, b->out[0].lo, takt_bound_number(b, 0));
}

/* Roundings of the sum (log n), of the exponential, the quotient and the product. */
static double roundings(const takt_graph *g, const takt_node *n)
{
    const takt_type *x = takt_type_of(g, n->in[0]);
    const int64_t axis = n->attr[AXIS].i64;
    const double size = (double)x->dim[axis < 0 ? axis + x->rank : axis];
    return ceil(size / 16) + size / 4096 + log(size + 1) + 16;
}

const takt_op takt_op_softmax = {
    .name = "softmax",
    .summary = "exp(x) divided by its sum along an axis",
    .onnx = {{"Softmax", 13, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = -1,
                        .summary = "the axis whose elements sum to 1"}},
    .traits = TAKT_WIDENS,
    .dtypes = TAKT_FLOATS,
    .infer = takt_axis_infer,
    .eval = eval,
    .grad = grad,
    .lower = lower,
    .cost = cost,
    .bound = bound,
    .error.roundings = roundings,
    .samples = {"softmax(f32[2, 3])", "softmax(f64[3, 4, 5], axis=1)", "softmax(f16[4, 9], axis=0)",
                "softmax(f32[5, 1])", "softmax(f32[7] in (-100, 100))"},
};
