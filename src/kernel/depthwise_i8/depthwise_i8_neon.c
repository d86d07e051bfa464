/* depthwise_i8_neon.c - sixteen channels at a time, bytes widened to 16 bits and multiplied. */
#include "kernel/depthwise_i8/depthwise_i8.h"

#include <arm_neon.h>
#include <string.h>

#include "kernel/gemm_i8/finish_neon.inc"

#define BLOCK 16
static void column(const takt_depthwise_i8 *d, size_t c);

#include "kernel/depthwise_i8/depthwise_i8_body.inc"
#include "kernel/depthwise_i8/neon_taps.inc"

static void column(const takt_depthwise_i8 *d, size_t c)
{
    wide_column(d, c);
}

TAKT_KERNELS(depthwise_i8, TAKT_KERNEL(depthwise_i8, "neon", 10, run, NULL));
