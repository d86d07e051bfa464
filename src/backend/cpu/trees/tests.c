/* tests.c - turns splits and sets into columns and keys. */
#include "backend/cpu/trees/tests.h"

#include <math.h>
#include <string.h>

#include "base/sort.h"

/* Keys that no number has. */
#define NEVER INT32_MIN        /* below all, and equal to none */
#define ALWAYS (INT32_MAX - 1) /* not below any number */

/* An integer that orders floats that are not NaN. */
static int32_t key_of(float x)
{
    int32_t bits;
    x += 0.0F; /* -0 becomes +0 */
    memcpy(&bits, &x, sizeof bits);
    return bits ^ (bits < 0 ? INT32_MAX : 0);
}

/* ---- tests ---- */

static size_t set_length(const takt_trees *t, size_t at)
{
    size_t n = 0;
    while (at + n < t->members && !isnan(t->member[at + n]))
        n++;
    return n;
}

static bool value_before(const void *a, const void *b)
{
    const takt_trees_test *x = a, *y = b;
    return x->value < y->value;
}

/* The members of a set, sorted and without duplicates; returns their number. */
static size_t put_set(takt_trees_test *to, const takt_trees *t, size_t at, uint64_t source,
                      const void **spare)
{
    const size_t n = set_length(t, at);
    takt_trees_test *from = to + n; /* there is room for two copies */
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        from[i] = (takt_trees_test){.source = source, .value = t->member[at + i]};
        spare[i] = &from[i];
    }
    takt_sort_pointers(spare, n, value_before);
    for (size_t i = 0; i < n; i++) {
        const takt_trees_test *next = spare[i];
        if (count == 0 || to[count - 1].value != next->value)
            to[count++] = *next;
    }
    if (count == 0)
        to[count++] = (takt_trees_test){.source = source, .value = NAN, .key = NEVER};
    return count;
}

/* The test of branch i, unless it is a set test. */
static takt_trees_test test_of(const takt_trees *t, size_t i)
{
    const int64_t *b = t->branch[i];
    const bool is_above = b[1] == TAKT_TREES_GTE || b[1] == TAKT_TREES_GT;
    const bool is_low = is_above ? b[2] == 0 : b[1] <= TAKT_TREES_LT && b[2] != 0;
    return (takt_trees_test){.source = 2 * (uint64_t)b[0] + is_low,
                             .value = t->split[i],
                             .key = is_above ? ALWAYS : NEVER,
                             .is_less = b[1] == TAKT_TREES_LT || b[1] == TAKT_TREES_GTE};
}

static takt_status list(takt_arena *arena, const takt_trees *t, takt_trees_tests *to)
{
    size_t *set = takt_arena_array(arena, t->branches, sizeof *set), at = 0;
    const void **spare = takt_arena_array(arena, t->members, sizeof *spare);
    to->at = takt_arena_array(arena, 2 * t->branches + 2 * t->members + 1, sizeof *to->at);
    to->first = takt_arena_array(arena, t->branches + 1, sizeof *to->first);
    if (set == NULL || spare == NULL || to->at == NULL || to->first == NULL)
        return TAKT_ERR_MEMORY;
    takt_trees_sets(t, set);
    for (size_t i = 0; i < t->branches; i++) {
        const uint64_t source = 2 * (uint64_t)t->branch[i][0];
        to->first[i] = at;
        if (takt_trees_asks_nan(t, i))
            to->at[at++] = (takt_trees_test){.source = source + 1, .value = NAN, .key = NEVER};
        if (t->branch[i][1] == TAKT_TREES_IS_MEMBER)
            at += put_set(to->at + at, t, set[i], source, spare);
        else
            to->at[at++] = test_of(t, i);
        to->has_equal = to->has_equal || takt_trees_is_equal(t, i);
        to->longest = at - to->first[i] > to->longest ? at - to->first[i] : to->longest;
    }
    to->first[t->branches] = at;
    return TAKT_OK;
}

/* ---- columns ---- */

/* By source, then value; NaN last. */
static bool test_before(const void *a, const void *b)
{
    const takt_trees_test *x = a, *y = b;
    if (x->source != y->source)
        return x->source < y->source;
    return isnan(y->value) ? !isnan(x->value) : x->value < y->value;
}

static void number(takt_trees_test **order, size_t count, bool is_f64, takt_trees_tests *to)
{
    uint64_t source = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        takt_trees_test *test = order[i];
        if (test->source != source) {
            source = test->source;
            to->column[to->columns] = (uint32_t)source;
            to->value_start[to->columns++] = (uint32_t)to->values;
        }
        test->column = (uint32_t)(to->columns - 1);
        if (isnan(test->value))
            continue;
        const size_t start = to->value_start[test->column];
        if (is_f64 && (to->values == start || to->value[to->values - 1] != test->value))
            to->value[to->values++] = test->value;
        test->key =
            (is_f64 ? 2 * (int32_t)(to->values - 1 - start) + 1 : key_of((float)test->value)) -
            test->is_less;
    }
    to->value_start[to->columns] = (uint32_t)to->values;
}

takt_status takt_trees_make_tests(takt_arena *arena, const takt_trees *t, bool is_f64,
                                  takt_trees_tests *to)
{
    *to = (takt_trees_tests){0};
    TAKT_TRY(list(arena, t, to));
    const size_t count = to->first[t->branches];
    takt_trees_test **order = takt_arena_array(arena, count, sizeof *order);
    to->column = takt_arena_array(arena, count, sizeof *to->column);
    to->value_start = takt_arena_array(arena, count + 1, sizeof *to->value_start);
    to->value = takt_arena_array(arena, is_f64 ? count : 0, sizeof *to->value);
    if (order == NULL || to->column == NULL || to->value_start == NULL || to->value == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        order[i] = &to->at[i];
    takt_sort_pointers((const void **)order, count, test_before);
    number(order, count, is_f64, to);
    return TAKT_OK;
}
