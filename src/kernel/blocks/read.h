/* read.h - single elements of packed blocks, for the scalar kernels. */
#ifndef TAKT_KERNEL_BLOCKS_READ_H
#define TAKT_KERNEL_BLOCKS_READ_H

#include "kernel/blocks/blocks.h"
#include "kernel/simd/half.h"

/* Where the parameter of a column and block is. */
static inline size_t block_at(const takt_blocks *b, size_t column, size_t block)
{
    return (column / TAKT_BLOCKS_PANEL * takt_blocks_count(b) + block) * TAKT_BLOCKS_PANEL +
           column % TAKT_BLOCKS_PANEL;
}

static inline float block_scale(const takt_blocks *b, size_t column, size_t block)
{
    const size_t at = block_at(b, column, block);
    return b->scale_is_f16 ? half_from_f16(((const uint16_t *)b->scale)[at])
                           : ((const float *)b->scale)[at];
}

/* The zero point, if it is a level. */
static inline uint32_t block_level(const takt_blocks *b, size_t column, size_t block)
{
    return b->zero ? b->zero[block_at(b, column, block)] : b->level;
}

static inline float block_zero(const takt_blocks *b, size_t column, size_t block)
{
    return b->zero_f32 ? b->zero_f32[block_at(b, column, block)]
                       : (float)block_level(b, column, block);
}

/* The level of a weight. */
static inline uint32_t block_weight(const takt_blocks *b, size_t column, size_t k)
{
    const size_t each = 32 / b->bits, e = k % each;
    const uint32_t *panel =
        b->words + column / TAKT_BLOCKS_PANEL * takt_blocks_words(b->bits, takt_blocks_deep(b->k));
    const uint32_t word = panel[k / each * TAKT_BLOCKS_PANEL + column % TAKT_BLOCKS_PANEL];
    return word >> (e % 4 * 8 + e / 4 * b->bits) & ((1U << b->bits) - 1);
}

/* The weight as a float. */
static inline float block_float(const takt_blocks *b, size_t column, size_t k)
{
    const size_t block = k / b->block;
    const float level = (float)block_weight(b, column, k) - block_zero(b, column, block);
    return level * block_scale(b, column, block);
}

#endif
