/* image_amx.h - rows of A read by AMX in place from an image of bytes; part of gemm_i8_amx.c.
 *
 * Sixteen positions that follow each other are the rows of a tile, whichever tap it is for, so
 * there is nothing to pack. Positions between the rows of the image are multiplied too and left out
 * when sums become results.
 */

/* All of k, for positions from `position` on by the columns of a block; and what waits. */
INLINE void image_product(const tiles_of *w, size_t position, tile_sums *late,
                          const bool a_unsigned, const bool two_rows, const bool two_panels)
{
    const block *o = w->o;
    const takt_i8_image *m = o->g->image;
    const char *b = panel(o, 0), *b_next = panel(o, two_panels);
    const size_t steps = o->g->k / STEP, rows = late->count / steps + 1;
    const char *first = (const char *)m->data + position * m->channels, *a = first + m->at[0];
    size_t tap = 0, c = 0;
    tile_step now = {a, a + ROWS * m->channels, b, b_next, m->channels, STEP};
    TILES_LOAD(now, two_rows, two_panels);
    for (size_t i = 1; i <= steps; i++) {
        c += STEP;
        tap += c == m->channels;
        c = c == m->channels ? 0 : c;
        a = i < steps ? first + m->at[tap] + c : a;
        now = (tile_step){a,   a + ROWS * m->channels, b + i * TILE, b_next + i * TILE, m->channels,
                          STEP};
        step(i < steps, now, a_unsigned, two_rows, two_panels);
        finish_waiting(o, &w->f, late, rows);
    }
}

/* Which sums of positions from `position` on count, and the rows of C that they belong to. */
static void set_positions(const takt_i8_image *m, tile_sums *s, size_t position, size_t count)
{
    size_t x = position % m->pitch, first = position / m->pitch * m->width;
    s->count = s->done = 0;
    for (size_t i = 0; i < count; i++, x++) {
        if (x == m->pitch) {
            x = 0;
            first += m->width;
        }
        if (x < m->width) {
            s->from[s->count] = (uint8_t)i;
            s->to[s->count++] = first + x;
        }
    }
}

/* All positions by up to two panels. */
static void columns_of_image(const block *o, size_t positions)
{
    tiles_of w = {.o = o};
    constants_of(o, &w.f);
    size_t turn = 0;
    o->sums[0].count = o->sums[1].count = 0;
    for (size_t q = 0; q < positions; q += MR, turn ^= 1) {
        const size_t count = least(positions - q, MR);
        const bool two_rows = count > ROWS, two_panels = o->cols > 16;
        tile_sums *now = &o->sums[turn], *late = &o->sums[!turn];
        tiles_clear();
        if (o->g->a_unsigned)
            TILES_CALL(image_product, two_rows, two_panels, &w, q, late, true);
        else
            TILES_CALL(image_product, two_rows, two_panels, &w, q, late, false);
        finish_waiting(o, &w.f, late, MR);
        tiles_store(now->at, sizeof now->at[0], two_rows, two_panels);
        set_positions(o->g->image, now, q, count);
    }
    finish_waiting(o, &w.f, &o->sums[!turn], MR);
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
               .row_sums = (uint32_t *)(void *)((char *)g->scratch + SUMS_BYTES)};
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
