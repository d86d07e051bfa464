/* rounded.h - rows rounded to bytes: where their bytes, scales and sums lie.
 *
 * Every variant has the same: bytes [m][k], then dx [m][blocks], then sums [m][k / span] of the
 * bytes of each part of a block that has its own scale.
 */
#ifndef TAKT_KERNEL_GGML_I8_ROUNDED_H
#define TAKT_KERNEL_GGML_I8_ROUNDED_H

#include "kernel/ggml_i8/ggml_i8.h"

typedef struct rounded_rows {
    int8_t *q;
    float *dx;
    int32_t *sums;
    size_t k, blocks, parts; /* of a row */
} rounded_rows;

static inline size_t rounded_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Weights that share a scale. */
static inline size_t rounded_span(takt_ggml_format format)
{
    const bool is_short =
        format == TAKT_GGML_Q2_K || format == TAKT_GGML_Q3_K || format == TAKT_GGML_Q6_K;
    return is_short ? 16 : 32;
}

static inline rounded_rows rounded_at(takt_ggml_format format, size_t m, size_t blocks, void *at)
{
    const size_t k = blocks * takt_ggml_formats[format].weights;
    char *dx = (char *)at + rounded_up(m * k), *sums = dx + rounded_up(m * blocks * 4);
    return (rounded_rows){at,     (float *)(void *)dx,     (int32_t *)(void *)sums, k,
                          blocks, k / rounded_span(format)};
}

static size_t rounded_bytes(takt_ggml_format format, size_t m, size_t blocks)
{
    const size_t k = blocks * takt_ggml_formats[format].weights;
    return rounded_up(m * k) + rounded_up(m * blocks * 4) +
           rounded_up(m * (k / rounded_span(format)) * 4);
}

/* The sums of a row's bytes. */
static inline void rounded_sums(const rounded_rows *to, size_t row)
{
    const size_t span = to->parts > 0 ? to->k / to->parts : 0;
    const int8_t *q = to->q + row * to->k;
    for (size_t i = 0; i < to->parts; i++) {
        int32_t sum = 0;
        for (size_t k = 0; k < span; k++)
            sum += q[span * i + k];
        to->sums[row * to->parts + i] = sum;
    }
}

#endif
