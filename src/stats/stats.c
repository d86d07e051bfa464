/* stats.c - order statistics, moments, and distribution-free intervals. */
#include "stats/stats.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "stats/special.h"

/* ---- order ---- */

static void sink(double *v, size_t root, size_t count)
{
    const double held = v[root];
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        child += child + 1 < count && v[child] < v[child + 1];
        if (held >= v[child])
            break;
        v[root] = v[child];
        v[child] = held;
    }
}

void takt_sort_doubles(double *v, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sink(v, i, count);
    for (size_t end = count; end-- > 1;) {
        const double last = v[end];
        v[end] = v[0];
        v[0] = last;
        sink(v, 0, end);
    }
}

double takt_quantile(const double *sorted, size_t count, double p)
{
    const double at = p * (double)(count - 1);
    const size_t low = (size_t)at;
    if (low + 1 >= count)
        return sorted[count - 1];
    return sorted[low] + (at - (double)low) * (sorted[low + 1] - sorted[low]);
}

/* The smallest k with P(B <= k) >= level, B being binomial. */
static size_t binomial_quantile(size_t count, double p, double level)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (takt_binomial_cdf((double)middle, (double)count, p) >= level)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

takt_percentile takt_quantile_ci(const double *sorted, size_t count, double p, double level)
{
    const double tail = (1 - level) / 2;
    /* Of the order statistics x(1) .. x(n), x(l) is a lower bound if P(B < l) <= tail, and x(u) an
     * upper one if P(B >= u) <= tail. */
    const size_t l = binomial_quantile(count, p, tail * (1 + 1e-12));
    const size_t u = binomial_quantile(count, p, 1 - tail) + 1;
    takt_percentile r = {.value = takt_quantile(sorted, count, p)};
    r.resolved = l >= 1 && u <= count;
    r.ci.low = sorted[l >= 1 ? l - 1 : 0];
    r.ci.high = sorted[u <= count ? u - 1 : count - 1];
    return r;
}

/* All values are below it with the probability p^n. */
size_t takt_quantile_count(double p, double level)
{
    if (!(p > 0 && p < 1 && level < 1))
        return 1;
    return (size_t)fmin(1e9, ceil(log((1 - level) / 2) / log(fmax(p, 1 - p))));
}

/* ---- moments ---- */

double takt_sample_mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

double takt_sample_deviation(const double *values, size_t count, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (values[i] - mean) * (values[i] - mean);
    return count > 1 ? sqrt(sum / (double)(count - 1)) : 0;
}

static double absolute_deviation(const double *sorted, size_t count, double median, double *scratch)
{
    for (size_t i = 0; i < count; i++)
        scratch[i] = fabs(sorted[i] - median);
    takt_sort_doubles(scratch, count);
    return takt_quantile(scratch, count, 0.5);
}

static void count_outliers(const double *sorted, size_t count, takt_stats *s)
{
    const double first = takt_quantile(sorted, count, 0.25);
    const double third = takt_quantile(sorted, count, 0.75), range = third - first;
    for (size_t i = 0; i < count; i++) {
        const double beyond = sorted[i] < first ? first - sorted[i] : sorted[i] - third;
        s->severe += beyond > 3 * range;
        s->mild += beyond > 1.5 * range && beyond <= 3 * range;
    }
}

/* Everything; `scratch` has room for count numbers, for the deviations. */
static void describe(const double *sorted, size_t count, double *scratch, takt_stats *s)
{
    static const double p[TAKT_PERCENTILES] = {0.50, 0.90, 0.95, 0.99};
    *s = (takt_stats){.count = count, .min = sorted[0], .max = sorted[count - 1]};
    s->mean = takt_sample_mean(sorted, count);
    s->std = takt_sample_deviation(sorted, count, s->mean);
    s->median = takt_quantile(sorted, count, 0.5);
    s->mad = absolute_deviation(sorted, count, s->median, scratch);
    for (size_t i = 0; i < TAKT_PERCENTILES; i++)
        s->percentiles[i] = takt_quantile_ci(sorted, count, p[i], 0.95);
    s->median_ci = s->percentiles[0].ci;
    double half = 0;
    if (count > 1)
        half = takt_student_quantile(0.975, (double)count - 1) * s->std / sqrt((double)count);
    const double low = s->mean - half; /* a quantity that is never negative has no negative mean */
    s->mean_ci = (takt_interval){sorted[0] >= 0 ? fmax(0, low) : low, s->mean + half};
    count_outliers(sorted, count, s);
}

takt_status takt_stats_compute(takt_ctx *ctx, const double *values, size_t count, takt_stats *s)
{
    TAKT_NEED(ctx, s);
    void *block;
    *s = (takt_stats){0};
    if (count == 0)
        return takt_fail(ctx, TAKT_E_SAMPLE, "a sample of no values has no statistics");
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return takt_fail(ctx, TAKT_E_SAMPLE, "value %zu of the sample is not finite", i);
    TAKT_TRY(takt_mem_zero(ctx, 2 * count, sizeof *values, "statistics", &block));
    double *sorted = block;
    memcpy(sorted, values, count * sizeof *values);
    takt_sort_doubles(sorted, count);
    describe(sorted, count, sorted + count, s);
    takt_mem_put(ctx, block, 2 * count * sizeof *values);
    return TAKT_OK;
}
