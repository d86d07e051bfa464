/* semiring_f32.h - contract of products of float matrices over a semiring, and of their gradient.
 *
 *     c[i][j] = finish(sum over k of term(a[i][k], b[k][j]))
 *
 *   max_min      start 0; sum = larger(sum, lesser(a, b))
 *   max_mul      start 0; sum = larger(sum, a * b)
 *   min_add      start +inf; sum = lesser(sum, a + b)
 *   noisy_or     start 1; sum = sum * fma(-a, b, 1); c = 1 - sum
 *   lukasiewicz  start 0; sum = sum + larger((a + b) - 1, 0); c = lesser(sum, 1)
 *
 *   choice     larger(x, y) is x > y ? x : y, and lesser(x, y) is x < y ? x : y: with a NaN, and
 *              of two zeros, it is y. So bits depend on the order, which is:
 *   order      k ascending, one rounding per operation written above
 *   gradient   da[i][k] = the sum, j ascending and starting at +0, of
 *                  fma(dy[i][j], slope, sum)
 *              where slope is
 *                max_min, max_mul, min_add: share * (the term's slope) if the term equals the
 *                    extreme c[i][j], else 0; share = 1 / (number of such k)
 *                    the term's slope: max_min 1 if a < b, 0.5 if a == b, else 0; max_mul b;
 *                    min_add 1
 *                lukasiewicz: 1 if (a + b) - 1 > 0 and the sum is < 1, else 0
 *              but of noisy_or it is the sum of
 *                  fma(before, after * b[k][j], sum)
 *              where before is `first` for the first k, after is dy[i][j] * `last` for the last,
 *              and the next one of either, by k ascending and descending, is
 *              fma(-(x * b[k][j]), a[i][k], x) for x; the sum is multiplied by 1 / first, and then
 *              by 1 / last. These are powers of two (takt_semiring_range_of): products of truth
 *              values stay normal numbers where they would be subnormal, which some processors
 *              compute a hundred times slower, and with fewer bits
 *   alignment  none beyond that of float
 *   reads      exactly the operands; writes exactly c, da and scratch
 *   aliasing   c, da and scratch overlap nothing
 */
#ifndef TAKT_KERNEL_SEMIRING_F32_H
#define TAKT_KERNEL_SEMIRING_F32_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/kernel.h"

typedef enum takt_semiring {
    TAKT_MAX_MIN,
    TAKT_MAX_MUL,
    TAKT_MIN_ADD,
    TAKT_NOISY_OR,
    TAKT_LUKASIEWICZ,
    TAKT_SEMIRING_COUNT
} takt_semiring;

typedef struct takt_semiring_f32 {
    takt_semiring semiring;
    size_t m, n, k;
    const float *a; /* [m][k] */
    const float *b; /* [k][n] */
    float *c;       /* [m][n]; NULL: the gradient is wanted */
    /* of the gradient: */
    /* [n][k]: b transposed; of noisy_or [n / 8, rounded up][k][8]: blocks of 8 columns of b, where
     * those beyond n are not read */
    const float *bt;
    const float *dy; /* [m][n] */
    float *da;       /* [m][k] */
    float *scratch;  /* takt_semiring_f32_room(semiring, n, k) floats */
} takt_semiring_f32;

/* For noisy_or: scratch for each k, and columns in a block. */
enum { TAKT_SEMIRING_NOISY_FLOATS = 160, TAKT_SEMIRING_BLOCK = 8 };

static inline size_t takt_semiring_f32_room(takt_semiring s, size_t n, size_t k)
{
    return s == TAKT_NOISY_OR ? k * TAKT_SEMIRING_NOISY_FLOATS : 2 * n;
}

/* Of the gradient of noisy_or: first, last and their inverses for a row i. `truth` is the largest
 * bit pattern, as an unsigned number, of b and of the row of a, `dy` that of the row of |dy|. Of
 * truth values, 0 to 1, no product exceeds its first factor, so the sum stays below 2^126; anything
 * else is computed as it is. */
typedef struct takt_semiring_range {
    float first, last, first_back, last_back;
} takt_semiring_range;

static inline float takt_semiring_power(int exponent)
{
    const union {
        uint32_t bits;
        float value;
    } power = {(uint32_t)(exponent + 127) << 23};
    return power.value;
}

static inline takt_semiring_range takt_semiring_range_of(uint32_t truth, uint32_t dy, size_t n)
{
    enum { ONE = 0x3f800000, INFINITE = 0x7f800000, FIRST = 60, BOTH = 126, LEAST = -50 };
    int columns = 0, most = (int)(dy >> 23) - 126; /* n <= 2^columns, |dy| < 2^most */
    if (truth > ONE || dy >= INFINITE)
        return (takt_semiring_range){1, 1, 1, 1};
    while (columns < 40 && (size_t)1 << columns < n)
        columns++;
    most = most > LEAST ? most : LEAST;
    const int last = BOTH - FIRST - columns - most;
    return (takt_semiring_range){takt_semiring_power(FIRST), takt_semiring_power(last),
                                 takt_semiring_power(-FIRST), takt_semiring_power(-last)};
}

typedef void takt_semiring_f32_fn(const takt_semiring_f32 *p);

TAKT_KERNEL_FAMILY(semiring_f32, takt_semiring_f32_fn)

#endif
