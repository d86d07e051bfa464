/* generate.c - choosing a token, and a text that continues a prompt. */
#include <string.h>

#include "api/text/engine.h"
#include "base/mem.h"
#include "base/options.h"
#include "base/philox.h"
#include "base/size.h"

/* 53 bits of the stream that belongs to the sequence. */
double takt_sampling_uniform(const takt_sampling *s, uint64_t position, uint32_t which)
{
    const takt_philox_at at = {.seed = s->seed, .stream = s->sequence, .step = which};
    uint32_t word[2];
    takt_philox_fill(&at, 2 * position, 2, word);
    return (double)((uint64_t)(word[0] >> 5) << 26 | word[1] >> 6) * 0x1p-53;
}

/* Scratch memory of one draw. */
typedef struct scratch {
    void *at, *times, *runs;
    size_t at_bytes, times_bytes, runs_bytes;
} scratch;

/* Not zeroed: candidates are written before they are read, and zeroing would take as long as all
 * samplers. */
static takt_status get_scratch(takt_ctx *ctx, size_t count, size_t runs, scratch *m)
{
    if (!takt_size_mul(count, sizeof(takt_candidate), &m->at_bytes))
        return takt_fail(ctx, TAKT_E_OVERFLOW, "%zu candidates are more than can be addressed",
                         count);
    m->times_bytes = count * sizeof(uint16_t);
    m->runs_bytes = runs * sizeof(uint32_t);
    TAKT_TRY(takt_mem_get(ctx, m->at_bytes, "candidates", &m->at));
    TAKT_TRY(takt_mem_zero(ctx, count, sizeof(uint16_t), "candidates", &m->times));
    return runs > 0 ? takt_mem_zero(ctx, runs, sizeof(uint32_t), "repetitions", &m->runs) : TAKT_OK;
}

takt_status takt_token_draw(takt_ctx *ctx, const float *scores, size_t count,
                            const takt_sampling *sampling, const takt_token_ids *history,
                            int32_t *id)
{
    takt_sampling s;
    scratch m = {0};
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
    const size_t runs = takt_sampling_has_dry(&s) ? c.history_count : 0;
    takt_status status = get_scratch(ctx, count, runs, &m);
    if (status == TAKT_OK) {
        c.at = m.at;
        c.times = m.times;
        c.runs = m.runs;
        c.uniform = takt_sampling_uniform(&s, c.history_count, 0);
        c.chance = takt_sampling_uniform(&s, c.history_count, 1);
        takt_candidates_fill(&c, scores, count);
        status = takt_sample_chain(ctx, &c, &s, id);
    }
    takt_mem_put(ctx, m.at, m.at_bytes);
    takt_mem_put(ctx, m.times, m.times_bytes);
    takt_mem_put(ctx, m.runs, m.runs_bytes);
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
