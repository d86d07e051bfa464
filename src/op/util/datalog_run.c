/* datalog_run.c - semi-naive evaluation: sets of tuples, indexes by takt_dl_chains, nested loops of
 * joins.
 *
 * Rows of a derived relation are kept in the order in which they were found, so that what the last
 * round found is a range of them. A row that is found while a round runs is seen by that round as
 * well, which does no harm: it is in the next round's range all the same. At the end rows are put
 * in ascending order.
 *
 * What is derived waits in a batch, whose places in the hash table are prefetched together: most of
 * them are in no cache.
 */
#include <string.h>

#include "op/util/datalog_machine.h"

/* Rows between two questions of the poll. */
enum { POLLED = 1 << 14 };

static bool stops(takt_dl_machine *m)
{
    if (!takt_poll_stops(m->poll))
        return false;
    m->full.is_stopped = true;
    m->full.relation = 0;
    return true;
}

/* Tables are large, and are cleared in pieces. */
static void clear(takt_dl_machine *m, void *memory, int byte, size_t bytes)
{
    enum { PIECE = 1 << 20 };
    for (size_t i = 0; i < bytes && (i == 0 || !stops(m)); i += PIECE)
        memset((char *)memory + i, byte, bytes - i < PIECE ? bytes - i : PIECE);
}

/* Rows of one or two columns are their own keys; others have their hash. */
static uint64_t key_of(const uint32_t *row, size_t arity)
{
    uint64_t h = 0;
    if (arity <= 2)
        return arity == 1 ? row[0] : (uint64_t)row[0] << 32 | row[1];
    for (size_t i = 0; i < arity; i++)
        h = takt_dl_mix(h, row[i]);
    return h == TAKT_DL_EMPTY ? 0 : h;
}

static size_t place_of(uint64_t key)
{
    key *= UINT64_C(0x9E3779B97F4A7C15);
    key ^= key >> 32;
    return (size_t)(key * UINT64_C(0xD6E8FEB86659FD93) >> 20);
}

/* ---- adding ---- */

static void link_row(takt_dl_machine *m, int relation, size_t row)
{
    const uint32_t *at = m->set[relation].rows + row * m->set[relation].arity;
    for (int i = 0; i < m->plan->index_count; i++) {
        const takt_dl_chains *c = &m->index[i];
        if (c->of->relation != relation)
            continue;
        uint32_t *head = &c->head[takt_dl_hash(at, c->of->columns) & (c->of->size - 1)];
        c->next[row] = *head;
        *head = (uint32_t)row + 1;
    }
}

static void insert(takt_dl_machine *m, const takt_dl_waiting *w)
{
    takt_dl_set *s = &m->set[w->relation];
    const size_t bytes = s->arity * sizeof *w->row;
    size_t at = w->at;
    for (; s->table[at] != TAKT_DL_EMPTY; at = (at + 1) & s->table_mask)
        if (s->table[at] == w->key &&
            (s->arity <= 2 || memcmp(s->own + s->table_row[at] * s->arity, w->row, bytes) == 0))
            return;
    if (s->count == s->capacity) {
        m->full.relation = w->relation;
        return;
    }
    if (s->arity == 2)
        memcpy(s->own + s->count * 2, w->row, 2 * sizeof *w->row);
    else
        memcpy(s->own + s->count * s->arity, w->row, bytes);
    s->table[at] = w->key;
    if (s->table_row != NULL)
        s->table_row[at] = (uint32_t)s->count;
    link_row(m, w->relation, s->count++);
}

static void flush(takt_dl_machine *m)
{
    for (size_t i = 0; i < m->batch_count && m->full.relation < 0; i++)
        insert(m, &m->batch[i]);
    m->batch_count = 0;
}

/* ---- joining ---- */

/* Whether a row agrees with what is known; binds the rest. The caller restores `bound`. */
static bool match(takt_dl_machine *m, const takt_dl_literal *l, const uint32_t *row)
{
    for (int i = 0; i < l->count; i++) {
        const takt_dl_term *t = &l->term[i];
        if (takt_dl_known(m, t)) {
            if (takt_dl_value(m, t) != row[i])
                return false;
        } else if (t->kind == TAKT_DL_VARIABLE) {
            m->value[t->value] = row[i];
            m->bound |= UINT64_C(1) << t->value;
        }
    }
    return true;
}

static bool holds(const takt_dl_machine *m, const takt_dl_literal *l)
{
    const uint32_t a = takt_dl_value(m, &l->term[0]), b = takt_dl_value(m, &l->term[1]);
    switch (l->relation) {
    case 0: return a == b;
    case 1: return a != b;
    case 2: return a < b;
    case 3: return a <= b;
    case 4: return a > b;
    default: return a >= b;
    }
}

