/* depthwise_i8_dotprod.c - sixteen channels by four taps at a time: sdot; unsigned bytes are taken
 * less 128. */
#include "kernel/depthwise_i8/depthwise_i8.h"

#include <arm_neon.h>
#include <string.h>

#include "kernel/gemm_i8/finish_neon.inc"

#define BLOCK 16
#define HALF 8
enum { FLIPS = 1 };
static void column(const takt_depthwise_i8 *d, size_t c);
static bool takes_halves(const takt_depthwise_i8 *d);
static void half(const takt_depthwise_i8 *d, size_t c);

#include "kernel/depthwise_i8/depthwise_i8_body.inc"
#include "kernel/depthwise_i8/neon_taps.inc"

INLINE int32x4_t dot_unsigned(int32x4_t s, uint8x16_t x, int8x16_t w)
{
    return vdotq_s32(s, vreinterpretq_s8_u8(x), w);
}

#include "kernel/depthwise_i8/neon_dot.inc"
#include "kernel/depthwise_i8/neon_half.inc"

TAKT_KERNELS(depthwise_i8, TAKT_KERNEL(depthwise_i8, "dotprod", 20, run, NULL));
