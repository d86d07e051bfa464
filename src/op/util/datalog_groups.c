/* datalog_groups.c - multi-threaded rules with a pivot: workers take a few of its values at a time
 * and follow them in separate tables.
 *
 * With the first column as pivot, a worker also sorts the rows of its group, which are in its
 * cache, and notes where they are: at the end groups only need to be copied in order. The notes lie
 * at the end of the relation, if there is room. */
#include <string.h>

#include "op/util/datalog_machine.h"

typedef struct groups {
    takt_dl_machine *m;
    takt_dl_seeds seeds;
    uint32_t *to;
    size_t capacity;
    uint32_t *notes; /* of every seed: where the rows of the group that it begins are, and how many;
                      * NULL: they are not sorted */
} groups;

/* The next unclaimed seeds; false: there are none. */
static bool take(const groups *g, takt_dl_machine *w, size_t width, size_t *first, size_t *end)
{
    *first = atomic_load_explicit(&w->shared->seed, memory_order_relaxed);
    do {
        if (*first == g->seeds.end)
            return false;
        *end = takt_dl_seeds_end(w, &g->seeds, *first, width);
    } while (!atomic_compare_exchange_weak_explicit(&w->shared->seed, first, *end,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

/* Records the positions of the rows of seeds[0] to seeds[1] - 1, and sorts them. */
static void put_in_order(const groups *g, takt_dl_machine *w, const size_t seeds[2], size_t at)
{
    const takt_dl_set *s = &w->set[0];
    const takt_dl_rows rows = {
        g->to + at * s->arity, s->own, w->counts, s->count, s->arity, w->poll};
    for (size_t k = seeds[0]; k < seeds[1]; k++)
        g->notes[2 * k + 1] = 0;
    g->notes[2 * seeds[0]] = (uint32_t)at;
    g->notes[2 * seeds[0] + 1] = (uint32_t)s->count;
    if (!takt_dl_sort(&rows))
        w->full = (takt_dl_full){.relation = 0, .is_stopped = true};
}

/* Passes rows on. */
static void hand_in(const groups *g, takt_dl_machine *w, const size_t seeds[2])
{
    const takt_dl_set *s = &w->set[0];
    const size_t first =
        atomic_fetch_add_explicit(&w->shared->count[0], s->count, memory_order_relaxed);
    if (first + s->count > g->capacity) {
        w->full.relation = 0;
        return;
    }
    memcpy(g->to + first * s->arity, s->own, s->count * s->arity * sizeof *s->own);
    if (g->notes != NULL)
        put_in_order(g, w, seeds, first);
}

/* Rows that do not fit into the worker's memory are left to a single thread that has all of it,
 * with their cost: `left` of the budget remains. */
static bool skip(takt_dl_machine *w, size_t first, size_t end, uint64_t left)
{
    takt_dl_skipped *skipped = w->skipped;
    if (w->full.relation < 0 || w->full.is_spent || w->full.is_stopped)
        return false;
    w->full.relation = -1;
    w->left = left;
    skipped->at[skipped->count].first = first;
    skipped->at[skipped->count++].end = end;
    return true;
}

static void follow_groups(void *user, size_t i, int thread)
{
    const groups *g = user;
    takt_dl_machine *w = &g->m->workers[thread];
    takt_dl_set *s = &w->set[0];
    size_t first, end, width = 1;
    (void)i;
    while (w->full.relation < 0 && w->skipped->count < TAKT_DL_SKIPPED && !takt_dl_stops(w) &&
           take(g, w, width, &first, &end)) {
        const uint64_t left = w->left;
        takt_dl_renew(s);
        s->count = s->first = s->from = s->to = 0;
        for (size_t k = first; k < end && w->full.relation < 0; k++)
            takt_dl_add(w, 0, g->seeds.rows + k * s->arity);
        takt_dl_rounds(w);
        width = takt_dl_width(end - first, s->count);
        if (!skip(w, first, end, left) && w->full.relation < 0)
            hand_in(g, w, (const size_t[]){first, end});
    }
    takt_dl_leave(w);
}

/* ---- the end ---- */

enum { MOST_PARTS = 64 };

/* Groups of a range of seeds, and where their rows begin in the relation. */
typedef struct copies {
    const groups *g;
    uint32_t *own;
    size_t parts, arity, start[MOST_PARTS];
} copies;

static void seeds_of(const copies *c, size_t part, size_t *first, size_t *end)
{
    *first = c->g->seeds.end * part / c->parts;
    *end = c->g->seeds.end * (part + 1) / c->parts;
}

static void copy_part(void *user, size_t part, int thread)
{
    const copies *c = user;
    size_t first, end, at = c->start[part];
    (void)thread;
    for (seeds_of(c, part, &first, &end); first < end; first++) {
        const size_t from = c->g->notes[2 * first], rows = c->g->notes[2 * first + 1];
        memcpy(c->own + at * c->arity, c->g->to + from * c->arity,
               rows * c->arity * sizeof *c->own);
        at += rows;
    }
}

/* All groups, in order. */
static void copy_groups(takt_dl_machine *m, const groups *g)
{
    const size_t parts = 4 * (size_t)takt_pool_threads(m->pool);
    copies c = {.g = g, .own = m->set[0].own, .arity = m->set[0].arity};
    size_t sum = 0, first, end;
    c.parts = parts < MOST_PARTS ? parts : MOST_PARTS;
    for (size_t i = 0; i < c.parts; i++) {
        c.start[i] = sum;
        for (seeds_of(&c, i, &first, &end); first < end; first++)
            sum += g->notes[2 * first + 1];
    }
    takt_pool_run(m->pool, copy_part, &c, c.parts);
}

/* Whether the workers did everything, and no row overlaps their records. */
static bool are_noted(const takt_dl_machine *m, const groups *g, int threads)
{
    const takt_dl_set *s = &m->set[0];
    bool is_good = g->notes != NULL && m->full.relation < 0 &&
                   atomic_load_explicit(&m->common->seed, memory_order_relaxed) == g->seeds.end &&
                   s->count <= s->capacity - g->seeds.end;
    for (int i = 0; i < threads && is_good; i++)
        is_good = m->workers[i].skipped->count == 0;
    return is_good;
}

bool takt_dl_follow_shared(takt_dl_machine *m, const uint32_t *seeds, size_t count, uint32_t *to)
{
    takt_dl_set *s = &m->set[0];
    takt_pool *const pool = m->pool;
    groups g = {.m = m, .seeds = {.rows = seeds, .end = count}, .to = to, .capacity = s->capacity};
    if (m->pivot == 0 && count <= s->capacity / 2)
        g.notes = s->own + (s->capacity - count) * s->arity;
    s->count = s->first = s->from = s->to = 0;
    const int threads = takt_dl_brief(m);
    takt_pool_run(m->pool, follow_groups, &g, (size_t)threads);
    takt_dl_debrief(m, threads);
    if (are_noted(m, &g, threads)) {
        copy_groups(m, &g);
        return false;
    }
    uint32_t *const own = s->own;
    s->own = to;
    s->rows = to;
    s->to = s->count;
    m->pool = NULL; /* a single thread does the rest */
    for (int i = 0; i < threads && m->full.relation < 0; i++)
        for (size_t k = 0; k < m->workers[i].skipped->count && m->full.relation < 0; k++)
            takt_dl_follow(m, &(takt_dl_seeds){seeds, m->workers[i].skipped->at[k].first,
                                               m->workers[i].skipped->at[k].end, NULL});
    const size_t left = atomic_load_explicit(&m->common->seed, memory_order_relaxed);
    if (m->full.relation < 0)
        takt_dl_follow(m, &(takt_dl_seeds){seeds, left, count, NULL});
    s->own = own;
    s->rows = own;
    m->pool = pool;
    return true;
}
