/* guess.c - speculation: guesses by a draft model or by look-up. A single text reads several
 * guesses in one run; several texts are batched instead, which also reads the weights once. So one
 * draft with one cache serves all slots: it follows whichever text is alone. If texts cannot be
 * batched, each slot has a copy with a cache of its own. */
#include "serve/serve.h"

bool takt_serve_guesses(const takt_server *s)
{
    return s->options.lookup || s->options.draft != NULL;
}

void takt_serve_guess(const takt_server *s, const takt_slot *slot, takt_generate_options *options)
{
    options->draft = slot->draft;
    options->lookup = s->options.lookup;
    options->draft_max = s->options.draft_max;
    options->draft_p_min = s->options.draft_p_min;
}

takt_status takt_serve_check_draft(takt_server *s, const char *path)
{
    takt_tokenizer *model, *draft;
    if (s->options.draft == NULL || s->options.text.tokenizer != NULL)
        return TAKT_OK; /* given: it is that of both */
    TAKT_TRY(takt_tokenizer_load(s->ctx, path, &model));
    takt_status status = takt_tokenizer_load(s->ctx, s->options.draft, &draft);
    if (status == TAKT_OK)
        status = takt_draft_check(s->ctx, model, draft);
    takt_tokenizer_destroy(draft);
    takt_tokenizer_destroy(model);
    return status;
}

static takt_status open_drafts(takt_server *s)
{
    takt_plan_info info, token;
    takt_slot *first = &s->slots[0];
    takt_generator_options how = takt_serve_writer(s);
    how.check = NULL; /* of the model */
    how.speculates = false;
    how.draft_for = s->tokenizer;
    TAKT_TRY(takt_generator_open(s->ctx, s->options.draft, &how, &first->draft));
    s->draft_count = 1;
    for (size_t i = 1; i < s->slot_count; i++)
        s->slots[i].draft = first->draft;
    while (s->together.texts == NULL && s->draft_count < s->slot_count) {
        takt_slot *slot = &s->slots[s->draft_count];
        TAKT_TRY(takt_generator_clone(first->draft, s->draft_count, &slot->draft));
        s->draft_count++;
    }
    takt_plan_query(first->draft->engine.plan, &info);
    takt_plan_query(first->draft->engine.token_plan, &token);
    s->weight_bytes += info.weights + info.packed;
    s->cache_bytes += s->draft_count * token.state;
    return TAKT_OK;
}

static int drop(void *user, const char *text, size_t length)
{
    (void)user;
    (void)text;
    (void)length;
    return 0;
}

takt_status takt_serve_open_guesses(takt_server *s)
{
    if (!takt_serve_guesses(s))
        return TAKT_OK;
    if (s->slot_count == 0)
        return takt_fail(s->ctx, TAKT_E_SPECULATION, "guesses need a model that writes texts");
    if (s->options.draft != NULL)
        TAKT_TRY(open_drafts(s));
    /* Prepares a text's guesses, and reports errors of the draft now. */
    for (size_t i = 0; i < s->slot_count; i++) {
        takt_writing w;
        takt_generate_options options = {.size = sizeof options};
        takt_serve_guess(s, &s->slots[i], &options);
        const takt_status status = takt_writing_begin(&w, s->slots[i].g, &options, drop, NULL);
        takt_writing_end(&w);
        TAKT_TRY(status);
    }
    return TAKT_OK;
}

size_t takt_serve_accept(takt_server *s)
{
    size_t left = 0;
    for (size_t i = 0; i < s->slot_count; i++) {
        takt_slot *slot = &s->slots[i];
        if (s->ids[i] >= 0 && takt_generator_accept(slot->g, s->ids[i])) {
            slot->w.result.accepted++;
            s->ids[i] = -1;
        }
        left += s->ids[i] >= 0;
    }
    return left;
}
