/* depthwise_bf16_scalar.c - what a depthwise convolution of bf16 is, one sum at a time. */
#include "kernel/depthwise_bf16/depthwise_bf16.h"

#include <math.h>

#include "kernel/gemm_bf16/gemm_bf16.h"
#include "kernel/product_bf16/round.h"

static void one(const takt_depthwise_bf16 *d, size_t line, size_t q)
{
    uint16_t *y = d->y + (line * d->columns + q) * d->channels;
    for (size_t c = 0; c < d->channels; c++) {
        float sum = d->bias != NULL ? d->bias[c] : 0;
        for (size_t i = 0; i < d->rows; i++)
            for (size_t j = 0; j < d->taps; j++)
                sum = fmaf(widen(takt_depthwise_bf16_at(d, line * d->x_step + i, q, j)[c]),
                           widen(d->w[(i * d->taps + j) * d->channels + c]), sum);
        y[c] = takt_bf16_round(clip(sum, d->lo, d->hi));
    }
}

static void run(const takt_depthwise_bf16 *d)
{
    for (size_t line = 0; line < d->lines; line++)
        for (size_t q = 0; q < d->columns; q++)
            one(d, line, q);
}

TAKT_KERNELS(depthwise_bf16, TAKT_KERNEL(depthwise_bf16, "scalar", 0, run, NULL));
