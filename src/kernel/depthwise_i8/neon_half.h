/* neon_half.h - eight channels of two positions side by side, for fewer than sixteen channels.
 *
 * Behind neon_dot.h: vectors have the first position in their low half.
 */
#include "kernel/depthwise_i8/twice.h"

/* A compile-time constant wherever it is used. */
typedef struct half_kind {
    bool is_unsigned;
    size_t taps; /* 0: as many as there are */
} half_kind;

static bool takes_halves(const takt_depthwise_i8 *d)
{
    return d->w_dot != NULL && finish_is_bytes(d->requant);
}

INLINE uint8x16_t tap_of_two(const uint8_t *x, const uint8_t *y, const bool flips)
{
    const uint8x16_t bytes = vcombine_u8(vld1_u8(x), vld1_u8(y));
    return flips ? veorq_u8(bytes, vdupq_n_u8(0x80)) : bytes;
}

/* Taps k to k + 3 of both positions; those that do not exist have weight 0. */
INLINE sums_16 add_four_of_two(const takt_depthwise_i8 *d, const uint8_t *const *const x[2],
                               size_t k, size_t at, sums_16 s, const half_kind kind)
{
    const bool is_unsigned = kind.is_unsigned, flips = is_unsigned && FLIPS;
    const int8_t *w = d->w_dot + (k / 4 * d->channels + at) * 4;
    const size_t last = (kind.taps > 0 ? kind.taps : d->taps) - 1, k1 = k + 1 < last ? k + 1 : last,
                 k2 = k + 2 < last ? k + 2 : last, k3 = k + 3 < last ? k + 3 : last;
    const uint8x16_t a = tap_of_two(x[0][k] + at, x[1][k] + at, flips),
                     b = tap_of_two(x[0][k1] + at, x[1][k1] + at, flips),
                     c = tap_of_two(x[0][k2] + at, x[1][k2] + at, flips),
                     e = tap_of_two(x[0][k3] + at, x[1][k3] + at, flips);
    const uint16x8_t ab = vreinterpretq_u16_u8(vzip1q_u8(a, b)),
                     ce = vreinterpretq_u16_u8(vzip1q_u8(c, e)),
                     ab_high = vreinterpretq_u16_u8(vzip2q_u8(a, b)),
                     ce_high = vreinterpretq_u16_u8(vzip2q_u8(c, e));
    s.a = dot(s.a, vzip1q_u16(ab, ce), w, is_unsigned);
    s.b = dot(s.b, vzip2q_u16(ab, ce), w + 16, is_unsigned);
    s.c = dot(s.c, vzip1q_u16(ab_high, ce_high), w, is_unsigned);
    s.d = dot(s.d, vzip2q_u16(ab_high, ce_high), w + 16, is_unsigned);
    return s;
}

/* All positions; the last one is paired with itself if their number is odd. */
INLINE void walk_two(const takt_depthwise_i8 *given, size_t c, sums_16 begin, const takt_requant *q,
                     const finish_way way, const half_kind kind)
{
    const takt_depthwise_i8 d = *given;
    const size_t taps = kind.taps > 0 ? kind.taps : d.taps;
    const finish_16 f = finish_begin(q, 0, 16, way);
    uint8_t *y = (uint8_t *)d.y + c;
    for (size_t p = 0; p < d.positions; p += 2, y += 2 * d.channels) {
        const bool has_two = p + 1 < d.positions;
        const uint8_t *const *const x[2] = {d.x + p * taps, d.x + (p + has_two) * taps};
        sums_16 s = begin;
        for (size_t k = 0; k < taps; k += 4)
            s = add_four_of_two(&d, x, k, c, s, kind);
        const uint8x16_t bytes = finish_bytes(&f, s, way);
        vst1_u8(y, vget_low_u8(bytes));
        if (has_two)
            vst1_u8(y + d.channels, vget_high_u8(bytes));
    }
}

INLINE void walk_way(const takt_depthwise_i8 *d, size_t c, sums_16 begin, const takt_requant *q,
                     const half_kind kind)
{
    switch (finish_way_of(q, 0, 16)) {
    case FINISH_SCALE: walk_two(d, c, begin, q, FINISH_SCALE, kind); break;
    case FINISH_RIGHT: walk_two(d, c, begin, q, FINISH_RIGHT, kind); break;
    case FINISH_FIXED: walk_two(d, c, begin, q, FINISH_FIXED, kind); break;
    case FINISH_WIDE: walk_two(d, c, begin, q, FINISH_WIDE, kind); break;
    }
}

static void half(const takt_depthwise_i8 *d, size_t c)
{
    const int32_t *bias = d->requant->bias;
    const int32x4_t none = vdupq_n_s32(0);
    int32x4_t low = bias ? vld1q_s32(bias + c) : none, high = bias ? vld1q_s32(bias + c + 4) : none;
    if (d->x_unsigned && FLIPS) {
        low = vmlaq_n_s32(low, vld1q_s32(d->w_sum + c), 128);
        high = vmlaq_n_s32(high, vld1q_s32(d->w_sum + c + 4), 128);
    }
    twice room;
    const takt_requant q = take_twice(d->requant, c, &room);
    const sums_16 begin = {low, high, low, high};
    if (d->taps == 9 && !d->x_unsigned)
        walk_way(d, c, begin, &q, (half_kind){false, 9});
    else if (d->x_unsigned)
        walk_way(d, c, begin, &q, (half_kind){true, 0});
    else
        walk_way(d, c, begin, &q, (half_kind){false, 0});
}
