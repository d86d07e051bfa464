/* bits_u64.h - contract of matrices of bits, 64 of a row to a word, the lowest bit first.
 *
 *   product   c[i][w] = the union of b[r][w] over those r < k whose bit is set in row i of a; a row
 *             of a has ceil(k / 64) words, bits from k on are ignored
 *   pack      words[i] has bit j set where x[64 * i + j] is not 0; bits beyond the count are 0
 *   unpack    x[j] = bit j, 0 or 1, for j < count
 *
 *   alignment  none beyond that of uint64_t
 *   reads      exactly the operands; writes exactly the results
 *   aliasing   results overlap no operand
 */
#ifndef TAKT_KERNEL_BITS_U64_H
#define TAKT_KERNEL_BITS_U64_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/kernel.h"

enum { TAKT_WORD_BITS = 64 };

static inline size_t takt_bits_words(size_t count)
{
    return count / TAKT_WORD_BITS + (count % TAKT_WORD_BITS != 0);
}

typedef enum takt_bits_job { TAKT_BITS_PRODUCT, TAKT_BITS_PACK, TAKT_BITS_UNPACK } takt_bits_job;

typedef struct takt_bits_u64 {
    takt_bits_job job;
    size_t m, n, k;    /* PRODUCT: rows of a, words of a row of b, rows of b */
    const uint64_t *a; /* PRODUCT; UNPACK: the words */
    const uint64_t *b;
    uint64_t *c;      /* PRODUCT; PACK: the words */
    const uint8_t *x; /* PACK: `k` bools */
    uint8_t *y;       /* UNPACK: `k` bools */
} takt_bits_u64;

typedef void takt_bits_u64_fn(const takt_bits_u64 *p);

TAKT_KERNEL_FAMILY(bits_u64, takt_bits_u64_fn)

#endif
