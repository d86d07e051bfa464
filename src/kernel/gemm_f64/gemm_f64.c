/* gemm_f64.c - a product whose k is split over threads: chunks are computed separately, then summed
 * in order. */
#include "kernel/gemm_f64/gemm_f64.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef double elem;
typedef uint64_t word;
typedef takt_epilogue_f64 epilogue;
typedef takt_gemm_f64 gemm;

#include "kernel/gemm_f32/epilogue.inc"

#include "kernel/gemm_f32/sum_body.inc"

void takt_gemm_f64_chunks(const takt_kernel *kernel, const takt_gemm_f64 *g, size_t first,
                          size_t last, double *partial)
{
    const takt_panels panels = ((const takt_gemm_f64_info *)kernel->info)->panels;
    for (size_t i = first; i < last; i++) {
        gemm one = part_of(g, i, first, partial);
        one.b = g->b + i * TAKT_GEMM_CHUNK * takt_panels_columns(panels, g->b_n);
        takt_kernel_as_gemm_f64(kernel)(&one);
    }
}

void takt_gemm_f64_sum(const takt_gemm_f64 *g, const double *partial, size_t count)
{
    sum_parts(g, partial, count);
}
