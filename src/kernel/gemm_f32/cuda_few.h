/* cuda_few.h - a product of few rows: a thread has ROWS_MOST rows of WIDTH neighbouring columns,
 * and takes AT_ONCE rows of B at a time. A template.
 *
 * With WIDTH 2 the halves of a warp share columns and have different rows: each element of A that
 * comes from shared memory is used twice.
 */

DEVICE void NAMED(load)(const takt_cuda_gemm *g, const column *c, const float *b, float *y)
{
#if WIDTH == 2
    if (c->by_pairs) {
        UNROLL
        for (uint32_t q = 0; q < AT_ONCE; q++) {
            const pair p = *(const pair *)(b + q * g->b_row);
            y[2 * q] = p.x;
            y[2 * q + 1] = p.y;
        }
        return;
    }
#endif
    UNROLL
    for (uint32_t q = 0; q < AT_ONCE; q++)
        UNROLL
    for (uint32_t j = 0; j < WIDTH; j++)
        y[WIDTH * q + j] = b[q * g->b_row + j * c->next];
}

DEVICE void NAMED(use)(const float *a, const float *y, uint32_t rows, float *acc)
{
    UNROLL
    for (uint32_t r = 0; r < ROWS_MOST; r++) {
        if (r >= rows)
            break;
        UNROLL
        for (uint32_t q = 0; q < AT_ONCE; q += 4) {
            float x[4];
            spread(x, *(const quad *)(a + r * CHUNK + q));
            UNROLL
            for (uint32_t k = 0; k < 4; k++)
                UNROLL
            for (uint32_t j = 0; j < WIDTH; j++)
                acc[WIDTH * r + j] = fmaf(x[k], y[WIDTH * (q + k) + j], acc[WIDTH * r + j]);
        }
    }
}

/* The chains of one chunk: `rows` rows of A at a[r * CHUNK], and the thread's columns of B. The
 * caller has loaded the first AT_ONCE elements, if there are that many. */
DEVICE void NAMED(chain)(const takt_cuda_gemm *g, const float *a, const column *c, uint32_t rows,
                         float *first, float *acc)
{
    const float *b = c->b;
    const uint32_t depth = c->depth;
    uint32_t k = 0;
    UNROLL
    for (uint32_t r = 0; r < ROWS_MOST * WIDTH; r++)
        acc[r] = 0.0f;
    float second[AT_ONCE * WIDTH];
    ROLL for (; k + 2 * AT_ONCE <= depth; k += 2 * AT_ONCE)
    {
        NAMED(load)(g, c, b + (k + AT_ONCE) * g->b_row, second);
        NAMED(use)(a + k, first, rows, acc);
        if (k + 3 * AT_ONCE <= depth)
            NAMED(load)(g, c, b + (k + 2 * AT_ONCE) * g->b_row, first);
        NAMED(use)(a + k + AT_ONCE, second, rows, acc);
    }
    if (k + AT_ONCE <= depth) {
        NAMED(use)(a + k, first, rows, acc);
        k += AT_ONCE;
    }
    ROLL for (; k < depth; k++)
    {
        UNROLL
        for (uint32_t j = 0; j < WIDTH; j++) {
            const float y = b[k * g->b_row + j * c->next];
            UNROLL
            for (uint32_t r = 0; r < ROWS_MOST; r++)
                if (r < rows)
                    acc[WIDTH * r + j] = fmaf(a[r * CHUNK + k], y, acc[WIDTH * r + j]);
        }
    }
}

/* Shared memory: a chunk of `rows` rows of A for every warp, then sums[chunks][rows][COLS]. */
DEVICE void NAMED(few_rows)(const takt_cuda_gemm *g, float *shared, uint32_t rows SELF_PARAMETER)
{
    const uint32_t warp = LANE / COLS, l = LANE % COLS, warps = LANES / COLS;
    const uint32_t chunks = (g->k + CHUNK - 1) / CHUNK, batch = BLOCK_Z;
    const uint32_t mine = l % (COLS / WIDTH) * WIDTH, col = BLOCK_X * COLS + mine;
    const uint32_t top = l / (COLS / WIDTH) * ROWS_MOST; /* the thread's first row */
    const uint32_t own_rows = rows > top ? rows - top : 0;
    const float *a = g->a + batch / g->inner * g->a_outer + batch % g->inner * g->a_inner;
    const float *b = g->b + batch / g->inner * g->b_outer + batch % g->inner * g->b_inner;
    float *c = g->c + batch / g->inner * g->c_outer + batch % g->inner * g->c_inner;
    float *own = shared + (uint64_t)warp * rows * CHUNK, *sums = shared + warps * rows * CHUNK;
    b += (col < g->n ? col : 0) * g->b_col;
    column own_column = {b, 0, col + 1 < g->n ? g->b_col : 0, false};
    own_column.by_pairs = own_column.next == 1 && g->b_row % 2 == 0 && ((uintptr_t)b & 7) == 0;
    for (uint32_t first = 0; first < chunks; first += warps) {
        const uint32_t chunk = first + warp, k = chunk * CHUNK;
        const uint32_t depth = chunk >= chunks ? 0 : g->k - k < CHUNK ? g->k - k : CHUNK;
        float y[AT_ONCE * WIDTH], acc[ROWS_MOST * WIDTH];
        UNROLL
        for (uint32_t q = 0; q < AT_ONCE * WIDTH; q++)
            y[q] = 0.0f;
        if (depth >= AT_ONCE)
            NAMED(load)(g, &own_column, b + k * g->b_row, y);
        SYNC(); /* nothing reads the rows of A before */
        for (uint32_t r = 0; r < rows; r++)
            for (uint32_t q = l; q < depth; q += COLS)
                own[r * CHUNK + q] = a[r * g->a_row + (k + q) * g->a_col];
        SYNC();
        own_column.b = b + k * g->b_row;
        own_column.depth = depth;
        NAMED(chain)(g, own + top * CHUNK, &own_column, own_rows, y, acc);
        UNROLL
        for (uint32_t r = 0; r < ROWS_MOST; r++)
            UNROLL
        for (uint32_t j = 0; j < WIDTH; j++)
            if (r < own_rows && depth > 0)
                sums[(chunk * rows + top + r) * COLS + mine + j] = acc[WIDTH * r + j];
    }
    SYNC();
    const uint32_t at = BLOCK_X * COLS + l;
    for (uint32_t r = warp; r < rows && at < g->n; r += warps) {
        float total = chunks > 0 ? sums[r * COLS + l] : 0.0f;
        for (uint32_t chunk = 1; chunk < chunks; chunk++)
            total = total + sums[(chunk * rows + r) * COLS + l];
        c[r * g->c_row + at] = finished(&g->end, total, batch, r, at);
    }
}

#undef ROWS_MOST
#undef WIDTH
#undef AT_ONCE
#undef NAMED
