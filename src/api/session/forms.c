/* forms.c - the state before and after a run, and its packed forms.
 *
 * Packed forms of weights belong to the state. Every change of a value raises its version; a form
 * remembers the version that it was packed from, so a run packs only what others have changed. Runs
 * that change values pack them themselves, as their last steps.
 */
#include <string.h>

#include "api/session/session.h"
#include "base/mem.h"
#include "base/size.h"
#include "plan/backend.h"

static size_t record_bytes(const takt_state_form *f)
{
    return sizeof(takt_kept_form) + strlen(f->format) + 1;
}

size_t takt_session_form_bytes(const takt_plan *plan)
{
    size_t bytes = 0;
    for (size_t i = 0; i < plan->form_count; i++)
        bytes += record_bytes(&plan->forms[i]);
    return bytes;
}

void takt_slot_put_forms(takt_ctx *ctx, takt_state_slot *slot)
{
    for (takt_kept_form *f = slot->forms, *next; f != NULL; f = next) {
        next = f->next;
        takt_storage_release(f->storage);
        takt_mem_put(ctx, f, sizeof *f + strlen(f->format) + 1);
    }
    slot->forms = NULL;
}

/* ---- a session joins ---- */

static takt_status carve(takt_ctx *ctx, takt_supply *from, size_t bytes, takt_storage **storage,
                         size_t *offset)
{
    *offset = 0;
    if (from->storage == NULL)
        return takt_storage_create(ctx, bytes, storage);
    *storage = takt_storage_retain(from->storage);
    *offset = from->offset;
    from->offset += takt_round_up(bytes, TAKT_ALIGN);
    return TAKT_OK;
}

static takt_kept_form *find(const takt_state_slot *slot, const takt_state_form *like)
{
    for (takt_kept_form *f = slot->forms; f != NULL; f = f->next)
        if (f->run == like->pack.run && f->fill == like->fill && f->bytes == like->bytes &&
            f->isas == like->pack.isas && strcmp(f->format, like->format) == 0)
            return f;
    return NULL;
}

static takt_status keep(takt_session *s, takt_supply *from, const takt_state_form *like,
                        takt_kept_form **form)
{
    takt_state_slot *slot = s->slots[like->slot].shared;
    void *block;
    *form = find(slot, like);
    if (*form != NULL)
        return TAKT_OK;
    TAKT_TRY(takt_mem_zero(s->ctx, 1, record_bytes(like), "packed state", &block));
    takt_kept_form *made = block;
    *made = (takt_kept_form){
        .run = like->pack.run, .fill = like->fill, .isas = like->pack.isas, .bytes = like->bytes};
    const takt_status status = carve(s->ctx, from, like->bytes, &made->storage, &made->offset);
    if (status != TAKT_OK) {
        takt_mem_put(s->ctx, made, record_bytes(like));
        return status;
    }
    memcpy(made->format, like->format, strlen(like->format) + 1);
    made->next = slot->forms;
    slot->forms = made;
    *form = made;
    return TAKT_OK;
}

static takt_status get_all(takt_session *s, takt_supply *from)
{
    const takt_plan *plan = s->plan;
    for (size_t i = 0; i < plan->graph->slot_count; i++) {
        takt_state_slot *slot = s->slots[i].shared;
        takt_tensor *spare = s->slots[i].is_mirror ? &s->slots[i].spare : &slot->spare;
        if (!plan->slots[i].is_swapped || spare->storage != NULL)
            continue;
        takt_tensor made = {.type = slot->value.type};
        TAKT_TRY(carve(s->ctx, from, takt_tensor_bytes(&slot->value), &made.storage, &made.offset));
        *spare = made;
    }
    for (size_t i = 0; i < plan->form_count; i++)
        TAKT_TRY(keep(s, from, &plan->forms[i], &s->forms[i]));
    return TAKT_OK;
}

takt_status takt_session_get_forms(takt_session *s, takt_supply *from)
{
    takt_shared_lock(s->shared);
    const takt_status status = get_all(s, from);
    takt_shared_unlock(s->shared);
    return status;
}

/* ---- runs ---- */

static void set_bases(takt_session *s)
{
    const takt_plan *plan = s->plan;
    for (size_t i = 0; i < plan->state_buffer_count; i++) {
        const uint32_t at = plan->state_buffers[i];
        const takt_buffer *b = &plan->buffers[at];
        s->base[at] = takt_tensor_data(b->place == TAKT_PLACE_NEXT ? takt_session_spare(s, b->index)
                                                                   : &s->state[b->index]);
    }
}

void takt_session_see_state(takt_session *s)
{
    const takt_plan *plan = s->plan;
    if (s->shared == NULL || s->swaps == s->shared->swaps)
        return;
    for (size_t i = 0; i < plan->graph->slot_count; i++) {
        const takt_tensor *value = &s->slots[i].shared->value;
        if (s->slots[i].is_mirror)
            continue;
        takt_storage *before = s->state[i].storage;
        s->state[i].offset = value->offset;
        if (before == value->storage)
            continue;
        s->state[i].storage = takt_storage_retain(value->storage);
        takt_storage_release(before);
    }
    set_bases(s);
    s->swaps = s->shared->swaps;
}

