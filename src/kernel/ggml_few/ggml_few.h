/* ggml_few.h - contract of the product of a few rows of floats with panels of weights in ggml's
 * block formats.
 *
 *     C[m,n] = A[m,k] * w, where w are the floats that kernel/ggml_f32/ggml_f32.h defines
 *
 *   order      that of kernel/gemm_f32/gemm_f32.h: the bits are those of w as floats
 *   rows       any m; weights are converted to floats once for every TAKT_GGML_FEW of them
 *   formats    those that takt_ggml_has_panels
 *   reads      exactly A and the panels; writes exactly C[m,n]
 *   aliasing   C overlaps no other operand
 */
#ifndef TAKT_KERNEL_GGML_FEW_H
#define TAKT_KERNEL_GGML_FEW_H

#include "kernel/ggml_panels/ggml_panels.h"
#include "kernel/kernel.h"

enum { TAKT_GGML_FEW = 4 };

typedef struct takt_ggml_few {
    takt_ggml_format format;
    size_t m, n, blocks; /* blocks: of a column */
    const float *a;
    size_t a_row; /* floats */
    const void *panels;
    float *c;
    size_t ldc;
} takt_ggml_few;

typedef void takt_ggml_few_fn(const takt_ggml_few *g);

TAKT_KERNEL_FAMILY(ggml_few, takt_ggml_few_fn)

#endif
