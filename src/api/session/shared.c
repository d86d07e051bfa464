/* shared.c - the memory of a session's state, which other sessions may share. */
#include <string.h>

#include "api/session/session.h"
#include "base/mem.h"
#include "base/size.h"
#include "ir/storage.h"
#include "plan/backend.h"

static size_t aligned(size_t bytes)
{
    return takt_round_up(bytes, TAKT_ALIGN);
}

static size_t shared_bytes(size_t slots)
{
    return sizeof(takt_shared_state) + slots * sizeof(takt_state_slot);
}

size_t takt_session_state_overhead(const takt_plan *plan)
{
    const size_t slots = plan->graph->slot_count;
    size_t bytes = slots > 0 ? shared_bytes(slots) + takt_session_form_bytes(plan) : 0;
    for (size_t i = 0; slots > 0 && i < plan->space_count; i++)
        bytes += i == TAKT_HOST || plan->space[i].state > 0 ? takt_storage_overhead() : 0;
    return bytes;
}

/* ---- one slot ---- */

takt_status takt_slot_read(const takt_state_slot *slot, void *to)
{
    const size_t bytes = takt_tensor_bytes(&slot->value);
    const void *from = takt_tensor_data(&slot->value);
    const takt_plan_space *p = &slot->place;
    if (bytes > 0 && p->backend != NULL)
        return p->backend->device->copy(p->device, TAKT_COPY_DOWN, to, from, bytes);
    if (bytes > 0)
        memcpy(to, from, bytes);
    return TAKT_OK;
}

takt_status takt_slot_write(takt_state_slot *slot, const void *from)
{
    const size_t bytes = takt_tensor_bytes(&slot->value);
    void *to = takt_tensor_data(&slot->value);
    const takt_plan_space *p = &slot->place;
    slot->version++;
    if (bytes > 0 && p->backend != NULL)
        return p->backend->device->copy(p->device, TAKT_COPY_UP, to, from, bytes);
    if (bytes > 0)
        memcpy(to, from, bytes);
    return TAKT_OK;
}

takt_status takt_session_look(const takt_session *s, size_t slot, takt_tensor *value)
{
    const takt_state_slot *from = s->slots[slot].shared;
    *value = from->value;
    if (from->place.backend == NULL) {
        takt_storage_retain(value->storage);
        return TAKT_OK;
    }
    TAKT_TRY(takt_tensor_create(s->ctx, &from->value.type, value));
    const takt_status status = takt_slot_read(from, takt_tensor_data(value));
    if (status != TAKT_OK)
        takt_tensor_release(value);
    return status;
}

/* ---- first values ---- */

/* A zero in device memory, which can only be copied to. */
static takt_status clear_away(takt_state_slot *slot)
{
    static const unsigned char zeros[4096];
    const takt_plan_space *p = &slot->place;
    const size_t bytes = takt_tensor_bytes(&slot->value);
    for (size_t at = 0, part; at < bytes; at += part) {
        part = bytes - at < sizeof zeros ? bytes - at : sizeof zeros;
        TAKT_TRY(p->backend->device->copy(
            p->device, TAKT_COPY_UP, (char *)takt_tensor_data(&slot->value) + at, zeros, part));
    }
    return TAKT_OK;
}

static takt_status clear(takt_state_slot *slot)
{
    slot->version++;
    if (slot->place.backend != NULL)
        return clear_away(slot);
    memset(takt_tensor_data(&slot->value), 0, takt_tensor_bytes(&slot->value));
    return TAKT_OK;
}

static takt_status reset_slot(const takt_session *s, size_t i)
{
    takt_state_slot *slot = s->slots[i].shared;
    const takt_tensor *from = &s->plan->initial[i];
    return from->storage != NULL ? takt_slot_write(slot, takt_tensor_data(from)) : clear(slot);
}

