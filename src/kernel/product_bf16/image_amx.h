/* image_amx.h - rows of A read by AMX where they lie in an image; part of product_bf16_amx.c.
 *
 * As gemm_bf16's: sixteen positions that follow each other are the rows of a tile, and positions
 * between the rows of the image are left out when sums become results.
 */

/* All of k, for positions from `position` on by the columns of a panel. */
INLINE void sums_of_image(const takt_product_bf16 *g, size_t position, const panel *o,
                          const bool two_rows, const bool two_panels)
{
    const takt_bf16_image *m = g->image;
    const uint16_t *rows = m->data + position * m->channels, *b = o->b;
    const size_t line = two_panels ? 64 : 32;
    size_t tap = 0, c = 0;
    for (size_t first = 0; first < g->k; first += CHUNK, b += o->next) {
        const size_t k = least(g->k - first, CHUNK);
        const uint16_t *at = b + (g->b_first + o->col) * k;
        for (size_t p = 0; p < k; p += PIECE, at += PIECE / GROUP * line) {
            step(rows + m->at[tap] + c, m->channels * sizeof *rows, at, line * sizeof *at, two_rows,
                 two_panels);
            c += PIECE;
            tap += c == m->channels;
            c = c == m->channels ? 0 : c;
        }
    }
}

/* `count` sums of positions from `position` on, to the rows of C that they belong to. */
static void put_image(const takt_product_bf16 *g, const panel *o, size_t position, size_t count)
{
    const takt_bf16_image *m = g->image;
    float(*sums)[WIDE] = g->scratch;
    size_t x = position % m->pitch, first = position / m->pitch * m->width;
    for (size_t i = 0; i < count; i++, x++) {
        if (x == m->pitch) {
            x = 0;
            first += m->width;
        }
        if (x < m->width)
            finish_row(g, o, first + x, sums[i]);
    }
}

static void panel_of_image(const takt_product_bf16 *g, const panel *o)
{
    const takt_bf16_image *m = g->image;
    const size_t positions = (g->m - 1) / m->width * m->pitch + (g->m - 1) % m->width + 1;
    const bool two_panels = o->width == WIDE;
    for (size_t q = 0; q < positions; q += MR) {
        const size_t count = least(positions - q, MR);
        tiles_clear();
        TILES_CALL(sums_of_image, count > TILE, two_panels, g, q, o);
        tiles_store(g->scratch, WIDE * sizeof(float), count > TILE, two_panels);
        put_image(g, o, q, count);
    }
}
