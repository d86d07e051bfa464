/* block_i8_dotprod.c - levels by sdot: one row by two distant panels, four rows by one. */
#include "kernel/block_i8/block_i8.h"

enum { DISTANT = 2, MR = 4 };

#include "kernel/block_i8/arm.inc"

#include "kernel/block_i8/body.inc"

#include "kernel/block_i8/rows.inc"

static void run(const takt_block_i8 *g)
{
    run_rows(g);
}

static size_t scratch_bytes(const takt_block_i8 *g)
{
    return rows_scratch(g);
}

static const takt_block_i8_info info = {MR, scratch_bytes, rows_rounded_bytes, rows_round};

TAKT_KERNELS(block_i8, TAKT_KERNEL(block_i8, "dotprod_4x16", 20, run, &info));
