/* depthwise_i8_body.h - the loop over channels.
 *
 * A template: a variant defines BLOCK, and column(d, c) for BLOCK channels from c on of all
 * positions; the last block overlaps the one before it. If it defines HALF, half(d, c) does the
 * same for HALF channels where takes_halves(d). Fewer channels are left to the compiler.
 */
#include "kernel/gemm_i8/requant.h"

enum { FEW = 16 }; /* channels that are summed at a time without column() */

/* What requant.h needs to know about C. */
static inline takt_gemm_i8 ending(const takt_depthwise_i8 *d)
{
    return (takt_gemm_i8){.c = d->y, .ldc = d->channels, .requant = d->requant};
}

static void few_at(const takt_depthwise_i8 *d, size_t p, size_t c, size_t n)
{
    const uint8_t *const *x = d->x + p * d->taps;
    const takt_gemm_i8 end = ending(d);
    uint32_t sums[REQUANT_COLS] = {0};
    for (size_t k = 0; k < d->taps; k++)
        for (size_t i = 0; i < n; i++) {
            const int32_t value = d->x_unsigned ? x[k][c + i] : (int8_t)x[k][c + i];
            sums[i] += (uint32_t)(value * d->w[k * d->channels + c + i]);
        }
    correct(&end, sums, c, n, 0, 0);
    requant_row(&end, sums, p, c, n);
}

static void few(const takt_depthwise_i8 *d, size_t c, size_t n)
{
    for (size_t p = 0; p < d->positions; p++)
        few_at(d, p, c, n);
}

#ifdef BLOCK
/* Fewer channels than a block has, if there are enough for half of one. */
static bool halves(const takt_depthwise_i8 *d)
{
#ifdef HALF
    if (d->channels >= HALF && takes_halves(d)) {
        half(d, 0);
        if (d->channels > HALF)
            half(d, d->channels - HALF);
        return true;
    }
#else
    (void)d;
#endif
    return false;
}

static void run(const takt_depthwise_i8 *d)
{
    const size_t n = d->channels;
    size_t c = 0;
    for (; c + BLOCK <= n; c += BLOCK)
        column(d, c);
    if (c < n && n >= BLOCK)
        column(d, n - BLOCK);
    else if (c < n && !halves(d))
        few(d, c, n - c);
}
#else
static void run(const takt_depthwise_i8 *d)
{
    for (size_t c = 0; c < d->channels; c += FEW)
        few(d, c, d->channels - c < FEW ? d->channels - c : FEW);
}
#endif
