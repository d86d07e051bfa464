/* ggml_i8_avx512vnni.c - levels by vpdpbusd: one row by a panel, four rows by a panel. */
#include "kernel/block_i8/vnni.inc"

#define TAKES_SIGNED 0

#include "kernel/ggml_i8/ggml_i8_body.inc"

static const takt_ggml_i8_info info = {MR, rounded_bytes, round_rows};

TAKT_KERNELS(ggml_i8, TAKT_KERNEL(ggml_i8, "avx512vnni_4x16", 40, run_rows, &info));
