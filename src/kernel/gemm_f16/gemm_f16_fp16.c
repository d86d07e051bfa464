/* gemm_f16_fp16.c - tiles of 8 x 24 and one row in f16, whose sums are widened by fcvtl. */
#include "kernel/gemm_f16/neon.inc"

TAKT_KERNELS(gemm_f16, TAKT_KERNEL(gemm_f16, "fp16_8x24", 20, run, &info));
