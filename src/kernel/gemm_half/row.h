/* row.h - a product with one row: panels of four distant places at a time.
 *
 * A template, after walk.h. One stream of reads leaves a third of the memory's bandwidth unused, so
 * four panels a quarter of the columns apart are read at once.
 */
/* One row of A, k values of one chunk, by a panel of B of `cols` columns (WIDE or NARROW) and, if
 * `count` is 4, by three more that lie b_step apart, to pieces of C that lie c_step apart. */
typedef struct row_job {
    const uint16_t *a, *b;
    size_t b_step, k;
    float *c;
    size_t c_step;
    bool adds;
} row_job;
static void row_panels(const row_job *r, size_t count, size_t cols);
/* The block's part of A's row to scratch: the whole vectors that row_panels reads. */
static void round_chunk(const takt_gemm_f32 *g, const block *o);

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

/* `o` is the row, with its edge and the room for its exponent. */
static void one_row(const takt_gemm_f32 *g, block o)
{
    const size_t all = WIDE * takt_panels_wide(widths, g->b_n),
                 wide = all > g->b_first ? least(all - g->b_first, g->n) : 0;
    begin_block(g, &o);
    do {
        o.k = least(g->k - o.p, CHUNK);
        round_chunk(g, &o);
        const size_t k = round_up(o.k, GROUP), columns = takt_panels_columns(widths, g->b_n);
        row_job r = {.a = (const uint16_t *)(const void *)g->scratch,
                     .b = packed_b(g) + o.p * columns + g->b_first * k,
                     .k = k,
                     .c_step = WIDE,
                     .adds = o.p > 0};
        row_of_panels(g, r, 0, wide, o.edge);
        r.b += wide * k;
        r.c_step = NARROW;
        row_of_panels(g, r, wide, g->n, o.edge);
        o.p += CHUNK;
    } while (o.p < g->k);
    finish_columns(g, &o, 0, g->n);
}
