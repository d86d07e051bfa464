/* requant.h - the rows of sums of requant.inc, where one compiled form serves several variants. */
#ifndef TAKT_KERNEL_GEMM_I8_REQUANT_H
#define TAKT_KERNEL_GEMM_I8_REQUANT_H

#include "kernel/gemm_i8/gemm_i8.h"

/* The sums x[n] of columns [col, col + n) of a row, n <= 32, to floats of C: the callers make bytes
 * themselves. */
typedef void takt_requant_row_fn(const takt_gemm_i8 *g, const uint32_t *x, size_t row, size_t col,
                                 size_t n);

takt_requant_row_fn takt_requant_row_avx2, takt_requant_row_avx512;

#endif
