/* datalog_extend.c - extends pairs by one step: 0(a, c) <- 0(a, b), 1(b, c), and similar rules. */
#include "op/util/datalog_machine.h"

enum { BLOCK = 32 };

/* Where things are: columns of the new pairs and of the input's. */
typedef struct shape {
    const takt_dl_chains *index;
    size_t known, found; /* columns of the input: the shared value, and the new one */
    size_t shared;       /* column of the pairs of the last round */
    int head[2];         /* of the result: a column of those pairs, or FOUND */
} shape;

enum { FOUND = 2 };

static bool is_plain(const takt_dl_step *s, int keys, int binds)
{
    return s->literal->kind == TAKT_DL_ATOM && s->literal->count == 2 && s->key.count == keys &&
           s->bind.count == binds && s->same.count == 0;
}

static int source(const takt_dl_path *path, uint8_t value)
{
    const takt_dl_slots *bind = &path->step[0].bind;
    for (int i = 0; i < bind->count; i++)
        if (bind->at[i].value == value)
            return bind->at[i].column;
    return path->step[1].bind.at[0].value == value ? FOUND : -1;
}

static bool take_shape(const takt_dl_machine *m, const takt_dl_path *path, shape *to)
{
    const takt_dl_step *s = path->step;
    if (!m->is_local || path->count != 2 || !s[0].is_delta || !is_plain(&s[0], 0, 2) ||
        !is_plain(&s[1], 1, 1) || path->head.count != 2 || s[1].index < 0 || s[0].next[0] < 0)
        return false;
    to->index = &m->index[s[1].index];
    to->known = s[1].key.at[0].column;
    to->found = s[1].bind.at[0].column;
    to->shared = (size_t)s[0].next[0];
    for (int i = 0; i < 2; i++)
        to->head[i] = source(path, path->head.at[i].value);
    return to->index->of->has_runs && to->head[0] >= 0 && to->head[1] >= 0;
}

/* Adds a pair unless it is present; the table is local. */
static inline void add(takt_dl_machine *m, uint32_t first, uint32_t second)
{
    takt_dl_set *s = &m->set[0];
    const uint64_t key = takt_dl_pair(first, second);
    const size_t mask = s->table_mask, count = s->count;
    uint64_t *const table = s->table;
    size_t at = takt_dl_place(s, key);
    for (; table[at] != TAKT_DL_EMPTY; at = (at + 1) & mask)
        if (table[at] == key)
            return;
    if (first == TAKT_DL_ABSENT)
        return;
    if (count == s->capacity) {
        m->full.relation = 0;
        return;
    }
    uint32_t *const to = s->own + 2 * count;
    to[0] = first;
    to[1] = second;
    table[at] = key;
    s->count = count + 1;
    if (2 * (count + 1 - s->first) > mask && mask < s->mask_limit)
        takt_dl_grow(s, 2 * mask + 1);
}

/* All pairs of the input that share the value of one pair. */
static void extend(takt_dl_machine *m, const shape *h, const uint32_t *row, const uint32_t *head)
{
    const uint32_t *pairs = h->index->rows, shared = row[h->shared];
    for (size_t i = head[0]; i < head[1]; i++) {
        const uint32_t found = pairs[2 * i + h->found];
        if (pairs[2 * i + h->known] == shared)
            add(m, h->head[0] == FOUND ? found : row[h->head[0]],
                h->head[1] == FOUND ? found : row[h->head[1]]);
    }
}

bool takt_dl_extend(takt_dl_machine *m, const takt_dl_path *path)
{
    const takt_dl_set *s = &m->set[0];
    const uint32_t *head[BLOCK];
    shape h;
    if (!take_shape(m, path, &h))
        return false;
    for (size_t at = s->from; at < s->to && m->full.relation < 0; at += BLOCK) {
        const size_t count = s->to - at < BLOCK ? s->to - at : BLOCK;
        const uint32_t *rows = s->rows + 2 * at;
        size_t tried = count;
        for (size_t i = 0; i < count; i++) {
            head[i] = &h.index->head[takt_dl_bucket_of(h.index, rows[2 * i + h.shared])];
            __builtin_prefetch(head[i]);
        }
        for (size_t i = 0; i < count; i++) {
            __builtin_prefetch(h.index->rows + 2 * (size_t)head[i][0]);
            tried += head[i][1] - head[i][0];
        }
        if (!takt_dl_charge(m, tried))
            break;
        for (size_t i = 0; i < count && m->full.relation < 0; i++)
            extend(m, &h, rows + 2 * i, head[i]);
    }
    return true;
}
