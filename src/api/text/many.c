/* many.c - several texts for one caller: each as if generated separately, next tokens read in one
 * run. */
#include <stdio.h>
#include <string.h>

#include "api/text/together.h"
#include "base/ctx.h"
#include "base/mem.h"
#include "base/options.h"

typedef struct row {
    takt_writing w;
    takt_many_fn *sink;
    void *user;
    size_t index; /* of the prompt */
    bool is_busy;
    size_t waits; /* for blocks of this many tokens; 0: it has what it needs */
    bool *stops;  /* the task's */
} row;

struct takt_many {
    size_t count;
    takt_generator **texts; /* the first belongs to the caller */
    row *rows;
    int32_t *ids;              /* their next tokens, or -1 */
    takt_together_part *parts; /* of their prompts */
    takt_together together;    /* texts NULL: one by one */
};

/* ---- life ---- */

static takt_status allocate(takt_many *m, takt_ctx *ctx)
{
    void *block;
    TAKT_TRY(takt_mem_zero(ctx, m->count, sizeof(takt_generator *), "texts", &block));
    m->texts = block;
    TAKT_TRY(takt_mem_zero(ctx, m->count, sizeof *m->rows, "texts", &block));
    m->rows = block;
    TAKT_TRY(takt_mem_zero(ctx, m->count, sizeof *m->ids, "texts", &block));
    m->ids = block;
    TAKT_TRY(takt_mem_zero(ctx, m->count, sizeof *m->parts, "texts", &block));
    m->parts = block;
    return TAKT_OK;
}

takt_status takt_many_open(takt_generator *g, size_t count)
{
    void *block;
    TAKT_TRY(takt_mem_zero(g->engine.ctx, 1, sizeof *g->many, "texts", &block));
    takt_many *m = g->many = block;
    m->count = count;
    TAKT_TRY(allocate(m, g->engine.ctx));
    m->texts[0] = g;
    for (size_t i = 1; i < count; i++)
        TAKT_TRY(takt_generator_clone(g, i, &m->texts[i]));
    return g->engine.rows > 0 ? takt_together_open(&m->together, m->texts, count) : TAKT_OK;
}

void takt_many_close(takt_generator *g)
{
    takt_ctx *ctx = g->engine.ctx;
    takt_many *m = g->many;
    if (m == NULL)
        return;
    takt_together_close(&m->together);
    for (size_t i = 1; m->texts != NULL && i < m->count; i++)
        takt_generator_destroy(m->texts[i]);
    takt_mem_put(ctx, m->texts, m->count * sizeof(takt_generator *));
    takt_mem_put(ctx, m->rows, m->count * sizeof *m->rows);
    takt_mem_put(ctx, m->ids, m->count * sizeof *m->ids);
    takt_mem_put(ctx, m->parts, m->count * sizeof *m->parts);
    takt_mem_put(ctx, m, sizeof *m);
    g->many = NULL;
}

/* ---- writing ---- */

typedef struct task {
    takt_many *m;
    const char *const *prompts;
    size_t count, next; /* next: the first that has not begun */
    const takt_generate_options *options;
    takt_many_fn *sink;
    void *user;
    takt_generated *results; /* may be NULL */
    bool is_stopped;         /* all texts end */
    bool is_full;            /* a text waits for the pool, and so do those after it */
} task;

static int put(void *user, const char *text, size_t length)
{
    const row *r = user;
    const int answer = r->sink(r->user, r->index, text, length);
    *r->stops = *r->stops || answer < 0;
    return answer;
}

/* The maximum number of tokens of a text, plus one that is written while it is inactive. A text
 * without its own limit may use the whole pool. */
static takt_status set_worst(row *r)
{
    takt_writing *w = &r->w;
    const takt_kv_layout *l = &w->g->engine.kv->layout;
    const size_t context = (size_t)w->g->context, all = l->blocks * l->tokens;
    const size_t limit = all >= context ? context : all - 1, most = w->options.max_tokens;
    const size_t rest = w->prompt_count < limit ? limit - w->prompt_count : 0;
    if (limit < context && (rest == 0 || most > rest))
        return takt_fail(w->g->engine.ctx, TAKT_E_ARGUMENT,
                         "%zu tokens of the prompt and %zu more; the pool of caches has room for "
                         "%zu",
                         w->prompt_count, most > 0 ? most : 1, limit);
    if (limit < context && most == 0)
        w->options.max_tokens = rest;
    r->waits = w->prompt_count + (most > 0 && most < rest ? most : rest) + 1;
    return TAKT_OK;
}

