/* trees.c - reads the tables of tree_ensemble, one element at a time. */
#include "op/util/trees.h"

#include <math.h>

takt_trees takt_trees_of(const takt_node *n, const takt_type *const *type)
{
    const bool has_members = n->in_count > TAKT_TREES_MEMBER && type[TAKT_TREES_MEMBER] != NULL;
    return (takt_trees){.features = (size_t)type[TAKT_TREES_X]->dim[1],
                        .branches = (size_t)type[TAKT_TREES_BRANCH]->dim[0],
                        .leaves = (size_t)n->attr[TAKT_TREES_LEAVES].i64,
                        .trees = (size_t)type[TAKT_TREES_ROOT]->dim[0],
                        .gives = (size_t)type[TAKT_TREES_GIVE]->dim[0],
                        .members = has_members ? (size_t)type[TAKT_TREES_MEMBER]->dim[0] : 0,
                        .targets = (size_t)n->attr[TAKT_TREES_TARGETS].i64,
                        .depth = (size_t)n->attr[TAKT_TREES_DEPTH].i64,
                        .aggregate = (int)n->attr[TAKT_TREES_AGGREGATE].i64,
                        .none = n->attr[TAKT_TREES_NONE].f64};
}

static bool is_bad(takt_trees_bad *bad, int input, size_t element, int64_t value, size_t limit)
{
    *bad = (takt_trees_bad){input, element, value, (int64_t)limit};
    return value < 0 || value >= (int64_t)limit;
}

bool takt_trees_find_bad(const takt_trees *t, takt_trees_bad *bad)
{
    const size_t places = t->branches + t->leaves;
    const size_t limit[5] = {t->features, TAKT_TREES_MODES, 0, places, places};
    for (size_t i = 0; i < t->branches; i++)
        for (size_t k = 0; k < 5; k++)
            if (k != 2 && is_bad(bad, TAKT_TREES_BRANCH, 5 * i + k, t->branch[i][k], limit[k]))
                return true;
    for (size_t i = 0; i < t->trees; i++)
        if (is_bad(bad, TAKT_TREES_ROOT, i, t->root[i], places))
            return true;
    for (size_t i = 0; i < t->gives; i++)
        if (is_bad(bad, TAKT_TREES_GIVE, 2 * i, t->give[i][0], t->leaves) ||
            is_bad(bad, TAKT_TREES_GIVE, 2 * i + 1, t->give[i][1], t->targets))
            return true;
    return false;
}

void takt_trees_sets(const takt_trees *t, size_t *set)
{
    size_t at = 0;
    for (size_t i = 0; i < t->branches; i++) {
        set[i] = at;
        if (t->branch[i][1] != TAKT_TREES_IS_MEMBER)
            continue;
        while (at < t->members && !isnan(t->member[at]))
            at++;
        at += at < t->members;
    }
}

/* Whether `x` takes the true branch. */
static bool test_holds(const takt_trees *t, size_t branch, double x, const size_t *set)
{
    const double split = t->split[branch];
    if (t->branch[branch][2] != 0 && isnan(x))
        return true;
    switch (t->branch[branch][1]) {
    case TAKT_TREES_LEQ: return x <= split;
    case TAKT_TREES_LT: return x < split;
    case TAKT_TREES_GTE: return x >= split;
    case TAKT_TREES_GT: return x > split;
    case TAKT_TREES_EQ: return x == split;
    case TAKT_TREES_NEQ: return x != split;
    default: break;
    }
    for (size_t i = set[branch]; i < t->members && !isnan(t->member[i]); i++)
        if (t->member[i] == x)
            return true;
    return false;
}

void takt_trees_sort(const takt_trees *t, size_t *start, size_t *order)
{
    for (size_t i = 0; i <= t->leaves; i++)
        start[i] = 0;
    for (size_t i = 0; i < t->gives; i++)
        start[t->give[i][0]]++;
    for (size_t i = 0, sum = 0; i <= t->leaves; i++)
        start[i] = sum += i < t->leaves ? start[i] : 0; /* where each ends */
    for (size_t i = t->gives; i-- > 0;)
        order[--start[t->give[i][0]]] = i;
}

double takt_trees_join(int aggregate, double so_far, double weight, bool has)
{
    if (aggregate == TAKT_TREES_SUM || aggregate == TAKT_TREES_AVERAGE)
        return so_far + weight;
    if (!has)
        return weight;
    if (isnan(so_far) || isnan(weight))
        return so_far + weight;
    if (so_far == weight)
        return signbit(so_far) == (aggregate == TAKT_TREES_MIN) ? so_far : weight;
    return (so_far < weight) == (aggregate == TAKT_TREES_MIN) ? so_far : weight;
}

/* The place that a row reaches. */
static size_t walk(const takt_trees *t, const size_t *set, const double *x, size_t place)
{
    for (size_t i = 0; i < t->depth && place < t->branches; i++) {
        const bool holds = test_holds(t, place, x[t->branch[place][0]], set);
        place = (size_t)takt_trees_next(t, place, holds);
    }
    return place;
}

void takt_trees_row(const takt_trees *t, const takt_trees_index *index, const double *x, double *y,
                    bool *has)
{
    for (size_t k = 0; k < t->targets; k++) {
        y[k] = 0;
        has[k] = false;
    }
    for (size_t tree = 0; tree < t->trees; tree++) {
        const size_t place = walk(t, index->set, x, (size_t)t->root[tree]);
        if (place < t->branches)
            continue;
        const size_t leaf = place - t->branches;
        for (size_t i = index->start[leaf]; i < index->start[leaf + 1]; i++) {
            const size_t at = index->order[i], k = (size_t)t->give[at][1];
            y[k] = takt_trees_join(t->aggregate, y[k], t->weight[at], has[k]);
            has[k] = true;
        }
    }
    for (size_t k = 0; k < t->targets; k++)
        if (!has[k])
            y[k] = t->none;
        else if (t->aggregate == TAKT_TREES_AVERAGE)
            y[k] /= (double)t->trees;
}
