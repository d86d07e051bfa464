/* mul_i8_avx2.c - x86_products.inc for AVX2. */
#include "kernel/mul_i8/x86_products.inc"

TAKT_KERNELS(mul_i8, TAKT_KERNEL(mul_i8, "avx2", 10, run, NULL));
