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

void takt_blocks_pack(const takt_blocks_job *j, uint32_t *words)
{
    const size_t panels = takt_blocks_panels(j->n), each = 32 / j->bits;
    memset(words, 0, panels * takt_blocks_words(j->bits, takt_blocks_deep(j->k)) * sizeof *words);
    for (size_t p = 0; p < panels; p++) {
        uint32_t *to = words + p * takt_blocks_words(j->bits, takt_blocks_deep(j->k));
        const size_t first = p * TAKT_BLOCKS_PANEL;
        const size_t columns = j->n - first < TAKT_BLOCKS_PANEL ? j->n - first : TAKT_BLOCKS_PANEL;
        for (size_t k = 0; k < j->k; k++) {
            const size_t e = k % each, shift = e % 4 * 8 + e / 4 * j->bits;
            for (size_t c = 0; c < columns; c++)
                to[k / each * TAKT_BLOCKS_PANEL + c] |= level_at(j, index_of(j, first + c, k))
                                                        << shift;
        }
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
