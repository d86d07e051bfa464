/* neon_dot.h - four taps of a channel side by side, so that one instruction adds them.
 *
 * A template: a variant defines dot_unsigned(sums, x, w), and FLIPS where that wants its bytes less
 * 128; sdot takes signed ones.
 */
INLINE uint8x16_t tap(const uint8_t *x, const bool flips)
{
    const uint8x16_t bytes = vld1q_u8(x);
    return flips ? veorq_u8(bytes, vdupq_n_u8(0x80)) : bytes;
}

INLINE int32x4_t dot(int32x4_t s, uint16x8_t x, const int8_t *w, const bool is_unsigned)
{
    const int8x16_t weights = vld1q_s8(w);
    return is_unsigned ? dot_unsigned(s, vreinterpretq_u8_u16(x), weights)
                       : vdotq_s32(s, vreinterpretq_s8_u16(x), weights);
}

/* Taps that do not exist have weight 0: any byte will do for them. */
INLINE sums_16 add_four(const uint8_t *const x[4], const int8_t *w, size_t at, sums_16 s,
                        const bool is_unsigned)
{
    const bool flips = is_unsigned && FLIPS;
    const uint8x16_t a = tap(x[0] + at, flips), b = tap(x[1] + at, flips),
                     c = tap(x[2] + at, flips), d = tap(x[3] + at, flips);
    const uint16x8_t ab = vreinterpretq_u16_u8(vzip1q_u8(a, b)),
                     cd = vreinterpretq_u16_u8(vzip1q_u8(c, d)),
                     ab_high = vreinterpretq_u16_u8(vzip2q_u8(a, b)),
                     cd_high = vreinterpretq_u16_u8(vzip2q_u8(c, d));
    s.a = dot(s.a, vzip1q_u16(ab, cd), w, is_unsigned);
    s.b = dot(s.b, vzip2q_u16(ab, cd), w + 16, is_unsigned);
    s.c = dot(s.c, vzip1q_u16(ab_high, cd_high), w + 32, is_unsigned);
    s.d = dot(s.d, vzip2q_u16(ab_high, cd_high), w + 48, is_unsigned);
    return s;
}

/* `taps`: d->taps, or a number that the compiler knows. */
INLINE sums_16 dot_taps(const takt_depthwise_i8 *d, const uint8_t *const *x, size_t c, sums_16 s,
                        const bool is_unsigned, const size_t taps)
{
    const int8_t *w = d->w_dot + 4 * c;
    size_t k = 0;
    for (; k + 4 <= taps; k += 4, w += 4 * d->channels)
        s = add_four(x + k, w, c, s, is_unsigned);
    if (k == taps)
        return s;
    const size_t last = taps - 1;
    const uint8_t *const rest[4] = {x[k], x[k + 1 < last ? k + 1 : last],
                                    x[k + 2 < last ? k + 2 : last], x[last]};
    return add_four(rest, w, c, s, is_unsigned);
}

#define DOT(name, is_unsigned, taps)                                                               \
    INLINE sums_16 name(const takt_depthwise_i8 *d, const uint8_t *const *x, size_t c, sums_16 s)  \
    {                                                                                              \
        return dot_taps(d, x, c, s, is_unsigned, taps);                                            \
    }
DOT(unsigned_any, true, d->taps)
DOT(unsigned_9, true, 9)
DOT(signed_any, false, d->taps)
DOT(signed_9, false, 9)

static void column(const takt_depthwise_i8 *d, size_t c)
{
    if (d->w_dot == NULL) {
        wide_column(d, c);
        return;
    }
    sums_16 s = begin_sums(d, c);
    if (d->x_unsigned && FLIPS) {
        const sums_16 w = load_sums(d->w_sum + c);
        s.a = vmlaq_n_s32(s.a, w.a, 128);
        s.b = vmlaq_n_s32(s.b, w.b, 128);
        s.c = vmlaq_n_s32(s.c, w.c, 128);
        s.d = vmlaq_n_s32(s.d, w.d, 128);
    }
    if (d->taps == 9 && d->x_unsigned)
        walk(d, c, s, unsigned_9);
    else if (d->taps == 9)
        walk(d, c, s, signed_9);
    else if (d->x_unsigned)
        walk(d, c, s, unsigned_any);
    else
        walk(d, c, s, signed_any);
}
