/* peak_amx.h - how fast tiles are multiplied and added; for one file per element type.
 *
 * FACTOR, SUM: element types; PRODUCT(to, a, b): the instruction.
 */
#include <string.h>

#include "kernel/peak/peak.h"
#include "kernel/simd/amx.h"

enum { ROWS = 16, ROW_BYTES = 64 };

/* Six sums, of two tiles: the units need no more than four to be busy. */
static double run(size_t rounds, const void *operands, double *sum)
{
    _Alignas(64) FACTOR same[ROWS * ROW_BYTES / sizeof(FACTOR)];
    _Alignas(64) SUM out[ROWS * ROW_BYTES / sizeof(SUM)];
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        memcpy(&same[i], operands, sizeof *same);
    TILES_WRITTEN(same);
    tiles_begin();
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5)
#define X(i) _tile_zero(i);
    EACH(X)
#undef X
    _tile_loadd(6, same, ROW_BYTES);
    _tile_loadd(7, same, ROW_BYTES);
    for (size_t r = 0; r < rounds; r++) {
#define X(i) PRODUCT(i, 6, 7);
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
    return 2.0 * 6 * 16 * 16 * (ROW_BYTES / sizeof(FACTOR)) * (double)rounds;
}
