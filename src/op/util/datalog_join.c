/* datalog_join.c - one evaluation order of a rule's body: nested loops over rows found by
 * indexes. */
#include "op/util/datalog_machine.h"

/* Rows between two polls; rows whose indexes are prefetched at a time, and the minimum count for
 * that. */
enum { POLLED = 1 << 14, BLOCK = 32, FEW = 4 };

bool takt_dl_charge(takt_dl_machine *m, size_t rows)
{
    if (m->left < rows) {
        m->left = 0;
        m->full.is_spent = true;
        m->full.relation = m->path->rule->head.relation;
        return false;
    }
    m->left -= rows;
    m->unpolled += rows;
    if (m->unpolled < POLLED)
        return true;
    m->unpolled = 0;
    return !takt_dl_stops(m);
}

/* Whether a row agrees with the known values; binds the rest. */
static bool match(takt_dl_machine *m, const takt_dl_step *s, const uint32_t *row)
{
    for (int i = 0; i < s->key.count; i++)
        if (row[s->key.at[i].column] != m->value[s->key.at[i].value])
            return false;
    for (int i = 0; i < s->bind.count; i++)
        m->value[s->bind.at[i].value] = row[s->bind.at[i].column];
    for (int i = 0; i < s->same.count; i++)
        if (row[s->same.at[i].column] != m->value[s->same.at[i].value])
            return false;
    return true;
}

static bool holds(const takt_dl_machine *m, const takt_dl_step *s)
{
    const uint32_t a = m->value[s->key.at[0].value], b = m->value[s->key.at[1].value];
    switch (s->literal->relation) {
    case 0: return a == b;
    case 1: return a != b;
    case 2: return a < b;
    case 3: return a <= b;
    case 4: return a > b;
    default: return a >= b;
    }
}

/* Position in an index of the known values of the step's literal. */
static const uint32_t *find(const takt_dl_machine *m, const takt_dl_step *s)
{
    const takt_dl_chains *c = &m->index[s->index];
    uint64_t h = 0;
    if (s->key.count == 1 || s->is_pair)
        return &c->head[takt_dl_bucket_of(c, m->value[s->key.at[0].value])];
    for (int i = 0; i < s->key.count; i++)
        h = takt_dl_mix(h, m->value[s->key.at[i].value]);
    return &c->head[(size_t)(h >> 16) & (c->size - 1)];
}

/* ---- prefetching ---- */

/* The bucket that the next step finds after this row. */
static const uint32_t *next_of(const takt_dl_machine *m, const takt_dl_step *s, const uint32_t *row)
{
    const takt_dl_chains *c = &m->index[s[1].index];
    uint64_t h = 0;
    for (int i = 0; i < s[1].key.count; i++) {
        const uint32_t x = s->next[i] >= 0 ? row[s->next[i]] : m->value[s[1].key.at[i].value];
        if (c->is_direct || s[1].is_pair)
            return &c->head[takt_dl_bucket_of(c, x)];
        h = takt_dl_mix(h, x);
    }
    return &c->head[(size_t)(h >> 16) & (c->size - 1)];
}

/* Prefetches what the next step reads for a block of rows: it is not in any cache. */
static void prefetch(const takt_dl_machine *m, const takt_dl_step *s, const uint32_t *rows,
                     size_t count)
{
    const takt_dl_chains *c = &m->index[s[1].index];
    const takt_dl_set *next = &m->set[s[1].literal->relation];
    const size_t arity = m->set[s->literal->relation].arity;
    const uint32_t *head[BLOCK];
    for (size_t i = 0; i < count; i++) {
        head[i] = next_of(m, s, rows + i * arity);
        __builtin_prefetch(head[i]);
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t first = *head[i];
        if (c->of->has_runs) {
            __builtin_prefetch(c->rows + first * next->arity);
        } else if (first != 0) {
            __builtin_prefetch(&c->next[first - 1]);
            __builtin_prefetch(next->rows + (first - 1) * next->arity);
        }
    }
}

/* ---- marks ---- */

static size_t mark_of(uint32_t value)
{
    return (uint32_t)(value * UINT32_C(0x9E3779B1)) / (UINT32_MAX / TAKT_DL_MARKS + 1);
}

/* Marks the values that occur in the next step together with its known value; false if that costs
 * more than it can save for this many rows. */
static bool has_marks(takt_dl_machine *m, const takt_dl_step *s, size_t count)
{
    enum { WORTH = 4 };
    if (s->filter.index < 0)
        return false;
    const takt_dl_chains *c = &m->index[s->filter.index];
    const uint32_t value = m->value[s->filter.value];
    if (m->marked_step == s && m->marked_value == value)
        return true;
    const uint32_t *head = &c->head[takt_dl_bucket_of(c, value)];
    const size_t rows = head[1] - head[0];
    if (rows > WORTH * count || !takt_dl_charge(m, rows))
        return false;
    if (++m->mark == 0) { /* marks of an earlier cycle would match */
        for (size_t i = 0; i < TAKT_DL_MARKS; i++)
            m->marks[i] = 0;
        m->mark = 1;
    }
    for (size_t i = head[0]; i < head[1]; i++)
        m->marks[mark_of(c->rows[2 * i + s->filter.column])] = m->mark;
    m->marked_step = s;
    m->marked_value = value;
    return true;
}

/* ---- pairs ---- */

/* The known pair of a step among those of its bucket, which are sorted; NULL if absent. */
static const uint32_t *find_pair(const takt_dl_machine *m, const takt_dl_step *s)
{
    const uint32_t *head = find(m, s), *at = m->index[s->index].rows + 2 * (size_t)head[0];
    const uint64_t pair = takt_dl_pair(m->value[s->key.at[0].value], m->value[s->key.at[1].value]);
    size_t count = head[1] - head[0];
    if (count == 0)
        return NULL;
    for (size_t half; count > 1; count -= half) {
        half = count / 2;
        at += takt_dl_pair(at[2 * half], at[2 * half + 1]) <= pair ? 2 * half : 0;
    }
    return takt_dl_pair(at[0], at[1]) == pair ? at : NULL;
}

