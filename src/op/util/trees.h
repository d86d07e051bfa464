/* trees.h - the tables of tree_ensemble, and their validation.
 *
 * A place is a number: a branch, or the number of branches plus a leaf. Rows of `branch` are
 * {feature, mode, missing, place if false, place if true}, rows of `give` {leaf, target}.
 */
#ifndef TAKT_OP_UTIL_TREES_H
#define TAKT_OP_UTIL_TREES_H

#include "op/ops.h"

enum { TAKT_TREES_X, TAKT_TREES_BRANCH, TAKT_TREES_SPLIT, TAKT_TREES_ROOT };
enum { TAKT_TREES_GIVE = 4, TAKT_TREES_WEIGHT, TAKT_TREES_MEMBER, TAKT_TREES_INPUTS };
enum {
    TAKT_TREES_TARGETS, /* attributes */
    TAKT_TREES_LEAVES,
    TAKT_TREES_DEPTH,
    TAKT_TREES_AGGREGATE,
    TAKT_TREES_NONE,
};
/* Modes and aggregates are numbered as in ONNX. */
enum {
    TAKT_TREES_LEQ,
    TAKT_TREES_LT,
    TAKT_TREES_GTE,
    TAKT_TREES_GT,
    TAKT_TREES_EQ,
    TAKT_TREES_NEQ,
    TAKT_TREES_IS_MEMBER,
    TAKT_TREES_MODES
};
enum { TAKT_TREES_AVERAGE, TAKT_TREES_SUM, TAKT_TREES_MIN, TAKT_TREES_MAX };
enum { TAKT_TREES_MOST = 1 << 26 }; /* branches, leaves, weights, targets, levels */

typedef struct takt_trees {
    size_t features, branches, leaves, trees, gives, members, targets, depth;
    const int64_t (*branch)[5];
    const double *split;
    const int64_t *root;
    const int64_t (*give)[2];
    const double *weight, *member;
    int aggregate;
    double none; /* for a target without any leaf weight */
} takt_trees;

static inline int64_t takt_trees_next(const takt_trees *t, size_t branch, bool holds)
{
    return t->branch[branch][holds ? 4 : 3];
}

/* Reads the node's types and attributes; the tables are not read. */
takt_trees takt_trees_of(const takt_node *n, const takt_type *const *type);
/* An out-of-range number in the tables. */
typedef struct takt_trees_bad {
    int input;
    size_t element;
    int64_t value, limit; /* 0 <= value < limit must hold */
} takt_trees_bad;
/* Finds one; false if there is none. */
bool takt_trees_find_bad(const takt_trees *t, takt_trees_bad *bad);

/* ---- traversal ---- */

typedef struct takt_trees_index {
    size_t *set;           /* per branch; see takt_trees_sets */
    size_t *start, *order; /* of weights; see takt_trees_sort */
} takt_trees_index;

/* For each branch of mode IS_MEMBER, the start of its set in `member`: sets are in the order of the
 * branches, each up to a NaN or the end. `set` has room for all branches. */
void takt_trees_sets(const takt_trees *t, size_t *set);
/* The weights of leaf k are order[start[k]] to order[start[k + 1]], in the order of `give`. Room:
 * leaves + 1, gives. */
void takt_trees_sort(const takt_trees *t, size_t *start, size_t *order);
/* Combines `so_far` and one more weight; `has` is false for the first. */
double takt_trees_join(int aggregate, double so_far, double weight, bool has);
/* One row: x has the features; y and `has` have room for the targets. */
void takt_trees_row(const takt_trees *t, const takt_trees_index *index, const double *x, double *y,
                    bool *has);

#endif
