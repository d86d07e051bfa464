/* philox.h - Philox4x32-10: random words that depend on nothing but key and counter.
 *
 * J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
 * Takt's key is the seed; its counter is (element/4 low, element/4 high, stream, step), so any
 * element of any stream can be computed alone, in any order, on any machine.
 */
#ifndef TAKT_BASE_PHILOX_H
#define TAKT_BASE_PHILOX_H

#include <stddef.h>
#include <stdint.h>

#include "base/inner.h"

/* The four words of one counter. */
void takt_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

/* Where a sequence of words starts. */
typedef struct takt_philox_at {
    uint64_t seed;
    uint32_t stream;
    uint32_t step;
} takt_philox_at;

/* Word number `element` of the stream at this step. */
TAKT_INNER uint32_t takt_philox_word(const takt_philox_at *at, uint64_t element);
/* Words [first, first + count). */
void takt_philox_fill(const takt_philox_at *at, uint64_t first, size_t count, uint32_t *out);

/* 0 <= u < 1 with 24 bits; every value is exact in f32. */
static inline double takt_philox_uniform(uint32_t word)
{
    return (double)(word >> 8) * 0x1p-24;
}

/* Element `element` of a standard normal stream, by Box and Muller on the pair of words
 * (element & ~1, element | 1): sqrt(-2 log(1 - u)) times cos(2 pi v) for even elements and
 * sin(2 pi v) for odd ones, u and v being the pair's uniforms. In double, the same bits everywhere.
 */
double takt_philox_normal(const takt_philox_at *at, uint64_t element);
/* u to the power of `exponent` > 0, for u in (0, 1] made of the word's first 24 bits. In double,
 * the same bits everywhere. */
double takt_philox_power(uint32_t word, double exponent);

#endif
