/* encode_weighted.c - blocks of 32 weights with errors weighted by importance, and IQ4_NL. */
#include <math.h>
#include <string.h>

#include "io/gguf/fit.h"
#include "io/gguf/gguf_write.h"
#include "ir/dtype.h"

enum { BLOCK = 32 };

static uint8_t *put_f16(uint8_t *to, float value)
{
    takt_dtype_put_f(TAKT_F16, to, 0, takt_dtype_round(TAKT_F16, (double)value));
    return to + 2;
}

static void put_halves(const uint8_t *level, uint8_t *to)
{
    for (size_t i = 0; i < BLOCK / 2; i++)
        to[i] = (uint8_t)((level[i] & 15) | (level[i + BLOCK / 2] & 15) << 4);
}

static uint8_t *put_fifths(const uint8_t *level, uint8_t *to)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < BLOCK; i++)
        bits |= (uint32_t)(level[i] >> 4 & 1) << i;
    for (size_t i = 0; i < 4; i++)
        to[i] = (uint8_t)(bits >> (8 * i));
    return to + 4;
}

static float sum_of_squares(const float *x, size_t count)
{
    float sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += x[i] * x[i];
    return sum;
}

static void weigh(const float *x, const float *importance, float square, float *weight)
{
    for (size_t i = 0; i < BLOCK; i++)
        weight[i] = importance[i] * sqrtf(square + x[i] * x[i]);
}

/* ---- Q4_0, Q4_1, Q5_0, Q5_1 ---- */

static void block(uint32_t number, const float *x, const float *weight, uint8_t *to)
{
    static const takt_fit_steps fine = {-0.9F, 0.05F, 36, false};
    const bool has_least = number == 3 || number == 7, has_fifth = number >= 6;
    uint8_t level[BLOCK];
    float least;
    const int most = has_least ? (has_fifth ? 31 : 15) : (has_fifth ? 16 : 8);
    const takt_fit fit = {x, weight, BLOCK, most, level};
    if (has_least) {
        to = put_f16(to, takt_fit_from(&fit, &fine, &least));
        to = put_f16(to, -least);
    } else {
        to = put_f16(to, takt_fit_around(&fit));
    }
    if (has_fifth)
        to = put_fifths(level, to);
    put_halves(level, to);
}

void takt_gguf_encode_weighted(const takt_gguf_type *type, const float *row, size_t count,
                               const float *importance, uint8_t *to)
{
    const float square = sum_of_squares(row, count) / (float)count;
    float weight[BLOCK];
    for (size_t i = 0; i < count / BLOCK; i++) {
        weigh(row + i * BLOCK, importance + i * BLOCK, square, weight);
        block(type->number, row + i * BLOCK, weight, to + i * type->bytes);
    }
}

/* ---- IQ4_NL ---- */

/* Levels are not evenly spaced. */
static const int8_t values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                  1,    13,   25,  38,  53,  69,  89,  113};

/* The nearest level; on a tie the upper one. */
static uint8_t nearest(float x)
{
    uint8_t upper = 1;
    if (!(x > (float)values[0])) /* also NaN */
        return 0;
    if (x >= (float)values[15])
        return 15;
    while (!(x < (float)values[upper]))
        upper++;
    return x - (float)values[upper - 1] < (float)values[upper] - x ? (uint8_t)(upper - 1) : upper;
}

typedef struct sums {
    float by_x, squares;
} sums;

static sums sums_at(const float *x, const float *weight, float inverse)
{
    sums s = {0, 0};
    for (size_t i = 0; i < BLOCK; i++) {
        const float q = (float)values[nearest(inverse * x[i])];
        s.by_x += weight[i] * q * x[i];
        s.squares += weight[i] * q * q;
    }
    return s;
}

/* Sixteen scales are tried. */
static float scale_of(const float *x, const float *weight, float most)
{
    sums s = sums_at(x, weight, 1 / (-most / (float)values[0]));
    float d = s.squares > 0 ? s.by_x / s.squares : 0, best = d * s.by_x;
    for (int step = -7; step <= 7; step++) {
        s = sums_at(x, weight, (float)(step + values[0]) / most);
        if (s.squares > 0 && s.by_x * s.by_x > best * s.squares) {
            d = s.by_x / s.squares;
            best = d * s.by_x;
        }
    }
    return d;
}

void takt_gguf_encode_nl(const float *x, const float *importance, uint8_t *to)
{
    const float square = sum_of_squares(x, BLOCK) * (2.0F / BLOCK);
    float weight[BLOCK], most = 0, d = 0;
    uint8_t level[BLOCK] = {0};
    for (size_t i = 0; i < BLOCK; i++) {
        most = fabsf(x[i]) > fabsf(most) ? x[i] : most;
        weight[i] = x[i] * x[i];
    }
    if (importance != NULL)
        weigh(x, importance, square, weight);
    if (fabsf(most) >= 1e-15F)
        d = scale_of(x, weight, most);
    const float inverse = d != 0 ? 1 / d : 0;
    for (size_t i = 0; i < BLOCK; i++)
        level[i] = nearest(inverse * x[i]);
    put_f16(to, d);
    put_halves(level, to + 2);
}
