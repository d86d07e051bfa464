/* generate.c - choosing a token, and a text that continues a prompt. */
#include <string.h>

#include "api/text/engine.h"
#include "base/mem.h"
#include "base/options.h"
#include "base/philox.h"

/* 53 bits of the stream that belongs to the sequence. */
double takt_sampling_uniform(const takt_sampling *s, uint64_t position, uint32_t which)
{
    const takt_philox_at at = {.seed = s->seed, .stream = s->sequence, .step = which};
    uint32_t word[2];
    takt_philox_fill(&at, 2 * position, 2, word);
    return (double)((uint64_t)(word[0] >> 5) << 26 | word[1] >> 6) * 0x1p-53;
}

void takt_candidates_fill(takt_candidates *c, const float *scores, size_t count)
{
    bool has_nan = false;
    for (size_t i = 0; i < count; i++)
        has_nan |= scores[i] != scores[i];
    for (size_t i = 0; i < count; i++)
        c->at[i] = (takt_candidate){.id = (int32_t)i, .score = scores[i]};
    c->count = count;
    c->has_numbers = !has_nan;
    c->is_sorted = c->has_shares = false;
}

takt_status takt_token_draw(takt_ctx *ctx, const float *scores, size_t count,
                            const takt_sampling *sampling, const takt_token_ids *history,
                            int32_t *id)
{
    takt_sampling s;
    void *at = NULL, *times = NULL, *runs = NULL;
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
    if (status == TAKT_OK && takt_sampling_has_dry(&s))
        status = takt_mem_zero(ctx, c.history_count, sizeof *c.runs, "repetitions", &runs);
    if (status == TAKT_OK) {
        c.at = at;
        c.times = times;
        c.runs = runs;
        c.uniform = takt_sampling_uniform(&s, c.history_count, 0);
        c.chance = takt_sampling_uniform(&s, c.history_count, 1);
        takt_candidates_fill(&c, scores, count);
        status = takt_sample_chain(ctx, &c, &s, id);
    }
    takt_mem_put(ctx, at, count * sizeof *c.at);
    takt_mem_put(ctx, times, count * sizeof *c.times);
    takt_mem_put(ctx, runs, c.history_count * sizeof *c.runs);
    return status;
}

/* ---- calls, which may be cancelled ---- */

/* Calls are counted as a trainer counts its own, so that a cancel affects one call only. */
bool takt_generator_begin(takt_generator *g)
{
    const uint64_t calls = atomic_load(&g->calls);
    atomic_store(&g->calls, calls | 1);
    return calls % 2 == 0;
}

takt_status takt_generator_end(takt_generator *g, bool begun, takt_status status)
{
    if (begun)
        atomic_fetch_add(&g->calls, 1);
    return status;
}

void takt_generator_cancel(takt_generator *g)
{
    const uint64_t calls = g != NULL ? atomic_load(&g->calls) : 0;
    if (calls % 2 != 0)
        atomic_store(&g->cancel, calls);
}

/* ---- a text ---- */

static takt_status write_text(takt_writing *w, const char *prompt)
{
    TAKT_TRY(takt_writing_prompt(w, prompt));
    while (!w->is_over)
        TAKT_TRY(takt_writing_step(w));
    takt_writing_finish(w);
    return takt_generator_settle(w->g);
}

takt_status takt_generate(takt_generator *g, const char *prompt,
                          const takt_generate_options *options, takt_sink_fn *sink, void *user,
                          takt_generated *result)
{
    takt_writing w;
    TAKT_NEED(NULL, g);
    TAKT_NEED(g->engine.ctx, prompt);
    TAKT_NEED(g->engine.ctx, sink);
    if (result != NULL)
        *result = (takt_generated){0};
    const bool begun = takt_generator_begin(g);
    takt_status status = takt_writing_begin(&w, g, options, sink, user);
    if (status == TAKT_OK)
        status = write_text(&w, prompt);
    if (result != NULL)
        *result = w.result;
    takt_writing_end(&w);
    return takt_generator_end(g, begun, status);
}
