/* gemm_f16.h - contract of the product of f32 matrices by f16 arithmetic: `numerics = fast` with
 * weights in f16.
 *
 *     C[m,n] = epilogue(A[m,k] * B[k,n])
 *
 *   A          f32; each row times a power of two that brings its largest element to [256, 512),
 *              then rounded to f16
 *   B          f16 in `stored->data`, packed as takt_gemm_f16_pack does it for the kernel's info:
 *              the whole matrix times a power of two that brings its largest element to [1/2, 1)
 *   sums       at most TAKT_F16_SUM products in f16, and those sums in f32; fewer where that costs
 *              nothing, as with one row. No sum of f16 can overflow: 64 * 512 * 1 < 65504
 *   error      |C - (exact sum of a * b)| <= takt_gemm_f16_bound(k) * (sum of |a * b|)
 *                  + k * 2^-23 * max |a of the row| * max |b|
 *              before the epilogue, where rows and B are 0 or their largest element is at least
 *              2^-100; bits differ between variants, and between one row and several
 *   special    a NaN or an infinite factor gives NaN or an infinity in its row or column
 *   reads, writes, aliasing, k = 0   as gemm_f32
 *
 * The call is that of gemm_f32, takt_kernel.info a takt_gemm_f32_info; b and walk are not read.
 * `first` and `columns` of `stored` are not either.
 */
#ifndef TAKT_KERNEL_GEMM_F16_H
#define TAKT_KERNEL_GEMM_F16_H

#include <stdint.h>

#include "kernel/gemm_f32/gemm_f32.h"

enum {
    TAKT_F16_CHUNK = 1024, /* k of a packed chunk */
    TAKT_F16_SUM = 64,     /* products that are summed in f16: a divisor of the chunk */
    TAKT_F16_HEAD = 32,    /* elements before the first chunk; the first is B's exponent */
};

TAKT_KERNEL_FAMILY(gemm_f16, takt_gemm_f32_fn)

typedef struct takt_gemm_f16_matrix {
    size_t k, n;
    const float *src;
    size_t row, col; /* elements between rows and between columns */
} takt_gemm_f16_matrix;

/* Elements of the packed form: head, then [chunk of k][panel][k][columns of the panel]; columns
 * that pad the last panel are zero. */
size_t takt_gemm_f16_count(const takt_gemm_f32_info *info, size_t k, size_t n);
void takt_gemm_f16_pack(const takt_gemm_f32_info *info, const takt_gemm_f16_matrix *m,
                        uint16_t *dst);

/* For |x| in [2^-126, 2^128): floor(log2(|x|)); below, -127. */
int takt_f16_log2(float x);
/* 2^e, for e from -149 to 127. */
float takt_f16_power(int e);
/* The power of two that a row of A is multiplied by; `largest` is its largest finite |a|. */
int takt_gemm_f16_exponent(float largest);
/* c[n] times 2^e, whatever e. */
void takt_gemm_f16_unscale(float *c, size_t n, int e);

/* Roundings of both factors and of at most TAKT_F16_SUM additions to 11 bits, and those in f32. */
static inline double takt_gemm_f16_bound(size_t k)
{
    const size_t terms = k < TAKT_F16_SUM ? k : TAKT_F16_SUM;
    return 1.04 * (double)(terms + 2) / (1 << 11) + (double)(k + 8) / (1 << 22);
}

#endif
