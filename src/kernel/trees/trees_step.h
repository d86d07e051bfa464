/* trees_step.h - one step of a descent through a tree, and a whole descent. */
#include "kernel/trees/trees.h"

#define INLINE static inline __attribute__((always_inline))

INLINE size_t pair_step(const uint64_t *node, size_t at, const int32_t *keys)
{
    const uint64_t n = node[at];
    const int32_t x = keys[n >> (32 + TAKT_TREES_NEXT_BITS)];
    return (n >> 32 & ((1U << TAKT_TREES_NEXT_BITS) - 1)) + (x > (int32_t)(uint32_t)n);
}

INLINE size_t wide_step(const takt_trees_wide *node, size_t at, const int32_t *keys)
{
    const takt_trees_wide *n = &node[at];
    const int32_t x = keys[n->column >> 1];
    return n->next[(x <= n->key) & ((x == n->key) | (~n->column & 1))];
}

/* `nodes` is the tree's first. */
INLINE size_t step(const void *nodes, size_t at, const int32_t *keys, const bool is_wide)
{
    return is_wide ? wide_step(nodes, at, keys) : pair_step(nodes, at, keys);
}

INLINE const void *nodes_of(const takt_trees_job *j, const takt_trees_tree *t, const bool is_wide)
{
    return is_wide ? (const void *)(j->wide + t->first) : j->pairs + t->first;
}

INLINE uint32_t one(const takt_trees_job *j, const takt_trees_tree *t, const int32_t *keys,
                    const bool is_wide)
{
    const void *nodes = nodes_of(j, t, is_wide);
    size_t at = t->root;
    for (uint32_t i = 0; i < t->most; i++)
        at = step(nodes, at, keys, is_wide);
    return j->leaf_of[t->first + at];
}