/* ---- joining ---- */

/* Whether no row of an input agrees. */
static bool is_absent(takt_dl_machine *m, const takt_dl_step *s)
{
    const takt_dl_set *of = &m->set[s->literal->relation];
    if (s->index < 0)
        return of->count == 0;
    if (s->is_pair)
        return find_pair(m, s) == NULL;
    const takt_dl_chains *c = &m->index[s->index];
    const uint32_t *head = find(m, s);
    for (uint32_t row = head[0]; row < head[1]; row++)
        if (match(m, s, c->rows + row * of->arity))
            return false;
    return true;
}

static void emit(takt_dl_machine *m)
{
    const takt_dl_slots *head = &m->path->head;
    uint32_t row[TAKT_DL_ARITY];
    for (int i = 0; i < head->count; i++)
        row[i] = m->value[head->at[i].value];
    takt_dl_add(m, m->path->rule->head.relation, row);
}

/* True: something was derived. */
static bool join(takt_dl_machine *m, int depth);

/* Contiguous rows. */
static bool scan(takt_dl_machine *m, const uint32_t *rows, size_t count, int depth)
{
    const takt_dl_step *s = &m->path->step[depth];
    const size_t arity = m->set[s->literal->relation].arity;
    const bool is_last = depth + 1 == m->path->count, is_cut = depth >= m->path->cut;
    const bool is_marked = has_marks(m, s, count);
    const bool is_ahead = count >= FEW && !is_last && !is_marked &&
                          s[1].literal->kind != TAKT_DL_COMPARE && s[1].index >= 0;
    bool is_found = false;
    for (size_t at = 0; at < count && m->full.relation < 0; at += BLOCK) {
        const size_t end = at + BLOCK < count ? at + BLOCK : count;
        if (!takt_dl_charge(m, end - at))
            break;
        if (is_ahead)
            prefetch(m, s, rows + at * arity, end - at);
        for (size_t i = at; i < end; i++) {
            const uint32_t *row = rows + i * arity;
            if (is_marked && m->marked_step == s && /* else an inner loop has replaced the marks */
                m->marks[mark_of(row[s->filter.scanned])] != m->mark)
                continue;
            if (!match(m, s, row))
                continue;
            if (is_last)
                emit(m);
            if (is_last || join(m, depth + 1))
                is_found = true;
            if (is_found && is_cut)
                return true;
        }
    }
    return is_found;
}

/* Rows of a derived relation. */
static bool follow(takt_dl_machine *m, int depth)
{
    const takt_dl_step *s = &m->path->step[depth];
    const takt_dl_chains *c = &m->index[s->index];
    const takt_dl_set *of = &m->set[s->literal->relation];
    const bool is_cut = depth >= m->path->cut;
    bool is_found = false;
    for (uint32_t row = *find(m, s); row != 0; row = c->next[row - 1]) {
        if (m->full.relation >= 0 || !takt_dl_charge(m, 1))
            break;
        if (match(m, s, of->rows + (row - 1) * of->arity) && join(m, depth + 1))
            is_found = true;
        if (is_found && is_cut)
            break;
    }
    return is_found;
}

/* Recursion is no deeper than a rule has literals. */
static bool join(takt_dl_machine *m, int depth)
{
    if (m->full.relation >= 0)
        return false;
    if (depth == m->path->count) {
        emit(m);
        return true;
    }
    const takt_dl_step *s = &m->path->step[depth];
    const takt_dl_set *of = &m->set[s->literal->relation];
    if (s->literal->kind != TAKT_DL_ATOM) {
        const bool is_true = s->literal->kind == TAKT_DL_COMPARE ? holds(m, s) : is_absent(m, s);
        return is_true && join(m, depth + 1);
    }
    if (s->index < 0) {
        const size_t from = s->is_delta ? of->from : 0, to = of->to;
        return scan(m, of->rows + from * of->arity, to - from, depth);
    }
    const takt_dl_chains *c = &m->index[s->index];
    if (!c->of->has_runs)
        return follow(m, depth);
    if (s->is_pair) {
        const uint32_t *row = find_pair(m, s);
        return row != NULL && takt_dl_charge(m, 1) && join(m, depth + 1);
    }
    const uint32_t *head = find(m, s);
    return scan(m, c->rows + head[0] * of->arity, head[1] - head[0], depth);
}

bool takt_dl_range(const takt_dl_machine *m, const takt_dl_path *path, size_t *first, size_t *end)
{
    const takt_dl_step *s = &path->step[0];
    *first = *end = 0;
    if (path->count == 0 || s->literal->kind != TAKT_DL_ATOM || s->index >= 0)
        return false;
    const takt_dl_set *of = &m->set[s->literal->relation];
    *first = s->is_delta ? of->from : 0;
    *end = of->to;
    return true;
}

void takt_dl_join(takt_dl_machine *m, const takt_dl_path *path, size_t first, size_t end)
{
    size_t all[2];
    m->path = path;
    if (takt_dl_extend(m, path))
        return;
    for (int i = 0; i < path->number_count; i++)
        m->value[TAKT_DL_VARIABLES + i] = path->number[i];
    if (!takt_dl_range(m, path, &all[0], &all[1])) {
        (void)join(m, 0);
        return;
    }
    const takt_dl_set *of = &m->set[path->step[0].literal->relation];
    (void)scan(m, of->rows + first * of->arity, end - first, 0);
}
