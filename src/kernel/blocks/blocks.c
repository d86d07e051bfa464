/* blocks.c - packs block-quantised weights and their parameters. */
#include "kernel/blocks/blocks.h"

#include <string.h>

takt_blocks takt_blocks_cut(const takt_blocks *b, size_t first, size_t n)
{
    takt_blocks part = *b;
    const size_t panel = first / TAKT_BLOCKS_PANEL;
    const size_t each = takt_blocks_count(b) * TAKT_BLOCKS_PANEL;
    part.n = n;
    part.words += panel * takt_blocks_words(b->bits, takt_blocks_deep(b->k));
    part.scale = (const char *)b->scale + panel * each * (b->scale_is_f16 ? 2 : 4);
    if (b->zero)
        part.zero += panel * each;
    if (b->zero_f32)
        part.zero_f32 += panel * each;
    return part;
}

/* Element (column, row), of j->n by j->k. */
static size_t index_of(const takt_blocks_job *j, size_t column, size_t row)
{
    return j->is_across ? row * j->n + column : column * j->k + row;
}

static uint32_t level_at(const takt_blocks_job *j, size_t index)
{
    const size_t bit = index * j->bits;
    const uint32_t mask = (1U << j->bits) - 1, half = j->is_signed ? 1U << (j->bits - 1) : 0;
    return (((const uint8_t *)j->src)[bit / 8] >> bit % 8 & mask) ^ half;
}

/* Columns [first, first + columns) of any job; `to` is zero. */
static void pack_panel(const takt_blocks_job *j, size_t first, size_t columns, uint32_t *to)
{
    const size_t each = 32 / j->bits;
    for (size_t k = 0; k < j->k; k++) {
        const size_t e = k % each, shift = e % 4 * 8 + e / 4 * j->bits;
        for (size_t c = 0; c < columns; c++)
            to[k / each * TAKT_BLOCKS_PANEL + c] |= level_at(j, index_of(j, first + c, k)) << shift;
    }
}

static inline uint32_t load(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Four levels of 4 bits to a byte each. */
static inline uint32_t spread(uint32_t x)
{
    x = (x | x << 8) & 0x00FF00FF;
    return (x | x << 4) & 0x0F0F0F0F;
}

/* The word of 32 bits of a row. */
static inline uint32_t ordered(uint32_t x, unsigned bits)
{
    return bits == 8 ? x : spread(x & 0xFFFF) | spread(x >> 16) << 4;
}

/* Rows of whole words, by 64 bytes of each column in turn: a power of two between columns would map
 * all of them to one set of the cache. */
static inline void pack_rows(const takt_blocks_job *j, size_t first, size_t columns, unsigned bits,
                             uint32_t *to)
{
    enum { LINE = 16 };
    const size_t rows = j->k * bits / 32;
    const uint32_t half = !j->is_signed ? 0 : bits == 8 ? 0x80808080 : 0x88888888;
    const uint8_t *from = (const uint8_t *)j->src + first * rows * sizeof *to;
    for (size_t at = 0; at < rows; at += LINE) {
        const size_t count = rows - at < LINE ? rows - at : LINE;
        for (size_t c = 0; c < columns; c++) {
            const uint8_t *row = from + (c * rows + at) * sizeof *to;
            for (size_t i = 0; i < count; i++)
                to[(at + i) * TAKT_BLOCKS_PANEL + c] =
                    ordered(load(row + i * sizeof *to) ^ half, bits);
        }
    }
}

void takt_blocks_pack(const takt_blocks_job *j, uint32_t *words)
{
    const size_t deep = takt_blocks_deep(j->k), each = takt_blocks_words(j->bits, deep);
    const bool is_whole =
        !j->is_across && j->k % (32 / j->bits) == 0 && (j->bits == 8 || j->bits == 4);
    for (size_t p = 0; p < takt_blocks_panels(j->n); p++) {
        uint32_t *to = words + p * each;
        const size_t first = p * TAKT_BLOCKS_PANEL;
        const size_t columns = j->n - first < TAKT_BLOCKS_PANEL ? j->n - first : TAKT_BLOCKS_PANEL;
        if (!is_whole || columns < TAKT_BLOCKS_PANEL || deep != j->k)
            memset(to, 0, each * sizeof *to);
        if (is_whole && j->bits == 8)
            pack_rows(j, first, columns, 8, to);
        else if (is_whole)
            pack_rows(j, first, columns, 4, to);
        else
            pack_panel(j, first, columns, to);
    }
}

void takt_blocks_pack_floats(const takt_blocks_job *j, size_t size, void *to)
{
    const size_t all = takt_blocks_panels(j->n) * TAKT_BLOCKS_PANEL;
    memset(to, 0, all * j->k * size);
    for (size_t c = 0; c < j->n; c++)
        for (size_t b = 0; b < j->k; b++) {
            const size_t panel = c / TAKT_BLOCKS_PANEL;
            const size_t at = (panel * j->k + b) * TAKT_BLOCKS_PANEL + c % TAKT_BLOCKS_PANEL;
            memcpy((char *)to + at * size, (const char *)j->src + index_of(j, c, b) * size, size);
        }
}

void takt_blocks_pack_levels(const takt_blocks_job *j, uint8_t *to)
{
    memset(to, 0, takt_blocks_panels(j->n) * TAKT_BLOCKS_PANEL * j->k);
    for (size_t c = 0; c < j->n; c++)
        for (size_t b = 0; b < j->k; b++) {
            const size_t panel = c / TAKT_BLOCKS_PANEL;
            to[(panel * j->k + b) * TAKT_BLOCKS_PANEL + c % TAKT_BLOCKS_PANEL] =
                (uint8_t)level_at(j, index_of(j, c, b));
        }
}
