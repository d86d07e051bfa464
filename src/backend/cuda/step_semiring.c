/* step_semiring.c - products over semirings, of floats and of bits
 * (kernel/semiring_f32/semiring_f32_cuda.cu). */
#include "backend/cuda/step.h"
#include "op/util/semiring.h"

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    size_t count;
    if (n->op != &takt_op_semiring_matmul)
        return "";
    if (n->type->dtype != TAKT_F32 && n->type->dtype != TAKT_F64 && n->type->dtype != TAKT_U64)
        return "device code has semirings of f32, f64 and bits";
    for (uint32_t k = 0; k <= n->in_count; k++)
        if (!takt_type_count(k < n->in_count ? takt_type_of(g, n->in[k]) : n->type, &count) ||
            count == 0 || count >= INT32_MAX)
            return "there is nothing to multiply, or more than a device step counts";
    return NULL;
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    const takt_semiring_sizes z =
        takt_semiring_sizes_of(takt_type_of(p->graph, n->in[0]), takt_type_of(p->graph, n->in[1]));
    takt_cuda_semiring_args a = {.c = takt_cuda_out(0),
                                 .a = takt_cuda_in(0),
                                 .b = takt_cuda_in(1),
                                 .count = z.batch * z.m * z.n,
                                 .m = (uint32_t)z.m,
                                 .n = (uint32_t)z.n,
                                 .k = (uint32_t)z.k,
                                 .semiring = (uint32_t)n->attr[TAKT_SEMIRING].i64,
                                 .dtype = (uint32_t)n->type->dtype};
    takt_cuda_step *s;
    size_t index;
    TAKT_TRY(takt_cuda_step_get(p, 1, &s));
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    a.a = takt_cuda_in(index);
    TAKT_TRY(takt_planner_input(p, n->in[1], &index));
    a.b = takt_cuda_in(index);
    TAKT_TRY(takt_planner_output(p, id, &index));
    takt_cuda_launch_semiring(&a, &s->launches[0]);
    p->step->facts.work = TAKT_WORK_PRODUCT;
    return TAKT_OK;
}

const takt_cuda_kind takt_cuda_semiring_kind = {
    .name = "semiring", .accepts = accepts, .compile = compile};