static takt_status begin(task *t, size_t slot)
{
    takt_many *m = t->m;
    row *r = &m->rows[slot];
    *r = (row){.sink = t->sink,
               .user = t->user,
               .index = t->next++,
               .is_busy = true,
               .stops = &t->is_stopped};
    takt_generator_reset(m->texts[slot]);
    TAKT_TRY(takt_writing_begin(&r->w, m->texts[slot], t->options, put, r));
    TAKT_TRY(takt_writing_prompt(&r->w, t->prompts[r->index]));
    return m->texts[slot]->engine.kv != NULL ? set_worst(r) : TAKT_OK;
}

/* Gives a text that waits its part of the pool, if there is room. */
static takt_status admit(task *t, row *r)
{
    takt_writing *w = &r->w;
    t->is_full = !takt_kv_fits(w->g->engine.kv, w->prompt, w->prompt_count, r->waits);
    if (t->is_full)
        return TAKT_OK;
    TAKT_TRY(takt_kv_admit(w->g, w->prompt, w->prompt_count, r->waits));
    r->waits = 0;
    return takt_writing_reuse(w);
}

/* The end of a text's part of the pool. */
static takt_status release(const row *r)
{
    return r->w.g->engine.kv != NULL && r->waits == 0 ? takt_kv_release(r->w.g) : TAKT_OK;
}

static takt_status finish(const task *t, row *r)
{
    takt_writing_finish(&r->w);
    if (t->results != NULL)
        t->results[r->index] = r->w.result;
    takt_status status = takt_generator_settle(r->w.g);
    if (status == TAKT_OK)
        status = release(r);
    takt_writing_end(&r->w);
    r->is_busy = false;
    return status;
}

/* Each text reads its last token. */
static takt_status read_all(takt_many *m)
{
    size_t left = 0;
    for (size_t i = 0; i < m->count; i++) {
        if (m->ids[i] >= 0 && takt_generator_accept(m->texts[i], m->ids[i])) {
            m->rows[i].w.result.accepted++;
            m->ids[i] = -1;
        }
        left += m->ids[i] >= 0;
    }
    const takt_ctx *ctx = m->texts[0]->engine.ctx;
    const uint64_t begin = ctx->now_ns(ctx->clock_user);
    const bool at_once = left > 1 && m->together.texts != NULL;
    if (at_once)
        TAKT_TRY(takt_together_read(&m->together, m->ids));
    for (size_t i = 0; i < m->count && !at_once; i++)
        if (m->ids[i] >= 0)
            TAKT_TRY(takt_writing_read(&m->rows[i].w, m->ids[i]));
    const double ns = (double)(ctx->now_ns(ctx->clock_user) - begin);
    for (size_t i = 0; i < m->count; i++)
        if (m->parts[i].is_next)
            takt_writing_took(&m->rows[i].w, 1, ns);
        else if (m->ids[i] >= 0)
            m->rows[i].w.result.ns += ns;
    return TAKT_OK;
}

/* The error of the context, with the prompt that caused it. */
static takt_status name(const row *r, takt_status status)
{
    takt_error *error = &r->w.g->engine.ctx->error;
    char text[sizeof error->message];
    if (status == TAKT_OK)
        return TAKT_OK;
    (void)snprintf(text, sizeof text, "prompt %zu: %.*s", r->index + 1, (int)sizeof text - 40,
                   error->message);
    memcpy(error->message, text, sizeof text);
    return status;
}

/* Parts of prompts that were left for one run. */
static takt_status read_parts(takt_many *m)
{
    if (m->together.texts == NULL)
        return TAKT_OK;
    takt_together_read_parts(&m->together, m->parts, m->count);
    for (size_t i = 0; i < m->count; i++) {
        const takt_together_part part = m->parts[i];
        m->parts[i] = (takt_together_part){.is_next = part.is_next};
        if (!part.is_done)
            continue;
        TAKT_TRY(name(&m->rows[i], part.status));
        takt_writing_took(&m->rows[i].w, part.count, part.ns);
    }
    return TAKT_OK;
}

/* Whether the prompt begins like one whose part was left: it takes that over once it is read. */
static bool is_led(const takt_many *m, const row *r)
{
    enum { WORTH = 16 }; /* tokens */
    for (size_t i = 0; i < m->count; i++) {
        const takt_writing *w = &m->rows[i].w;
        size_t same = 0;
        while (m->parts[i].count > 0 && same < w->prompt_count && same < r->w.prompt_count &&
               w->prompt[same] == r->w.prompt[same])
            same++;
        if (same > w->prompt_read && same >= WORTH)
            return true;
    }
    return false;
}