static takt_status reset_all(takt_session *s)
{
    for (size_t i = 0; i < s->plan->graph->slot_count; i++)
        TAKT_TRY(reset_slot(s, i));
    if (s->shared != NULL)
        s->shared->is_lost = false;
    return TAKT_OK;
}

/* ---- a session's own ---- */

static takt_storage *given_to(takt_given_state given, size_t slot)
{
    return given.slots != NULL ? given.slots[slot] : NULL;
}

static takt_status make_storages(takt_session *s, takt_given_state given, takt_supply *supplies)
{
    const takt_plan *plan = s->plan;
    size_t bytes = plan->state_bytes;
    for (size_t i = 0; i < plan->graph->slot_count; i++) {
        const takt_tensor like = {.type = plan->graph->slots[i].type};
        bytes -= given_to(given, i) != NULL ? aligned(takt_tensor_bytes(&like)) : 0;
    }
    TAKT_TRY(takt_storage_create(s->ctx, bytes, &supplies[TAKT_HOST].storage));
    memset(takt_storage_data(supplies[TAKT_HOST].storage), 0, bytes);
    for (size_t i = 1; i < plan->space_count; i++)
        if (plan->space[i].state > 0)
            TAKT_TRY(takt_space_storage(s->ctx, &plan->space[i], "state", plan->space[i].state,
                                        &supplies[i].storage));
    return TAKT_OK;
}

static void make_slots(takt_session *s, takt_given_state given, takt_supply *supplies)
{
    const takt_plan *plan = s->plan;
    for (size_t i = 0; i < plan->graph->slot_count; i++) {
        takt_state_slot *slot = &s->shared->slots[i];
        const takt_space space = plan->slots[i].space;
        /* State of no bytes has no memory of its own there. */
        takt_supply one = {given_to(given, i), 0};
        takt_supply *from = one.storage != NULL
                                ? &one
                                : &supplies[supplies[space].storage != NULL ? space : TAKT_HOST];
        *slot = (takt_state_slot){.version = 1};
        slot->value = (takt_tensor){.type = plan->graph->slots[i].type,
                                    .storage = takt_storage_retain(from->storage),
                                    .offset = from->offset};
        if (space != TAKT_HOST)
            slot->place = plan->space[space];
        from->offset += aligned(takt_tensor_bytes(&slot->value));
        s->slots[i].shared = slot;
        s->state[i] = slot->value;
        takt_storage_retain(from->storage);
    }
}

static takt_status make_shared(takt_session *s)
{
    const size_t slots = s->plan->graph->slot_count;
    void *shared;
    TAKT_TRY(takt_mem_zero(s->ctx, 1, shared_bytes(slots), "session", &shared));
    s->shared = shared;
    s->shared->references = 1;
    s->shared->slot_count = slots;
    return TAKT_OK;
}

takt_status takt_session_get_given(takt_session *s, takt_given_state given)
{
    takt_supply supplies[TAKT_SPACES] = {{NULL, 0}};
    TAKT_TRY(make_shared(s));
    takt_status status = make_storages(s, given, supplies);
    if (status == TAKT_OK) {
        make_slots(s, given, supplies);
        status = takt_session_get_forms(s, &supplies[TAKT_HOST]);
    }
    for (size_t i = 0; i < TAKT_SPACES; i++)
        takt_storage_release(supplies[i].storage);
    for (size_t i = 0; i < s->plan->graph->slot_count && status == TAKT_OK; i++)
        status = given_to(given, i) == NULL ? reset_slot(s, i) : TAKT_OK;
    return status;
}

/* ---- another session's ---- */

