/* ggml_few_scalar.c - the contract, word for word. */
#include "kernel/ggml_few/ggml_few.h"

#include <math.h>

#include "kernel/ggml_f32/decode.h"
#include "kernel/pack/panels.h"

/* One chunk of one column: floats, then a chain for each row. */
static void chunk(const takt_ggml_few *g, size_t column, size_t from, size_t end)
{
    const takt_ggml_info *info = &takt_ggml_formats[g->format];
    const size_t bytes = takt_ggml_panel_block(g->format), size = info->weights;
    const uint8_t *panel =
        (const uint8_t *)g->panels + column / TAKT_GGML_PANEL * g->blocks * bytes;
    float w[TAKT_GEMM_CHUNK];
    for (size_t b = from; b < end; b++) {
        uint8_t block[256];
        takt_ggml_unpack(g->format, panel + b * bytes, column % TAKT_GGML_PANEL, block);
        decoders[g->format](block, w + (b - from) * size);
    }
    for (size_t row = 0; row < g->m; row++) {
        const float *a = g->a + row * g->a_row + from * size;
        float *c = g->c + row * g->ldc + column, sum = 0;
        for (size_t k = 0; k < (end - from) * size; k++)
            sum = fmaf(a[k], w[k], sum);
        *c = from > 0 ? *c + sum : sum;
    }
}

static void run(const takt_ggml_few *g)
{
    const size_t whole = TAKT_GEMM_CHUNK / takt_ggml_formats[g->format].weights;
    for (size_t column = 0; column < g->n; column++)
        for (size_t b = 0; b < g->blocks; b += whole)
            chunk(g, column, b, b + whole < g->blocks ? b + whole : g->blocks);
}

TAKT_KERNELS(ggml_few, TAKT_KERNEL(ggml_few, "scalar", 0, run, NULL));
