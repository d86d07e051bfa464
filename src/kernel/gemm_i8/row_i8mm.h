/* row_i8mm.h - one row by smmla: the sums of a panel are finished in registers.
 *
 * A vector of A holds eight bytes twice, so half of each product is not used; a row is bound by
 * reading B. Two panels at a time, half of the columns apart. In memory and through a call for each
 * panel, finishing takes as long as multiplying a hundred k.
 */

typedef struct row_panel {
    int32x4_t a, b, c, d, e, f, g, h; /* 2 x 2 sums of two columns each */
} row_panel;

FINISH_INLINE int32x4_t row_add(int32x4_t sum, uint8x16_t a, const int8_t *b,
                                const bool is_unsigned)
{
    const int8x16_t y = vld1q_s8(b);
    return is_unsigned ? vusmmlaq_s32(sum, a, y) : vmmlaq_s32(sum, vreinterpretq_s8_u8(a), y);
}

FINISH_INLINE row_panel row_step(row_panel s, uint8x16_t a, const int8_t *b, const bool is_unsigned)
{
    return (row_panel){row_add(s.a, a, b, is_unsigned),      row_add(s.b, a, b + 16, is_unsigned),
                       row_add(s.c, a, b + 32, is_unsigned), row_add(s.d, a, b + 48, is_unsigned),
                       row_add(s.e, a, b + 64, is_unsigned), row_add(s.f, a, b + 80, is_unsigned),
                       row_add(s.g, a, b + 96, is_unsigned), row_add(s.h, a, b + 112, is_unsigned)};
}

/* n <= 8 bytes, twice. */
FINISH_INLINE uint8x16_t row_bytes(const uint8_t *a, size_t n)
{
    uint64_t x = 0;
    memcpy(&x, a, n);
    return vreinterpretq_u8_u64(vdupq_n_u64(x));
}

FINISH_INLINE void row_words(const takt_gemm_i8 *g, sums_16 s, size_t col, size_t n)
{
    const sums_16 scale = finish_words_scale(g->requant, col, n);
    int32_t some[16], *c = (int32_t *)g->c + col;
    finish_words(g->requant, s, scale, n == 16 ? c : some);
    if (n < 16)
        memcpy(c, some, n * sizeof *c);
}

/* `is_bytes`: of the result; `way` is not used without. */
FINISH_INLINE void row_finish(const takt_gemm_i8 *g, row_panel p, size_t col, size_t n,
                              const bool is_bytes, const finish_way way)
{
    const block o = {.shift = (uint32_t)g->a_zero};
    const sums_16 s = add_sums((sums_16){direct_even(p.a, p.b), direct_even(p.c, p.d),
                                         direct_even(p.e, p.f), direct_even(p.g, p.h)},
                               finish_offset(g, &o, col, n));
    if (!is_bytes) {
        row_words(g, s, col, n);
        return;
    }
    const finish_16 f = finish_begin(g->requant, col, n, way);
    const uint8x16_t y = finish_bytes(&f, s, way);
    if (n == 16)
        vst1q_u8((uint8_t *)g->c + col, y);
    else
        finish_some((uint8_t *)g->c + col, y, n);
}

/* Apart from whole panels, as in finish_block.h. */
static __attribute__((noinline)) void row_finish_some(const takt_gemm_i8 *g, const row_panel *s,
                                                      size_t col, size_t n)
{
    if (!finish_is_bytes(g->requant)) {
        row_finish(g, *s, col, n, false, FINISH_SCALE);
        return;
    }
    switch (finish_way_of(g->requant, col, n)) {
    case FINISH_SCALE: row_finish(g, *s, col, n, true, FINISH_SCALE); break;
    case FINISH_RIGHT: row_finish(g, *s, col, n, true, FINISH_RIGHT); break;
    case FINISH_FIXED: row_finish(g, *s, col, n, true, FINISH_FIXED); break;
    case FINISH_WIDE: row_finish(g, *s, col, n, true, FINISH_WIDE); break;
    }
}

/* How a row is computed: constants of the compiler wherever they are used. */
typedef struct row_form {
    bool is_unsigned, is_bytes;
    finish_way way;
} row_form;

FINISH_INLINE void row_end(const takt_gemm_i8 *g, row_panel s, size_t panel, const row_form form)
{
    if (16 * panel + 16 <= g->n)
        row_finish(g, s, 16 * panel, 16, form.is_bytes, form.way);
    else
        row_finish_some(g, &s, 16 * panel, g->n - 16 * panel);
}

/* Panels `one` and `two`, which may be the same. */
FINISH_INLINE void row_two(const takt_gemm_i8 *g, size_t one, size_t two, const row_form form)
{
    const int32x4_t none = vdupq_n_s32(0);
    row_panel s = {none, none, none, none, none, none, none, none}, t = s;
    const uint8_t *a = g->a;
    const int8_t *b = g->b + one * g->b_panel, *c = g->b + two * g->b_panel;
    size_t left = g->k;
    for (; left >= 8; left -= 8, a += 8, b += 128, c += 128) {
        const uint8x16_t x = row_bytes(a, 8);
        s = row_step(s, x, b, form.is_unsigned);
        __asm__ volatile("" ::: "memory"); /* loads of all sixteen need more registers than exist */
        t = row_step(t, x, c, form.is_unsigned);
    }
    if (left > 0) {
        const uint8x16_t x = row_bytes(a, left);
        s = row_step(s, x, b, form.is_unsigned);
        t = row_step(t, x, c, form.is_unsigned);
    }
    row_end(g, s, one, form);
    if (two != one)
        row_end(g, t, two, form);
}

FINISH_INLINE void row_all(const takt_gemm_i8 *g, const row_form form)
{
    const size_t panels = (g->n + 15) / 16, half = (panels + 1) / 2;
    for (size_t j = 0; j < half; j++)
        row_two(g, j, j + half < panels ? j + half : j, form);
}

FINISH_INLINE void row_way(const takt_gemm_i8 *g, const bool is_unsigned)
{
    if (!finish_is_bytes(g->requant))
        row_all(g, (row_form){is_unsigned, false, FINISH_SCALE});
    else if (g->requant->wide != NULL)
        row_all(g, (row_form){is_unsigned, true, FINISH_WIDE});
    else if (g->requant->multiplier != NULL)
        row_all(g, (row_form){is_unsigned, true, FINISH_RIGHT});
    else
        row_all(g, (row_form){is_unsigned, true, FINISH_SCALE});
}

/* B that stays in L2: farther away, more streams and prefetching pay off. */
static bool row_fits(const takt_gemm_i8 *g)
{
    const takt_requant *q = g->requant;
    return g->m == 1 && g->image == NULL && g->b_zero == NULL && g->n * g->k <= B_NEAR &&
           (finish_is_words(q) || (finish_is_bytes(q) && (q->multiplier == NULL || q->goes_right)));
}

static void row_run(const takt_gemm_i8 *g)
{
    if (g->a_unsigned)
        row_way(g, true);
    else
        row_way(g, false);
}
