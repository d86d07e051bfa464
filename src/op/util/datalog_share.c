/* datalog_share.c - multi-threaded rules over sets of tuples.
 *
 * The rows that a rule's first literal is matched with are cut into parts. Workers join them, each
 * with private values and a batch, and add what they find to the same tables: a row of one or two
 * columns is its own key, which is stored in a free slot by one atomic exchange; other tables are
 * locked for a batch. Which worker finds a row first affects only its position until rows are
 * sorted.
 */
#include <string.h>

#include "base/size.h"
#include "op/util/datalog_machine.h"
#include "os/futex.h"

/* Minimum rows per thread, and parts of the work for each. */
enum { WORTH = 512, PARTS = 8, LEAST = 64 };

/* ---- scratch ---- */

static size_t group_slots(const takt_dl_plan *plan)
{
    size_t size = 16;
    while (size < 2 * plan->group_rows)
        size *= 2;
    return size;
}

static size_t words(size_t bytes)
{
    return (bytes + sizeof(uint32_t) - 1) / sizeof(uint32_t);
}

void takt_dl_hire(takt_dl_machine *m, char **scratch)
{
    const takt_dl_plan *plan = m->plan;
    const size_t count = plan->workers, arity = m->set[0].arity, slots = group_slots(plan);
    if (count < 2)
        return;
    m->workers = takt_dl_carve(scratch, words(count * sizeof *m->workers));
    m->common = takt_dl_carve(scratch, words(sizeof *m->common));
    m->bucket_counts = takt_dl_carve(scratch, count * TAKT_DL_BUCKETS);
    for (size_t i = 0; i < count; i++) {
        takt_dl_machine *w = &m->workers[i];
        *w = (takt_dl_machine){.plan = plan};
        w->marks = takt_dl_carve(scratch, TAKT_DL_MARKS / 2);
        w->batch = takt_dl_carve(scratch, TAKT_DL_BATCH * sizeof *w->batch / sizeof(uint32_t));
        w->counts = takt_dl_carve(scratch, TAKT_DL_COUNTS);
        memset(w->marks, 0, TAKT_DL_MARKS * sizeof *w->marks);
        if (plan->group_rows == 0)
            continue;
        w->skipped = takt_dl_carve(scratch, words(sizeof *w->skipped));
        w->set[0].own = takt_dl_carve(scratch, plan->group_rows * arity);
        w->set[0].table = takt_dl_carve(scratch, 2 * slots);
        w->set[0].table_row = arity > 2 ? takt_dl_carve(scratch, slots) : NULL;
    }
}

static bool add(size_t *total, size_t count, size_t each)
{
    size_t bytes;
    return takt_size_mul(count, each, &bytes) && takt_size_align(bytes, 64, &bytes) &&
           takt_size_add(*total, bytes, total);
}

bool takt_dl_worker_bytes(const takt_dl_plan *plan, size_t *total)
{
    const size_t count = plan->workers, arity = (size_t)plan->program->arity[0];
    if (count < 2)
        return true;
    bool is_good = add(total, count, sizeof(takt_dl_machine)) &&
                   add(total, 1, sizeof(takt_dl_shared)) &&
                   add(total, count, TAKT_DL_BUCKETS * sizeof(uint32_t));
    for (size_t i = 0; i < count && is_good; i++) {
        is_good = add(total, TAKT_DL_MARKS, sizeof(uint16_t)) &&
                  add(total, TAKT_DL_BATCH, sizeof(takt_dl_waiting)) &&
                  add(total, TAKT_DL_COUNTS, sizeof(uint32_t));
        if (plan->group_rows > 0)
            is_good = is_good && add(total, 1, sizeof(takt_dl_skipped)) &&
                      add(total, plan->group_rows * arity, sizeof(uint32_t)) &&
                      add(total, group_slots(plan), sizeof(uint64_t)) &&
                      (arity <= 2 || add(total, group_slots(plan), sizeof(uint32_t)));
    }
    return is_good;
}

/* ---- workers ---- */

