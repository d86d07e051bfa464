/* gemm_bf16.h - contract of the product of f32 matrices by bf16 dot products: `numerics = fast`.
 *
 *     C[m,n] = epilogue(A[m,k] * B[k,n])
 *
 *   A          f32, rounded to bf16 as it is read
 *   B          bf16 in `stored->data`, packed as takt_gemm_bf16_pack does it for the kernel's info
 *   error      |C - (exact sum of a * b)| <= takt_gemm_bf16_bound(k) * (sum of |a * b|) before the
 *              epilogue, where every |a * b| is at least 2^-100 or 0; instructions add up in
 *              their own order and with their own rounding, so bits differ between variants, and
 *              between one row and several
 *   special    a NaN or an infinite factor gives NaN or an infinity in its row or column
 *   image      A may lie in an image of bf16 instead (below), where info says so
 *   reads, writes, aliasing, k = 0   as gemm_f32
 *
 * The call is that of gemm_f32; b and walk are not read.
 */
#ifndef TAKT_KERNEL_GEMM_BF16_H
#define TAKT_KERNEL_GEMM_BF16_H

#include <stdint.h>

#include "kernel/gemm_f32/gemm_f32.h"

/* What a convolution multiplies, without its patches: every row of A is read from an image whose
 * positions have `channels` values each,
 *     A[r, t * channels + c] = data[(r / width * pitch + r % width) * channels + at[t] + c]
 * with k = taps * channels. TAKT_BF16_BEYOND positions behind the last one that a row needs may be
 * read too, whatever lies there. */
enum { TAKT_BF16_BEYOND = 32 };
typedef struct takt_bf16_image {
    const uint16_t *data;
    size_t width, pitch; /* positions of a row that count, and from one row to the next */
    size_t channels;
    const size_t *at; /* offset of each tap, in elements */
} takt_bf16_image;

/* takt_kernel.info of this family. */
typedef struct takt_gemm_bf16_info {
    takt_gemm_f32_info gemm; /* rows, panels, scratch */
    size_t group;            /* values of k that lie together: 1, 2 or 4 */
    size_t chunk;            /* of k in the packed form, a multiple of 4 */
    size_t image;            /* channels of an image are a multiple of this; 0: none is read */
    /* Faster than gemm_f16 on the same machine from this many rows on, if the weights stay in L2;
     * 0: never. */
    size_t f16_rows, f16_rows_near;
} takt_gemm_bf16_info;

TAKT_KERNEL_FAMILY(gemm_bf16, takt_gemm_f32_fn)

typedef struct takt_gemm_bf16_matrix {
    size_t k, n;
    const float *src;
    size_t row, col; /* elements between rows and between columns */
} takt_gemm_bf16_matrix;

/* Elements of the packed form: [chunk of k][panel][k / group][columns of the panel][group]; what
 * pads k and columns is zero. */
size_t takt_gemm_bf16_count(const takt_gemm_bf16_info *info, size_t k, size_t n);
void takt_gemm_bf16_pack(const takt_gemm_bf16_info *info, const takt_gemm_bf16_matrix *m,
                         uint16_t *dst);
/* The same for values that are bf16 already: k * n of them, `row` and `col` elements apart. */
typedef struct takt_gemm_bf16_rounded {
    size_t k, n;
    const uint16_t *src;
    size_t row, col;
} takt_gemm_bf16_rounded;
void takt_gemm_bf16_pack_rounded(const takt_gemm_bf16_info *info, const takt_gemm_bf16_rounded *m,
                                 uint16_t *dst);
/* The address of row r of A from p on; the values are contiguous to the end of p's tap. */
static inline const uint16_t *takt_bf16_image_at(const takt_bf16_image *m, size_t r, size_t p)
{
    return m->data + (r / m->width * m->pitch + r % m->width) * m->channels +
           m->at[p / m->channels] + p % m->channels;
}

/* Half to even; NaN stays NaN. */
uint16_t takt_bf16_round(float x);

/* Two roundings to 8 bits, and those of the sum. */
static inline double takt_gemm_bf16_bound(size_t k)
{
    return 1.01 / 128 + (double)(k + 8) / (1 << 22);
}

#endif
