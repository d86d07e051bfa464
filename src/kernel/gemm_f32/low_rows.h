/* low_rows.h - which products keep all rows of A in L1.
 *
 * A part of blocked.h.
 */
/* Few enough rows that a chunk of all of them stays in L1 with a panel of B, which then comes from
 * further away only once. */
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
