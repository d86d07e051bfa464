/* together_parts.c - parts of several prompts in one run.
 *
 * The texts of a run read equally many tokens: a shorter part is filled up with tokens that are
 * forgotten afterwards, and a text between others that has nothing to read forgets all of them.
 * Scores of a token depend on those before it only, so each text gets those that it has alone.
 *
 * A run over few tokens waits for the weights, and for threads; how many more tokens it could
 * compute in that time grows with the threads (bench/notes/text.md). Prompts are joined if fewer
 * are computed for nothing.
 */
#include <string.h>

#include "api/text/together.h"
#include "base/ctx.h"
#include "base/mem.h"

size_t takt_together_part_of(const takt_together *t, size_t rows)
{
    return takt_generator_rewinds(t->texts[0]) ? takt_engine_part(&t->texts[0]->engine, rows) : 0;
}

takt_status takt_together_open_parts(takt_together *t)
{
    takt_plan_info info;
    void *block;
    if (t->widths[0].most == 0)
        return TAKT_OK;
    takt_plan_query(t->widths[0].part.plan, &info);
    t->spare = (size_t)info.threads;
    for (size_t i = 0; i < t->count; i++) {
        takt_generator *g = t->texts[i];
        if (g->kept_scores != NULL)
            continue;
        TAKT_TRY(
            takt_mem_zero(g->engine.ctx, (size_t)g->vocabulary, sizeof(float), "scores", &block));
        g->kept_scores = block;
    }
    return TAKT_OK;
}

/* ---- what is joined ---- */

static bool is_member(const takt_together_part *part, size_t most)
{
    return part->count > 0 && part->count <= most && !part->is_done;
}

/* Whether `length` tokens can be written after those of a text, and one more, which is cleared
 * with them. A row of a pool without a text has one block. */
static bool has_room(const takt_generator *g, size_t length, bool reads)
{
    const takt_kv *kv = g->engine.kv;
    const size_t end = (size_t)g->position + length;
    const size_t pages = kv != NULL ? takt_kv_room(g) : 0;
    if (end > (size_t)g->context || (!reads && g->ahead > 0))
        return false;
    return kv == NULL || end < (pages > 0 ? pages : kv->layout.tokens);
}

/* Texts from `first` on in one run of that width; `gain` is negative if they cannot be. */
static takt_together_join rate(const takt_together *t, const takt_together_part *parts,
                               size_t width, size_t first)
{
    const takt_together_width *w = &t->widths[width];
    takt_together_join j = {.width = width, .first = first, .gain = -1};
    size_t tokens = 0;
    for (size_t i = first; i < first + w->rows; i++) {
        if (!is_member(&parts[i], w->most))
            continue;
        j.members++;
        tokens += parts[i].count;
        j.length = j.length > parts[i].count ? j.length : parts[i].count;
    }
    for (size_t i = first; i < first + w->rows; i++)
        if (!has_room(t->texts[i], j.length, is_member(&parts[i], w->most)))
            return j;
    if (j.members > 1)
        j.gain = (int64_t)(t->spare * (j.members - 1)) - (int64_t)(w->rows * j.length - tokens);
    return j;
}

/* The best run that has text `row`; `gain` is negative if it is best read alone. */
static takt_together_join choose(const takt_together *t, const takt_together_part *parts,
                                 size_t row)
{
    takt_together_join best = {.gain = -1};
    for (size_t k = 0; k < t->width_count; k++) {
        const size_t rows = t->widths[k].rows, last = t->count - rows;
        if (!is_member(&parts[row], t->widths[k].most))
            continue;
        for (size_t i = row + 1 < rows ? 0 : row + 1 - rows; i <= row && i <= last; i++) {
            const takt_together_join j = rate(t, parts, k, i);
            if (j.gain > best.gain)
                best = j;
        }
    }
    return best;
}

/* ---- one run ---- */

static void fill(const takt_together *t, const takt_together_join *j, takt_together_part *parts)
{
    const takt_together_width *w = &t->widths[j->width];
    memset(t->tokens, 0, w->rows * j->length * sizeof *t->tokens);
    for (size_t i = 0; i < w->rows; i++) {
        const takt_together_part *part = &parts[j->first + i];
        t->is_active[i] = is_member(part, w->most);
        t->wanted[i] = t->is_active[i] ? (int64_t)part->count - 1 : 0;
        for (size_t k = 0; t->is_active[i] && k < part->count; k++)
            t->tokens[i * j->length + k] = part->ids[k];
    }
}

