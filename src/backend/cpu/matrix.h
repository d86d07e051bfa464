/* matrix.h - a matmul node as strides, for every way of computing it. */
#ifndef TAKT_BACKEND_CPU_MATRIX_H
#define TAKT_BACKEND_CPU_MATRIX_H

#include "backend/cpu/cpu.h"

typedef struct takt_product {
    size_t m, n, k;
    size_t a_row, a_col, b_row, b_col; /* element strides inside one matrix */
    size_t batch;                      /* products; the result has them one after another */
    size_t b_matrices;                 /* different right-hand sides */
    int batch_rank;
    int64_t batch_dim[TAKT_MAX_RANK];
    int64_t a_batch[TAKT_MAX_RANK], b_batch[TAKT_MAX_RANK]; /* matrix strides; 0: broadcast */
} takt_product;

/* Leading axes of the left side are folded into its rows when the right side has none. */
takt_product takt_product_of(const takt_graph *g, takt_id node);
/* Which matrices product number `index` multiplies. */
void takt_product_pair(const takt_product *mm, size_t index, size_t *a, size_t *b);

/* Whether the weights of a product are also read in another form and the plan minimises memory:
 * then every run packs them, one after another into the same room, and only the original is kept.
 */
bool takt_product_keeps_one(const takt_planner *p, const takt_node *product);

/* A product whose columns are the rows of the constant `table`, which it reads from panels of the
 * table's own type, so that others can read rows there; TAKT_NONE: none does. */
takt_id takt_product_of_rows(const takt_planner *p, takt_id table);

#endif
