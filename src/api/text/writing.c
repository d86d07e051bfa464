/* writing.c - text generation step by step: parts of the prompt, then token by token. */
#include <math.h>
#include <string.h>

#include "api/text/engine.h"
#include "base/ctx.h"
#include "base/mem.h"
#include "base/options.h"

/* ---- what reaches the sink ---- */

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

/* The stop strings one by one: `stop`, then `stops`; NULL past the last. */
static const char *stop_at(const takt_writing *w, size_t index)
{
    const char *first =
        w->options.stop != NULL && *w->options.stop != '\0' ? w->options.stop : NULL;
    if (first != NULL && index == 0)
        return first;
    index -= first != NULL;
    return index < w->options.stop_count ? w->options.stops[index] : NULL;
}

/* Bytes at the end that may be the beginning of a stop string. */
static size_t open_stop(const takt_writing *w)
{
    size_t most = 0;
    const char *stop;
    for (size_t i = 0; (stop = stop_at(w, i)) != NULL; i++) {
        const size_t length = strlen(stop);
        for (size_t n = length > 0 ? length - 1 : 0; n > most; n--)
            if (n <= w->pending.length &&
                memcmp(w->pending.at + w->pending.length - n, stop, n) == 0)
                most = n;
    }
    return most;
}

/* Where the first stop string of the text begins; NULL: there is none. */
static const char *find_stop(const takt_writing *w)
{
    const char *first = NULL, *stop;
    for (size_t i = 0; (stop = stop_at(w, i)) != NULL; i++) {
        const char *found = *stop != '\0' ? strstr(takt_text_get(&w->pending), stop) : NULL;
        if (found != NULL && (first == NULL || found < first))
            first = found;
    }
    return first;
}

static void emit(takt_writing *w, size_t count)
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

