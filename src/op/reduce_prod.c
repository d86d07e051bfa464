/* reduce_prod.c - the product over some axes; 1 over no elements, integers wrap. */
#include "op/util/bound.h"
#include "op/util/formula.h"
#include "op/util/reduce.h"

static double mul_f(double product, double x)
{
    return product * x;
}

static int64_t mul_i(takt_dtype dtype, int64_t product, int64_t x)
{
    (void)dtype;
    return (int64_t)((uint64_t)product * (uint64_t)x);
}

static const takt_fold fold = {.start = 1, .f = mul_f, .i = mul_i};

static takt_status eval(takt_eval *e)
{
    return takt_fold_eval(e, &fold);
}

/* The product of the other factors. y / x fails if some x is 0: with p the product of the non-zero
 * ones, it is p / x if there is no zero, p at a single zero, and 0 otherwise. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_reduction r = takt_reduction_of(takt_node_at(g, id));
    const takt_id is_zero = takt_binary(g, &takt_op_eq, r.x, takt_scalar_like(g, r.x, 0));
    const takt_id others = takt_select(g, is_zero, takt_scalar_like(g, r.x, 1), r.x);
    const takt_id marks = takt_cast(g, is_zero, takt_type_of(g, r.x)->dtype);
    const takt_id zeros = takt_unreduce(g, takt_reduce_by(g, &takt_op_reduce_sum, marks, &r), &r);
    takt_id product = takt_unreduce(g, takt_reduce_by(g, &takt_op_reduce_prod, others, &r), &r);
    product = takt_mul(g, product, takt_unreduce(g, dy[0], &r));
    const takt_id alone = takt_binary(g, &takt_op_eq, zeros, marks);
    dx[0] = takt_keep_where(g, alone, takt_div(g, product, others));
}

/* Handling factors one by one would need a node for each: all magnitudes are multiplied instead,
 * and the sign is unknown unless no factor can be negative. */
static void bound(takt_bounding *b)
{
    takt_graph *g = b->g;
    const takt_node *n = b->node;
    const takt_range x = takt_bound_wide(b, 0);
    const takt_id most = takt_bound_call(b, &(takt_id){takt_bound_magnitude(b, x)}, 0);
    const takt_reduction r = takt_reduction_of(n);
    const takt_id lowest = takt_reduce_by(g, &takt_op_reduce_min, x.lo, &r);
    const takt_id is_positive = takt_binary(g, &takt_op_le, takt_bound_number(b, 0), lowest);
    const takt_id least =
        takt_select(g, is_positive, takt_bound_call(b, &x.lo, 0), takt_neg(g, most));
    const double count = takt_roundings_chain(b->model, n);
    const takt_dtype dtype = n->type[0].dtype;
    const double share = takt_grid_gamma(TAKT_F64, count) +
                         (takt_dtype_is_float(dtype) ? takt_grid_gamma(dtype, count) : 0);
    /* A partial product may be as large as the product of all factors above 1, and an underflow
     * error may grow by the same factor. */
    const takt_id above = takt_bound_max(b, takt_bound_magnitude(b, x), takt_bound_number(b, 1));
    const takt_id total = takt_bound_overflow(b, takt_bound_call(b, &above, 0), dtype);
    const takt_id lost = takt_mul_scalar(g, total, count * takt_grid_of(dtype).tiny);
    const takt_id error = takt_add(g, lost, takt_mul_scalar(g, most, share * 1.0001));
    takt_bound_set(b, 0, least, most, 0.5, error);
}

const takt_op takt_op_reduce_prod = {
    .name = "reduce_prod",
    .summary = "the product over axes",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {TAKT_REDUCE_ATTRS},
    .traits = TAKT_REDUCES | TAKT_PRIMITIVE,
    .dtypes = TAKT_NUMBERS,
    .infer = takt_reduce_infer,
    .eval = eval,
    .grad = grad,
    .cost = takt_reduce_cost,
    .bound = bound,
    .samples = {"reduce_prod(f32[2, 3])", "reduce_prod(f64[3, 4, 5], axes=[1])",
                "reduce_prod(f32[2, 3, 4], axes=[0, -1], keep=true)",
                "reduce_prod(f16[5, 7], axes=[-1])", "reduce_prod(f32[])",
                "reduce_prod(i32[4, 3], axes=[0])", "reduce_prod(u8[6])",
                "reduce_prod(f64[2, 4] in (-2, 2), axes=[0])"},
};
