/* step_ggml.c - weights in ggml's blocks: products, rows of tables, floats
 * (kernel/ggml_f32/ggml_f32_cuda.cu). The device holds the blocks in the file's format. */
#include "backend/cuda/step.h"
#include "op/util/ggml.h"

static bool is_ggml(const takt_op *op)
{
    return op == &takt_op_ggml_matmul || op == &takt_op_ggml_rows || op == &takt_op_ggml_dequantize;
}

static bool keeps(const takt_graph *g, const takt_node *n)
{
    (void)g;
    return is_ggml(n->op);
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    size_t count;
    if (!is_ggml(n->op))
        return "";
    if (n->type->dtype != TAKT_F32)
        return "device code makes f32 of blocks only";
    for (uint32_t k = 0; k < n->in_count; k++)
        if (!takt_type_count(takt_type_of(g, n->in[k]), &count) || count == 0)
            return "an input has no elements";
    return takt_type_count(n->type, &count) && count > 0 && count < INT32_MAX
               ? NULL
               : "more elements than a device step counts";
}

static takt_status compile_product(takt_planner *p, const takt_node *n)
{
    const takt_type *a = takt_type_of(p->graph, n->in[0]), *b = takt_type_of(p->graph, n->in[1]);
    const takt_ggml_info *info = &takt_ggml_formats[takt_ggml_of(n)];
    takt_cuda_step *s;
    size_t index, count, taken;
    (void)takt_type_count(n->type, &count);
    takt_cuda_ggml g = {.c = takt_cuda_out(0),
                        .a = takt_cuda_in(0),
                        .b = takt_cuda_in(1),
                        .n = (uint32_t)b->dim[0],
                        .k = (uint32_t)a->dim[a->rank - 1],
                        .format = (uint32_t)takt_ggml_of(n),
                        .weights = info->weights,
                        .bytes = info->bytes};
    g.m = (uint32_t)(count / g.n);
    TAKT_TRY(takt_cuda_step_get(p, TAKT_CUDA_LAUNCHES, &s));
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(takt_planner_input(p, n->in[1], &index));
    TAKT_TRY(takt_cuda_epilogue_of(p, g.n, &g.end, &taken));
    takt_cuda_launch_ggml(&g, &s->launches[0]);
    p->step->facts.work = TAKT_WORK_PRODUCT;
    s->count = 1;
    if (taken + 1 == p->group->count)
        return takt_planner_output(p, p->group->nodes[taken], &index);
    s->count = 2;
    return takt_cuda_map_after(p, taken + 1, &s->launches[1]);
}

static takt_status compile_rows(takt_planner *p, const takt_node *n)
{
    const takt_type *table = takt_type_of(p->graph, n->in[0]);
    const takt_ggml_info *info = &takt_ggml_formats[takt_ggml_of(n)];
    takt_cuda_step *s;
    size_t index, count;
    (void)takt_type_count(n->type, &count);
    TAKT_TRY(takt_cuda_step_get(p, 1, &s));
    for (uint32_t k = 0; k < n->in_count; k++)
        TAKT_TRY(takt_planner_input(p, n->in[k], &index));
    TAKT_TRY(takt_planner_output(p, p->group->nodes[0], &index));
    takt_cuda_ggml_rows g = {.dst = takt_cuda_out(0),
                             .src = takt_cuda_in(0),
                             .count = count,
                             .n = (uint64_t)table->dim[0],
                             .width = (uint64_t)n->type->dim[n->type->rank - 1],
                             .format = (uint32_t)takt_ggml_of(n),
                             .weights = info->weights,
                             .bytes = info->bytes};
    if (n->op == &takt_op_ggml_rows) {
        g.index = takt_cuda_in(1);
        g.is_narrow = p->step->in[1].dtype == TAKT_I32;
        g.fault = takt_cuda_named(TAKT_CUDA_FAULT, 0);
        s->index_in = 1;
        p->step->can_fault = true;
        p->step->fault_id = TAKT_E_INDEX;
    }
    p->step->facts.work = TAKT_WORK_MOVE;
    takt_cuda_launch_ggml_rows(&g, &s->launches[0]);
    return TAKT_OK;
}

static takt_status compile(takt_planner *p)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    return n->op == &takt_op_ggml_matmul ? compile_product(p, n) : compile_rows(p, n);
}

static const char *absorbs(const takt_graph *g, takt_id anchor, takt_id node)
{
    return g->nodes[anchor].op == &takt_op_ggml_matmul ? takt_cuda_absorbs(g, anchor, node)
                                                       : "it is not a product";
}

const takt_cuda_kind takt_cuda_ggml_kind = {
    .name = "ggml", .accepts = accepts, .keeps = keeps, .absorbs = absorbs, .compile = compile};
