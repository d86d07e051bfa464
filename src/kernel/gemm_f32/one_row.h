/* one_row.h - a product with one row: panels of four distant places at a time.
 *
 * A part of blocked.h. One stream of reads leaves a third of the memory's bandwidth unused, so four
 * panels a quarter of the columns apart are read at once.
 */
/* Panels of `width` columns from column `first` to `end`; what is left of the last one goes
 * through r.edge. */
static void row_of_panels(const gemm *g, row_job r, const elem *b, size_t first, size_t end,
                          size_t width)
{
    const size_t whole = (end - first) / width, quarter = whole / 4, step = width * r.k;
    r.b = b + (g->b_first + first) * r.k;
    r.c = g->c + first;
    r.b_step = quarter * step;
    r.c_step = quarter * width;
    for (size_t j = 0; j < quarter; j++, r.b += step, r.c += width)
        row_panels(&r, 4, width);
    r.b += 3 * quarter * step;
    r.c += 3 * quarter * width;
    for (size_t j = 4 * quarter; j < whole; j++, r.b += step, r.c += width)
        row_panels(&r, 1, width);
    const size_t rest = (end - first) % width;
    if (rest == 0)
        return;
    elem *c = r.c;
    if (r.adds)
        memcpy(r.edge, c, rest * sizeof *c);
    r.c = r.edge;
    row_panels(&r, 1, width);
    memcpy(c, r.edge, rest * sizeof *c);
}

static void one_row(const gemm *g)
{
    const elem *a = g->a;
    const size_t wide = wide_columns(g), columns = takt_panels_columns(widths, g->b_n);
    for (size_t p = 0; g->a_col != 1 && p < g->k; p++)
        g->scratch[p] = g->a[p * g->a_col];
    if (g->a_col != 1)
        a = g->scratch;
    size_t p = 0;
    do {
        const row_job r = {.a = a + p,
                           .k = least(g->k - p, CHUNK),
                           .adds = p > 0,
                           .edge = g->scratch + packed_a(g)};
        row_of_panels(g, r, g->b + p * columns, 0, wide, WIDE);
        row_of_panels(g, r, g->b + p * columns, wide, g->n, NARROW);
        p += CHUNK;
    } while (p < g->k);
    const epilogue *e = g->epilogue;
    if (e)
        finish_row(e, g->c, 0, 0, g->n);
    if (e && e->tail)
        e->tail(e->user, g->c, g->ldc, 0, 0, 1, g->n);
}
