/* pool_half.c - maxima of bf16, channels last: a line of outputs at a time.
 *
 * Elements are compared as integers that have the order of their values.
 */
#include <string.h>

#include "backend/cpu/conv/pool.h"

enum { NAN_KEY = 0x7fff, INFINITE = 0x7f80 };

/* -0 comes just before +0, and every NaN after all other values. It is its own inverse, except for
 * NaN. */
static inline int16_t key_of(uint16_t bits)
{
    const int16_t x = (int16_t)bits;
    const int16_t size = x & 0x7fff;
    const int16_t key = (int16_t)(x ^ ((x >> 15) & 0x7fff));
    return size > INFINITE ? (int16_t)NAN_KEY : key;
}

static void first_keys(const uint16_t *restrict x, size_t n, int16_t *restrict y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = key_of(x[i]);
}

static void more_keys(const uint16_t *restrict x, size_t n, int16_t *restrict y)
{
    for (size_t i = 0; i < n; i++) {
        const int16_t key = key_of(x[i]);
        y[i] = key > y[i] ? key : y[i];
    }
}

static void larger(const int16_t *restrict x, size_t n, int16_t *restrict y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > y[i] ? x[i] : y[i];
}

/* The largest key of each column in the rows of x under one line of outputs; false: all is padding.
 */
static bool line_of(const takt_pool_shape *c, const uint16_t *sample, const size_t at[2],
                    int16_t *line)
{
    const size_t count = c->in[2] * c->channels;
    bool any = false;
    for (size_t k = 0; k < c->kernel[0] * c->kernel[1]; k++) {
        const size_t i = at[0] * c->stride[0] + k / c->kernel[1] * c->dilation[0] - c->before[0];
        const size_t j = at[1] * c->stride[1] + k % c->kernel[1] * c->dilation[1] - c->before[1];
        if (i >= c->in[0] || j >= c->in[1])
            continue;
        const uint16_t *row = sample + (i * c->in[1] + j) * count;
        if (any)
            more_keys(row, count, line);
        else
            first_keys(row, count, line);
        any = true;
    }
    return any;
}

/* Output `column`, from the columns of its window; false: all of them are padding. */
static bool window_of(const takt_pool_shape *c, const int16_t *line, size_t column, int16_t *best)
{
    bool any = false;
    for (size_t k = 0; k < c->kernel[2]; k++) {
        const size_t at = column * c->stride[2] + k * c->dilation[2] - c->before[2];
        if (at >= c->in[2])
            continue;
        if (any)
            larger(line + at * c->channels, c->channels, best);
        else
            memcpy(best, line + at * c->channels, c->channels * sizeof *best);
        any = true;
    }
    return any;
}

static void put(const int16_t *restrict best, size_t n, bool any, uint16_t *restrict y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = any ? (uint16_t)(best[i] ^ ((best[i] >> 15) & 0x7fff)) : 0x8000 | INFINITE;
}

size_t takt_pool_half_scratch(const takt_pool_shape *c)
{
    return takt_cpu_aligned((c->in[2] + 1) * c->channels * sizeof(int16_t));
}

void takt_pool_half(const takt_pool_shape *c, const uint16_t *x, uint16_t *y, size_t row,
                    int16_t *line)
{
    const size_t per_sample = c->out[0] * c->out[1], within = row % per_sample;
    const size_t at[2] = {within / c->out[1], within % c->out[1]};
    int16_t *best = line + c->in[2] * c->channels;
    const bool any = line_of(c, x + row / per_sample * c->x_sample, at, line);
    y += row * c->out[2] * c->channels;
    for (size_t i = 0; i < c->out[2]; i++, y += c->channels)
        put(best, c->channels, any && window_of(c, line, i, best), y);
}
