/* mm_rows.h - rounded rows as smmla takes them: two in a vector, up to three pairs in a strip.
 *
 * A part of ggml_i8_i8mm.c. Strips of six rows follow each other; each part lies as
 *
 *     bytes   [strip][k / 8][pairs][2][8]
 *     dx      [row][blocks]
 *     sums    [strip][blocks][pairs][parts / 8][high, low][2][8], of formats with minima: the sum
 *             of a part's bytes, 64 * high + low
 *
 * An odd row at the end has a neighbour of zeros.
 */
enum { PAIRS = 3, STRIP_ROWS = 2 * PAIRS };

typedef struct mm_rows {
    int8_t *q, *sums;
    float *dx;
    size_t m, k, blocks, parts; /* parts: of a block, 0 in formats without minima */
} mm_rows;

static size_t mm_even(size_t m)
{
    return (m + 1) / 2 * 2;
}

static size_t mm_parts(takt_ggml_format format)
{
    return ggml_shape_of(format).has_min ? 256 / rounded_span(format) : 0;
}

static mm_rows mm_rows_at(takt_ggml_format format, size_t m, size_t blocks, void *at)
{
    mm_rows o = {.m = m, .k = 256 * blocks, .blocks = blocks, .parts = mm_parts(format)};
    char *dx = (char *)at + rounded_up(mm_even(m) * o.k);
    o.q = at;
    o.dx = (float *)(void *)dx;
    o.sums = (int8_t *)dx + rounded_up(mm_even(m) * blocks * 4);
    return o;
}

static size_t mm_bytes(takt_ggml_format format, size_t m, size_t blocks)
{
    const size_t rows = mm_even(m);
    return rounded_up(rows * blocks * 256) + rounded_up(rows * blocks * 4) +
           rounded_up(2 * rows * blocks * mm_parts(format));
}

static size_t mm_pairs(const mm_rows *o, size_t strip)
{
    const size_t left = mm_even(o->m) - strip * STRIP_ROWS;
    return (left < STRIP_ROWS ? left : STRIP_ROWS) / 2;
}

/* Bytes and sums of a strip's block. */
static const int8_t *mm_bytes_at(const mm_rows *o, size_t strip, size_t b)
{
    return o->q + strip * STRIP_ROWS * o->k + b * 256 * 2 * mm_pairs(o, strip);
}

static size_t mm_sums_at(const mm_rows *o, size_t strip, size_t b)
{
    return 2 * o->parts * (strip * STRIP_ROWS * o->blocks + b * 2 * mm_pairs(o, strip));
}

/* 256 bytes of a row, spread to where they belong. */
static void mm_put(const mm_rows *o, size_t row, size_t b, const int8_t *q)
{
    const size_t strip = row / STRIP_ROWS, pairs = mm_pairs(o, strip);
    const size_t at = row % STRIP_ROWS / 2 * 16 + row % 2 * 8;
    int8_t *to = o->q + (mm_bytes_at(o, strip, b) - o->q) + at;
    for (size_t i = 0; i < 32; i++)
        memcpy(to + 16 * pairs * i, q + 8 * i, 8);
    if (o->parts == 0)
        return;
    int8_t *sums =
        o->sums + mm_sums_at(o, strip, b) + row % STRIP_ROWS / 2 * 4 * o->parts + row % 2 * 8;
    for (size_t part = 0; part < o->parts; part++, q += 256 / o->parts) {
        int32_t sum = 0;
        for (size_t k = 0; k < 256 / o->parts; k++)
            sum += q[k];
        sums[part / 8 * 32 + part % 8] = (int8_t)(sum >> 6);
        sums[part / 8 * 32 + part % 8 + 16] = (int8_t)(sum & 63);
    }
}

static void mm_round(const takt_ggml_round *r)
{
    const mm_rows to = mm_rows_at(r->format, r->m, r->blocks, r->to);
    int8_t q[256];
    for (size_t row = r->first; row < r->end; row++)
        for (size_t b = 0; b < to.blocks; b++) {
            float most;
            (void)block_round(r->a + row * r->a_row + b * 256, 256, &most, q);
            to.dx[row * to.blocks + b] = most / 127;
            mm_put(&to, row, b, q);
        }
    memset(q, 0, sizeof q);
    for (size_t b = 0; r->end == r->m && r->m % 2 == 1 && b < to.blocks; b++) {
        to.dx[r->m * to.blocks + b] = 0;
        mm_put(&to, r->m, b, q);
    }
}
