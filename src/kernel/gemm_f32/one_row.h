/* one_row.h - a product with one row: panels of several distant places at a time.
 *
 * A part of blocked.h. One stream of reads leaves a third of the memory's bandwidth unused, so
 * panels of STREAMS places, equally far apart, are read at once; fewer where B comes from beyond
 * the caches, which serve two streams best on x86-64.
 */
/* One row of A by panels of B that lie b_step apart, to pieces of C that lie c_step apart, over one
 * chunk of k. */
typedef struct row_job {
    const elem *a, *b;
    size_t b_step, k;
    elem *c;
    size_t c_step;
    bool adds;            /* to what is in C; else it is the first chunk */
    elem *edge;           /* room for a panel */
    const uint16_t *half; /* instead of b, for row_half */
    bool is_bf16;
    size_t p; /* its first k */
} row_job;

/* `count` (STREAMS, 4, 2 or 1) panels of `width` columns. */
static void row_panels(const row_job *r, size_t count, size_t width);
/* The same on 16-bit elements, never 2 of them. */
static void row_half(const row_job *r, size_t count, size_t width);

/* `count` panels, the first of which begins at column `col` of C and of its row of B. */
static void row_of_b(const gemm *g, row_job *r, size_t col, size_t count, size_t width)
{
    const size_t columns = takt_panels_columns(widths, g->b_n);
    const size_t at = r->p * columns + (g->b_first + col) * r->k;
    if (!is_stored(g)) {
        r->b = g->b + at;
        row_panels(r, count, width);
        return;
    }
    r->half = half_at(g, at);
    if (r->half) {
        r->is_bf16 = is_bf16(g);
        row_half(r, count, width);
        return;
    }
    row_job one = *r;
    one.b = r->edge + NR;
    for (size_t i = 0; i < count; i++, one.c += r->c_step) {
        const takt_gemm_piece piece = {r->p, r->k, g->b_first + col + i * r->c_step, width};
        widen(g, &piece, r->edge + NR);
        row_panels(&one, 1, width);
    }
}

/* How many panels are taken at a time; of 16-bit elements never two. */
static size_t row_streams(const gemm *g)
{
    if (!is_far(g))
        return STREAMS;
    return is_stored(g) ? 4u : FAR_STREAMS;
}

/* How many panels are taken at a time where `count` are too many: a single one stalls on its own
 * sums half of the time. */
static size_t fewer_panels(const gemm *g, size_t count)
{
    return count > 4 ? 4 : count > 2 && !is_stored(g) ? 2 : count > 1 ? 1 : 0;
}

/* Panels of `width` columns from column `first` to `end`; what is left of the last one goes
 * through r.edge. */
static void row_of_panels(const gemm *g, row_job r, size_t first, size_t end, size_t width)
{
    size_t col = first;
    for (size_t count = row_streams(g); count > 0; count = fewer_panels(g, count)) {
        const size_t each = (end - col) / width / count;
        r.b_step = each * width * r.k;
        r.c_step = each * width;
        for (size_t j = 0; j < each; j++, col += width) {
            r.c = g->c + col;
            row_of_b(g, &r, col, count, width);
        }
        col += (count - 1) * each * width;
    }
    const size_t rest = end - col;
    if (rest == 0)
        return;
    if (r.adds)
        memcpy(r.edge, g->c + col, rest * sizeof *r.c);
    r.c = r.edge;
    row_of_b(g, &r, col, 1, width);
    memcpy(g->c + col, r.edge, rest * sizeof *r.c);
}

#ifdef RUNS
#include "kernel/gemm_f32/row_runs.h"
#endif

/* One chunk of k, all columns. */
static void row_chunk(const gemm *g, const row_job *r, size_t wide)
{
    size_t done = 0;
#ifdef RUNS
    if (!is_stored(g))
        done = row_of_runs(g, r, wide);
#endif
    row_of_panels(g, *r, least(done, wide), wide, WIDE);
    row_of_panels(g, *r, done > wide ? done : wide, g->n, NARROW);
}

static void one_row(const gemm *g)
{
    const elem *a = g->a;
    const size_t wide = wide_columns(g);
    for (size_t p = 0; g->a_col != 1 && p < g->k; p++)
        g->scratch[p] = g->a[p * g->a_col];
    if (g->a_col != 1)
        a = g->scratch;
    size_t p = 0;
    do {
        const row_job r = {.a = a + p,
                           .k = least(g->k - p, CHUNK),
                           .adds = p > 0,
                           .edge = g->scratch + packed_a(g),
                           .p = p};
        row_chunk(g, &r, wide);
        p += CHUNK;
    } while (p < g->k && !takt_poll_stops(g->poll));
    const epilogue *e = g->epilogue;
    if (e)
        finish_row(e, g->c, 0, 0, g->n);
    if (e && e->tail)
        e->tail(e->user, g->c, g->ldc, 0, 0, 1, g->n);
}
