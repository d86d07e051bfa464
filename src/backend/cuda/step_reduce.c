/* step_reduce.c - sums, extremes and the like over neighbouring axes. */
#include "backend/cuda/step.h"
#include "kernel/reduce/reduce.h"
#include "op/ops.h"

takt_reduce_op takt_cuda_reduce_op(const takt_node *n)
{
    const bool is_last = takt_node_attr(n, "last") != NULL && takt_node_int(n, "last") != 0;
    if (n->op == &takt_op_reduce_sum)
        return TAKT_REDUCE_SUM;
    if (n->op == &takt_op_reduce_sum_square)
        return TAKT_REDUCE_SUMSQ;
    if (n->op == &takt_op_reduce_max)
        return TAKT_REDUCE_MAX;
    if (n->op == &takt_op_reduce_min)
        return TAKT_REDUCE_MIN;
    if (n->op == &takt_op_reduce_prod)
        return TAKT_REDUCE_PROD;
    if (n->op == &takt_op_argmax)
        return is_last ? TAKT_REDUCE_ARGMAX_LAST : TAKT_REDUCE_ARGMAX;
    if (n->op == &takt_op_argmin)
        return is_last ? TAKT_REDUCE_ARGMIN_LAST : TAKT_REDUCE_ARGMIN;
    return TAKT_REDUCE_OP_COUNT;
}

void takt_cuda_reduced_axes(const takt_node *n, int rank, bool *is_reduced)
{
    const takt_attr *axes = takt_node_attr(n, "axes"), *axis = takt_node_attr(n, "axis");
    for (int d = 0; d < rank; d++)
        is_reduced[d] = axes != NULL && axes->count == 0;
    for (uint32_t i = 0; axes != NULL && i < axes->count; i++)
        is_reduced[axes->i64s[i] < 0 ? axes->i64s[i] + rank : axes->i64s[i]] = true;
    if (axes == NULL && axis != NULL)
        is_reduced[axis->i64 < 0 ? axis->i64 + rank : axis->i64] = true;
}

/* x as [outer, n, inner]; false if reduced axes are not adjacent, or x is empty. */
static bool split(const takt_node *n, const takt_type *x, uint64_t *outer, uint64_t *size,
                  uint64_t *inner)
{
    bool is_reduced[TAKT_MAX_RANK] = {0}, before = true, inside = false;
    int runs = 0;
    *outer = *size = *inner = 1;
    takt_cuda_reduced_axes(n, x->rank, is_reduced);
    for (int d = 0; d < x->rank; d++) {
        if (x->dim[d] == 0)
            return false;
        if (x->dim[d] == 1)
            continue;
        runs += is_reduced[d] && !inside;
        inside = is_reduced[d];
        before = before && !inside;
        *(inside ? size : before ? outer : inner) *= (uint64_t)x->dim[d];
    }
    return runs <= 1;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    uint64_t outer, size, inner;
    if (takt_cuda_reduce_op(n) == TAKT_REDUCE_OP_COUNT)
        return "";
    const takt_type *x = takt_type_of(g, n->in[0]);
    const bool is_arg = takt_cuda_reduce_op(n) >= TAKT_REDUCE_ARGMAX;
    if (x->dtype != TAKT_F32 || n->type->dtype != (is_arg ? TAKT_I64 : TAKT_F32))
        return "device code for reductions computes f32 only";
    return split(n, x, &outer, &size, &inner)
               ? NULL
               : "device code reduces axes that are neighbours, of some elements";
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    const takt_cuda_block_room has = takt_cuda_room(p);
    takt_cuda_step *s;
    size_t index;
    uint64_t outer, size, inner;
    TAKT_TRY(takt_cuda_step_get(p, TAKT_CUDA_LAUNCHES, &s));
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(takt_planner_output(p, id, &index));
    (void)split(n, takt_type_of(p->graph, n->in[0]), &outer, &size, &inner);
    const takt_cuda_reduce r = {.dst = takt_cuda_out(0),
                                .src = takt_cuda_in(0),
                                .count = outer * inner,
                                .across = 1,
                                .n = size,
                                .run = size,
                                .step = inner,
                                .inner = inner,
                                .outer_stride = size * inner,
                                .op = takt_cuda_reduce_op(n)};
    p->step->scratch_bytes = takt_cuda_reduce_scratch(&r, &has);
    s->count = takt_cuda_launch_reduce(&r, &has, takt_cuda_named(TAKT_CUDA_SCRATCH, 0),
                                       takt_cuda_named(TAKT_CUDA_TICKETS, 0), s->launches);
    return TAKT_OK;
}

const takt_cuda_kind takt_cuda_reduce_kind = {
    .name = "reduce", .accepts = accepts, .compile = compile};
