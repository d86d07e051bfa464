/* datalog_store.c - rows of relations: a hash table that keeps each row once, and indexes.
 *
 * Derived rows wait in a batch, whose slots in the table are prefetched together: most of them are
 * not in a cache. Local tables hold only the rows of one value of the pivot, stay in the cache, and
 * double when they are half full. Another table that no threads share begins small and becomes the
 * planned one when it is half full: memory for few rows is not touched.
 */
#include <string.h>

#include "base/size.h"
#include "op/util/datalog_machine.h"

/* Slots of a new local table, and of another one that no threads share. */
enum { SLOTS = 64, FIRST_SLOTS = 1 << 15 };

bool takt_dl_stops(takt_dl_machine *m)
{
    const bool is_over =
        m->shared != NULL && atomic_load_explicit(&m->shared->is_over, memory_order_relaxed) != 0;
    if (!is_over && !takt_poll_stops(m->poll))
        return false;
    m->full.is_stopped = true;
    m->full.relation = 0;
    return true;
}

void takt_dl_clear(takt_dl_machine *m, void *memory, int byte, size_t bytes)
{
    enum { PIECE = 1 << 20 };
    for (size_t i = 0; i < bytes && (i == 0 || !takt_dl_stops(m)); i += PIECE)
        memset((char *)memory + i, byte, bytes - i < PIECE ? bytes - i : PIECE);
}

void *takt_dl_carve(char **at, size_t count)
{
    void *block = *at;
    *at += takt_round_up(count * sizeof(uint32_t), 64);
    return block;
}

/* Rows of one or two columns are their own keys; others have their hash. */
static uint64_t key_of(const uint32_t *row, size_t arity)
{
    uint64_t h = 0;
    if (arity <= 2)
        return arity == 1 ? row[0] : takt_dl_pair(row[0], row[1]);
    for (size_t i = 0; i < arity; i++)
        h = takt_dl_mix(h, row[i]);
    return h == TAKT_DL_EMPTY ? 0 : h;
}

/* ---- adding ---- */

void takt_dl_link(takt_dl_machine *m, const takt_dl_set *s, size_t first, size_t end)
{
    for (uint64_t linked = s->linked; linked != 0; linked &= linked - 1) {
        const takt_dl_chains *c = &m->index[__builtin_ctzll(linked)];
        for (size_t i = first; i < end; i++) {
            uint32_t *head = &c->head[takt_dl_bucket(c, s->rows + i * s->arity)];
            c->next[i] = *head;
            *head = (uint32_t)i + 1;
        }
    }
}

/* Where the row is or would be. */
static size_t slot_of(const takt_dl_set *s, const uint32_t *row, uint64_t key, size_t at)
{
    const size_t bytes = s->arity * sizeof *row;
    for (; s->table[at] != TAKT_DL_EMPTY; at = (at + 1) & s->table_mask)
        if (s->table[at] == key &&
            (s->arity <= 2 || memcmp(s->own + s->table_row[at] * s->arity, row, bytes) == 0))
            break;
    return at;
}

static void occupy(takt_dl_set *s, size_t slot, uint64_t key, size_t row)
{
    s->table[slot] = key;
    if (s->table_row != NULL)
        s->table_row[slot] = (uint32_t)row;
}

void takt_dl_grow(takt_dl_set *s, size_t mask)
{
    s->table_mask = mask;
    memset(s->table, 0xff, (s->table_mask + 1) * sizeof *s->table);
    for (size_t i = s->first; i < s->count; i++) {
        const uint32_t *row = s->own + i * s->arity;
        const uint64_t key = key_of(row, s->arity);
        occupy(s, slot_of(s, row, key, takt_dl_place(s, key)), key, i);
    }
}

static void append(takt_dl_machine *m, const takt_dl_waiting *w, size_t slot)
{
    takt_dl_set *s = &m->set[w->relation];
    if (s->count == s->capacity) {
        m->full.relation = w->relation;
        return;
    }
    if (s->arity == 2)
        memcpy(s->own + s->count * 2, w->row, 2 * sizeof *w->row);
    else
        memcpy(s->own + s->count * s->arity, w->row, s->arity * sizeof *w->row);
    occupy(s, slot, w->key, s->count++);
    if (2 * (s->count - s->first) > s->table_mask && s->table_mask < s->mask_limit)
        takt_dl_grow(s, m->is_local ? 2 * s->table_mask + 1 : s->mask_limit);
}

/* Adds a pair to a set with bits, at once. */
static void insert_bit(takt_dl_machine *m, int relation, const uint32_t *row)
{
    takt_dl_set *s = &m->set[relation];
    uint64_t *word = takt_dl_word(s, row), bit = takt_dl_bit(row);
    if ((*word & bit) != 0)
        return;
    if (s->count == s->capacity) {
        m->full.relation = relation;
        return;
    }
    *word |= bit;
    memcpy(s->own + s->count++ * 2, row, 2 * sizeof *row);
}

static void insert(takt_dl_machine *m, const takt_dl_waiting *w)
{
    const takt_dl_set *s = &m->set[w->relation];
    const size_t slot = slot_of(s, w->row, w->key, w->at);
    if (s->table[slot] == TAKT_DL_EMPTY)
        append(m, w, slot);
}

void takt_dl_flush(takt_dl_machine *m)
{
    if (m->shared != NULL && !m->is_local) {
        takt_dl_flush_shared(m);
        return;
    }
    for (size_t i = 0; i < m->batch_count && m->full.relation < 0; i++) {
        takt_dl_waiting *w = &m->batch[i];
        w->at = takt_dl_place(&m->set[w->relation], w->key); /* the table may have grown */
        insert(m, w);
    }
    m->batch_count = 0;
}

