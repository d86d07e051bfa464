/* narrow_image.c - one task of narrow_conv by products on an image: x with its padding. */
#include "backend/cpu/conv/narrow_conv.h"

static void multiply(const takt_step *s, const takt_task *t, takt_image_rows of, size_t first,
                     size_t columns)
{
    const takt_narrow_conv *f = s->data;
    const takt_conv_shape *c = &f->shape;
    const takt_bf16_image image = {
        .data = (const uint16_t *)(const void *)((char *)t->scratch_own + f->patches),
        .width = c->out[2],
        .pitch = f->image.pitch,
        .channels = c->cin,
        .at = f->image.at};
    const float *bias = takt_narrow_bias(s, t);
    const uint16_t *residual = takt_narrow_residual(s, t);
    const size_t at = of.row * c->out[2] * c->cout + first;
    const takt_product_bf16 g = {.m = of.rows * c->out[2],
                                 .n = columns,
                                 .k = c->k,
                                 .image = &image,
                                 .b = takt_narrow_weights(s, t),
                                 .b_n = c->cout,
                                 .b_first = first,
                                 .bias = bias != NULL ? bias + first : NULL,
                                 .residual = residual != NULL ? residual + at : NULL,
                                 .ldr = c->cout,
                                 .lo = f->lo,
                                 .hi = f->hi,
                                 .c = (uint16_t *)takt_view_data(t, &s->out[0]) + at,
                                 .ldc = c->cout,
                                 .scratch = t->scratch_own};
    takt_kernel_as_product_bf16(f->kernel)(&g);
}

void takt_narrow_image(const takt_step *s, const takt_task *t)
{
    const takt_narrow_conv *f = s->data;
    const takt_product_bf16_info *info = f->kernel->info;
    const size_t columns = f->image.cut.columns;
    size_t first, last;
    takt_panels_share(info->pack.gemm.panels, f->shape.cout, takt_remainder(t->index, columns),
                      columns, &first, &last);
    takt_image_rows rest = takt_image_share(&f->image, t->index);
    while (rest.rows > 0 && first < last) {
        const takt_image_rows of = takt_image_block(&f->image, rest);
        takt_image_fill(&f->image, takt_view_data(t, &s->in[f->x]), of, 0,
                        (char *)t->scratch_own + f->patches);
        multiply(s, t, of, first, last - first);
        rest.row += of.rows;
        rest.rows -= of.rows;
    }
}
