/* direct.h - products of few columns by vpdpbusd that read A in place, for the variants that leave
 * such products to it; in gemm_i8_avx512vnni.c. */
#ifndef TAKT_KERNEL_GEMM_I8_DIRECT_H
#define TAKT_KERNEL_GEMM_I8_DIRECT_H

#include "kernel/gemm_i8/gemm_i8.h"

/* Images of any multiple of 4 channels can be read. Needs no scratch. */
void takt_gemm_i8_direct(const takt_gemm_i8 *g);

#endif
