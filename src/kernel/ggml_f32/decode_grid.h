/* decode_grid.h - floats of super-blocks whose weights are places in a grid: iq1, iq2 and iq3.
 *
 * Scales are odd multiples of d, or of an eighth of it, of few bits: every product is exact.
 */
#ifndef TAKT_KERNEL_GGML_F32_DECODE_GRID_H
#define TAKT_KERNEL_GGML_F32_DECODE_GRID_H

#include <stdbool.h>
#include <string.h>

#include "kernel/ggml_f32/grids.h"
#include "kernel/simd/half.h"

static uint32_t grid_entry(const uint64_t *grid, uint32_t place)
{
    return (uint32_t)(grid[place / 4] >> place % 4 * 16) & 0xffff;
}

static uint32_t u16_of(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t u32_of(const uint8_t *p)
{
    return u16_of(p) | u16_of(p + 2) << 16;
}

static float half_of(const uint8_t *p)
{
    return half_from_f16((uint16_t)u16_of(p));
}

/* Four neighbours. */
typedef uint32_t grid_u32 __attribute__((vector_size(16)));
typedef int32_t grid_i32 __attribute__((vector_size(16)));
typedef float grid_f32 __attribute__((vector_size(16)));

static grid_u32 four_times(uint32_t x)
{
    return (grid_u32){x, x, x, x};
}

static grid_f32 floats_of(grid_u32 x)
{
    return __builtin_convertvector((grid_i32)x, grid_f32);
}

/* Seven bits of signs, and an eighth that makes their number even. */
static uint32_t even_signs(uint32_t seven)
{
    const uint32_t signs = seven & 127;
    uint32_t odd = signs ^ signs >> 4;
    odd ^= odd >> 2;
    odd ^= odd >> 1;
    return signs | (odd & 1) << 7;
}

/* ---- iq2: eight weights an entry ---- */

static void eight(uint32_t entry, float scale, uint32_t signs, float *to)
{
    static const float levels[4] = {8, 25, 43, 0};
    for (int i = 0; i < 8; i++) {
        const float sign = (signs >> i & 1) != 0 ? -1.0F : 1.0F;
        to[i] = scale * levels[entry >> 2 * i & 3] * sign;
    }
}

/* 0.5 + level, an eighth of an odd number, in quarters of d. */
static float odd_eighths(float d, uint32_t level)
{
    return d * (0.5F + (float)level) * 0.25F;
}

static void iq2_xxs(const uint8_t *b, float *to)
{
    const float d = half_of(b);
    for (int part = 0; part < 8; part++) {
        const uint8_t *p = b + 2 + 8 * part;
        const uint32_t word = u32_of(p + 4);
        const float scale = odd_eighths(d, word >> 28);
        for (int i = 0; i < 4; i++)
            eight(grid_entry(takt_ggml_iq2_xxs, p[i]), scale, even_signs(word >> 7 * i),
                  to + 32 * part + 8 * i);
    }
}

static void iq2_xs(const uint8_t *b, float *to)
{
    const float d = half_of(b);
    for (int i = 0; i < 32; i++) {
        const uint32_t word = u16_of(b + 2 + 2 * i);
        const float scale = odd_eighths(d, b[66 + i / 4] >> i / 2 % 2 * 4 & 15U);
        eight(grid_entry(takt_ggml_iq2_xs, word & 511), scale, even_signs(word >> 9), to + 8 * i);
    }
}

static void iq2_s(const uint8_t *b, float *to)
{
    const uint8_t *places = b + 2, *signs = b + 34, *high = b + 66, *scales = b + 74;
    const float d = half_of(b);
    for (int i = 0; i < 32; i++) {
        const uint32_t place = places[i] | (high[i / 4] >> i % 4 * 2 & 3U) << 8;
        const float scale = odd_eighths(d, scales[i / 4] >> i / 2 % 2 * 4 & 15U);
        eight(grid_entry(takt_ggml_iq2_s, place), scale, signs[i], to + 8 * i);
    }
}

/* ---- iq3: four weights an entry ---- */

static void iq3_xxs(const uint8_t *b, float *to)
{
    static const float levels[8] = {4, 12, 20, 28, 36, 44, 52, 62};
    const float d = half_of(b);
    for (int i = 0; i < 64; i++) {
        const uint32_t entry = grid_entry(takt_ggml_iq3_xxs, b[2 + i]);
        const uint32_t word = u32_of(b + 66 + i / 8 * 4);
        const uint32_t signs = even_signs(word >> i % 8 / 2 * 7) >> i % 2 * 4;
        const float scale = d * (0.5F + (float)(word >> 28)) * 0.5F;
        for (int k = 0; k < 4; k++) {
            const float sign = (signs >> k & 1) != 0 ? -1.0F : 1.0F;
            to[4 * i + k] = scale * levels[entry >> 4 * k & 7] * sign;
        }
    }
}

static void iq3_s(const uint8_t *b, float *to)
{
    const uint8_t *places = b + 2, *high = b + 66, *signs = b + 74, *scales = b + 106;
    const grid_u32 where = {0, 4, 8, 12}, to_top = {31, 30, 29, 28};
    const float d = half_of(b);
    for (int i = 0; i < 64; i++) {
        const uint32_t place = places[i] | (high[i / 8] >> i % 8 & 1U) << 8;
        const uint32_t level = scales[i / 16] >> i / 8 % 2 * 4 & 15U;
        const grid_u32 entry = four_times(grid_entry(takt_ggml_iq3_s, place)) >> where & 7;
        const grid_u32 minus = four_times(signs[i / 2] >> i % 2 * 4) << to_top & 0x80000000U;
        const grid_f32 size = floats_of(1 + 2 * entry) * (d * (float)(1 + 2 * level));
        const grid_u32 bits = (grid_u32)size ^ minus;
        memcpy(to + 4 * i, &bits, sizeof bits);
    }
}

/* ---- iq1: eight weights of -1, 0 or 1, all moved by an eighth ---- */

static void moved(uint32_t place, float scale, bool is_down, float *to)
{
    const uint32_t entry = grid_entry(takt_ggml_iq1, place);
    const grid_u32 where = {0, 2, 4, 6};
    const float by = is_down ? -1.125F : -0.875F;
    for (int i = 0; i < 8; i += 4) {
        const grid_f32 x = scale * (floats_of(four_times(entry >> 2 * i) >> where & 3) + by);
        memcpy(to + i, &x, sizeof x);
    }
}

static void iq1_s(const uint8_t *b, float *to)
{
    const float d = half_of(b);
    for (int i = 0; i < 32; i++) {
        const uint32_t word = u16_of(b + 34 + i / 4 * 2);
        const uint32_t place = b[2 + i] | (word >> i % 4 * 3 & 7) << 8;
        moved(place, d * (float)(2 * (word >> 12 & 7) + 1), (word & 0x8000) != 0, to + 8 * i);
    }
}

/* d is in the highest four bits of four words, of which the rest are scales. */
static void iq1_m(const uint8_t *b, float *to)
{
    const uint8_t *high = b + 32, *scales = b + 48;
    uint32_t bits = 0;
    for (int i = 0; i < 4; i++)
        bits |= (uint32_t)(scales[2 * i + 1] >> 4) << 4 * i;
    const float d = half_from_f16((uint16_t)bits);
    for (int i = 0; i < 32; i++) {
        const uint32_t four = high[i / 2] >> i % 2 * 4 & 15U;
        const uint32_t level = u16_of(scales + i / 8 * 2) >> i / 2 % 4 * 3 & 7;
        moved(b[i] | (four & 7) << 8, d * (float)(2 * level + 1), (four & 8) != 0, to + 8 * i);
    }
}

#endif
