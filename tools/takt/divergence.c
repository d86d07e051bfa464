/* divergence.c - Kullback-Leibler divergence from a reference, token by token, and its figures. */
#include "divergence.h"

#include <math.h>
#include <stdlib.h>

void tool_log_shares(const float *scores, size_t count, float *logs)
{
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < count; i++)
        most = (double)scores[i] > most ? (double)scores[i] : most;
    for (size_t i = 0; i < count; i++)
        sum += exp((double)scores[i] - most);
    const double base = most + log(sum);
    for (size_t i = 0; i < count; i++)
        logs[i] = (float)((double)scores[i] - base);
}

static size_t best_of(const float *logs, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        best = logs[i] > logs[best] ? i : best;
    return best;
}

bool tool_divergence_add(tool_divergence *d, const float *reference, const float *logs,
                         size_t count, int32_t next)
{
    double sum = 0;
    if (d->count == d->room) {
        double *more = realloc(d->each, (2 * d->room + 1024) * sizeof *more);
        if (more == NULL)
            return false;
        d->each = more;
        d->room = 2 * d->room + 1024;
    }
    for (size_t i = 0; i < count; i++) {
        const double p = exp((double)reference[i]);
        sum += p > 0 ? p * ((double)reference[i] - (double)logs[i]) : 0;
    }
    d->each[d->count++] = sum;
    d->same += best_of(reference, count) == best_of(logs, count);
    d->surprise -= (double)reference[next];
    d->squares += (double)reference[next] * (double)reference[next];
    return true;
}

tool_figure tool_mean(double sum, double squares, size_t count)
{
    const double n = (double)count, mean = sum / n;
    const double variance = count > 1 ? (squares - sum * mean) / (n - 1) : 0;
    return (tool_figure){mean, sqrt(fmax(variance, 0) / n)};
}

tool_figure tool_divergence_mean(const tool_divergence *d)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < d->count; i++) {
        sum += d->each[i];
        squares += d->each[i] * d->each[i];
    }
    return tool_mean(sum, squares, d->count);
}

tool_figure tool_divergence_same(const tool_divergence *d)
{
    const double n = (double)d->count, part = (double)d->same / n;
    return (tool_figure){part, d->count > 1 ? sqrt(part * (1 - part) / (n - 1)) : 0};
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The number at a rank, between two by their weights. */
static double at_rank(const tool_divergence *d, double rank)
{
    const double top = (double)(d->count - 1);
    const double held = rank < 0 ? 0 : rank > top ? top : rank;
    const size_t low = (size_t)held, high = low + 1 < d->count ? low + 1 : low;
    return d->each[low] + (held - (double)low) * (d->each[high] - d->each[low]);
}

tool_figure tool_divergence_quantile(tool_divergence *d, double part)
{
    const double n = (double)d->count, rank = part * (n - 1), spread = sqrt(n * part * (1 - part));
    qsort(d->each, d->count, sizeof *d->each, ascending);
    return (tool_figure){at_rank(d, rank),
                         (at_rank(d, rank + spread) - at_rank(d, rank - spread)) / 2};
}