static void join(takt_dl_machine *m, int depth);

static void try_row(takt_dl_machine *m, const takt_dl_literal *l, const uint32_t *row, int depth)
{
    const uint64_t bound = m->bound;
    if (m->left-- == 0) {
        m->left = 0;
        m->full.is_spent = true;
        m->full.relation = m->path->rule->head.relation;
        return;
    }
    if (m->left % POLLED == 0 && stops(m))
        return;
    if (match(m, l, row))
        join(m, depth + 1);
    m->bound = bound;
}

/* Where an index has what is known of the literal. */
static const uint32_t *find(const takt_dl_machine *m, const takt_dl_chains *c,
                            const takt_dl_literal *l)
{
    uint32_t key[TAKT_DL_ARITY];
    for (int i = 0; i < l->count; i++)
        key[i] = takt_dl_known(m, &l->term[i]) ? takt_dl_value(m, &l->term[i]) : 0;
    return &c->head[takt_dl_hash(key, c->of->columns) & (c->of->size - 1)];
}

/* Whether no row of an input agrees. */
static bool is_absent(takt_dl_machine *m, const takt_dl_step *s)
{
    const takt_dl_literal *l = s->literal;
    const takt_dl_set *of = &m->set[l->relation];
    const uint64_t bound = m->bound;
    bool is_there = false;
    if (s->index < 0)
        return of->count == 0;
    const takt_dl_chains *c = &m->index[s->index];
    const uint32_t *head = find(m, c, l);
    for (uint32_t row = head[0]; row < head[1] && !is_there; row++) {
        is_there = match(m, l, c->next + row * of->arity);
        m->bound = bound;
    }
    return !is_there;
}

static void emit(takt_dl_machine *m)
{
    const takt_dl_literal *head = &m->path->rule->head;
    const takt_dl_set *s = &m->set[head->relation];
    takt_dl_waiting *w = &m->batch[m->batch_count];
    w->relation = head->relation;
    for (int i = 0; i < head->count; i++)
        w->row[i] = takt_dl_value(m, &head->term[i]);
    w->key = key_of(w->row, s->arity);
    if (w->row[0] == TAKT_DL_ABSENT)
        return; /* no tuple begins so: such rows are those that hold none */
    w->at = place_of(w->key) & s->table_mask;
    __builtin_prefetch(&s->table[w->at], 1);
    if (++m->batch_count == TAKT_DL_BATCH)
        flush(m);
}

/* Rows that lie side by side. */
static void scan(takt_dl_machine *m, const takt_dl_literal *l, const uint32_t *rows, size_t count,
                 int depth)
{
    enum { FEW = 4 };
    const size_t arity = m->set[l->relation].arity;
    takt_dl_ahead ahead;
    const bool has_ahead = count >= FEW && takt_dl_look(m, l, depth, &ahead);
    for (size_t at = 0; at < count && m->full.relation < 0; at += TAKT_DL_BLOCK) {
        const size_t end = at + TAKT_DL_BLOCK < count ? at + TAKT_DL_BLOCK : count;
        if (has_ahead)
            takt_dl_prefetch(&ahead, rows + at * arity, end - at);
        for (size_t i = at; i < end && m->full.relation < 0; i++)
            try_row(m, l, rows + i * arity, depth);
    }
}

/* No deeper than a rule has literals. */
static void join(takt_dl_machine *m, int depth)
{
    if (m->full.relation >= 0)
        return;
    if (depth == m->path->count) {
        emit(m);
        return;
    }
    const takt_dl_step *s = &m->path->step[depth];
    const takt_dl_literal *l = s->literal;
    if (l->kind == TAKT_DL_COMPARE) {
        if (holds(m, l))
            join(m, depth + 1);
        return;
    }
    if (l->kind == TAKT_DL_NOT) {
        if (is_absent(m, s))
            join(m, depth + 1);
        return;
    }
    const takt_dl_set *of = &m->set[l->relation];
    if (s->index < 0) {
        const size_t from = s->is_delta ? of->from : 0, to = s->is_delta ? of->to : of->count;
        scan(m, l, of->rows + from * of->arity, to - from, depth);
        return;
    }
    const takt_dl_chains *c = &m->index[s->index];
    const uint32_t *head = find(m, c, l);
    if (c->of->has_runs) {
        scan(m, l, c->next + head[0] * of->arity, head[1] - head[0], depth);
        return;
    }
    for (uint32_t row = *head; row != 0 && m->full.relation < 0; row = c->next[row - 1])
        try_row(m, l, of->rows + (row - 1) * of->arity, depth);
}

