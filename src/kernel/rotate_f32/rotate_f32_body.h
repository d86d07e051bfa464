/* rotate_f32_body.h - every variant of rotate_f32 is this, compiled for its ISA.
 *
 * Loops run over neighbouring pairs without a dependence between them, so that compilers make
 * vectors of them, neighbours by shuffles.
 */
#include <string.h>

#include "kernel/rotate_f32/rotate_f32.h"
#include "kernel/simd/simd.h"

static void apart(const takt_rotate_f32 *g, const float *restrict x, float *restrict y)
{
    const float *restrict c = g->cos, *restrict s = g->sin;
    const size_t half = g->half;
    size_t i = 0;
    for (; i + VF <= half; i += VF) {
        const vf a = vf_load(x + i), b = vf_load(x + half + i);
        const vf cosine = vf_load(c + i), sine = vf_load(s + i);
        vf_store(y + i, vf_sub(vf_mul(a, cosine), vf_mul(b, sine)));
        vf_store(y + half + i, vf_add(vf_mul(b, cosine), vf_mul(a, sine)));
    }
    for (; i < half; i++) {
        y[i] = x[i] * c[i] - x[half + i] * s[i];
        y[half + i] = x[half + i] * c[i] + x[i] * s[i];
    }
}

static void neighbours(const takt_rotate_f32 *g, const float *restrict x, float *restrict y)
{
    const float *restrict c = g->cos, *restrict s = g->sin;
    for (size_t i = 0; i < g->half; i++) {
        const float a = x[2 * i], b = x[2 * i + 1];
        y[2 * i] = a * c[i] - b * s[i];
        y[2 * i + 1] = b * c[i] + a * s[i];
    }
}

static void run(const takt_rotate_f32 *g)
{
    for (size_t r = 0; r < g->rows; r++) {
        const float *x = g->x + r * g->x_row;
        float *y = g->y + r * g->n;
        if (g->neighbours)
            neighbours(g, x, y);
        else
            apart(g, x, y);
        if (2 * g->half < g->n)
            memcpy(y + 2 * g->half, x + 2 * g->half, (g->n - 2 * g->half) * sizeof *y);
    }
}

TAKT_KERNELS(rotate_f32, TAKT_KERNEL(rotate_f32, SIMD_NAME, SIMD_RANK, run, NULL));
