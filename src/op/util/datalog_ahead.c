/* datalog_ahead.c - prefetching for joins: rows of the next literal, while earlier ones are joined.
 */
#include "op/util/datalog_machine.h"

static int column_of(const takt_dl_literal *l, uint32_t variable)
{
    for (int i = 0; i < l->count; i++)
        if (l->term[i].kind == TAKT_DL_VARIABLE && l->term[i].value == variable)
            return i;
    return -1;
}

bool takt_dl_look(const takt_dl_machine *m, const takt_dl_literal *l, int depth, takt_dl_ahead *a)
{
    if (depth + 1 >= m->path->count)
        return false;
    const takt_dl_step *next = &m->path->step[depth + 1];
    if (next->literal->kind == TAKT_DL_COMPARE || next->index < 0)
        return false;
    a->index = &m->index[next->index];
    a->arity = m->set[l->relation].arity;
    a->next = &m->set[next->literal->relation];
    for (int i = 0; i < next->literal->count; i++) {
        const takt_dl_term *t = &next->literal->term[i];
        a->column[i] =
            t->kind == TAKT_DL_VARIABLE && !takt_dl_known(m, t) ? column_of(l, t->value) : -1;
        a->key[i] = takt_dl_known(m, t) ? takt_dl_value(m, t) : 0;
    }
    return true;
}

static const uint32_t *head_of(const takt_dl_ahead *a, const uint32_t *row)
{
    uint32_t key[TAKT_DL_ARITY];
    for (size_t i = 0; i < a->next->arity; i++)
        key[i] = a->column[i] >= 0 ? row[a->column[i]] : a->key[i];
    return &a->index->head[takt_dl_hash(key, a->index->of->columns) & (a->index->of->size - 1)];
}

void takt_dl_prefetch(const takt_dl_ahead *a, const uint32_t *rows, size_t count)
{
    const uint32_t *head[TAKT_DL_BLOCK];
    for (size_t i = 0; i < count; i++) {
        head[i] = head_of(a, rows + i * a->arity);
        __builtin_prefetch(head[i]);
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t first = *head[i];
        if (a->index->of->has_runs) {
            __builtin_prefetch(a->index->next + first * a->next->arity);
        } else if (first != 0) {
            __builtin_prefetch(&a->index->next[first - 1]);
            __builtin_prefetch(a->next->rows + (first - 1) * a->next->arity);
        }
    }
}
