/* neon_row.h - one row by panels of B, sums in f32.
 *
 * A part of neon.h. Four distant panels at once where fmlal makes it worth while: v0 holds eight of
 * A, v1-v3 pass B through, v8-v31 are the sums of four times 24 columns. A compiler would keep them
 * in memory.
 */
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

/* Even and odd k have sums of their own, so that one waits less for the other. */
ALWAYS void one_panel(const row_job *r, const size_t vectors)
{
    float32x4_t sum[2][6];
    const size_t width = 8 * vectors;
    const uint16_t *b = r->b;
    for (size_t j = 0; j < 12; j++)
        sum[j / 6][j % 6] = vdupq_n_f32(0);
    size_t p = 0;
    for (; p + 8 <= r->k; p += 8, b += 8 * width) {
        const float16x8_t a = vreinterpretq_f16_u16(vld1q_u16(r->a + p));
        fma_lane(sum[0], b, a, 0, vectors);
        fma_lane(sum[1], b + width, a, 1, vectors);
        fma_lane(sum[0], b + 2 * width, a, 2, vectors);
        fma_lane(sum[1], b + 3 * width, a, 3, vectors);
        fma_lane(sum[0], b + 4 * width, a, 4, vectors);
        fma_lane(sum[1], b + 5 * width, a, 5, vectors);
        fma_lane(sum[0], b + 6 * width, a, 6, vectors);
        fma_lane(sum[1], b + 7 * width, a, 7, vectors);
    }
    for (; p < r->k; p++, b += width)
        fma_lane(sum[0], b, vreinterpretq_f16_u16(vdupq_n_u16(r->a[p])), 0, vectors);
    for (size_t j = 0; j < 2 * vectors; j++) {
        const float32x4_t both = vaddq_f32(sum[0][j], sum[1][j]);
        float *to = r->c + 4 * j;
        vst1q_f32(to, r->adds ? vaddq_f32(vld1q_f32(to), both) : both);
    }
}

#ifdef __ARM_FEATURE_FP16_FML

#define LAL(s, b, l) "fmlal v" #s ".4s, v" #b ".4h, v0.h[" #l "]\n\t"
#define LAL2(s, b, l) "fmlal2 v" #s ".4s, v" #b ".4h, v0.h[" #l "]\n\t"
/* 24 columns of panel i by lane l, into six sums. */
#define PANEL(i, l, p, q, r, s, t, u)                                                              \
    "ldp q1, q2, [%[b" #i "]], #48\n\tldr q3, [%[b" #i "], #-16]\n\t" LAL(p, 1, l) LAL2(q, 1, l)   \
        LAL(r, 2, l) LAL2(s, 2, l) LAL(t, 3, l) LAL2(u, 3, l)
#define PANELS_4(l)                                                                                \
    PANEL(0, l, 8, 9, 10, 11, 12, 13)                                                              \
    PANEL(1, l, 14, 15, 16, 17, 18, 19)                                                            \
    PANEL(2, l, 20, 21, 22, 23, 24, 25)                                                            \
    PANEL(3, l, 26, 27, 28, 29, 30, 31)
#define PLUS(x, y) "fadd v" #x ".4s, v" #x ".4s, v" #y ".4s\n\t"
#define PUT_ROW(s, p, q, r, t, u, v)                                                               \
    "cbz %[adds], 5f\n\tldp q0, q1, [%[c]]\n\tldp q2, q3, [%[c], #32]\n\tldp q4, q5, [%[c], #64]"  \
    "\n\t" PLUS(p, 0) PLUS(q, 1) PLUS(r, 2) PLUS(t, 3) PLUS(u, 4)                                  \
        PLUS(v, 5) "5:\n\tstp q" #p ", q" #q ", [%[c]]\n\tstp q" #r ", q" #t ", [%[c], #32]\n\t"   \
                   "stp q" #u ", q" #v ", [%[c], #64]\n\tadd %[c], %[c], %[step]\n\t"

static void four_panels(const row_job *r)
{
    const uint16_t *a = r->a, *b0 = r->b, *b1 = b0 + r->b_step, *b2 = b1 + r->b_step,
                   *b3 = b2 + r->b_step;
    size_t eights = r->k / 8, rest = r->k % 8;
    float *c = r->c;
    /* clang-format off */
    __asm__ volatile(EACH_8(ZERO_3)
        "cbz %[eights], 2f\n"
        "1:\n\tldr q0, [%[a]], #16\n\tsubs %[eights], %[eights], #1\n\t"
        PANELS_4(0) PANELS_4(1) PANELS_4(2) PANELS_4(3)
        PANELS_4(4) PANELS_4(5) PANELS_4(6) PANELS_4(7) "bne 1b\n"
        "2:\n\tcbz %[rest], 4f\n"
        "3:\n\tld1r {v0.8h}, [%[a]], #2\n\tsubs %[rest], %[rest], #1\n\t" PANELS_4(0) "bne 3b\n"
        "4:\n\t" PUT_ROW(0, 8, 9, 10, 11, 12, 13) PUT_ROW(1, 14, 15, 16, 17, 18, 19)
        PUT_ROW(2, 20, 21, 22, 23, 24, 25) PUT_ROW(3, 26, 27, 28, 29, 30, 31)
        : [a] "+r"(a), [b0] "+r"(b0), [b1] "+r"(b1), [b2] "+r"(b2), [b3] "+r"(b3), [c] "+r"(c),
          [eights] "+r"(eights), [rest] "+r"(rest)
        : [adds] "r"((size_t)r->adds), [step] "r"(r->c_step * sizeof *c)
        : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
          "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",
          "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");
    /* clang-format on */
}

#else

static void four_panels(const row_job *r)
{
    row_job one = *r;
    for (size_t i = 0; i < 4; i++, one.b += r->b_step, one.c += r->c_step)
        one_panel(&one, 3);
}

#endif

static void row_panels(const row_job *r, size_t count, size_t cols)
{
    if (cols == NARROW)
        one_panel(r, 2);
    else if (count == 4)
        four_panels(r);
    else
        one_panel(r, 3);
}
