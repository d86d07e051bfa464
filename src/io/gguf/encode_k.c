/* encode_k.c - super-blocks of 256 weights: Q2_K, Q3_K, Q4_K, Q5_K and Q6_K.
 *
 * A super-block has a scale in f16, a second one for minimums in types that have them, integer
 * scales of its parts, and levels. Parts are fitted one by one, then their scales, and levels are
 * rounded again with the final scales. Importances, if given, weight the errors.
 */
#include <math.h>
#include <string.h>

#include "io/gguf/fit.h"
#include "io/gguf/gguf_write.h"
#include "ir/dtype.h"

enum { SUPER = 256, PARTS_MOST = 16 };

static float put_f16(uint8_t *to, float value)
{
    takt_dtype_put_f(TAKT_F16, to, 0, takt_dtype_round(TAKT_F16, (double)value));
    return (float)takt_dtype_get_f(TAKT_F16, to, 0);
}

static float mean_square(const float *x, int count)
{
    float sum = 0;
    for (int i = 0; i < count; i++)
        sum += x[i] * x[i];
    return sum / (float)count;
}

/* Weights of errors in a part: importance times a smoothed magnitude of x. */
static float weigh(const float *x, const float *importance, float square, int count, float *weight)
{
    float sum = 0;
    for (int i = 0; i < count; i++)
        weight[i] = importance[i] * sqrtf(square + x[i] * x[i]);
    for (int i = 0; i < count; i++)
        sum += weight[i];
    return sum;
}

/* Four 2-bit levels per byte: of elements l, l + 32, l + 64 and l + 96. */
static void put_pairs(const uint8_t *level, uint8_t *to)
{
    for (int j = 0; j < SUPER; j += 128)
        for (int l = 0; l < 32; l++)
            to[j / 4 + l] = (uint8_t)((level[j + l] & 3) | (level[j + l + 32] & 3) << 2 |
                                      (level[j + l + 64] & 3) << 4 | (level[j + l + 96] & 3) << 6);
}

/* ---- with minimums ---- */

/* The parts of a super-block: x = scale * level - least. */
typedef struct parts {
    int count, size, most; /* parts, elements of each, highest level */
    float scale[PARTS_MOST], least[PARTS_MOST], sum[PARTS_MOST];
    uint8_t scales[PARTS_MOST], leasts[PARTS_MOST]; /* as integers */
    uint8_t level[SUPER];
} parts;

static void weigh_plain(const parts *p, const float *x, float *weight)
{
    const float size = p->size == 32 ? sqrtf(mean_square(x, 32)) : 0;
    for (int i = 0; i < p->size; i++)
        weight[i] = size + fabsf(x[i]);
}

static void fit_parts(parts *p, const float *x, const float *importance)
{
    static const takt_fit_steps fine = {-0.9F, 0.05F, 36, false};
    static const takt_fit_steps coarse[] = {
        {-0.5F, 0.1F, 15, true}, {-1.0F, 0.1F, 20, false}, {-0.5F, 0.1F, 15, false}};
    const takt_fit_steps *plain = &coarse[p->most == 3 ? 0 : p->most == 15 ? 1 : 2];
    float sum = 0, weight[TAKT_FIT_MOST];
    for (int i = 0; i < SUPER; i++)
        sum += x[i] * x[i];
    const float square = p->most == 3 ? sum / SUPER : 2 * sum / SUPER;
    for (int j = 0; j < p->count; j++) {
        const int at = j * p->size;
        const takt_fit fit = {x + at, weight, p->size, p->most, p->level + at};
        if (importance != NULL)
            p->sum[j] = weigh(x + at, importance + at, square, p->size, weight);
        else
            weigh_plain(p, x + at, weight);
        p->scale[j] = takt_fit_from(&fit, importance != NULL ? &fine : plain, &p->least[j]);
    }
}

/* Converts non-negative numbers to integers up to `most`; returns their scale. */
static float whole_of(const float *x, int count, int most, const float *weight, uint8_t *to)
{
    const takt_fit fit = {x, weight, count, most, to};
    float greatest = 0;
    if (weight != NULL)
        return takt_fit_positive(&fit);
    for (int j = 0; j < count; j++)
        greatest = x[j] > greatest ? x[j] : greatest;
    const float by = greatest > 0 ? (float)most / greatest : 0;
    for (int j = 0; j < count; j++) {
        const int l = takt_fit_nearest(by * x[j]) & 255;
        to[j] = (uint8_t)(l > most ? most : l);
    }
    return greatest / (float)most;
}

