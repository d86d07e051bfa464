/* pack_rows.h - strips of A whose rows stay rows: a tile reads packed A as it reads A in place.
 *
 * A template for kernels that broadcast single elements of A: a variant defines elem, gemm and
 * MR.
 */
static size_t strip_elems(size_t rows, size_t k)
{
    return rows * k;
}

/* To [rows][k]. */
static void pack_strip(const gemm *g, const elem *a, size_t rows, size_t k, elem *to)
{
    if (g->a_col == 1) {
        for (size_t r = 0; r < rows; r++)
            memcpy(to + r * k, a + r * g->a_row, k * sizeof *to);
        return;
    }
    for (size_t p = 0; p < k; p++)
        for (size_t r = 0; r < rows; r++)
            to[r * k + p] = a[r * g->a_row + p * g->a_col];
}

/* A is read in place, unless its rows are a whole number of pages apart: then they share a few sets
 * of L1, and push each other out if these do not hold a line of every row and panel of a tile. L2
 * holds what its sets share as well if the rows of a block are one piece of memory. */
static size_t rows_in_place(const gemm *g)
{
    enum { PAGE = 4096, LINE_BYTES = 64 };
    const size_t step = g->a_row * sizeof(elem), apart = step % PAGE;
    const bool collides = step > LINE_BYTES && g->k * sizeof(elem) > LINE_BYTES &&
                          (apart < LINE_BYTES || apart > PAGE - LINE_BYTES);
    const bool fits =
        tallest(g) + tile_panels(g) <= g->ways && g->a_row == g->k && g->k <= k_block(g);
    return g->a_col == 1 && g->a_row > 0 && g->k > 0 && (fits || !collides) ? tallest(g) : 0;
}
