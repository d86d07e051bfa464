/* reduce.c - inference, evaluation and building of reductions. */
#include "op/util/reduce.h"

#include "ir/infer.h"
#include "op/util/formula.h"
#include "op/util/stops.h"
#include "op/util/walk.h"

takt_status takt_reduce_infer(takt_infer *in)
{
    const takt_type *x = in->type[0];
    const takt_attr *axes = &in->attr[TAKT_REDUCE_AXES];
    bool is_axis[TAKT_MAX_RANK];
    TAKT_TRY(takt_infer_axes(in, axes, x->rank, is_axis));
    takt_type *out = &in->out[0];
    *out = (takt_type){.dtype = x->dtype};
    for (int i = 0; i < x->rank; i++)
        if (axes->count > 0 && !is_axis[i])
            out->dim[out->rank++] = x->dim[i];
        else if (in->attr[TAKT_REDUCE_KEEP].boolean)
            out->dim[out->rank++] = 1;
    return TAKT_OK;
}

void takt_reduce_cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    takt_cost_of_input(g, n, 1, cost);
}

static void fold_floats(const takt_fold *fold, const takt_array *x, takt_array *out,
                        takt_walk *walk)
{
    for (size_t i = 0; i < out->count; i++)
        out->f[i] = fold->start;
    for (size_t i = 0; i < x->count; i++, takt_walk_next(walk))
        out->f[walk->at] = fold->f(out->f[walk->at], x->f[i]);
    const double count = out->count == 0 ? 0 : (double)(x->count / out->count);
    for (size_t i = 0; i < out->count && fold->finish != NULL; i++)
        out->f[i] = fold->finish(out->f[i], count);
}

takt_status takt_fold_eval(takt_eval *e, const takt_fold *fold)
{
    const takt_array *x = &e->in[0];
    takt_array *out = &e->out[0];
    bool is_axis[TAKT_MAX_RANK];
    takt_walk walk;
    takt_walk_axes(&e->attr[TAKT_REDUCE_AXES], x->rank, is_axis);
    takt_walk_reduce(&walk, x, is_axis);
    if (x->f != NULL) {
        fold_floats(fold, x, out, &walk);
        return TAKT_OK;
    }
    for (size_t i = 0; i < out->count && !takt_eval_stops(e, 1); i++)
        out->i[i] = out->dtype == TAKT_BOOL ? fold->start > 0 /* -inf is false here */
                                            : takt_dtype_from_double(out->dtype, fold->start);
    for (size_t i = 0; i < x->count && !takt_eval_stops(e, 1); i++, takt_walk_next(&walk))
        out->i[walk.at] = fold->i(x->dtype, out->i[walk.at], x->i[i]);
    return TAKT_OK;
}

takt_reduction takt_reduction_of(const takt_node *n)
{
    const takt_attr *axes = &n->attr[TAKT_REDUCE_AXES];
    return (takt_reduction){n->in[0], axes->i64s, axes->count, n->attr[TAKT_REDUCE_KEEP].boolean};
}

takt_id takt_reduce_by(takt_graph *g, const takt_op *op, takt_id x, const takt_reduction *r)
{
    return takt_reduce_over(g, op, x, r->axes, r->count, r->keep);
}

static void flags(const takt_reduction *r, int rank, bool is_axis[static TAKT_MAX_RANK])
{
    const takt_attr axes = {.i64s = r->axes, .count = (uint32_t)r->count};
    takt_walk_axes(&axes, rank, is_axis);
}

takt_id takt_unreduce(takt_graph *g, takt_id y, const takt_reduction *r)
{
    if (y == TAKT_NONE)
        return TAKT_NONE;
    takt_type type = *takt_type_of(g, r->x);
    bool is_axis[TAKT_MAX_RANK];
    flags(r, type.rank, is_axis);
    for (int i = 0; i < type.rank; i++)
        if (is_axis[i])
            type.dim[i] = 1;
    return takt_reshape(g, y, type.dim, (size_t)type.rank);
}

takt_id takt_reduced_count(takt_graph *g, takt_id like, const takt_reduction *r)
{
    if (like == TAKT_NONE)
        return TAKT_NONE;
    const takt_type *type = takt_type_of(g, r->x);
    const takt_dtype dtype = takt_type_of(g, like)->dtype;
    bool is_axis[TAKT_MAX_RANK];
    flags(r, type->rank, is_axis);
    double known = 1;
    takt_id named = TAKT_NONE;
    for (int i = 0; i < type->rank; i++) {
        if (!is_axis[i])
            continue;
        if (takt_dim_is_number(type->dim[i])) {
            known *= (double)type->dim[i];
            continue;
        }
        const takt_named_attr axis = {"axis", takt_attr_i64(i)};
        const takt_id size = takt_graph_call(g, &takt_op_dim, 1, &r->x, 1, &axis);
        named = named == TAKT_NONE ? size : takt_mul(g, named, size);
    }
    if (named == TAKT_NONE)
        return takt_scalar_like(g, like, known);
    if (known != 1)
        named = takt_mul(g, named, takt_scalar_i64(g, (int64_t)known));
    return takt_cast(g, named, dtype);
}

takt_id takt_mean(takt_graph *g, const takt_reduction *r)
{
    if (r->x == TAKT_NONE)
        return TAKT_NONE;
    const takt_dtype dtype = takt_type_of(g, r->x)->dtype;
    const takt_id sum = takt_reduce_by(g, &takt_op_reduce_sum, takt_widen(g, r->x), r);
    return takt_cast(g, takt_div(g, sum, takt_reduced_count(g, sum, r)), dtype);
}

void takt_reduce_best_grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_reduction r = takt_reduction_of(takt_node_at(g, id));
    const takt_id is_best = takt_binary(g, &takt_op_eq, r.x, takt_unreduce(g, id, &r));
    const takt_id marks = takt_cast(g, is_best, takt_type_of(g, r.x)->dtype);
    const takt_id ties = takt_unreduce(g, takt_reduce_by(g, &takt_op_reduce_sum, marks, &r), &r);
    const takt_id share = takt_div(g, takt_unreduce(g, dy[0], &r), ties);
    dx[0] = takt_keep_where(g, is_best, share);
}
