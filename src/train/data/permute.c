/* permute.c - a shuffled order that is computed, not stored.
 *
 * Four rounds of a Feistel network over the smallest even number of bits that holds the count are a
 * permutation of a power of two; a result beyond the count is fed back until it falls below it,
 * which is a permutation of the rest. Less than four rounds on average. */
#include "base/philox.h"
#include "train/data/data.h"

enum { ROUNDS = 4 };

static uint64_t once(uint64_t x, int half, const takt_philox_at *at)
{
    const uint64_t mask = (UINT64_C(1) << half) - 1;
    uint64_t left = x >> half, right = x & mask;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        const uint64_t mixed = takt_philox_word(at, right * ROUNDS + round) & mask;
        const uint64_t next = left ^ mixed;
        left = right;
        right = next;
    }
    return left << half | right;
}

uint64_t takt_permute(uint64_t position, uint64_t count, uint64_t seed, uint64_t epoch)
{
    const takt_philox_at at = {.seed = seed, .stream = UINT32_C(0x5aff1e), .step = (uint32_t)epoch};
    int half = 1;
    while (2 * half < 62 && (UINT64_C(1) << (2 * half)) < count)
        half++;
    do
        position = once(position, half, &at);
    while (position >= count);
    return position;
}
