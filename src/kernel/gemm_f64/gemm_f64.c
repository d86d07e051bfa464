/* gemm_f64.c - a product whose k is split over threads: chunks apart, then summed in order. */
#include "kernel/gemm_f64/gemm_f64.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef double elem;
typedef uint64_t word;
typedef takt_epilogue_f64 epilogue;

#include "kernel/gemm_f32/epilogue.h"

void takt_gemm_f64_chunks(const takt_kernel *kernel, const takt_gemm_f64 *g, size_t first,
                          size_t last, double *partial)
{
    const takt_panels panels = ((const takt_gemm_f64_info *)kernel->info)->panels;
    for (size_t i = first; i < last; i++) {
        const size_t p = i * TAKT_GEMM_CHUNK, left = g->k - p;
        takt_gemm_f64 one = *g;
        one.k = left < TAKT_GEMM_CHUNK ? left : TAKT_GEMM_CHUNK;
        one.a = g->a + p * g->a_col;
        one.b = g->b + p * takt_panels_columns(panels, g->b_n);
        one.c = partial + (i - first) * g->m * g->n;
        one.ldc = g->n;
        one.epilogue = NULL;
        takt_kernel_as_gemm_f64(kernel)(&one);
    }
}

void takt_gemm_f64_sum(const takt_gemm_f64 *g, const double *partial, size_t count)
{
    for (size_t row = 0; row < g->m; row++) {
        double *to = g->c + row * g->ldc;
        const double *from = partial + row * g->n;
        for (size_t j = 0; j < g->n; j++)
            to[j] = from[j];
        for (size_t i = 1; i < count; i++)
            add_row(to, from + i * g->m * g->n, g->n);
        if (g->epilogue)
            finish_row(g->epilogue, to, row, 0, g->n);
    }
    const takt_epilogue_f64 *e = g->epilogue;
    if (e && e->tail && g->m && g->n)
        e->tail(e->user, g->c, g->ldc, 0, 0, g->m, g->n);
}
