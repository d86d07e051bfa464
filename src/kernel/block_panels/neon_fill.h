/* neon_fill.h - levels of 2 or 4 bits that share one zero point, by tables.
 *
 * A level less the zero point is a small whole number: as a float its low half is zero, and its two
 * high bytes come from tables of sixteen.
 */

/* Second highest and highest bytes of the floats 0 - zero to 15 - zero. */
typedef struct level_tables {
    uint8x16_t low, high;
} level_tables;

static inline level_tables tables_of(const block_parameters *o)
{
    static const float iota[16] = {0x1p23F + 0,  0x1p23F + 1,  0x1p23F + 2,  0x1p23F + 3,
                                   0x1p23F + 4,  0x1p23F + 5,  0x1p23F + 6,  0x1p23F + 7,
                                   0x1p23F + 8,  0x1p23F + 9,  0x1p23F + 10, 0x1p23F + 11,
                                   0x1p23F + 12, 0x1p23F + 13, 0x1p23F + 14, 0x1p23F + 15};
    uint16x8_t x[4];
    UNROLL for (int i = 0; i < 4; i++) x[i] =
        vreinterpretq_u16_f32(vsubq_f32(vld1q_f32(iota + 4 * i), o->base[0]));
    const uint8x16_t a = vreinterpretq_u8_u16(vuzp2q_u16(x[0], x[1])),
                     b = vreinterpretq_u8_u16(vuzp2q_u16(x[2], x[3]));
    return (level_tables){vuzp1q_u8(a, b), vuzp2q_u8(a, b)};
}

FIXED float32x4_t raised(uint16x4_t high)
{
    return vreinterpretq_f32_u32(vshll_n_u16(high, 16));
}

/* High halves of four columns by four k, from bytes in the order of k. */
typedef struct halves {
    uint16x8_t a, b;
} halves;

FIXED halves halves_of(level_tables t, uint8x16_t level)
{
    const uint8x16_t low = vqtbl1q_u8(t.low, level), high = vqtbl1q_u8(t.high, level);
    return (halves){vreinterpretq_u16_u8(vzip1q_u8(low, high)),
                    vreinterpretq_u16_u8(vzip2q_u8(low, high))};
}

FIXED float32x4_t row_of(halves h, const unsigned i)
{
    const uint16x8_t x = i < 2 ? h.a : h.b;
    return raised(i % 2 == 0 ? vget_low_u16(x) : vget_high_u16(x));
}

/* Whole rows at a time, so that lines are written from end to end. */
FIXED void fill_plain(const uint32_t *w, const block_parameters *o, const places *to,
                      const unsigned bits)
{
    static const uint8_t by_k[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    const uint8x16_t order = vld1q_u8(by_k), mask = vdupq_n_u8((uint8_t)((1U << bits) - 1));
    const level_tables t = tables_of(o);
    const places at = *to;
    float32x4_t scale[VECTORS];
    UNROLL for (size_t v = 0; v < VECTORS; v++) scale[v] = o->scale[v];
    UNROLL for (unsigned q = 0; q < 4; q++)
    {
        const unsigned part = q % (8 / bits);
        halves h[VECTORS];
        UNROLL for (size_t v = 0; v < VECTORS; v++)
        {
            const uint32_t *from = w + q / (8 / bits) * 16 + v * VF;
            const uint8x16_t word = vqtbl1q_u8(vreinterpretq_u8_u32(vld1q_u32(from)), order);
            const uint8x16_t down = part == 0 ? word : (uint8x16_t)(word >> (uint8_t)(bits * part));
            h[v] = halves_of(t, vandq_u8(down, mask));
        }
        UNROLL for (unsigned i = 0; i < 4; i++) UNROLL for (size_t v = 0; v < VECTORS; v++)
            vst1q_f32(at.at[v] + (4 * q + i) * at.width[v], vmulq_f32(row_of(h[v], i), scale[v]));
    }
}

static void plain_2(const uint32_t *w, const block_parameters *o, const places *to, bool is_float)
{
    (void)is_float;
    fill_plain(w, o, to, 2);
}

static void plain_4(const uint32_t *w, const block_parameters *o, const places *to, bool is_float)
{
    (void)is_float;
    fill_plain(w, o, to, 4);
}
