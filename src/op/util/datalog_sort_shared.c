/* datalog_sort_shared.c - multi-threaded sort of tuples in ascending order: rows go to buckets by
 * ranges of their first column, then every bucket is sorted separately. */
#include <string.h>

#include "op/util/datalog_machine.h"

enum { WORTH = 1 << 13 };

typedef struct split {
    takt_dl_machine *m;
    const takt_dl_rows *r;
    const uint32_t *from;
    uint32_t *to;
    size_t parts, each; /* rows of a part, which has its own counts */
    uint32_t low;
    uint64_t scale; /* bucket of a value above the lowest, with 32 fractional bits */
    uint32_t start[TAKT_DL_BUCKETS + 1];
    _Atomic uint32_t is_stopped;
} split;

static size_t bucket_of(const split *p, const uint32_t *row)
{
    return (size_t)((row[0] - p->low) * p->scale >> 32);
}

static uint32_t *counts_of(const split *p, size_t part)
{
    return p->m->bucket_counts + part * TAKT_DL_BUCKETS;
}

static size_t part_end(const split *p, size_t part)
{
    const size_t end = (part + 1) * p->each;
    return end < p->r->count ? end : p->r->count;
}

/* The poll belongs to the calling thread. */
static bool stops(split *p, int thread)
{
    if (thread == 0 && takt_poll_stops(p->r->poll))
        atomic_store_explicit(&p->is_stopped, 1, memory_order_relaxed);
    return atomic_load_explicit(&p->is_stopped, memory_order_relaxed) != 0;
}

/* The lowest and the highest value: the first two counts of the part. */
static void find_range(void *user, size_t part, int thread)
{
    split *p = user;
    uint32_t low = UINT32_MAX, high = 0, *counts = counts_of(p, part);
    for (size_t i = part * p->each; i < part_end(p, part) && !stops(p, thread);) {
        const size_t end = i + WORTH < part_end(p, part) ? i + WORTH : part_end(p, part);
        for (; i < end; i++) {
            const uint32_t value = p->from[i * p->r->arity];
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
    }
    counts[0] = low;
    counts[1] = high;
}

static void count_rows(void *user, size_t part, int thread)
{
    split *p = user;
    uint32_t *counts = counts_of(p, part);
    memset(counts, 0, TAKT_DL_BUCKETS * sizeof *counts);
    for (size_t i = part * p->each; i < part_end(p, part) && !stops(p, thread);) {
        const size_t end = i + WORTH < part_end(p, part) ? i + WORTH : part_end(p, part);
        for (; i < end; i++)
            counts[bucket_of(p, p->from + i * p->r->arity)]++;
    }
}

/* Turns counts into positions. */
static void place(split *p)
{
    uint32_t sum = 0;
    for (size_t b = 0; b < TAKT_DL_BUCKETS; b++) {
        p->start[b] = sum;
        for (size_t part = 0; part < p->parts; part++) {
            uint32_t *count = &counts_of(p, part)[b];
            const uint32_t here = *count;
            *count = sum;
            sum += here;
        }
    }
    p->start[TAKT_DL_BUCKETS] = sum;
}

static void move_rows(void *user, size_t part, int thread)
{
    split *p = user;
    const size_t arity = p->r->arity;
    uint32_t *places = counts_of(p, part);
    for (size_t i = part * p->each; i < part_end(p, part) && !stops(p, thread);) {
        const size_t end = i + WORTH < part_end(p, part) ? i + WORTH : part_end(p, part);
        for (; i < end; i++) {
            const uint32_t *row = p->from + i * arity;
            uint32_t *to = p->to + (size_t)places[bucket_of(p, row)]++ * arity;
            if (arity == 2)
                memcpy(to, row, 2 * sizeof *to); /* one move */
            else
                memcpy(to, row, arity * sizeof *to);
        }
    }
}

static void sort_bucket(void *user, size_t b, int thread)
{
    split *p = user;
    const size_t arity = p->r->arity, first = p->start[b] * arity,
                 count = p->start[b + 1] - p->start[b];
    const takt_dl_rows rows = {p->r->rows + first,
                               p->r->room + first,
                               p->m->workers[thread].counts,
                               count,
                               arity,
                               thread == 0 ? p->r->poll : NULL};
    if (count == 0 || stops(p, thread))
        return;
    if (p->to != p->r->rows)
        memcpy(rows.rows, p->to + first, count * arity * sizeof *rows.rows);
    if (!takt_dl_sort(&rows))
        atomic_store_explicit(&p->is_stopped, 1, memory_order_relaxed);
}

static void set_scale(split *p)
{
    uint32_t high = 0;
    p->low = UINT32_MAX;
    for (size_t part = 0; part < p->parts; part++) {
        const uint32_t *range = counts_of(p, part);
        p->low = range[0] < p->low ? range[0] : p->low;
        high = range[1] > high ? range[1] : high;
    }
    p->scale = ((uint64_t)TAKT_DL_BUCKETS << 32) / ((uint64_t)high - p->low + 1);
}

bool takt_dl_sort_shared(takt_dl_machine *m, const takt_dl_rows *r, const uint32_t *from)
{
    if (m->pool == NULL || r->count < WORTH) {
        if (from != r->rows && r->count > 0)
            memcpy(r->rows, from, r->count * r->arity * sizeof *from);
        return takt_dl_sort(r);
    }
    split p = {.m = m, .r = r, .from = from, .to = from == r->rows ? r->room : r->rows};
    p.parts = (size_t)takt_pool_threads(m->pool);
    p.each = (r->count + p.parts - 1) / p.parts;
    takt_pool_run(m->pool, find_range, &p, p.parts);
    set_scale(&p);
    if (atomic_load(&p.is_stopped) == 0)
        takt_pool_run(m->pool, count_rows, &p, p.parts);
    place(&p);
    if (atomic_load(&p.is_stopped) == 0)
        takt_pool_run(m->pool, move_rows, &p, p.parts);
    if (atomic_load(&p.is_stopped) == 0)
        takt_pool_run(m->pool, sort_bucket, &p, TAKT_DL_BUCKETS);
    return atomic_load(&p.is_stopped) == 0;
}
