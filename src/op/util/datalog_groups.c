/* datalog_groups.c - multi-threaded rules with a pivot: workers take a few of its values at a time
 * and follow them in separate tables. */
#include <string.h>

#include "op/util/datalog_machine.h"

typedef struct groups {
    takt_dl_machine *m;
    takt_dl_seeds seeds;
    uint32_t *to;
    size_t capacity;
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

/* Passes rows on. */
static void hand_in(const groups *g, takt_dl_machine *w)
{
    const takt_dl_set *s = &w->set[0];
    const size_t first =
        atomic_fetch_add_explicit(&w->shared->count[0], s->count, memory_order_relaxed);
    if (first + s->count > g->capacity) {
        w->full.relation = 0;
        return;
    }
    memcpy(g->to + first * s->arity, s->own, s->count * s->arity * sizeof *s->own);
}

/* Rows that do not fit the worker's room are left to a single thread that has all of it, and so is
 * their cost: `left` of the budget remains. */
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
            hand_in(g, w);
    }
    takt_dl_leave(w);
}

void takt_dl_follow_shared(takt_dl_machine *m, const uint32_t *seeds, size_t count, uint32_t *to)
{
    takt_dl_set *s = &m->set[0];
    takt_pool *const pool = m->pool;
    groups g = {.m = m, .seeds = {.rows = seeds, .end = count}, .to = to, .capacity = s->capacity};
    s->count = s->first = s->from = s->to = 0;
    const int threads = takt_dl_brief(m);
    takt_pool_run(m->pool, follow_groups, &g, (size_t)threads);
    takt_dl_debrief(m, threads);
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
}
