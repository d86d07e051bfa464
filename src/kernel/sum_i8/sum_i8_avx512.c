/* sum_i8_avx512.c - x86_sums.inc for AVX-512. */
#include "kernel/sum_i8/x86_sums.inc"

TAKT_KERNELS(sum_i8, TAKT_KERNEL(sum_i8, "avx512", 20, run, NULL));
