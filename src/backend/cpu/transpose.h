/* transpose.h - transposes a matrix of elements of one, two or four bytes. */
#ifndef TAKT_BACKEND_CPU_TRANSPOSE_H
#define TAKT_BACKEND_CPU_TRANSPOSE_H

#include <stddef.h>

/* A matrix whose rows are contiguous and `step` bytes apart. */
typedef struct takt_matrix_at {
    char *data;
    ptrdiff_t step;
} takt_matrix_at;

/* to[r][c] = from[c][r] for r < rows, c < cols. */
void takt_transpose_4(takt_matrix_at from, takt_matrix_at to, size_t rows, size_t cols);
void takt_transpose_2(takt_matrix_at from, takt_matrix_at to, size_t rows, size_t cols);
void takt_transpose_1(takt_matrix_at from, takt_matrix_at to, size_t rows, size_t cols);
/* to[2 * i] = a[i], to[2 * i + 1] = b[i] for i < n. */
void takt_interleave_bytes(const char *a, const char *b, char *to, size_t n);

#endif
