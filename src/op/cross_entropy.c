/* cross_entropy.c - negative log probability of the right class under softmax.
 *
 * Classes are the last axis. Labels are class numbers (i32 or i64, negative from the end) without
 * that axis, or floats of the shape of the logits: a distribution over classes. f16 and bf16 are
 * computed in f32 and rounded at the end.
 */
#include "ir/infer.h"
#include "op/util/amp.h"
#include "op/util/entropy.h"
#include "op/util/formula.h"

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_infer_dtype(in, 0, TAKT_FLOATS, "a float type"));
    TAKT_TRY(takt_infer_rank(in, 0, 1, TAKT_MAX_RANK));
    const takt_type *x = in->type[0], *labels = in->type[1];
    const bool soft = takt_dtype_is_float(labels->dtype);
    const double smoothing = in->attr[TAKT_CE_SMOOTHING].f64;
    takt_type each = {.dtype = x->dtype, .rank = x->rank - 1};
    for (int i = 0; i < each.rank; i++)
        each.dim[i] = x->dim[i];
    if (!(smoothing >= 0 && smoothing <= 1))
        return takt_infer_fail(in, TAKT_E_ATTR, "smoothing is from 0 to 1, not %g", smoothing);
    if (soft)
        TAKT_TRY(takt_infer_same_shape(in, 0, 1));
    else
        TAKT_TRY(takt_infer_dtype(in, 1, TAKT_IN(TAKT_I32) | TAKT_IN(TAKT_I64) | TAKT_FLOATS,
                                  "i32, i64 or a float type"));
    if (soft && labels->dtype != x->dtype)
        return takt_infer_fail(in, TAKT_E_DTYPE, "float labels must have the dtype of the logits");
    if (soft && in->attr[TAKT_CE_IGNORE].is_set)
        return takt_infer_fail(in, TAKT_E_ATTR, "ignore is for labels that are class numbers");
    bool fits = soft || labels->rank == each.rank;
    for (int i = 0; fits && !soft && i < each.rank; i++)
        fits = takt_dim_unify(in->dims, labels->dim[i], each.dim[i]) == TAKT_OK;
    if (!fits)
        return takt_infer_fail(in, TAKT_E_SHAPE,
                               "labels must have the shape of the logits without "
                               "the last axis");
    in->out[0] = each;
    if (in->attr[TAKT_LOSS_REDUCTION].i64 != TAKT_EACH)
        in->out[0] = (takt_type){.dtype = x->dtype};
    return TAKT_OK;
}

static takt_entropy parts(takt_graph *g, const takt_node *n)
{
    const takt_attr ignore = n->attr[TAKT_CE_IGNORE];
    return takt_entropy_make(g, n, n->attr[TAKT_CE_SMOOTHING].f64, &ignore);
}

/* The losses of all rows, then their mean; ignored rows count in neither. */
static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_dtype dtype = n->type[0].dtype;
    const int64_t reduction = n->attr[TAKT_LOSS_REDUCTION].i64;
    const takt_entropy ce = parts(g, n);
    takt_id each = takt_entropy_rows(g, &ce);
    if (reduction != TAKT_EACH)
        each = takt_reduce_over(g, &takt_op_reduce_sum, each, NULL, 0, false);
    if (reduction == TAKT_MEAN)
        each = takt_div(g, each, takt_entropy_count(g, &ce, each));
    out[0] = takt_cast(g, each, dtype);
}

/* The incoming gradient is often one number for all rows: then that is used. */
static takt_id before_broadcast(const takt_graph *g, takt_id dy)
{
    const takt_node *n = takt_node_at(g, dy);
    const bool is_scalar = n->op == &takt_op_broadcast && takt_type_of(g, n->in[0])->rank == 0;
    return is_scalar ? n->in[0] : dy;
}

/* softmax * sum(target) - target, where the target is the smoothed distribution. */
static takt_id slope(takt_graph *g, const takt_entropy *ce)
{
    const takt_id target = takt_entropy_target(g, ce);
    const takt_id total = takt_reduce_by(g, &takt_op_reduce_sum, target, &ce->classes);
    return takt_sub(g, takt_mul(g, takt_unary(g, &takt_op_exp, ce->log_p), total), target);
}

/* For plain class numbers it is a separate op, which keeps no probabilities. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node node = *takt_node_at(g, id); /* a copy: nodes move as the graph grows */
    const bool is_mean = node.attr[TAKT_LOSS_REDUCTION].i64 == TAKT_MEAN;
    const takt_dtype dtype = node.type[0].dtype;
    const takt_entropy ce = parts(g, &node);
    takt_id seed = takt_widen(g, before_broadcast(g, dy[0]));
    if (is_mean)
        seed = takt_div(g, seed, takt_entropy_count(g, &ce, seed));
    if (!ce.is_soft && ce.smoothing == 0) {
        const takt_id in[] = {ce.classes.x, node.in[1], seed};
        const takt_named_attr ignore = {"ignore", node.attr[TAKT_CE_IGNORE]};
        const takt_id wide = takt_graph_call(g, &takt_op_cross_entropy_dx, 3, in,
                                             node.attr[TAKT_CE_IGNORE].is_set ? 1 : 0, &ignore);
        dx[0] = takt_cast(g, wide, dtype);
        return;
    }
    seed = takt_entropy_seed(g, &ce, seed);
    dx[0] = takt_cast(g, takt_mul(g, slope(g, &ce), seed), dtype);
    if (ce.is_soft) {
        const takt_id keep = takt_mul_scalar(g, ce.log_p, ce.smoothing - 1);
        dx[1] = takt_cast(g, takt_mul(g, keep, seed), dtype);
    }
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *c)
{
    takt_cost_of_input(g, n, 16, c);
}

const takt_op takt_op_cross_entropy = {
    .name = "cross_entropy",
    .summary = "minus the logarithm of the softmax at the labels, averaged",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"logits", "labels"},
    .attrs = {TAKT_LOSS_ATTR,
              [TAKT_CE_SMOOTHING] = {.name = "smoothing",
                                     .type = TAKT_ATTR_F64,
                                     .fallback.f64 = 0,
                                     .summary = "the part of the target spread over all classes"},
              [TAKT_CE_IGNORE] = {.name = "ignore",
                                  .type = TAKT_ATTR_I64,
                                  .is_optional = true,
                                  .summary = "rows with this label do not count"}},
    .traits = TAKT_INDEXED | TAKT_AMP_WIDE,
    .dtypes = TAKT_FLOATS | TAKT_IN(TAKT_I32) | TAKT_IN(TAKT_I64),
    .is_mixed = true,
    .infer = infer,
    .eval = takt_entropy_eval,
    .grad = grad,
    .lower = lower,
    .cost = cost,
    .samples = {"cross_entropy(f32[4, 3], i64[4] in (0, 2))",
                "cross_entropy(f64[2, 3, 5], i32[2, 3] in (0, 4), reduction=sum, smoothing=0.1)",
                "cross_entropy(f32[4, 3], i64[4] in (0, 2), reduction=none, ignore=1)",
                "cross_entropy(f64[4, 3], f64[4, 3] in (0.1, 0.9))",
                "cross_entropy(f16[6, 2], i64[6] in (-2, 1), ignore=-1)",
                "cross_entropy(f32[5], i64[] in (0, 4))"},
};
