/* shrink_math.c - the numbers behind smaller models: ranges of values against formulas. */
#include <math.h>
#include <string.h>

#include "shrink/range.h"
#include "test.h"

/* ---- ranges ---- */

static void ranges(void)
{
    static takt_range_seen r;
    static float values[10000];
    uint32_t state = 3;
    for (size_t i = 0; i < 10000; i++) {
        state = state * 1664525U + 1013904223U;
        values[i] = (float)(state >> 8) / 0x1p24F * 3 - 1; /* -1 to 2 */
    }
    values[77] = 50; /* far outside */
    for (size_t i = 0; i < 10000; i += 100)
        takt_range_add(&r, values + i, 100);
    const takt_quant_grid all = takt_range_grid(&r, TAKT_RANGE_MINMAX, 0, 8, false);
    EXPECT(fabs((double)all.scale - 51.0 / 255) < 1e-3, "minmax: %g", (double)all.scale);
    EXPECT((double)(all.greatest - all.zero) * (double)all.scale > 49.8, "its end");
    const takt_quant_grid most = takt_range_grid(&r, TAKT_RANGE_PERCENTILE, 99.9, 8, false);
    EXPECT(fabs((double)most.scale - 3.0 / 255) < 3e-4, "percentile: %g", (double)most.scale);
    /* One value in 10,000 that costs (50 - end)^2 against the rounding of the others. */
    const takt_quant_grid best = takt_range_grid(&r, TAKT_RANGE_MSE, 0, 8, false);
    double sums[2] = {0};
    const takt_quant_grid *grids[] = {&all, &best};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < 10000; i++) {
            const takt_quant_grid *g = grids[k];
            double q = nearbyint((double)values[i] / (double)g->scale) + g->zero;
            q = fmin(fmax(q, g->least), g->greatest);
            const double d = (double)values[i] - (q - g->zero) * (double)g->scale;
            sums[k] += d * d;
        }
    EXPECT(sums[1] <= sums[0] * 1.01, "mse %g is no better than minmax %g", sums[1], sums[0]);
    const takt_quant_grid even = takt_range_grid(&r, TAKT_RANGE_MINMAX, 0, 8, true);
    EXPECT(even.zero == 0 && even.least == -127 && fabs((double)even.scale - 50.0 / 127) < 1e-3,
           "symmetric: %g", (double)even.scale);
    const takt_quant_grid cut = takt_range_grid(&r, TAKT_RANGE_ENTROPY, 0, 8, false);
    EXPECT(cut.scale < all.scale, "entropy does not cut a lone value");
    static takt_range_seen zeros;
    memset(values, 0, sizeof values);
    takt_range_add(&zeros, values, 10);
    EXPECT(takt_range_grid(&zeros, TAKT_RANGE_MSE, 0, 8, false).scale == 1, "nothing but zeros");
}

TEST_MAIN(ranges)
