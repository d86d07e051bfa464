/* ggml_fill_scalar.c - the contract, word for word. */
#include "kernel/ggml_fill/ggml_fill.h"

#include "kernel/ggml_f32/decode.h"

static void run(const takt_ggml_fill *g)
{
    const size_t bytes = takt_ggml_panel_block(g->format);
    const size_t weights = takt_ggml_formats[g->format].weights;
    for (size_t j = 0; j < g->count * TAKT_GGML_PANEL; j++)
        for (size_t b = 0; b < g->deep; b++) {
            const size_t at = j / TAKT_GGML_PANEL * g->blocks + g->first + b;
            uint8_t block[256];
            float w[256];
            takt_ggml_unpack(g->format, (const uint8_t *)g->panels + at * bytes,
                             j % TAKT_GGML_PANEL, block);
            decoders[g->format](block, w);
            for (size_t k = 0; k < weights; k++)
                g->dst[(b * weights + k) * g->ld + j] = w[k];
        }
}

TAKT_KERNELS(ggml_fill, TAKT_KERNEL(ggml_fill, "scalar", 0, run, NULL));
