/* pack_neon.c - transposes in registers: blocks of 4 x 4 words or 2 x 2 double words. */
#include "kernel/pack/pack.h"

#include <arm_neon.h>
#include <string.h>

enum { BLOCK_4 = 4, BLOCK_8 = 2 };

#include "kernel/pack/walk.h"

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

/* Four columns, four k: 16 bytes in each of four rows of the panel. */
static inline void block_4(const char *from, size_t ld, char *to)
{
    const uint32x4_t a = load(from), b = load(from + ld), c = load(from + 2 * ld),
                     d = load(from + 3 * ld);
    const uint64x2_t ab0 = WIDE(vtrn1q_u32(a, b)), ab1 = WIDE(vtrn2q_u32(a, b));
    const uint64x2_t cd0 = WIDE(vtrn1q_u32(c, d)), cd1 = WIDE(vtrn2q_u32(c, d));
    store(to, vtrn1q_u64(ab0, cd0));
    store(to + 64, vtrn1q_u64(ab1, cd1));
    store(to + 128, vtrn2q_u64(ab0, cd0));
    store(to + 192, vtrn2q_u64(ab1, cd1));
}

static void transpose_4(const char *from, size_t ld, size_t blocks, char *to)
{
    ld *= 4;
    for (; blocks; blocks--, from += 16, to += 256)
        for (size_t j = 0; j < 4; j++)
            block_4(from + 4 * j * ld, ld, to + 16 * j);
}

static void transpose_8(const char *from, size_t ld, size_t blocks, char *to)
{
    ld *= 8;
    for (; blocks; blocks--, from += 16, to += 128)
        for (size_t j = 0; j < 4; j++) {
            const uint64x2_t a = WIDE(load(from + 2 * j * ld)),
                             b = WIDE(load(from + (2 * j + 1) * ld));
            store(to + 16 * j, vtrn1q_u64(a, b));
            store(to + 64 + 16 * j, vtrn2q_u64(a, b));
        }
}

TAKT_KERNELS(pack, TAKT_KERNEL(pack, "neon", 20, run, NULL));
