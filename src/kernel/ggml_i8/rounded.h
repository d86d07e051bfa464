/* rounded.h - rows rounded to bytes: where their bytes, scales and sums lie.
 *
 * Every variant has the same: bytes [m][k], then dx [m][blocks], then sums [m][k / 16] of sixteen
 * bytes each.
 */
#ifndef TAKT_KERNEL_GGML_I8_ROUNDED_H
#define TAKT_KERNEL_GGML_I8_ROUNDED_H

#include "kernel/ggml_i8/ggml_i8.h"

typedef struct rounded_rows {
    int8_t *q;
    float *dx;
    int32_t *sums;
    size_t k, blocks;
} rounded_rows;

static inline size_t rounded_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static inline rounded_rows rounded_at(takt_ggml_format format, size_t m, size_t blocks, void *at)
{
    const size_t k = blocks * takt_ggml_formats[format].weights;
    char *dx = (char *)at + rounded_up(m * k), *sums = dx + rounded_up(m * blocks * 4);
    return (rounded_rows){at, (float *)(void *)dx, (int32_t *)(void *)sums, k, blocks};
}

static size_t rounded_bytes(takt_ggml_format format, size_t m, size_t blocks)
{
    const size_t k = blocks * takt_ggml_formats[format].weights;
    return rounded_up(m * k) + rounded_up(m * blocks * 4) + rounded_up(m * k / 16 * 4);
}

#endif