/* The plan reads and writes a copy in memory of its own kind. */
static takt_status make_mirror(takt_session *s, size_t i)
{
    const takt_plan_space *wanted = &s->plan->space[s->plan->slots[i].space];
    const takt_state_slot *slot = s->slots[i].shared;
    const size_t bytes = takt_tensor_bytes(&slot->value);
    s->slots[i].is_mirror = true;
    s->state[i] = (takt_tensor){.type = slot->value.type};
    if (wanted->backend == NULL)
        return takt_storage_create(s->ctx, bytes, &s->state[i].storage);
    if (slot->place.backend == NULL)
        return takt_space_storage(s->ctx, wanted, "state", bytes, &s->state[i].storage);
    takt_fail(s->ctx, TAKT_E_ARGUMENT, "state_of: state %s lies in the memory of another device",
              s->plan->graph->slots[i].name);
    return takt_fail_hint(s->ctx, "sessions that share a state use one device, or the host");
}

static takt_status use_slot(takt_session *s, size_t i, takt_state_slot *shared)
{
    const takt_plan_slot *own = &s->plan->slots[i];
    s->slots[i].shared = shared;
    /* Memory that is part of another block cannot be exchanged. */
    if (s->plan->space[own->space].device != shared->place.device ||
        (shared->is_part && (own->is_swapped || own->from != UINT32_MAX)))
        return make_mirror(s, i);
    s->state[i] = shared->value;
    takt_storage_retain(shared->value.storage);
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
    takt_state_slot *shared = of->slots[other - of->plan->graph->slots].shared;
    const takt_tensor *from = &shared->value;
    char want[TAKT_TYPE_TEXT], got[TAKT_TYPE_TEXT];
    if (!takt_type_same(s->plan->graph->dims, &slot->type, &from->type))
        return takt_fail(s->ctx, TAKT_E_ARGUMENT, "state_of: state %s is %s, that session has %s",
                         slot->name, takt_type_text(s->plan->graph->dims, &slot->type, want),
                         takt_type_text(of->plan->graph->dims, &from->type, got));
    return use_slot(s, i, shared);
}

takt_status takt_session_get_state(takt_session *s, const takt_session *of)
{
    if (s->plan->graph->slot_count == 0)
        return TAKT_OK;
    if (of == NULL)
        return takt_session_get_given(s, (takt_given_state){NULL});
    if (of->ctx != s->ctx)
        return takt_fail(s->ctx, TAKT_E_ARGUMENT, "state_of: a session of another context");
    if (of->shared == NULL) /* its plan has no states */
        return share_slot(s, of, 0);
    takt_status status = TAKT_OK;
    takt_shared_lock(of->shared); /* a run of `of` may end meanwhile, and exchange values */
    for (size_t i = 0; i < s->plan->graph->slot_count && status == TAKT_OK; i++)
        status = share_slot(s, of, i);
    const uint64_t swaps = of->shared->swaps;
    takt_shared_unlock(of->shared);
    TAKT_TRY(status);
    takt_supply none = {NULL, 0};
    s->shared = of->shared;
    s->swaps = swaps;
    atomic_fetch_add(&s->shared->references, 1);
    return takt_session_get_forms(s, &none);
}

/* ---- part of another state ---- */

static bool has_rows(const takt_type *whole, const takt_type *part, size_t row)
{
    bool is_same = whole->dtype == part->dtype && whole->rank == part->rank && part->rank > 0 &&
                   part->dim[0] <= whole->dim[0] && row <= (size_t)(whole->dim[0] - part->dim[0]);
    for (int d = 1; is_same && d < part->rank; d++)
        is_same = whole->dim[d] == part->dim[d];
    return is_same;
}

static takt_status take_part(takt_session *s, const takt_session *of, size_t i, size_t row)
{
    const takt_slot *slot = &s->plan->graph->slots[i];
    const takt_slot *other = takt_graph_find_slot(of->plan->graph, slot->name);
    const takt_state_slot *from =
        other != NULL ? of->slots[other - of->plan->graph->slots].shared : NULL;
    if (from == NULL || from->place.backend != NULL ||
        !has_rows(&from->value.type, &slot->type, row))
        return takt_fail(s->ctx, TAKT_E_ARGUMENT,
                         "state %s is not rows of what the other session has", slot->name);
    const size_t rows = (size_t)from->value.type.dim[0];
    takt_state_slot *own = &s->shared->slots[i];
    *own = (takt_state_slot){.version = 1, .is_part = true};
    own->value =
        (takt_tensor){.type = slot->type,
                      .storage = takt_storage_retain(from->value.storage),
                      .offset = from->value.offset + takt_tensor_bytes(&from->value) / rows * row};
    return use_slot(s, i, own);
}

