/* cuda_tile.h - a product tile by tile on a device, for one size of tile.
 *
 * A template. A block computes BM x BN with threads of TM x TN elements each, in warps of 8 x 4
 * threads. Tiles of A and B, BK deep, come to shared memory STAGES - 1 ahead of their use: A as it
 * lies, lines of k, so that neither side is transposed; a thread reads four k of a line at a time.
 * If TURNED is 1, A is transposed on its way, and a thread reads four rows of one k at a time: more
 * copies, and fewer registers for what is multiplied next.
 * The sum of a chunk is one fma chain in a register. Totals of earlier chunks are touched once a
 * chunk: they lie in registers, or in shared memory if KEEPS is 1, which leaves registers for a
 * second block on the multiprocessor. TILE(name) gives names, TILED is the head of the kernel,
 * GATHERS is 1 if A is a convolution's.
 */
#ifndef TURNED
#define TURNED 0
#endif
/* Element (row, k) of A in shared memory, and row `i` of a thread's, counted from its first. */
#if TURNED
#define A_AT(r, q) ((q)*TILE(A_LINE) + (r))
#define ROW_OF(i) ((i) % 4 + (i) / 4 * 32)
#else
#define A_AT(r, q) ((r)*TILE(A_LINE) + (q))
#define ROW_OF(i) (8 * (i))
#endif
enum {
    TILE(A_LINE) = TURNED ? BM + 4 : BK + 4, /* lines of eight rows begin in different banks */
    TILE(B_LINE) = BN,
    TILE(A_SIZE) = TURNED ? BK * TILE(A_LINE) : BM * TILE(A_LINE),
    TILE(STAGE) = TILE(A_SIZE) + BK * TILE(B_LINE),
    TILE(THREADS) = (BM / TM) * (BN / TN),
    TILE(QUADS) = BK / 4,                     /* of a line of A */
    TILE(ROWS) = TILE(THREADS) / TILE(QUADS), /* of A that the threads load at once */
    TILE(PASSES) = BM / TILE(ROWS)
};

/* ---- A ---- */

#if GATHERS
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
#if TURNED
        UNROLL
        for (uint32_t j = 0; j < 4; j++)
            copy_async_one(a + A_AT(r, q + j), x + j);
#else
        copy_async(a + A_AT(r, q), x);
#endif
    }
}
#endif

