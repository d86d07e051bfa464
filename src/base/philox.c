/* philox.c - Philox4x32-10 and what is drawn from it. */
#include "base/philox.h"

#include <math.h>

enum { ROUNDS = 10 };

void takt_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    uint32_t k0 = key[0], k1 = key[1];
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t p0 = UINT64_C(0xD2511F53) * c0;
        const uint64_t p1 = UINT64_C(0xCD9E8D57) * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9U; /* golden ratio */
        k1 += 0xBB67AE85U; /* sqrt(3) - 1 */
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

static void group(const takt_philox_at *at, uint64_t index, uint32_t out[4])
{
    const uint32_t key[2] = {(uint32_t)at->seed, (uint32_t)(at->seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), at->stream, at->step};
    takt_philox(key, counter, out);
}

uint32_t takt_philox_word(const takt_philox_at *at, uint64_t element)
{
    uint32_t words[4];
    group(at, element / 4, words);
    return words[element % 4];
}

void takt_philox_fill(const takt_philox_at *at, uint64_t first, size_t count, uint32_t *out)
{
    uint32_t words[4];
    for (size_t i = 0; i < count; i++) {
        const uint64_t element = first + i;
        if (i == 0 || element % 4 == 0)
            group(at, element / 4, words);
        out[i] = words[element % 4];
    }
}

double takt_philox_normal(const takt_philox_at *at, uint64_t element)
{
    static const double two_pi = 6.283185307179586476925286766559;
    uint32_t words[4];
    group(at, element / 4, words);
    const uint32_t *pair = words + (element % 4 & 2);
    /* 1 - u lies in (0, 1], so the logarithm is finite. */
    const double radius = sqrt(-2 * log(1 - takt_philox_uniform(pair[0])));
    const double angle = two_pi * takt_philox_uniform(pair[1]);
    return radius * (element % 2 == 0 ? cos(angle) : sin(angle));
}
