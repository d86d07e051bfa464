/* cuda_few.h - a product of at most ROWS rows, AT_ONCE rows of B at a time: a template.
 *
 * The number of rows is fixed: their chains do not depend on each other, and without a branch
 * between them one goes on while another waits. Rows that are not there are zeros, and not written.
 */

DEVICE void NAMED(load)(const takt_cuda_gemm *g, const float *b, float *y)
{
    UNROLL
    for (uint32_t q = 0; q < AT_ONCE; q++)
        y[q] = b[q * g->b_row];
}

DEVICE void NAMED(use)(const float *a, const float *y, float *acc)
{
    UNROLL
    for (uint32_t q = 0; q < AT_ONCE; q += 4) {
        UNROLL
        for (uint32_t r = 0; r < ROWS; r++) {
            const quad x = *(const quad *)(a + r * CHUNK + q);
            acc[r] = fmaf(x.x, y[q], acc[r]);
            acc[r] = fmaf(x.y, y[q + 1], acc[r]);
            acc[r] = fmaf(x.z, y[q + 2], acc[r]);
            acc[r] = fmaf(x.w, y[q + 3], acc[r]);
        }
    }
}

/* The chain of one chunk: rows of A at a[r * CHUNK], and one column of B. The caller has loaded the
 * first AT_ONCE elements, if there are that many. */
DEVICE void NAMED(chain)(const takt_cuda_gemm *g, const float *a, const column *c, float *first,
                         float *acc)
{
    const float *b = c->b;
    const uint32_t depth = c->depth;
    uint32_t k = 0;
    UNROLL
    for (uint32_t r = 0; r < ROWS; r++)
        acc[r] = 0.0f;
    float second[AT_ONCE];
    ROLL for (; k + 2 * AT_ONCE <= depth; k += 2 * AT_ONCE)
    {
        NAMED(load)(g, b + (k + AT_ONCE) * g->b_row, second);
        NAMED(use)(a + k, first, acc);
        if (k + 3 * AT_ONCE <= depth)
            NAMED(load)(g, b + (k + 2 * AT_ONCE) * g->b_row, first);
        NAMED(use)(a + k + AT_ONCE, second, acc);
    }
    if (k + AT_ONCE <= depth) {
        NAMED(use)(a + k, first, acc);
        k += AT_ONCE;
    }
    ROLL for (; k < depth; k++)
    {
        const float y = b[k * g->b_row];
        UNROLL
        for (uint32_t r = 0; r < ROWS; r++)
            acc[r] = fmaf(a[r * CHUNK + k], y, acc[r]);
    }
}

/* Shared memory: a chunk of the rows of A for every warp, then sums[chunks][ROWS][COLS]. */
DEVICE void NAMED(few_rows)(const takt_cuda_gemm *g, float *shared SELF_PARAMETER)
{
    const uint32_t warp = LANE / COLS, l = LANE % COLS, warps = LANES / COLS;
    const uint32_t col = BLOCK_X * COLS + l, chunks = (g->k + CHUNK - 1) / CHUNK;
    const uint32_t batch = BLOCK_Z;
    const float *a = g->a + batch / g->inner * g->a_outer + batch % g->inner * g->a_inner;
    const float *b = g->b + batch / g->inner * g->b_outer + batch % g->inner * g->b_inner;
    float *c = g->c + batch / g->inner * g->c_outer + batch % g->inner * g->c_inner;
    float *own = shared + (uint64_t)warp * ROWS * CHUNK, *sums = shared + warps * ROWS * CHUNK;
    b += (col < g->n ? col : 0) * g->b_col;
    for (uint32_t first = 0; first < chunks; first += warps) {
        const uint32_t chunk = first + warp, k = chunk * CHUNK;
        const uint32_t depth = chunk >= chunks ? 0 : g->k - k < CHUNK ? g->k - k : CHUNK;
        float y[AT_ONCE], acc[ROWS];
        UNROLL
        for (uint32_t q = 0; q < AT_ONCE; q++)
            y[q] = 0.0f;
        if (depth >= AT_ONCE)
            NAMED(load)(g, b + k * g->b_row, y);
        SYNC(); /* nothing reads the rows of A before */
        for (uint32_t r = 0; r < ROWS; r++)
            for (uint32_t q = l; q < depth; q += COLS)
                own[r * CHUNK + q] = r < g->m ? a[r * g->a_row + (k + q) * g->a_col] : 0.0f;
        SYNC();
        const column mine = {b + k * g->b_row, depth};
        NAMED(chain)(g, own, &mine, y, acc);
        UNROLL
        for (uint32_t r = 0; r < ROWS; r++)
            if (depth > 0)
                sums[(chunk * ROWS + r) * COLS + l] = acc[r];
    }
    SYNC();
    for (uint32_t r = warp; r < g->m && col < g->n; r += warps) {
        float total = chunks > 0 ? sums[r * COLS + l] : 0.0f;
        for (uint32_t chunk = 1; chunk < chunks; chunk++)
            total = total + sums[(chunk * ROWS + r) * COLS + l];
        c[r * g->c_row + col] = finished(&g->end, total, batch, r, col);
    }
}

#undef ROWS
#undef AT_ONCE
#undef NAMED
