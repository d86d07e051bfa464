/* edge_tile.h - the tile at the right edge, where columns are missing.
 *
 * A part of blocked.h.
 */
static void copy_rows(elem *to, size_t to_ld, const elem *from, size_t from_ld, size_t rows,
                      size_t cols)
{
    for (size_t i = 0; i < rows; i++)
        memcpy(to + i * to_ld, from + i * from_ld, cols * sizeof *to);
}

/* The last panel if columns are missing: through the sums, where there is room. */
static void edge_tile(const gemm *g, strip *s, tile_job *t, elem *c, size_t cols, size_t whole)
{
    elem *sums = s->sums;
    if (s->resumes)
        copy_rows(sums, whole, c, g->ldc, s->rows, cols);
    t->c = sums;
    t->ldc = t->sum_ld = whole;
    t->sum = s->is_first ? NULL : sums;
    t->ahead_step = 0;
    t->act = TAKT_GEMM_ACT_NONE;
    t->bias = t->residual = NULL;
    tile(s->rows, whole, t);
    if (s->is_end)
        copy_rows(c, g->ldc, sums, whole, s->rows, cols);
    if (g->k > CHUNK)
        s->sums += s->rows * whole;
}
