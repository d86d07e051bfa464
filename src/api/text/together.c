/* together.c - texts generated in a batch: one run reads a token of each. */
#include "api/text/together.h"

#include <string.h>

#include "base/ctx.h"
#include "base/mem.h"

static takt_status open_widths(takt_together *t)
{
    takt_engine *e = &t->texts[0]->engine;
    for (size_t rows = 2; t->width_count < TAKT_TOGETHER_WIDTHS; rows *= 2) {
        struct takt_together_width *w = &t->widths[t->width_count++];
        w->rows = rows < t->count ? rows : t->count;
        TAKT_TRY(takt_engine_open_rows(e, w->rows, &w->plan, &w->session));
        if (w->rows == t->count)
            break;
    }
    return TAKT_OK;
}

static takt_status open_all(takt_together *t)
{
    takt_engine *e = &t->texts[0]->engine;
    void *block;
    TAKT_TRY(takt_mem_zero(e->ctx, t->count, sizeof *t->tokens, "tokens", &block));
    t->tokens = block;
    TAKT_TRY(takt_mem_zero(e->ctx, t->count, sizeof *t->wanted, "tokens", &block));
    t->wanted = block;
    TAKT_TRY(takt_mem_zero(e->ctx, t->count, sizeof *t->is_active, "tokens", &block));
    t->is_active = block;
    TAKT_TRY(open_widths(t));
    takt_session_destroy(e->store); /* the sessions own its memory */
    takt_plan_destroy(e->wide_plan);
    e->store = NULL;
    e->wide_plan = NULL;
    return TAKT_OK;
}

takt_status takt_together_open(takt_together *t, takt_generator *const *texts, size_t count)
{
    *t = (takt_together){.texts = texts, .count = count};
    const takt_status status = open_all(t);
    if (status != TAKT_OK)
        takt_together_close(t);
    return status;
}

void takt_together_close(takt_together *t)
{
    if (t->texts == NULL)
        return;
    takt_ctx *ctx = t->texts[0]->engine.ctx;
    for (size_t i = 0; i < t->width_count; i++) {
        takt_session_destroy(t->widths[i].session);
        takt_plan_destroy(t->widths[i].plan);
    }
    takt_mem_put(ctx, t->tokens, t->count * sizeof *t->tokens);
    takt_mem_put(ctx, t->wanted, t->count * sizeof *t->wanted);
    takt_mem_put(ctx, t->is_active, t->count * sizeof *t->is_active);
    *t = (takt_together){.texts = NULL};
}

/* ---- one run ---- */

/* Inactive texts read a token like the others, into a place that is never read. */
static takt_status run(const takt_together *t, const struct takt_together_width *w)
{
    const int64_t rows = (int64_t)w->rows;
    const takt_tensor_view tokens = {
        .dtype = TAKT_I64, .rank = 2, .dims = {rows, 1}, .data = t->tokens};
    const takt_tensor_view wanted = {
        .dtype = TAKT_I64, .rank = 2, .dims = {rows, 1}, .data = t->wanted};
    const takt_tensor_view active = {
        .dtype = TAKT_BOOL, .rank = 1, .dims = {rows}, .data = t->is_active};
    takt_status status = takt_session_bind(w->session, "tokens", &tokens);
    if (status == TAKT_OK)
        status = takt_session_bind(w->session, "wanted", &wanted);
    if (status == TAKT_OK)
        status = takt_session_bind(w->session, "active", &active);
    if (status == TAKT_OK)
        status = takt_session_run(w->session);
    if (status == TAKT_OK && takt_session_output(w->session, 0) != NULL)
        return TAKT_OK;
    if (takt_session_error(w->session)->status != TAKT_OK)
        t->texts[0]->engine.ctx->error = *takt_session_error(w->session);
    return status != TAKT_OK ? status : t->texts[0]->engine.ctx->error.status;
}

/* An inactive text needs room for one token as well; a full one has ended. */
static takt_status make_room(const takt_together *t, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        takt_generator *g = t->texts[i];
        if (!t->is_active[i] && g->position >= g->context)
            takt_generator_reset(g);
        if (!t->is_active[i] && g->position + (int64_t)g->ahead >= g->context)
            TAKT_TRY(takt_generator_settle(g));
    }
    return TAKT_OK;
}

static void take(const takt_together *t, const struct takt_together_width *w, size_t row,
                 int32_t id)
{
    takt_generator *g = t->texts[row];
    const float *scores = takt_session_output(w->session, 0)->data;
    g->history[g->position++] = id;
    g->scores = scores + row * (size_t)g->vocabulary;
}

takt_status takt_together_read(takt_together *t, const int32_t *ids)
{
    size_t end = 0, count = 0, width = 0;
    for (size_t i = 0; i < t->count; i++) {
        t->is_active[i] = ids[i] >= 0;
        t->tokens[i] = ids[i] >= 0 ? ids[i] : 0;
        if (ids[i] < 0)
            continue;
        TAKT_TRY(takt_generator_settle(t->texts[i]));
        TAKT_TRY(takt_generator_check(t->texts[i], &ids[i], 1));
        end = i + 1;
        count++;
    }
    if (count == 1)
        return takt_generator_read(t->texts[end - 1], &ids[end - 1], 1);
    if (count == 0)
        return TAKT_OK;
    while (t->widths[width].rows < end)
        width++;
    const struct takt_together_width *w = &t->widths[width];
    TAKT_TRY(make_room(t, w->rows));
    TAKT_TRY(run(t, w));
    for (size_t i = 0; i < end; i++)
        if (ids[i] >= 0)
            take(t, w, i, ids[i]);
    return TAKT_OK;
}
