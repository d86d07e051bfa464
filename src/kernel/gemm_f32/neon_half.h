/* neon_half.h - one row by panels of 16-bit elements, widened in registers: memory is what limits
 * such a product, and it brings half the bytes.
 *
 * A part of gemm_f32_neon.c. Of eight bf16 the even ones are shifted up and the odd ones masked,
 * which is less work than widening them in order; their sums are put in order in the end. Eight
 * columns of a panel are such pairs, four more lie as they are.
 */
#define ALWAYS static inline __attribute__((always_inline))

ALWAYS float32x4_t fma_lane(float32x4_t s, float32x4_t b, float32x4_t a, const int lane)
{
    return lane == 0   ? vfmaq_laneq_f32(s, b, a, 0)
           : lane == 1 ? vfmaq_laneq_f32(s, b, a, 1)
           : lane == 2 ? vfmaq_laneq_f32(s, b, a, 2)
                       : vfmaq_laneq_f32(s, b, a, 3);
}

ALWAYS void fma_bf16(float32x4_t *s, const uint16_t *b, float32x4_t a, const int lane,
                     const size_t vectors)
{
    const uint32x4_t pairs = vreinterpretq_u32_u16(vld1q_u16(b));
    const uint32x4_t even = vshlq_n_u32(pairs, 16), odd = vandq_u32(pairs, vdupq_n_u32(0xffff0000));
    s[0] = fma_lane(s[0], vreinterpretq_f32_u32(even), a, lane);
    s[1] = fma_lane(s[1], vreinterpretq_f32_u32(odd), a, lane);
    if (vectors == 3) {
        const uint32x4_t four = vshll_n_u16(vld1_u16(b + 8), 16);
        s[2] = fma_lane(s[2], vreinterpretq_f32_u32(four), a, lane);
    }
}

ALWAYS void fma_f16(float32x4_t *s, const uint16_t *b, float32x4_t a, const int lane,
                    const size_t vectors)
{
    for (size_t j = 0; j < vectors; j++) {
        const float16x4_t four = vreinterpret_f16_u16(vld1_u16(b + 4 * j));
        s[j] = fma_lane(s[j], vcvt_f32_f16(four), a, lane);
    }
}

#if defined(__ARM_FEATURE_FP16_FML)

/* Times one, added to zero: two instructions that every vector unit takes, and the zero costs
 * nothing, where a conversion keeps half of the units busy for two cycles. Minus zero becomes plus
 * zero. */
#define TIMES_ONE(op, x, one)                                                                      \
    __asm__("movi %0.2d, #0\n\t" op " %0.4s, %1.4h, %2.4h" : "=&w"(wide) : "w"(x), "w"(one))

ALWAYS float32x4_t low_times(float16x8_t x, float16x8_t one)
{
    float32x4_t wide;
    TIMES_ONE("fmlal", x, one);
    return wide;
}

ALWAYS float32x4_t high_times(float16x8_t x, float16x8_t one)
{
    float32x4_t wide;
    TIMES_ONE("fmlal2", x, one);
    return wide;
}

ALWAYS float32x4_t four_times(float16x4_t x, float16x8_t one)
{
    float32x4_t wide;
    TIMES_ONE("fmlal", x, one);
    return wide;
}

ALWAYS void fma_quick(float32x4_t *s, const uint16_t *b, float32x4_t a, const int lane,
                      const size_t vectors)
{
    const float16x8_t one = vreinterpretq_f16_u16(vdupq_n_u16(0x3c00));
    const float16x8_t x = vreinterpretq_f16_u16(vld1q_u16(b));
    s[0] = fma_lane(s[0], low_times(x, one), a, lane);
    s[1] = fma_lane(s[1], high_times(x, one), a, lane);
    if (vectors == 3) {
        const float16x4_t y = vreinterpret_f16_u16(vld1_u16(b + 8));
        s[2] = fma_lane(s[2], four_times(y, one), a, lane);
    }
}

/* Whether every element is zero or at least 2^-125: then no product with an f16, of which 2^-24 is
 * the least, is lost to minus zero, and the sign of a weight of zero changes no sum. */
static bool is_quick(const float *a, size_t k)
{
    uint32x4_t least = vdupq_n_u32(UINT32_MAX); /* of twice the bits, less one */
    size_t p = 0;
    for (; p + 4 <= k; p += 4) {
        const uint32x4_t bits = vreinterpretq_u32_f32(vld1q_f32(a + p));
        least = vminq_u32(least, vsubq_u32(vshlq_n_u32(bits, 1), vdupq_n_u32(1)));
    }
    for (; p < k; p++) {
        const uint32x4_t bits = vreinterpretq_u32_f32(vld1q_dup_f32(a + p));
        least = vminq_u32(least, vsubq_u32(vshlq_n_u32(bits, 1), vdupq_n_u32(1)));
    }
    return vminvq_u32(least) >= (2U << 24) - 1;
}

#else

#define fma_quick fma_f16

static bool is_quick(const float *a, size_t k)
{
    (void)a;
    (void)k;
    return false;
}

