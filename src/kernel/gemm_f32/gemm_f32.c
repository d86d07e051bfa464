/* gemm_f32.c - a product whose k is split over threads: chunks are computed separately, then summed
 * in order. */
#include "kernel/gemm_f32/gemm_f32.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef float elem;
typedef uint32_t word;
typedef takt_epilogue_f32 epilogue;
typedef takt_gemm_f32 gemm;

#include "kernel/gemm_f32/epilogue.inc"

#include "kernel/gemm_f32/sum_body.inc"

void takt_gemm_widen_half(const takt_gemm_stored *s, const takt_gemm_piece *piece, float *to)
{
    const takt_convert how = {.to = TAKT_F32, .from = s->dtype};
    const uint16_t *data = s->data;
    const size_t at = (s->first + piece->p) * s->columns + piece->col * piece->k;
    s->convert(&how, to, data + at, piece->cols * piece->k);
}

void takt_gemm_f32_chunks(const takt_kernel *kernel, const takt_gemm_f32 *g, size_t first,
                          size_t last, float *partial)
{
    const takt_panels panels = ((const takt_gemm_f32_info *)kernel->info)->panels;
    for (size_t i = first; i < last; i++) {
        const size_t p = i * TAKT_GEMM_CHUNK;
        gemm one = part_of(g, i, first, partial);
        takt_gemm_stored stored;
        if (g->stored) {
            stored = *g->stored;
            stored.first += p;
            one.stored = &stored;
        } else {
            one.b = g->b + p * takt_panels_columns(panels, g->b_n);
        }
        takt_kernel_as_gemm_f32(kernel)(&one);
    }
}

void takt_gemm_f32_sum(const takt_gemm_f32 *g, const float *partial, size_t count)
{
    sum_parts(g, partial, count);
}
