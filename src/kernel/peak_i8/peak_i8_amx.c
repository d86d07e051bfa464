/* peak_i8_amx.c - how fast this processor multiplies and adds i8, by tdpbssd. */
#include <string.h>

#include "kernel/peak/peak.h"
#include "kernel/simd/amx.h"

enum { ROWS = 16, ROW_BYTES = 64 };

/* Six sums, of two tiles: the units need no more than four to be busy. */
static double run(size_t rounds, const void *operands, double *sum)
{
    _Alignas(64) int8_t same[ROWS * ROW_BYTES];
    _Alignas(64) int32_t out[ROWS * ROW_BYTES / sizeof(int32_t)];
    for (size_t i = 0; i < sizeof same; i++)
        memcpy(&same[i], operands, 1);
    TILES_WRITTEN(same);
    tiles_begin();
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5)
#define X(i) _tile_zero(i);
    EACH(X)
#undef X
    _tile_loadd(6, same, ROW_BYTES);
    _tile_loadd(7, same, ROW_BYTES);
    for (size_t r = 0; r < rounds; r++) {
#define X(i) _tile_dpbssd(i, 6, 7);
        EACH(X)
#undef X
    }
    double all = 0;
#define X(i)                                                                                       \
    _tile_stored(i, out, ROW_BYTES);                                                               \
    TILES_WRITTEN(out);                                                                            \
    for (size_t k = 0; k < sizeof out / sizeof *out; k++)                                          \
        all += (double)out[k];
    EACH(X)
#undef X
    tiles_end();
    *sum = all;
    return 2.0 * 6 * 16 * 16 * 64 * (double)rounds;
}

TAKT_KERNELS(peak_i8, TAKT_KERNEL(peak_i8, "amx", 40, run, NULL));
