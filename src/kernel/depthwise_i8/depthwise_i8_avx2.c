/* depthwise_i8_avx2.c - sixteen channels at a time. */
#include "kernel/depthwise_i8/depthwise_i8.h"

#define BLOCK 16
static void column(const takt_depthwise_i8 *d, size_t c);

#include "kernel/depthwise_i8/depthwise_i8_body.h"
#include "kernel/depthwise_i8/x86_taps.h"

static void column(const takt_depthwise_i8 *d, size_t c)
{
    for (size_t p = 0; p < d->positions; p++)
        block_of_16(d, p, c);
}

TAKT_KERNELS(depthwise_i8, TAKT_KERNEL(depthwise_i8, "avx2", 10, run, NULL));
