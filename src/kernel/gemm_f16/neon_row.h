/* neon_row.h - one row by panels of B: eight products summed in f16, and those sums in f32.
 *
 * A part of neon.h. Four streams are read alternately: four distant panels, or the quarters of k of
 * one. v0 holds eight of A, v1-v3 pass B through, v4-v6 sum eight k in f16, v7 is 1, v8-v31 are the
 * sums of four times 24 or 16 columns. A compiler would keep them in memory.
 */
typedef struct streams {
    const uint16_t *a[4], *b[4];
    size_t eights; /* of k */
} streams;

/* sum[2 * vectors] += eight columns for each vector of B, by one lane of A. */
ALWAYS void fma_lane(float32x4_t *sum, const uint16_t *b, float16x8_t a, const int lane,
                     const size_t vectors)
{
    for (size_t j = 0; j < vectors; j++) {
        const float16x8_t x = vreinterpretq_f16_u16(vld1q_u16(b + 8 * j));
#ifdef __ARM_FEATURE_FP16_FML
#define LANE(n)                                                                                    \
    case n:                                                                                        \
        sum[2 * j] = vfmlalq_laneq_low_f16(sum[2 * j], x, a, n);                                   \
        sum[2 * j + 1] = vfmlalq_laneq_high_f16(sum[2 * j + 1], x, a, n);                          \
        break;
#else
#define LANE(n)                                                                                    \
    case n: {                                                                                      \
        const float y = (float)vgetq_lane_f16(a, n);                                               \
        sum[2 * j] = vfmaq_n_f32(sum[2 * j], vcvt_f32_f16(vget_low_f16(x)), y);                    \
        sum[2 * j + 1] = vfmaq_n_f32(sum[2 * j + 1], vcvt_high_f32_f16(x), y);                     \
        break;                                                                                     \
    }
#endif
        switch (lane) {
            LANE(0) LANE(1) LANE(2) LANE(3) LANE(4) LANE(5) LANE(6) LANE(7)
        }
#undef LANE
    }
}

/* Eight sums of f16 added to eight of f32. */
#ifdef __ARM_FEATURE_FP16_FML
#define WIDE_ADD(x, s, t)                                                                          \
    "fmlal v" #s ".4s, v" #x ".4h, v7.4h\n\tfmlal2 v" #t ".4s, v" #x ".4h, v7.4h\n\t"
#else
#define WIDE_ADD(x, s, t)                                                                          \
    "fcvtl v1.4s, v" #x ".4h\n\tfcvtl2 v2.4s, v" #x ".8h\n\t"                                      \
    "fadd v" #s ".4s, v" #s ".4s, v1.4s\n\tfadd v" #t ".4s, v" #t ".4s, v2.4s\n\t"
#endif
#define TIMES(op, s, b, l) #op " v" #s ".8h, v" #b ".8h, v0.h[" #l "]\n\t"
/* 24 columns of stream i by lane l of its A, or 16. */
#define LANE_3(op, i, l)                                                                           \
    "ldp q1, q2, [%[b" #i "]], #48\n\tldr q3, [%[b" #i "], #-16]\n\t" TIMES(op, 4, 1, l)           \
        TIMES(op, 5, 2, l) TIMES(op, 6, 3, l)
#define LANE_2(op, i, l) "ldp q1, q2, [%[b" #i "]], #32\n\t" TIMES(op, 4, 1, l) TIMES(op, 5, 2, l)
/* Eight values of k of stream i, into six sums. */
#define STREAM(W, i, p, q, r, s, t, u)                                                             \
    "ldr q0, [%[a" #i "]], #16\n\t" LANE_##W(fmul, i, 0) LANE_##W(fmla, i, 1) LANE_##W(fmla, i, 2) \
        LANE_##W(fmla, i, 3) LANE_##W(fmla, i, 4) LANE_##W(fmla, i, 5) LANE_##W(fmla, i, 6)        \
            LANE_##W(fmla, i, 7) SUMS_##W(p, q, r, s, t, u)
#define SUMS_3(p, q, r, s, t, u) SUMS_2(p, q, r, s, t, u) WIDE_ADD(6, t, u)
#define SUMS_2(p, q, r, s, t, u) WIDE_ADD(4, p, q) WIDE_ADD(5, r, s)
#define PUT_SUMS(p, q, r, s, t, u)                                                                 \
    "stp q" #p ", q" #q ", [%[sum]]\n\tstp q" #r ", q" #s ", [%[sum], #32]\n\t"                    \
    "stp q" #t ", q" #u ", [%[sum], #64]\n\tadd %[sum], %[sum], #96\n\t"

