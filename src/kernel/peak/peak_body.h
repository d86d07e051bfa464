/* peak_body.h - the floating-point peaks, written with the words of simd.h.
 *
 * The including file defines PEAK_T, PEAK_V (vector type), PEAK_LANES, PEAK_LOAD, PEAK_STORE,
 * PEAK_ZERO and PEAK_FMA, and registers `run`.
 */
#include "kernel/peak/peak.h"
#include "kernel/simd/simd.h"

/* AVX2 has 16 registers; fma units there need ten chains. */
#if TAKT_SIMD_SET == 3
#define PEAK_EACH(X) TAKT_PEAK_8(X) X(8) X(9) X(10) X(11)
enum { CHAINS = 12 };
#elif TAKT_SIMD_SET == 1
#define PEAK_EACH(X) TAKT_PEAK_8(X)
enum { CHAINS = 8 };
#else
#define PEAK_EACH(X) TAKT_PEAK_24(X)
enum { CHAINS = 24 };
#endif

static double total(PEAK_V v)
{
    PEAK_T lanes[PEAK_LANES];
    double sum = 0;
    PEAK_STORE(lanes, v);
    for (size_t i = 0; i < PEAK_LANES; i++)
        sum += (double)lanes[i];
    return sum;
}

static double run(size_t rounds, const void *operands, double *sum)
{
    const PEAK_T *x = operands;
    const PEAK_V left = PEAK_LOAD(x), right = PEAK_LOAD(x + PEAK_LANES);
    double all = 0;
#define X(i)                                                                                       \
    PEAK_V a##i = PEAK_ZERO;                                                                       \
    TAKT_PEAK_HIDE(a##i);
    PEAK_EACH(X)
#undef X
    for (size_t r = 0; r < rounds; r++) {
#define X(i) a##i = PEAK_FMA(left, right, a##i);
        PEAK_EACH(X)
#undef X
    }
#define X(i) all += total(a##i);
    PEAK_EACH(X)
#undef X
    *sum = all;
    return 2.0 * CHAINS * PEAK_LANES * (double)rounds;
}
