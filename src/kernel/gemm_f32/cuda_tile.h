/* cuda_tile.h - a product tile by tile on a device, for one size of tile.
 *
 * A template: a block computes BM x BN by threads of T x T elements each, in warps of 8 x 4
 * threads; TILE(name) gives names, TILED is the head of the kernel. Tiles of A and B, BK deep, come
 * to shared memory two ahead of their use. The sum of a chunk is one fma chain in a register;
 * totals are a second set of registers, which is touched once a chunk.
 */
enum {
    TILE(A_LINE) = BM + 4, /* apart by four: a column of A is written two to a bank */
    TILE(B_LINE) = BN + 4,
    TILE(STAGE) = BK * (TILE(A_LINE) + TILE(B_LINE)),
    TILE(THREADS) = (BM / T) * (BN / T)
};

/* A[row .. row + BM, k .. k + depth) to a[BK][A_LINE]. */
DEVICE void TILE(load_a)(const takt_cuda_gemm *g, const float *from, float *a, const place *at,
                         uint32_t lane)
{
    if (!g->is_conv && g->a_col != 1) { /* transposed: rows lie side by side */
        for (uint32_t i = lane; i < BK * BM; i += TILE(THREADS)) {
            const uint32_t q = i / BM, r = i % BM;
            float *to = a + q * TILE(A_LINE) + r;
            if (q >= at->depth || at->row + r >= g->m)
                *to = 0.0f;
            else
                copy_async_one(to, from + (at->row + r) * g->a_row + (at->k + q) * g->a_col);
        }
        return;
    }
    const uint32_t q = lane % BK;
    tap here = {0, 0, 0};
    if (g->is_conv)
        here = tap_of(g, at->k + q);
    for (uint32_t r = lane / BK; r < BM; r += TILE(THREADS) / BK) {
        float *to = a + q * TILE(A_LINE) + r;
        const float *x = NULL;
        if (q < at->depth && at->row + r < g->m)
            x = g->is_conv ? pixel_of(g, from, at->row + r, here)
                           : from + (at->row + r) * g->a_row + (at->k + q);
        if (x != NULL)
            copy_async_one(to, x);
        else
            *to = 0.0f;
    }
}

/* B[k .. k + depth, col .. col + BN) to b[BK][B_LINE]. */
DEVICE void TILE(load_b)(const takt_cuda_gemm *g, const float *from, float *b, const place *at,
                         uint32_t lane)
{
    if (at->by_quads) {
        for (uint32_t i = lane; i < BK * BN / 4; i += TILE(THREADS)) {
            const uint32_t q = i / (BN / 4), c = i % (BN / 4) * 4;
            float *to = b + q * TILE(B_LINE) + c;
            if (q < at->depth && at->col + c < g->n)
                copy_async(to, from + (at->k + q) * g->b_row + (at->col + c));
            else
                to[0] = to[1] = to[2] = to[3] = 0.0f;
        }
        return;
    }
    const bool is_wide = g->b_col == 1; /* neighbouring threads read neighbouring floats */
    for (uint32_t i = lane; i < BK * BN; i += TILE(THREADS)) {
        const uint32_t q = is_wide ? i / BN : i % BK, c = is_wide ? i % BN : i / BK;
        float *to = b + q * TILE(B_LINE) + c;
        if (q < at->depth && at->col + c < g->n)
            copy_async_one(to, from + (at->k + q) * g->b_row + (at->col + c) * g->b_col);
        else
            *to = 0.0f;
    }
}

/* One step of k: acc[i][j] = fma(a[i], b[j], acc[i][j]). */
DEVICE void TILE(step)(const float *a, const float *b, float (*acc)[T])
{
    float x[T], y[T];
    UNROLL
    for (int i = 0; i < T; i += 4) {
        const quad p = *(const quad *)(a + i * 8), q = *(const quad *)(b + i * 4);
        x[i] = p.x, x[i + 1] = p.y, x[i + 2] = p.z, x[i + 3] = p.w;
        y[i] = q.x, y[i + 1] = q.y, y[i + 2] = q.z, y[i + 3] = q.w;
    }
    UNROLL
    for (int i = 0; i < T; i++)
        UNROLL
    for (int j = 0; j < T; j++)
        acc[i][j] = fmaf(x[i], y[j], acc[i][j]);
}

DEVICE void TILE(multiply)(const float *a, const float *b, uint32_t depth, float (*acc)[T])
{
    if (depth == BK) {
        UNROLL
        for (uint32_t q = 0; q < BK; q++)
            TILE(step)(a + q * TILE(A_LINE), b + q * TILE(B_LINE), acc);
        return;
    }
    ROLL for (uint32_t q = 0; q < depth; q++) /* k is never padded: -0 + 0 would be +0 */
        TILE(step)(a + q * TILE(A_LINE), b + q * TILE(B_LINE), acc);
}

