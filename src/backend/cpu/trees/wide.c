/* wide.c - arbitrary trees: a node for each test and each leaf, shared as in the tables. */
#include "backend/cpu/trees/nodes.h"

enum { LEVELS = 64 }; /* more than a search in a set needs */

/* The most branches on a way through the trees; SIZE_MAX where one leads back to itself. */
static takt_status longest_way(takt_arena *arena, const takt_trees *t, size_t *longest)
{
    const size_t n = t->branches;
    uint32_t *waits = takt_arena_array(arena, n, sizeof *waits);
    uint32_t *order = takt_arena_array(arena, n, sizeof *order);
    uint32_t *level = takt_arena_array(arena, n, sizeof *level);
    size_t found = 0;
    if (waits == NULL || order == NULL || level == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < 2 * n; i++)
        if ((size_t)takt_trees_next(t, i / 2, i % 2) < n)
            waits[takt_trees_next(t, i / 2, i % 2)]++;
    for (size_t i = 0; i < n; i++)
        if (waits[i] == 0)
            order[found++] = (uint32_t)i;
    *longest = 0;
    for (size_t done = 0; done < found; done++) {
        const uint32_t from = order[done], next = level[from] + 1;
        *longest = next > *longest ? next : *longest;
        for (int k = 0; k < 2; k++) {
            const size_t to = (size_t)takt_trees_next(t, from, k);
            if (to >= n)
                continue;
            level[to] = next > level[to] ? next : level[to];
            if (--waits[to] == 0)
                order[found++] = (uint32_t)to;
        }
    }
    if (found < n)
        *longest = SIZE_MAX;
    return TAKT_OK;
}

typedef struct work {
    const takt_trees *t;
    const takt_trees_tests *tests;
    takt_trees_wide *node;
    uint32_t *entry; /* of each branch */
    uint32_t leaves; /* where they begin */
} work;

static uint32_t node_of(const work *w, int64_t place)
{
    return (size_t)place < w->t->branches ? w->entry[place]
                                          : w->leaves + (uint32_t)((size_t)place - w->t->branches);
}

static takt_trees_wide make(const takt_trees_test *test, bool is_equal, uint32_t no, uint32_t yes)
{
    return (takt_trees_wide){test->key, 2 * test->column + is_equal, {no, yes}};
}

/* Finds the one test of [0, count) that may hold, by halves. */
static void put_search(work *w, const takt_trees_test *test, size_t count, uint32_t at,
                       const uint32_t next[2])
{
    struct {
        size_t low, high;
        uint32_t *from; /* what leads here */
    } left[LEVELS];
    uint32_t unused;
    size_t depth = 1;
    left[0].low = 0;
    left[0].high = count;
    left[0].from = &unused;
    while (depth-- > 0) {
        const size_t low = left[depth].low, high = left[depth].high, middle = (low + high) / 2;
        takt_trees_wide *node = &w->node[at];
        *left[depth].from = at++;
        if (high - low == 1) {
            *node = make(&test[low], true, next[0], next[1]);
            continue;
        }
        *node = make(&test[middle - 1], false, 0, 0);
        left[depth].low = middle;
        left[depth].high = high;
        left[depth++].from = &node->next[0];
        left[depth].low = low;
        left[depth].high = middle;
        left[depth++].from = &node->next[1];
    }
}

static void put_branch(work *w, size_t i)
{
    const takt_trees_test *test = &w->tests->at[w->tests->first[i]];
    const bool swaps = takt_trees_swaps(w->t, i);
    const uint32_t next[2] = {node_of(w, takt_trees_next(w->t, i, swaps)),
                              node_of(w, takt_trees_next(w->t, i, !swaps))};
    size_t count = w->tests->first[i + 1] - w->tests->first[i];
    uint32_t at = w->entry[i];
    if (takt_trees_asks_nan(w->t, i)) {
        w->node[at] = make(test++, false, at + 1, next[1]);
        at++;
        count--;
    }
    if (takt_trees_is_equal(w->t, i))
        put_search(w, test, count, at, next);
    else
        w->node[at] = make(test, false, next[0], next[1]);
}

/* A set of n has n tests for equality and n - 1 on the way to them. */
static size_t number_nodes(work *w)
{
    size_t count = 0;
    for (size_t i = 0; i < w->t->branches; i++) {
        const size_t tests = w->tests->first[i + 1] - w->tests->first[i];
        const size_t asks = takt_trees_asks_nan(w->t, i);
        w->entry[i] = (uint32_t)count;
        count += asks + 2 * (tests - asks) - 1;
    }
    w->leaves = (uint32_t)count;
    return count + w->t->leaves;
}

takt_status takt_trees_make_wide(takt_arena *arena, const takt_trees *t,
                                 const takt_trees_tests *tests, takt_trees_nodes *to)
{
    takt_trees_tree *tree = to->tree;
    size_t longest;
    *to = (takt_trees_nodes){0};
    TAKT_TRY(longest_way(arena, t, &longest));
    if (longest > t->depth)
        return TAKT_OK;
    work w = {
        .t = t, .tests = tests, .entry = takt_arena_array(arena, t->branches, sizeof *w.entry)};
    if (w.entry == NULL)
        return TAKT_ERR_MEMORY;
    to->count = number_nodes(&w);
    w.node = takt_arena_array(arena, to->count, sizeof *w.node);
    to->leaf_of = takt_arena_array(arena, to->count, sizeof *to->leaf_of);
    if (w.node == NULL || to->leaf_of == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < t->branches; i++)
        put_branch(&w, i);
    for (uint32_t i = 0; i < t->leaves; i++) {
        const uint32_t at = w.leaves + i;
        w.node[at] = (takt_trees_wide){.next = {at, at}};
        to->leaf_of[at] = i;
    }
    const uint64_t most = (uint64_t)longest * (tests->longest > 1 ? LEVELS : 1);
    for (size_t i = 0; i < t->trees; i++)
        tree[i] = (takt_trees_tree){.root = node_of(&w, t->root[i]),
                                    .most = most < UINT32_MAX ? (uint32_t)most : UINT32_MAX};
    to->wide = w.node;
    to->tree = tree;
    return TAKT_OK;
}
