/* step_rows.c - softmax and norms over the last axis. */
#include "backend/cuda/step.h"
#include "kernel/rows/rows.h"
#include "op/ops.h"

static takt_rows_op op_of(const takt_node *n)
{
    if (n->op == &takt_op_softmax)
        return TAKT_ROWS_SOFTMAX;
    if (n->op == &takt_op_log_softmax)
        return TAKT_ROWS_LOG_SOFTMAX;
    if (n->op == &takt_op_layer_norm)
        return TAKT_ROWS_LAYER_NORM;
    return n->op == &takt_op_rms_norm ? TAKT_ROWS_RMS_NORM : TAKT_ROWS_OP_COUNT;
}

static bool keeps(const takt_graph *g, const takt_node *n)
{
    const takt_type *t = n->type;
    const takt_attr *axis = takt_node_attr(n, "axis");
    if (op_of(n) == TAKT_ROWS_OP_COUNT || t->dtype != TAKT_F32 || t->rank == 0 || axis == NULL ||
        (axis->i64 != -1 && axis->i64 != t->rank - 1))
        return false;
    for (uint32_t k = 1; k < n->in_count; k++) {
        const takt_type *v = n->in[k] != TAKT_NONE ? takt_type_of(g, n->in[k]) : NULL;
        if (v != NULL && (v->rank != 1 || v->dim[0] != t->dim[t->rank - 1]))
            return false;
    }
    return true;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    size_t count;
    if (op_of(n) == TAKT_ROWS_OP_COUNT)
        return "";
    if (!keeps(g, n))
        return "device code for rows takes f32 and the last axis";
    return takt_type_count(n->type, &count) && count > 0 ? NULL : "there is nothing to compute";
}

static takt_status add_vector(takt_planner *p, const takt_node *n, uint32_t k, const float **data)
{
    size_t index;
    *data = NULL;
    if (k >= n->in_count || n->in[k] == TAKT_NONE)
        return TAKT_OK;
    TAKT_TRY(takt_planner_input(p, n->in[k], &index));
    *data = takt_cuda_in(index);
    return TAKT_OK;
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    const takt_attr *epsilon = takt_node_attr(n, "epsilon");
    const uint64_t columns = (uint64_t)n->type->dim[n->type->rank - 1];
    takt_cuda_step *s;
    size_t index, count;
    TAKT_TRY(takt_cuda_step_get(p, 1, &s));
    (void)takt_type_count(n->type, &count);
    takt_cuda_rows r = {.src = takt_cuda_in(0),
                        .dst = takt_cuda_out(0),
                        .rows = count / columns,
                        .n = columns,
                        .src_stride = columns,
                        .dst_stride = columns,
                        .op = op_of(n),
                        .epsilon = epsilon != NULL ? (float)epsilon->f64 : 0};
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(add_vector(p, n, 1, &r.gamma));
    TAKT_TRY(add_vector(p, n, 2, &r.beta));
    TAKT_TRY(takt_planner_output_over(p, id, 0, &index));
    const takt_cuda_block_room has = takt_cuda_room(p);
    takt_cuda_launch_rows(&r, &has, &s->launches[0]);
    return TAKT_OK;
}

const takt_cuda_kind takt_cuda_rows_kind = {
    .name = "rows", .accepts = accepts, .keeps = keeps, .compile = compile};
