/* ggml_work.c - evaluation of products with weights in ggml's block formats, activations in 8 bits.
 */
#include "kernel/ggml_i8/ggml_i8.h"
#include "op/util/ggml.h"

static const takt_kernel *scalar_kernel(void)
{
    return takt_kernel_find("ggml_i8", UINT32_C(1) << TAKT_ISA_scalar, NULL, 0, NULL);
}

takt_status takt_ggml_work_open(takt_eval *e, size_t m, size_t bytes, takt_ggml_work *w)
{
    enum { LINE = 64 };
    const takt_ggml_i8_info *how = scalar_kernel()->info;
    const takt_ggml_format format = (takt_ggml_format)e->attr[0].i64;
    const takt_ggml_info *info = &takt_ggml_formats[format];
    const size_t blocks = bytes / info->bytes;
    *w = (takt_ggml_work){.format = format, .m = m, .blocks = blocks};
    w->x = takt_arena_array(e->scratch, m * blocks * info->weights + 1, sizeof *w->x);
    w->y = takt_arena_array(e->scratch, m + 1, sizeof *w->y);
    w->column = takt_arena_array(e->scratch, bytes + 1, 1);
    w->panel = takt_arena_array(e->scratch, blocks * takt_ggml_panel_block(format) + 1, 1);
    char *rounded = takt_arena_array(e->scratch, how->bytes(format, m, blocks) + LINE, 1);
    if (w->x == NULL || w->y == NULL || w->column == NULL || w->panel == NULL || rounded == NULL)
        return TAKT_ERR_MEMORY;
    w->rounded = rounded + (LINE - (uintptr_t)rounded % LINE) % LINE;
    return TAKT_OK;
}

void takt_ggml_work_multiply(const takt_ggml_work *w, const double *a, const int64_t *b, size_t n,
                             double *out)
{
    const takt_kernel *k = scalar_kernel();
    const takt_ggml_info *info = &takt_ggml_formats[w->format];
    const size_t width = w->blocks * info->weights, bytes = w->blocks * info->bytes;
    const bool packs = takt_ggml_has_panels(w->format);
    for (size_t i = 0; i < w->m * width; i++)
        w->x[i] = (float)a[i];
    ((const takt_ggml_i8_info *)k->info)
        ->round(&(takt_ggml_round){w->format, w->m, w->blocks, 0, w->m, w->x, width, w->rounded});
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < bytes; i++)
            w->column[i] = (uint8_t)b[j * bytes + i];
        if (packs)
            takt_ggml_pack(&(takt_ggml_rows){w->format, 1, w->blocks, w->column}, w->panel);
        takt_kernel_as_ggml_i8(k)(&(takt_ggml_i8){
            w->format, w->m, 1, w->blocks, packs ? w->panel : w->column, w->rounded, w->y, 1});
        for (size_t i = 0; i < w->m; i++)
            out[i * n + j] = (double)w->y[i];
    }
}
