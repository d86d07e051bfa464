/* neon_row.h - one row by panels of f32, several of them alternately.
 *
 * A part of gemm_f32_neon.c. Loops are made for every number of wide and narrow panels, so that all
 * sums stay in registers.
 */
/* How many panels of how many vectors, and narrow ones; known when compiled. */
typedef struct row_form {
    size_t count, vectors, narrow;
} row_form;

#define INLINE static inline __attribute__((always_inline))

/* `vectors` of B's row, by one lane of A. */
INLINE void fma_row(float32x4_t *s, const float *b, float32x4_t a, const int lane,
                    const size_t vectors)
{
    for (size_t j = 0; j < vectors; j++) {
        const float32x4_t row = vld1q_f32(b + 4 * j);
        s[j] = lane == 0   ? vfmaq_laneq_f32(s[j], row, a, 0)
               : lane == 1 ? vfmaq_laneq_f32(s[j], row, a, 1)
               : lane == 2 ? vfmaq_laneq_f32(s[j], row, a, 2)
                           : vfmaq_laneq_f32(s[j], row, a, 3);
    }
}

/* Four k of one panel. */
INLINE void fma_four(float32x4_t *s, const float *b, float32x4_t a, const size_t vectors)
{
    fma_row(s, b, a, 0, vectors);
    fma_row(s, b + 4 * vectors, a, 1, vectors);
    fma_row(s, b + 8 * vectors, a, 2, vectors);
    fma_row(s, b + 12 * vectors, a, 3, vectors);
}

/* `count` panels' sums, each added to what C has, if it `adds`. */
INLINE void row_store(float32x4_t (*s)[3], float *c, size_t step, bool adds, const size_t count,
                      const size_t vectors)
{
    for (size_t i = 0; adds && i < count; i++)
        for (size_t j = 0; j < vectors; j++)
            s[i][j] = vaddq_f32(vld1q_f32(c + i * step + 4 * j), s[i][j]);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < vectors; j++)
            vst1q_f32(c + i * step + 4 * j, s[i][j]);
}

/* `each` panels of every place, from number `first` on. */
INLINE void row_loop(const row_run *r, size_t first, size_t each, const row_form f)
{
    const size_t width = 4 * f.vectors, k = r->job.k, apart = r->job.b_step, step = r->job.c_step;
    const bool adds = r->job.adds; /* as read before the stores, which could have changed it */
    const float *a = r->job.a, *b = r->job.b + first * width * k, *narrow = r->narrow_b;
    float *c = r->job.c + first * width, *narrow_c = r->narrow_c;
    for (; each > 0; each--, c += width) {
        float32x4_t s[STREAMS][3], t[NARROW_MOST][3];
        for (size_t i = 0; i < f.count * f.vectors; i++)
            s[i / f.vectors][i % f.vectors] = vdupq_n_f32(0);
        for (size_t i = 0; i < f.narrow * 2; i++)
            t[i / 2][i % 2] = vdupq_n_f32(0);
        size_t p = 0;
        for (; p + 4 <= k; p += 4, b += 4 * width) {
            const float32x4_t four = vld1q_f32(a + p);
            for (size_t i = 0; i < f.count; i++)
                fma_four(s[i], b + i * apart, four, f.vectors);
            for (size_t i = 0; i < f.narrow; i++)
                fma_four(t[i], narrow + (i * k + p) * NARROW, four, 2);
        }
        for (; p < k; p++, b += width) {
            const float32x4_t one = vsetq_lane_f32(a[p], vdupq_n_f32(0), 0);
            for (size_t i = 0; i < f.count; i++)
                fma_row(s[i], b + i * apart, one, 0, f.vectors);
            for (size_t i = 0; i < f.narrow; i++)
                fma_row(t[i], narrow + (i * k + p) * NARROW, one, 0, 2);
        }
        row_store(s, c, step, adds, f.count, f.vectors);
        row_store(t, narrow_c, NARROW, adds, f.narrow, 2);
    }
}

INLINE void row_fixed(const row_run *r, const size_t count)
{
    const size_t alone = r->each - (r->narrow > 0);
    row_loop(r, 0, alone, (row_form){count, 3, 0});
    if (r->narrow == 1)
        row_loop(r, alone, 1, (row_form){count, 3, 1});
    else if (r->narrow == 2)
        row_loop(r, alone, 1, (row_form){count, 3, 2});
}

static void row_panels_run(const row_run *r, size_t count)
{
    if (count == 4)
        row_fixed(r, 4);
    else if (count == 3)
        row_fixed(r, 3);
    else if (count == 2)
        row_fixed(r, 2);
    else
        row_fixed(r, 1);
}

/* The parts that runs do not cover: pieces that were widened, columns without a wide panel, parts
 * of the last. */
static void row_panels(const row_job *r, size_t count, size_t width)
{
    const row_run run = {.job = *r, .each = 1};
    if (width == WIDE)
        row_loop(&run, 0, 1, (row_form){1, 3, 0});
    else if (count == 2)
        row_loop(&run, 0, 1, (row_form){2, 2, 0});
    else
        row_loop(&run, 0, 1, (row_form){1, 2, 0});
}
