/* arg.c - shared by argmax and argmin. */
#include "op/util/arg.h"

#include "ir/infer.h"
#include "op/util/formula.h"
#include "op/util/stops.h"
#include "op/util/walk.h"

takt_status takt_arg_infer(takt_infer *in)
{
    const takt_type *x = in->type[0];
    int axis;
    if (!takt_axis(in, in->attr[TAKT_ARG_AXIS].i64, x->rank, &axis))
        return TAKT_ERR_ARGUMENT;
    if (x->dim[axis] == 0)
        return takt_infer_fail(in, TAKT_E_SHAPE, "axis %d is empty: there is nothing to find",
                               axis);
    takt_type *out = &in->out[0];
    *out = (takt_type){.dtype = TAKT_I64};
    for (int i = 0; i < x->rank; i++)
        if (i != axis)
            out->dim[out->rank++] = x->dim[i];
        else if (in->attr[TAKT_ARG_KEEP].boolean)
            out->dim[out->rank++] = 1;
    return TAKT_OK;
}

void takt_arg_cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    takt_cost_of_input(g, n, 1, cost);
}

takt_status takt_arg_eval(takt_eval *e, bool (*f_wins)(double x, double best),
                          bool (*i_wins)(takt_dtype dtype, int64_t x, int64_t best))
{
    const takt_array *x = &e->in[0];
    const bool last = e->attr[TAKT_ARG_LAST].boolean;
    const takt_rows rows = takt_rows_of(x, e->attr[TAKT_ARG_AXIS].i64);
    for (size_t r = 0; r < rows.outer * rows.inner && !takt_eval_stops(e, rows.size); r++) {
        const size_t start = r / rows.inner * rows.size * rows.inner + r % rows.inner;
        size_t best = 0;
        for (size_t k = 1; k < rows.size; k++) {
            const size_t at = start + k * rows.inner, old = start + best * rows.inner;
            const bool wins =
                x->f != NULL ? f_wins(x->f[at], x->f[old]) : i_wins(x->dtype, x->i[at], x->i[old]);
            /* Neither wins: they are equal. */
            const bool loses =
                x->f != NULL ? f_wins(x->f[old], x->f[at]) : i_wins(x->dtype, x->i[old], x->i[at]);
            if (wins || (last && !loses))
                best = k;
        }
        e->out[0].i[r] = (int64_t)best;
    }
    return TAKT_OK;
}
