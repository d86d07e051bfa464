/* x86_column.h - columns of channels by a variant's add_taps(): the sums of sixteen channels of
 * position x[0]; or, if is_half, of eight of x[0] and of eight of x[1]. */

INLINE sums_16 of_unsigned(const takt_depthwise_i8 *d, const uint8_t *const *x, size_t c, sums_16 s)
{
    const uint8_t *const *const one[2] = {x, NULL};
    return add_taps(d, one, c, s, true, false);
}

INLINE sums_16 of_signed(const takt_depthwise_i8 *d, const uint8_t *const *x, size_t c, sums_16 s)
{
    const uint8_t *const *const one[2] = {x, NULL};
    return add_taps(d, one, c, s, false, false);
}

static void column(const takt_depthwise_i8 *d, size_t c)
{
    if (d->x_unsigned)
        walk(d, c, begin_sums(d, c), of_unsigned);
    else
        walk(d, c, begin_sums(d, c), of_signed);
}

#include "kernel/depthwise_i8/x86_half.h"
