/* far_tile.h - tiles that prefetch their own panels of B from beyond the caches.
 *
 * A part of vector variants with ASKS_FAR, after vector_tile.h. Where few rows read all of B once,
 * the hardware prefetcher leaves some of the memory's bandwidth unused. This is a separate loop, so
 * that the other one keeps its registers; the epilogue is left to the plain tile, which continues
 * from these sums.
 */
/* Four lines of every panel, which are read sixteen steps of k later. */
INLINE void ask_far(const elem *b, size_t second, const size_t wide)
{
    UNROLL for (size_t j = 0; j < wide; j++)
    {
        const char *from = (const char *)b + j * second + 16 * 64;
        UNROLL for (size_t i = 0; i < 4; i++) _mm_prefetch(from + i * 64, _MM_HINT_T0);
    }
}

/* The product up to a multiple of four of k. */
INLINE void far_product(const tile_job *t, vec (*acc)[VECS], const size_t rows, const size_t wide)
{
    const size_t step = (t->a_row ? t->a_row : t->k) * sizeof(elem);
    const size_t second = t->b_panel * sizeof(elem);
    const char *base[BASES];
    const elem *b = t->b;
    UNROLL for (size_t i = 0; i < (rows + SPAN - 1) / SPAN; i++) base[i] =
        (const char *)t->a + i * SPAN * step;
    FENCE();
    for (size_t p = t->k / 4; p > 0; p--, b += 4 * PANEL) {
        ask_far(b, second, wide);
        first_k(base, step, b, second, acc, rows, wide);
        second_k(base, step, b, second, acc, rows, wide);
        third_k(base, step, b, second, acc, rows, wide);
        fourth_k(base, step, b, second, acc, rows, wide);
        advance(base, 4 * sizeof(elem), rows);
    }
    FENCE();
}

INLINE void far_fixed(const tile_job *t, void (*rest)(const tile_job *), const size_t rows,
                      const size_t wide)
{
    elem start[MR * VECS * W] __attribute__((aligned(64)));
    vec acc[MR][VECS];
    UNROLL for (size_t r = 0; r < rows; r++) UNROLL for (size_t i = 0; i < wide; i++) acc[r][i] =
        v_zero();
    far_product(t, acc, rows, wide);
    UNROLL for (size_t r = 0; r < rows; r++) UNROLL for (size_t i = 0; i < wide; i++)
        v_store(start + (r * wide + i) * W, acc[r][i]);
    const size_t done = t->k / 4 * 4;
    tile_job u = *t;
    u.start = start;
    u.a_row = t->a_row ? t->a_row : t->k; /* u.k changes below */
    u.k -= done;
    u.a += done;
    u.b += done * PANEL;
    u.ahead = t->a;
    u.ahead_step = 0;
    rest(&u);
}

#define FAR_TILE(R)                                                                                \
    static void far_tile_##R(const tile_job *t)                                                    \
    {                                                                                              \
        far_fixed(t, tile_##R, R, 2);                                                              \
    }
#define FAR_BROAD(R)                                                                               \
    static void far_broad_##R(const tile_job *t)                                                   \
    {                                                                                              \
        far_fixed(t, broad_##R, R, 3);                                                             \
    }
#define FAR_TILE_NAME(R) far_tile_##R,
#define FAR_BROAD_NAME(R) far_broad_##R,
