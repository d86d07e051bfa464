/* speculate.c - speculative decoding: guesses by a smaller model, or from earlier occurrences of
 * the same tokens. They are read in one run; a guess is accepted if it is the token that is drawn
 * anyway. So the text is the same as without guesses; only its speed differs. */
#include <math.h>
#include <string.h>

#include "api/text/engine.h"
#include "base/mem.h"
#include "text/tokenizer.h"

enum { GUESSES = 16, WORDS_MOST = 4, WORDS_LEAST = 2, VOCABULARY_SPARE = 128 };

/* ---- opening ---- */

takt_status takt_draft_check(takt_ctx *ctx, const takt_tokenizer *a, const takt_tokenizer *b)
{
    static const char hint[] =
        "a draft is a smaller model of the same family; --lookup guesses without one";
    const size_t least = a->count < b->count ? a->count : b->count;
    if (a->count + b->count - 2 * least > VOCABULARY_SPARE) {
        (void)takt_fail(ctx, TAKT_E_SPECULATION,
                        "the draft has a vocabulary of %zu tokens, the model one of %zu", b->count,
                        a->count);
        return takt_fail_hint(ctx, hint);
    }
    for (size_t i = 0; i < least; i++) {
        if (a->texts[i].length == b->texts[i].length &&
            memcmp(a->texts[i].at, b->texts[i].at, a->texts[i].length) == 0)
            continue;
        (void)takt_fail(ctx, TAKT_E_SPECULATION,
                        "token %zu of the draft is another one than the model's", i);
        return takt_fail_hint(ctx, hint);
    }
    return TAKT_OK;
}

static takt_status refuse_model(takt_ctx *ctx)
{
    return takt_fail(ctx, TAKT_E_SPECULATION,
                     "guesses need a model that can forget its last tokens");
}

static takt_status refuse_draft(takt_ctx *ctx)
{
    return takt_fail(ctx, TAKT_E_SPECULATION, "the draft cannot forget its last tokens");
}

takt_status takt_speculate_check(const takt_engine *e)
{
    const takt_generator_options *o = &e->options;
    if ((o->draft_for == NULL && !o->speculates) || takt_engine_rewinds(e))
        return TAKT_OK;
    return o->speculates ? refuse_model(e->ctx) : refuse_draft(e->ctx);
}

static takt_status check_draft(const takt_generator *g, const takt_generator *draft)
{
    takt_ctx *ctx = g->engine.ctx;
    if (draft == g || draft->engine.ctx != ctx)
        return takt_fail(ctx, TAKT_E_ARGUMENT,
                         "the draft is the generator itself, or one of another context");
    TAKT_TRY(takt_draft_check(ctx, g->engine.tokenizer, draft->engine.tokenizer));
    return takt_generator_rewinds(draft) ? TAKT_OK : refuse_draft(ctx);
}

size_t takt_speculate_room(const takt_generator *g, size_t draft_max)
{
    const size_t wanted = draft_max > 0 ? draft_max : GUESSES;
    const size_t most = (size_t)g->engine.options.batch - 1;
    return (wanted < most ? wanted : most) + 1;
}

takt_status takt_speculate_open(takt_writing *w)
{
    takt_generator *g = w->g;
    takt_ctx *ctx = g->engine.ctx;
    const size_t room = takt_speculate_room(g, w->options.draft_max);
    void *block;
    if (w->options.draft == NULL && !w->options.lookup)
        return TAKT_OK;
    if (!isfinite(w->options.draft_p_min))
        return takt_fail(ctx, TAKT_E_OPTION, "draft_p_min is not a finite number");
    if (!takt_generator_rewinds(g))
        return refuse_model(ctx);
    if (w->options.draft != NULL)
        TAKT_TRY(check_draft(g, w->options.draft));
    if (room < 2)
        return TAKT_OK; /* one token at a time: -b 1 */
    TAKT_TRY(takt_generator_open_ahead(g, room));
    TAKT_TRY(takt_mem_zero(ctx, room, sizeof *w->guesses, "guesses", &block));
    w->guesses = block;
    w->guess_room = room;
    return TAKT_OK;
}

void takt_speculate_close(takt_writing *w)
{
    takt_mem_put(w->g->engine.ctx, w->guesses, w->guess_room * sizeof *w->guesses);
    w->guesses = NULL;
}

/* ---- by what was read ---- */

/* Finds the continuation of the last tokens at an earlier position: the longest match, and of those
 * the latest. `count` tokens are known, `to` has room for `most`. */
