/* suggest.c - which batch size to use: the best that meets its SLO, the knee, a rule of thumb. */
#include <math.h>
#include <string.h>

#include "base/options.h"
#include "measure/bench.h"
#include "os/cpu.h"

static const double knee_part = 0.9;

/* The marginal cost of a sample: the slope between the smallest and the largest batch. */
static double sample_bytes(const takt_bench *b, double *fixed)
{
    const takt_bench_row *low = &b->rows[0], *high = low;
    for (size_t i = 1; i < b->count; i++) {
        low = b->rows[i].batch < low->batch ? &b->rows[i] : low;
        high = b->rows[i].batch > high->batch ? &b->rows[i] : high;
    }
    *fixed = 0;
    if (high->batch == low->batch || high->planned_peak <= low->planned_peak)
        return 0;
    const double each =
        (double)(high->planned_peak - low->planned_peak) / (double)(high->batch - low->batch);
    *fixed = fmax(0, (double)low->planned_peak - each * (double)low->batch);
    return each;
}

typedef struct choice {
    const takt_bench *b;
    int threads;
    uint64_t memory;
    const char *precision; /* NULL: any */
} choice;

static bool is_asked(const choice *c, const takt_bench_row *r)
{
    return (c->threads == 0 || r->threads == c->threads) &&
           (c->precision == NULL || r->config.precision == NULL ||
            strcmp(c->precision, r->config.precision) == 0);
}

static void find_best(const choice *c, takt_batch_suggestion *s)
{
    for (size_t i = 0; i < c->b->count; i++) {
        const takt_bench_row *r = &c->b->rows[i];
        const double rate = takt_bench_rate(r);
        if (!is_asked(c, r) || !takt_bench_keeps_slo(c->b, i) || r->planned_peak > c->memory ||
            rate <= s->best_rate)
            continue;
        s->best = r->batch;
        s->best_rate = rate;
        s->threads = r->threads;
        s->precision = r->config.precision;
    }
}

/* Beyond it more latency buys little. Among cases whose weights are stored like the best one's. */
static void find_knee(const choice *c, takt_batch_suggestion *s)
{
    double most = 0;
    for (size_t i = 0; i < c->b->count; i++)
        if (is_asked(c, &c->b->rows[i]))
            most = fmax(most, takt_bench_rate(&c->b->rows[i]));
    for (size_t i = 0; i < c->b->count; i++) {
        const takt_bench_row *r = &c->b->rows[i];
        const double rate = takt_bench_rate(r);
        if (!is_asked(c, r) || rate < knee_part * most || (s->knee > 0 && r->batch >= s->knee))
            continue;
        s->knee = r->batch;
        s->knee_rate = rate;
    }
}

takt_status takt_suggest_batch(const takt_bench *b, const takt_batch_limits *limits,
                               takt_batch_suggestion *s)
{
    TAKT_NEED(NULL, b);
    double fixed;
    takt_cpu_facts facts;
    *s = (takt_batch_suggestion){0};
    if (b->count == 0)
        return takt_fail(b->ctx, TAKT_E_SAMPLE, "a result without cases suggests no batch size");
    takt_batch_limits given;
    TAKT_TRY(takt_options_read(b->ctx, "takt_batch_limits", limits, &given, sizeof given));
    choice c = {.b = b, .threads = given.threads, .memory = given.memory};
    c.memory = c.memory > 0 ? c.memory : takt_memory_allowed();
    c.memory = c.memory > 0 ? c.memory : UINT64_MAX;
    find_best(&c, s);
    c.precision = s->precision;
    find_knee(&c, s);
    s->sample_bytes = sample_bytes(b, &fixed);
    takt_cpu_read(&facts);
    const double threads = c.threads > 0    ? c.threads
                           : s->threads > 0 ? s->threads
                                            : takt_cpu_threads(&facts);
    double most = 2 * threads;
    if (s->sample_bytes > 0)
        most = fmin(most, floor(fmax(0, (double)c.memory - fixed) / s->sample_bytes));
    s->formula = (int64_t)fmax(1, most);
    return TAKT_OK;
}
