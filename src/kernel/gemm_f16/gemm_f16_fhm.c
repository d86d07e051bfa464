/* gemm_f16_fhm.c - tiles of 8 x 24 and one row in f16, whose sums go by fmlal into f32. */
#include "kernel/gemm_f16/neon.inc"

TAKT_KERNELS(gemm_f16, TAKT_KERNEL(gemm_f16, "fhm_8x24", 30, run, &info));
