/* direct.h - products by vpdpbusd, for the variants that leave small ones to it; in
 * gemm_i8_avx512vnni.c. */
#ifndef TAKT_KERNEL_GEMM_I8_DIRECT_H
#define TAKT_KERNEL_GEMM_I8_DIRECT_H

#include "kernel/gemm_i8/gemm_i8.h"

void takt_gemm_i8_vnni(const takt_gemm_i8 *g);
size_t takt_gemm_i8_vnni_bytes(const takt_gemm_i8 *g); /* of scratch */

/* The same for few columns, with A read in place. Images of any multiple of 4 channels can be read.
 * Needs no scratch. */
void takt_gemm_i8_direct(const takt_gemm_i8 *g);

#endif
