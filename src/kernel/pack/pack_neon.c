/* pack_neon.c - transposes in registers: blocks of 4 x 4 words or 2 x 2 double words. */
#include "kernel/pack/pack.h"

#include <arm_neon.h>
#include <string.h>

#include "kernel/pack/walk.inc"

static uint32x4_t load(const char *from)
{
    uint32x4_t x;
    memcpy(&x, from, sizeof x);
    return x;
}

static void store(char *to, uint64x2_t x)
{
    memcpy(to, &x, sizeof x);
}

#define WIDE(x) vreinterpretq_u64_u32(x)

/* Four columns, four k: 16 bytes in each of four rows of the panel, `row` bytes apart. */
static inline void block_4(const char *from, size_t ld, char *to, size_t row)
{
    const uint32x4_t a = load(from), b = load(from + ld), c = load(from + 2 * ld),
                     d = load(from + 3 * ld);
    const uint64x2_t ab0 = WIDE(vtrn1q_u32(a, b)), ab1 = WIDE(vtrn2q_u32(a, b));
    const uint64x2_t cd0 = WIDE(vtrn1q_u32(c, d)), cd1 = WIDE(vtrn2q_u32(c, d));
    store(to, vtrn1q_u64(ab0, cd0));
    store(to + row, vtrn1q_u64(ab1, cd1));
    store(to + 2 * row, vtrn2q_u64(ab0, cd0));
    store(to + 3 * row, vtrn2q_u64(ab1, cd1));
}

static inline __attribute__((always_inline)) size_t transpose_4(const part *p, const size_t blocks)
{
    const size_t row = blocks * 16;
    for (size_t i = 0; i + 4 <= p->k; i += 4)
        for (size_t j = 0; j < blocks; j++)
            block_4(p->from + 4 * j * p->col + 4 * i, p->col, p->to + i * row + 16 * j, row);
    return p->k / 4 * 4;
}

static inline __attribute__((always_inline)) size_t transpose_8(const part *p, const size_t blocks)
{
    const size_t row = blocks * 16;
    for (size_t i = 0; i + 2 <= p->k; i += 2)
        for (size_t j = 0; j < blocks; j++) {
            const char *from = p->from + 2 * j * p->col + 8 * i;
            const uint64x2_t a = WIDE(load(from)), b = WIDE(load(from + p->col));
            store(p->to + i * row + 16 * j, vtrn1q_u64(a, b));
            store(p->to + (i + 1) * row + 16 * j, vtrn2q_u64(a, b));
        }
    return p->k / 2 * 2;
}

static size_t transpose(const part *p)
{
    if (p->bytes == 2 || p->width * p->bytes % 16 != 0)
        return 0;
    const size_t blocks = p->width * p->bytes / 16;
    if (p->bytes == 4)
        return blocks == 3   ? transpose_4(p, 3)
               : blocks == 2 ? transpose_4(p, 2)
                             : transpose_4(p, blocks);
    return blocks == 3   ? transpose_8(p, 3)
           : blocks == 2 ? transpose_8(p, 2)
                         : transpose_8(p, blocks);
}

TAKT_KERNELS(pack, TAKT_KERNEL(pack, "neon", 20, run, NULL));
