/* bodies.c - the bases of plans of subgraphs, made once for all sizes. */
#include "plan/bodies.h"

#include "base/mem.h"
#include "pass/pass.h"
#include "plan/repeat.h"

takt_plan_settings takt_child_settings(const takt_plan_settings *parent)
{
    takt_plan_settings s = *parent;
    s.is_body = true;
    s.memory_limit = 0; /* its arena counts in the parent's */
    s.donated = NULL;
    s.rooms = NULL;
    s.basis = NULL; /* its constants are of nodes of the parent's graph, too */
    s.consumes = false;
    s.remat_count = s.single_count = 0; /* those are nodes of the parent's graph */
    if (s.backend->device != NULL)      /* bodies run inside a step of the host */
        s.backend = s.fallback;
    return s;
}

takt_status takt_child_prepare(takt_ctx *ctx, const takt_plan_settings *s, const takt_graph *from,
                               takt_graph **out)
{
    const takt_pipeline_options pipeline = {.choice.off = s->passes_off},
                                again = {.choice.off = s->passes_off, .is_lowered = true};
    takt_graph *first = NULL, *lowered = NULL, *last = NULL;
    *out = NULL;
    takt_status status = takt_pipeline_run(ctx, from, &pipeline, &first);
    if (status == TAKT_OK)
        status = takt_graph_lower(first, takt_plan_keeps, (void *)(uintptr_t)s, &lowered);
    if (status == TAKT_OK)
        status = takt_pipeline_run(ctx, lowered, &again, &last);
    takt_graph_destroy(first);
    takt_graph_destroy(lowered);
    if (status != TAKT_OK || s->precision == TAKT_F32) {
        *out = last;
        return status;
    }
    status = takt_graph_narrow(last, s->precision, NULL, out);
    takt_graph_destroy(last);
    return status;
}

/* ---- the subgraphs of a basis ---- */

static takt_status add(takt_basis *b, takt_id id)
{
    const takt_node *n = &b->template->graph->nodes[id];
    for (uint32_t k = 0; k < takt_op_attr_count(n->op); k++) {
        if (!n->attr[k].is_set || n->op->attrs[k].type != TAKT_ATTR_GRAPH)
            continue;
        void *bodies = b->bodies;
        const takt_status status =
            takt_mem_grow(b->ctx, &bodies, &b->body_capacity, b->body_count + 1, sizeof *b->bodies);
        b->bodies = bodies;
        TAKT_TRY(status);
        b->bodies[b->body_count++] = (takt_body){.node = id, .attr = k};
    }
    return TAKT_OK;
}

takt_status takt_bodies_create(takt_basis *b)
{
    for (size_t i = 0; i < b->template->outer_count; i++)
        TAKT_TRY(add(b, b->template->outer[i]));
    return TAKT_OK;
}

void takt_bodies_destroy(takt_basis *b)
{
    for (size_t i = 0; i < b->body_count; i++)
        takt_basis_release(b->bodies[i].basis);
    takt_mem_put(b->ctx, b->bodies, b->body_capacity * sizeof *b->bodies);
    b->bodies = NULL;
    b->body_count = b->body_capacity = 0;
}

static takt_status make(takt_ctx *ctx, const takt_plan_settings *settings, const takt_graph *from,
                        takt_basis **basis)
{
    const takt_plan_settings s = takt_child_settings(settings);
    const takt_error before = ctx->error;
    takt_graph *g;
    *basis = NULL;
    takt_status status = takt_child_prepare(ctx, &s, from, &g);
    if (status == TAKT_OK)
        status = takt_basis_create(g, "", basis);
    if (status == TAKT_OK)
        (*basis)->is_body = takt_repeat_finds(g);
    takt_graph_destroy(g);
    if (status == TAKT_OK || status == TAKT_ERR_MEMORY || status == TAKT_ERR_LIMIT)
        return status;
    ctx->error = before; /* substitute numbers for passes that need them */
    return TAKT_OK;
}

takt_status takt_bodies_get(const takt_planner *p, const takt_graph *g, takt_basis **basis)
{
    const takt_basis *b = p->settings->basis;
    const takt_id node = p->group->nodes[0];
    *basis = NULL;
    if (b == NULL || b->template == NULL || p->settings->sizes == NULL)
        return TAKT_OK;
    for (size_t i = 0; i < b->body_count; i++) {
        takt_body *body = &b->bodies[i];
        if (body->node != node || p->graph->nodes[node].attr[body->attr].graph != g)
            continue;
        *basis = takt_basis_peek(p->ctx, &body->basis);
        if (*basis != NULL)
            return TAKT_OK;
        TAKT_TRY(make(p->ctx, p->settings, b->template->graph->nodes[node].attr[body->attr].graph,
                      basis));
        if (*basis != NULL)
            *basis = takt_basis_publish(&body->basis, *basis);
        return TAKT_OK;
    }
    return TAKT_OK;
}
