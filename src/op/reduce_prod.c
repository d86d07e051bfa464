/* reduce_prod.c - the product over some axes; 1 over nothing, integers wrap. */
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

/* The product of the others. y / x will not do where some x is 0: with p the product of those that
 * are not, it is p / x if there is no zero, p at the only zero, and 0 otherwise. */
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
    .samples = {"reduce_prod(f32[2, 3])", "reduce_prod(f64[3, 4, 5], axes=[1])",
                "reduce_prod(f32[2, 3, 4], axes=[0, -1], keep=true)",
                "reduce_prod(f16[5, 7], axes=[-1])", "reduce_prod(f32[])",
                "reduce_prod(i32[4, 3], axes=[0])", "reduce_prod(u8[6])",
                "reduce_prod(f64[2, 4] in (-2, 2), axes=[0])"},
};
