/* gemm_f32_fhm.c - tiles of 8 x 12 and one row, weights in f16 widened by fmlal. */
#include "kernel/gemm_f32/neon.h"

TAKT_KERNELS(gemm_f32, TAKT_KERNEL(gemm_f32, "fhm_8x12", 30, clip_or_run, &info));
