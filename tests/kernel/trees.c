/* trees.c - checks traversals of random trees against the scalar ones: shapes, tails, both
 * forms. */
#include "kernel/trees/trees.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

enum { TREE, NODES, LEAF_OF, KEYS, LEAF, WANT, NODES_MAX = 1 << 17 };

check_fn check_trees;

/* A tree of up to `depth` levels with its nodes at nodes[first …); returns their number. */
typedef struct plant {
    uint64_t *pairs;
    takt_trees_wide *wide;
    size_t columns;
    unsigned depth;
    bool is_full;
} plant;

static size_t grow(takt_check *c, const plant *p, takt_trees_tree *tree)
{
    size_t count = 1, level_end = 1, at = 0;
    const size_t first = tree->first;
    tree->root = 0;
    tree->least = p->depth;
    tree->most = 0;
    for (unsigned level = 0; at < count; level++, level_end = count)
        for (; at < level_end; at++) {
            const bool is_leaf = level == p->depth || (!p->is_full && check_below(c, 4) == 0);
            const uint32_t column = (uint32_t)check_below(c, p->columns);
            const int32_t key = (int32_t)check_below(c, 9) - 4;
            const uint32_t next = (uint32_t)(is_leaf ? at : count);
            if (p->pairs != NULL)
                p->pairs[first + at] =
                    takt_trees_pair(is_leaf ? INT32_MAX : key, is_leaf ? 0 : column, next);
            else
                p->wide[first + at] = (takt_trees_wide){
                    key, 2 * column + (check_below(c, 3) == 0), {next + !is_leaf, next}};
            count += is_leaf ? 0 : 2;
            if (is_leaf && level < tree->least)
                tree->least = level;
            if (is_leaf && level > tree->most)
                tree->most = level;
        }
    return count;
}

typedef struct shape {
    size_t trees, rows, columns;
    unsigned depth;
    bool is_wide, is_full;
} shape;

/* Fills in a job on random trees; `where`: position of its operands. */
static takt_trees_job make(takt_check *c, const shape *s, int where)
{
    static uint64_t pairs[NODES_MAX];
    static takt_trees_wide wide[NODES_MAX];
    takt_trees_tree *tree = check_place(c, TREE, s->trees * sizeof *tree, where);
    const plant p = {s->is_wide ? NULL : pairs, wide, s->columns, s->depth, s->is_full};
    size_t count = 0;
    for (size_t t = 0; t < s->trees; t++) {
        tree[t].first = count;
        count += grow(c, &p, &tree[t]);
    }
    const size_t bytes = count * (s->is_wide ? sizeof *wide : sizeof *pairs);
    void *nodes = check_place(c, NODES, bytes, where);
    memcpy(nodes, s->is_wide ? (const void *)wide : pairs, bytes);
    uint32_t *leaf_of = check_place(c, LEAF_OF, count * sizeof *leaf_of, where);
    check_fill_bytes(c, leaf_of, count * sizeof *leaf_of);
    const size_t stride = s->columns;
    int32_t *keys = check_place(c, KEYS, s->rows * stride * sizeof *keys, where);
    for (size_t i = 0; i < s->rows * stride; i++)
        keys[i] = check_below(c, 20) == 0 ? (check_below(c, 2) ? INT32_MAX : INT32_MIN)
                                          : (int32_t)check_below(c, 11) - 5;
    return (takt_trees_job){.tree = tree,
                            .trees = s->trees,
                            .rows = s->rows,
                            .pairs = s->is_wide ? NULL : nodes,
                            .wide = s->is_wide ? nodes : NULL,
                            .leaf_of = leaf_of,
                            .keys = keys,
                            .stride = stride};
}

static void check_one(takt_check *c, const takt_kernel *reference, const shape *s, int where)
{
    check_case(c, "%s trees=%zu rows=%zu columns=%zu depth=%u", s->is_wide ? "wide" : "pairs",
               s->trees, s->rows, s->columns, s->depth);
    takt_trees_job j = make(c, s, where == CHECK_MISALIGNED ? CHECK_AT_END : where);
    const size_t bytes = s->trees * s->rows * sizeof *j.leaf;
    uint32_t *want = check_place(c, WANT, bytes, CHECK_AT_END);
    j.leaf = want;
    takt_kernel_as_trees(reference)(&j);
    j.leaf = check_place(c, LEAF, bytes, where == CHECK_MISALIGNED ? CHECK_AT_END : where);
    memset(j.leaf, 0x5a, bytes);
    CHECK_CALL(c, takt_kernel_as_trees(c->kernel)(&j));
    check_same_bytes(c, j.leaf, want, bytes);
    for (int slot = TREE; slot <= LEAF; slot++)
        check_intact(c, slot);
}

static void bench(takt_check *c, size_t rows, unsigned depth)
{
    char name[48];
    const shape s = {8, rows, 20, depth, false, true};
    takt_trees_job j = make(c, &s, CHECK_AT_START);
    j.leaf = check_place(c, LEAF, s.trees * s.rows * sizeof *j.leaf, CHECK_AT_START);
    snprintf(name, sizeof name, "%zu trees of %u levels, %zu rows", s.trees, depth, rows);
    CHECK_BENCH(c, name, 8.0 * (double)(s.trees * s.rows * depth), 0,
                takt_kernel_as_trees(c->kernel)(&j));
}

void check_trees(takt_check *c, const takt_kernel *reference)
{
    size_t round = 0;
    for (size_t rows = 1; rows <= 19; rows++)
        for (size_t trees = 1; trees <= 18; trees += 1 + round % 3)
            for (int form = 0; form < 4; form++, round++) {
                const shape s = {trees,
                                 rows,
                                 1 + check_below(c, 40),
                                 (unsigned)check_below(c, 9),
                                 (form & 1) != 0,
                                 (form & 2) != 0};
                check_one(c, reference, &s, (int)(round % CHECK_PLACES));
            }
    bench(c, 1, 10);
    bench(c, 256, 10);
}