void takt_dl_add(takt_dl_machine *m, int relation, const uint32_t *row)
{
    const takt_dl_set *s = &m->set[relation];
    takt_dl_waiting *w = &m->batch[m->batch_count];
    if (row[0] == TAKT_DL_ABSENT)
        return; /* no tuple begins like this: it marks empty rows */
    if (s->bits != NULL) {
        if (m->shared == NULL)
            insert_bit(m, relation, row);
        else if (takt_dl_claim_bit(s, row)) {
            memcpy(w->row, row, 2 * sizeof *row);
            w->relation = relation;
            if (++m->batch_count == TAKT_DL_BATCH)
                takt_dl_flush(m);
        }
        return;
    }
    w->relation = relation;
    if (s->arity == 2)
        memcpy(w->row, row, 2 * sizeof *row);
    else
        memcpy(w->row, row, s->arity * sizeof *row);
    w->key = key_of(row, s->arity);
    w->at = takt_dl_place(s, w->key);
    if (m->is_local) {
        insert(m, w);
        return;
    }
    __builtin_prefetch(&s->table[w->at], 1);
    if (++m->batch_count == TAKT_DL_BATCH)
        takt_dl_flush(m);
}

void takt_dl_renew(takt_dl_set *s)
{
    const size_t had = s->count - s->first;
    while (s->table_mask + 1 > SLOTS && 8 * had < s->table_mask)
        s->table_mask /= 2;
    memset(s->table, 0xff, (s->table_mask + 1) * sizeof *s->table);
    s->first = s->count;
}

/* ---- relations ---- */

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

static void make_table(takt_dl_machine *m, takt_dl_set *s, char **scratch)
{
    size_t size = 16;
    while (size < 2 * s->capacity)
        size *= 2;
    s->table = takt_dl_carve(scratch, 2 * size);
    s->table_row = s->arity > 2 ? takt_dl_carve(scratch, size) : NULL;
    s->mask_limit = size - 1;
    const size_t first = m->is_local ? SLOTS : m->pool == NULL ? FIRST_SLOTS : size;
    s->table_mask = (size < first ? size : first) - 1;
}

/* Rows of an input between two polls. */
enum { POLLED = 1 << 16 };

/* takt_dl_ascends, block by block; also true if the run ends. */
static bool ascends(takt_dl_machine *m, const takt_dl_set *s)
{
    for (size_t i = 0; i < s->capacity && (i == 0 || !takt_dl_stops(m)); i += POLLED) {
        const size_t left = s->capacity - i; /* a block also has the first row of the next one */
        if (!takt_dl_ascends(s->rows + i * s->arity, left <= POLLED ? left : POLLED + 1, s->arity))
            return false;
    }
    return true;
}

/* Sorts an input in scratch: joins read runs of equal values. */
static void sort_input(takt_dl_machine *m, takt_dl_set *s, const takt_dl_rows *room)
{
    const size_t values = s->capacity * s->arity;
    for (size_t i = 0; i < values && (i == 0 || !takt_dl_stops(m)); i += POLLED)
        memcpy(room->rows + i, s->rows + i,
               (values - i < POLLED ? values - i : POLLED) * sizeof *room->rows);
    s->rows = room->rows;
    if (m->full.relation >= 0)
        return;
    s->count = takt_dl_sort_unique(room);
    if (s->count == SIZE_MAX) {
        s->count = 0;
        m->full = (takt_dl_full){.relation = 0, .is_stopped = true};
    }
    s->to = s->count;
}

static void begin_input(takt_dl_machine *m, int relation, const uint32_t *rows, char **scratch)
{
    takt_dl_set *s = &m->set[relation];
    s->rows = rows;
    if ((m->plan->program->ordered >> relation & 1) == 0) {
        const takt_dl_rows room = {takt_dl_carve(scratch, s->capacity * s->arity),
                                   takt_dl_carve(scratch, s->capacity * s->arity),
                                   takt_dl_carve(scratch, TAKT_DL_COUNTS),
                                   s->capacity,
                                   s->arity,
                                   m->poll};
        if (!ascends(m, s)) {
            sort_input(m, s, &room);
            return;
        }
    }
    s->count = s->to = count_rows(s->rows, s->arity, s->capacity);
}

void takt_dl_begin(takt_dl_machine *m, const uint32_t *const *in, uint32_t *const *out,
                   char **scratch)
{
    const takt_dl *program = m->plan->program;
    for (int i = 0; i < program->relations; i++) {
        takt_dl_set *s = &m->set[i];
        s->arity = (size_t)program->arity[i];
        s->capacity = m->plan->capacity[i];
        if (i >= program->derived) {
            begin_input(m, i, in[i - program->derived], scratch);
            continue;
        }
        s->rows = s->own = out[i];
        s->is_locked = s->arity > 2 || s->capacity < TAKT_DL_LARGE ||
                       s->capacity < m->plan->workers * TAKT_DL_BATCH;
        make_table(m, s, scratch);
    }
    m->marks = takt_dl_carve(scratch, TAKT_DL_MARKS / 2);
    m->batch = takt_dl_carve(scratch, TAKT_DL_BATCH * sizeof *m->batch / sizeof(uint32_t));
    takt_dl_bits_begin(m);
    for (int i = 0; i < program->derived; i++)
        if (m->set[i].bits == NULL)
            takt_dl_clear(m, m->set[i].table, 0xff,
                          (m->set[i].table_mask + 1) * sizeof *m->set[i].table);
    takt_dl_clear(m, m->marks, 0, TAKT_DL_MARKS * sizeof *m->marks);
}