/* ---- rounds ---- */

static void *carve(char **at, size_t count)
{
    void *block = *at;
    *at += (count * sizeof(uint32_t) + 63) & ~(size_t)63;
    return block;
}

static size_t count_rows(const uint32_t *rows, size_t arity, size_t capacity)
{
    size_t low = 0, high = capacity;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (rows[middle * arity] == TAKT_DL_ABSENT)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Puts the rows of an input beside those of the same bucket. */
static void gather(takt_dl_machine *m, const takt_dl_chains *c)
{
    const takt_dl_set *s = &m->set[c->of->relation];
    const size_t mask = c->of->size - 1;
    for (size_t row = 0; row < s->count; row++) {
        if (row % POLLED == 0 && stops(m))
            return;
        c->head[(takt_dl_hash(s->rows + row * s->arity, c->of->columns) & mask) + 2]++;
    }
    for (size_t i = 2; i < c->of->size + 2; i++)
        c->head[i] += c->head[i - 1];
    for (size_t row = 0; row < s->count; row++) {
        if (row % POLLED == 0 && stops(m))
            return;
        const uint32_t *from = s->rows + row * s->arity;
        const uint32_t to = c->head[(takt_dl_hash(from, c->of->columns) & mask) + 1]++;
        memcpy(c->next + to * s->arity, from, s->arity * sizeof *from);
    }
}

static void begin(takt_dl_machine *m, const uint32_t *const *in, uint32_t *const *out,
                  char **scratch)
{
    const takt_dl *program = m->plan->program;
    for (int i = 0; i < program->relations; i++) {
        takt_dl_set *s = &m->set[i];
        s->arity = (size_t)program->arity[i];
        s->capacity = m->plan->capacity[i];
        if (i >= program->derived) {
            s->rows = in[i - program->derived];
            s->count = count_rows(s->rows, s->arity, s->capacity);
            continue;
        }
        size_t size = 16;
        while (size < 2 * s->capacity)
            size *= 2;
        s->rows = s->own = out[i];
        s->table = carve(scratch, 2 * size);
        s->table_row = s->arity > 2 ? carve(scratch, size) : NULL;
        s->table_mask = size - 1;
        clear(m, s->table, 0xff, size * sizeof *s->table);
    }
    for (int i = 0; i < m->plan->index_count; i++) {
        takt_dl_chains *c = &m->index[i];
        c->of = &m->plan->index[i];
        c->head = carve(scratch, c->of->size + 2);
        const size_t capacity = m->plan->capacity[c->of->relation];
        const size_t columns = c->of->has_runs ? m->set[c->of->relation].arity : 1;
        c->next = carve(scratch, capacity * columns);
        clear(m, c->head, 0, (c->of->size + 2) * sizeof *c->head);
        if (c->of->has_runs && m->full.relation < 0)
            gather(m, c);
    }
}

static void run_paths(takt_dl_machine *m, int first, int end)
{
    for (int i = first; i < end && m->full.relation < 0; i++) {
        m->path = &m->plan->paths[i];
        m->bound = 0;
        join(m, 0);
        flush(m);
    }
}

/* What was found since becomes the next round's range; false if that is nothing. */
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

takt_dl_full takt_dl_run(const takt_dl_plan *plan, const uint32_t *const *in, uint32_t *const *out,
                         void *scratch, const takt_poll *poll)
{
    char *at = scratch;
    size_t most = 1;
    takt_dl_machine m = {.plan = plan, .full.relation = -1, .left = plan->budget, .poll = poll};
    begin(&m, in, out, &at);
    run_paths(&m, 0, plan->first_count);
    for (; m.full.relation < 0 && advance(&m); m.full.round++)
        run_paths(&m, plan->first_count, plan->path_count);
    for (int i = 0; i < plan->program->derived; i++) {
        const size_t rows = m.set[i].capacity * m.set[i].arity;
        most = rows > most ? rows : most;
    }
    uint32_t *room = carve(&at, most), *counts = carve(&at, TAKT_DL_COUNTS);
    for (int i = 0; i < plan->program->derived && m.full.relation < 0; i++) {
        const takt_dl_set *s = &m.set[i];
        if (!takt_dl_sort(&(takt_dl_rows){s->own, room, counts, s->count, s->arity, poll}))
            m.full.is_stopped = true;
        clear(&m, s->own + s->count * s->arity, 0xff,
              (s->capacity - s->count) * s->arity * sizeof *s->own);
    }
    return m.full;
}
