/* datalog_index.c - rows of inputs by some of their columns.
 *
 * Rows are counted by bucket and copied to where their bucket begins, in their order. Threads share
 * the buckets, not the rows: each reads all rows and keeps those of its buckets, so that an index
 * is the same with any number of threads, and no two of them write to one place.
 */
#include <string.h>

#include "op/util/datalog_machine.h"

/* Rows between two polls; rows for which threads are worth waking; parts. */
enum { POLLED = 1 << 14, WORTH = 1 << 13, MOST_PARTS = 64 };

typedef struct gathering {
    takt_dl_machine *m;
    takt_dl_chains *c;
    const takt_dl_set *set;
    size_t parts;
    uint32_t rows[MOST_PARTS]; /* of the buckets of each part */
} gathering;

/* Whether every value of the one column is a bucket. */
static bool fits(const takt_dl_index *of, const takt_dl_set *s)
{
    const size_t column = (size_t)__builtin_ctz(of->columns);
    uint32_t most = 0;
    if ((of->columns & (of->columns - 1)) != 0)
        return false;
    for (size_t i = column == 0 && s->count > 0 ? s->count - 1 : 0; i < s->count; i++)
        most = s->rows[i * s->arity + column] > most ? s->rows[i * s->arity + column] : most;
    return most < of->size;
}

/* The worker that runs a part; without threads the machine itself. */
static takt_dl_machine *worker(const gathering *g, int thread)
{
    return g->m->pool != NULL ? &g->m->workers[thread] : g->m;
}

static void leave(const gathering *g, takt_dl_machine *w)
{
    if (g->m->pool != NULL)
        takt_dl_leave(w);
}

/* ---- rows in order of the indexed column ---- */

/* Rows are sorted by their first column, whose runs are where they are. A part writes where the
 * values end that its rows begin. */
static void find_runs(void *user, size_t part, int thread)
{
    const gathering *g = user;
    const takt_dl_set *s = g->set;
    takt_dl_machine *w = worker(g, thread);
    uint32_t *head = g->c->head;
    const size_t first = s->count * part / g->parts, end = s->count * (part + 1) / g->parts;
    size_t value = first == 0 ? 0 : (size_t)s->rows[(first - 1) * s->arity] + 1;
    for (size_t row = first; row < end; row++) {
        if (row % POLLED == 0 && takt_dl_stops(w))
            break;
        for (; value <= s->rows[row * s->arity]; value++)
            head[value] = (uint32_t)row;
    }
    for (; end == s->count && value < g->c->of->size + 2; value++)
        head[value] = (uint32_t)s->count;
    leave(g, w);
}

/* ---- rows by bucket ---- */

static void buckets_of(const gathering *g, size_t part, size_t *first, size_t *end)
{
    *first = g->c->of->size * part / g->parts;
    *end = g->c->of->size * (part + 1) / g->parts;
}

/* How many rows each bucket has, one place on. */
static void count_part(void *user, size_t part, int thread)
{
    gathering *g = user;
    const takt_dl_set *s = g->set;
    takt_dl_machine *w = worker(g, thread);
    uint32_t *head = g->c->head + 1, rows = 0;
    size_t first, end;
    buckets_of(g, part, &first, &end);
    takt_dl_clear(w, head + first, 0, (end - first) * sizeof *head);
    for (size_t row = 0; row < s->count; row++) {
        if (row % POLLED == 0 && takt_dl_stops(w))
            break;
        const size_t bucket = takt_dl_bucket(g->c, s->rows + row * s->arity);
        if (bucket - first < end - first) {
            head[bucket]++;
            rows++;
        }
    }
    g->rows[part] = rows;
    leave(g, w);
}

static void move_part(void *user, size_t part, int thread)
{
    const gathering *g = user;
    const takt_dl_set *s = g->set;
    takt_dl_machine *w = worker(g, thread);
    uint32_t *head = g->c->head + 1, *to = g->c->next, sum = 0;
    size_t first, end;
    buckets_of(g, part, &first, &end);
    for (size_t i = 0; i < part; i++)
        sum += g->rows[i];
    for (size_t i = first; i < end; i++) {
        const uint32_t count = head[i];
        head[i] = sum;
        sum += count;
    }
    for (size_t row = 0; row < s->count; row++) {
        if (row % POLLED == 0 && takt_dl_stops(w))
            break;
        const uint32_t *from = s->rows + row * s->arity;
        const size_t bucket = takt_dl_bucket(g->c, from);
        if (bucket - first >= end - first)
            continue;
        if (s->arity == 2)
            memcpy(to + (size_t)head[bucket]++ * 2, from, 2 * sizeof *from); /* one move */
        else
            memcpy(to + head[bucket]++ * s->arity, from, s->arity * sizeof *from);
    }
    leave(g, w);
}

/* ---- all of an index ---- */

static void run_parts(gathering *g, takt_task_fn *part)
{
    takt_dl_machine *m = g->m;
    if (m->pool == NULL) {
        for (size_t i = 0; i < g->parts && m->full.relation < 0; i++)
            part(g, i, 0);
        return;
    }
    const int threads = takt_dl_brief(m);
    takt_pool_run(m->pool, part, g, g->parts);
    takt_dl_debrief(m, threads);
}

static void gather(takt_dl_machine *m, takt_dl_chains *c)
{
    const takt_dl_set *s = &m->set[c->of->relation];
    takt_pool *const pool = m->pool;
    gathering g = {.m = m, .c = c, .set = s, .parts = 1};
    c->is_direct = fits(c->of, s);
    c->rows = c->is_direct && c->of->columns == 1 ? s->rows : c->next;
    if (s->count < WORTH)
        m->pool = NULL;
    const size_t threads = m->pool != NULL ? (size_t)takt_pool_threads(m->pool) : 1;
    g.parts = threads < MOST_PARTS ? threads : MOST_PARTS;
    if (c->rows == s->rows) {
        run_parts(&g, find_runs);
    } else {
        run_parts(&g, count_part);
        if (m->full.relation < 0)
            run_parts(&g, move_part);
        c->head[0] = 0;
        c->head[c->of->size + 1] = (uint32_t)s->count;
    }
    m->pool = pool;
}

static void make_index(takt_dl_machine *m, int i, bool is_used, char **scratch)
{
    takt_dl_chains *c = &m->index[i];
    c->of = &m->plan->index[i];
    c->head = takt_dl_carve(scratch, c->of->size + 2);
    const size_t columns = c->of->has_runs ? m->set[c->of->relation].arity : 1;
    c->next = takt_dl_carve(scratch, m->plan->capacity[c->of->relation] * columns);
    if (!is_used || m->full.relation >= 0)
        return;
    if (c->of->has_runs) {
        gather(m, c);
        return;
    }
    takt_dl_clear(m, c->head, 0, (c->of->size + 2) * sizeof *c->head);
    m->set[c->of->relation].linked |= UINT64_C(1) << i;
}

void takt_dl_begin_indexes(takt_dl_machine *m, int unused, char **scratch)
{
    for (int i = 0; i < m->plan->index_count; i++)
        make_index(m, i, i != unused, scratch);
}
