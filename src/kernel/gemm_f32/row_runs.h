/* row_runs.h - one row by whole panels: those of a place one after the other in one call, and the
 * narrow ones along with the last of them.
 *
 * A part of one_row.h, of variants that define RUNS. Each call restarts the stream of reads, and a
 * narrow panel computed alone stalls on its own sums. Bits are the same: every panel has its own
 * sums.
 */
typedef struct row_run {
    row_job job;          /* of the first panel of every place */
    size_t each;          /* panels of a place */
    size_t narrow;        /* panels of NARROW columns, up to NARROW_MOST, that follow each other */
    const elem *narrow_b; /* and where the first of them lies */
    elem *narrow_c;
} row_run;

enum { NARROW_MOST = 2 };

/* Panels of WIDE columns of `count` (1 to 4) places. */
static void row_panels_run(const row_run *r, size_t count);

/* Returns up to which column all are done. */
static size_t row_of_runs(const gemm *g, const row_job *job, size_t wide)
{
    row_run r = {.job = *job};
    const size_t k = r.job.k, end = wide / WIDE * WIDE;
    const elem *b = g->b + r.job.p * takt_panels_columns(widths, g->b_n) + g->b_first * k;
    const size_t narrow = end == wide ? least((g->n - wide) / NARROW, NARROW_MOST) : 0;
    r.narrow_b = b + end * k;
    r.narrow_c = g->c + end;
    for (size_t col = 0; col < end;) {
        const size_t left = (end - col) / WIDE, count = least(left, STREAMS);
        r.each = left / count;
        r.job.b = b + col * k;
        r.job.b_step = r.each * WIDE * k;
        r.job.c = g->c + col;
        r.job.c_step = r.each * WIDE;
        col += count * r.each * WIDE;
        r.narrow = col == end ? narrow : 0;
        row_panels_run(&r, count);
    }
    return end > 0 ? end + narrow * NARROW : 0;
}
