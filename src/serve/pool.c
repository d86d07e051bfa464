/* pool.c - texts whose caches come from one pool: a request begins when its worst case fits, so
 * that no text fails half-way. */
#include <stdio.h>

#include "serve/reader.h"

/* Tokens that a text may have in its cache besides its own: one that is written while the text
 * rests, and guesses. */
static size_t spare_tokens(const takt_server *s)
{
    const bool guesses = s->options.lookup || s->options.draft != NULL;
    return 1 + (guesses ? takt_speculate_room(s->slots[0].g, s->options.draft_max) : 0);
}

size_t takt_serve_text_limit(const takt_server *s)
{
    const size_t context = (size_t)s->slots[0].g->context, spare = spare_tokens(s);
    const takt_kv_layout *l = s->kv != NULL ? &s->kv->layout : NULL;
    if (l == NULL || l->blocks * l->tokens >= context)
        return context;
    return l->blocks * l->tokens > spare ? l->blocks * l->tokens - spare : 0;
}

void takt_serve_limit(takt_reader *r)
{
    takt_job *job = r->job;
    const takt_server *s = r->s;
    const size_t limit = takt_serve_text_limit(s), most = job->options.max_tokens;
    const bool is_short = limit < (size_t)s->slots[0].g->context;
    char what[160];
    if (is_short && (job->id_count >= limit || most > limit - job->id_count)) {
        (void)snprintf(what, sizeof what,
                       "%zu tokens of the prompt and %zu more; the pool of caches has room for %zu",
                       job->id_count, most > 0 ? most : 1, limit);
        (void)takt_reader_bad(r, job->id_count >= limit ? "prompt" : "max_tokens", what);
        return;
    }
    if (is_short && most == 0 && !job->is_mute)
        job->options.max_tokens = limit - job->id_count;
    const size_t rest = limit - job->id_count;
    const size_t more = job->is_mute ? 0 : most > 0 && most < rest ? most : rest;
    job->worst = job->id_count + more + spare_tokens(s);
}

bool takt_serve_fits(const takt_server *s, const takt_job *job)
{
    const bool writes = job->kind == TAKT_JOB_CHAT || job->kind == TAKT_JOB_TEXT;
    return s->kv == NULL || !writes || takt_kv_fits(s->kv, job->ids, job->id_count, job->worst);
}

void takt_serve_release(takt_server *s, takt_slot *slot)
{
    if (s->kv == NULL)
        return;
    if (takt_kv_release(slot->g) != TAKT_OK)
        slot->is_lost = true; /* the system cannot unmap them: the blocks stay */
    takt_serve_count_blocks(s);
}

void takt_serve_count_blocks(takt_server *s)
{
    if (s->kv == NULL)
        return;
    const takt_kv_blocks *b = &s->kv->blocks;
    const takt_serve_pages pages = {.used = b->live_count,
                                    .kept = b->count - b->free_count - b->live_count,
                                    .unused = b->free_count,
                                    .shared = b->shared_count,
                                    .texts = s->kv->kept_count};
    takt_lock_take(&s->lock);
    s->metrics.pages = pages;
    takt_lock_give(&s->lock);
}
