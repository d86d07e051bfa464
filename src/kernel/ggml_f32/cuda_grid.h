/* cuda_grid.h - weight `i` of a block of iq1, iq2 and iq3, for device code: decode_grid.h by
 * weights.
 */
#ifndef TAKT_KERNEL_GGML_F32_CUDA_GRID_H
#define TAKT_KERNEL_GGML_F32_CUDA_GRID_H

#ifdef __CUDACC__
#define TAKT_GGML_GRID(name, words) static __device__ const uint64_t name[words]
#else
#define TAKT_GGML_GRID(name, words) static const uint64_t name[words]
#endif
#include "kernel/ggml_f32/grids.def"

DEVICE uint32_t u16_at(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

DEVICE uint32_t u32_at(const uint8_t *p)
{
    return u16_at(p) | u16_at(p + 2) << 16;
}

DEVICE float f16_at(const uint8_t *p)
{
    return half_from_f16((uint16_t)u16_at(p));
}

DEVICE uint32_t grid_entry(const uint64_t *grid, uint32_t place)
{
    return (uint32_t)(grid[place / 4] >> place % 4 * 16) & 0xffffU;
}

/* Sign `i` of eight, of which seven are stored: the number of minus signs is even. */
DEVICE float even_sign(uint32_t seven, uint32_t i)
{
    uint32_t odd = seven & 127U;
    odd ^= odd >> 4;
    odd ^= odd >> 2;
    odd ^= odd >> 1;
    return ((i < 7 ? seven >> i : odd) & 1U) != 0 ? -1.0f : 1.0f;
}

DEVICE float sign_of(const uint8_t *signs, uint32_t i)
{
    return (signs[i / 8] >> i % 8 & 1U) != 0 ? -1.0f : 1.0f;
}

/* ---- iq2 ---- */

DEVICE float level_iq2(uint32_t entry, uint32_t i)
{
    return (float)(0x2b1908U >> (entry >> 2 * i & 3U) * 8 & 255U);
}
DEVICE float weight_iq2_xxs(const uint8_t *b, uint32_t i)
{
    const uint8_t *p = b + 2 + i / 32 * 8;
    const uint32_t word = u32_at(p + 4), at = i % 32 / 8;
    const float scale = f16_at(b) * (0.5f + (float)(word >> 28)) * 0.25f;
    const uint32_t entry = grid_entry(takt_ggml_iq2_xxs, p[at]);
    return scale * level_iq2(entry, i % 8) * even_sign(word >> 7 * at, i % 8);
}
DEVICE float weight_iq2_xs(const uint8_t *b, uint32_t i)
{
    const uint32_t word = u16_at(b + 2 + i / 8 * 2), level = b[66 + i / 32] >> i / 16 % 2 * 4 & 15U;
    const float scale = f16_at(b) * (0.5f + (float)level) * 0.25f;
    return scale * level_iq2(grid_entry(takt_ggml_iq2_xs, word & 511U), i % 8) *
           even_sign(word >> 9, i % 8);
}
DEVICE float weight_iq2_s(const uint8_t *b, uint32_t i)
{
    const uint32_t place = b[2 + i / 8] | (b[66 + i / 32] >> i / 8 % 4 * 2 & 3U) << 8;
    const uint32_t level = b[74 + i / 32] >> i / 16 % 2 * 4 & 15U;
    const float scale = f16_at(b) * (0.5f + (float)level) * 0.25f;
    return scale * level_iq2(grid_entry(takt_ggml_iq2_s, place), i % 8) * sign_of(b + 34, i);
}

/* ---- iq3 ---- */

DEVICE float weight_iq3_xxs(const uint8_t *b, uint32_t i)
{
    const uint32_t entry = grid_entry(takt_ggml_iq3_xxs, b[2 + i / 4]);
    const uint32_t word = u32_at(b + 66 + i / 32 * 4), level = entry >> i % 4 * 4 & 7U;
    const float scale = f16_at(b) * (0.5f + (float)(word >> 28)) * 0.5f;
    return scale * (float)(level * 8 + (level == 7 ? 6 : 4)) *
           even_sign(word >> i % 32 / 8 * 7, i % 8);
}
DEVICE float weight_iq3_s(const uint8_t *b, uint32_t i)
{
    const uint32_t place = b[2 + i / 4] | (b[66 + i / 32] >> i / 4 % 8 & 1U) << 8;
    const uint32_t level = grid_entry(takt_ggml_iq3_s, place) >> i % 4 * 4 & 7U;
    const float scale = f16_at(b) * (float)(1 + 2 * (b[106 + i / 64] >> i / 32 % 2 * 4 & 15U));
    return scale * (float)(1 + 2 * level) * sign_of(b + 74, i);
}

/* ---- iq1 ---- */

DEVICE float level_iq1(uint32_t place, uint32_t i, bool is_down)
{
    const uint32_t level = grid_entry(takt_ggml_iq1, place) >> 2 * i & 3U;
    return (float)level + (is_down ? -1.125f : -0.875f);
}
DEVICE float weight_iq1_s(const uint8_t *b, uint32_t i)
{
    const uint32_t word = u16_at(b + 34 + i / 32 * 2);
    const uint32_t place = b[2 + i / 8] | (word >> i / 8 % 4 * 3 & 7U) << 8;
    const float scale = f16_at(b) * (float)(2 * (word >> 12 & 7U) + 1);
    return scale * level_iq1(place, i % 8, (word & 0x8000U) != 0);
}
DEVICE float weight_iq1_m(const uint8_t *b, uint32_t i)
{
    const uint8_t *s = b + 48;
    const uint32_t four = b[32 + i / 16] >> i / 8 % 2 * 4 & 15U;
    const uint32_t bits = (uint32_t)(s[1] >> 4 | s[3] >> 4 << 4 | s[5] >> 4 << 8 | s[7] >> 4 << 12);
    const uint32_t level = u16_at(s + i / 64 * 2) >> i / 16 % 4 * 3 & 7U;
    const float scale = half_from_f16((uint16_t)bits) * (float)(2 * level + 1);
    return scale * level_iq1(b[i / 8] | (four & 7U) << 8, i % 8, (four & 8U) != 0);
}

#endif
