/* neon_taps.h - sixteen channels at a time: bytes widened to 16 bits and multiplied; and the end.
 */
#define INLINE static inline __attribute__((always_inline))

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

INLINE sums_16 begin_sums(const takt_depthwise_i8 *d, size_t c)
{
    const int32x4_t none = vdupq_n_s32(0);
    const int32_t *bias = d->requant->bias;
    return bias ? load_sums(bias + c) : (sums_16){none, none, none, none};
}

/* Sums to y[p][c...] where they do not become bytes. */
static void put_wide(const takt_depthwise_i8 *d, size_t p, size_t c, sums_16 s)
{
    const takt_gemm_i8 end = ending(d);
    int32_t sums[16];
    vst1q_s32(sums, s.a);
    vst1q_s32(sums + 4, s.b);
    vst1q_s32(sums + 8, s.c);
    vst1q_s32(sums + 12, s.d);
    requant_row(&end, (uint32_t *)sums, p, c, 16);
}

/* How the sums of one position are made. */
typedef sums_16 sum_fn(const takt_depthwise_i8 *d, const uint8_t *const *x, size_t c, sums_16 s);

/* Works on a copy of `d`: no byte that is stored could be part of that. */
INLINE void walk_bytes(const takt_depthwise_i8 *given, size_t c, sums_16 begin, sum_fn *sum,
                       const finish_way way)
{
    const takt_depthwise_i8 d = *given;
    const finish_16 f = finish_begin(d.requant, c, 16, way);
    const uint8_t *const *x = d.x;
    uint8_t *y = (uint8_t *)d.y + c;
    for (size_t p = 0; p < d.positions; p++, x += d.taps, y += d.channels)
        vst1q_u8(y, finish_bytes(&f, sum(&d, x, c, begin), way));
}

/* All positions of sixteen channels; `begin`: what each sum starts from. */
INLINE void walk(const takt_depthwise_i8 *d, size_t c, sums_16 begin, sum_fn *sum)
{
    const uint8_t *const *x = d->x;
    if (!finish_is_bytes(d->requant)) {
        for (size_t p = 0; p < d->positions; p++, x += d->taps)
            put_wide(d, p, c, sum(d, x, c, begin));
        return;
    }
    switch (finish_way_of(d->requant, c, 16)) {
    case FINISH_SCALE: walk_bytes(d, c, begin, sum, FINISH_SCALE); break;
    case FINISH_RIGHT: walk_bytes(d, c, begin, sum, FINISH_RIGHT); break;
    case FINISH_FIXED: walk_bytes(d, c, begin, sum, FINISH_FIXED); break;
    case FINISH_WIDE: walk_bytes(d, c, begin, sum, FINISH_WIDE); break;
    }
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
