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
#if TAKT_SIMD_SET == 4
    vf table; /* values of four bits whose lowest are a level */
#endif
} block_parameters;

#if TAKT_SIMD_SET == 4

/* Sixteen floats are a table that a permutation looks up by the four lowest bits of a lane: one
 * instruction in the place of a mask, 2^23 and a subtraction. The zero point is included if it is
 * the same for all; otherwise it is subtracted as a float. */
FIXED bool block_subtracts(const takt_blocks *b)
{
    return b->zero != NULL || b->zero_f32 != NULL;
}

/* What all blocks have in common. */
FIXED void block_begin(const takt_blocks *b, block_parameters *o)
{
    const float one = block_subtracts(b) ? 0 : b->level;
    const vi order = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    o->base[0] = vf_set1(0x1p23F + one);
    o->table = vf_sub(vf_from_vi(vi_and(order, vi_set1((1 << b->bits) - 1))), vf_set1(one));
}

FIXED void block_open(const takt_blocks *b, size_t panel, size_t block, block_parameters *o)
{
    const size_t at = (panel * takt_blocks_count(b) + block) * TAKT_BLOCKS_PANEL;
    o->scale[0] = b->scale_is_f16 ? vf_load_f16((const uint16_t *)b->scale + at)
                                  : vf_load((const float *)b->scale + at);
    o->minus[0] = b->zero_f32 ? vf_load(b->zero_f32 + at)
                  : b->zero   ? vf_from_vi(vi_load_u8(b->zero + at))
                              : vf_zero();
}

/* The weights of vector v in row number `row` of a group of words. */
FIXED vf block_row(const block_parameters *o, size_t v, vi words, const unsigned bits,
                   const unsigned row, const bool subtracts)
{
    const vf level =
        bits == 8
            ? vf_sub(block_byte(words, row), o->base[v])
            : _mm512_permutexvar_ps(vi_shr(words, (int)(row / 4 * bits + row % 4 * 8)), o->table);
    return vf_mul(subtracts ? vf_sub(level, o->minus[v]) : level, o->scale[v]);
}

#else

FIXED bool block_subtracts(const takt_blocks *b)
{
    return b->zero_f32 != NULL;
}

FIXED void block_begin(const takt_blocks *b, block_parameters *o)
{
    (void)b;
    (void)o;
}

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

/* The weights of vector v in row number `row` of a group of words. */
FIXED vf block_row(const block_parameters *o, size_t v, vi words, const unsigned bits,
                   const unsigned row, const bool subtracts)
{
    const vf whole = vf_sub(block_byte(block_part(words, bits, row / 4), row % 4), o->base[v]);
    return vf_mul(subtracts ? vf_sub(whole, o->minus[v]) : whole, o->scale[v]);
}

#endif

#endif
