/* matrix.c - the axes of matmul's inputs. */
#include "op/util/matrix.h"

takt_matrix takt_matrix_of(int rank_a, int rank_b, bool transpose_a, bool transpose_b)
{
    takt_matrix m = {.a_row = -1, .a_inner = 0, .b_inner = 0, .b_column = -1};
    if (rank_a > 1) {
        m.a_batch = rank_a - 2;
        m.a_row = rank_a - (transpose_a ? 1 : 2);
        m.a_inner = rank_a - (transpose_a ? 2 : 1);
    }
    if (rank_b > 1) {
        m.b_batch = rank_b - 2;
        m.b_inner = rank_b - (transpose_b ? 1 : 2);
        m.b_column = rank_b - (transpose_b ? 2 : 1);
    }
    return m;
}
