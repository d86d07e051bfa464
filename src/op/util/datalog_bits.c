/* datalog_bits.c - pairs of small numbers as bits.
 *
 * Where one bit for every possible pair needs no more memory than the hash table that is planned
 * for a relation, that memory holds the bits: a pair is found by one access, and the pairs of all
 * bits are sorted. Derived rows have values of the inputs and of the rules' numbers only.
 */
#include "op/util/datalog_machine.h"

enum { WORD = 64, POLLED = 1 << 14 };

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t largest_number(const takt_dl *program)
{
    uint32_t most = 0;
    for (int i = 0; i < program->rule_count; i++)
        for (int k = 0; k < program->rules[i].head.count; k++)
            if (program->rules[i].head.term[k].kind == TAKT_DL_NUMBER)
                most = larger(most, program->rules[i].head.term[k].value);
    return most;
}

/* The largest value; it ends where it is too large for `limit` words. */
static uint32_t largest_value(const takt_dl_machine *m, size_t limit)
{
    const takt_dl *program = m->plan->program;
    uint32_t most = largest_number(program);
    for (int i = program->derived; i < program->relations; i++) {
        const takt_dl_set *s = &m->set[i];
        const size_t values = s->count * s->arity;
        for (size_t at = 0; at < values && most / WORD < limit / ((size_t)most + 1); at += POLLED) {
            const size_t end = values - at < POLLED ? values : at + POLLED;
            for (size_t k = at; k < end; k++)
                most = larger(most, s->rows[k]);
        }
    }
    return most;
}

uint32_t takt_dl_largest_value(const takt_dl_machine *m)
{
    return largest_value(m, SIZE_MAX);
}

void takt_dl_bits_begin(takt_dl_machine *m)
{
    for (int i = 0; i < m->plan->program->derived && !m->is_local; i++) {
        takt_dl_set *s = &m->set[i];
        const size_t room = s->mask_limit + 1;
        if (s->arity != 2)
            continue;
        const size_t side = (size_t)largest_value(m, room) + 1, words = (side + WORD - 1) / WORD;
        if (words > room / side)
            continue;
        s->bits = s->table;
        s->is_locked = false; /* a bit is set by one atomic operation */
        s->bit_rows = side;
        s->bit_words = words;
        takt_dl_clear(m, s->bits, 0, side * words * sizeof *s->bits);
    }
}

/* ---- the rows ---- */

typedef struct parts {
    takt_dl_machine *m;
    const takt_dl_set *set;
    size_t each; /* rows of bits in a part */
    uint32_t *counts;
} parts;

static void ends_of(const parts *p, size_t i, size_t *first, size_t *end)
{
    *first = i * p->each;
    *end = p->set->bit_rows - *first < p->each ? p->set->bit_rows : *first + p->each;
}

static void count_part(void *user, size_t i, int thread)
{
    const parts *p = user;
    size_t first, end;
    uint32_t sum = 0;
    (void)thread;
    ends_of(p, i, &first, &end);
    for (size_t k = first * p->set->bit_words; k < end * p->set->bit_words; k++)
        sum += (uint32_t)__builtin_popcountll(p->set->bits[k]);
    p->counts[i] = sum;
}

static void write_part(void *user, size_t i, int thread)
{
    const parts *p = user;
    const takt_dl_set *s = p->set;
    uint32_t *to = s->own + 2 * (size_t)p->counts[i];
    size_t first, end;
    (void)thread;
    ends_of(p, i, &first, &end);
    for (size_t row = first; row < end; row++)
        for (size_t k = 0; k < s->bit_words; k++)
            for (uint64_t word = s->bits[row * s->bit_words + k]; word != 0; word &= word - 1) {
                *to++ = (uint32_t)row;
                *to++ = (uint32_t)(k * WORD) + (uint32_t)__builtin_ctzll(word);
            }
}

void takt_dl_bits_rows(takt_dl_machine *m, const takt_dl_set *s, uint32_t *counts)
{
    parts p = {.m = m, .set = s, .counts = counts};
    p.each = s->bit_rows / TAKT_DL_BUCKETS + 1;
    const size_t count = (s->bit_rows + p.each - 1) / p.each;
    uint32_t sum = 0;
    for (size_t i = 0; i < count && m->pool == NULL; i++)
        count_part(&p, i, 0);
    if (m->pool != NULL)
        takt_pool_run(m->pool, count_part, &p, count);
    for (size_t i = 0; i < count; i++) {
        const uint32_t now = counts[i];
        counts[i] = sum;
        sum += now;
    }
    for (size_t i = 0; i < count && m->pool == NULL && !takt_dl_stops(m); i++)
        write_part(&p, i, 0);
    if (m->pool != NULL)
        takt_pool_run(m->pool, write_part, &p, count);
}
