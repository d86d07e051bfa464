/* prefix.c - shared prompt prefixes are read once: a slot continues from its own cache, or copies
 * that of another. Caches are copied row by row, so the text is the same as if all had been
 * read. */
#include "serve/serve.h"

/* Waiting for another slot costs a step, so not for a prefix of fewer tokens than this. */
enum { WORTH = 16 };

/* All but the last token, whose scores are needed. */
static size_t most_of(const takt_job *job)
{
    return job->id_count > 0 ? job->id_count - 1 : 0;
}

static size_t has_of(const takt_slot *slot, const takt_job *job)
{
    return takt_generator_common(slot->g, job->ids, most_of(job));
}

/* The slot that has read most of the prompt, whether free or not. */
static takt_slot *best_slot(takt_server *s, const takt_job *job, size_t *count)
{
    takt_slot *best = NULL;
    *count = 0;
    for (size_t i = 0; i < s->slot_count; i++) {
        const size_t has = has_of(&s->slots[i], job);
        if (has > *count) {
            *count = has;
            best = &s->slots[i];
        }
    }
    return best;
}

/* A free slot: one whose text the prompt continues; else an empty one, with the lowest index,
 * because a batched run computes every row up to the last active one; else the least recently
 * used. */
takt_slot *takt_serve_slot(takt_server *s, const takt_job *job)
{
    takt_slot *found = NULL;
    for (size_t i = 0; i < s->slot_count; i++) {
        takt_slot *slot = &s->slots[i];
        const size_t has = (size_t)slot->g->position;
        if (slot->job != NULL || slot->is_lost)
            continue;
        if (job != NULL && has > 0 && has_of(slot, job) == has)
            return slot;
        if (found == NULL || (found->g->position > 0 && (has == 0 || slot->used < found->used)))
            found = slot;
    }
    return found;
}

takt_status takt_serve_begin_prompt(takt_server *s, takt_slot *slot)
{
    const takt_job *job = slot->job;
    size_t count;
    const takt_slot *best = best_slot(s, job, &count);
    slot->used = ++s->slot_uses;
    TAKT_TRY(takt_writing_tokens(&slot->w, job->ids, job->id_count));
    if (s->kv != NULL)
        TAKT_TRY(takt_kv_admit(slot->g, job->ids, job->id_count, job->worst));
    else if (best != NULL && best != slot && count > has_of(slot, job))
        (void)takt_generator_adopt(slot->g, best->g, count);
    return takt_writing_reuse(&slot->w);
}

/* Length of the common prefix of two prompts. */
static size_t common(const takt_job *a, const takt_job *b)
{
    const size_t most = most_of(b);
    size_t same = 0;
    while (same < most && same < a->id_count && a->ids[same] == b->ids[same])
        same++;
    return same;
}

static bool is_reading(const takt_slot *slot)
{
    return slot->job != NULL && !slot->w.is_over && slot->w.prompt_read < slot->w.prompt_count;
}

/* Whether a slot that came before is about to read the tokens that this one needs. The first of all
 * waits for none. */
static bool is_led(const takt_server *s, const takt_slot *slot)
{
    const size_t has = slot->w.prompt_read;
    for (const takt_slot *other = s->slots; other != s->slots + s->slot_count; other++) {
        if (!is_reading(other) || other->used >= slot->used || other->w.prompt_read > has)
            continue;
        const size_t same = common(other->job, slot->job);
        if (same > has && same >= WORTH)
            return true;
    }
    return false;
}

/* Takes over the part of the prompt that another slot has read; `*count`: tokens that this one then
 * has. */
static takt_status adopt(takt_server *s, takt_slot *slot, size_t *count)
{
    const takt_job *job = slot->job;
    if (s->kv != NULL)
        return takt_kv_adopt(slot->g, job->ids, job->id_count, count);
    const takt_slot *best = best_slot(s, job, count);
    if (best == NULL || best == slot || *count <= slot->w.prompt_read ||
        !takt_generator_adopt(slot->g, best->g, *count))
        *count = slot->w.prompt_read;
    return TAKT_OK;
}

const takt_slot *takt_serve_reader(const takt_server *s)
{
    const takt_slot *reader = NULL;
    bool writes = false;
    for (size_t i = 0; i < s->slot_count; i++) {
        const takt_slot *slot = &s->slots[i];
        if (!is_reading(slot))
            writes = writes || (slot->job != NULL && !slot->w.is_over);
        else if ((reader == NULL || slot->used < reader->used) && !is_led(s, slot))
            reader = slot;
    }
    return writes ? reader : NULL;
}

takt_status takt_serve_waits(takt_server *s, takt_slot *slot, bool *waits)
{
    size_t count;
    *waits = false;
    if (!is_reading(slot) || s->slot_count < 2 || !takt_generator_rewinds(slot->g))
        return TAKT_OK;
    TAKT_TRY(adopt(s, slot, &count));
    if (count > slot->w.prompt_read) {
        slot->w.result.cached_tokens += count - slot->w.prompt_read;
        slot->w.prompt_read = count;
    }
    *waits = is_led(s, slot);
    return TAKT_OK;
}
