/* reshape.c - sessions out of sessions: a twin, and the same one for other sizes. */
#include <stddef.h>
#include <string.h>

#include "api/session/session.h"

takt_status takt_session_clone(const takt_session *from, takt_session **clone)
{
    const takt_session_options options = {.pool = from->owns_pool ? NULL : from->pool,
                                          .huge_pages = from->wants_pages,
                                          .static_shapes = from->static_shapes};
    TAKT_TRY(takt_session_create(from->plan, &options, clone));
    for (size_t i = 0; i < from->plan->graph->slot_count; i++)
        memcpy(takt_tensor_data(&(*clone)->state[i]), takt_tensor_data(&from->state[i]),
               takt_tensor_bytes(&from->state[i]));
    return TAKT_OK;
}

/* The slot of the new plan that continues slot `i` of the old one. */
static takt_status match(const takt_session *s, const takt_plan *plan, size_t i, size_t *found)
{
    const takt_slot *old = &s->plan->graph->slots[i];
    const takt_slot *slot = takt_graph_find_slot(plan->graph, old->name);
    if (slot == NULL)
        return takt_fail(s->ctx, TAKT_E_RESHAPE, "the model has no state called %s", old->name);
    *found = (size_t)(slot - plan->graph->slots);
    if (takt_type_same(plan->graph->dims, &slot->type, &old->type))
        return TAKT_OK;
    char was[TAKT_TYPE_TEXT], is[TAKT_TYPE_TEXT];
    return takt_fail(s->ctx, TAKT_E_RESHAPE, "state %s is %s and would be %s", old->name,
                     takt_type_text(s->plan->graph->dims, &old->type, was),
                     takt_type_text(plan->graph->dims, &slot->type, is));
}

static takt_status copy_state(const takt_session *s, takt_session *fresh)
{
    for (size_t i = 0; i < s->plan->graph->slot_count; i++) {
        size_t k = 0;
        TAKT_TRY(match(s, fresh->plan, i, &k));
        memcpy(takt_tensor_data(&fresh->state[k]), takt_tensor_data(&s->state[i]),
               takt_tensor_bytes(&s->state[i]));
    }
    return TAKT_OK;
}

/* What the two hold changes places; the session stays where it is, and its error with it. */
static void swap(takt_session *a, takt_session *b)
{
    enum {
        FIRST = offsetof(takt_session, plan),
        BYTES = offsetof(takt_session, static_shapes) - FIRST
    };
    unsigned char held[BYTES];
    memcpy(held, (unsigned char *)a + FIRST, BYTES);
    memcpy((unsigned char *)a + FIRST, (unsigned char *)b + FIRST, BYTES);
    memcpy((unsigned char *)b + FIRST, held, BYTES);
}

static takt_status reshape(takt_session *s, const takt_model *model, const char *sizes)
{
    takt_plan_options options = {0};
    if (s->plan->options != NULL)
        options = *s->plan->options;
    takt_plan *plan;
    options.sizes = sizes;
    options.static_shapes = s->static_shapes;
    TAKT_TRY(takt_plan_get(model, &options, &plan));
    /* A pool of the session's own serves the new plan too: it has the same number of threads. */
    const takt_session_options own = {.pool = s->pool,
                                      .arena = s->arena_given > 0 ? s->arena : NULL,
                                      .arena_bytes = s->arena_given,
                                      .huge_pages = s->wants_pages,
                                      .static_shapes = s->static_shapes};
    takt_session *fresh;
    takt_status status = takt_session_create(plan, &own, &fresh);
    takt_plan_destroy(plan);
    if (status == TAKT_OK)
        status = copy_state(s, fresh);
    if (status == TAKT_OK) {
        swap(s, fresh);
        takt_session_destroy(s->checker); /* of the old sizes */
        s->checker = NULL;
        if (fresh->owns_pool) {
            s->owns_pool = true;
            fresh->owns_pool = false;
        }
    }
    takt_session_destroy(fresh);
    return status;
}

takt_status takt_session_reshape(takt_session *s, const takt_model *model, const char *sizes)
{
    const takt_status status = reshape(s, model, sizes);
    if (status != TAKT_OK)
        s->error = s->ctx->error;
    return status;
}
