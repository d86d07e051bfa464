/* one_row.h - a product with one row: panels of four distant places at a time.
 *
 * A part of blocked.h. One stream of reads leaves a third of the memory's bandwidth unused, so four
 * panels a quarter of the columns apart are read at once.
 */
/* Panels of `width` columns from column `first` to `end`, whose packed form begins at r.b; what is
 * left of the last one goes through `edge`. */
static void row_of_panels(const takt_gemm_f32 *g, row_job r, size_t first, size_t end, float *edge)
{
    const size_t width = r.c_step, whole = (end - first) / width, quarter = whole / 4;
    r.b_step = quarter * width * r.k;
    r.c_step = quarter * width;
    r.c = g->c + first;
    for (size_t j = 0; j < quarter; j++, r.c += width, r.b += width * r.k)
        row_panels(&r, 4, width);
    r.c += 3 * r.c_step;
    r.b += 3 * r.b_step;
    for (size_t j = 4 * quarter; j < whole; j++, r.c += width, r.b += width * r.k)
        row_panels(&r, 1, width);
    const size_t col = first + whole * width, rest = end - col;
    if (rest == 0)
        return;
    if (r.adds)
        memcpy(edge, g->c + col, rest * sizeof *edge);
    r.c = edge;
    row_panels(&r, 1, width);
    memcpy(g->c + col, edge, rest * sizeof *edge);
}

/* The part of A's row that a chunk needs. */
static void round_chunk(const takt_gemm_f32 *g, size_t p, size_t k, int exponent)
{
    uint16_t *to = (uint16_t *)(void *)g->scratch;
    const float *a = g->a + p * g->a_col;
    if (g->a_col == 1) {
        round_row(a, k, exponent, to);
        return;
    }
    for (size_t i = 0; i < k; i += 32) {
        float part[32] = {0};
        for (size_t q = 0; q < 32 && i + q < k; q++)
            part[q] = a[(i + q) * g->a_col];
        round_row(part, 32, exponent, to + i);
    }
}

static void one_row(const takt_gemm_f32 *g)
{
    const size_t all = WIDE * takt_panels_wide(widths, g->b_n),
                 wide = all > g->b_first ? least(all - g->b_first, g->n) : 0;
    const int exponent = exponent_of_row(g, g->a);
    float *edge = (float *)(void *)((char *)g->scratch + a_bytes(g));
    size_t p = 0;
    do {
        const size_t k = least(g->k - p, CHUNK);
        round_chunk(g, p, k, exponent);
        row_job r = {.a = (const uint16_t *)(const void *)g->scratch,
                     .b = packed_b(g) + p * takt_panels_columns(widths, g->b_n) + g->b_first * k,
                     .k = k,
                     .c_step = WIDE,
                     .adds = p > 0};
        row_of_panels(g, r, 0, wide, edge);
        r.b += wide * k;
        r.c_step = NARROW;
        row_of_panels(g, r, wide, g->n, edge);
        p += CHUNK;
    } while (p < g->k);
    const takt_epilogue_f32 *e = g->epilogue;
    takt_gemm_f16_unscale(g->c, g->n, -exponent - exponent_b(g));
    if (e)
        finish_row(e, g->c, 0, 0, g->n);
    if (e && e->tail)
        e->tail(e->user, g->c, g->ldc, 0, 0, 1, g->n);
}
