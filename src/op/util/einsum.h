/* einsum.h - the equation of einsum: labels of every axis.
 *
 * "bij,bjk->bik": a letter names an axis, the same letter the same index; letters missing on the
 * right are summed. "..." stands for any number of leading axes that broadcast. Without "->" the
 * result has the axes of "..." and then, in alphabetical order, the letters that occur once.
 */
#ifndef TAKT_OP_UTIL_EINSUM_H
#define TAKT_OP_UTIL_EINSUM_H

#include "op/ops.h"

enum {
    TAKT_EINSUM_LETTERS = 52,
    TAKT_EINSUM_LABELS = TAKT_EINSUM_LETTERS + TAKT_MAX_RANK, /* letters, then axes of "..." */
    TAKT_EINSUM_OPERANDS = 16,
};

/* Labels of one tensor's axes. */
typedef struct takt_labels {
    int rank;
    unsigned char at[TAKT_MAX_RANK];
} takt_labels;

typedef struct takt_einsum {
    size_t count;
    takt_labels in[TAKT_EINSUM_OPERANDS];
    takt_labels out;
} takt_einsum;

/* `ranks` of the operands, `count` of them. */
TAKT_MUST_USE takt_status takt_einsum_parse(takt_ctx *ctx, const char *equation, const int *ranks,
                                            size_t count, takt_einsum *e);
bool takt_labels_has(const takt_labels *labels, int label);
/* The axis with this label, or -1. */
int takt_labels_find(const takt_labels *labels, int label);

/* One factor of the product while it is being contracted. */
typedef struct takt_factor {
    takt_id id;
    takt_labels labels;
} takt_factor;

/* Contracts factors a and b into one; `kept` tells which labels others still need. */
takt_factor takt_einsum_join(takt_graph *g, const takt_factor *a, const takt_factor *b,
                             const bool kept[static TAKT_EINSUM_LABELS],
                             const takt_dim size[static TAKT_EINSUM_LABELS]);
/* Takes the diagonal of repeated labels and sums those that are not kept. */
takt_factor takt_einsum_reduce(takt_graph *g, takt_factor f,
                               const bool kept[static TAKT_EINSUM_LABELS]);
/* Axes in the order of `labels`, which are the same set. */
takt_factor takt_einsum_arrange(takt_graph *g, takt_factor f, const takt_labels *labels);

#endif