/* A copy of the machine, except for a worker's private parts. */
static void brief(takt_dl_machine *m, int thread)
{
    takt_dl_machine *w = &m->workers[thread];
    const takt_dl_machine own = *w;
    *w = *m;
    w->batch = own.batch;
    w->batch_count = 0;
    w->marks = own.marks;
    w->mark = own.mark;
    w->marked_step = NULL;
    w->counts = own.counts;
    w->skipped = own.skipped;
    w->pool = NULL;
    w->workers = NULL;
    w->shared = m->common;
    if (thread != 0)
        w->poll = NULL; /* it belongs to the calling thread */
    if (w->skipped == NULL)
        return;
    w->skipped->count = 0;
    w->set[0].own = own.set[0].own;
    w->set[0].rows = own.set[0].own;
    w->set[0].table = own.set[0].table;
    w->set[0].table_row = own.set[0].table_row;
    w->set[0].capacity = m->plan->group_rows;
    w->set[0].mask_limit = group_slots(m->plan) - 1;
    w->set[0].table_mask = 63;
    w->set[0].count = w->set[0].first = w->set[0].from = w->set[0].to = 0;
}

int takt_dl_brief(takt_dl_machine *m)
{
    const int threads = takt_pool_threads(m->pool);
    takt_dl_shared *shared = m->common;
    atomic_store_explicit(&shared->is_over, 0, memory_order_relaxed);
    atomic_store_explicit(&shared->seed, 0, memory_order_relaxed);
    for (int i = 0; i < m->plan->program->derived; i++) {
        atomic_store_explicit(&shared->count[i], m->set[i].count, memory_order_relaxed);
        atomic_store_explicit(&shared->locked[i], 0, memory_order_relaxed);
    }
    for (int i = 0; i < threads; i++)
        brief(m, i);
    return threads;
}

/* The exit reason of a worker that was told to stop has the lowest priority. */
static int weight(const takt_dl_full *full)
{
    return full->relation < 0 ? 0 : full->is_stopped ? 1 : full->is_spent ? 2 : 3;
}

void takt_dl_debrief(takt_dl_machine *m, int threads)
{
    const uint64_t left = m->left;
    const size_t round = m->full.round;
    for (int i = 0; i < threads; i++) {
        const takt_dl_machine *w = &m->workers[i];
        const uint64_t used = left - w->left;
        if (weight(&w->full) > weight(&m->full))
            m->full = w->full;
        if (used > m->left && weight(&m->full) < 2)
            m->full = (takt_dl_full){.relation = w->path->rule->head.relation, .is_spent = true};
        m->left = used > m->left ? 0 : m->left - used;
    }
    m->full.round = round;
    for (int i = 0; i < m->plan->program->derived; i++) {
        const size_t count = atomic_load_explicit(&m->common->count[i], memory_order_relaxed);
        m->set[i].count = count < m->set[i].capacity ? count : m->set[i].capacity;
    }
}

void takt_dl_leave(takt_dl_machine *w)
{
    if (w->full.relation >= 0)
        atomic_store_explicit(&w->shared->is_over, 1, memory_order_relaxed);
}

/* ---- adding ---- */

static void lock(_Atomic uint32_t *locked)
{
    uint32_t no = 0;
    while (!atomic_compare_exchange_weak_explicit(locked, &no, 1, memory_order_acquire,
                                                  memory_order_relaxed)) {
        takt_spin_pause();
        no = 0;
    }
}

/* One batch after another. */
static void flush_locked(takt_dl_machine *m, int relation)
{
    takt_dl_shared *shared = m->shared;
    takt_dl_set *s = &m->set[relation];
    lock(&shared->locked[relation]);
    s->count = atomic_load_explicit(&shared->count[relation], memory_order_relaxed);
    m->shared = NULL; /* as if single-threaded */
    takt_dl_flush(m);
    m->shared = shared;
    atomic_store_explicit(&shared->count[relation], s->count, memory_order_relaxed);
    atomic_store_explicit(&shared->locked[relation], 0, memory_order_release);
}

