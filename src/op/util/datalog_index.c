/* datalog_index.c - rows of inputs by some of their columns.
 *
 * Rows are counted by bucket and copied to where their bucket begins, in their order: an index is
 * the same with any number of threads. Where there is room for a copy, rows are first distributed
 * to ranges of buckets, each thread some of them; then threads share the ranges, whose counts stay
 * in the cache. Without room threads share the buckets: each reads all rows and keeps its own.
 */
#include <string.h>

#include "op/util/datalog_machine.h"

/* Rows between two polls; rows for which threads are worth waking; parts. */
enum { POLLED = 1 << 14, WORTH = 1 << 12, MOST_PARTS = 64 };

typedef struct gathering {
    takt_dl_machine *m;
    takt_dl_chains *c;
    const takt_dl_set *set;
    size_t parts;
    uint32_t rows[MOST_PARTS]; /* of the buckets of each part */
    uint32_t *counts;          /* of rows by part and range */
    int shift;                 /* of a bucket to its range */
} gathering;

/* The largest value of a column of an input; of several: 0. */
static uint32_t most_of(const takt_dl_set *s, uint32_t columns)
{
    const size_t column = (size_t)__builtin_ctz(columns);
    uint32_t most = 0;
    if ((columns & (columns - 1)) != 0)
        return 0;
    for (size_t i = column == 0 && s->count > 0 ? s->count - 1 : 0; i < s->count; i++)
        most = s->rows[i * s->arity + column] > most ? s->rows[i * s->arity + column] : most;
    return most;
}

/* Values up to `most` of one column are buckets where all of them are planned for. Then the rest of
 * the memory is not touched. */
static void choose_buckets(takt_dl_chains *c, uint32_t most)
{
    c->is_direct = (c->of->columns & (c->of->columns - 1)) == 0 && most < c->of->size;
    c->size = c->is_direct ? most + 1 : (uint32_t)c->of->size;
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
    for (; end == s->count && value < (size_t)g->c->size + 2; value++)
        head[value] = (uint32_t)s->count;
    leave(g, w);
}

/* ---- rows by bucket ---- */

static void copy_row(uint32_t *to, const uint32_t *from, size_t arity)
{
    if (arity == 2)
        memcpy(to, from, 2 * sizeof *from); /* one move */
    else
        memcpy(to, from, arity * sizeof *from);
}

static void buckets_of(const gathering *g, size_t part, size_t *first, size_t *end)
{
    const size_t size = g->c->size;
    *first = size * part / g->parts;
    *end = size * (part + 1) / g->parts;
}

/* The number of rows of each bucket, stored at the next index. */
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
        copy_row(to + (size_t)head[bucket]++ * s->arity, from, s->arity);
    }
    leave(g, w);
}

/* ---- rows by range of buckets, then by bucket ---- */

static void count_ranges(void *user, size_t part, int thread)
{
    const gathering *g = user;
    const takt_dl_set *s = g->set;
    takt_dl_machine *w = worker(g, thread);
    uint32_t *counts = g->counts + part * TAKT_DL_BUCKETS;
    const size_t first = s->count * part / g->parts, end = s->count * (part + 1) / g->parts;
    memset(counts, 0, TAKT_DL_BUCKETS * sizeof *counts);
    for (size_t row = first; row < end; row++) {
        if (row % POLLED == 0 && takt_dl_stops(w))
            break;
        counts[takt_dl_bucket(g->c, s->rows + row * s->arity) >> g->shift]++;
    }
    leave(g, w);
}

/* Where each part stores its rows of a range: after those of the previous parts. */
static void place_ranges(const gathering *g)
{
    uint32_t sum = 0;
    for (size_t range = 0; range < TAKT_DL_BUCKETS; range++)
        for (size_t part = 0; part < g->parts; part++) {
            uint32_t *at = &g->counts[part * TAKT_DL_BUCKETS + range];
            const uint32_t count = *at;
            *at = sum;
            sum += count;
        }
}

static void distribute(void *user, size_t part, int thread)
{
    const gathering *g = user;
    const takt_dl_set *s = g->set;
    takt_dl_machine *w = worker(g, thread);
    uint32_t *counts = g->counts + part * TAKT_DL_BUCKETS;
    const size_t first = s->count * part / g->parts, end = s->count * (part + 1) / g->parts;
    for (size_t row = first; row < end; row++) {
        if (row % POLLED == 0 && takt_dl_stops(w))
            break;
        const uint32_t *from = s->rows + row * s->arity;
        uint32_t *at = &counts[takt_dl_bucket(g->c, from) >> g->shift];
        copy_row(g->m->room + (size_t)*at * s->arity, from, s->arity);
        ++*at;
    }
    leave(g, w);
}

