/* low_block.h - a block of few rows: every panel of B is used for all strips before the next one.
 *
 * A part of blocked.h, for variants with RUNS. A chunk of A, four strips of 8 rows, stays in L1
 * with the panel; the next panel is prefetched meanwhile.
 */
/* Strips of the same height from row i of the block on. */
static size_t strips_alike(const block *o, size_t i, size_t height)
{
    size_t count = 1;
    while (i + count * height < o->rows &&
           strip_rows(o->rows - i - count * height, o->most) == height)
        count++;
    return count;
}

/* What comes after this panel: the next one, or the first of the next chunk. */
static void ask_for_next(const gemm *g, const block *o, const strip *s, size_t col, tile_job *t)
{
    const size_t panel = col < o->wide ? WIDE : NARROW, end = o->col + o->cols;
    const size_t strips = (o->rows + o->most - 1) / o->most,
                 columns = takt_panels_columns(widths, g->b_n);
    const bool is_last = col + panel >= end;
    if (s->k < CHUNK || (is_last && s->p + CHUNK >= o->k) || (g->walk && g->walk->asks_nothing))
        return;
    t->ahead = !is_last ? t->b + panel * s->k
                        : g->b + (o->p + s->p + CHUNK) * columns +
                              (g->b_first + o->col) * least(o->k - s->p - CHUNK, CHUNK);
    t->ahead_share = panel * s->k / strips;
    t->ahead_step = t->ahead_share * sizeof(elem) / (s->k / QUAD);
}

/* One whole panel, all strips. */
static void panel_of_tiles(const gemm *g, const block *o, strip *s, size_t col, tile_job t)
{
    const size_t panel = col < o->wide ? WIDE : NARROW;
    ask_for_next(g, o, s, col, &t);
    for (size_t i = 0, height; i < o->rows; i += t.count * height) {
        const size_t row = o->row + i;
        elem *c = g->c + row * g->ldc + col;
        height = strip_rows(o->rows - i, o->most);
        t.count = strips_alike(o, i, height);
        if (s->epilogue)
            fuse(&t, s->epilogue, row, col);
        t.c = s->is_end ? c : s->sums;
        t.ldc = s->is_end ? g->ldc : panel;
        t.c_step = height * t.ldc;
        t.sum = s->is_first ? NULL : s->resumes ? c : s->sums;
        t.sum_ld = s->resumes ? g->ldc : panel;
        t.sum_step = height * t.sum_ld;
        tile(height, panel, &t);
        t.a += t.count * strip_elems(height, s->k);
        t.ahead += t.ahead_step ? t.count * t.ahead_share : 0;
        if (g->k > CHUNK)
            s->sums += t.count * height * panel;
    }
}

/* The last panel where columns are missing. */
static void panel_of_edges(const gemm *g, const block *o, strip *s, size_t col, tile_job t)
{
    const size_t panel = col < o->wide ? WIDE : NARROW;
    t.is_below = false;
    for (size_t i = 0; i < o->rows; i += s->rows) {
        s->rows = strip_rows(o->rows - i, o->most);
        edge_tile(g, s, &t, g->c + (o->row + i) * g->ldc + col, o->col + o->cols - col, panel);
        t.a += strip_elems(s->rows, s->k);
    }
}

static void panels_of_chunk(const gemm *g, const block *o, strip *s, bool is_last)
{
    const size_t end = o->col + o->cols,
                 chunk = (o->p + s->p) * takt_panels_columns(widths, g->b_n);
    tile_job t = {.a = s->a,
                  .b = g->b + chunk + (g->b_first + o->col) * s->k,
                  .k = s->k,
                  .ahead = s->a,
                  .is_below = true};
    s->whole = end;
    for (size_t col = o->col, panel; col < end; col += panel, t.b += panel * s->k) {
        panel = col < o->wide ? WIDE : NARROW;
        if (end - col >= panel) {
            panel_of_tiles(g, o, s, col, t);
        } else {
            s->whole = col;
            panel_of_edges(g, o, s, col, t);
        }
    }
    for (size_t i = 0; is_last && g->epilogue && i < o->rows; i += s->rows) {
        s->row = o->row + i;
        s->rows = strip_rows(o->rows - i, o->most);
        finish_strip(g, o, s);
    }
}
