/* datalog_run.c - semi-naive evaluation to the least fixed point.
 *
 * Rows of a derived relation are kept in the order in which they were found, so that what the last
 * round found is a range of them. A row that is found while a round runs is seen by that round as
 * well, which does no harm: it is in the next round's range all the same. At the end rows are put
 * in ascending order.
 *
 * With a pivot, rounds run for a few of its values after the other: the table then has few rows,
 * and stays in the cache.
 */
#include <string.h>

#include "op/util/datalog_machine.h"

static void run_paths(takt_dl_machine *m, int first, int end)
{
    for (int i = first; i < end && m->full.relation < 0; i++) {
        takt_dl_join(m, &m->plan->paths[i]);
        takt_dl_flush(m);
    }
}

/* The new rows become the next round's range; false if there are none. */
static bool advance(takt_dl_machine *m)
{
    bool goes_on = false;
    for (int i = 0; i < m->plan->program->derived; i++) {
        takt_dl_set *s = &m->set[i];
        s->from = s->to;
        s->to = s->count;
        goes_on = goes_on || s->to > s->from;
    }
    return goes_on;
}

static void run_rounds(takt_dl_machine *m)
{
    for (; m->full.relation < 0 && advance(m); m->full.round++)
        run_paths(m, m->path_first, m->path_end);
}

/* Seeds to begin with next, after `taken` of them have led to `made` rows: as many rows as a table
 * in the first-level cache has room for. */
static size_t next_width(size_t taken, size_t made)
{
    enum { ROWS = 1 << 11, FASTER = 4 };
    const size_t width = taken * ROWS / (made + 1) + 1;
    return width < FASTER * taken ? width : FASTER * taken;
}

static void stop(takt_dl_machine *m)
{
    m->full.is_stopped = true;
    m->full.relation = 0;
}

/* What the rules without recursion have derived are seeds. They are sorted by the pivot; then a few
 * of its values are followed at a time. With the first column as pivot what each time finds is put
 * in order at once. The seeds that are left take the end of the room: they are results as well, so
 * that the rest of it is enough unless there are too many results. */
static void run_pivot(takt_dl_machine *m, const takt_dl_rows *rows)
{
    takt_dl_set *s = &m->set[0];
    const size_t pivot = (size_t)m->pivot, seeds = s->count, arity = s->arity;
    uint32_t *seed = rows->room + (s->capacity - seeds) * arity;
    if (!takt_dl_sort_by(rows, pivot, pivot + 1)) {
        stop(m);
        return;
    }
    memcpy(seed, s->own, seeds * arity * sizeof *s->own);
    s->count = s->to = 0;
    for (size_t i = 0, width = 1; i < seeds && m->full.relation < 0;) {
        const size_t first = i;
        takt_dl_renew(s);
        m->full.round = 0;
        for (; i < seeds &&
               (i < first + width || seed[i * arity + pivot] == seed[(i - 1) * arity + pivot]);
             i++)
            takt_dl_add(m, 0, seed + i * arity);
        run_rounds(m);
        const size_t made = s->count - s->first;
        if (m->full.relation < 0 && s->count > s->capacity - (seeds - i))
            m->full.relation = 0;
        else if (m->full.relation < 0 && pivot == 0 &&
                 !takt_dl_sort(&(takt_dl_rows){s->own + s->first * arity, rows->room, rows->counts,
                                               made, arity, m->poll}))
            stop(m);
        width = next_width(i - first, made);
    }
}

/* The sum of squares of how often a value occurs in a column of pairs: how much groups differ. */
static uint64_t spread(const takt_dl_set *s, size_t column, uint32_t *counts, size_t size)
{
    uint64_t sum = 0;
    memset(counts, 0, size * sizeof *counts);
    for (size_t i = 0; i < s->count; i++)
        counts[s->rows[2 * i + column] % size]++;
    for (size_t i = 0; i < size; i++)
        sum += (uint64_t)counts[i] * counts[i];
    return sum;
}

/* A closure is followed from the side on which groups are more even. */
static void choose_side(takt_dl_machine *m, uint32_t *room)
{
    const takt_dl_set *s = &m->set[1];
    const size_t size = s->capacity < m->set[0].capacity ? s->capacity : m->set[0].capacity;
    if (size > 0)
        m->pivot = spread(s, 1, room, size) < spread(s, 0, room, size);
    m->path_first = m->path_end - 2 + m->pivot;
    m->path_end = m->path_first + 1;
}

/* Ascending order, then rows that hold nothing. */
static void finish(takt_dl_machine *m, int relation, uint32_t *room, uint32_t *counts)
{
    const takt_dl_set *s = &m->set[relation];
    const takt_dl_rows rows = {s->own, room, counts, s->count, s->arity, m->poll};
    if (m->pivot != 0 && !takt_dl_sort(&rows))
        stop(m);
    takt_dl_clear(m, s->own + s->count * s->arity, 0xff,
                  (s->capacity - s->count) * s->arity * sizeof *s->own);
}

takt_dl_full takt_dl_run(const takt_dl_plan *plan, const uint32_t *const *in, uint32_t *const *out,
                         void *scratch, const takt_poll *poll)
{
    char *at = scratch;
    size_t most = 1;
    takt_dl_machine m = {.plan = plan,
                         .full.relation = -1,
                         .left = plan->budget,
                         .path_first = plan->first_count,
                         .path_end = plan->path_count,
                         .pivot = plan->is_closure ? 0 : plan->pivot,
                         .is_local = plan->is_closure || plan->pivot >= 0,
                         .poll = poll};
    takt_dl_begin(&m, in, out, &at);
    for (int i = 0; i < plan->program->derived; i++) {
        const size_t rows = m.set[i].capacity * m.set[i].arity;
        most = rows > most ? rows : most;
    }
    uint32_t *room = takt_dl_carve(&at, most), *counts = takt_dl_carve(&at, TAKT_DL_COUNTS);
    if (plan->is_closure)
        choose_side(&m, room);
    run_paths(&m, 0, plan->first_count);
    if (m.is_local && m.full.relation < 0)
        run_pivot(
            &m, &(takt_dl_rows){m.set[0].own, room, counts, m.set[0].count, m.set[0].arity, poll});
    else
        run_rounds(&m);
    for (int i = 0; i < plan->program->derived && m.full.relation < 0; i++)
        finish(&m, i, room, counts);
    return m.full;
}