/* True: the key was new. There is always a free slot. */
static bool claim(const takt_dl_set *s, uint64_t key, size_t at)
{
    for (;; at = (at + 1) & s->table_mask) {
        uint64_t seen = __atomic_load_n(&s->table[at], __ATOMIC_RELAXED);
        if (seen == TAKT_DL_EMPTY &&
            __atomic_compare_exchange_n(&s->table[at], &seen, key, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return true;
        if (seen == key)
            return false;
    }
}

void takt_dl_flush_shared(takt_dl_machine *m)
{
    uint32_t kept[TAKT_DL_BATCH];
    size_t fresh = 0;
    if (m->full.relation >= 0)
        m->batch_count = 0; /* a failed worker takes no more slots, or they may run out */
    if (m->batch_count == 0)
        return;
    const int relation = m->batch[0].relation; /* a path has one head */
    const takt_dl_set *s = &m->set[relation];
    if (s->is_locked) {
        flush_locked(m, relation);
        return;
    }
    for (size_t i = 0; i < m->batch_count; i++)
        if (s->bits != NULL || claim(s, m->batch[i].key, m->batch[i].at))
            kept[fresh++] = (uint32_t)i;
    m->batch_count = 0;
    const size_t first =
        atomic_fetch_add_explicit(&m->shared->count[relation], fresh, memory_order_relaxed);
    if (first + fresh > s->capacity) {
        m->full.relation = relation;
        return;
    }
    for (size_t i = 0; i < fresh; i++)
        memcpy(s->own + (first + i) * s->arity, m->batch[kept[i]].row, s->arity * sizeof *s->own);
}

/* ---- joins ---- */

typedef struct parts {
    takt_dl_machine *m;
    const takt_dl_path *path;
    const takt_dl_set *set;
    size_t first, end, each;
} parts;

static size_t cut(parts *p, int threads)
{
    const size_t rows = p->end - p->first;
    p->each = rows / ((size_t)threads * PARTS) + 1;
    p->each = p->each < LEAST ? LEAST : p->each;
    return (rows + p->each - 1) / p->each;
}

static void part_of(const parts *p, size_t i, size_t *first, size_t *end)
{
    *first = p->first + i * p->each;
    *end = p->end - *first < p->each ? p->end : *first + p->each;
}

static void join_part(void *user, size_t i, int thread)
{
    const parts *p = user;
    takt_dl_machine *w = &p->m->workers[thread];
    size_t first, end;
    part_of(p, i, &first, &end);
    if (w->full.relation >= 0 || takt_dl_stops(w))
        return;
    takt_dl_join(w, p->path, first, end);
    takt_dl_flush(w);
    takt_dl_leave(w);
}

void takt_dl_join_shared(takt_dl_machine *m, const takt_dl_path *path)
{
    parts p = {.m = m, .path = path};
    const bool has_range = takt_dl_range(m, path, &p.first, &p.end);
    if (m->pool == NULL || m->is_local || !has_range || p.end - p.first < WORTH) {
        takt_dl_join(m, path, p.first, p.end);
        takt_dl_flush(m);
        return;
    }
    m->path = path;
    const int threads = takt_dl_brief(m);
    takt_pool_run(m->pool, join_part, &p, cut(&p, threads));
    takt_dl_debrief(m, threads);
}

/* ---- indexes ---- */

/* Rows of all parts go into the same chains, in any order. */
static void link_part(void *user, size_t i, int thread)
{
    const parts *p = user;
    const takt_dl_set *s = p->set;
    size_t first, end;
    (void)thread;
    part_of(p, i, &first, &end);
    for (uint64_t linked = s->linked; linked != 0; linked &= linked - 1) {
        const takt_dl_chains *c = &p->m->index[__builtin_ctzll(linked)];
        for (size_t row = first; row < end; row++) {
            uint32_t *head = &c->head[takt_dl_bucket(c, s->rows + row * s->arity)];
            c->next[row] = __atomic_exchange_n(head, (uint32_t)row + 1, __ATOMIC_RELAXED);
        }
    }
}

void takt_dl_link_shared(takt_dl_machine *m, const takt_dl_set *s, size_t first, size_t end)
{
    parts p = {.m = m, .set = s, .first = first, .end = end};
    if (s->linked == 0)
        return;
    if (m->pool == NULL || end - first < WORTH * PARTS) {
        takt_dl_link(m, s, first, end);
        return;
    }
    const size_t count = cut(&p, takt_pool_threads(m->pool));
    takt_pool_run(m->pool, link_part, &p, count);
}
