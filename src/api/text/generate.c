/* generate.c - a text that continues a prompt. */
#include <string.h>

#include "api/text/engine.h"
#include "base/ctx.h"
#include "base/mem.h"
#include "base/options.h"
#include "base/philox.h"
#include "base/text.h"
#include "base/utf8.h"

/* 53 bits of the stream that belongs to the sequence. */
static double uniform_at(const takt_sampling *s, uint64_t position)
{
    const takt_philox_at at = {.seed = s->seed, .stream = s->sequence};
    uint32_t word[2];
    takt_philox_fill(&at, 2 * position, 2, word);
    return (double)((uint64_t)(word[0] >> 5) << 26 | word[1] >> 6) * 0x1p-53;
}

static void fill(takt_candidates *c, const float *scores, size_t count)
{
    for (size_t i = 0; i < count; i++)
        c->at[i] = (takt_candidate){.id = (int32_t)i, .score = scores[i]};
    c->count = count;
    c->is_sorted = c->has_shares = false;
}

takt_status takt_token_draw(takt_ctx *ctx, const float *scores, size_t count,
                            const takt_sampling *sampling, const takt_token_ids *history,
                            int32_t *id)
{
    takt_sampling s;
    void *at = NULL, *times = NULL;
    TAKT_NEED(ctx, ctx);
    TAKT_NEED(ctx, scores);
    TAKT_NEED(ctx, id);
    if (history != NULL && history->at == NULL && history->count > 0)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "takt_token_draw: history->at is NULL");
    TAKT_TRY(takt_sampling_settle(ctx, sampling, &s));
    double surprise = 2 * s.mirostat_tau;
    takt_candidates c = {.surprise = &surprise,
                         .history = history != NULL ? history->at : NULL,
                         .history_count = history != NULL ? history->count : 0};
    for (size_t i = 0; i < c.history_count; i++)
        if (c.history[i] < 0 || (size_t)c.history[i] >= count)
            return takt_fail(ctx, TAKT_E_TOKEN_ID, "token %zu of the history is %d", i,
                             c.history[i]);
    takt_status status = takt_mem_zero(ctx, count, sizeof *c.at, "candidates", &at);
    if (status == TAKT_OK)
        status = takt_mem_zero(ctx, count, sizeof *c.times, "candidates", &times);
    if (status == TAKT_OK) {
        c.at = at;
        c.times = times;
        c.uniform = uniform_at(&s, c.history_count);
        fill(&c, scores, count);
        status = takt_sample_chain(ctx, &c, &s, id);
    }
    takt_mem_put(ctx, at, count * sizeof *c.at);
    takt_mem_put(ctx, times, count * sizeof *c.times);
    return status;
}

/* ---- writing ---- */

typedef struct writing {
    takt_generator *g;
    takt_generate_options options;
    takt_sampling sampling;
    double surprise;
    takt_text pending; /* not yet given to the sink */
    takt_sink_fn *sink;
    void *user;
    takt_generated result;
    bool is_over, is_refused; /* is_refused: the sink wants no more */
} writing;

/* Bytes at the end that may be the beginning of a character. */
static size_t open_bytes(const char *at, size_t length)
{
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        const unsigned char c = (unsigned char)at[length - back];
        const size_t needs = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
        if (needs > back)
            return back;
        if ((c & 0xC0) != 0x80)
            return 0;
    }
    return 0;
}

/* Bytes at the end that may be the beginning of the stop string. */
static size_t open_stop(const writing *w)
{
    const size_t length = w->options.stop != NULL ? strlen(w->options.stop) : 0;
    for (size_t n = length > 0 ? length - 1 : 0; n > 0; n--)
        if (n <= w->pending.length &&
            memcmp(w->pending.at + w->pending.length - n, w->options.stop, n) == 0)
            return n;
    return 0;
}

static void emit(writing *w, size_t count)
{
    if (count == 0 || w->is_refused)
        return;
    if (w->sink(w->user, w->pending.at, count) != 0) {
        w->is_over = w->is_refused = true;
        w->result.end = TAKT_TEXT_STOP;
    }
    memmove(w->pending.at, w->pending.at + count, w->pending.length - count);
    w->pending.length -= count;
    w->pending.at[w->pending.length] = '\0';
}

static takt_status put_token(writing *w, int32_t id)
{
    char piece[512];
    takt_token_text text = {piece, sizeof piece, 0};
    const unsigned flags =
        TAKT_DETOKENIZE_CONTINUE | (w->options.show_control ? TAKT_DETOKENIZE_CONTROL : 0);
    TAKT_TRY(takt_detokenize(w->g->engine.tokenizer, &id, 1, flags, &text));
    takt_text_put(&w->pending, piece, text.length < sizeof piece ? text.length : sizeof piece);
    TAKT_TRY(w->pending.status);
    const char *stop = w->options.stop != NULL && *w->options.stop != '\0'
                           ? strstr(takt_text_get(&w->pending), w->options.stop)
                           : NULL;
    if (stop != NULL) {
        emit(w, (size_t)(stop - w->pending.at));
        w->pending.length = 0;
        w->is_over = true;
        w->result.end = TAKT_TEXT_STOP;
        return TAKT_OK;
    }
    const size_t kept = open_stop(w), cut = open_bytes(w->pending.at, w->pending.length);
    emit(w, w->pending.length - (kept > cut ? kept : cut));
    return TAKT_OK;
}