/* Gives a text its part of the pool, after the texts before it have read the common prefix. */
static takt_status admit_next(task *t, row *r)
{
    if (is_led(t->m, r))
        TAKT_TRY(read_parts(t->m));
    return name(r, admit(t, r));
}

/* A text writes a token, or leaves a part of its prompt for one run. */
static takt_status go_on(task *t, size_t i)
{
    takt_many *m = t->m;
    row *r = &m->rows[i];
    takt_together_part *part = &m->parts[i];
    if (m->together.texts != NULL && takt_writing_part(&r->w, &part->ids, &part->count))
        return TAKT_OK;
    part->count = 0;
    TAKT_TRY(name(r, takt_writing_half(&r->w, &m->ids[i])));
    return r->w.is_over ? finish(t, r) : TAKT_OK;
}

/* One round: free slots take prompts, each text makes a step. */
static takt_status step(task *t, bool *is_over)
{
    takt_many *m = t->m;
    *is_over = true;
    for (size_t i = 0; i < m->count; i++) {
        row *r = &m->rows[i];
        m->ids[i] = -1;
        m->parts[i] = (takt_together_part){.count = 0};
        if (!r->is_busy && t->next < t->count && !t->is_stopped && !t->is_full)
            TAKT_TRY(name(r, begin(t, i)));
        if (r->is_busy && r->waits > 0)
            TAKT_TRY(admit_next(t, r));
        if (!r->is_busy)
            continue;
        *is_over = false;
        if (r->waits > 0)
            continue;
        TAKT_TRY(go_on(t, i));
    }
    if (m->together.texts != NULL)
        takt_together_join_next(&m->together, m->parts, m->ids);
    TAKT_TRY(read_parts(m));
    return read_all(m);
}

/* A text that ends because all do. */
static void stop(const task *t, row *r)
{
    takt_writing_finish(&r->w);
    r->w.result.end = TAKT_TEXT_STOP;
    if (t->results != NULL)
        t->results[r->index] = r->w.result;
}

/* Joint runs end at once, runs of a single text with the round. */
static takt_status check_cancel(const takt_generator *g)
{
    if (atomic_load(&g->cancel) != atomic_load(&g->calls))
        return TAKT_OK;
    return takt_fail(g->engine.ctx, TAKT_E_CANCELLED, "the texts were cancelled");
}

static takt_status write_all(task *t)
{
    takt_many *m = t->m;
    takt_status status = TAKT_OK;
    bool is_over = t->count == 0;
    while (!is_over && !t->is_stopped && status == TAKT_OK) {
        status = check_cancel(m->texts[0]);
        if (status == TAKT_OK)
            status = step(t, &is_over);
    }
    for (size_t i = 0; i < m->count; i++) {
        row *r = &m->rows[i];
        if (r->is_busy && status == TAKT_OK)
            stop(t, r);
        if (r->is_busy) { /* after a failure, or all were stopped */
            const takt_status freed = release(r);
            status = status != TAKT_OK ? status : freed;
            takt_writing_end(&r->w);
        }
        r->is_busy = false;
        m->parts[i] = (takt_together_part){.count = 0}; /* a round that failed left some */
        takt_generator_reset(m->texts[i]);
    }
    return status;
}

takt_status takt_generate_many(takt_generator *g, const takt_prompts *prompts,
                               const takt_generate_options *options, takt_many_fn *sink, void *user,
                               takt_generated *results)
{
    takt_generate_options how;
    TAKT_NEED(NULL, g);
    takt_ctx *ctx = g->engine.ctx;
    TAKT_NEED(ctx, prompts);
    TAKT_NEED(ctx, sink);
    for (size_t i = 0; i < prompts->count; i++)
        if (prompts->at == NULL || prompts->at[i] == NULL)
            return takt_fail(ctx, TAKT_E_ARGUMENT, "takt_generate_many: prompt %zu is NULL", i);
    TAKT_TRY(takt_options_read(ctx, "takt_generate_options", options, &how, sizeof how));
    how.reuse = false;
    if (g->many == NULL)
        TAKT_TRY(takt_many_open(g, 1));
    if (g->many->count > 1) { /* a draft has one cache, and runs are shared anyway */
        how.draft = NULL;
        how.lookup = false;
    }
    const bool begun = takt_generator_begin(g);
    const takt_status status = write_all(&(task){.m = g->many,
                                                 .prompts = prompts->at,
                                                 .count = prompts->count,
                                                 .options = &how,
                                                 .sink = sink,
                                                 .user = user,
                                                 .results = results});
    return takt_generator_end(g, begun, status);
}
