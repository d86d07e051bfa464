/* vector_tile.h - tiles of two vectors' width and rows by panels, written over a few vector
 * functions.
 *
 * A template for x86, f32 and f64: a variant defines the type vec, the constant W (its lanes) and
 * v_zero, v_load, v_store, v_set, v_fma (a * b + c), v_add, v_max, v_min (which return their second
 * operand if either is NaN or both are zero), v_less (mask of x < 0), v_clear (a without the bits
 * of m), v_or. A tile has two vectors per row: two halves of a panel, or two panels.
 */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define INLINE static inline __attribute__((always_inline))

/* minimum(maximum(x, lo), hi): a bound that is zero also decides the sign of a zero. */
INLINE vec v_least(vec x, elem hi)
{
    const vec sign = v_set(hi == 0 && signbit(hi) ? (elem)-0.0 : 0);
    return v_or(v_min(v_set(hi), x), sign);
}

INLINE vec v_clip(vec x, elem lo, elem hi)
{
    const vec plus = v_set(lo == 0 && !signbit(lo) ? (elem)-0.0 : 0);
    return v_least(v_clear(v_max(v_set(lo), x), plus), hi);
}

INLINE void product(const tile_job *t, vec (*acc)[2], const size_t rows, const size_t wide)
{
    const elem *a = t->a, *b = t->b;
    const size_t second = PANELS == 2 ? t->b_panel : W;
    for (size_t p = 0; p < t->k; p += QUAD, a += rows * QUAD) {
        const size_t steps = least(t->k - p, QUAD);
        for (size_t q = 0; q < steps; q++, b += PANEL) {
            const vec left = v_load(b), right = wide == 2 ? v_load(b + second) : left;
            UNROLL for (size_t r = 0; r < rows; r++)
            {
                const vec x = v_set(a[r * QUAD + q]);
                acc[r][0] = v_fma(x, left, acc[r][0]);
                if (wide == 2)
                    acc[r][1] = v_fma(x, right, acc[r][1]);
            }
        }
    }
}

INLINE vec finish(const tile_job *t, vec x, size_t row, size_t col)
{
    if (t->sum)
        x = v_add(v_load(t->sum + row * t->sum_ld + col), x);
    if (t->bias)
        x = v_add(x, v_load(t->bias + col));
    if (t->residual)
        x = v_add(x, v_load(t->residual + row * t->residual_stride + col));
    if (t->act == TAKT_GEMM_ACT_RELU)
        x = v_clear(x, v_less(x));
    else if (t->act == TAKT_GEMM_ACT_RELU_MIN)
        x = v_least(v_clear(x, v_less(x)), t->hi);
    else if (t->act == TAKT_GEMM_ACT_CLIP)
        x = v_clip(x, t->lo, t->hi);
    return x;
}

INLINE void tile_fixed(const tile_job *t, const size_t rows, const size_t wide)
{
    vec acc[MR][2];
    UNROLL for (size_t r = 0; r < rows; r++) acc[r][0] = acc[r][1] = v_zero();
    product(t, acc, rows, wide);
    UNROLL for (size_t r = 0; r < rows; r++)
    {
        v_store(t->c + r * t->ldc, finish(t, acc[r][0], r, 0));
        if (wide == 2)
            v_store(t->c + r * t->ldc + W, finish(t, acc[r][1], r, W));
    }
}

/* One chunk of `count` panels for one row. */
INLINE void row_chunk(const elem *a, const elem *b, size_t b_step, size_t k, vec (*acc)[2],
                      const size_t count)
{
    UNROLL for (size_t i = 0; i < count; i++) acc[i][0] = acc[i][1] = v_zero();
    for (size_t p = 0; p < k; p++) {
        const vec x = v_set(a[p]);
        UNROLL for (size_t i = 0; i < count; i++)
        {
            acc[i][0] = v_fma(x, v_load(b + i * b_step + p * PANEL), acc[i][0]);
            if (PANEL > W)
                acc[i][1] = v_fma(x, v_load(b + i * b_step + p * PANEL + PANEL - W), acc[i][1]);
        }
    }
}

INLINE void keep(elem *to, vec x, bool adds)
{
    v_store(to, adds ? v_add(v_load(to), x) : x);
}

INLINE void row_fixed(const row_job *r, const size_t count)
{
    vec acc[4][2];
    row_chunk(r->a, r->b, r->b_step, r->k, acc, count);
    UNROLL for (size_t i = 0; i < count; i++)
    {
        keep(r->c + i * r->c_step, acc[i][0], r->adds);
        if (PANEL > W)
            keep(r->c + i * r->c_step + PANEL - W, acc[i][1], r->adds);
    }
}

static void row_panels(const row_job *r, size_t count, size_t width)
{
    (void)width;
    if (count == 4)
        row_fixed(r, 4);
    else
        row_fixed(r, 1);
}

/* tile_<rows> and, where a tile has two panels, thin_<rows> for one. */
#define TILE(R)                                                                                    \
    static void tile_##R(const tile_job *t)                                                        \
    {                                                                                              \
        tile_fixed(t, R, 2);                                                                       \
    }
#define THIN(R)                                                                                    \
    static void thin_##R(const tile_job *t)                                                        \
    {                                                                                              \
        tile_fixed(t, R, 1);                                                                       \
    }
