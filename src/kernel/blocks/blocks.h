/* blocks.h - weights of 2, 4 or 8 bits with one scale for each block of k: how they lie in memory.
 *
 * A weight is (level - zero) * scale. Levels are unsigned; signed ones are stored plus half their
 * range, and so are their zero points. Columns are cut into panels of 16; in a panel
 *
 *     words   [ceil(k / 16) * 16 * bits / 32][16]   a word holds 32 / bits levels of one column
 *     scale   [blocks][16]                          f32, or f16 as given
 *     zero    [blocks][16]                          u8 or f32, or one level for all
 *
 * Of the levels that a word holds, number 4 * j + i lies at bit 8 * i + bits * j: shifted by
 * bits * j and masked, its four bytes are four neighbours in k, which is what instructions for dot
 * products of bytes take, and lane c of a vector of words is column c, which is what a chain of
 * additions in the order of k takes. One layout serves every instruction set.
 */
#ifndef TAKT_KERNEL_BLOCKS_H
#define TAKT_KERNEL_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TAKT_BLOCKS_PANEL = 16, /* columns */
    TAKT_BLOCKS_STEP = 16,  /* blocks are multiples of this; k is padded to it, by level 0 */
};

typedef struct takt_blocks {
    size_t n, k;
    size_t block; /* k of one block; the last may be shorter */
    unsigned bits;
    const uint32_t *words;
    const void *scale;
    bool scale_is_f16;
    const uint8_t *zero;   /* or NULL */
    const float *zero_f32; /* or NULL */
    uint8_t level;         /* zero point of all weights if both are NULL */
} takt_blocks;

static inline size_t takt_blocks_count(const takt_blocks *b)
{
    return (b->k + b->block - 1) / b->block;
}

static inline size_t takt_blocks_deep(size_t k)
{
    return (k + TAKT_BLOCKS_STEP - 1) / TAKT_BLOCKS_STEP * TAKT_BLOCKS_STEP;
}

/* Words of a panel up to row k, which is a multiple of TAKT_BLOCKS_STEP. */
static inline size_t takt_blocks_words(unsigned bits, size_t k)
{
    return k * bits / 32 * TAKT_BLOCKS_PANEL;
}

static inline size_t takt_blocks_panels(size_t n)
{
    return (n + TAKT_BLOCKS_PANEL - 1) / TAKT_BLOCKS_PANEL;
}

/* The same weights from column `first` on, where a panel begins, `n` of them. */
takt_blocks takt_blocks_cut(const takt_blocks *b, size_t first, size_t n);

/* The input of packing: levels of `bits` bits, low bits first, in rows of k without gaps between
 * rows ([n][k], or [k][n] where `is_across`). */
typedef struct takt_blocks_job {
    size_t n, k;
    unsigned bits;
    bool is_signed, is_across;
    const void *src;
} takt_blocks_job;

void takt_blocks_pack(const takt_blocks_job *j, uint32_t *words);
/* Parameters of blocks, [n][count] (or [count][n] where is_across), to [panel][count][16]: floats
 * by their size of 2 or 4 bytes, zero beyond n; levels by `bits`. */
void takt_blocks_pack_floats(const takt_blocks_job *j, size_t size, void *to);
void takt_blocks_pack_levels(const takt_blocks_job *j, uint8_t *to);

#endif
