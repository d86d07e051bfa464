/* mm_tile.h - up to six rows by a panel over one super-block, eight columns after the other.
 *
 * A part of ggml_i8_i8mm.c. A vector of sums has two rows by two columns: r0c0 r0c1 r1c0 r1c1.
 */
typedef struct mm_job {
    const int8_t *q, *sums; /* of the strip's block */
    const float *dx[STRIP_ROWS];
    float *c[STRIP_ROWS]; /* sixteen columns each */
    bool is_first;        /* sums of floats begin here */
    const mm_block *b;
} mm_job;

/* Known where everything is inlined. */
typedef struct mm_shape {
    int span;
    bool has_min;
    size_t pairs;
} mm_shape;

enum { HALF = 4 }; /* pairs of columns of a tile */

/* s = products of one part. */
FIXED void part_sums(const mm_job *t, const int part, const size_t first, int32x4_t (*s)[PAIRS],
                     const mm_shape f)
{
    const int8_t *q = t->q + (size_t)part * (size_t)f.span * 2 * f.pairs;
    const int8_t(*b)[8][16] = t->b->level + part * f.span / 8;
    UNROLL for (int i = 0; i < f.span / 8; i++)
    {
        int8x16_t x[PAIRS];
        UNROLL for (size_t r = 0; r < f.pairs; r++) x[r] =
            vld1q_s8(q + ((size_t)i * f.pairs + r) * 16);
        UNROLL for (size_t j = 0; j < HALF; j++)
        {
            const int8x16_t y = vld1q_s8(b[i][first + j]);
            UNROLL for (size_t r = 0; r < f.pairs; r++) s[j][r] =
                vmmlaq_s32(i == 0 ? vdupq_n_s32(0) : s[j][r], x[r], y);
        }
        __asm__ volatile("" ::: "memory");
    }
}

/* Numbers that sums are multiplied with, and whether C begins with them. */
typedef struct mm_end {
    const float *scale;
    bool begins;
} mm_end;

/* Sums of two pairs of columns, as floats of two rows of C. */
FIXED void add_rows(const mm_job *t, const size_t r, const size_t column, int32x4_t x, int32x4_t y,
                    const mm_end e)
{
    const int64x2_t p = vreinterpretq_s64_s32(x), q = vreinterpretq_s64_s32(y);
    const float32x4_t by = vld1q_f32(e.scale + column);
    const int32x4_t row[2] = {vreinterpretq_s32_s64(vzip1q_s64(p, q)),
                              vreinterpretq_s32_s64(vzip2q_s64(p, q))};
    UNROLL for (size_t i = 0; i < 2; i++)
    {
        float *c = t->c[2 * r + i] + column;
        const float32x4_t acc = e.begins ? vdupq_n_f32(0) : vld1q_f32(c);
        const float32x4_t d = vmulq_f32(by, vdupq_n_f32(*t->dx[2 * r + i]));
        vst1q_f32(c, vfmaq_f32(acc, d, vcvtq_f32_s32(row[i])));
    }
}

FIXED void add_all(const mm_job *t, const size_t first, int32x4_t (*s)[PAIRS], const mm_end e,
                   const mm_shape f)
{
    UNROLL for (size_t r = 0; r < f.pairs; r++) UNROLL for (size_t j = 0; j < HALF; j += 2)
        add_rows(t, r, 2 * (first + j), s[j][r], s[j + 1][r], e);
}

/* Minima times sums of parts. */
FIXED void minima(const mm_job *t, const size_t first, int32x4_t (*s)[PAIRS], const mm_shape f)
{
    const int eights = 32 / f.span;
    UNROLL for (size_t j = 0; j < HALF; j++) UNROLL for (size_t r = 0; r < f.pairs; r++)
    {
        int32x4_t sum[2] = {vdupq_n_s32(0), vdupq_n_s32(0)}; /* high, low */
        UNROLL for (int i = 0; i < eights; i++) UNROLL for (int k = 0; k < 2; k++) sum[k] =
            vmmlaq_s32(sum[k], vld1q_s8(t->sums + ((int)r * eights + i) * 32 + 16 * k),
                       vld1q_s8(t->b->minimum[i][first + j]));
        s[j][r] = vaddq_s32(vshlq_n_s32(sum[0], 6), sum[1]);
    }
}

FIXED void tile_half(const mm_job *t, const size_t first, const mm_shape f)
{
    int32x4_t sum[HALF][PAIRS], s[HALF][PAIRS];
    UNROLL for (size_t j = 0; j < HALF; j++) UNROLL for (size_t r = 0; r < f.pairs; r++) sum[j][r] =
        vdupq_n_s32(0);
    for (int part = 0; part < 256 / f.span; part++) {
        part_sums(t, part, first, s, f);
        UNROLL for (size_t j = 0; j < HALF; j++)
        {
            const int32x4_t by = vld1q_s32(t->b->scale[part][first + j]);
            UNROLL for (size_t r = 0; r < f.pairs; r++) sum[j][r] =
                vmlaq_s32(sum[j][r], s[j][r], by);
        }
    }
    add_all(t, first, sum, (mm_end){t->b->d, t->is_first}, f);
    if (!f.has_min)
        return;
    minima(t, first, s, f);
    add_all(t, first, s, (mm_end){t->b->least, false}, f);
}

#define MM_TILE(name, span, has_min, pairs)                                                        \
    static void name##_##pairs(const mm_job *t)                                                    \
    {                                                                                              \
        for (size_t first = 0; first < 8; first += HALF)                                           \
            tile_half(t, first, (mm_shape){span, has_min, pairs});                                 \
    }
#define MM_TILES(name, span, has_min)                                                              \
    MM_TILE(name, span, has_min, 1)                                                                \
    MM_TILE(name, span, has_min, 2)                                                                \
    MM_TILE(name, span, has_min, 3)
MM_TILES(long_minima, 32, true)
MM_TILES(long_plain, 32, false)
MM_TILES(short_minima, 16, true)
MM_TILES(short_plain, 16, false)
