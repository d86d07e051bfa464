/* image_amx.h - rows of A read by AMX in place from an image; part of product_bf16_amx.c.
 *
 * As gemm_bf16's: sixteen positions that follow each other are the rows of a tile, and positions
 * between the rows of the image are left out when sums become results.
 */

/* All of k; channels are whole pieces. */
INLINE void sums_of_image(work *w, const strip *s, const panel *o, const bool two_rows,
                          const bool two_panels)
{
    const takt_product_bf16 *g = w->g;
    const takt_bf16_image *m = g->image;
    const size_t line = two_panels ? 64 : 32, rows = (w->late->count + w->steps - 1) / w->steps;
    const uint16_t *b = g->b;
    size_t tap = 0, c = 0;
    for (size_t first = 0; first < g->k; first += CHUNK, b += w->next) {
        const size_t k = least(g->k - first, CHUNK);
        const uint16_t *at = b + (g->b_first + o->col) * k;
        tile_step now = step_at(s, m->at[tap] + c, at, two_panels);
        TILES_LOAD(now, two_rows, two_panels);
        for (size_t p = PIECE; p <= k; p += PIECE) {
            const bool has_next = p < k;
            at += PIECE / GROUP * line;
            c += PIECE;
            tap += c == m->channels;
            c = c == m->channels ? 0 : c;
            now = step_at(s, has_next ? m->at[tap] + c : 0, at, two_panels);
            step(has_next, now, two_rows, two_panels);
            finish_late(w, rows);
        }
    }
}

static size_t positions_of(const takt_product_bf16 *g)
{
    const takt_bf16_image *m = g->image;
    return g->m == 0 ? 0 : (g->m - 1) / m->width * m->pitch + (g->m - 1) % m->width + 1;
}

/* The strip that begins with `position`; how many it has. */
static size_t set_positions(const work *w, strip *s, size_t position)
{
    const takt_bf16_image *m = w->g->image;
    const size_t count = least(positions_of(w->g) - position, MR);
    size_t x = position % m->pitch, first = position / m->pitch * m->width;
    s->a = m->data + position * m->channels;
    s->a_next = s->a + TILE * m->channels;
    s->line = m->channels * sizeof *s->a;
    s->two_rows = count > TILE;
    s->count = 0;
    for (size_t i = 0; i < count; i++, x++) {
        if (x == m->pitch) {
            x = 0;
            first += m->width;
        }
        if (x < m->width) {
            s->from[s->count] = i;
            s->to[s->count++] = first + x;
        }
    }
    return count;
}
