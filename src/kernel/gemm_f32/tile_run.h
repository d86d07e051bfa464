/* tile_run.h - many whole tiles by one call: side by side, or one below the other.
 *
 * A part of blocked.h, for variants with RUNS. With k of 16 to 128 a call costs a tenth to a third
 * of a tile.
 */
enum { A_NEAR_BYTES = 32 << 10 }; /* of A kept near while panels of B pass */

/* Whether tiles prefetch the B that they read. The first of several strips does: of what the
 * previous block prefetched, little is left in L2 where packed A fills it. */
static bool asks_itself(const gemm *g, const block *o, const strip *s)
{
    const bool is_first = s->row == o->row && s->rows < o->rows;
    return o->is_far || (is_first && !(g->walk && g->walk->asks_nothing));
}

/* From column `col` on; how many columns that makes, or 0 if there is no whole panel. */
static size_t run_of_tiles(const gemm *g, const block *o, strip *s, tile_job *t, size_t col)
{
    const size_t end = o->col + o->cols, panel = col < o->wide ? WIDE : NARROW;
    const size_t whole = (least(end, col < o->wide ? o->wide : end) - col) / panel;
    const bool asks = s->ahead < s->ahead_end;
    const size_t asking = asks ? ((size_t)(s->ahead_end - s->ahead) + s->share - 1) / s->share : 0;
    const size_t beside = s->rows * panel; /* of partial sums */
    if (whole == 0 || o->in_place || o->widened)
        return 0;
    if (s->epilogue)
        fuse(t, s->epilogue, s->row, col);
    t->count = asks ? least(whole, asking) : whole;
    t->c = s->is_end ? g->c + s->row * g->ldc + col : s->sums;
    t->ldc = s->is_end ? g->ldc : panel;
    t->c_step = s->is_end ? panel : beside;
    t->sum = s->is_first ? NULL : s->resumes ? g->c + s->row * g->ldc + col : s->sums;
    t->sum_ld = s->resumes ? g->ldc : panel;
    t->sum_step = s->resumes ? panel : beside;
    t->ahead_step = asks ? s->line : 0;
    t->ahead = asks ? s->ahead : t->b;
    t->ahead_share = asks ? s->share : 0;
    if (asks)
        s->ahead += t->count * s->share;
    t->is_far = asks_itself(g, o, s);
    tile(s->rows, panel, t);
    if (g->k > CHUNK)
        s->sums += t->count * beside;
    const size_t columns = t->count * panel;
    t->count = 0;
    return columns;
}

/* Whether a product with A in place consists of whole tiles without an epilogue. */
static bool is_all_below(const gemm *g)
{
    const epilogue *e = g->epilogue;
    const size_t wide = wide_columns(g);
    return rows_in_place(g) > 0 && !is_stored(g) && g->k <= CHUNK && wide % WIDE == 0 &&
           (g->n - wide) % NARROW == 0 && (e == NULL || (in_registers(e) && e->tail == NULL));
}

/* Strips that are `rows` high, one panel after the other: A stays in L1. */
static void strips_below(const gemm *g, size_t row, size_t rows, size_t count)
{
    const size_t wide = wide_columns(g);
    tile_job t = {.a = g->a + row * g->a_row,
                  .a_row = g->a_row,
                  .b = g->b + g->b_first * g->k,
                  .k = g->k,
                  .ldc = g->ldc,
                  .count = count};
    for (size_t col = 0, cols; col < g->n; col += cols, t.b += cols * g->k) {
        cols = col < wide ? WIDE : NARROW;
        t.c = g->c + row * g->ldc + col;
        if (g->epilogue)
            fuse(&t, g->epilogue, row, col);
        tile(rows, cols, &t);
    }
}

/* Rows that do not fill a strip make two with one that would. */
static void all_below(const gemm *g)
{
    const size_t height = rows_in_place(g), whole = g->m / height - (g->m % height > 0);
    const size_t fit = A_NEAR_BYTES / (g->k * sizeof(elem) * height), most = fit > 0 ? fit : 1;
    size_t row = 0;
    for (size_t left = whole, count; left > 0; left -= count, row += count * height) {
        count = least(left, most);
        strips_below(g, row, height, count);
    }
    for (size_t rows; row < g->m; row += rows) {
        rows = strip_rows(g->m - row, height);
        strips_below(g, row, rows, 1);
    }
}
