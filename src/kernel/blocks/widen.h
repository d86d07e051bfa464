/* widen.h - levels of packed blocks as vectors of floats: lane = column.
 *
 * A level is put into the low bits of 2^23, which as a float is 2^23 + level; one exact subtraction
 * takes away 2^23 and a zero point that is a level.
 */
#ifndef TAKT_KERNEL_BLOCKS_WIDEN_H
#define TAKT_KERNEL_BLOCKS_WIDEN_H

#include "kernel/blocks/blocks.h"
#include "kernel/simd/simd.h"

#define FIXED static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum { VECTORS = TAKT_BLOCKS_PANEL / VF };

/* Part j of words: four bytes, each a level. */
FIXED vi block_part(vi words, const unsigned bits, const unsigned j)
{
    const int32_t mask = (int32_t)(((1U << bits) - 1) * 0x01010101U);
    return bits == 8 ? words : vi_and(vi_shr(words, (int)(bits * j)), vi_set1(mask));
}

/* 2^23 + byte i of each lane. */
#if TAKT_SIMD_SET == 2
FIXED vf block_byte(vi part, const unsigned i)
{
    const uint8_t b = (uint8_t)i, none = 255;
    const uint8x16_t at = {b,     none, none, none, b + 4,  none, none, none,
                           b + 8, none, none, none, b + 12, none, none, none};
    const uint8x16_t byte = vqtbl1q_u8(vreinterpretq_u8_s32(part), at);
    return vreinterpretq_f32_u32(vorrq_u32(vreinterpretq_u32_u8(byte), vdupq_n_u32(0x4b000000)));
}
#else
FIXED vf block_byte(vi part, const unsigned i)
{
    const vi byte = i == 3 ? vi_shr(part, 24) : vi_and(vi_shr(part, (int)(8 * i)), vi_set1(255));
    return vi_as_vf(vi_or(byte, vi_set1(0x4b000000)));
}
#endif

/* Parameters of one block of a panel, VECTORS vectors each. */
typedef struct block_parameters {
    vf scale[VECTORS];
    vf base[VECTORS];  /* 2^23, with a zero point that is a level */
    vf minus[VECTORS]; /* a zero point that is a float */
} block_parameters;

FIXED void block_open(const takt_blocks *b, size_t panel, size_t block, block_parameters *o)
{
    const size_t at = (panel * takt_blocks_count(b) + block) * TAKT_BLOCKS_PANEL;
    UNROLL for (size_t v = 0; v < VECTORS; v++)
    {
        const size_t i = at + v * VF;
        const vf level = b->zero ? vf_from_vi(vi_load_u8(b->zero + i)) : vf_set1(b->level);
        o->scale[v] = b->scale_is_f16 ? vf_load_f16((const uint16_t *)b->scale + i)
                                      : vf_load((const float *)b->scale + i);
        o->base[v] = b->zero_f32 ? vf_set1(0x1p23F) : vf_add(vf_set1(0x1p23F), level);
        o->minus[v] = b->zero_f32 ? vf_load(b->zero_f32 + i) : vf_zero();
    }
}

/* The weights of vector v in row 4 * j + i of a group of words. */
FIXED vf block_weights(const block_parameters *o, size_t v, vf level, const bool is_float)
{
    const vf whole = vf_sub(level, o->base[v]);
    return vf_mul(is_float ? vf_sub(whole, o->minus[v]) : whole, o->scale[v]);
}

#endif
