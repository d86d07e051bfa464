/* ggml_f32_body.h - every variant of ggml_f32 is this, compiled for its ISA. */
#include "kernel/ggml_f32/decode.h"
#include "kernel/simd/simd.h"

static void run(const takt_ggml_f32 *g)
{
    const takt_ggml_info *info = &takt_ggml_formats[g->format];
    const uint8_t *from = g->src;
    for (size_t i = 0; i < g->blocks; i++)
        decoders[g->format](from + i * info->bytes, g->dst + i * info->weights);
}

TAKT_KERNELS(ggml_f32, TAKT_KERNEL(ggml_f32, SIMD_NAME, SIMD_RANK, run, NULL));
