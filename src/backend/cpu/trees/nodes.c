/* nodes.c - trees as pairs of children side by side, level by level.
 *
 * A node with several parents is copied, as long as copies are few; trees that share more, that
 * are too large for a pair's bits, or that test for equality become wide nodes.
 */
#include "backend/cpu/trees/nodes.h"

typedef struct work {
    const takt_trees *t;
    const takt_trees_tests *tests;
    takt_trees_nodes *to;
    uint32_t *place; /* of each node */
    size_t room;
} work;

/* Node `at` of the tree: its children go to the end. False: there is no room. */
static bool put(work *w, size_t first, size_t at, size_t *count)
{
    const takt_trees *t = w->t;
    const size_t place = w->place[first + at];
    if (place >= t->branches) {
        w->to->leaf_of[first + at] = (uint32_t)(place - t->branches);
        w->to->pairs[first + at] = takt_trees_pair(INT32_MAX, 0, (uint32_t)at);
        return true;
    }
    const takt_trees_test *test = &w->tests->at[w->tests->first[place]];
    const bool swaps = takt_trees_swaps(t, place);
    if (first + *count + 2 > w->room || *count + 2 > (size_t)1 << TAKT_TREES_NEXT_BITS)
        return false;
    w->to->leaf_of[first + at] = 0;
    w->to->pairs[first + at] = takt_trees_pair(test->key, test->column, (uint32_t)*count);
    w->place[first + (*count)++] = (uint32_t)takt_trees_next(t, place, !swaps);
    w->place[first + (*count)++] = (uint32_t)takt_trees_next(t, place, swaps);
    return true;
}

/* False: it cannot be done. */
static bool put_tree(work *w, size_t which)
{
    takt_trees_tree *tree = &w->to->tree[which];
    const size_t first = w->to->count;
    size_t count = 1, end = 1, at = 0;
    if (first + 1 > w->room)
        return false;
    *tree = (takt_trees_tree){.first = first, .least = UINT32_MAX};
    w->place[first] = (uint32_t)w->t->root[which];
    for (uint32_t level = 0; at < count; level++, end = count)
        for (; at < end; at++) {
            const bool is_leaf = w->place[first + at] >= w->t->branches;
            if ((!is_leaf && level >= w->t->depth) || !put(w, first, at, &count))
                return false;
            tree->most = level;
            if (is_leaf && level < tree->least)
                tree->least = level;
        }
    w->to->count += count;
    return true;
}

takt_status takt_trees_make_nodes(takt_arena *arena, const takt_trees *t,
                                  const takt_trees_tests *tests, takt_trees_nodes *to)
{
    const size_t room = 2 * (t->branches + t->leaves) + t->trees;
    *to = (takt_trees_nodes){.tree = takt_arena_array(arena, t->trees, sizeof *to->tree)};
    if (to->tree == NULL)
        return TAKT_ERR_MEMORY;
    if (tests->has_equal || tests->columns > (size_t)1 << TAKT_TREES_COLUMN_BITS)
        return takt_trees_make_wide(arena, t, tests, to);
    work w = {.t = t,
              .tests = tests,
              .to = to,
              .place = takt_arena_array(arena, room, sizeof *w.place),
              .room = room};
    to->pairs = takt_arena_array(arena, room, sizeof *to->pairs);
    to->leaf_of = takt_arena_array(arena, room, sizeof *to->leaf_of);
    if (w.place == NULL || to->pairs == NULL || to->leaf_of == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < t->trees; i++)
        if (!put_tree(&w, i))
            return takt_trees_make_wide(arena, t, tests, to);
    return TAKT_OK;
}
