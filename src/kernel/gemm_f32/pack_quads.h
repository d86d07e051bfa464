/* pack_quads.h - packed strips of A that need no transposition: [k / QUAD][rows][QUAD].
 *
 * A template: a variant defines elem, gemm, MR and QUAD, the values of k in 16 bytes.
 */
static size_t strip_elems(size_t rows, size_t k)
{
    return rows * round_up(k, QUAD);
}

/* `rows` rows of A, `k` columns, to [k / QUAD][rows][QUAD]. What pads the last group is never used.
 */
static inline __attribute__((always_inline)) void pack_fixed(const gemm *g, const elem *a,
                                                             size_t rows, size_t k, elem *to)
{
    size_t p = 0;
    for (; p + QUAD <= k; p += QUAD, to += rows * QUAD)
        for (size_t r = 0; r < rows; r++)
            memcpy(to + r * QUAD, a + r * g->a_row + p, QUAD * sizeof *to);
    for (size_t r = 0; r < rows; r++)
        for (size_t q = 0; p + q < k; q++)
            to[r * QUAD + q] = a[r * g->a_row + p + q];
}

static void pack_strip(const gemm *g, const elem *a, size_t rows, size_t k, elem *to)
{
    if (g->a_col != 1) {
        for (size_t p = 0; p < k; p++)
            for (size_t r = 0; r < rows; r++)
                to[p / QUAD * rows * QUAD + r * QUAD + p % QUAD] = a[r * g->a_row + p * g->a_col];
    } else if (rows == MR) {
        pack_fixed(g, a, MR, k, to);
    } else {
        pack_fixed(g, a, rows, k, to);
    }
}

static size_t rows_in_place(const gemm *g)
{
    (void)g;
    return 0;
}
