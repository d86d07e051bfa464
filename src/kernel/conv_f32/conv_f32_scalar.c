/* conv_f32_scalar.c - lines of a convolution, one output at a time. */
#include "kernel/conv_f32/end.h"

static void one(const takt_conv_f32 *c, const float *x, size_t column, float *y)
{
    const float *w =
        c->w + column / TAKT_CONV_PANEL * TAKT_CONV_PANEL * c->k + column % TAKT_CONV_PANEL;
    vf acc = vf_zero();
    for (size_t i = 0; i < c->k; i++, w += TAKT_CONV_PANEL) {
        const size_t from = c->pick != NULL ? (size_t)c->pick[i * TAKT_CONV_PANEL + column] : 0;
        acc = vf_fma(vf_load(x + c->at[i] + from), vf_load(w), acc);
    }
    if (c->adds)
        acc = vf_add(vf_load(y + column), vf_add(acc, zero_of(c)));
    finish(c, bias_of(c, vf_set1(c->bias != NULL ? c->bias[column] : 0)), &acc, 1);
    vf_store(y + column, acc);
}

static void run(const takt_conv_f32 *c)
{
    for (size_t l = 0; l < c->lines; l++)
        for (size_t q = 0; q < c->columns; q++)
            for (size_t o = 0; o < c->channels; o++)
                one(c, c->x + l * c->line + q * c->step, o, c->y + (l * c->columns + q) * c->ld);
}

static const takt_conv_f32_info info = {.channels = TAKT_CONV_PANEL, .planes = true};

TAKT_KERNELS(conv_f32, TAKT_KERNEL(conv_f32, SIMD_NAME, SIMD_RANK, run, &info));
