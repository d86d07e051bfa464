/* forest.h - ensembles of trees as the operators of ai.onnx.ml describe them.
 *
 * A place is a number: a branch, or the number of branches plus a leaf.
 */
#ifndef TAKT_IO_ONNX_FOREST_H
#define TAKT_IO_ONNX_FOREST_H

#include "io/onnx/ml.h"

/* Numbered as in TreeEnsemble. */
enum {
    TAKT_FOREST_LEQ,
    TAKT_FOREST_LT,
    TAKT_FOREST_GTE,
    TAKT_FOREST_GT,
    TAKT_FOREST_EQ,
    TAKT_FOREST_NEQ,
    TAKT_FOREST_MEMBER,
    TAKT_FOREST_MODES
};
enum { TAKT_FOREST_AVERAGE, TAKT_FOREST_SUM, TAKT_FOREST_MIN, TAKT_FOREST_MAX };
enum { TAKT_FOREST_MOST = 1 << 24 }; /* branches, leaves, weights */

/* The weight that a leaf gives a target. */
typedef struct takt_forest_weight {
    size_t leaf, target;
    double weight;
} takt_forest_weight;

typedef struct takt_forest {
    takt_call *c;
    takt_dtype dtype; /* of x, splits and weights */
    takt_id x;        /* [rows, features] */
    size_t branches, leaves, trees, targets;
    int64_t *next[2]; /* of each branch, a place: [0] if false, [1] if true */
    int64_t *feature; /* of each branch … */
    double *split;
    uint8_t *mode;
    bool *tracks;         /* NaN takes the true branch */
    takt_numbers members; /* of all branches of mode MEMBER, in order, with a NaN after each */
    int64_t *root;        /* of each tree, a place */
    int64_t *tree;        /* of each leaf; a leaf that is not reached: -1 */
    takt_forest_weight *weights;
    size_t weight_count; /* capacity */
    size_t depth;        /* of the deepest tree */
} takt_forest;

static inline size_t takt_forest_places(const takt_forest *f)
{
    return f->branches + f->leaves;
}
/* Allocates as the counts say. */
TAKT_MUST_USE takt_status takt_forest_alloc(takt_forest *f);
/* Checks that all positions are valid and lead from the roots to leaves; finds `depth` and `tree`.
 */
TAKT_MUST_USE takt_status takt_forest_check(takt_forest *f);
/* [rows, targets] by tree_ensemble; `none` for a target without any weight. */
takt_id takt_forest_scores(takt_forest *f, int how, double none);
/* Whether every target has a tree all of whose leaves carry a weight for it; each leaf has one
 * tree.
 */
bool takt_forest_is_complete(takt_forest *f);
/* Attributes of TreeEnsembleClassifier and -Regressor (forest_nodes.c): `what` is "class" or
 * "target". */
TAKT_MUST_USE takt_status takt_forest_read_nodes(takt_forest *f, const char *what);

#endif
