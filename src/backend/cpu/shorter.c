/* shorter.c - a row times the first rows of a packed matrix.
 *
 * Whole chunks of k have the same layout as in a shorter matrix. In the last chunk only the panels
 * have, so it is multiplied panel by panel and added as the kernel would.
 */
#include "backend/cpu/shorter.h"

void takt_cpu_shorter(const takt_shorter *s, const float *row, size_t limit, float *out)
{
    const size_t whole = limit / TAKT_GEMM_CHUNK * TAKT_GEMM_CHUNK, rest = limit - whole;
    const size_t left = s->k - whole, n = s->n;
    const size_t rows = left < TAKT_GEMM_CHUNK ? left : TAKT_GEMM_CHUNK;
    takt_gemm_f32 g = {.m = 1,
                       .n = n,
                       .k = whole,
                       .a = row,
                       .a_row = s->k,
                       .a_col = 1,
                       .b = s->b,
                       .b_n = n,
                       .c = out,
                       .ldc = n,
                       .scratch = s->scratch,
                       .blocking = s->blocking};
    if (whole > 0)
        s->gemm(&g);
    if (rest == 0)
        return;
    g.k = rest;
    g.a = row + whole;
    for (size_t i = 0, at = 0; at < n; i++) {
        const size_t next = takt_panels_column(s->panels, n, i + 1);
        g.n = g.b_n = (next < n ? next : n) - at;
        g.b = s->b + whole * takt_panels_columns(s->panels, n) + at * rows;
        g.c = whole > 0 ? s->part : out + at;
        s->gemm(&g);
        for (size_t j = 0; whole > 0 && j < g.n; j++)
            out[at + j] += s->part[j];
        at = next;
    }
}
