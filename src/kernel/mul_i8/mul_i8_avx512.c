/* mul_i8_avx512.c - x86_products.inc for AVX-512. */
#include "kernel/mul_i8/x86_products.inc"

TAKT_KERNELS(mul_i8, TAKT_KERNEL(mul_i8, "avx512", 20, run, NULL));
