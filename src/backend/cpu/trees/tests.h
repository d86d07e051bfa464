/* tests.h - the comparisons of trees, all as x <= key or x == key over columns of integers.
 */
#ifndef TAKT_BACKEND_CPU_TREES_TESTS_H
#define TAKT_BACKEND_CPU_TREES_TESTS_H

#include "backend/cpu/trees/pack.h"

typedef struct takt_trees_test {
    uint64_t source; /* feature doubled, plus 1 where NaN is below all */
    double value;    /* NaN: there is no value, the key is known */
    int32_t key;
    uint32_t column;
    bool is_less; /* x < value, which is x <= the key before */
} takt_trees_test;

/* Tests of branch i are at[first[i]] to at[first[i + 1]]: one, or those of a set, ascending. */
typedef struct takt_trees_tests {
    takt_trees_test *at;
    size_t *first;
    bool has_equal;   /* some branch tests for equality */
    uint32_t *column; /* the kind of each column */
    uint32_t *value_start;
    double *value;                   /* see takt_trees_packed */
    size_t columns, values, longest; /* tests of a branch */
} takt_trees_tests;

/* True if the branch taken when the test holds is the false child. */
static inline bool takt_trees_swaps(const takt_trees *t, size_t branch)
{
    const int64_t mode = t->branch[branch][1];
    return mode == TAKT_TREES_GTE || mode == TAKT_TREES_GT || mode == TAKT_TREES_NEQ;
}
static inline bool takt_trees_is_equal(const takt_trees *t, size_t branch)
{
    return t->branch[branch][1] >= TAKT_TREES_EQ;
}
/* True if a test for NaN comes before those of equality. */
static inline bool takt_trees_asks_nan(const takt_trees *t, size_t branch)
{
    const int64_t mode = t->branch[branch][1];
    return t->branch[branch][2] != 0 && (mode == TAKT_TREES_EQ || mode == TAKT_TREES_IS_MEMBER);
}

TAKT_MUST_USE takt_status takt_trees_make_tests(takt_arena *arena, const takt_trees *t, bool is_f64,
                                                takt_trees_tests *to);

#endif
