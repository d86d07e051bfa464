/* widened.h - converts pieces of a B that is stored in another form to f32.
 *
 * A part of blocked.h.
 */
/* For a part of B converted to f32: what several strips read, or one tile. One row needs none if it
 * reads 16-bit elements itself. */
static size_t widened_elems(const gemm *g)
{
    const size_t k = least(g->k, CHUNK), room = B_BYTES / sizeof(elem) + 48 * k;
    if (!is_stored(g) || (g->m == 1 && reads_half(g)))
        return 0;
    return (g->m <= BROAD ? 0 : least(room, round_up(g->n, NR) * k)) + (NR + 2 * NARROW) * k;
}

/* Whole panels of B as f32: made by the first strip, found there by the others. */
static const elem *widened_at(const gemm *g, const block *o, const strip *s, size_t col,
                              size_t cols)
{
    elem *to = o->widened + (o->rows <= o->most ? 0 : (col - o->col) * s->k);
    const takt_gemm_piece piece = {o->p + s->p, s->k, g->b_first + col, cols};
    if (s->row == o->row)
        widen(g, &piece, to);
    return to;
}

/* While a tile is computed, the 16-bit elements of the next one are prefetched. */
static void ask_stored(const gemm *g, const block *o, const strip *s, size_t col, tile_job *t)
{
    const size_t columns = takt_panels_columns(widths, g->b_n);
    const uint16_t *next =
        col < g->n ? half_at(g, (o->p + s->p) * columns + (g->b_first + col) * s->k) : NULL;
    if (next) {
        t->ahead = (const elem *)(const void *)next;
        t->ahead_step = 64;
    }
}