/* Text `row` of a run has read its part, or nothing. It forgets the tokens after it; for a text
 * with nothing to read the state counts none of them. */
static takt_status forget(takt_generator *g, size_t length, size_t read, bool counts)
{
    g->ahead = length - read - (counts ? 0 : 1);
    return takt_generator_settle(g);
}

static takt_status take(const takt_together *t, const takt_together_join *j, size_t row,
                        const takt_together_part *part)
{
    const takt_together_width *w = &t->widths[j->width];
    takt_generator *g = t->texts[j->first + row];
    const size_t vocabulary = (size_t)g->vocabulary;
    const float *scores = takt_session_output(w->part.session, 0)->data;
    memcpy(g->history + g->position, part->ids, part->count * sizeof *part->ids);
    memcpy(g->kept_scores, scores + row * vocabulary, vocabulary * sizeof *scores);
    g->position += (int64_t)part->count;
    g->has_unread = false;
    g->scores = g->kept_scores;
    return forget(g, j->length, part->count, true);
}

takt_status takt_together_join_parts(takt_together *t, const takt_together_join *j,
                                     takt_together_part *parts)
{
    takt_together_width *w = &t->widths[j->width];
    takt_ctx *ctx = t->texts[0]->engine.ctx;
    const uint64_t begin = ctx->now_ns(ctx->clock_user);
    fill(t, j, parts);
    for (size_t i = 0; i < w->rows; i++) {
        takt_generator *g = t->texts[j->first + i];
        const takt_together_part *part = &parts[j->first + i];
        if (!t->is_active[i])
            continue;
        TAKT_TRY(takt_generator_settle(g));
        TAKT_TRY(takt_generator_check(g, part->ids, part->count));
    }
    takt_status status = takt_together_run(t, &w->part, w->rows, j->first, j->length);
    const takt_error error = ctx->error;
    const double ns = (double)(ctx->now_ns(ctx->clock_user) - begin);
    for (size_t i = 0; i < w->rows; i++) {
        takt_together_part *part = &parts[j->first + i];
        const bool reads = status == TAKT_OK && t->is_active[i];
        const takt_status done =
            reads ? take(t, j, i, part) : forget(t->texts[j->first + i], j->length, 0, false);
        if (reads || done != TAKT_OK)
            *part = (takt_together_part){.ids = part->ids,
                                         .count = part->count,
                                         .is_done = true,
                                         .together = j->members,
                                         .status = done,
                                         .ns = ns};
    }
    if (status != TAKT_OK)
        ctx->error = error;
    return status;
}

void takt_together_join_next(const takt_together *t, takt_together_part *parts, int32_t *ids)
{
    size_t readers = 0;
    for (size_t i = 0; i < t->count; i++)
        readers += ids[i] >= 0 || parts[i].count == 1;
    for (size_t i = 0; readers > 1 && i < t->count; i++) {
        if (parts[i].count != 1)
            continue;
        ids[i] = parts[i].ids[0];
        parts[i] = (takt_together_part){.is_next = true};
    }
}

static void read_single(takt_together *t, takt_together_part *part, size_t row)
{
    const takt_ctx *ctx = t->texts[0]->engine.ctx;
    const uint64_t begin = ctx->now_ns(ctx->clock_user);
    part->status = takt_generator_read(t->texts[row], part->ids, part->count);
    part->ns = (double)(ctx->now_ns(ctx->clock_user) - begin);
    part->is_done = true;
    part->together = 1;
}

/* If a joint run fails, no single text is to blame: then each is read alone. */
void takt_together_read_parts(takt_together *t, takt_together_part *parts, size_t only)
{
    bool joins = true;
    const size_t end = only < t->count ? only + 1 : t->count;
    for (size_t i = only < t->count ? only : 0; i < end; i++) {
        if (parts[i].count == 0 || parts[i].is_done)
            continue;
        const takt_together_join j = choose(t, parts, i);
        joins = joins && (j.gain < 0 || takt_together_join_parts(t, &j, parts) == TAKT_OK);
        if (!parts[i].is_done)
            read_single(t, &parts[i], i);
    }
}
