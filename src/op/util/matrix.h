/* matrix.h - matmul's inputs with rank 1 and transposition taken into account. */
#ifndef TAKT_OP_UTIL_MATRIX_H
#define TAKT_OP_UTIL_MATRIX_H

#include "op/ops.h"

/* Axes of rows, columns and the inner dimension; -1 where an input of rank 1 has none. */
typedef struct takt_matrix {
    int a_row, a_inner, b_inner, b_column;
    int a_batch, b_batch; /* leading axes */
} takt_matrix;

takt_matrix takt_matrix_of(int rank_a, int rank_b, bool transpose_a, bool transpose_b);

#endif
