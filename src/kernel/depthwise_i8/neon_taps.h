/* neon_taps.h - sixteen channels at a time: bytes widened to 16 bits and multiplied. */
#include "kernel/depthwise_i8/walk.h"

INLINE sums_16 add_taps(const takt_depthwise_i8 *d, const uint8_t *const *x, size_t c, sums_16 s,
                        const bool is_unsigned)
{
    const int16_t *w = d->w + c;
    for (size_t k = 0; k < d->taps; k++, w += d->channels) {
        const uint8x16_t bytes = vld1q_u8(x[k] + c);
        const int8x16_t same = vreinterpretq_s8_u8(bytes);
        const int16x8_t low = is_unsigned ? vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(bytes)))
                                          : vmovl_s8(vget_low_s8(same));
        const int16x8_t high =
            is_unsigned ? vreinterpretq_s16_u16(vmovl_high_u8(bytes)) : vmovl_high_s8(same);
        const int16x8_t first = vld1q_s16(w), second = vld1q_s16(w + 8);
        s.a = vmlal_s16(s.a, vget_low_s16(low), vget_low_s16(first));
        s.b = vmlal_high_s16(s.b, low, first);
        s.c = vmlal_s16(s.c, vget_low_s16(high), vget_low_s16(second));
        s.d = vmlal_high_s16(s.d, high, second);
    }
    return s;
}

INLINE sums_16 wide_unsigned(const takt_depthwise_i8 *d, const uint8_t *const *x, size_t c,
                             sums_16 s)
{
    return add_taps(d, x, c, s, true);
}

INLINE sums_16 wide_signed(const takt_depthwise_i8 *d, const uint8_t *const *x, size_t c, sums_16 s)
{
    return add_taps(d, x, c, s, false);
}

static void wide_column(const takt_depthwise_i8 *d, size_t c)
{
    if (d->x_unsigned)
        walk(d, c, begin_sums(d, c), wide_unsigned);
    else
        walk(d, c, begin_sums(d, c), wide_signed);
}