takt_status takt_session_get_part(takt_session *s, const takt_session *of, size_t row)
{
    takt_supply none = {NULL, 0};
    if (s->plan->graph->slot_count == 0)
        return TAKT_OK;
    TAKT_TRY(make_shared(s));
    for (size_t i = 0; i < s->plan->graph->slot_count; i++)
        TAKT_TRY(take_part(s, of, i, row));
    return takt_session_get_forms(s, &none);
}

/* A session sees the new addresses, as after an exchange of two values. */
void takt_session_move_part(takt_session *s, size_t from, size_t to)
{
    for (size_t i = 0; from != to && i < s->plan->graph->slot_count; i++) {
        takt_tensor *value = &s->slots[i].shared->value;
        const size_t row = takt_tensor_bytes(value) / (size_t)value->type.dim[0];
        value->offset = value->offset - row * from + row * to;
    }
    s->shared->swaps += from != to;
}

void takt_session_put_state(takt_session *s)
{
    for (size_t i = 0; s->tables != NULL && i < s->plan->graph->slot_count; i++) {
        takt_tensor_release(&s->state[i]);
        takt_tensor_release(&s->slots[i].spare);
    }
    if (s->shared != NULL && atomic_fetch_sub(&s->shared->references, 1) == 1) {
        for (size_t i = 0; i < s->shared->slot_count; i++) {
            takt_slot_put_forms(s->ctx, &s->shared->slots[i]);
            takt_tensor_release(&s->shared->slots[i].value);
            takt_tensor_release(&s->shared->slots[i].spare);
        }
        takt_mem_put(s->ctx, s->shared, shared_bytes(s->shared->slot_count));
    }
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

/* ---- all slots ---- */

size_t takt_session_state_bytes(const takt_session *s)
{
    size_t bytes = 0;
    for (size_t i = 0; i < s->plan->graph->slot_count; i++)
        bytes += aligned(takt_tensor_bytes(&s->state[i]));
    return bytes;
}

takt_status takt_session_save_state(const takt_session *s, unsigned char *to)
{
    for (size_t i = 0; i < s->plan->graph->slot_count; i++) {
        TAKT_TRY(takt_slot_read(s->slots[i].shared, to));
        to += aligned(takt_tensor_bytes(&s->state[i]));
    }
    return TAKT_OK;
}

takt_status takt_session_restore_state(takt_session *s, const unsigned char *from)
{
    for (size_t i = 0; i < s->plan->graph->slot_count; i++) {
        TAKT_TRY(takt_slot_write(s->slots[i].shared, from));
        from += aligned(takt_tensor_bytes(&s->state[i]));
    }
    if (s->shared != NULL)
        s->shared->is_lost = false;
    return TAKT_OK;
}

void takt_session_clear(const takt_session *s, size_t slot)
{
    (void)clear(s->slots[slot].shared);
}

void takt_session_reset(takt_session *s)
{
    if (s == NULL)
        return;
    if (reset_all(s) != TAKT_OK)
        takt_error_copy(s->ctx, &s->error);
}

takt_status takt_session_has_state(takt_session *s)
{
    if (s->shared == NULL || !s->shared->is_lost)
        return TAKT_OK;
    takt_error_set(&s->error, TAKT_E_STATE_LOST, "the state was lost when a device failed");
    return takt_error_hint(&s->error, "reset the session, or load its state from a file");
}
