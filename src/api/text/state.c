/* state.c - the state of a text: rows of caches, and how many of them are valid. */
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
static bool is_cache(const takt_type *t, int64_t context)
{
    int64_t before = 1;
    for (int i = 0; i + 2 < t->rank; i++)
        before *= t->dim[i];
    return t->rank >= 3 && before == 1 && t->dim[t->rank - 2] == context;
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
        else if (!is_cache(t, g->context))
            return false;
    }
    return counts == 1;
}

bool takt_engine_rewinds(const takt_engine *e)
{
    const takt_graph *g = e->model->graph;
    const int64_t context = takt_engine_context(e);
    size_t counts = 0;
    for (size_t i = 0; i < g->slot_count; i++) {
        const takt_type *t = &g->slots[i].type;
        if (g->slots[i].next == TAKT_NONE)
            continue;
        if (is_count(t))
            counts++;
        else if (!is_cache(t, context))
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

/* The end of what was written: a text that rested while others were read has one token more in its
 * caches. */
static int64_t written_end(const takt_generator *g)
{
    const int64_t end = g->position + (int64_t)g->ahead;
    return end < g->context ? end + 1 : end;
}

takt_status takt_generator_rewind(takt_generator *g, int64_t position)
{
    TAKT_NEED(NULL, g);
    if (position < 0 || position > g->position)
        return takt_fail(g->engine.ctx, TAKT_E_ARGUMENT,
                         "takt_generator_rewind: %lld of %lld tokens", (long long)position,
                         (long long)g->position);
    const int64_t end = g->position + (int64_t)g->ahead;
    if (position == end)
        return TAKT_OK;
    if (!takt_generator_rewinds(g))
        return takt_fail(g->engine.ctx, TAKT_E_SPECULATION,
                         "the model cannot forget its last tokens");
    if (g->engine.kv != NULL)
        TAKT_TRY(takt_kv_own(g, position));
    for (size_t i = 0; i < slot_count(g); i++) {
        takt_state_slot *slot = slot_at(g, i);
        TAKT_TRY(is_count(&slot->value.type) ? takt_slot_write(slot, &position)
                                             : clear_rows(g, slot, position, written_end(g)));
    }
    if (g->position != position)
        g->scores = NULL;
    g->has_unread = g->has_unread && g->position == position;
    g->position = position;
    g->ahead = 0;
    return TAKT_OK;
}

takt_status takt_generator_place(takt_generator *g, const int32_t *ids, size_t count)
{
    const int64_t position = (int64_t)count;
    for (size_t i = 0; i < slot_count(g); i++)
        if (is_count(&slot_at(g, i)->value.type))
            TAKT_TRY(takt_slot_write(slot_at(g, i), &position));
    if (count > 0 && ids != g->history)
        memcpy(g->history, ids, count * sizeof *ids);
    g->position = position;
    g->has_unread = false;
    g->ahead = 0;
    g->scores = NULL;
    return TAKT_OK;
}

/* ---- texts that begin alike ---- */

size_t takt_generator_common(const takt_generator *g, const int32_t *ids, size_t count)
{
    size_t same = 0;
    while (same < count && same < (size_t)g->position && g->history[same] == ids[same])
        same++;
    return same;
}

takt_status takt_generator_reuse(takt_generator *g, const int32_t *ids, size_t count, size_t *kept)
{
    TAKT_TRY(takt_generator_settle(g));
    const size_t same = takt_generator_common(g, ids, count > 0 ? count - 1 : 0);
    *kept = g->engine.has_encoder ? 0 /* what was read last is the decoder's */
            : same == (size_t)g->position || takt_generator_rewinds(g) ? same
                                                                       : 0;
    if (*kept == 0)
        takt_generator_reset(g);
    else if (*kept < (size_t)g->position)
        TAKT_TRY(takt_generator_rewind(g, (int64_t)*kept));
    return TAKT_OK;
}

bool takt_generator_adopt(takt_generator *to, const takt_generator *from, size_t count)
{
    const int64_t end = written_end(to);
    if (!takt_generator_rewinds(to))
        return false;
    for (size_t i = 0; i < slot_count(to); i++)
        if (slot_at(to, i)->place.backend != NULL || slot_at(from, i)->place.backend != NULL)
            return false;
    const int64_t position = (int64_t)count;
    for (size_t i = 0; i < slot_count(to); i++) {
        takt_state_slot *slot = slot_at(to, i);
        const void *value = takt_tensor_data(&slot_at(from, i)->value);
        slot->version++;
        if (is_count(&slot->value.type))
            memcpy(takt_tensor_data(&slot->value), &position, sizeof position);
        else
            memcpy(takt_tensor_data(&slot->value), value,
                   takt_generator_state_bytes(to, i, position));
        if (!is_count(&slot->value.type) && end > position && /* on the host it cannot fail */
            clear_rows(to, slot, position, end) != TAKT_OK)
            return false;
    }
    memcpy(to->history, from->history, count * sizeof *to->history);
    to->position = position;
    to->has_unread = false;
    to->ahead = 0;
    to->scores = NULL;
    return true;
}

/* ---- values one by one ---- */

size_t takt_generator_state_bytes(const takt_generator *g, size_t i, int64_t tokens)
{
    const takt_tensor *value = &slot_at(g, i)->value;
    const size_t bytes = takt_tensor_bytes(value);
    return is_cache(&value->type, g->context) ? bytes / (size_t)g->context * (size_t)tokens : bytes;
}

takt_status takt_generator_state_read(const takt_generator *g, size_t i, void *to, size_t bytes)
{
    const takt_state_slot *slot = slot_at(g, i);
    const takt_plan_space *p = &slot->place;
    const void *from = takt_tensor_data(&slot->value);
    if (bytes > 0 && p->backend != NULL)
        return p->backend->device->copy(p->device, TAKT_COPY_DOWN, to, from, bytes);
    if (bytes > 0)
        memcpy(to, from, bytes);
    return TAKT_OK;
}

takt_status takt_generator_state_write(takt_generator *g, size_t i, int64_t first,
                                       const uint8_t *from, size_t bytes)
{
    takt_state_slot *slot = slot_at(g, i);
    const takt_plan_space *p = &slot->place;
    const size_t at =
        is_cache(&slot->value.type, g->context) ? takt_generator_state_bytes(g, i, first) : 0;
    unsigned char *to = (unsigned char *)takt_tensor_data(&slot->value) + at;
    from += at;
    bytes -= at;
    slot->version++;
    if (bytes > 0 && p->backend != NULL)
        return p->backend->device->copy(p->device, TAKT_COPY_UP, to, from, bytes);
    if (bytes > 0)
        memcpy(to, from, bytes);
    return TAKT_OK;
}

bool takt_generator_state_fits(const takt_generator *g, size_t i, const void *value, int64_t tokens)
{
    const takt_type *t = &slot_at(g, i)->value.type;
    return !is_count(t) || memcmp(value, &tokens, sizeof tokens) == 0;
}