#endif

/* How elements become floats: f16 by conversion or by products, and bf16. */
typedef enum half_kind { CONVERTED, QUICK, BF16 } half_kind;

ALWAYS void fma_half(float32x4_t *s, const uint16_t *b, float32x4_t a, const int lane,
                     const size_t vectors, const half_kind kind)
{
    if (kind == BF16)
        fma_bf16(s, b, a, lane, vectors);
    else if (kind == QUICK)
        fma_quick(s, b, a, lane, vectors);
    else
        fma_f16(s, b, a, lane, vectors);
}

ALWAYS void keep_half(const row_job *r, float *to, float32x4_t *s, const size_t vectors,
                      const half_kind kind)
{
    if (kind == BF16) {
        const float32x4_t even = s[0], odd = s[1];
        s[0] = vzip1q_f32(even, odd);
        s[1] = vzip2q_f32(even, odd);
    }
    for (size_t j = 0; j < vectors; j++, to += 4)
        vst1q_f32(to, r->adds ? vaddq_f32(vld1q_f32(to), s[j]) : s[j]);
}

ALWAYS void half_fixed(const row_job *r, const size_t count, const size_t vectors,
                       const half_kind kind)
{
    float32x4_t s[4][3]; /* bf16: even and odd of the first eight columns, then four */
    const size_t width = 4 * vectors;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < vectors; j++)
            s[i][j] = vdupq_n_f32(0);
    size_t p = 0;
    for (; p + 4 <= r->k; p += 4) {
        const float32x4_t four = vld1q_f32(r->a + p);
        for (size_t i = 0; i < count; i++) {
            const uint16_t *b = r->half + i * r->b_step + p * width;
            fma_half(s[i], b, four, 0, vectors, kind);
            fma_half(s[i], b + width, four, 1, vectors, kind);
            fma_half(s[i], b + 2 * width, four, 2, vectors, kind);
            fma_half(s[i], b + 3 * width, four, 3, vectors, kind);
        }
    }
    for (; p < r->k; p++) {
        const float32x4_t one = vsetq_lane_f32(r->a[p], vdupq_n_f32(0), 0);
        for (size_t i = 0; i < count; i++)
            fma_half(s[i], r->half + i * r->b_step + p * width, one, 0, vectors, kind);
    }
    for (size_t i = 0; i < count; i++)
        keep_half(r, r->c + i * r->c_step, s[i], vectors, kind);
}

ALWAYS float32x4_t half_four(uint16x4_t four, const bool is_bf16_)
{
    return is_bf16_ ? vreinterpretq_f32_u32(vshll_n_u16(four, 16))
                    : vcvt_f32_f16(vreinterpret_f16_u16(four));
}

ALWAYS void span_fixed(const uint16_t *from, size_t count, float *to, const bool is_bf16_)
{
    size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        const uint16x8_t x = vld1q_u16(from + i), y = vld1q_u16(from + i + 8);
        vst1q_f32(to + i, half_four(vget_low_u16(x), is_bf16_));
        vst1q_f32(to + i + 4, half_four(vget_high_u16(x), is_bf16_));
        vst1q_f32(to + i + 8, half_four(vget_low_u16(y), is_bf16_));
        vst1q_f32(to + i + 12, half_four(vget_high_u16(y), is_bf16_));
    }
    for (; i < count; i += 4)
        vst1q_f32(to + i, half_four(vld1_u16(from + i), is_bf16_));
}

static void half_span(const uint16_t *from, size_t count, bool is_bf16_, float *to)
{
    if (is_bf16_)
        span_fixed(from, count, to, true);
    else
        span_fixed(from, count, to, false);
}

#define HALF_ROW(name, count, vectors, kind)                                                       \
    static void name(const row_job *r)                                                             \
    {                                                                                              \
        half_fixed(r, count, vectors, kind);                                                       \
    }
#define HALF_ROWS_OF(name, kind)                                                                   \
    HALF_ROW(name##_1_2, 1, 2, kind)                                                               \
    HALF_ROW(name##_1_3, 1, 3, kind)                                                               \
    HALF_ROW(name##_4_2, 4, 2, kind) HALF_ROW(name##_4_3, 4, 3, kind)

HALF_ROWS_OF(f16, CONVERTED)
HALF_ROWS_OF(quick, QUICK)
HALF_ROWS_OF(bf16, BF16)

static void row_half(const row_job *r, size_t count, size_t width)
{
    static void (*const rows[3][2][2])(const row_job *) = {
        [CONVERTED] = {{f16_1_2, f16_1_3}, {f16_4_2, f16_4_3}},
        [QUICK] = {{quick_1_2, quick_1_3}, {quick_4_2, quick_4_3}},
        [BF16] = {{bf16_1_2, bf16_1_3}, {bf16_4_2, bf16_4_3}}};
    const half_kind kind = r->is_bf16 ? BF16 : is_quick(r->a, r->k) ? QUICK : CONVERTED;
    rows[kind][count == 4][width == WIDE](r);
}
