/* datalog_code.c - what is known about a join before it runs: which columns are compared, which
 * bind a variable, where the head's values come from. */
#include "op/util/datalog.h"

uint8_t takt_dl_value_of(takt_dl_path *path, const takt_dl_term *t)
{
    if (t->kind == TAKT_DL_VARIABLE)
        return (uint8_t)t->value;
    int i = 0;
    while (i < path->number_count && path->number[i] != t->value)
        i++;
    if (i == path->number_count)
        path->number[path->number_count++] = t->value;
    return (uint8_t)(TAKT_DL_VARIABLES + i);
}

static void add(takt_dl_slots *to, int column, uint8_t value)
{
    to->at[to->count].column = (uint8_t)column;
    to->at[to->count++].value = value;
}

void takt_dl_code_step(takt_dl_path *path, takt_dl_step *s, uint64_t bound)
{
    uint64_t here = 0;
    for (int i = 0; i < s->literal->count; i++) {
        const takt_dl_term *t = &s->literal->term[i];
        if (t->kind == TAKT_DL_ANY)
            continue;
        const uint8_t value = takt_dl_value_of(path, t);
        const uint64_t bit = t->kind == TAKT_DL_VARIABLE ? UINT64_C(1) << t->value : 0;
        if (bit == 0 || (bound & bit) != 0)
            add(&s->key, i, value);
        else
            add((here & bit) != 0 ? &s->same : &s->bind, i, value);
        here |= bit;
    }
}

/* Column of the step's row that binds a value, or -1. */
static int binding(const takt_dl_step *s, uint8_t value)
{
    for (int i = 0; s->literal->kind == TAKT_DL_ATOM && i < s->bind.count; i++)
        if (s->bind.at[i].value == value)
            return s->bind.at[i].column;
    return -1;
}

void takt_dl_code_path(takt_dl_path *path, const uint64_t *bound)
{
    const takt_dl_literal *head = &path->rule->head;
    uint64_t needed = 0;
    for (int i = 0; i < head->count; i++) {
        add(&path->head, i, takt_dl_value_of(path, &head->term[i]));
        if (head->term[i].kind == TAKT_DL_VARIABLE)
            needed |= UINT64_C(1) << head->term[i].value;
    }
    for (path->cut = 0; (needed & ~bound[path->cut]) != 0;)
        path->cut++;
    for (int i = 0; i + 1 < path->count; i++)
        for (int k = 0; k < path->step[i + 1].key.count; k++)
            path->step[i].next[k] =
                (int8_t)binding(&path->step[i], path->step[i + 1].key.at[k].value);
}

bool takt_dl_code_filter(const takt_dl_plan *plan, takt_dl_path *path, int at)
{
    takt_dl_step *s = &path->step[at], *next = &path->step[at + 1];
    const takt_dl_literal *l = next->literal;
    if (s->literal->kind != TAKT_DL_ATOM || l->kind != TAKT_DL_ATOM ||
        l->relation < plan->program->derived || l->count != 2 || next->key.count != 2)
        return false;
    const int column = s->next[1] >= 0, other = 1 - column;
    if (s->next[column] < 0 || s->next[other] >= 0)
        return false;
    s->filter.column = (uint8_t)column;
    s->filter.other = (uint8_t)other;
    s->filter.value = next->key.at[other].value;
    s->filter.scanned = (uint8_t)s->next[column];
    return true;
}
