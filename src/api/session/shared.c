/* shared.c - the memory of a session's state, which other sessions may share. */
#include <string.h>

#include "api/session/session.h"
#include "base/mem.h"
#include "ir/storage.h"

static size_t aligned(size_t bytes)
{
    return (bytes + TAKT_ALIGN - 1) & ~(size_t)(TAKT_ALIGN - 1);
}

static takt_status make_own(takt_session *s)
{
    const takt_graph *g = s->plan->graph;
    takt_storage *storage;
    size_t offset = 0, bytes;
    void *shared;
    TAKT_TRY(takt_mem_zero(s->ctx, 1, sizeof *s->shared, "session", &shared));
    s->shared = shared;
    s->shared->references = 1;
    TAKT_TRY(takt_storage_create(s->ctx, s->plan->state_bytes, &storage));
    memset(takt_storage_data(storage), 0, s->plan->state_bytes);
    for (size_t i = 0; i < g->slot_count; i++) {
        s->state[i] = (takt_tensor){
            .type = g->slots[i].type, .storage = takt_storage_retain(storage), .offset = offset};
        if (takt_type_bytes(&g->slots[i].type, &bytes))
            offset += aligned(bytes);
    }
    takt_storage_release(storage);
    takt_session_reset(s);
    return TAKT_OK;
}

/* Slot `i` is the one of the same name that `of` has. */
static takt_status share_slot(takt_session *s, const takt_session *of, size_t i)
{
    const takt_slot *slot = &s->plan->graph->slots[i];
    const takt_slot *other = takt_graph_find_slot(of->plan->graph, slot->name);
    if (other == NULL)
        return takt_fail(s->ctx, TAKT_E_ARGUMENT, "state_of: that session has no state called %s",
                         slot->name);
    const takt_tensor *from = &of->state[other - of->plan->graph->slots];
    char want[TAKT_TYPE_TEXT], got[TAKT_TYPE_TEXT];
    if (!takt_type_same(s->plan->graph->dims, &slot->type, &from->type))
        return takt_fail(s->ctx, TAKT_E_ARGUMENT, "state_of: state %s is %s, that session has %s",
                         slot->name, takt_type_text(s->plan->graph->dims, &slot->type, want),
                         takt_type_text(of->plan->graph->dims, &from->type, got));
    s->state[i] = *from;
    takt_storage_retain(from->storage);
    return TAKT_OK;
}

takt_status takt_session_get_state(takt_session *s, const takt_session *of)
{
    if (s->plan->graph->slot_count == 0)
        return TAKT_OK;
    if (of == NULL)
        return make_own(s);
    if (of->ctx != s->ctx)
        return takt_fail(s->ctx, TAKT_E_ARGUMENT, "state_of: a session of another context");
    for (size_t i = 0; i < s->plan->graph->slot_count; i++)
        TAKT_TRY(share_slot(s, of, i));
    s->shared = of->shared;
    atomic_fetch_add(&s->shared->references, 1);
    return TAKT_OK;
}

void takt_session_put_state(takt_session *s)
{
    for (size_t i = 0; s->tables != NULL && i < s->plan->graph->slot_count; i++)
        takt_tensor_release(&s->state[i]);
    if (s->shared != NULL && atomic_fetch_sub(&s->shared->references, 1) == 1)
        takt_mem_put(s->ctx, s->shared, sizeof *s->shared);
    s->shared = NULL;
}

bool takt_session_enter(takt_session *s)
{
    return s->shared == NULL || !atomic_exchange(&s->shared->is_busy, true);
}

void takt_session_leave(takt_session *s)
{
    if (s->shared != NULL)
        atomic_store(&s->shared->is_busy, false);
}

/* Copies every slot from or to its place in a block. */
static void copy_all(const takt_session *s, unsigned char *block, bool is_save)
{
    for (size_t i = 0, at = 0; i < s->plan->graph->slot_count; i++) {
        const size_t bytes = takt_tensor_bytes(&s->state[i]);
        void *data = takt_tensor_data(&s->state[i]);
        memcpy(is_save ? block + at : data, is_save ? data : block + at, bytes);
        at += aligned(bytes);
    }
}

void takt_session_save_state(const takt_session *s, unsigned char *to)
{
    copy_all(s, to, true);
}

void takt_session_restore_state(takt_session *s, const unsigned char *from)
{
    copy_all(s, (unsigned char *)(uintptr_t)from, false);
}

void takt_session_reset(takt_session *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->plan->graph->slot_count; i++) {
        const takt_tensor *from = &s->plan->initial[i];
        void *to = takt_tensor_data(&s->state[i]);
        if (from->storage != NULL)
            memcpy(to, takt_tensor_data(from), takt_tensor_bytes(from));
        else
            memset(to, 0, takt_tensor_bytes(&s->state[i]));
    }
}
