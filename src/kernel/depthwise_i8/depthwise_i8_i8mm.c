/* depthwise_i8_i8mm.c - sixteen channels by four taps at a time: sdot and usdot. */
#include "kernel/depthwise_i8/depthwise_i8.h"

#include <arm_neon.h>
#include <string.h>

#include "kernel/gemm_i8/finish_neon.inc"

#define BLOCK 16
#define HALF 8
enum { FLIPS = 0 };
static void column(const takt_depthwise_i8 *d, size_t c);
static bool takes_halves(const takt_depthwise_i8 *d);
static void half(const takt_depthwise_i8 *d, size_t c);

#include "kernel/depthwise_i8/depthwise_i8_body.inc"
#include "kernel/depthwise_i8/neon_taps.inc"

INLINE int32x4_t dot_unsigned(int32x4_t s, uint8x16_t x, int8x16_t w)
{
    return vusdotq_s32(s, x, w);
}

#include "kernel/depthwise_i8/neon_dot.inc"
#include "kernel/depthwise_i8/neon_half.inc"

TAKT_KERNELS(depthwise_i8, TAKT_KERNEL(depthwise_i8, "i8mm", 30, run, NULL));
