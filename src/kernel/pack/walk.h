/* walk.h - which part of a matrix is packed how; shared by the vector variants.
 *
 * A template: a variant supplies transpose, which packs some columns of a matrix that are
 * contiguous in k.
 */
enum { ROWS = 8 /* rows read at once: enough to write long runs, few enough to prefetch */ };

/* One panel over one chunk of k. */
typedef struct part {
    const char *from; /* its first element */
    size_t row, col;  /* bytes between rows and between columns */
    size_t k, width, cols, bytes;
    char *to;
} part;

/* Packs as many of the first values of k as it can, for all columns; the panel is whole and its
 * columns are contiguous in k. */
static size_t transpose(const part *p);

/* Elements one by one: rows [first, k). */
static void by_element(const part *p, size_t first)
{
    for (size_t i = first; i < p->k; i++) {
        char *row = p->to + i * p->width * p->bytes;
        memset(row, 0, p->width * p->bytes);
        for (size_t j = 0; j < p->cols; j++)
            memcpy(row + j * p->bytes, p->from + i * p->row + j * p->col, p->bytes);
    }
}

/* Columns side by side: a row of a panel is one copy. */
static void copy_rows(const part *p, size_t first, size_t rows)
{
    const size_t bytes = p->width * p->bytes;
    const char *from = p->from + first * p->row;
    char *to = p->to + first * bytes;
    for (size_t r = 0; r < rows; r++, from += p->row, to += bytes)
        switch (bytes) {
        case 64: memcpy(to, from, 64); break;
        case 48: memcpy(to, from, 48); break;
        case 32: memcpy(to, from, 32); break;
        default: memcpy(to, from, bytes);
        }
}

static part part_of(const takt_pack *p, size_t chunk, size_t panel)
{
    const size_t column = takt_panels_column(p->panels, p->n, panel);
    const size_t width = takt_panels_column(p->panels, p->n, panel + 1) - column;
    const size_t k = p->k - chunk < TAKT_GEMM_CHUNK ? p->k - chunk : TAKT_GEMM_CHUNK;
    const size_t to = chunk * takt_panels_columns(p->panels, p->n) + column * k;
    return (part){.from = (const char *)p->src + (chunk * p->row + column * p->col) * p->bytes,
                  .row = p->row * p->bytes,
                  .col = p->col * p->bytes,
                  .k = k,
                  .width = width,
                  .cols = p->n - column < width ? p->n - column : width,
                  .bytes = p->bytes,
                  .to = (char *)p->dst + to * p->bytes};
}

/* The panel behind `one` in the same chunk, of columns side by side. */
static void go_on(part *one, size_t left, size_t width)
{
    one->from += one->width * one->bytes;
    one->to += one->width * one->k * one->bytes;
    one->width = width;
    one->cols = left < width ? left : width;
}

/* Rows a few at a time through all whole panels, so that reads run on. Finding a panel by its
 * number takes several divisions, longer than copying its rows. */
static void row_major(const takt_pack *p, size_t chunk, size_t count)
{
    const part first = part_of(p, chunk, 0);
    const size_t wide = takt_panels_wide(p->panels, p->n);
    for (size_t i = 0; i < first.k; i += ROWS) {
        const size_t rows = first.k - i < ROWS ? first.k - i : ROWS;
        part one = first;
        for (size_t panel = 0, left = p->n; panel < count; panel++) {
            if (one.cols == one.width)
                copy_rows(&one, i, rows);
            else if (i == 0)
                by_element(&one, 0);
            left -= one.cols;
            go_on(&one, left, panel + 1 < wide ? p->panels.wide : p->panels.narrow);
        }
    }
}

static void run(const takt_pack *p)
{
    const size_t count = takt_panels_count(p->panels, p->n);
    for (size_t chunk = 0; chunk < p->k; chunk += TAKT_GEMM_CHUNK) {
        if (p->col == 1) {
            row_major(p, chunk, count);
            continue;
        }
        for (size_t panel = 0; panel < count; panel++) {
            const part one = part_of(p, chunk, panel);
            const bool fits = p->row == 1 && one.cols == one.width;
            by_element(&one, fits ? transpose(&one) : 0);
        }
    }
}
