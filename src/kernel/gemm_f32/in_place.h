/* in_place.h - which products read A where it lies, and which keep it in L1.
 *
 * A part of blocked.h.
 */
/* Whether packing A costs more than it gives: up to these columns. */
static bool has_few_columns(const gemm *g)
{
    return g->n <= FEW_COLUMNS || (g->k <= CHUNK && g->n <= FEW_COLUMNS * 4 / 3) ||
           (g->k <= 24 && g->n <= 3 * FEW_COLUMNS);
}

/* Rows of a tile that reads A where it lies; 0: A is packed. Rows that are a multiple of a page
 * apart would push each other out of L1. */
static size_t rows_in_place(const gemm *g)
{
    const bool fits = IN_PLACE > 0 && g->m >= 2 * MR && has_few_columns(g) && g->a_col == 1 &&
                      g->a_row > 0 && g->k > 0 && g->k % QUAD == 0 &&
                      (g->a_row * sizeof(elem) % 4096 != 0 || g->k <= 64);
    return !fits ? 0 : wide_columns(g) > 0 ? (size_t)IN_PLACE - 1 : (size_t)IN_PLACE;
}

/* Few enough rows that a chunk of all of them stays in L1 beside a panel of B, which then comes
 * from farther away but once. */
static bool is_low(const gemm *g, size_t rows)
{
#ifdef RUNS
    enum { A_LOW_BYTES = 40 << 10 };
    return rows >= 2 * MR && rows * CHUNK * sizeof(elem) <= A_LOW_BYTES && rows_in_place(g) == 0 &&
           !is_stored(g) && !(g->walk && g->walk->cols > 0);
#else
    (void)g;
    (void)rows;
    return false;
#endif
}