static takt_status choose(writing *w, int32_t *id)
{
    takt_generator *g = w->g;
    takt_candidates c = {.at = g->candidates,
                         .times = g->times,
                         .history = g->history,
                         .history_count = (size_t)g->position,
                         .surprise = &w->surprise,
                         .uniform = uniform_at(&w->sampling, (uint64_t)g->position)};
    fill(&c, g->scores, (size_t)g->vocabulary);
    const takt_tokenizer *t = g->engine.tokenizer;
    for (size_t i = 0; w->options.ignore_eos && i < takt_tokenizer_count(t); i++)
        if (takt_token_is_end(t, (int32_t)i))
            c.at[i].score = -__builtin_inff();
    return takt_sample_chain(g->engine.ctx, &c, &w->sampling, id);
}

static takt_status write_token(writing *w)
{
    takt_generator *g = w->g;
    int32_t id;
    TAKT_TRY(choose(w, &id));
    if (takt_token_is_end(g->engine.tokenizer, id) && !w->options.ignore_eos) {
        w->is_over = true;
        w->result.end = TAKT_TEXT_EOS;
        return TAKT_OK;
    }
    if ((size_t)id < takt_tokenizer_count(g->engine.tokenizer))
        TAKT_TRY(put_token(w, id));
    w->result.tokens++;
    if (w->options.max_tokens > 0 && w->result.tokens >= w->options.max_tokens)
        w->is_over = true;
    if (!w->is_over && g->position >= g->context) {
        w->is_over = true;
        w->result.end = TAKT_TEXT_CONTEXT;
    }
    return w->is_over ? TAKT_OK : takt_generator_read(g, &id, 1);
}

static takt_status read_prompt(writing *w, const char *prompt)
{
    takt_generator *g = w->g;
    takt_ctx *ctx = g->engine.ctx;
    const unsigned flags = TAKT_TOKENIZE_PARSE | (g->position == 0 ? TAKT_TOKENIZE_ADD : 0);
    takt_token_ids ids = {0};
    void *block = NULL;
    TAKT_TRY(takt_tokenize(g->engine.tokenizer, prompt, strlen(prompt), flags, &ids));
    if (ids.count == 0 && g->scores == NULL)
        return takt_fail(ctx, TAKT_E_ARGUMENT,
                         "the prompt is empty, and the model has no token to begin with");
    TAKT_TRY(takt_mem_zero(ctx, ids.count, sizeof *ids.at, "the prompt", &block));
    ids.at = block;
    ids.capacity = ids.count;
    takt_status status = takt_tokenize(g->engine.tokenizer, prompt, strlen(prompt), flags, &ids);
    const uint64_t begin = ctx->now_ns(ctx->clock_user);
    if (status == TAKT_OK)
        status = takt_generator_read(g, ids.at, ids.count);
    w->result.prompt_tokens = ids.count;
    w->result.prompt_ns = (double)(ctx->now_ns(ctx->clock_user) - begin);
    takt_mem_put(ctx, block, ids.capacity * sizeof *ids.at);
    return status;
}

static takt_status write_text(writing *w, const char *prompt)
{
    takt_ctx *ctx = w->g->engine.ctx;
    TAKT_TRY(read_prompt(w, prompt));
    const uint64_t begin = ctx->now_ns(ctx->clock_user);
    while (!w->is_over)
        TAKT_TRY(write_token(w));
    emit(w, w->pending.length);
    w->result.ns = (double)(ctx->now_ns(ctx->clock_user) - begin);
    return TAKT_OK;
}

takt_status takt_generate(takt_generator *g, const char *prompt,
                          const takt_generate_options *options, takt_sink_fn *sink, void *user,
                          takt_generated *result)
{
    writing w = {.g = g, .sink = sink, .user = user};
    TAKT_NEED(NULL, g);
    TAKT_NEED(g->engine.ctx, prompt);
    TAKT_NEED(g->engine.ctx, sink);
    if (result != NULL)
        *result = (takt_generated){0};
    TAKT_TRY(takt_options_read(g->engine.ctx, "takt_generate_options", options, &w.options,
                               sizeof w.options));
    TAKT_TRY(takt_sampling_settle(g->engine.ctx, &w.options.sampling, &w.sampling));
    w.surprise = 2 * w.sampling.mirostat_tau;
    takt_text_init(&w.pending, g->engine.ctx);
    const takt_status status = write_text(&w, prompt);
    takt_text_deinit(&w.pending);
    if (result != NULL)
        *result = w.result;
    return status;
}
