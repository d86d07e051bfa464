/* panels.h - how the right-hand side of a product is cut and where its elements lie.
 *
 * Columns are cut into panels of `wide`, the last of which, or the last two, are `narrow` where
 * that wastes less. Values of k come in chunks. A packed matrix is
 *
 *     [chunk of k][panel][k of the chunk][columns of the panel]
 *
 * without gaps, so that a product over the panels of one chunk reads one unbroken stream, and a
 * panel that begins at column j of a chunk of k rows begins at j * k elements.
 */
#ifndef TAKT_KERNEL_PANELS_H
#define TAKT_KERNEL_PANELS_H

#include <stddef.h>

enum { TAKT_GEMM_CHUNK = 256 };

typedef struct takt_panels {
    size_t wide, narrow; /* columns; wide <= 2 * narrow */
} takt_panels;

/* How many of the panels of n columns are wide. */
static inline size_t takt_panels_wide(takt_panels s, size_t n)
{
    const size_t whole = n / s.wide, rest = n % s.wide;
    if (rest == 0 || rest > s.narrow)
        return whole + (rest > 0);
    return whole > 0 && s.wide + rest <= 2 * s.narrow ? whole - 1 : whole;
}

static inline size_t takt_panels_count(takt_panels s, size_t n)
{
    const size_t wide = takt_panels_wide(s, n), rest = n > wide * s.wide ? n - wide * s.wide : 0;
    return wide + (rest + s.narrow - 1) / s.narrow;
}

/* Where panel number `panel` begins; for takt_panels_count(), the columns of all with padding. */
static inline size_t takt_panels_column(takt_panels s, size_t n, size_t panel)
{
    const size_t wide = takt_panels_wide(s, n);
    return panel <= wide ? panel * s.wide : wide * s.wide + (panel - wide) * s.narrow;
}

static inline size_t takt_panels_columns(takt_panels s, size_t n)
{
    return takt_panels_column(s, n, takt_panels_count(s, n));
}

/* The panel that column j belongs to. */
static inline size_t takt_panels_of(takt_panels s, size_t n, size_t j)
{
    const size_t wide = takt_panels_wide(s, n);
    return j < wide * s.wide ? j / s.wide : wide + (j - wide * s.wide) / s.narrow;
}

/* Index of element (p, j) of a packed matrix of k rows and n columns. */
static inline size_t takt_packed_at(takt_panels s, size_t k, size_t n, size_t p, size_t j)
{
    const size_t chunk = p / TAKT_GEMM_CHUNK * TAKT_GEMM_CHUNK, panel = takt_panels_of(s, n, j);
    const size_t first = takt_panels_column(s, n, panel);
    const size_t width = takt_panels_column(s, n, panel + 1) - first;
    const size_t rows = k - chunk < TAKT_GEMM_CHUNK ? k - chunk : TAKT_GEMM_CHUNK;
    return chunk * takt_panels_columns(s, n) + first * rows + (p - chunk) * width + (j - first);
}

/* Columns [*first, *end) of n that part `index` of `parts` computes: whole panels. */
static inline void takt_panels_share(takt_panels s, size_t n, size_t index, size_t parts,
                                     size_t *first, size_t *end)
{
    const size_t count = takt_panels_count(s, n), each = count / parts, more = count % parts;
    const size_t from = index * each + (index < more ? index : more);
    const size_t to = from + each + (index < more ? 1 : 0);
    *first = takt_panels_column(s, n, from);
    *end = takt_panels_column(s, n, to);
    *first = *first < n ? *first : n;
    *end = *end < n ? *end : n;
}

#endif
