/* entropy.c - the parts of cross_entropy. */
#include "op/util/entropy.h"

#include <math.h>

#include "op/util/formula.h"
#include "op/util/norm.h"
#include "op/util/stops.h"

static const int64_t last_axis[] = {-1};

takt_entropy takt_entropy_make(takt_graph *g, const takt_node *n, double smoothing,
                               const takt_attr *ignore)
{
    const takt_id logits = n->in[0], labels = n->in[1];
    takt_entropy ce = {
        .counts = TAKT_NONE, .labels = takt_widen(g, labels), .smoothing = smoothing};
    ce.classes = (takt_reduction){takt_widen(g, logits), last_axis, 1, true};
    ce.is_soft = takt_dtype_is_float(takt_type_of(g, labels)->dtype);
    const takt_named_attr axis = {"axis", takt_attr_i64(-1)};
    ce.log_p = takt_graph_call(g, &takt_op_log_softmax, 1, &ce.classes.x, 1, &axis);
    if (ignore->is_set) {
        const takt_id out = takt_scalar_like(g, labels, (double)ignore->i64);
        const takt_id is_out = takt_binary(g, &takt_op_eq, labels, out);
        ce.counts = takt_unary(g, &takt_op_not, is_out);
        ce.labels = takt_keep_where(g, ce.counts, labels);
    }
    return ce;
}

takt_id takt_entropy_rows(takt_graph *g, const takt_entropy *ce)
{
    const double smoothing = ce->smoothing;
    takt_reduction rows = ce->classes;
    rows.keep = false;
    if (ce->is_soft) {
        const takt_id target = takt_entropy_target(g, ce);
        const takt_id products = takt_mul(g, target, ce->log_p);
        return takt_neg(g, takt_reduce_by(g, &takt_op_reduce_sum, products, &rows));
    }
    const takt_id in[] = {ce->log_p, takt_unreduce(g, ce->labels, &ce->classes)};
    if (in[0] == TAKT_NONE || in[1] == TAKT_NONE)
        return TAKT_NONE;
    const takt_named_attr axis = {"axis", takt_attr_i64(-1)};
    const takt_id picked = takt_graph_call(g, &takt_op_gather_elements, 2, in, 1, &axis);
    takt_id loss = takt_neg(g, takt_reshape_like(g, picked, ce->labels));
    if (smoothing != 0) {
        takt_reduction all = rows;
        all.x = ce->log_p;
        const takt_id spread = takt_mul_scalar(g, takt_mean(g, &all), -smoothing);
        loss = takt_add(g, takt_mul_scalar(g, loss, 1 - smoothing), spread);
    }
    return ce->counts == TAKT_NONE ? loss : takt_keep_where(g, ce->counts, loss);
}

takt_id takt_entropy_count(takt_graph *g, const takt_entropy *ce, takt_id like)
{
    if (like == TAKT_NONE)
        return TAKT_NONE;
    if (ce->counts != TAKT_NONE) {
        const takt_id marks = takt_cast(g, ce->counts, takt_type_of(g, like)->dtype);
        return takt_reduce_over(g, &takt_op_reduce_sum, marks, NULL, 0, false);
    }
    const int rank = takt_type_of(g, ce->classes.x)->rank;
    int64_t axes[TAKT_MAX_RANK];
    for (int i = 0; i < rank - 1; i++)
        axes[i] = i;
    const takt_reduction rows = {.x = ce->classes.x, .axes = axes, .count = (size_t)rank - 1};
    /* Without axes it would count the classes. */
    return rank == 1 ? takt_scalar_like(g, like, 1) : takt_reduced_count(g, like, &rows);
}

takt_id takt_entropy_seed(takt_graph *g, const takt_entropy *ce, takt_id dy)
{
    if (ce->counts != TAKT_NONE)
        dy = takt_keep_where(g, ce->counts, dy);
    if (dy == TAKT_NONE || takt_type_of(g, dy)->rank == 0)
        return dy;
    return takt_unreduce(g, dy, &ce->classes);
}

