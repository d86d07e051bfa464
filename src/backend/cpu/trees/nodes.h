/* nodes.h - the branches and leaves of trees as nodes in the form that kernels traverse. */
#ifndef TAKT_BACKEND_CPU_TREES_NODES_H
#define TAKT_BACKEND_CPU_TREES_NODES_H

#include "backend/cpu/trees/tests.h"

typedef struct takt_trees_nodes {
    takt_trees_tree *tree; /* NULL: the trees cannot be traversed this way */
    uint64_t *pairs;       /* or */
    takt_trees_wide *wide;
    uint32_t *leaf_of;
    size_t count;
} takt_trees_nodes;

TAKT_MUST_USE takt_status takt_trees_make_nodes(takt_arena *arena, const takt_trees *t,
                                                const takt_trees_tests *tests,
                                                takt_trees_nodes *to);
/* wide.c: any trees that end within t->depth branches. */
TAKT_MUST_USE takt_status takt_trees_make_wide(takt_arena *arena, const takt_trees *t,
                                               const takt_trees_tests *tests, takt_trees_nodes *to);

#endif
