/* ggml_i8_avx2.c - levels by vpmaddubsw: one row by a panel, four rows by half of one. */
enum { MR = 4 };

#include "kernel/block_i8/avx2.inc"

#define TAKES_SIGNED 0

#include "kernel/ggml_i8/ggml_i8_body.inc"

static const takt_ggml_i8_info info = {MR, rounded_bytes, round_rows};

TAKT_KERNELS(ggml_i8, TAKT_KERNEL(ggml_i8, "avx2_4x8", 20, run_rows, &info));
