/* ggml_i8_dotprod.c - levels by sdot: one row by a panel, four rows by a quarter of one. */
enum { MR = 4 };

#include "kernel/block_i8/arm.inc"

#define TAKES_SIGNED 1

#include "kernel/ggml_i8/ggml_i8_body.inc"

static const takt_ggml_i8_info info = {MR, rounded_bytes, round_rows};

TAKT_KERNELS(ggml_i8, TAKT_KERNEL(ggml_i8, "dotprod_4x4", 20, run_rows, &info));
