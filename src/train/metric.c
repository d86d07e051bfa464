/* metric.c - the table of metrics, and functions that they share. */
#include "train/metric.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/philox.h"
#include "stats/special.h"
#include "stats/stats.h"

#define TAKT_METRIC(stem) extern const takt_metric takt_metric_##stem;
#include "metric_list.inc"
#undef TAKT_METRIC

const takt_metric *const takt_metrics[] = {
#define TAKT_METRIC(stem) &takt_metric_##stem,
#include "metric_list.inc"
#undef TAKT_METRIC
    NULL};

const takt_metric *takt_metric_find(const char *name, size_t length)
{
    for (size_t i = 0; takt_metrics[i] != NULL; i++)
        if (strlen(takt_metrics[i]->name) == length &&
            memcmp(takt_metrics[i]->name, name, length) == 0)
            return takt_metrics[i];
    return NULL;
}

/* ---- fractions and means ---- */

/* E. B. Wilson, 1927: keeps its level for fractions near 0 and 1 and for small samples. */
static takt_interval wilson(double share, double count)
{
    const double z = 1.959963984540054, zz = z * z / count;
    const double middle = (share + zz / 2) / (1 + zz);
    const double half = z / (1 + zz) * sqrt(share * (1 - share) / count + zz / (4 * count));
    return (takt_interval){fmax(0, middle - half), fmin(1, middle + half)};
}

void takt_metric_ratio(const takt_units *u, size_t sum, size_t count, takt_metric_result *result)
{
    double top = 0, bottom = 0, squares = 0;
    bool is_binary = true;
    for (size_t i = 0; i < u->count; i++) {
        const double value = u->at[i * u->width + sum], weight = u->at[i * u->width + count];
        top += value;
        bottom += weight;
        is_binary = is_binary && weight == 1 && (value == 0 || value == 1);
    }
    const double ratio = top / bottom, n = (double)u->count;
    result->value = ratio;
    if (is_binary) {
        result->ci = wilson(ratio, n);
        return;
    }
    for (size_t i = 0; i < u->count; i++) {
        const double rest = u->at[i * u->width + sum] - ratio * u->at[i * u->width + count];
        squares += rest * rest;
    }
    const double error = u->count > 1 ? sqrt(squares * n / (n - 1)) / bottom : NAN;
    const double half = u->count > 1 ? takt_student_quantile(0.975, n - 1) * error : NAN;
    result->ci = (takt_interval){ratio - half, ratio + half};
}

int64_t takt_metric_side(const takt_units *u, double score)
{
    return score > (u->is_share ? 0.5 : 0);
}

size_t takt_metric_best(const takt_metric_row *row)
{
    size_t best = 0;
    for (size_t i = 1; i < row->count; i++)
        if (row->x[i] > row->x[best])
            best = i;
    return best;
}

/* ---- resampling ---- */

enum { ROUNDS = 1000, ROUNDS_OF_MANY = 200, MANY = 50000, WORDS = 1024 };

/* How often each of `count` units is drawn in `count` draws. */
static void draw(uint32_t round, size_t count, uint32_t *times)
{
    const takt_philox_at at = {.seed = 0x6d6574726963, .stream = 1, .step = round};
    uint32_t words[WORDS];
    memset(times, 0, count * sizeof *times);
    for (size_t first = 0; first < count; first += WORDS) {
        const size_t size = count - first < WORDS ? count - first : WORDS;
        takt_philox_fill(&at, first, size, words);
        for (size_t i = 0; i < size; i++)
            times[(uint64_t)words[i] * count >> 32]++;
    }
}

takt_status takt_metric_resample(const takt_units *u, takt_metric_figure_fn *figure,
                                 const void *user, takt_metric_result *result)
{
    takt_arena arena;
    const size_t rounds = u->count > MANY ? ROUNDS_OF_MANY : ROUNDS;
    takt_arena_init(&arena, u->ctx);
    uint32_t *times = takt_arena_array(&arena, u->count, sizeof *times);
    double *figures = takt_arena_array(&arena, rounds, sizeof *figures);
    size_t kept = 0;
    const bool ok = times != NULL && figures != NULL;
    if (ok) {
        for (size_t i = 0; i < u->count; i++)
            times[i] = 1;
        result->value = figure(user, times);
        for (size_t i = 0; i < rounds; i++) {
            draw((uint32_t)i, u->count, times);
            const double value = figure(user, times);
            if (isfinite(value)) /* a draw may lack a class */
                figures[kept++] = value;
        }
        takt_sort_doubles(figures, kept);
        result->ci = kept > 0 ? (takt_interval){takt_quantile(figures, kept, 0.025),
                                                takt_quantile(figures, kept, 0.975)}
                              : (takt_interval){NAN, NAN};
    }
    takt_arena_deinit(&arena);
    return ok ? TAKT_OK : TAKT_ERR_MEMORY;
}
