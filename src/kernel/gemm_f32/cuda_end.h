/* cuda_end.h - a template: how a tile of cuda_tile.h or cuda_wide.h ends. ROW(i) and
 * COL(j) are a thread's rows and columns, from its first ones on. */

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
        mine[i * TILE(THREADS)] = exchanged(acc + 4 * i);
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
        read_exchanged(acc + 4 * i, fresh(first + i * TILE(THREADS)));
    ROLL for (uint32_t p = 1; p < g->pieces; p++)
    {
        first += tiles * each;
        UNROLL
        for (uint32_t i = 0; i < TM * TN / 4; i++) {
            float next[4], *sum = acc + 4 * i;
            read_exchanged(next, fresh(first + i * TILE(THREADS)));
            UNROLL
            for (uint32_t j = 0; j < 4; j++)
                sum[j] = sum[j] + next[j];
        }
    }
    return true;
}

/* ---- what follows the product ----
 *
 * Sums go through the thread's own places of shared memory, so that this is a loop over rows, and
 * what there is to do is asked once a row. As straight code it was most of the kernel: code that is
 * executed once costs the time it takes to fetch it.
 */

/* finished() of epilogue.h for the columns of a row that a thread has, quads of the `left` that the
 * row has from the first one on; all pointers are aligned. */
DEVICE void TILE(finish_row)(const takt_cuda_epilogue *e, float *x, const float *bias,
                             const float *residual, uint32_t left)
{
    float y[TN];
    UNROLL
    for (uint32_t j = 0; j < TN; j++)
        y[j] = 0.0f;
    if (residual != NULL) {
        UNROLL
        for (uint32_t j = 0; j < TN; j += 4)
            if (COL(j) < left)
                spread(y + j, *(const quad *)(residual + COL(j)));
    }
    if (bias != NULL) {
        UNROLL
        for (uint32_t j = 0; j < TN; j += 4) {
            if (COL(j) >= left)
                continue;
            const quad q = *(const quad *)(bias + COL(j));
            x[j] = x[j] + q.x, x[j + 1] = x[j + 1] + q.y;
            x[j + 2] = x[j + 2] + q.z, x[j + 3] = x[j + 3] + q.w;
        }
    }
    if (residual != NULL && !e->residual_last) {
        UNROLL
        for (uint32_t j = 0; j < TN; j++)
            x[j] = x[j] + y[j];
    }
    if (e->is_relu) {
        UNROLL
        for (uint32_t j = 0; j < TN; j++)
            x[j] = vf_relu(x[j]);
    }
    if (e->is_leaky) {
        UNROLL
        for (uint32_t j = 0; j < TN; j++)
            x[j] = x[j] > 0.0f ? x[j] : e->slope * x[j];
    }
    if (e->low != NULL) {
        UNROLL
        for (uint32_t j = 0; j < TN; j++)
            x[j] = vf_max(x[j], *e->low);
    }
    if (e->high != NULL) {
        UNROLL
        for (uint32_t j = 0; j < TN; j++)
            x[j] = vf_min(x[j], *e->high);
    }
    if (residual != NULL && e->residual_last) {
        UNROLL
        for (uint32_t j = 0; j < TN; j++)
            x[j] = x[j] + y[j];
    }
}

/* Writes a thread's part of C, from (row, col) on; `own` are its places of shared memory. */
DEVICE void TILE(finish)(const takt_cuda_gemm *g, quad *own, const float *acc, uint32_t batch,
                         uint32_t row, uint32_t col)
{
    const takt_cuda_epilogue *e = &g->end;
    float *c = g->c + batch / g->inner * g->c_outer + batch % g->inner * g->c_inner + col;
    const float *bias = e->bias != NULL ? e->bias + batch * e->bias_batch + col : NULL;
    const float *residual = e->residual;
    if (residual != NULL)
        residual += batch * e->residual_batch + col;
    UNROLL
    for (uint32_t i = 0; i < TM * TN / 4; i++)
        own[i * TILE(THREADS)] = exchanged(acc + 4 * i);
    const uint32_t left = g->n > col ? g->n - col : 0;
    if (g->n % 4 == 0 && (g->c_row | e->residual_row) % 4 == 0 &&
        (((uintptr_t)c | (uintptr_t)bias | (uintptr_t)residual) & 15) == 0) {
        ROLL for (uint32_t i = 0; i < TM && row + ROW(i) < g->m; i++)
        {
            const uint32_t r = row + ROW(i);
            float x[TN];
            UNROLL
            for (uint32_t j = 0; j < TN; j += 4)
                read_exchanged(x + j, own[(i * TN + j) / 4 * TILE(THREADS)]);
            TILE(finish_row)
            (e, x, bias, residual != NULL ? residual + r * e->residual_row : NULL, left);
            UNROLL
            for (uint32_t j = 0; j < TN; j += 4)
                if (COL(j) < left)
                    *(quad *)(c + r * g->c_row + COL(j)) = quad_of(x + j);
        }
        return;
    }
    ROLL for (uint32_t i = 0; i < TM * TN; i++)
    {
        const uint32_t r = row + ROW(i / TN), at = COL(i % TN);
        if (r < g->m && col + at < g->n)
            c[r * g->c_row + at] = finished(
                e, ((const float *)(own + i / 4 * TILE(THREADS)))[i % 4 ^ 1], batch, r, col + at);
    }
}
