/* statistics.c - statistics of samples for the driver, by the same code as `takt benchmark`. */
#include <string.h>

#include "context.h"
#include "stats/compare.h"

/* median, its interval, p99. */
PEERS_API int peers_stats(const double *values, size_t count, double out[4])
{
    takt_stats s;
    takt_ctx *ctx = peers_context();
    if (ctx == NULL || takt_stats_compute(ctx, values, count, &s) != TAKT_OK)
        return 1;
    const double all[4] = {s.median, s.median_ci.low, s.median_ci.high, s.percentiles[3].value};
    memcpy(out, all, sizeof all);
    return 0;
}

/* Time of b over time of a by the medians of alternating blocks: ratio, interval, and whether the
 * difference is real (the verdict's number, TAKT_SAME and so on). */
PEERS_API int peers_compare(const double *a, const double *b, size_t count, double margin,
                            double out[4])
{
    takt_comparison c;
    takt_ctx *ctx = peers_context();
    if (ctx == NULL || takt_compare_blocks(ctx, a, b, count, margin, &c) != TAKT_OK)
        return 1;
    const double all[4] = {c.ratio, c.ci.low, c.ci.high, (double)c.verdict};
    memcpy(out, all, sizeof all);
    return 0;
}

PEERS_API const char *peers_verdict(int verdict)
{
    return takt_verdict_name((takt_verdict)verdict);
}