/* Six vectors of sums for each stream, of which those of 16 columns use four. */
/* clang-format off */
#define STREAMS_FUNCTION(W)                                                                        \
    static void streams_##W(const streams *x, float *sum)                                          \
    {                                                                                              \
        const uint16_t *a0 = x->a[0], *a1 = x->a[1], *a2 = x->a[2], *a3 = x->a[3];                 \
        const uint16_t *b0 = x->b[0], *b1 = x->b[1], *b2 = x->b[2], *b3 = x->b[3];                 \
        size_t eights = x->eights;                                                                 \
        __asm__ volatile(EACH(MIX_8, ZERO_3)                                                       \
            "cbz %[eights], 2f\n\tfmov v7.8h, #1.0\n"                                              \
            "1:\n\tsubs %[eights], %[eights], #1\n\t"                                              \
            STREAM(W, 0, 8, 9, 10, 11, 12, 13) STREAM(W, 1, 14, 15, 16, 17, 18, 19)                \
            STREAM(W, 2, 20, 21, 22, 23, 24, 25) STREAM(W, 3, 26, 27, 28, 29, 30, 31) "bne 1b\n"   \
            "2:\n\t" PUT_SUMS(8, 9, 10, 11, 12, 13) PUT_SUMS(14, 15, 16, 17, 18, 19)               \
            PUT_SUMS(20, 21, 22, 23, 24, 25) PUT_SUMS(26, 27, 28, 29, 30, 31)                      \
            : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [b0] "+r"(b0),           \
              [b1] "+r"(b1), [b2] "+r"(b2), [b3] "+r"(b3), [eights] "+r"(eights), [sum] "+r"(sum)  \
            :                                                                                      \
            : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",     \
              "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24",  \
              "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");                    \
    }
/* clang-format on */

STREAMS_FUNCTION(3)
STREAMS_FUNCTION(2)

/* to[8 * vectors] (+)= sum, and the last `rest` values of k. */
ALWAYS void finish_panel(const row_job *r, const float *sum, const uint16_t *b, size_t rest,
                         float *to, const size_t vectors)
{
    float32x4_t v[6];
    for (size_t j = 0; j < 2 * vectors; j++)
        v[j] = vld1q_f32(sum + 4 * j);
    for (size_t p = r->k - rest; p < r->k; p++, b += 8 * vectors)
        fma_lane(v, b, vreinterpretq_f16_u16(vdupq_n_u16(r->a[p])), 0, vectors);
    for (size_t j = 0; j < 2 * vectors; j++)
        vst1q_f32(to + 4 * j, r->adds ? vaddq_f32(vld1q_f32(to + 4 * j), v[j]) : v[j]);
}

static void four_panels(const row_job *r)
{
    float sum[4 * WIDE];
    streams x = {.eights = r->k / 8};
    for (size_t i = 0; i < 4; i++) {
        x.a[i] = r->a;
        x.b[i] = r->b + i * r->b_step;
    }
    streams_3(&x, sum);
    for (size_t i = 0; i < 4; i++)
        finish_panel(r, sum + WIDE * i, x.b[i] + r->k / 8 * 8 * WIDE, r->k % 8,
                     r->c + i * r->c_step, 3);
}

/* The quarters of k are streams. */
ALWAYS void one_panel(const row_job *r, const size_t vectors)
{
    float sum[4 * WIDE];
    const size_t width = 8 * vectors, quarter = r->k / 32 * 8;
    streams x = {.eights = quarter / 8};
    for (size_t i = 0; i < 4; i++) {
        x.a[i] = r->a + i * quarter;
        x.b[i] = r->b + i * quarter * width;
    }
    if (vectors == 3)
        streams_3(&x, sum);
    else
        streams_2(&x, sum);
    for (size_t j = 0; j < width; j++)
        sum[j] = (sum[j] + sum[WIDE + j]) + (sum[2 * WIDE + j] + sum[3 * WIDE + j]);
    finish_panel(r, sum, r->b + 4 * quarter * width, r->k - 4 * quarter, r->c, vectors);
}

/* There are never four narrow panels. */
static void row_panels(const row_job *r, size_t count, size_t cols)
{
    if (cols == NARROW)
        one_panel(r, 2);
    else if (count == 4)
        four_panels(r);
    else
        one_panel(r, 3);
}