/* The buckets of one range, whose rows lie between the ends of the last part's. */
static void fill_range(void *user, size_t range, int thread)
{
    const gathering *g = user;
    const size_t arity = g->set->arity, size = g->c->size;
    takt_dl_machine *w = worker(g, thread);
    const uint32_t *ends = g->counts + (g->parts - 1) * TAKT_DL_BUCKETS;
    const uint32_t first = range == 0 ? 0 : ends[range - 1], end = ends[range];
    const size_t from = range << g->shift, to = (range + 1) << g->shift;
    uint32_t *head = g->c->head + 1, sum = first;
    if (from >= size || takt_dl_stops(w))
        return;
    memset(head + from, 0, ((to < size ? to : size) - from) * sizeof *head);
    for (size_t row = first; row < end; row++)
        head[takt_dl_bucket(g->c, g->m->room + row * arity)]++;
    for (size_t i = from; i < to && i < size; i++) {
        const uint32_t count = head[i];
        head[i] = sum;
        sum += count;
    }
    for (size_t row = first; row < end; row++) {
        const uint32_t *at = g->m->room + row * arity;
        copy_row(g->c->next + (size_t)head[takt_dl_bucket(g->c, at)]++ * arity, at, arity);
    }
    leave(g, w);
}

/* ---- all of an index ---- */

static void run_parts(gathering *g, takt_task_fn *part, size_t parts)
{
    takt_dl_machine *m = g->m;
    if (m->full.relation >= 0)
        return;
    if (m->pool == NULL) {
        for (size_t i = 0; i < parts && m->full.relation < 0; i++)
            part(g, i, 0);
        return;
    }
    const int threads = takt_dl_brief(m);
    takt_pool_run(m->pool, part, g, parts);
    takt_dl_debrief(m, threads);
}

static void gather_rows(gathering *g)
{
    takt_dl_machine *m = g->m;
    const size_t size = g->c->size;
    g->counts = m->pool != NULL ? m->bucket_counts : m->room_counts;
    while ((size - 1) >> g->shift >= TAKT_DL_BUCKETS)
        g->shift++;
    if (g->set->count >= WORTH && g->set->count * g->set->arity <= m->room_words) {
        run_parts(g, count_ranges, g->parts);
        place_ranges(g);
        run_parts(g, distribute, g->parts);
        run_parts(g, fill_range, TAKT_DL_BUCKETS);
    } else {
        run_parts(g, count_part, g->parts);
        run_parts(g, move_part, g->parts);
    }
    g->c->head[0] = 0;
    g->c->head[size + 1] = (uint32_t)g->set->count;
}

/* All rows of an input. */
static void gather(takt_dl_machine *m, takt_dl_chains *c)
{
    const takt_dl_set *s = &m->set[c->of->relation];
    takt_pool *const pool = m->pool;
    gathering g = {.m = m, .c = c, .set = s, .parts = 1};
    if (s->count < WORTH)
        m->pool = NULL;
    const size_t threads = m->pool != NULL ? (size_t)takt_pool_threads(m->pool) : 1;
    g.parts = threads < MOST_PARTS ? threads : MOST_PARTS;
    if (c->rows == s->rows)
        run_parts(&g, find_runs, g.parts);
    else
        gather_rows(&g);
    m->pool = pool;
}

static void make_index(takt_dl_machine *m, int i, bool is_used, char **scratch)
{
    takt_dl_chains *c = &m->index[i];
    c->of = &m->plan->index[i];
    const takt_dl_set *s = &m->set[c->of->relation];
    const bool has_runs = c->of->has_runs;
    if (!is_used || m->full.relation >= 0)
        return;
    choose_buckets(c, has_runs ? most_of(s, c->of->columns) : takt_dl_largest_value(m));
    c->rows = has_runs && c->is_direct && c->of->columns == 1 ? s->rows : NULL;
    /* Used memory is kept contiguous, since pages are large. */
    c->head = takt_dl_carve(scratch, (size_t)c->size + 2);
    if (c->rows == NULL)
        c->next = takt_dl_carve(scratch, has_runs ? s->count * s->arity : s->capacity);
    if (has_runs) {
        c->rows = c->rows != NULL ? c->rows : c->next;
        gather(m, c);
        return;
    }
    takt_dl_clear(m, c->head, 0, ((size_t)c->size + 2) * sizeof *c->head);
    m->set[c->of->relation].linked |= UINT64_C(1) << i;
}

void takt_dl_begin_indexes(takt_dl_machine *m, int unused, char **scratch)
{
    for (int i = 0; i < m->plan->index_count; i++)
        make_index(m, i, i != unused, scratch);
}
