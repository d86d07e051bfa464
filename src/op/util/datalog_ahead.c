/* datalog_ahead.c - prefetching for joins: rows of the next literal, while earlier ones are joined.
 */
#include "op/util/datalog_machine.h"

enum { AHEAD = 16 }; /* rows between the prefetch of a chain's head, of its row, and the join */

static int column_of(const takt_dl_literal *l, uint32_t variable)
{
    for (int i = 0; i < l->count; i++)
        if (l->term[i].kind == TAKT_DL_VARIABLE && l->term[i].value == variable)
            return i;
    return -1;
}

void takt_dl_look(const takt_dl_machine *m, const takt_dl_literal *l, int depth, takt_dl_ahead *a)
{
    a->index = NULL;
    if (depth + 1 >= m->path->count)
        return;
    const takt_dl_step *next = &m->path->step[depth + 1];
    if (next->literal->kind == TAKT_DL_COMPARE || next->index < 0)
        return;
    a->index = &m->index[next->index];
    a->scanned = &m->set[l->relation];
    a->next = &m->set[next->literal->relation];
    for (int i = 0; i < next->literal->count; i++) {
        const takt_dl_term *t = &next->literal->term[i];
        a->column[i] =
            t->kind == TAKT_DL_VARIABLE && !takt_dl_known(m, t) ? column_of(l, t->value) : -1;
        a->key[i] = takt_dl_known(m, t) ? takt_dl_value(m, t) : 0;
    }
}

static uint32_t *head_of(const takt_dl_ahead *a, size_t row)
{
    const uint32_t *at = a->scanned->rows + row * a->scanned->arity;
    uint32_t key[TAKT_DL_ARITY];
    for (size_t i = 0; i < a->next->arity; i++)
        key[i] = a->column[i] >= 0 ? at[a->column[i]] : a->key[i];
    return &a->index->head[takt_dl_hash(key, a->index->of->columns) & (a->index->of->size - 1)];
}

void takt_dl_prefetch(const takt_dl_ahead *a, size_t row, size_t to)
{
    if (a->index == NULL)
        return;
    if (row + 2 * AHEAD < to)
        __builtin_prefetch(head_of(a, row + 2 * AHEAD));
    if (row + AHEAD >= to)
        return;
    const uint32_t first = *head_of(a, row + AHEAD);
    if (first == 0)
        return;
    __builtin_prefetch(&a->index->next[first - 1]);
    __builtin_prefetch(a->next->rows + (first - 1) * a->next->arity);
}
