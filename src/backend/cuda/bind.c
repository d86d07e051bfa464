/* bind.c - buffers of the caller's: recorded graphs get other addresses. */
#include "backend/cuda/part.h"
#include "backend/cuda/session.h"
#include "backend/cuda/step.h"

static bool uses(const takt_step *s, uint32_t buffer)
{
    for (size_t k = 0; k < s->in_count; k++)
        if (s->in[k].buffer == buffer)
            return true;
    for (size_t k = 0; k < s->out_count; k++)
        if (s->out[k].buffer == buffer)
            return true;
    return false;
}

/* Launches step `index` with new addresses, in the existing graph. */
static int update(takt_cuda_part *p, const takt_cuda_graph *g, size_t index)
{
    const takt_step *s = &p->plan->steps[index];
    const takt_cuda_step *own = s->data;
    int result = TAKT_CU_OK;
    for (size_t k = 0; k < p->steps[index].count && result == TAKT_CU_OK; k++) {
        takt_cuda_call *c = &p->steps[index].calls[k];
        void *parameters[1];
        const uint32_t shared_bytes = c->launch.shared_bytes; /* which may be more than it needs */
        c->launch = own->launches[k];
        c->launch.shared_bytes = shared_bytes;
        takt_cuda_resolve(p, s, c);
        const takt_cu_kernel_node node = takt_cuda_node_of(c, parameters);
        if (g->exec != NULL)
            result = p->cuda->driver.exec_kernel(g->exec, c->node, &node);
    }
    return result;
}

/* `buffer` has moved. A graph whose copies change is rebuilt; others get new arguments. */
static int move_buffer(takt_cuda_part *p, takt_cuda_graph *g, uint32_t buffer, bool is_new)
{
    int result = TAKT_CU_OK;
    for (size_t i = g->first; i < g->end; i++)
        is_new = is_new || (takt_cuda_is_copied(p, i) && uses(&p->plan->steps[i], buffer));
    if (is_new || g->exec == NULL)
        takt_cuda_drop_graph(p, g);
    for (size_t i = g->first; i < g->end && result == TAKT_CU_OK; i++)
        if (p->steps[i].count > 0 && uses(&p->plan->steps[i], buffer))
            result = update(p, g, i);
    return g->exec == NULL && result == TAKT_CU_OK ? takt_cuda_build_graph(p, g) : result;
}

takt_status takt_cuda_session_bind(void *opened, size_t step, bool is_away)
{
    takt_cuda_part *p = opened;
    const takt_step *s = &p->plan->steps[step];
    takt_cuda_part_step *own = &p->steps[step];
    const uint32_t there = s->transfer.way == TAKT_COPY_UP ? s->out[0].buffer : s->in[0].buffer;
    const bool is_same =
        takt_cuda_place(&s->in[0], p->base) == takt_cuda_place(&s->out[0], p->base);
    const takt_cuda_side side = !is_away  ? TAKT_CUDA_HOST
                                : is_same ? TAKT_CUDA_SAME
                                          : TAKT_CUDA_AWAY;
    const bool is_new = side != own->side || side == TAKT_CUDA_AWAY;
    int result = TAKT_CU_OK;
    own->side = side;
    takt_cuda_enter(p->cuda);
    for (size_t i = 0; i < p->graph_count && result == TAKT_CU_OK; i++)
        result = move_buffer(p, &p->graphs[i], there,
                             is_new && step >= p->graphs[i].first && step < p->graphs[i].end);
    takt_cuda_leave(p->cuda);
    return takt_cuda_check(p->cuda, &p->ctx->error, result, "a graph");
}