static void fit_scales(parts *p, int most, bool is_weighted, uint8_t *d, uint8_t *least)
{
    const float *weight = is_weighted ? p->sum : NULL;
    const float by = put_f16(d, whole_of(p->scale, p->count, most, weight, p->scales));
    const float down = put_f16(least, whole_of(p->least, p->count, most, weight, p->leasts));
    for (int j = 0; j < p->count; j++) {
        p->scale[j] = by * (float)p->scales[j];
        p->least[j] = down * (float)p->leasts[j];
    }
}

static void round_parts(parts *p, const float *x)
{
    for (int i = 0; i < SUPER; i++) {
        const int j = i / p->size;
        if (p->scale[j] == 0)
            continue;
        const int l = takt_fit_nearest((x[i] + p->least[j]) / p->scale[j]);
        p->level[i] = (uint8_t)(l < 0 ? 0 : l > p->most ? p->most : l);
    }
}

/* 16 4-bit scales and minimums, 64 bytes of levels, both f16 at the end. */
static void q2_k(const float *x, const float *importance, uint8_t *to)
{
    parts p = {.count = 16, .size = 16, .most = 3};
    fit_parts(&p, x, importance);
    fit_scales(&p, 15, importance != NULL, to + 80, to + 82);
    round_parts(&p, x);
    for (int j = 0; j < 16; j++)
        to[j] = (uint8_t)(p.scales[j] | p.leasts[j] << 4);
    put_pairs(p.level, to + 16);
}

/* Eight 6-bit scales and eight 6-bit minimums in 12 bytes. */
static void put_sixes(const parts *p, uint8_t *to)
{
    for (int j = 0; j < 4; j++) {
        const uint8_t scale = p->scales[j + 4], least = p->leasts[j + 4];
        to[j] = (uint8_t)(p->scales[j] | (scale >> 4) << 6);
        to[j + 4] = (uint8_t)(p->leasts[j] | (least >> 4) << 6);
        to[j + 8] = (uint8_t)((scale & 15) | (least & 15) << 4);
    }
}

/* Both f16, scales, the fifth bits of Q5_K, and half bytes. */
static void q45_k(const float *x, const float *importance, bool has_fifth, uint8_t *to)
{
    parts p = {.count = 8, .size = 32, .most = has_fifth ? 31 : 15};
    fit_parts(&p, x, importance);
    fit_scales(&p, 63, importance != NULL, to, to + 2);
    round_parts(&p, x);
    put_sixes(&p, to + 4);
    uint8_t *fifth = to + 16, *low = has_fifth ? to + 48 : to + 16;
    if (has_fifth)
        memset(fifth, 0, 32);
    for (int n = 0; n < SUPER; n += 64)
        for (int l = 0; l < 32; l++) {
            const uint8_t a = p.level[n + l], b = p.level[n + l + 32];
            low[n / 2 + l] = (uint8_t)((a & 15) | (b & 15) << 4);
            if (has_fifth)
                fifth[l] = (uint8_t)(fifth[l] | (a >> 4 | (b >> 4) << 1) << (n / 32));
        }
}

/* ---- around zero ---- */

/* Scales of 16 parts, signed, as integers from -most to most - 1; returns their scale. */
static void round_around(const float *x, const float *scale, int most, uint8_t *level)
{
    for (int i = 0; i < SUPER; i++) {
        const float d = scale[i / 16];
        if (d == 0)
            continue;
        const int l = takt_fit_nearest(x[i] / d);
        level[i] = (uint8_t)((l < -most ? -most : l > most - 1 ? most - 1 : l) + most);
    }
}

static float extreme(const float *x, int count)
{
    float most = 0, found = 0;
    for (int i = 0; i < count; i++)
        if (fabsf(x[i]) > most) {
            most = fabsf(x[i]);
            found = x[i];
        }
    return found;
}

