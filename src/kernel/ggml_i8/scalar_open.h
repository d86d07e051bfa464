/* scalar_open.h - blocks of formats without panels in numbers. A part of ggml_i8_scalar.c.
 *
 * Levels are whole: those of iq2 and iq1 in eighths of what ggml multiplies with d, of iq3_xxs in
 * quarters.
 */
#include "kernel/ggml_f32/grids.h"

static uint32_t entry_of(const uint64_t *grid, uint32_t place)
{
    return (uint32_t)(grid[place / 4] >> place % 4 * 16) & 0xffff;
}

static uint32_t u16_at(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t u32_at(const uint8_t *p)
{
    return u16_at(p) | u16_at(p + 2) << 16;
}

/* Sign `i` of eight, of which seven are stored: the number of minus signs is even. */
static bool even_sign(uint32_t seven, int i)
{
    bool odd = false;
    for (int k = 0; k < 7; k++)
        odd ^= (seven >> k & 1) != 0;
    return i < 7 ? (seven >> i & 1) != 0 : odd;
}

static int iq2_level(uint32_t entry, int i, bool minus)
{
    static const int levels[4] = {8, 25, 43, 43};
    const int level = levels[entry >> 2 * i & 3];
    return minus ? -level : level;
}

static void iq2_xxs(takt_ggml_format format, const uint8_t *b, numbers *o)
{
    (void)format;
    o->d = f16_at(b) * 0.125F;
    for (int k = 0; k < 256; k++) {
        const uint8_t *p = b + 2 + k / 32 * 8;
        const uint32_t word = u32_at(p + 4);
        o->scale[k / 32] = (int)(word >> 28) * 2 + 1;
        o->level[k] = iq2_level(entry_of(takt_ggml_iq2_xxs, p[k % 32 / 8]), k % 8,
                                even_sign(word >> k % 32 / 8 * 7, k % 8));
    }
}

static void iq2_xs(takt_ggml_format format, const uint8_t *b, numbers *o)
{
    (void)format;
    o->d = f16_at(b) * 0.125F;
    for (int k = 0; k < 256; k++) {
        const uint32_t word = u16_at(b + 2 + k / 8 * 2);
        o->scale[k / 16] = (b[66 + k / 32] >> k / 16 % 2 * 4 & 15) * 2 + 1;
        o->level[k] =
            iq2_level(entry_of(takt_ggml_iq2_xs, word & 511), k % 8, even_sign(word >> 9, k % 8));
    }
}

static void iq2_s(takt_ggml_format format, const uint8_t *b, numbers *o)
{
    (void)format;
    o->d = f16_at(b) * 0.125F;
    for (int k = 0; k < 256; k++) {
        const uint32_t place = b[2 + k / 8] | (b[66 + k / 32] >> k / 8 % 4 * 2 & 3U) << 8;
        o->scale[k / 16] = (b[74 + k / 32] >> k / 16 % 2 * 4 & 15) * 2 + 1;
        o->level[k] =
            iq2_level(entry_of(takt_ggml_iq2_s, place), k % 8, (b[34 + k / 8] >> k % 8 & 1) != 0);
    }
}

static void iq3_xxs(takt_ggml_format format, const uint8_t *b, numbers *o)
{
    static const int levels[8] = {4, 12, 20, 28, 36, 44, 52, 62};
    (void)format;
    o->d = f16_at(b) * 0.25F;
    for (int k = 0; k < 256; k++) {
        const uint32_t word = u32_at(b + 66 + k / 32 * 4);
        const int level = levels[entry_of(takt_ggml_iq3_xxs, b[2 + k / 4]) >> k % 4 * 4 & 7];
        o->scale[k / 32] = (int)(word >> 28) * 2 + 1;
        o->level[k] = even_sign(word >> k % 32 / 8 * 7, k % 8) ? -level : level;
    }
}

static void iq3_s(takt_ggml_format format, const uint8_t *b, numbers *o)
{
    (void)format;
    o->d = f16_at(b);
    for (int k = 0; k < 256; k++) {
        const uint32_t place = b[2 + k / 4] | (b[66 + k / 32] >> k / 4 % 8 & 1U) << 8;
        const int level = (int)(entry_of(takt_ggml_iq3_s, place) >> k % 4 * 4 & 7) * 2 + 1;
        o->scale[k / 32] = (b[106 + k / 64] >> k / 32 % 2 * 4 & 15) * 2 + 1;
        o->level[k] = (b[74 + k / 8] >> k % 8 & 1) != 0 ? -level : level;
    }
}

/* 8 * (-1, 0 or 1), and one more or less. */
static int iq1_level(uint32_t place, int i, bool is_down)
{
    return (int)(entry_of(takt_ggml_iq1, place) >> 2 * i & 3) * 8 - (is_down ? 9 : 7);
}

static void iq1_s(takt_ggml_format format, const uint8_t *b, numbers *o)
{
    (void)format;
    o->d = f16_at(b) * 0.125F;
    for (int k = 0; k < 256; k++) {
        const uint32_t word = u16_at(b + 34 + k / 32 * 2);
        o->scale[k / 32] = (int)(word >> 12 & 7) * 2 + 1;
        o->level[k] =
            iq1_level(b[2 + k / 8] | (word >> k / 8 % 4 * 3 & 7) << 8, k % 8, (word & 0x8000) != 0);
    }
}

static void iq1_m(takt_ggml_format format, const uint8_t *b, numbers *o)
{
    uint32_t bits = 0;
    (void)format;
    for (int i = 0; i < 4; i++)
        bits |= (uint32_t)(b[49 + 2 * i] >> 4) << 4 * i;
    o->d = half_from_f16((uint16_t)bits) * 0.125F;
    for (int k = 0; k < 256; k++) {
        const uint32_t four = b[32 + k / 16] >> k / 8 % 2 * 4 & 15U;
        o->scale[k / 16] = (int)(u16_at(b + 48 + k / 64 * 2) >> k / 16 % 4 * 3 & 7) * 2 + 1;
        o->level[k] = iq1_level(b[k / 8] | (four & 7) << 8, k % 8, (four & 8) != 0);
    }
}

/* ---- formats whose parts have no scales ---- */

static void all_ones(numbers *o)
{
    for (int part = 0; part < o->size / o->span; part++)
        o->scale[part] = 1;
}

static void tq1_0(takt_ggml_format format, const uint8_t *b, numbers *o)
{
    static const unsigned power[5] = {1, 3, 9, 27, 81};
    (void)format;
    o->d = f16_at(b + 52);
    all_ones(o);
    for (int k = 0; k < 256; k++) {
        const int first = k < 160 ? 0 : k < 240 ? 160 : 240, run = k < 160 ? 32 : k < 240 ? 16 : 4;
        const uint8_t byte = b[(k < 160 ? 0 : k < 240 ? 32 : 48) + (k - first) % run];
        o->level[k] = (int)((byte * power[(k - first) / run] & 255) * 3 >> 8) - 1;
    }
}

static void tq2_0(takt_ggml_format format, const uint8_t *b, numbers *o)
{
    (void)format;
    o->d = f16_at(b + 64);
    all_ones(o);
    for (int k = 0; k < 256; k++)
        o->level[k] = (b[k / 128 * 32 + k % 32] >> k / 32 % 4 * 2 & 3) - 1;
}

static void q1_0(takt_ggml_format format, const uint8_t *b, numbers *o)
{
    (void)format;
    o->d = f16_at(b);
    all_ones(o);
    for (int k = 0; k < 128; k++)
        o->level[k] = (b[2 + k / 8] >> k % 8 & 1) * 2 - 1;
}

static void q2_0(takt_ggml_format format, const uint8_t *b, numbers *o)
{
    (void)format;
    o->d = f16_at(b);
    all_ones(o);
    for (int k = 0; k < 64; k++)
        o->level[k] = (b[2 + k / 4] >> k % 4 * 2 & 3) - 1;
}

/* ---- nvfp4 ---- */

/* Half of a number of f8e4m3 without a sign; 127, which would be NaN, is 0. */
static float half_e4m3(uint8_t x)
{
    const uint32_t exponent = x >> 3 & 15U, rest = x & 7U;
    if (x == 127)
        return 0;
    return exponent == 0 ? (float)rest * 0x1p-10F : half_float((exponent + 119) << 23 | rest << 20);
}

/* acc[part] += (scale[part] * dx) * sum of the part's products. */
static void add_nvfp4(const uint8_t *b, const int8_t *q, float dx, float acc[4])
{
    static const int e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    for (int part = 0; part < 4; part++) {
        int32_t dot = 0;
        for (int k = 0; k < 16; k++)
            dot += e2m1[b[4 + part * 8 + k % 8] >> k / 8 * 4 & 15] * q[part * 16 + k];
        acc[part] = fmaf(half_e4m3(b[part]) * dx, (float)dot, acc[part]);
    }
}

static void run_nvfp4(const takt_ggml_i8 *g, const rounded_rows *a)
{
    const size_t bytes = takt_ggml_formats[TAKT_GGML_NVFP4].bytes;
    for (size_t column = 0; column < g->n; column++)
        for (size_t row = 0; row < g->m; row++) {
            const uint8_t *b = (const uint8_t *)g->panels + column * g->blocks * bytes;
            float acc[4] = {0};
            for (size_t i = 0; i < g->blocks; i++)
                add_nvfp4(b + i * bytes, a->q + row * a->k + i * 64, a->dx[row * a->blocks + i],
                          acc);
            g->c[row * g->ldc + column] = (acc[0] + acc[1]) + (acc[2] + acc[3]);
        }
}
