/* peak_half.h - the peaks of 16-bit types in portable C; the including file defines WIDEN. */

/* The barrier keeps the compiler from replacing the loop by one multiplication. */
static double run(size_t rounds, const void *operands, double *sum)
{
    const uint16_t *x = operands;
    const float left = WIDEN(x[0]), right = WIDEN(x[1]);
    double all = 0;
#define X(i) float a##i = 0;
    TAKT_PEAK_8(X)
#undef X
    for (size_t r = 0; r < rounds; r++) {
#define X(i)                                                                                       \
    a##i += left * right;                                                                          \
    TAKT_PEAK_HIDE(a##i);
        TAKT_PEAK_8(X)
#undef X
    }
#define X(i) all += (double)a##i;
    TAKT_PEAK_8(X)
#undef X
    *sum = all;
    return 2.0 * 8 * (double)rounds;
}
