/* resample.c - resampling, medians, Hodges and Lehmann's estimate, and where a series settles. */
#include <math.h>

#include "base/philox.h"
#include "stats/stats.h"

void takt_draw(const takt_philox_at *at, uint64_t *word, const double *from, double *to,
               size_t count)
{
    uint32_t words[64];
    for (size_t i = 0; i < count; i += 64) {
        const size_t some = count - i < 64 ? count - i : 64;
        takt_philox_fill(at, *word, some, words);
        *word += some;
        for (size_t k = 0; k < some; k++)
            to[i + k] = from[(uint64_t)words[k] * count >> 32];
    }
}

/* Moves the k-th smallest to values[k], smaller ones before it and larger ones after it. */
static void select_kth(double *values, size_t count, size_t k)
{
    size_t low = 0, high = count - 1;
    while (low < high) {
        const double pivot = values[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;;) {
            while (values[i] < pivot)
                i++;
            while (pivot < values[j])
                j--;
            if (i >= j)
                break;
            const double held = values[i];
            values[i++] = values[j];
            values[j--] = held;
        }
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
}

double takt_median_in_place(double *values, size_t count)
{
    const size_t upper = count / 2;
    select_kth(values, count, upper);
    if (count % 2 != 0)
        return values[upper];
    double lower = values[0];
    for (size_t i = 1; i < upper; i++)
        lower = values[i] > lower ? values[i] : lower;
    return (lower + values[upper]) / 2;
}

double takt_hodges_lehmann(const double *values, size_t count, double *scratch)
{
    size_t pairs = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i; j < count; j++)
            scratch[pairs++] = (values[i] + values[j]) / 2;
    return takt_median_in_place(scratch, pairs);
}

/* The rank of a value, the average one among equals. */
static double rank_of(const double *sorted, size_t count, double value)
{
    size_t low = 0, high = count;
    while (low < high) { /* first that is not smaller */
        const size_t middle = low + (high - low) / 2;
        if (sorted[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    size_t last = low;
    for (size_t end = count; last < end;) { /* first that is greater */
        const size_t middle = last + (end - last) / 2;
        if (sorted[middle] <= value)
            last = middle + 1;
        else
            end = middle;
    }
    return (double)(low + last + 1) / 2;
}

/* The most likely change in values[0, count): *at elements are before it. Returns the probability
 * of such a large statistic without any change; only changes to faster times count. */
static double find_change(const double *values, size_t count, double *sorted, size_t *at)
{
    const double n = (double)count;
    double u = 0, best = 0;
    for (size_t i = 0; i < count; i++)
        sorted[i] = values[i];
    takt_sort_doubles(sorted, count);
    *at = 0;
    for (size_t i = 0; i + 1 < count; i++) {
        u += 2 * rank_of(sorted, count, values[i]) - n - 1;
        if (u > best) {
            best = u;
            *at = i + 1;
        }
    }
    return 2 * exp(-6 * best * best / (n * n * n + n * n));
}

static double median_of(const double *values, size_t count, double *scratch)
{
    for (size_t i = 0; i < count; i++)
        scratch[i] = values[i];
    return takt_median_in_place(scratch, count);
}

size_t takt_settle_index(const double *values, size_t count, double *scratch)
{
    size_t from = 0;
    while (count - from >= 8) {
        size_t at;
        if (find_change(values + from, count - from, scratch, &at) > 0.01)
            break;
        const double before = median_of(values + from, at, scratch);
        const double after = median_of(values + from + at, count - from - at, scratch);
        if (before < 1.02 * after)
            break; /* real, perhaps, but not a warm-up */
        from += at;
    }
    /* A rank test cannot see one or two slow runs at the very beginning. */
    if (count - from >= 4) {
        const double rest = median_of(values + from, count - from, scratch);
        while (count - from > 4 && values[from] > 1.5 * rest)
            from++;
    }
    return from;
}
