/* state.c - what the state has of a text: rows of caches, and how many of them count. */
#include <string.h>

#include "api/model.h"
#include "api/session/session.h"
#include "api/text/engine.h"
#include "plan/backend.h"

/* ---- kinds of state ---- */

/* How many tokens were read: one whole number. */
static bool is_count(const takt_type *t)
{
    int64_t elements = 1;
    for (int i = 0; i < t->rank; i++)
        elements *= t->dim[i];
    return t->dtype == TAKT_I64 && elements == 1;
}

/* A row for each token, [1, context, ...]. */
static bool is_cache(const takt_generator *g, const takt_type *t)
{
    int64_t before = 1;
    for (int i = 0; i + 2 < t->rank; i++)
        before *= t->dim[i];
    return t->rank >= 3 && before == 1 && t->dim[t->rank - 2] == g->context;
}

static takt_state_slot *slot_at(const takt_generator *g, size_t i)
{
    return g->engine.token->slots[i].shared;
}

static size_t slot_count(const takt_generator *g)
{
    return g->engine.token->plan->graph->slot_count;
}

bool takt_generator_rewinds(const takt_generator *g)
{
    size_t counts = 0;
    for (size_t i = 0; i < slot_count(g); i++) {
        const takt_type *t = &slot_at(g, i)->value.type;
        if (is_count(t))
            counts++;
        else if (!is_cache(g, t))
            return false;
    }
    return counts == 1;
}

/* ---- going back ---- */

/* Zeros in rows from `first` to `end`, as they were before anything was read into them. */
static takt_status clear_rows(const takt_generator *g, takt_state_slot *slot, int64_t first,
                              int64_t end)
{
    static const unsigned char zeros[4096];
    const size_t row = takt_tensor_bytes(&slot->value) / (size_t)g->context;
    unsigned char *at = (unsigned char *)takt_tensor_data(&slot->value) + row * (size_t)first;
    const takt_plan_space *p = &slot->place;
    slot->version++;
    for (size_t left = row * (size_t)(end - first), part; left > 0; left -= part, at += part) {
        part = p->backend == NULL || left < sizeof zeros ? left : sizeof zeros;
        if (p->backend == NULL)
            memset(at, 0, part);
        else
            TAKT_TRY(p->backend->device->copy(p->device, TAKT_COPY_UP, at, zeros, part));
    }
    return TAKT_OK;
}

takt_status takt_generator_rewind(takt_generator *g, int64_t position)
{
    const int64_t end = g->position + (int64_t)g->ahead;
    if (position == end)
        return TAKT_OK;
    if (!takt_generator_rewinds(g))
        return takt_fail(g->engine.ctx, TAKT_E_SPECULATION,
                         "the model cannot forget its last tokens");
    for (size_t i = 0; i < slot_count(g); i++) {
        takt_state_slot *slot = slot_at(g, i);
        TAKT_TRY(is_count(&slot->value.type) ? takt_slot_write(slot, &position)
                                             : clear_rows(g, slot, position, end));
    }
    if (g->position != position)
        g->scores = NULL;
    g->position = position;
    g->ahead = 0;
    return TAKT_OK;
}
