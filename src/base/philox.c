/* philox.c - Philox4x32-10 and distributions drawn from it. */
#include "base/philox.h"

#include <math.h>
#include <stdbool.h>

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

/* The C library's logarithm, sine and cosine differ between machines in the last bit; these are
 * sums of products in a fixed order. */

static const double log2_high = 0x1.62e42fee00000p-1, log2_low = 0x1.a39ef35793c76p-33;

/* log(k / 2^24) for 0 < k <= 2^24: 2 atanh((m - 1) / (m + 1)) for m near 1, plus e log 2. */
static double log_of(uint32_t k)
{
    static const double root_half = 0.70710678118654752440;
    double m = (double)k * 0x1p-24, sum = 0;
    int e = 0;
    for (; m < root_half; m *= 2)
        e--;
    const double s = (m - 1) / (m + 1), z = s * s;
    for (int n = 23; n >= 3; n -= 2)
        sum = (sum + 1.0 / n) * z;
    return e * log2_high + (2 * s + (2 * s * sum + e * log2_low));
}

/* sin or cos of 2 pi k / 2^24, reduced to at most a quarter period for the series. */
static double wave(uint32_t k, bool is_cosine)
{
    static const double half_pi = 1.57079632679489661923;
    const uint32_t shifted = is_cosine ? k + (UINT32_C(1) << 22) : k;
    const uint32_t quarter = (shifted + (UINT32_C(1) << 21)) >> 22 & 3;
    const int32_t rest = (int32_t)((shifted + (UINT32_C(1) << 21)) & 0x3fffff) - (1 << 21);
    const double x = half_pi * ((double)rest * 0x1p-22), z = x * x;
    double sum = 0;
    /* x - x^3/3! + ... at an even quarter, 1 - x^2/2! + ... at an odd one. */
    for (int n = quarter % 2 == 0 ? 19 : 18; n >= 2; n -= 2)
        sum = -(sum + 1) * z / (n * (n - 1));
    const double value = quarter % 2 == 0 ? x + x * sum : 1 + sum;
    return quarter < 2 ? value : -value;
}

double takt_philox_normal(const takt_philox_at *at, uint64_t element)
{
    uint32_t words[4];
    group(at, element / 4, words);
    const uint32_t *pair = words + (element % 4 & 2);
    /* 1 - u is in (0, 1], so the logarithm is finite. */
    const double radius = sqrt(-2 * log_of((UINT32_C(1) << 24) - (pair[0] >> 8)));
    return radius * wave(pair[1] >> 8, element % 2 == 0);
}

/* exp(x) for x <= 0: 2^n times the series of the remainder, at most half of log 2. */
static double exp_of(double x)
{
    if (x < -700)
        return 0;
    const int n = (int)(x / (log2_high + log2_low) - 0.5); /* towards 0: the nearest */
    const double rest = x - n * log2_high - n * log2_low;
    double sum = 1;
    for (int k = 16; k >= 1; k--)
        sum = 1 + rest / k * sum;
    return ldexp(sum, n);
}

double takt_philox_power(uint32_t word, double exponent)
{
    return exp_of(exponent * log_of((word >> 8) + 1));
}