takt_id takt_entropy_target(takt_graph *g, const takt_entropy *ce)
{
    const double smoothing = ce->smoothing;
    if (ce->log_p == TAKT_NONE || ce->labels == TAKT_NONE)
        return TAKT_NONE;
    const takt_type type = *takt_type_of(g, ce->log_p);
    takt_id target = ce->labels;
    if (!ce->is_soft) {
        /* One row of class numbers, counted from both ends, for all labels. */
        const takt_dtype dtype = takt_type_of(g, ce->labels)->dtype;
        const takt_named_attr numbers[] = {{"dtype", takt_attr_dtype(dtype)},
                                           {"shape", takt_attr_shape(&type.dim[type.rank - 1], 1)},
                                           {"axis", takt_attr_i64(-1)}};
        const takt_id index = takt_graph_call(g, &takt_op_iota, 0, NULL, 3, numbers);
        const takt_id count = takt_reduced_count(g, ce->labels, &ce->classes);
        const takt_id row = takt_unreduce(g, ce->labels, &ce->classes);
        const takt_id is_it = takt_binary(g, &takt_op_eq, index, row);
        const takt_id is_from_end = takt_binary(g, &takt_op_eq, takt_sub(g, index, count), row);
        target = takt_cast(g, takt_binary(g, &takt_op_or, is_it, is_from_end), type.dtype);
    }
    if (smoothing == 0)
        return target;
    const takt_id count = takt_reduced_count(g, ce->log_p, &ce->classes);
    const takt_id share = takt_div(g, takt_scalar_like(g, count, smoothing), count);
    return takt_add(g, takt_mul_scalar(g, target, 1 - smoothing), share);
}

/* log(sum of exp(x)) of one row. */
static double log_sum_exp(const double *x, size_t count)
{
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < count; i++)
        most = x[i] > most ? x[i] : most;
    for (size_t i = 0; i < count; i++)
        sum += exp(x[i] - most);
    return log(sum) + most;
}

static takt_status row_loss(takt_eval *e, size_t row, size_t classes, double *loss)
{
    const double *x = e->in[0].f + row * classes, smoothing = e->attr[TAKT_CE_SMOOTHING].f64;
    const double total = log_sum_exp(x, classes);
    int64_t label = -1;
    if (e->in[1].f == NULL) {
        const int64_t given = e->in[1].i[row], count = (int64_t)classes;
        label = given < 0 ? given + count : given;
        if (label < 0 || label >= count)
            return takt_fail(e->ctx, TAKT_E_INDEX,
                             "cross_entropy: label %zu is %lld, but there are %zu classes", row,
                             (long long)given, classes);
    }
    for (size_t c = 0; c < classes && !takt_eval_stops(e, 1); c++) {
        const double target =
            label >= 0 ? (double)((size_t)label == c) : e->in[1].f[row * classes + c];
        *loss -= (target * (1 - smoothing) + smoothing / (double)classes) * (x[c] - total);
    }
    return TAKT_OK;
}

takt_status takt_entropy_eval(takt_eval *e)
{
    const takt_array *x = &e->in[0], *labels = &e->in[1];
    const int64_t reduction = e->attr[TAKT_LOSS_REDUCTION].i64;
    const takt_attr *ignore = &e->attr[TAKT_CE_IGNORE];
    const size_t classes = (size_t)x->dim[x->rank - 1];
    const size_t rows = classes == 0 ? 0 : x->count / classes;
    double counted = 0, *out = e->out[0].f;
    for (size_t r = 0; r < rows && !takt_eval_stops(e, 1); r++) {
        if (ignore->is_set && labels->i[r] == ignore->i64)
            continue;
        TAKT_TRY(row_loss(e, r, classes, &out[reduction == TAKT_EACH ? r : 0]));
        counted++;
    }
    if (reduction == TAKT_MEAN)
        out[0] /= counted;
    return TAKT_OK;
}