/* The same, element by element. */
DEVICE void TILE(load_ones)(const takt_cuda_gemm *g, const float *from, float *a, const place *at,
                            uint32_t lane)
{
    const bool is_turned = !GATHERS && g->a_col != 1; /* neighbouring rows lie side by side */
    ROLL for (uint32_t i = lane; i < BK * BM; i += TILE(THREADS))
    {
        const uint32_t q = is_turned ? i / BM : i % BK, r = is_turned ? i % BM : i / BK;
        float *to = a + A_AT(r, q);
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

/* ---- the chain: acc[i][j] = fma(a[i], b[j], acc[i][j]) for every k ---- */

#if TURNED
/* Four k, one after another. */
DEVICE void TILE(four)(const float *a, const float *b, float *acc)
{
    UNROLL
    for (uint32_t s = 0; s < 4; s++) {
        float x[TM], y[TN];
        UNROLL
        for (uint32_t i = 0; i < TM; i += 4)
            spread(x + i, *(const quad *)(a + A_AT(ROW_OF(i), s)));
        UNROLL
        for (uint32_t j = 0; j < TN; j += 4)
            spread(y + j, *(const quad *)(b + s * TILE(B_LINE) + 4 * j));
        UNROLL
        for (uint32_t i = 0; i < TM; i++)
            UNROLL
        for (uint32_t j = 0; j < TN; j++)
            acc[i * TN + j] = fmaf(x[i], y[j], acc[i * TN + j]);
    }
}
#else
/* Four k. */
DEVICE void TILE(four)(const float *a, const float *b, float *acc)
{
    float x[TM][4], y[TN];
    UNROLL
    for (uint32_t i = 0; i < TM; i++)
        spread(x[i], *(const quad *)(a + 8 * i * TILE(A_LINE)));
    UNROLL
    for (uint32_t s = 0; s < 4; s++) {
        UNROLL
        for (uint32_t j = 0; j < TN; j += 4)
            spread(y + j, *(const quad *)(b + s * TILE(B_LINE) + 4 * j));
        UNROLL
        for (uint32_t i = 0; i < TM; i++)
            UNROLL
        for (uint32_t j = 0; j < TN; j++)
            acc[i * TN + j] = fmaf(x[i][s], y[j], acc[i * TN + j]);
    }
}
#endif

DEVICE void TILE(multiply)(const float *a, const float *b, uint32_t depth, float *acc)
{
    if (depth == BK) { /* without a branch: loads of one step go on during the one before */
        UNROLL
        for (uint32_t q = 0; q < BK; q += 4)
            TILE(four)(a + A_AT(0, q), b + q * TILE(B_LINE), acc);
        return;
    }
    ROLL for (uint32_t q = 0; q < depth; q++) /* k is never padded: -0 + 0 would be +0 */
        UNROLL for (uint32_t i = 0; i < TM; i++) UNROLL for (uint32_t j = 0; j < TN;
                                                             j++) acc[i * TN + j] =
            fmaf(a[A_AT(ROW_OF(i), q)], b[q * TILE(B_LINE) + j / 4 * 16 + j % 4], acc[i * TN + j]);
}

/* ---- chunks that other blocks compute: the last one of a tile adds them in order ---- */

/* False: another block finishes the tile. */
DEVICE bool TILE(gather_chunks)(const takt_cuda_gemm *g, uint32_t tile, uint32_t batch,
                                uint32_t piece, float *shared, float *acc SELF_PARAMETER)
{
    const uint64_t tiles = g->tiles, each = (uint64_t)TILE(THREADS) * (TM * TN / 4);
    quad *first = (quad *)g->partial + ((uint64_t)batch * g->pieces * tiles + tile) * each + LANE;
    quad *mine = first + piece * tiles * each;
    UNROLL
    for (uint32_t i = 0; i < TM * TN / 4; i++)
        mine[i * TILE(THREADS)] = quad_of(acc + 4 * i);
    publish_near();
    SYNC();
    if (LANE == 0)
        *(uint32_t *)shared = is_last(g->tickets + batch * tiles + tile, g->pieces - 1);
    SYNC();
    if (*(const uint32_t *)shared == 0)
        return false;
    publish_near();
    UNROLL
    for (uint32_t i = 0; i < TM * TN / 4; i++)
        spread(acc + 4 * i, fresh(first + i * TILE(THREADS)));
    ROLL for (uint32_t p = 1; p < g->pieces; p++)
    {
        first += tiles * each;
        UNROLL
        for (uint32_t i = 0; i < TM * TN / 4; i++) {
            const quad q = fresh(first + i * TILE(THREADS));
            float *sum = acc + 4 * i;
            sum[0] = sum[0] + q.x;
            sum[1] = sum[1] + q.y;
            sum[2] = sum[2] + q.z;
            sum[3] = sum[3] + q.w;
        }
    }
    return true;
}

TILED
{
    DYNAMIC(float, shared);
    const uint32_t lane = LANE, warp = lane / 32, l = lane % 32;
    /* Lanes i and i ^ 1 share a row, i and i ^ 2 four columns: half a warp reads both sides of
     * shared memory in one pass, where eight different rows in a quarter of a warp would take two.
     */
    const uint32_t high = warp % (BM / (8 * TM)) * (8 * TM) + l / 2 % 8 * (TURNED ? 4 : 1);
    const uint32_t wide = warp / (BM / (8 * TM)) * (4 * TN) + (l % 2 + l / 16 * 2) * 4;
    const uint32_t across = (ARG.n + BN - 1) / BN, batch = BLOCK_Z / ARG.pieces;
    const uint32_t piece = BLOCK_Z % ARG.pieces, first = piece * CHUNK;
    const float *a = ARG.a + batch / ARG.inner * ARG.a_outer + batch % ARG.inner * ARG.a_inner;
    const float *b = ARG.b + batch / ARG.inner * ARG.b_outer + batch % ARG.inner * ARG.b_inner;
    place next = {BLOCK_X / across * BM, BLOCK_X % across * BN, first, ARG.k, lane, false};
    if (ARG.pieces > 1 && ARG.k - first > CHUNK)
        next.last = first + CHUNK;
    next.by_quads = is_by_quads(&ARG, b);
    const bool by_quads = is_a_by_quads(&ARG, a);
    spot spots[GATHERS ? TILE(PASSES) : 1];
    tap here = {0, 0, 0};
#if GATHERS
    here = tap_of(&ARG, first + lane % TILE(QUADS) * 4);
    UNROLL
    for (uint32_t i = 0; i < TILE(PASSES); i++)
        spots[i] = spot_of(&ARG, next.row + lane / TILE(QUADS) + i * TILE(ROWS));
#endif
    const uint32_t last = next.last;
    float acc[TM * TN];
#if KEEPS
    quad *const total = (quad *)(shared + STAGES * TILE(STAGE)) + lane;
#else
    float total[TM * TN];
#endif
    UNROLL
    for (uint32_t i = 0; i < TM * TN; i++)
        acc[i] = 0.0f;
#if !KEEPS
    UNROLL
    for (uint32_t i = 0; i < TM * TN; i++)
        total[i] = 0.0f;
#endif
    uint32_t to = 0, from = 0;
    ROLL for (uint32_t k = first, ahead = 0; k < last || ahead < STAGES - 1;)
    {
        if (ahead == STAGES - 1) {
            COPY_WAIT(STAGES - 2);
            SYNC();
        }
        if (next.k < last) {
            float *stage = shared + to * TILE(STAGE);
            if (by_quads)
                TILE(load_quads)(&ARG, a, stage, &next, spots, &here);
            else
                TILE(load_ones)(&ARG, a, stage, &next, lane);
            TILE(load_b)(&ARG, b, stage + TILE(A_SIZE), &next, lane);
            next.k += BK;
        }
        copy_end();
        to = to + 1 == STAGES ? 0 : to + 1;
        if (ahead < STAGES - 1) {
            ahead++;
            continue;
        }
        const float *stage = shared + from * TILE(STAGE);
        TILE(multiply)
        (stage + A_AT(high, 0), stage + TILE(A_SIZE) + wide, last - k < BK ? last - k : BK, acc);
        from = from + 1 == STAGES ? 0 : from + 1;
        const uint32_t begin = k;
        k += BK;
        if (k % CHUNK != 0 && k < last)
            continue;
        const bool adds_zero = ARG.adds_zero && k >= ARG.k, ends = k >= last;
        const bool begins = begin / CHUNK == piece; /* the block's first chunk */
        UNROLL
        for (uint32_t i = 0; i < TM * TN / 4; i++) {
            float *sum = acc + 4 * i;
            UNROLL
            for (uint32_t j = 0; j < 4; j++)
                sum[j] = adds_zero ? sum[j] + 0.0f : sum[j];
#if KEEPS
            if (!begins) {
                const quad q = total[i * TILE(THREADS)];
                sum[0] = q.x + sum[0], sum[1] = q.y + sum[1];
                sum[2] = q.z + sum[2], sum[3] = q.w + sum[3];
            }
            if (!ends) {
                total[i * TILE(THREADS)] = quad_of(sum);
                sum[0] = sum[1] = sum[2] = sum[3] = 0.0f;
            }
#else
            UNROLL
            for (uint32_t j = 0; j < 4; j++) {
                total[4 * i + j] = begins ? sum[j] : total[4 * i + j] + sum[j];
                sum[j] = ends ? total[4 * i + j] : 0.0f;
            }
#endif
        }
    }
    if (ARG.pieces > 1 && !TILE(gather_chunks)(&ARG, BLOCK_X, batch, piece, shared, acc SELF))
        return;
    float *c = ARG.c + batch / ARG.inner * ARG.c_outer + batch % ARG.inner * ARG.c_inner;
    UNROLL
    for (uint32_t i = 0; i < TM; i++)
        UNROLL
    for (uint32_t j = 0; j < TN; j += 4)
        if (next.row + high + ROW_OF(i) < ARG.m)
            finish_four(&ARG, c, batch, next.row + high + ROW_OF(i), next.col + wide + 4 * j,
                        acc + i * TN + j);
}

#undef TILED
#undef TILE
#undef BM
#undef BN
#undef TM
#undef TN
#undef BK
#undef STAGES
#undef KEEPS
#undef GATHERS
#undef TURNED
#undef A_AT
#undef ROW_OF
