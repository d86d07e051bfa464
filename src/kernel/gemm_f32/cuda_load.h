/* cuda_load.h - a template: how a tile of cuda_tile.h or cuda_wide.h comes to shared memory. A lies
 * there as lines of k, or, if TURNED, as lines of rows. */
enum {
    TILE(A_LINE) = (TURNED ? BM : BK) + 4, /* neighbouring lines begin in different banks */
    TILE(B_LINE) = BN,
    TILE(A_SIZE) = (TURNED ? BK : BM) * TILE(A_LINE),
    TILE(STAGE) = TILE(A_SIZE) + BK * TILE(B_LINE),
    TILE(THREADS) = (BM / TM) * (BN / TN),
    TILE(QUADS) = BK / 4,                     /* of a line of A */
    TILE(ROWS) = TILE(THREADS) / TILE(QUADS), /* of A that the threads load at once */
    TILE(PASSES) = BM / TILE(ROWS)
};

/* ---- A ---- */

#if TURNED
/* The thread's quads of A[row .. row + BM, k .. k + BK); nothing for rows beyond the last. */
DEVICE void TILE(hold)(const takt_cuda_gemm *g, const float *from, float *held, const place *at,
                       const spot *spots, tap *here)
{
    const uint32_t q = at->lane % TILE(QUADS) * 4;
    if (at->k + q >= at->last)
        return;
#if GATHERS
    const int32_t offset =
        (here->h * (int32_t)g->width + here->w) * (int32_t)g->pixel + (int32_t)here->channel;
    UNROLL
    for (uint32_t i = 0; i < TILE(PASSES); i++) {
        const quad zero = {0.0f, 0.0f, 0.0f, 0.0f};
        const bool is_there = (uint32_t)(spots[i].h + here->h) < g->height &&
                              (uint32_t)(spots[i].w + here->w) < g->width;
        spread(held + 4 * i, is_there ? *(const quad *)(from + spots[i].base + offset) : zero);
    }
    tap_on(g, here, BK);
#else
    const uint32_t row = at->row + at->lane / TILE(QUADS);
    const float *x = from + (int64_t)row * g->a_row + (at->k + q);
    (void)spots;
    (void)here;
    UNROLL
    for (uint32_t i = 0; i < TILE(PASSES); i++)
        if (row + i * TILE(ROWS) < g->m)
            spread(held + 4 * i, *(const quad *)(x + (int64_t)(i * TILE(ROWS)) * g->a_row));
#endif
}

DEVICE void TILE(put)(float *a, const float *held, uint32_t lane)
{
    float *to = a + lane % TILE(QUADS) * 4 * TILE(A_LINE) + lane / TILE(QUADS);
    UNROLL
    for (uint32_t i = 0; i < 4 * TILE(PASSES); i++)
        to[i % 4 * TILE(A_LINE) + i / 4 * TILE(ROWS)] = held[i];
}
#elif GATHERS
/* A[row .. row + BM, k .. k + BK) by quads; rows beyond the last one repeat it. */
DEVICE void TILE(load_quads)(const takt_cuda_gemm *g, const float *from, float *a, const place *at,
                             const spot *spots, tap *here)
{
    const uint32_t q = at->lane % TILE(QUADS) * 4;
    const int32_t offset =
        (here->h * (int32_t)g->width + here->w) * (int32_t)g->pixel + (int32_t)here->channel;
    if (at->k + q >= at->last)
        return;
    UNROLL
    for (uint32_t i = 0; i < TILE(PASSES); i++) {
        const bool is_there = (uint32_t)(spots[i].h + here->h) < g->height &&
                              (uint32_t)(spots[i].w + here->w) < g->width;
        copy_async_or_zero(a + (at->lane / TILE(QUADS) + i * TILE(ROWS)) * TILE(A_LINE) + q,
                           from + (is_there ? spots[i].base + offset : 0), is_there);
    }
    tap_on(g, here, BK);
}
#else
DEVICE void TILE(load_quads)(const takt_cuda_gemm *g, const float *from, float *a, const place *at,
                             const spot *spots, tap *here)
{
    const uint32_t q = at->lane % TILE(QUADS) * 4;
    (void)spots;
    (void)here;
    if (at->k + q >= at->last)
        return;
    UNROLL
    for (uint32_t i = 0; i < TILE(PASSES); i++) {
        const uint32_t r = at->lane / TILE(QUADS) + i * TILE(ROWS);
        const uint32_t row = at->row + r < g->m ? at->row + r : g->m - 1;
        const float *x = from + (int64_t)row * g->a_row + (at->k + q);
        copy_async(a + r * TILE(A_LINE) + q, x);
    }
}
#endif

/* The same, element by element. */
DEVICE void TILE(load_ones)(const takt_cuda_gemm *g, const float *from, float *a, const place *at,
                            uint32_t lane)
{
    const bool is_wide = !GATHERS && g->a_col != 1; /* neighbouring rows lie side by side */
    ROLL for (uint32_t i = lane; i < BK * BM; i += TILE(THREADS))
    {
        const uint32_t q = is_wide ? i / BM : i % BK, r = is_wide ? i % BM : i / BK;
        float *to = a + (TURNED ? q * TILE(A_LINE) + r : r * TILE(A_LINE) + q);
        if (at->k + q >= at->last || at->row + r >= g->m)
            continue;
#if GATHERS
        const float *x = pixel_of(g, from, at->row + r, tap_of(g, at->k + q));
        if (x != NULL)
            copy_async_one(to, x);
        else
            *to = 0.0f;
#else
        copy_async_one(to, from + (int64_t)(at->row + r) * g->a_row + (at->k + q) * g->a_col);
#endif
    }
}

/* ---- B[k .. k + BK, col .. col + BN) ---- */

DEVICE void TILE(load_b)(const takt_cuda_gemm *g, const float *from, float *b, const place *at,
                         uint32_t lane)
{
    if (at->by_quads) {
        UNROLL
        for (uint32_t i = lane; i < BK * BN / 4; i += TILE(THREADS)) {
            const uint32_t q = i / (BN / 4), c = i % (BN / 4) * 4;
            const uint32_t col = at->col + c < g->n ? at->col + c : 0;
            if (at->k + q < at->last)
                copy_async(b + q * TILE(B_LINE) + c, from + (int64_t)(at->k + q) * g->b_row + col);
        }
        return;
    }
    const bool is_wide = g->b_col == 1; /* neighbouring threads read neighbouring floats */
    ROLL for (uint32_t i = lane; i < BK * BN; i += TILE(THREADS))
    {
        const uint32_t q = is_wide ? i / BN : i % BK, c = is_wide ? i % BN : i / BK;
        if (at->k + q < at->last && at->col + c < g->n)
            copy_async_one(b + q * TILE(B_LINE) + c,
                           from + (at->k + q) * g->b_row + (at->col + c) * g->b_col);
    }
}
