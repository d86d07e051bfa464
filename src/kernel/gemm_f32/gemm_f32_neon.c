/* gemm_f32_neon.c - tiles of 8 x 12 and one row, 16-bit weights by conversion. */
#include "kernel/gemm_f32/neon.inc"

TAKT_KERNELS(gemm_f32, TAKT_KERNEL(gemm_f32, "neon_8x12", 20, clip_or_run, &info));