/* Leaves C through shared memory, so that what follows the product is written once, and lines are
 * whole. A thread has fours of rows 32 apart: one of them at a time. */
DEVICE void TILE(finish)(const takt_cuda_gemm *g, float *c, const place *at, float *shared,
                         float (*sum)[T] SELF_PARAMETER)
{
    const uint32_t lane = LANE, warp = lane / 32, l = lane % 32;
    const uint32_t high = warp % (BM / (8 * T)) * 32 + l % 8 * 4;
    const uint32_t wide = warp / (BM / (8 * T)) * (4 * T) + l / 8 * 4;
    UNROLL
    for (uint32_t h = 0; h < T / 4; h++) {
        SYNC();
        UNROLL
        for (uint32_t i = 0; i < 4; i++)
            UNROLL
        for (uint32_t j = 0; j < T; j++)
            shared[(high + i) * TILE(B_LINE) + wide + j / 4 * 16 + j % 4] = sum[4 * h + i][j];
        SYNC();
        ROLL for (uint32_t i = lane; i < BM / (T / 4) * (BN / 4); i += TILE(THREADS))
        {
            const uint32_t r = i / (BN / 4), col = i % (BN / 4) * 4;
            const uint32_t row = at->row + r / 32 * (8 * T) + h * 32 + r % 32;
            if (row < g->m)
                finish_four(g, c, row, at->col + col, shared + r * TILE(B_LINE) + col);
        }
    }
}

TILED
{
    DYNAMIC(float, shared);
    const uint32_t lane = LANE, warp = lane / 32, l = lane % 32;
    const uint32_t wm = warp % (BM / (8 * T)) * (8 * T), wn = warp / (BM / (8 * T)) * (4 * T);
    const uint32_t lm = wm + l % 8 * 4, ln = wn + l / 8 * 4;
    const uint32_t z = BLOCK_Z, first = ARG.is_cut ? z * ARG.chunk : 0;
    const uint32_t last = ARG.is_cut && ARG.k - first > ARG.chunk ? first + ARG.chunk : ARG.k;
    const uint32_t batch = ARG.is_cut ? 0 : z;
    const float *a = ARG.a + batch / ARG.inner * ARG.a_outer + batch % ARG.inner * ARG.a_inner;
    const float *b = ARG.b + batch / ARG.inner * ARG.b_outer + batch % ARG.inner * ARG.b_inner;
    place next = {BLOCK_Y * BM, BLOCK_X * BN, first, 0, 0, is_by_quads(&ARG, b)};
    float acc[T][T], total[T][T];
    UNROLL
    for (int i = 0; i < T; i++)
        UNROLL
    for (int j = 0; j < T; j++)
        acc[i][j] = total[i][j] = 0.0f;
    next.end = chunk_end(&ARG, first, last);
    next.depth = next.end - first < BK ? next.end - first : BK;
    place now = next;
    uint32_t stage = 0;
    for (uint32_t ahead = 0; ahead < STAGES - 1; ahead++) {
        if (next.k < last) {
            float *to = shared + ahead * TILE(STAGE);
            TILE(load_a)(&ARG, a, to, &next, lane);
            TILE(load_b)(&ARG, b, to + BK * TILE(A_LINE), &next, lane);
            move_on(&ARG, &next, last);
        }
        copy_end();
    }
    ROLL while (now.k < last)
    {
        copy_wait_but_one();
        SYNC();
        if (next.k < last) {
            float *to = shared + (stage + STAGES - 1) % STAGES * TILE(STAGE);
            TILE(load_a)(&ARG, a, to, &next, lane);
            TILE(load_b)(&ARG, b, to + BK * TILE(A_LINE), &next, lane);
            move_on(&ARG, &next, last);
        }
        copy_end();
        const float *from = shared + stage * TILE(STAGE);
        TILE(multiply)(from + lm, from + BK * TILE(A_LINE) + ln, now.depth, acc);
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        const uint32_t end = now.end;
        const bool is_first = end == chunk_end(&ARG, first, last);
        move_on(&ARG, &now, last);
        if (now.k == end) { /* the chunk is done */
            const bool adds_zero = ARG.adds_zero && end == ARG.k;
            UNROLL
            for (int i = 0; i < T; i++)
                UNROLL
            for (int j = 0; j < T; j++) {
                const float sum = adds_zero ? acc[i][j] + 0.0f : acc[i][j];
                total[i][j] = is_first ? sum : total[i][j] + sum;
                acc[i][j] = 0.0f;
            }
        }
    }
    float *c = ARG.c + (ARG.is_cut ? (int64_t)z * ARG.m * ARG.n : batch * ARG.c_batch);
    TILE(finish)(&ARG, c, &now, shared, total SELF);
}

#undef TILED
#undef BM
#undef BN
#undef T
#undef TILE
