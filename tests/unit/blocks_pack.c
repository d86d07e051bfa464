/* blocks_pack.c - packed levels are where kernel/blocks/blocks.h says, for every width, sign and
 * order, and sizes around those of words, lines and panels. */
#include "kernel/blocks/blocks.h"

#include <stdlib.h>
#include <string.h>

#include "../test.h"

enum { MOST_N = 33, MOST_K = 520 };
static uint8_t levels[MOST_N][MOST_K];
static uint8_t packed[MOST_N * MOST_K];
static uint32_t words[48 * MOST_K];

/* Level (column, row) of the job to its bits of the source. */
static void put_source(const takt_blocks_job *j)
{
    memset(packed, 0, sizeof packed);
    for (size_t c = 0; c < j->n; c++)
        for (size_t k = 0; k < j->k; k++) {
            const size_t bit = (j->is_across ? k * j->n + c : c * j->k + k) * j->bits;
            const unsigned half = j->is_signed ? 1U << (j->bits - 1) : 0;
            packed[bit / 8] |= (uint8_t)((levels[c][k] ^ half) << bit % 8);
        }
}

static size_t wrong(const takt_blocks_job *j)
{
    const size_t deep = takt_blocks_deep(j->k), columns = takt_blocks_panels(j->n) * 16;
    const size_t panel = takt_blocks_words(j->bits, deep), each = 32 / j->bits;
    const uint32_t mask = (1U << j->bits) - 1;
    size_t count = 0;
    for (size_t c = 0; c < columns; c++)
        for (size_t k = 0; k < deep; k++) {
            const size_t number = k % each;
            const uint32_t word = words[c / 16 * panel + k / each * 16 + c % 16];
            const uint32_t level = word >> (8 * (number % 4) + j->bits * (number / 4)) & mask;
            count += level != (c < j->n && k < j->k ? levels[c][k] : 0);
        }
    return count;
}

static void every_job(void)
{
    static const size_t ns[] = {1, 15, 16, 17, 33};
    static const size_t ks[] = {1, 3, 4, 8, 16, 30, 32, 60, 64, 68, 128, 136, 256, 512, 520};
    for (unsigned bits = 2; bits <= 8; bits *= 2)
        for (int way = 0; way < 4; way++)
            for (size_t i = 0; i < sizeof ns / sizeof *ns * (sizeof ks / sizeof *ks); i++) {
                const takt_blocks_job j = {.n = ns[i % 5],
                                           .k = ks[i / 5],
                                           .bits = bits,
                                           .is_signed = way % 2 == 1,
                                           .is_across = way / 2 == 1,
                                           .src = packed};
                for (size_t c = 0; c < MOST_N; c++)
                    for (size_t k = 0; k < MOST_K; k++)
                        levels[c][k] = (uint8_t)((c * 131 + k * 29 + c * k) % (1U << bits));
                put_source(&j);
                memset(words, 0xA5, sizeof words);
                takt_blocks_pack(&j, words);
                EXPECT(wrong(&j) == 0, "%zu x %zu, %u bits, way %d: %zu levels are wrong", j.n, j.k,
                       bits, way, wrong(&j));
            }
}

TEST_MAIN(every_job)
