/* bits_u64_body.h - every variant of bits_u64 is this, compiled for its ISA. */
#include <string.h>

#include "kernel/bits_u64/bits_u64.h"

#define INLINE static inline __attribute__((always_inline))

enum { BLOCK = 4 * TAKT_UNIT_WORDS }; /* words of a row of c that stay in registers */

/* `count` words of c's row i from w on: only rows of b whose bit is set are read, so the cost of
 * sparse relations is proportional to their size. */
INLINE void block(const takt_bits_u64 *p, const uint64_t *a, size_t i, size_t w, const size_t count)
{
    uint64_t sum[BLOCK];
    for (size_t v = 0; v < count; v++)
        sum[v] = 0;
    for (size_t at = 0; at < p->k; at += TAKT_WORD_BITS) {
        uint64_t bits = a[at / TAKT_WORD_BITS];
        if (p->k - at < TAKT_WORD_BITS)
            bits &= (UINT64_C(1) << (p->k - at)) - 1;
        for (; bits != 0; bits &= bits - 1) {
            const uint64_t *b = p->b + (at + (size_t)__builtin_ctzll(bits)) * p->n + w;
            for (size_t v = 0; v < count; v++)
                sum[v] |= b[v];
        }
    }
    for (size_t v = 0; v < count; v++)
        p->c[i * p->n + w + v] = sum[v];
}

static void product(const takt_bits_u64 *p)
{
    for (size_t i = 0; i < p->m; i++) {
        const uint64_t *a = p->a + i * takt_bits_words(p->k);
        size_t w = 0;
        for (; w + BLOCK <= p->n; w += BLOCK)
            block(p, a, i, w, BLOCK);
        for (; w < p->n; w++)
            block(p, a, i, w, 1);
    }
}

static void pack(const takt_bits_u64 *p)
{
    for (size_t at = 0; at < p->k; at += TAKT_WORD_BITS) {
        const size_t count = p->k - at < TAKT_WORD_BITS ? p->k - at : TAKT_WORD_BITS;
        uint64_t word = 0;
        for (size_t j = 0; j < count; j++)
            word |= (uint64_t)(p->x[at + j] != 0) << j;
        p->c[at / TAKT_WORD_BITS] = word;
    }
}

static void unpack(const takt_bits_u64 *p)
{
    for (size_t at = 0; at < p->k; at += TAKT_WORD_BITS) {
        const size_t count = p->k - at < TAKT_WORD_BITS ? p->k - at : TAKT_WORD_BITS;
        const uint64_t word = p->a[at / TAKT_WORD_BITS];
        for (size_t j = 0; j < count; j++)
            p->y[at + j] = (uint8_t)(word >> j & 1);
    }
}

static void run(const takt_bits_u64 *p)
{
    if (p->job == TAKT_BITS_PRODUCT)
        product(p);
    else if (p->job == TAKT_BITS_PACK)
        pack(p);
    else
        unpack(p);
}

TAKT_KERNELS(bits_u64, TAKT_KERNEL(bits_u64, TAKT_UNIT_NAME, TAKT_UNIT_RANK, run, NULL));
