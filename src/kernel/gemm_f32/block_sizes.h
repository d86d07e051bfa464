/* block_sizes.h - how large tiles, blocks, strips and scratch memory of a product are.
 *
 * A part of blocked.h.
 */
/* Panels of a tile. Three load least for what they multiply; but two if one would be left alone, or
 * if low tiles would read B twice. */
static size_t tile_panels(const gemm *g)
{
    const size_t panels = (g->n + NARROW - 1) / NARROW;
    const bool is_broad = (panels == 3 || panels > 4) && (g->m <= BROAD || g->m > MR);
    return PANELS < 3 || is_broad ? PANELS : 2;
}

/* Rows of a tile. */
static size_t tallest(const gemm *g)
{
    return PANELS == 3 && tile_panels(g) == 3 ? BROAD : MR;
}

/* k of one packed block of A. */
static size_t k_block(const gemm *g)
{
    return g->walk && g->walk->k > 0 ? round_up(g->walk->k, CHUNK) : K_BLOCK;
}

/* Rows of which a block of k stays in L2. */
static size_t rows_fit(const gemm *g)
{
    const size_t bytes = g->walk && g->walk->a_bytes > 0 ? g->walk->a_bytes : A_BYTES;
    return bytes / sizeof(elem) / round_up(least(g->k, k_block(g)) + 1, QUAD);
}

/* The most rows that a block may have. */
static size_t rows_most(const gemm *g)
{
    if (g->walk && g->walk->rows > 0)
        return round_up(g->walk->rows, tallest(g));
    const size_t fit = rows_fit(g), most = tallest(g);
    return least(fit < most ? most : fit / most * most, ROWS_MAX / most * most);
}

/* Not less, however many columns there are. */
static size_t rows_bound(const gemm *g)
{
    if (g->walk && g->walk->rows > 0)
        return g->walk->rows + MR;
    const size_t fit = rows_fit(g);
    return least(fit < MR ? MR : fit, ROWS_MAX);
}

/* Even blocks, of whole strips; none of a single row, for which there is no tile. */
static size_t rows_now(const gemm *g, size_t left)
{
    const size_t most = rows_most(g), blocks = (left + most - 1) / most;
    const size_t rows = round_up((left + blocks - 1) / blocks, tallest(g));
    return left <= rows ? left : left == rows + 1 ? rows - 1 : rows;
}

/* Strips are about equally tall: a low one costs almost as much as a tall one. */
static size_t strip_rows(size_t left, size_t most)
{
    const size_t strips = (left + most - 1) / most;
    return (left + strips - 1) / strips;
}

/* Columns of a block: as much of B as stays in L2; all of it if it is not reused. */
static size_t block_columns(const gemm *g, size_t rows)
{
    const size_t k = g->k > 0 ? least(g->k, CHUNK) : 1;
    const size_t asked = g->walk ? round_up(g->walk->cols, NR) : 0;
    const bool is_once = rows <= tallest(g) || is_low(g, rows); /* B is read once */
    const size_t fit = B_BYTES / (k * sizeof(elem));
    const size_t by_b = is_stored(g) ? (asked > 0 ? least(asked, fit) : fit)
                        : asked > 0  ? asked
                        : is_once    ? g->n
                                     : fit;
    const size_t by_sums = g->k > CHUNK ? SUM_BYTES / (rows * sizeof(elem)) : g->n;
    const size_t width = tile_panels(g) * WIDE, columns = least(by_b, by_sums) / width * width;
    return columns > 0 ? columns : width;
}

static size_t packed_a(const gemm *g)
{
    const size_t one = g->a_col == 1 ? 0 : round_up(g->k, NR);
    const size_t rows = round_up(least(g->m, rows_bound(g)), 8);
    const size_t many = g->m > 1 ? rows * round_up(least(g->k, k_block(g)), QUAD) : 0;
    return round_up(one > many ? one : many, NR);
}

/* Never less for more rows or more columns, so that callers may cut a product anywhere. */
static size_t scratch_bytes(const gemm *g)
{
    if (g->m == 0 || g->n == 0)
        return 0;
    const bool is_one = g->k <= CHUNK; /* then only an edge needs sums */
    const size_t rows = least(g->m, is_one ? MR : rows_bound(g));
    const size_t held =
        is_one ? rows * NR : least(rows * round_up(g->n, NR), SUM_BYTES / sizeof(elem));
    const size_t sums = round_up(held + rows * (NR + 2 * NARROW), 64 / sizeof(elem));
    return round_up((packed_a(g) + sums + widened_elems(g)) * sizeof(elem), 64);
}
