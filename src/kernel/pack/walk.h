/* walk.h - which part of a matrix is packed how; shared by the vector variants.
 *
 * A template: a variant supplies transpose_4 and transpose_8, which pack whole panels of a matrix
 * whose columns are contiguous in k, over a whole number of blocks of k.
 */
enum { ROWS = 8 /* rows read at once: enough to write long runs, few enough to prefetch */ };

/* `blocks` * BLOCK_4 (or BLOCK_8) values of k of one whole panel; column j starts at from + j * ld
 * elements. */
static void transpose_4(const char *from, size_t ld, size_t blocks, char *to);
static void transpose_8(const char *from, size_t ld, size_t blocks, char *to);

/* Elements one by one: rows [first, k) of a panel with `cols` columns. */
static void by_element(const takt_pack *p, size_t panel, size_t first, size_t cols)
{
    const size_t width = takt_pack_width(p->bytes);
    const char *from = (const char *)p->src + panel * width * p->col * p->bytes;
    char *to = (char *)p->dst + panel * p->k * width * p->bytes;
    for (size_t i = first; i < p->k; i++) {
        char *row = to + i * width * p->bytes;
        memset(row, 0, width * p->bytes);
        for (size_t j = 0; j < cols; j++)
            memcpy(row + j * p->bytes, from + (i * p->row + j * p->col) * p->bytes, p->bytes);
    }
}

/* Columns side by side: a row of a panel is one copy of 64 (or 32) bytes. */
static void row_major(const takt_pack *p, size_t panels)
{
    const size_t bytes = takt_pack_width(p->bytes) * p->bytes, row = p->row * p->bytes;
    for (size_t i = 0; i < p->k; i += ROWS) {
        const char *from = (const char *)p->src + i * row;
        char *to = (char *)p->dst + i * bytes;
        const size_t rows = p->k - i < ROWS ? p->k - i : ROWS;
        for (size_t panel = 0; panel < panels; panel++, from += bytes, to += p->k * bytes)
            for (size_t r = 0; r < rows; r++)
                if (bytes == 64)
                    memcpy(to + r * 64, from + r * row, 64);
                else
                    memcpy(to + r * 32, from + r * row, 32);
    }
}

static void transposed(const takt_pack *p, size_t panels)
{
    const size_t step = p->bytes == 4 ? BLOCK_4 : BLOCK_8, width = takt_pack_width(p->bytes);
    for (size_t panel = 0; panel < panels; panel++) {
        const char *from = (const char *)p->src + panel * width * p->col * p->bytes;
        char *to = (char *)p->dst + panel * p->k * width * p->bytes;
        (p->bytes == 4 ? transpose_4 : transpose_8)(from, p->col, p->k / step, to);
        by_element(p, panel, p->k / step * step, width);
    }
}

static void run(const takt_pack *p)
{
    const size_t width = takt_pack_width(p->bytes), panels = p->n / width;
    if (p->col == 1)
        row_major(p, panels);
    else if (p->row == 1 && p->bytes != 2)
        transposed(p, panels);
    else
        for (size_t panel = 0; panel < panels; panel++)
            by_element(p, panel, 0, width);
    if (p->n % width)
        by_element(p, panels, 0, p->n % width);
}