/* Levels of the scales, 32 higher, and the scale of those. */
static float scales_of_three(const float *scale, const float *weight, uint8_t *level)
{
    const takt_fit fit = {scale, weight, 16, 32, level};
    const float most = extreme(scale, 16);
    if (weight != NULL)
        return takt_fit_around(&fit);
    memset(level, 0, 16);
    if (most == 0)
        return 0;
    const float by = -32.0F / most;
    for (int j = 0; j < 16; j++) {
        const int l = takt_fit_nearest(by * scale[j]);
        level[j] = (uint8_t)((l < -32 ? -32 : l > 31 ? 31 : l) + 32);
    }
    return 1 / by;
}

/* The third bits, pairs, 16 scales of 6 bits in 12 bytes, the f16. */
static void q3_k(const float *x, const float *importance, uint8_t *to)
{
    float scale[16], sum[16], weight[16];
    uint8_t level[SUPER], scales[16];
    const float square = 2 * mean_square(x, SUPER);
    for (int j = 0; j < 16; j++) {
        const takt_fit fit = {x + 16 * j, importance != NULL ? weight : NULL, 16, 4,
                              level + 16 * j};
        if (importance != NULL)
            sum[j] = weigh(x + 16 * j, importance + 16 * j, square, 16, weight);
        scale[j] = importance != NULL ? takt_fit_around(&fit) : takt_fit_descend(&fit);
    }
    const float d =
        put_f16(to + 108, scales_of_three(scale, importance != NULL ? sum : NULL, scales));
    memset(to, 0, 32);
    memset(to + 96, 0, 12);
    for (int j = 0; j < 16; j++) {
        scale[j] = d * (float)((int)scales[j] - 32);
        to[96 + j % 8] = (uint8_t)(to[96 + j % 8] | (scales[j] & 15) << (j < 8 ? 0 : 4));
        to[104 + j % 4] = (uint8_t)(to[104 + j % 4] | (scales[j] >> 4) << (2 * (j / 4)));
    }
    round_around(x, scale, 4, level);
    for (int i = 0; i < SUPER; i++)
        to[i % 32] = (uint8_t)(to[i % 32] | (level[i] >> 2 & 1) << (i / 32));
    put_pairs(level, to + 32);
}

/* Half bytes, pairs of high bits, 16 scales of 8 bits, the f16. */
static void put_q6(const uint8_t *level, uint8_t *to)
{
    for (int j = 0; j < SUPER; j += 128)
        for (int l = 0; l < 32; l++) {
            const uint8_t *q = level + j + l;
            to[j / 2 + l] = (uint8_t)((q[0] & 15) | (q[64] & 15) << 4);
            to[j / 2 + l + 32] = (uint8_t)((q[32] & 15) | (q[96] & 15) << 4);
            to[128 + j / 4 + l] =
                (uint8_t)(q[0] >> 4 | q[32] >> 4 << 2 | q[64] >> 4 << 4 | q[96] >> 4 << 6);
        }
}

static void q6_k(const float *x, const float *importance, uint8_t *to)
{
    float scale[16];
    uint8_t level[SUPER];
    for (int j = 0; j < 16; j++) {
        const float *weight = importance != NULL ? importance + 16 * j : NULL;
        const takt_fit fit = {x + 16 * j, weight, 16, 32, level + 16 * j};
        scale[j] = takt_fit_around(&fit);
    }
    const float most = extreme(scale, 16);
    if (fabsf(most) < 1e-15F) {
        memset(to, 0, 210);
        return;
    }
    const float by = -128.0F / most, d = put_f16(to + 208, 1 / by);
    for (int j = 0; j < 16; j++) {
        const int l = takt_fit_nearest(by * scale[j]);
        const int8_t whole = (int8_t)(l > 127 ? 127 : l);
        to[192 + j] = (uint8_t)whole;
        scale[j] = d * (float)whole;
    }
    round_around(x, scale, 32, level);
    put_q6(level, to);
}

void takt_gguf_encode_k(uint32_t number, const float *x, const float *importance, uint8_t *to)
{
    switch (number) {
    case 10: q2_k(x, importance, to); break;
    case 11: q3_k(x, importance, to); break;
    case 12: q45_k(x, importance, false, to); break;
    case 13: q45_k(x, importance, true, to); break;
    default: q6_k(x, importance, to); break;
    }
}
