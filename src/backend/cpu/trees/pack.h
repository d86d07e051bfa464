/* pack.h - the tables of tree_ensemble in the form that kernels traverse.
 *
 * A column is a feature as integers in the order of its values: of floats their bits, of doubles
 * their rank among the splits. NaN is above all others in one column of a feature and below them in
 * another, as branches want it. Every mode is a comparison x <= key, with the children exchanged or
 * the key one less; equality needs nodes of the wide form, and so do trees that share branches.
 */
#ifndef TAKT_BACKEND_CPU_TREES_PACK_H
#define TAKT_BACKEND_CPU_TREES_PACK_H

#include "kernel/trees/trees.h"
#include "op/util/trees.h"

/* In order in a block of bytes; NULL where there is none. */
typedef struct takt_trees_packed {
    takt_trees_tree *tree; /* [trees] */
    uint64_t *pairs;       /* [nodes], or */
    takt_trees_wide *wide; /* [nodes] */
    uint32_t *leaf_of;     /* [nodes] */
    uint32_t *column;      /* [columns]: feature doubled, plus 1 where NaN is below all */
    uint32_t *value_start; /* [columns + 1]: into value */
    double *value;         /* splits of each column, ascending */
    uint32_t *start;       /* [leaves + 1]: into target and weight; absent if is_dense */
    uint32_t *target;      /* [gives] */
    float *weight;         /* [gives]; of f64: */
    double *weight_f64;    /* [gives] */
} takt_trees_packed;

typedef struct takt_trees_form {
    bool is_wide, is_f64;
    bool is_dense; /* every leaf has one weight of each target, in their order */
    size_t trees, nodes, columns, values, leaves, gives;
    size_t bytes;
    double steps; /* most steps of a row */
} takt_trees_form;

/* The offsets of all parts in the block `at`. */
takt_trees_packed takt_trees_place(const takt_trees_form *f, void *at);
/* Packs valid tables into memory of `arena`. `*to` is NULL where trees do not end within t->depth
 * branches, or are too large. */
TAKT_MUST_USE takt_status takt_trees_pack(takt_arena *arena, const takt_trees *t, bool is_f64,
                                          takt_trees_form *f, void **to);
/* The keys of one row: x[features] of `dtype`, to[columns]. */
void takt_trees_keys(const takt_trees_form *f, const takt_trees_packed *p, takt_dtype dtype,
                     const void *x, int32_t *to);

#endif
