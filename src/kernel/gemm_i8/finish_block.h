/* finish_block.h - the sums of a block of blocked.h to bytes, to floats, or as they are, sixteen
 * columns at a time, with the vectors of finish_neon.h or finish_x86.h.
 *
 * Zero points of B are rare: they cost a multiplication for each vector.
 */

/* What is added to the sums of every row: the bias, and what A's zero point brings. */
FINISH_INLINE sums_16 finish_offset(const takt_gemm_i8 *g, const block *o, size_t col, size_t n)
{
    const sums_16 bias = g->requant->bias ? load_first(g->requant->bias + col, n) : no_sums();
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
        finish_put(c, finish_bytes(&f, s, way), n);
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
    return q->to == TAKT_REQUANT_F32
               ? finish_load((const int32_t *)(const void *)q->scale, q->scale_per_column, col, n)
               : no_sums();
}

FINISH_INLINE void finish_words(const takt_requant *q, sums_16 s, sums_16 scale, int32_t *c)
{
    store_sums(c, q->to == TAKT_REQUANT_F32 ? finish_floats(s, scale) : s);
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
