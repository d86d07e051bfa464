/* tiles_below.h - a product whose B stays in L2: tiles below each other by one call.
 *
 * A part of blocked.h, for variants with BELOW. The loop around a tile costs as much as a tenth of
 * one with k of 64, most of all while another thread shares the core.
 */
enum { A_NEAR_BYTES = 24 << 10 }; /* of A kept near while tiles of B pass */

/* Whether the product consists only of tiles with A in place, of one chunk. */
static bool is_small(const gemm *g)
{
    const epilogue *e = g->epilogue;
    return !is_stored(g) && g->walk == NULL && g->k <= CHUNK &&
           g->n <= B_BYTES / (CHUNK * sizeof(elem)) && (MASKED || g->n % NARROW == 0) &&
           rows_in_place(g) > 0 && (e == NULL || (in_registers(e) && e->tail == NULL));
}

/* `count` strips from `row` on, each `rows` high. */
static void strips_below(const gemm *g, size_t row, size_t rows, size_t count)
{
    const size_t wide = wide_columns(g);
    const block o = {.panels = tile_panels(g)};
    tile_job t = {.a = g->a + row * g->a_row,
                  .a_row = g->a_row,
                  .b = g->b + g->b_first * g->k,
                  .k = g->k,
                  .ldc = g->ldc,
                  .ahead = g->a,
                  .count = count};
    for (size_t col = 0; col < g->n; col += t.cols, t.b += t.cols * g->k) {
        const size_t panel = col < wide ? WIDE : NARROW;
        t.cols = tile_columns(&o, g->n - col, panel);
        t.b_panel = panel * g->k;
        t.c = g->c + row * g->ldc + col;
        if (g->epilogue)
            fuse(&t, g->epilogue, row, col);
        tile(rows, round_up(t.cols, panel), &t);
    }
}

/* Strips are about equally tall, and as many are taken at a time as keep their rows of A in L1. */
static void small(const gemm *g)
{
    const size_t most = tallest(g), strips = (g->m + most - 1) / most;
    const size_t low = g->m / strips, tall = g->m % strips; /* strips of one row more */
    const size_t fit = A_NEAR_BYTES / (g->k * sizeof(elem) * (low + 1)), each = fit > 0 ? fit : 1;
    size_t row = 0;
    for (size_t i = 0, count; i < strips; i += count) {
        const size_t rows = low + (i < tall);
        count = least(each, (i < tall ? tall : strips) - i);
        strips_below(g, row, rows, count);
        row += rows * count;
    }
}
