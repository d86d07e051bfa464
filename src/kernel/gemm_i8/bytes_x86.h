/* bytes_x86.h - packing a row of bytes, and one row by several panels, for VNNI and AMX. */

/* k bytes from byte p of a row, 16 at a time, `step` bytes apart, each flipped by `top`; the last
 * piece is padded. */
static void pack_row(const takt_gemm_i8 *g, size_t row, size_t p, size_t k, char *to, size_t step,
                     int top)
{
    const char *a = (const char *)g->a + row * g->a_row + p;
    const __m128i flips = _mm_set1_epi8((char)top);
    for (size_t i = 0; i < k; i += 16, to += step) {
        __m128i x = _mm_setzero_si128();
        if (k - i >= 16)
            x = _mm_loadu_si128((const __m128i *)(const void *)(a + i));
        else
            memcpy(&x, a + i, k - i);
        _mm_storeu_si128((__m128i *)(void *)to, _mm_xor_si128(x, flips));
    }
}

static inline __attribute__((always_inline)) void dot_fixed(const char *a, const int8_t *b,
                                                            size_t b_step, size_t steps,
                                                            int32_t *sums, const size_t count)
{
    __m512i acc[4];
    for (size_t i = 0; i < count; i++)
        acc[i] = _mm512_setzero_si512();
    for (size_t p = 0; p < steps; p++) {
        int four;
        memcpy(&four, a + 4 * p, sizeof four);
        for (size_t i = 0; i < count; i++)
            acc[i] = _mm512_dpbusd_epi32(acc[i], _mm512_set1_epi32(four),
                                         _mm512_loadu_si512(b + i * b_step + p * LINE));
    }
    for (size_t i = 0; i < count; i++)
        _mm512_storeu_si512(sums + 16 * i, acc[i]);
}

/* `a` is one row of unsigned bytes, flipped if need be. */
static void dot_panels(const char *a, const int8_t *b, size_t b_step, size_t steps, int32_t *sums,
                       size_t count)
{
    if (count == 4)
        dot_fixed(a, b, b_step, steps, sums, 4);
    else
        dot_fixed(a, b, b_step, steps, sums, 1);
}
