/* product_bf16.h - contract of the product of bf16 rows by bf16 weights: 16-bit activations under
 * `numerics = fast`.
 *
 *     C[m,n] = bf16(minimum(maximum(A[m,k] * B[k,n] + bias[n] + residual[m,n], lo), hi))
 *
 *   A          bf16 as it lies: row i from a + i * a_row on; or in an image (gemm_bf16.h), where
 *              the info's pack.image says of which channels
 *   B          bf16, packed as takt_gemm_bf16_pack does it for the info's `pack`
 *   error      before it is rounded to bf16, the result is within takt_product_bf16_bound(k) of the
 *              sum of |a * b|, |bias| and |residual|; halves may be rounded away from zero
 *   special    NaN and infinities as IEEE 754 has them; a NaN stays NaN in lo and hi, too
 *   reads      exactly A, the panels of B, bias and residual; writes exactly C and the scratch
 *   aliasing   C overlaps no other operand
 *   k = 0      sums are +0
 */
#ifndef TAKT_KERNEL_PRODUCT_BF16_H
#define TAKT_KERNEL_PRODUCT_BF16_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/gemm_bf16/gemm_bf16.h"

typedef struct takt_product_bf16 {
    size_t m, n, k;
    const uint16_t *a;
    size_t a_row;
    bool a_padded; /* zeros follow each row of A up to a multiple of 32 */
    const uint16_t *b;
    size_t b_n, b_first; /* columns of the packed B; the first that is computed begins a panel */
    const float *bias;   /* [n], with 16 bits of 0 at the end of every NaN; or NULL */
    const uint16_t *residual; /* row i from residual + i * ldr on, or NULL */
    size_t ldr;
    float lo, hi;
    uint16_t *c;
    size_t ldc;
    void *scratch;                /* info->scratch_bytes, aligned to 64 */
    const takt_bf16_image *image; /* the address of A; then a and a_row are not read; or NULL */
} takt_product_bf16;

typedef void takt_product_bf16_fn(const takt_product_bf16 *g);

/* takt_kernel.info of this family. */
typedef struct takt_product_bf16_info {
    takt_gemm_bf16_info pack; /* its scratch_bytes is NULL */
    /* Grows with m, n and k. */
    size_t (*scratch_bytes)(size_t m, size_t n, size_t k);
} takt_product_bf16_info;

TAKT_KERNEL_FAMILY(product_bf16, takt_product_bf16_fn)

/* Products of bf16 are exact in f32; instructions round sums in their own ways. */
static inline double takt_product_bf16_bound(size_t k)
{
    return (double)(k + 8) / (1 << 22);
}

#endif
