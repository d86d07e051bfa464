/* image_amx.h - rows of A read by AMX where they lie in an image of bytes; part of gemm_i8_amx.c.
 *
 * Sixteen positions that follow each other are the rows of a tile, whichever tap it is for, so
 * there is nothing to pack. Positions between the rows of the image are multiplied too and left out
 * when sums become results.
 */

/* All of k, for positions from `position` on by the columns of a block. */
INLINE void image_product(const block *o, size_t position, const bool a_unsigned,
                          const bool two_rows, const bool two_panels)
{
    const takt_i8_image *m = o->g->image;
    const char *b = (const char *)panel(o, 0), *b_next = (const char *)panel(o, two_panels);
    for (size_t t = 0; t * m->channels < o->g->k; t++) {
        const char *a = (const char *)m->data + position * m->channels + m->at[t];
        for (size_t c = 0; c < m->channels; c += STEP, b += TILE, b_next += TILE) {
            const char *a_next = a + ROWS * m->channels + c;
            const tile_step now = {a + c, a_next, b, b_next, m->channels, STEP};
            if (a_unsigned)
                TILES_MULTIPLY(_tile_dpbusd, now, two_rows, two_panels);
            else
                TILES_MULTIPLY(_tile_dpbssd, now, two_rows, two_panels);
        }
    }
}

/* `count` sums of positions from `position` on, to the rows of C that they belong to. */
static void put_image(const block *o, size_t position, size_t count)
{
    const takt_i8_image *m = o->g->image;
    size_t x = position % m->pitch, first = position / m->pitch * m->width;
    for (size_t i = 0; i < count; i++, x++) {
        if (x == m->pitch) {
            x = 0;
            first += m->width;
        }
        if (x < m->width)
            finish_sums(o, i, first + x);
    }
}

/* All positions by up to two panels. */
static void columns_of_image(const block *o, size_t positions)
{
    for (size_t q = 0; q < positions; q += MR) {
        const size_t count = least(positions - q, MR);
        const bool two_rows = count > ROWS, two_panels = o->cols > 16;
        tiles_clear();
        if (o->g->a_unsigned)
            TILES_CALL(image_product, two_rows, two_panels, o, q, true);
        else
            TILES_CALL(image_product, two_rows, two_panels, o, q, false);
        tiles_store(o->sums, NR * sizeof *o->sums, two_rows, two_panels);
        put_image(o, q, count);
    }
    requant_tail(o->g, 0, o->col, o->g->m, o->cols);
}

static void run_image(const takt_gemm_i8 *g)
{
    const takt_i8_image *m = g->image;
    const size_t positions = (g->m - 1) / m->width * m->pitch + (g->m - 1) % m->width + 1;
    block o = {.g = g,
               .rows = g->m,
               .shift = (uint32_t)g->a_zero,
               .sums = g->scratch,
               .row_sums = (uint32_t *)g->scratch + MR * NR};
    for (size_t i = 0; g->b_zero && i < g->m; i++)
        o.row_sums[i] = sum_of_row(g, i);
    tiles_begin();
    TILES_WRITTEN(m->data);
    for (; o.col < g->n; o.col += NR) {
        o.cols = least(g->n - o.col, NR);
        columns_of_image(&o, positions);
    }
    tiles_end();
}
