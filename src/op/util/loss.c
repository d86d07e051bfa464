/* loss.c - losses that compare two tensors element by element and then reduce. */
#include "op/util/loss.h"

#include "ir/infer.h"
#include "op/util/formula.h"
#include "op/util/reduce.h"
#include "op/util/stops.h"

const char *const takt_reduction_names[] = {
    [TAKT_MEAN] = "mean", [TAKT_SUM] = "sum", [TAKT_EACH] = "none", NULL};

takt_status takt_loss_infer(takt_infer *in)
{
    TAKT_TRY(takt_infer_same_shape(in, 0, 1));
    in->out[0] = *in->type[0];
    if (in->attr[TAKT_LOSS_REDUCTION].i64 != TAKT_EACH)
        in->out[0] = (takt_type){.dtype = in->type[0]->dtype};
    return TAKT_OK;
}

takt_status takt_loss_eval(takt_eval *e, double (*f)(const takt_attr *attr, double x, double t))
{
    const takt_array *x = &e->in[0], *t = &e->in[1];
    const int64_t reduction = e->attr[TAKT_LOSS_REDUCTION].i64;
    double *out = e->out[0].f;
    for (size_t i = 0; i < x->count && !takt_eval_stops(e, 1); i++)
        out[reduction == TAKT_EACH ? i : 0] += f(e->attr, x->f[i], t->f[i]);
    if (reduction == TAKT_MEAN)
        out[0] /= (double)x->count;
    return TAKT_OK;
}

void takt_loss_cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    takt_cost_of_input(g, n, 4, cost);
}

takt_pair takt_loss_pair(takt_graph *g, const takt_node *n)
{
    const takt_id *in = n->in;
    return (takt_pair){takt_widen(g, in[0]), takt_widen(g, in[1])};
}

takt_id takt_loss_finish(takt_graph *g, const takt_node *n, takt_id each)
{
    const int64_t reduction = n->attr[TAKT_LOSS_REDUCTION].i64;
    const takt_dtype dtype = n->type[0].dtype;
    const takt_reduction all = {.x = each};
    if (reduction == TAKT_MEAN)
        each = takt_mean(g, &all);
    else if (reduction == TAKT_SUM)
        each = takt_reduce_by(g, &takt_op_reduce_sum, each, &all);
    return takt_cast(g, each, dtype);
}

takt_id takt_loss_grad(takt_graph *g, const takt_node *n, takt_id dy, takt_id slope)
{
    const bool is_mean = n->attr[TAKT_LOSS_REDUCTION].i64 == TAKT_MEAN;
    const takt_dtype dtype = n->type[0].dtype;
    const takt_reduction all = {.x = n->in[0]};
    dy = takt_widen(g, dy);
    if (is_mean)
        dy = takt_div(g, dy, takt_reduced_count(g, dy, &all));
    return takt_cast(g, takt_mul(g, slope, dy), dtype);
}
