/* together.c - texts generated in a batch: one run reads a token of each. */
#include "api/text/together.h"

#include <string.h>

#include "api/session/session.h"
#include "base/ctx.h"
#include "base/mem.h"

static takt_status open_widths(takt_together *t)
{
    takt_engine *e = &t->texts[0]->engine;
    for (size_t rows = 2; t->width_count < TAKT_TOGETHER_WIDTHS; rows *= 2) {
        takt_together_width *w = &t->widths[t->width_count++];
        w->rows = rows < t->count ? rows : t->count;
        TAKT_TRY(takt_engine_open_rows(e, w->rows, 1, &w->token.plan, &w->token.session));
        w->most = takt_together_part_of(t, w->rows);
        if (w->most > 0)
            TAKT_TRY(takt_engine_open_rows(e, w->rows, w->most, &w->part.plan, &w->part.session));
        if (w->rows == t->count)
            break;
    }
    return TAKT_OK;
}

static takt_status open_all(takt_together *t)
{
    takt_engine *e = &t->texts[0]->engine;
    const size_t batch = (size_t)e->options.batch;
    void *block;
    t->token_room = t->count > batch ? t->count : batch;
    TAKT_TRY(takt_mem_zero(e->ctx, t->token_room, sizeof *t->tokens, "tokens", &block));
    t->tokens = block;
    TAKT_TRY(takt_mem_zero(e->ctx, t->count, sizeof *t->wanted, "tokens", &block));
    t->wanted = block;
    TAKT_TRY(takt_mem_zero(e->ctx, t->count, sizeof *t->is_active, "tokens", &block));
    t->is_active = block;
    TAKT_TRY(open_widths(t));
    TAKT_TRY(takt_together_open_parts(t));
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
        takt_session_destroy(t->widths[i].token.session);
        takt_plan_destroy(t->widths[i].token.plan);
        takt_session_destroy(t->widths[i].part.session);
        takt_plan_destroy(t->widths[i].part.plan);
    }
    takt_mem_put(ctx, t->tokens, t->token_room * sizeof *t->tokens);
    takt_mem_put(ctx, t->wanted, t->count * sizeof *t->wanted);
    takt_mem_put(ctx, t->is_active, t->count * sizeof *t->is_active);
    *t = (takt_together){.texts = NULL};
}

/* ---- one run ---- */

/* Inactive texts read tokens like the others, into places that are never read. */
takt_status takt_together_run(const takt_together *t, takt_together_plan *p, size_t rows,
                              size_t first, size_t length)
{
    takt_session *s = p->session;
    const takt_tensor_view tokens = {
        .dtype = TAKT_I64, .rank = 2, .dims = {(int64_t)rows, (int64_t)length}, .data = t->tokens};
    const takt_tensor_view wanted = {
        .dtype = TAKT_I64, .rank = 2, .dims = {(int64_t)rows, 1}, .data = t->wanted};
    const takt_tensor_view active = {
        .dtype = TAKT_BOOL, .rank = 1, .dims = {(int64_t)rows}, .data = t->is_active};
    takt_session_move_part(s, p->first, first);
    p->first = first;
    takt_status status = takt_session_bind(s, "tokens", &tokens);
    if (status == TAKT_OK)
        status = takt_session_bind(s, "wanted", &wanted);
    if (status == TAKT_OK)
        status = takt_session_bind(s, "active", &active);
    const takt_generator *caller = t->texts[0];
    const uint64_t calls = atomic_load(&caller->calls);
    s->outer_cancel = calls % 2 != 0 ? &caller->cancel : NULL; /* a server cancels no run */
    s->outer_run = calls;
    if (status == TAKT_OK)
        status = takt_session_run(s);
    s->outer_cancel = NULL;
    if (status == TAKT_OK && takt_session_output(s, 0) != NULL)
        return TAKT_OK;
    if (takt_session_error(s)->status != TAKT_OK)
        t->texts[0]->engine.ctx->error = *takt_session_error(s);
    return status != TAKT_OK ? status : t->texts[0]->engine.ctx->error.status;
}

/* An inactive text needs room for one token as well; a full one has ended. */
static takt_status make_room(const takt_together *t, size_t first, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        takt_generator *g = t->texts[first + i];
        if (!t->is_active[i] && g->position >= g->context)
            takt_generator_reset(g);
        if (!t->is_active[i] && g->position + (int64_t)g->ahead >= g->context)
            TAKT_TRY(takt_generator_settle(g));
    }
    return TAKT_OK;
}

/* Texts [begin, end), of which at least the first and the last continue. */
static takt_status read_rows(takt_together *t, const int32_t *ids, size_t begin, size_t end)
{
    size_t width = 0;
    while (t->widths[width].rows < end - begin)
        width++;
    takt_together_width *w = &t->widths[width];
    const size_t last = t->count - w->rows, first = begin < last ? begin : last;
    for (size_t i = 0; i < w->rows; i++) {
        const int32_t id = ids[first + i];
        t->is_active[i] = id >= 0;
        t->tokens[i] = id >= 0 ? id : 0;
        t->wanted[i] = 0;
    }
    TAKT_TRY(make_room(t, first, w->rows));
    TAKT_TRY(takt_together_run(t, &w->token, w->rows, first, 1));
    const float *scores = takt_session_output(w->token.session, 0)->data;
    for (size_t i = 0; i < w->rows; i++) {
        takt_generator *g = t->texts[first + i];
        if (!t->is_active[i])
            continue;
        g->history[g->position++] = ids[first + i];
        g->has_unread = false;
        g->scores = scores + i * (size_t)g->vocabulary;
    }
    return TAKT_OK;
}

takt_status takt_together_read(takt_together *t, const int32_t *ids)
{
    size_t begin = t->count, end = 0;
    for (size_t i = 0; i < t->count; i++) {
        if (ids[i] < 0)
            continue;
        TAKT_TRY(takt_generator_settle(t->texts[i]));
        TAKT_TRY(takt_generator_check(t->texts[i], &ids[i], 1));
        begin = begin < i ? begin : i;
        end = i + 1;
    }
    if (end == 0)
        return TAKT_OK;
    return end - begin == 1 ? takt_generator_read(t->texts[begin], &ids[begin], 1)
                            : read_rows(t, ids, begin, end);
}