static size_t look_up(const int32_t *ids, size_t count, size_t most, int32_t *to)
{
    for (size_t words = WORDS_MOST; words >= WORDS_LEAST; words--) {
        for (size_t end = count; end-- > words;) {
            if (memcmp(ids + end - words, ids + count - words, words * sizeof *ids) != 0)
                continue;
            const size_t found = count - end < most ? count - end : most;
            memcpy(to, ids + end, found * sizeof *ids);
            return found;
        }
    }
    return 0;
}

/* ---- by a smaller model ---- */

static double share_of(const float *scores, size_t count, int32_t id)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += isnan(scores[i]) ? 0 : exp((double)scores[i] - (double)scores[id]);
    return 1 / sum;
}

/* The draft reads those of the `count` tokens that it has not read. */
static takt_status catch_up(takt_generator *draft, const int32_t *ids, size_t count)
{
    size_t same = 0;
    while (same + 1 < count && same < (size_t)draft->position && draft->history[same] == ids[same])
        same++;
    TAKT_TRY(takt_generator_rewind(draft, (int64_t)same));
    return takt_generator_read(draft, ids + same, count - same);
}

/* Each guess is drawn as the model would draw it, with the same random number. */
static takt_status ask_draft(takt_writing *w, size_t count, size_t most, size_t *found)
{
    takt_generator *g = w->g, *draft = w->options.draft;
    const int64_t least = g->vocabulary < draft->vocabulary ? g->vocabulary : draft->vocabulary;
    const double p_min = w->options.draft_p_min != 0 ? w->options.draft_p_min : 0.75;
    double surprise = w->surprise;
    const size_t room = (size_t)draft->context - count;
    *found = 0;
    for (size_t i = 0; i < count; i++)
        if (g->history[i] >= draft->vocabulary)
            return TAKT_OK;
    TAKT_TRY(catch_up(draft, g->history, count));
    while (*found < most) {
        int32_t id;
        TAKT_TRY(takt_writing_draw(w, draft->scores, (size_t)least, count, &surprise, &id));
        if (share_of(draft->scores, (size_t)least, id) < p_min ||
            takt_token_is_end(g->engine.tokenizer, id))
            return TAKT_OK;
        g->history[count++] = w->guesses[++*found] = id;
        if (*found < most && *found < room)
            TAKT_TRY(takt_generator_read(draft, &id, 1));
        else
            break;
    }
    return TAKT_OK;
}

/* ---- reading ---- */

/* How many guesses may follow the next token: all must fit, and those past the end are wasted. */
static size_t most_guesses(const takt_writing *w)
{
    const takt_generator *g = w->g;
    size_t most = w->guess_room - 1;
    const uint64_t fits = (uint64_t)(g->context - g->position) - 1;
    most = most < fits ? most : (size_t)fits;
    if (w->options.max_tokens > 0) {
        const size_t left = w->options.max_tokens - w->result.tokens;
        most = left <= 1 ? 0 : left - 1 < most ? left - 1 : most;
    }
    return most;
}

/* A draft that fails only costs speed: the text continues without it. */
static takt_status try_draft(takt_writing *w, size_t count, size_t most, size_t *found)
{
    takt_ctx *ctx = w->g->engine.ctx;
    const takt_status status = ask_draft(w, count, most, found);
    if (status == TAKT_OK || status == TAKT_ERR_CANCELLED || status == TAKT_ERR_DEADLINE)
        return status;
    takt_log(ctx, TAKT_LOG_WARNING, "the draft guesses no more: %s", ctx->error.message);
    ctx->error = (takt_error){0};
    w->options.draft = NULL;
    *found = 0;
    return TAKT_OK;
}

static takt_status guess(takt_writing *w, size_t *found)
{
    takt_generator *g = w->g;
    const takt_generator *draft = w->options.draft;
    const size_t count = (size_t)g->position + 1, most = most_guesses(w);
    *found = 0;
    if (most == 0)
        return TAKT_OK;
    if (w->options.lookup)
        *found = look_up(g->history, count, most, w->guesses + 1);
    if (*found == 0 && draft != NULL && count < (size_t)draft->context)
        return try_draft(w, count, most, found);
    return TAKT_OK;
}

takt_status takt_writing_read(takt_writing *w, int32_t id)
{
    takt_generator *g = w->g;
    size_t found = 0;
    if (takt_generator_accept(g, id)) {
        w->result.accepted++;
        return TAKT_OK;
    }
    if (w->guesses == NULL)
        return takt_generator_read(g, &id, 1);
    TAKT_TRY(takt_generator_settle(g));
    TAKT_TRY(takt_generator_check(g, &id, 1));
    g->history[g->position] = w->guesses[0] = id;
    TAKT_TRY(guess(w, &found));
    if (found == 0)
        return takt_generator_read(g, &id, 1);
    w->result.drafted += found;
    return takt_generator_read_ahead(g, w->guesses, found + 1);
}
