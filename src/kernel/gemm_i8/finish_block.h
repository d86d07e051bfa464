/* finish_block.h - the sums of a block of blocked.h to bytes, to floats, or as they are, sixteen
 * columns at a time, on NEON.
 *
 * Zero points of B are rare: they cost a multiplication for each vector.
 */

FINISH_INLINE sums_16 add_sums(sums_16 x, sums_16 y)
{
    return (sums_16){vaddq_s32(x.a, y.a), vaddq_s32(x.b, y.b), vaddq_s32(x.c, y.c),
                     vaddq_s32(x.d, y.d)};
}

/* x - y * times */
FINISH_INLINE sums_16 less_sums(sums_16 x, sums_16 y, int32_t times)
{
    return (sums_16){vmlsq_n_s32(x.a, y.a, times), vmlsq_n_s32(x.b, y.b, times),
                     vmlsq_n_s32(x.c, y.c, times), vmlsq_n_s32(x.d, y.d, times)};
}

/* What is added to the sums of every row: the bias, and what A's zero point brings. */
FINISH_INLINE sums_16 finish_offset(const takt_gemm_i8 *g, const block *o, size_t col, size_t n)
{
    const int32x4_t none = vdupq_n_s32(0);
    const sums_16 bias = g->requant->bias ? load_first(g->requant->bias + col, n)
                                          : (sums_16){none, none, none, none};
    return less_sums(bias, load_first(g->b_sum + col, n), (int32_t)o->shift);
}

/* n <= 16 columns, whose sums lie `at` columns into those of the block. */
FINISH_INLINE void finish_panel(const takt_gemm_i8 *g, const block *o, size_t at, size_t n,
                                const finish_way way)
{
    const size_t col = o->col + at;
    const finish_16 f = finish_begin(g->requant, col, n, way);
    const sums_16 offset = finish_offset(g, o, col, n);
    const int32_t *sums = o->sums + at;
    uint8_t *c = (uint8_t *)g->c + o->row * g->ldc + col;
    for (size_t i = 0; i < o->rows; i++, sums += NR, c += g->ldc) {
        sums_16 s = add_sums(load_sums(sums), offset);
        if (g->b_zero)
            s = less_sums(s, load_first(g->b_zero + col, n), (int32_t)o->row_sums[i]);
        const uint8x16_t y = finish_bytes(&f, s, way);
        if (n == 16)
            vst1q_u8(c, y);
        else
            finish_some(c, y, n);
    }
}

FINISH_INLINE void finish_columns(const takt_gemm_i8 *g, const block *o, size_t at, const size_t n)
{
    switch (finish_way_of(g->requant, o->col + at, n)) {
    case FINISH_SCALE: finish_panel(g, o, at, n, FINISH_SCALE); break;
    case FINISH_RIGHT: finish_panel(g, o, at, n, FINISH_RIGHT); break;
    case FINISH_FIXED: finish_panel(g, o, at, n, FINISH_FIXED); break;
    case FINISH_WIDE: finish_panel(g, o, at, n, FINISH_WIDE); break;
    }
}

/* Apart from whole panels, whose code then needs no room for parts of them: with few rows, that
 * takes longer than the sums. */
static __attribute__((noinline)) void finish_some_columns(const takt_gemm_i8 *g, const block *o,
                                                          size_t at, size_t n)
{
    finish_columns(g, o, at, n);
}

static void finish_block(const takt_gemm_i8 *g, const block *o)
{
    size_t at = 0;
    for (; at + 16 <= o->cols; at += 16)
        finish_columns(g, o, at, 16);
    if (at < o->cols)
        finish_some_columns(g, o, at, o->cols - at);
}

FINISH_INLINE sums_16 finish_words_scale(const takt_requant *q, size_t col, size_t n)
{
    const int32x4_t none = vdupq_n_s32(0);
    return q->to == TAKT_REQUANT_F32
               ? finish_load((const int32_t *)(const void *)q->scale, q->scale_per_column, col, n)
               : (sums_16){none, none, none, none};
}

FINISH_INLINE int32x4_t finish_word(int32x4_t x, int32x4_t scale)
{
    return vreinterpretq_s32_f32(vmulq_f32(vcvtq_f32_s32(x), vreinterpretq_f32_s32(scale)));
}

FINISH_INLINE void finish_words(const takt_requant *q, sums_16 s, sums_16 scale, int32_t *c)
{
    if (q->to == TAKT_REQUANT_F32)
        s = (sums_16){finish_word(s.a, scale.a), finish_word(s.b, scale.b),
                      finish_word(s.c, scale.c), finish_word(s.d, scale.d)};
    vst1q_s32(c, s.a);
    vst1q_s32(c + 4, s.b);
    vst1q_s32(c + 8, s.c);
    vst1q_s32(c + 12, s.d);
}

/* Such words of whole panels. */
static void finish_sums(const takt_gemm_i8 *g, const block *o)
{
    for (size_t at = 0; at < o->cols; at += 16) {
        const size_t col = o->col + at;
        const sums_16 offset = finish_offset(g, o, col, 16);
        const sums_16 scale = finish_words_scale(g->requant, col, 16);
        const int32_t *sums = o->sums + at;
        int32_t *c = (int32_t *)g->c + o->row * g->ldc + col;
        for (size_t i = 0; i < o->rows; i++, sums += NR, c += g->ldc) {
            sums_16 s = add_sums(load_sums(sums), offset);
            if (g->b_zero)
                s = less_sums(s, load_sums(g->b_zero + col), (int32_t)o->row_sums[i]);
            finish_words(g->requant, s, scale, c);
        }
    }
}
