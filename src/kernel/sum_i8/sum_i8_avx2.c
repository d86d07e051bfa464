/* sum_i8_avx2.c - x86_sums.inc for AVX2. */
#include "kernel/sum_i8/x86_sums.inc"

TAKT_KERNELS(sum_i8, TAKT_KERNEL(sum_i8, "avx2", 10, run, NULL));