/* Between the value and the session's copy of it in another memory. */
static takt_status move_mirror(takt_session *s, size_t i, bool is_in)
{
    takt_state_slot *slot = s->slots[i].shared;
    const takt_plan_space *p = &s->plan->space[s->plan->slots[i].space];
    void *own = takt_tensor_data(&s->state[i]), *value = takt_tensor_data(&slot->value);
    const size_t bytes = takt_tensor_bytes(&slot->value);
    if (bytes == 0)
        return TAKT_OK;
    if (p->backend == NULL)
        return is_in ? takt_slot_read(slot, own) : takt_slot_write(slot, own);
    slot->version += is_in ? 0 : 1;
    return p->backend->device->copy(p->device, is_in ? TAKT_COPY_UP : TAKT_COPY_DOWN,
                                    is_in ? own : value, is_in ? value : own, bytes);
}

takt_status takt_session_begin_state(takt_session *s, const takt_execution *x)
{
    const takt_plan *plan = s->plan;
    takt_session_see_state(s);
    for (size_t i = 0; i < plan->graph->slot_count; i++)
        if (s->slots[i].is_mirror &&
            (s->slots[i].shared->is_part || s->slots[i].version != s->slots[i].shared->version)) {
            TAKT_TRY(move_mirror(s, i, true));
            s->slots[i].version = s->slots[i].shared->version;
        }
    for (size_t i = 0; i < plan->form_count; i++) {
        const takt_state_form *form = &plan->forms[i];
        const uint64_t version = s->slots[form->slot].shared->version;
        if (s->forms[i]->version == version)
            continue;
        for (size_t k = 0; k < form->first_count; k++)
            takt_execute_first(x, &form->first[k]);
        takt_execute_first(x, &form->pack);
        s->forms[i]->version = version;
    }
    return TAKT_OK;
}

static void exchange(takt_tensor *a, takt_tensor *b)
{
    takt_storage *storage = a->storage; /* types are the same */
    const size_t offset = a->offset;
    a->storage = b->storage;
    a->offset = b->offset;
    b->storage = storage;
    b->offset = offset;
}

/* A slot that the run has changed. */
static takt_status end_slot(takt_session *s, size_t i)
{
    takt_session_slot *own = &s->slots[i];
    own->shared->version++;
    if (s->plan->slots[i].is_swapped) {
        takt_shared_lock(s->shared);
        exchange(own->is_mirror ? &s->state[i] : &own->shared->value,
                 own->is_mirror ? &own->spare : &own->shared->spare);
        s->shared->swaps++;
        takt_shared_unlock(s->shared);
    }
    if (!own->is_mirror)
        return TAKT_OK;
    TAKT_TRY(move_mirror(s, i, false));
    own->version = own->shared->version;
    return TAKT_OK;
}

static void exchange_bytes(const takt_tensor *a, const takt_tensor *b)
{
    unsigned char *x = takt_tensor_data(a), *y = takt_tensor_data(b), part[1024];
    const size_t bytes = takt_tensor_bytes(a);
    for (size_t i = 0; i < bytes; i += sizeof part) {
        const size_t n = bytes - i < sizeof part ? bytes - i : sizeof part;
        memcpy(part, x + i, n);
        memcpy(x + i, y + i, n);
        memcpy(y + i, part, n);
    }
}

/* Rotates the memory of a ring: each swap gives one more slot its value. If one of them is the
 * session's copy of memory that cannot be swapped, the bytes are swapped. */
static void rotate_ring(takt_session *s, uint32_t first)
{
    const takt_plan_slot *slots = s->plan->slots;
    bool has_mirror = s->slots[first].is_mirror;
    for (uint32_t at = slots[first].from; at != first; at = slots[at].from)
        has_mirror |= s->slots[at].is_mirror;
    for (uint32_t to = first, from; (from = slots[to].from) != first; to = from)
        if (has_mirror)
            exchange_bytes(&s->state[to], &s->state[from]);
        else
            exchange(&s->slots[to].shared->value, &s->slots[from].shared->value);
}

static void rotate_rings(takt_session *s)
{
    for (uint32_t i = 0; i < s->plan->graph->slot_count; i++) {
        if (!s->plan->slots[i].leads_ring)
            continue;
        takt_shared_lock(s->shared);
        rotate_ring(s, i);
        s->shared->swaps++;
        takt_shared_unlock(s->shared);
    }
}

takt_status takt_session_end_state(takt_session *s)
{
    const takt_plan *plan = s->plan;
    rotate_rings(s);
    for (size_t i = 0; i < plan->graph->slot_count; i++)
        if (plan->slots[i].is_changed)
            TAKT_TRY(end_slot(s, i));
    for (size_t i = 0; i < plan->form_count; i++)
        if (plan->slots[plan->forms[i].slot].is_changed)
            s->forms[i]->version = s->slots[plan->forms[i].slot].shared->version;
    takt_session_see_state(s);
    return TAKT_OK;
}
