/* datalog_run.c - semi-naive evaluation to the least fixed point.
 *
 * Rows of a derived relation are kept in the order in which they were found, so that the rows of
 * the last round are a range. Indexes get the rows of a round after it, so that a round is the same
 * however its joins are divided. At the end rows are sorted in ascending order.
 *
 * With a pivot, rounds run for a few of its values at a time: the table then has few rows and stays
 * in the cache.
 */
#include <string.h>

#include "op/util/datalog_machine.h"

static void run_paths(takt_dl_machine *m, int first, int end)
{
    for (int i = first; i < end && m->full.relation < 0; i++)
        takt_dl_join_shared(m, &m->plan->paths[i]);
}

/* The new rows become the next round's range; false if there are none. */
static bool advance(takt_dl_machine *m)
{
    bool goes_on = false;
    for (int i = 0; i < m->plan->program->derived; i++) {
        takt_dl_set *s = &m->set[i];
        takt_dl_link_shared(m, s, s->to, s->count);
        s->from = s->to;
        s->to = s->count;
        goes_on = goes_on || s->to > s->from;
    }
    return goes_on;
}

void takt_dl_rounds(takt_dl_machine *m)
{
    for (; m->full.relation < 0 && advance(m); m->full.round++)
        run_paths(m, m->path_first, m->path_end);
}

size_t takt_dl_width(size_t taken, size_t made)
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

size_t takt_dl_seeds_end(const takt_dl_machine *m, const takt_dl_seeds *seeds, size_t first,
                         size_t width)
{
    const size_t arity = m->set[0].arity, left = seeds->end - first;
    const uint32_t *value = seeds->rows + m->pivot;
    size_t end = first + (width < left ? width : left);
    while (end < seeds->end && value[end * arity] == value[(end - 1) * arity])
        end++;
    return end;
}

/* With the first column as pivot, the rows found each time are sorted at once. */
void takt_dl_follow(takt_dl_machine *m, const takt_dl_seeds *seeds)
{
    takt_dl_set *s = &m->set[0];
    for (size_t i = seeds->first, width = 1; i < seeds->end && m->full.relation < 0;) {
        const size_t first = i, end = takt_dl_seeds_end(m, seeds, first, width);
        takt_dl_renew(s);
        m->full.round = 0;
        for (; i < end; i++)
            takt_dl_add(m, 0, seeds->rows + i * s->arity);
        takt_dl_rounds(m);
        const size_t made = s->count - s->first;
        if (m->full.relation < 0 && s->count > s->capacity - (seeds->end - i))
            m->full.relation = 0;
        else if (m->full.relation < 0 && seeds->sort != NULL &&
                 !takt_dl_sort(&(takt_dl_rows){s->own + s->first * s->arity, seeds->sort->room,
                                               seeds->sort->counts, made, s->arity, m->poll}))
            stop(m);
        width = takt_dl_width(i - first, made);
    }
}

/* Rows derived by the rules without recursion are seeds. They are sorted by the pivot; then a few
 * of its values are followed at a time. The remaining seeds take the end of the room: they are
 * results as well, so the rest of it is enough unless there are too many results. True: the results
 * are in the room, unordered. */
static bool run_pivot(takt_dl_machine *m, const takt_dl_rows *rows)
{
    takt_dl_set *s = &m->set[0];
    const size_t pivot = (size_t)m->pivot, seeds = s->count;
    uint32_t *seed = rows->room + (s->capacity - seeds) * s->arity;
    const bool is_sorted = m->plan->is_closure && pivot == 0; /* like the input */
    if (!is_sorted && !takt_dl_sort_by(rows, pivot, pivot + 1)) {
        stop(m);
        return false;
    }
    s->count = s->to = 0;
    if (m->pool != NULL && seeds > 1)
        return takt_dl_follow_shared(m, s->own, seeds, rows->room);
    memcpy(seed, s->own, seeds * s->arity * sizeof *s->own);
    takt_dl_follow(m, &(takt_dl_seeds){seed, 0, seeds, pivot == 0 ? rows : NULL});
    return false;
}

/* The sum of squared counts of the values in a column of pairs: how much groups differ. */
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

/* A closure is computed from the side whose groups are more even; returns the index that only the
 * other side needs. */