static takt_status put_token(takt_writing *w, int32_t id)
{
    char piece[512];
    takt_token_text text = {piece, sizeof piece, 0};
    const unsigned flags =
        TAKT_DETOKENIZE_CONTINUE | (w->options.show_control ? TAKT_DETOKENIZE_CONTROL : 0);
    TAKT_TRY(takt_detokenize(w->g->engine.tokenizer, &id, 1, flags, &text));
    takt_text_put(&w->pending, piece, text.length < sizeof piece ? text.length : sizeof piece);
    TAKT_TRY(w->pending.status);
    const char *stop = find_stop(w);
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

/* ---- tokens ---- */

/* Keeps only candidates that the grammar allows; `*is_end`: the text is complete and nothing can
 * follow. */
static takt_status hold(takt_writing *w, takt_candidates *c, bool *is_end)
{
    size_t allowed, kept = 0;
    const size_t tokens = takt_tokenizer_count(w->g->engine.tokenizer);
    TAKT_TRY(takt_matcher_mask(w->matcher, w->mask, &allowed));
    takt_candidates_list(c);
    for (size_t i = 0; i < c->count; i++) {
        const size_t id = (size_t)c->at[i].id;
        const bool is_ended =
            w->options.ignore_eos && takt_token_is_end(w->g->engine.tokenizer, (int32_t)id);
        if (id < tokens && (w->mask[id / 64] >> id % 64 & 1) != 0 && !is_ended)
            c->at[kept++] = c->at[i];
    }
    c->count = kept;
    *is_end = kept == 0 && takt_matcher_can_end(w->matcher);
    if (kept > 0 || *is_end)
        return TAKT_OK;
    return takt_fail(w->g->engine.ctx, TAKT_E_GRAMMAR_STUCK,
                     "no token continues the text as the grammar wants it");
}

/* Log-probabilities of the token and of the best ones. */
static void rate(takt_writing *w, int32_t id)
{
    const float *scores = w->g->scores;
    const size_t count = (size_t)w->g->vocabulary;
    double most = -HUGE_VAL, sum = 0;
    for (size_t i = 0; i < count; i++)
        most = (double)scores[i] > most ? (double)scores[i] : most;
    for (size_t i = 0; i < count; i++)
        sum += isnan(scores[i]) ? 0 : exp((double)scores[i] - most);
    const double base = most + log(sum);
    w->chosen = (takt_token_log){id, (double)scores[id] - base};
    for (size_t n = 0; n < w->top_count; n++) {
        int32_t best = -1;
        for (size_t i = 0; i < count; i++) {
            const bool is_later =
                n == 0 || scores[i] < scores[w->top[n - 1].id] ||
                (scores[i] == scores[w->top[n - 1].id] && (int32_t)i > w->top[n - 1].id);
            if (is_later && !isnan(scores[i]) && (best < 0 || scores[i] > scores[best]))
                best = (int32_t)i;
        }
        w->top[n] =
            (takt_token_log){best < 0 ? id : best, (double)scores[best < 0 ? id : best] - base};
    }
}

/* All tokens with their scores; tokens that end a text are excluded if not wanted. */
static void gather(const takt_writing *w, const float *scores, size_t count, size_t position,
                   takt_candidates *c)
{
    const takt_generator *g = w->g;
    c->at = g->candidates;
    c->times = g->times;
    c->history = g->history;
    c->history_count = position;
    c->uniform = takt_sampling_uniform(&w->sampling, (uint64_t)position, 0);
    c->chance = takt_sampling_uniform(&w->sampling, (uint64_t)position, 1);
    c->runs = w->runs;
    c->breakers = &w->breakers;
    takt_candidates_fill(c, scores, count);
    for (size_t i = 0; i < w->end_count && (size_t)w->ends[i] < count; i++)
        c->scores[w->ends[i]] = -__builtin_inff();
}

takt_status takt_writing_draw(takt_writing *w, const float *scores, size_t count, size_t position,
                              double *surprise, int32_t *id)
{
    takt_candidates c = {.surprise = surprise};
    gather(w, scores, count, position, &c);
    return takt_sample_chain(w->g->engine.ctx, &c, &w->sampling, id);
}

static takt_status choose(takt_writing *w, int32_t *id, bool *is_end)
{
    takt_generator *g = w->g;
    takt_candidates c = {.surprise = &w->surprise};
    gather(w, g->scores, (size_t)g->vocabulary, (size_t)g->position, &c);
    *is_end = false;
    if (w->matcher != NULL)
        TAKT_TRY(hold(w, &c, is_end));
    if (*is_end)
        return TAKT_OK;
    TAKT_TRY(takt_sample_chain(g->engine.ctx, &c, &w->sampling, id));
    if (w->matcher != NULL)
        TAKT_TRY(takt_matcher_accept(w->matcher, *id));
    return TAKT_OK;
}

/* `*next`: token to read before the next one is generated, or -1. */
static takt_status write_token(takt_writing *w, int32_t *next)
{
    takt_generator *g = w->g;
    int32_t id = -1;
    bool is_end;
    *next = -1;
    TAKT_TRY(choose(w, &id, &is_end));
    if (is_end || (takt_token_is_end(g->engine.tokenizer, id) && !w->options.ignore_eos)) {
        w->is_over = true;
        w->result.end = TAKT_TEXT_EOS;
        return TAKT_OK;
    }
    if (w->on_token != NULL) {
        rate(w, id);
        w->on_token(w->user, w);
    }
    if ((size_t)id < takt_tokenizer_count(g->engine.tokenizer))
        TAKT_TRY(put_token(w, id));
    w->result.tokens++;
    if (w->options.max_tokens > 0 && w->result.tokens >= w->options.max_tokens) {
        g->has_unread = !w->is_over;
        g->unread = id;
        w->is_over = true;
    }
    if (!w->is_over && g->position >= g->context) {
        w->is_over = true;
        w->result.end = TAKT_TEXT_CONTEXT;
    }
    *next = w->is_over ? -1 : id;
    return TAKT_OK;
}

/* ---- steps ---- */

static takt_status open_grammar(takt_writing *w)
{
    takt_generator *g = w->g;
    takt_ctx *ctx = g->engine.ctx;
    const size_t words = (size_t)(g->vocabulary + 63) / 64;
    void *block;
    if (g->table.rows == NULL)
        TAKT_TRY(takt_token_table_init(&g->table, ctx, g->engine.tokenizer));
    TAKT_TRY(takt_mem_zero(ctx, words, sizeof *w->mask, "a mask of tokens", &block));
    w->mask = block;
    return takt_matcher_make(w->options.grammar, g->engine.tokenizer, &g->table, &w->matcher);
}

/* A query for each token of the vocabulary at each step takes longer than the samplers. */
static takt_status open_ends(takt_writing *w)
{
    const takt_tokenizer *t = w->g->engine.tokenizer;
    const int32_t tokens = (int32_t)takt_tokenizer_count(t);
    size_t room = 0;
    void *block;
    for (int32_t i = 0; i < tokens; i++)
        room += takt_token_is_end(t, i);
    TAKT_TRY(takt_mem_zero(w->g->engine.ctx, room, sizeof *w->ends, "tokens", &block));
    w->ends = block;
    for (int32_t i = 0; i < tokens; i++)
        if (takt_token_is_end(t, i))
            w->ends[w->end_count++] = i;
    return TAKT_OK;
}

static takt_status open_dry(takt_writing *w)
{
    takt_ctx *ctx = w->g->engine.ctx;
    void *block;
    TAKT_TRY(takt_mem_zero(ctx, (size_t)w->g->context, sizeof *w->runs, "repetitions", &block));
    w->runs = block;
    return takt_breakers_make(ctx, w->g->engine.tokenizer, &w->sampling, &w->breakers);
}

takt_status takt_writing_begin(takt_writing *w, takt_generator *g,
                               const takt_generate_options *options, takt_sink_fn *sink, void *user)
{
    *w = (takt_writing){.g = g, .sink = sink, .user = user};
    takt_ctx *ctx = g->engine.ctx;
    takt_text_init(&w->pending, ctx);
    TAKT_TRY(
        takt_options_read(ctx, "takt_generate_options", options, &w->options, sizeof w->options));
    TAKT_TRY(takt_sampling_settle(ctx, &w->options.sampling, &w->sampling));
    TAKT_TRY(takt_sampling_check_biases(ctx, &w->sampling, g->engine.tokenizer));
    if (w->options.stops == NULL && w->options.stop_count > 0)
        return takt_fail(ctx, TAKT_E_OPTION, "there are stop strings, but their list is NULL");
    w->surprise = 2 * w->sampling.mirostat_tau;
    TAKT_TRY(takt_speculate_open(w));
    if (w->options.ignore_eos)
        TAKT_TRY(open_ends(w));
    if (takt_sampling_has_dry(&w->sampling))
        TAKT_TRY(open_dry(w));
    return w->options.grammar != NULL ? open_grammar(w) : TAKT_OK;
}

takt_status takt_writing_prompt(takt_writing *w, const char *prompt)
{
    takt_generator *g = w->g;
    takt_ctx *ctx = g->engine.ctx;
    if (g->engine.has_encoder) /* each prompt is a separate text */
        takt_generator_reset(g);
    const bool is_first = g->position == 0 || w->options.reuse;
    const unsigned flags = TAKT_TOKENIZE_PARSE | (is_first ? TAKT_TOKENIZE_ADD : 0);
    takt_token_ids ids = {0};
    void *block = NULL;
    TAKT_TRY(takt_tokenize(g->engine.tokenizer, prompt, strlen(prompt), flags, &ids));
    const bool has_more = !w->options.reuse && (g->scores != NULL || g->has_unread);
    if (ids.count == 0 && !has_more)
        return takt_fail(ctx, TAKT_E_ARGUMENT,
                         "the prompt is empty, and the model has no token to begin with");
    /* The last generated token has not been read yet: it is kept and put before the next prompt. */
    const size_t before = g->has_unread && !w->options.reuse ? 1 : 0;
    TAKT_TRY(takt_mem_zero(ctx, ids.count + before, sizeof *ids.at, "the prompt", &block));
    w->prompt = block;
    if (before > 0)
        w->prompt[0] = g->unread;
    w->prompt_count = ids.count + before;
    ids.at = w->prompt + before;
    ids.capacity = w->result.prompt_tokens = ids.count;
    TAKT_TRY(takt_tokenize(g->engine.tokenizer, prompt, strlen(prompt), flags, &ids));
    return w->options.reuse ? takt_writing_reuse(w) : TAKT_OK;
}

takt_status takt_writing_reuse(takt_writing *w)
{
    TAKT_TRY(takt_generator_reuse(w->g, w->prompt, w->prompt_count, &w->prompt_read));
    w->result.cached_tokens = w->prompt_read;
    return TAKT_OK;
}

takt_status takt_writing_tokens(takt_writing *w, const int32_t *ids, size_t count)
{
    void *block = NULL;
    TAKT_TRY(takt_mem_zero(w->g->engine.ctx, count, sizeof *w->prompt, "the prompt", &block));
    w->prompt = block;
    w->prompt_count = w->result.prompt_tokens = count;
    memcpy(w->prompt, ids, count * sizeof *ids);
    return TAKT_OK;
}

bool takt_writing_part(const takt_writing *w, const int32_t **ids, size_t *count)
{
    const takt_generator *g = w->g;
    const size_t left = w->prompt_count - w->prompt_read, batch = (size_t)g->engine.options.batch;
    /* All of it must fit before any of it is read. */
    const bool is_first = w->prompt_read == w->result.cached_tokens;
    const bool is_whole = g->engine.has_encoder || left > (uint64_t)(g->context - g->position);
    *ids = w->prompt + w->prompt_read;
    *count = (is_first && is_whole) || left < batch ? left : batch;
    return left > 0 && !is_whole;
}

void takt_writing_took(takt_writing *w, size_t count, double ns)
{
    w->prompt_read += count;
    w->result.prompt_ns += ns;
}

static takt_status read_prompt(takt_writing *w)
{
    const int32_t *ids;
    size_t count;
    (void)takt_writing_part(w, &ids, &count);
    w->prompt_read += count;
    return takt_generator_read(w->g, ids, count);
}

takt_status takt_writing_half(takt_writing *w, int32_t *id)
{
    const takt_ctx *ctx = w->g->engine.ctx;
    const uint64_t begin = ctx->now_ns(ctx->clock_user);
    const bool is_prompt = w->prompt_read < w->prompt_count;
    *id = -1;
    const takt_status status = is_prompt ? read_prompt(w) : write_token(w, id);
    *(is_prompt ? &w->result.prompt_ns : &w->result.ns) +=
        (double)(ctx->now_ns(ctx->clock_user) - begin);
    return status;
}

takt_status takt_writing_step(takt_writing *w)
{
    const takt_ctx *ctx = w->g->engine.ctx;
    int32_t id;
    TAKT_TRY(takt_writing_half(w, &id));
    if (id < 0)
        return TAKT_OK;
    const uint64_t begin = ctx->now_ns(ctx->clock_user);
    const takt_status status = takt_writing_read(w, id);
    w->result.ns += (double)(ctx->now_ns(ctx->clock_user) - begin);
    return status;
}

void takt_writing_finish(takt_writing *w)
{
    emit(w, w->pending.length);
}

void takt_writing_end(takt_writing *w)
{
    takt_ctx *ctx = w->g->engine.ctx;
    takt_matcher_destroy(w->matcher);
    takt_speculate_close(w);
    takt_breakers_free(ctx, &w->breakers);
    takt_mem_put(ctx, w->ends, w->end_count * sizeof *w->ends);
    takt_mem_put(ctx, w->runs, (size_t)w->g->context * sizeof *w->runs);
    takt_mem_put(ctx, w->mask, (size_t)(w->g->vocabulary + 63) / 64 * sizeof *w->mask);
    takt_mem_put(ctx, w->prompt, w->prompt_count * sizeof *w->prompt);
    takt_text_deinit(&w->pending);
}
