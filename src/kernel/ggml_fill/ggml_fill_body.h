/* ggml_fill_body.h - panels of sixteen columns to floats, four k at a time.
 *
 * Every vector variant is this, compiled for its ISA.
 */
#include "kernel/ggml_fill/ggml_fill.h"
#include "kernel/ggml_panels/floats.h"

FIXED void block(const takt_ggml_format format, const uint8_t *p, float *to, size_t ld)
{
    const ggml_shape z = ggml_shape_of(format);
    UNROLL for (size_t u = 0; u < VECTORS; u++) for (int part = 0; part < z.weights / z.span;
                                                     part++)
    {
        const ggml_factors o = ggml_factors_of(format, p, part, u);
        UNROLL for (int g = 0; g < z.span / 4; g++)
        {
            const int at = part * z.span + 4 * g;
            const vi level = ggml_level(format, p, at / 4, u);
            UNROLL for (int i = 0; i < 4; i++)
                vf_store(to + (size_t)(at + i) * ld + u * VF, ggml_weight(format, level, i, &o));
        }
    }
}

#define FILL(name)                                                                                 \
    static void fill_##name(const uint8_t *p, float *to, size_t ld)                                \
    {                                                                                              \
        block(TAKT_GGML_##name, p, to, ld);                                                        \
    }
GGML_FORMATS(FILL)

typedef void fill_fn(const uint8_t *p, float *to, size_t ld);
#define ENTRY(name) [TAKT_GGML_##name] = fill_##name,
static fill_fn *const fills[TAKT_GGML_FORMATS] = {GGML_FORMATS(ENTRY)};

static void run(const takt_ggml_fill *g)
{
    const size_t bytes = takt_ggml_panel_block(g->format);
    const size_t weights = takt_ggml_formats[g->format].weights;
    for (size_t i = 0; i < g->count; i++)
        for (size_t b = 0; b < g->deep; b++)
            fills[g->format]((const uint8_t *)g->panels + (i * g->blocks + g->first + b) * bytes,
                             g->dst + b * weights * g->ld + i * TAKT_GGML_PANEL, g->ld);
}

TAKT_KERNELS(ggml_fill, TAKT_KERNEL(ggml_fill, SIMD_NAME, SIMD_RANK, run, NULL));