static int choose_side(takt_dl_machine *m, uint32_t *room)
{
    const takt_dl_path *sides = &m->plan->paths[m->path_end - 2];
    const takt_dl_set *s = &m->set[1];
    const size_t size = s->capacity < m->set[0].capacity ? s->capacity : m->set[0].capacity;
    if (size > 0)
        m->pivot = spread(s, 1, room, size) < spread(s, 0, room, size);
    m->path_first = m->path_end - 2 + m->pivot;
    m->path_end = m->path_first + 1;
    return sides[1 - m->pivot].step[1].index;
}

/* The first rows of a closure are those of its input, which are distinct, so no table is needed to
 * check. */
static void seed_closure(takt_dl_machine *m)
{
    takt_dl_set *s = &m->set[0];
    const takt_dl_set *of = &m->set[1];
    if (of->count > s->capacity) {
        m->full.relation = 0;
        return;
    }
    memcpy(s->own, of->rows, of->count * 2 * sizeof *s->own);
    s->count = of->count;
}

/* Sorts rows in ascending order, then fills up with empty rows. With `is_away` they are in the
 * room. */
static void finish(takt_dl_machine *m, int relation, const takt_dl_rows *room, bool is_away)
{
    const takt_dl_set *s = &m->set[relation];
    const bool has_table = !m->is_local && takt_dl_sorts_in_table(s->arity);
    uint32_t *to = has_table ? (uint32_t *)s->table : room->room; /* no row is looked up any more */
    const takt_dl_rows rows = {s->own, to, room->counts, s->count, s->arity, m->poll};
    const bool is_sorted = m->pivot == 0 && !is_away;
    if (s->bits != NULL)
        takt_dl_bits_rows(m, s, room->counts);
    else if (!is_sorted && !takt_dl_sort_shared(m, &rows, is_away ? rows.room : rows.rows))
        stop(m);
    takt_dl_clear(m, s->own + s->count * s->arity, 0xff,
                  (s->capacity - s->count) * s->arity * sizeof *s->own);
}

/* Words of a derived relation. */
static size_t words(const takt_dl_set *s)
{
    return s->capacity * s->arity;
}

/* The derived relation with the most. */
static const takt_dl_set *largest(const takt_dl_machine *m)
{
    const takt_dl_set *most = &m->set[0];
    for (int i = 1; i < m->plan->program->derived; i++)
        most = words(&m->set[i]) > words(most) ? &m->set[i] : most;
    return most;
}

takt_dl_full takt_dl_run(const takt_dl_plan *plan, const uint32_t *const *in, uint32_t *const *out,
                         void *scratch, const takt_poll *poll, takt_pool *pool)
{
    char *at = scratch;
    bool is_away = false;
    int unused = -1;
    takt_dl_machine m = {.plan = plan,
                         .full.relation = -1,
                         .left = plan->budget,
                         .path_first = plan->first_count,
                         .path_end = plan->path_count,
                         .pivot = plan->is_closure ? 0 : plan->pivot,
                         .is_local = plan->is_closure || plan->pivot >= 0,
                         .pool = plan->workers > 1 && takt_pool_threads(pool) > 1 ? pool : NULL,
                         .poll = poll};
    takt_dl_begin(&m, in, out, &at);
    const takt_dl_set *most = largest(&m);
    takt_dl_rows room = {.room = takt_dl_carve(&at, takt_dl_room_words(plan)),
                         .counts = takt_dl_carve(&at, TAKT_DL_COUNTS),
                         .poll = poll};
    if (plan->is_closure)
        unused = choose_side(&m, room.room);
    takt_dl_hire(&m, &at);
    m.room = most->own; /* no rows are there yet */
    m.room_counts = room.counts;
    m.room_words = words(most);
    takt_dl_begin_indexes(&m, unused, &at);
    if (plan->is_closure)
        seed_closure(&m);
    else
        run_paths(&m, 0, plan->first_count);
    if (m.is_local && m.full.relation < 0) {
        room.rows = m.set[0].own;
        room.count = m.set[0].count;
        room.arity = m.set[0].arity;
        is_away = run_pivot(&m, &room);
    } else {
        takt_dl_rounds(&m);
    }
    for (int i = 0; i < plan->program->derived && m.full.relation < 0; i++)
        finish(&m, i, &room, is_away);
    if (m.is_local && m.set[0].capacity >= TAKT_DL_LARGE)
        m.full.round = 0; /* which group runs out of room is left to chance */
    return m.full;
}
