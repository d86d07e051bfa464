/* scalar_body.h - the contract of products of floats, word for word, for gemm_f32 and gemm_f64.
 *
 * A template: a variant defines elem, gemm (its call's type), P (columns of a panel), FMA, and
 * panel_of(g, first, k, col), the k rows of B from `first` on, P columns from `col` on; after
 * epilogue.h.
 */
/* acc[P] of one row and one panel over the chunk from k = first. */
static void chunk(const gemm *g, size_t row, size_t panel, size_t first, elem *acc)
{
    const size_t k = g->k - first < CHUNK ? g->k - first : CHUNK;
    const elem *a = g->a + row * g->a_row + first * g->a_col;
    const elem *b = panel_of(g, first, k, g->b_first + panel * P);
    for (size_t j = 0; j < P; j++)
        acc[j] = 0;
    for (size_t p = 0; p < k; p++)
        for (size_t j = 0; j < P; j++)
            acc[j] = FMA(a[p * g->a_col], b[p * P + j], acc[j]);
}

static void row_of_panel(const gemm *g, size_t row, size_t col)
{
    const size_t cols = g->n - col < P ? g->n - col : P;
    elem total[P], acc[P];
    chunk(g, row, col / P, 0, total);
    for (size_t p = CHUNK; p < g->k; p += CHUNK) {
        chunk(g, row, col / P, p, acc);
        add_row(total, acc, P);
    }
    if (g->epilogue)
        finish_row(g->epilogue, total, row, col, cols);
    memcpy(g->c + row * g->ldc + col, total, cols * sizeof *total);
}

static void run(const gemm *g)
{
    for (size_t row = 0; row < g->m; row++)
        for (size_t col = 0; col < g->n; col += P) {
            if (takt_poll_stops(g->poll))
                return;
            row_of_panel(g, row, col);
        }
    if (g->epilogue && g->epilogue->tail && g->m && g->n)
        g->epilogue->tail(g->epilogue->user, g->c, g->ldc, 0, 0, g->m, g->n);
}
