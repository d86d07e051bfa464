/* step_rand.c - random numbers by position (kernel/map/map_cuda_rand.cu). */
#include "backend/cuda/step.h"
#include "op/ops.h"

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    size_t count;
    if (n->op != &takt_op_rand)
        return "";
    return takt_type_count(n->type, &count) && count > 0 && count < UINT32_MAX
               ? NULL
               : "there is nothing to draw, or more than a device step counts";
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    takt_cuda_step *s;
    size_t index[3], count;
    TAKT_TRY(takt_cuda_step_get(p, 1, &s));
    for (uint32_t k = 0; k < 3; k++)
        TAKT_TRY(takt_planner_input(p, n->in[k], &index[k]));
    const takt_cuda_rand_args r = {.dst = takt_cuda_out(0),
                                   .seed = takt_cuda_in(index[0]),
                                   .step = takt_cuda_in(index[1]),
                                   .base = takt_cuda_in(index[2]),
                                   .count = takt_type_count(n->type, &count) ? count : 0,
                                   .dist = (uint32_t)takt_node_int(n, "dist"),
                                   .stream = (uint32_t)takt_node_int(n, "stream"),
                                   .dtype = (uint32_t)n->type->dtype};
    TAKT_TRY(takt_planner_output(p, id, &index[0]));
    takt_cuda_launch_rand(&r, &s->launches[0]);
    return TAKT_OK;
}

const takt_cuda_kind takt_cuda_rand_kind = {.name = "rand", .accepts = accepts, .compile = compile};
