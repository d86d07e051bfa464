/* gemm_f32_fhm.c - one row by weights in f16, widened by fmlal; the rest as without it.
 *
 * Tiles are not compiled a second time: they are 150 kB.
 */
#pragma GCC diagnostic ignored "-Wunused-function"
#define RUN one_row
#include "kernel/gemm_f32/neon.inc"

extern const takt_kernel_unit takt_unit_gemm_f32_neon;

static void row_or_tiles(const gemm *g)
{
    if (g->m == 1 && g->n > 0)
        clip_or_run(g);
    else
        takt_kernel_as_gemm_f32(takt_unit_gemm_f32_neon.kernels)(g);
}

TAKT_KERNELS(gemm_f32, TAKT_KERNEL(gemm_f32, "fhm_8x12", 30, row_or_tiles, &info));
