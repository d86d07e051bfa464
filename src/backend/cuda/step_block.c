/* step_block.c - products with weights of 2, 4 or 8 bits that have a scale per block
 * (kernel/block_f32/block_f32_cuda.cu). The device holds the levels, not floats of them. */
#include "backend/cuda/step.h"
#include "op/util/block.h"

static bool keeps(const takt_graph *g, const takt_node *n)
{
    (void)g;
    return n->op == &takt_op_block_matmul && n->attr[TAKT_BLOCK_COMPUTE].i64 == TAKT_BLOCK_FLOAT;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    size_t count;
    if (n->op != &takt_op_block_matmul)
        return "";
    if (!keeps(g, n))
        return "device code multiplies such weights as floats only";
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE && (!takt_type_count(takt_type_of(g, n->in[k]), &count) ||
                                      count == 0 || count >= UINT32_MAX))
            return "there is nothing to multiply, or more than a device step counts";
    enum { MOST_BLOCKS = 65535 }; /* of y in a grid */
    const size_t most = (size_t)MOST_BLOCKS * TAKT_CUDA_BLOCK_ROWS;
    return takt_type_count(n->type, &count) && count > 0 && count < INT32_MAX &&
                   count / (size_t)n->type->dim[n->type->rank - 1] <= most
               ? NULL
               : "more elements than a device step counts";
}

/* Input `which`, if there is one. */
static takt_status add_input(takt_planner *p, const takt_node *n, size_t which, const void **to)
{
    const takt_id from = takt_block_input(n, which);
    size_t index;
    *to = NULL;
    if (from == TAKT_NONE)
        return TAKT_OK;
    TAKT_TRY(takt_planner_input(p, from, &index));
    *to = takt_cuda_in(index);
    return TAKT_OK;
}

static uint32_t zero_kind(const takt_graph *g, takt_id zero)
{
    if (zero == TAKT_NONE)
        return TAKT_CUDA_ZERO_NONE;
    const takt_type *t = takt_type_of(g, zero);
    return t->dtype == TAKT_F32 ? TAKT_CUDA_ZERO_FLOATS
           : t->rank == 0       ? TAKT_CUDA_ZERO_ONE
                                : TAKT_CUDA_ZERO_LEVELS;
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    const takt_type *b = takt_type_of(p->graph, n->in[TAKT_BLOCK_B]);
    const uint32_t block = (uint32_t)n->attr[TAKT_BLOCK_SIZE].i64;
    takt_cuda_block_args g = {
        .c = takt_cuda_out(0),
        .n = (uint32_t)b->dim[0],
        .k = (uint32_t)b->dim[1],
        .block = block,
        .blocks = ((uint32_t)b->dim[1] + block - 1) / block,
        .bits = (uint32_t)takt_dtype_bits(b->dtype),
        .is_signed = takt_dtype_is_signed(b->dtype),
        .is_half = takt_type_of(p->graph, n->in[TAKT_BLOCK_SCALE])->dtype == TAKT_F16,
        .zero_kind = zero_kind(p->graph, takt_block_input(n, TAKT_BLOCK_ZERO))};
    const void *a, *levels, *bias;
    takt_cuda_step *s;
    size_t index, count = 0;
    (void)takt_type_count(n->type, &count);
    g.m = (uint32_t)(count / g.n);
    TAKT_TRY(takt_cuda_step_get(p, 1, &s));
    TAKT_TRY(add_input(p, n, TAKT_BLOCK_A, &a));
    TAKT_TRY(add_input(p, n, TAKT_BLOCK_B, &levels));
    TAKT_TRY(add_input(p, n, TAKT_BLOCK_SCALE, &g.scale));
    TAKT_TRY(add_input(p, n, TAKT_BLOCK_ZERO, &g.zero));
    TAKT_TRY(add_input(p, n, TAKT_BLOCK_BIAS, &bias));
    g.a = a;
    g.levels = levels;
    g.bias = bias;
    TAKT_TRY(takt_planner_output(p, id, &index));
    takt_cuda_launch_block(&g, &s->launches[0]);
    p->step->facts.work = TAKT_WORK_PRODUCT;
    return TAKT_OK;
}

const takt_cuda_kind takt_cuda_block_kind = {
    .name = "block", .accepts = accepts, .keeps = keeps, .compile = compile};
