/* compare_results.c - two results from different processes: is the difference larger than that
 * between processes?
 *
 * Within a process times agree with each other far better than with those of the next one: the
 * placement of memory and the load of other processes stay the same for its life. So a process
 * counts as one figure, and what a result of a single process cannot know is put in as an
 * allowance.
 */
#include <math.h>
#include <string.h>

#include "measure/bench.h"
#include "stats/compare.h"
#include "stats/special.h"
#include "stats/stats.h"

enum { LEAST_TIMES = 4 };

/* The logarithm of a time, how sure it is, and how well that is known. */
typedef struct figure {
    double centre, variance, freedom;
    size_t processes;
} figure;

/* The standard deviation between processes of one program; larger under machine load. */
static double allowance(const takt_bench *b)
{
    const char grade = takt_bench_grade(b)[0];
    return grade == 'C' || grade == 'D' ? 0.02 : 0.01;
}

static bool has_processes(const takt_bench_usage *m)
{
    for (size_t i = 0; i < m->processes; i++)
        if (!(m->process_medians[i] > 0) || !isfinite(m->process_medians[i]))
            return false;
    return m->processes > 1;
}

static figure of_processes(const takt_bench_usage *m)
{
    const double n = (double)m->processes;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < m->processes; i++)
        sum += log(m->process_medians[i]);
    for (size_t i = 0; i < m->processes; i++)
        squares += pow(log(m->process_medians[i]) - sum / n, 2);
    return (figure){sum / n, squares / (n - 1) / n, n - 1, m->processes};
}

static figure of_one(const takt_bench *b, const takt_bench_row *r)
{
    const takt_stats *s = &r->timing.stats;
    const double process = allowance(b), noise = log1p(r->noise) / 1.96;
    const double median = log(s->median_ci.high / s->median_ci.low) / (2 * 1.96);
    return (figure){log(s->median), process * process + noise * noise + median * median, 1e6, 1};
}

static figure look(const takt_bench *b, const takt_bench_row *r)
{
    return has_processes(&r->usage) ? of_processes(&r->usage) : of_one(b, r);
}

/* Degrees of freedom of Welch's test: between the smaller of both and their sum. */
static double freedom_of(const figure *a, const figure *b)
{
    const double sum = a->variance + b->variance;
    const double parts =
        a->variance * a->variance / a->freedom + b->variance * b->variance / b->freedom;
    return parts > 0 ? sum * sum / parts : fmin(a->freedom, b->freedom);
}

/* p of "they differ by the margin or more". */
static double same_p(double estimate, double error, double freedom, double log_margin)
{
    if (error == 0)
        return fabs(estimate) < log_margin ? 0 : 1;
    return fmax(1 - takt_student_cdf((estimate + log_margin) / error, freedom),
                takt_student_cdf((estimate - log_margin) / error, freedom));
}

/* No difference is called one that such results would not show most of the time. */
static takt_verdict judge(double estimate, double half, double detectable, double log_margin)
{
    if (fabs(estimate) + half < log_margin)
        return TAKT_SAME;
    if (fabs(estimate) <= fmax(log_margin, fmax(half, log1p(detectable))))
        return TAKT_INCONCLUSIVE;
    return estimate < 0 ? TAKT_FASTER : TAKT_SLOWER;
}

static void conclude(const figure *a, const figure *b, takt_comparison *c)
{
    const double estimate = b->centre - a->centre, log_margin = log1p(c->margin);
    const double error = sqrt(a->variance + b->variance), freedom = freedom_of(a, b);
    const double sure = takt_student_quantile(0.975, freedom);
    const double half = sure * error;
    c->ratio = exp(estimate);
    c->ci = (takt_interval){exp(estimate - half), exp(estimate + half)};
    c->same_p = same_p(estimate, error, freedom, log_margin);
    c->detectable = expm1((sure + takt_student_quantile(0.8, freedom)) * error);
    c->verdict = judge(estimate, half, c->detectable, log_margin);
    c->processes = a->processes < b->processes ? a->processes : b->processes;
    if (c->verdict != TAKT_INCONCLUSIVE)
        return;
    const double want = ceil((double)c->processes * pow(half / log_margin, 2));
    c->more_blocks = (size_t)fmin(1e6, fmax(1, want - (double)c->processes));
}

/* One file twice: no process came between. */
static bool are_one(const takt_timing *a, const takt_timing *b)
{
    return a->count == b->count &&
           memcmp(a->samples, b->samples, a->count * sizeof *a->samples) == 0;
}

takt_status takt_bench_compare(const takt_bench *a, size_t a_index, const takt_bench *b,
                               size_t b_index, double margin, takt_comparison *c)
{
    *c = (takt_comparison){.verdict = TAKT_INCONCLUSIVE, .margin = margin > 0 ? margin : 0.01};
    if (a_index >= a->count || b_index >= b->count)
        return takt_fail(a->ctx, TAKT_E_ARGUMENT, "there is no case %zu or no case %zu to compare",
                         a_index, b_index);
    const takt_bench_row *r = &a->rows[a_index], *s = &b->rows[b_index];
    if (r->timing.count < LEAST_TIMES || s->timing.count < LEAST_TIMES)
        return takt_fail(a->ctx, TAKT_E_SAMPLE, "%zu and %zu times are too few to compare",
                         r->timing.count, s->timing.count);
    figure left = look(a, r), right = look(b, s);
    if (are_one(&r->timing, &s->timing))
        left.variance = right.variance = 0;
    conclude(&left, &right, c);
    c->blocks = c->processes;
    c->noise = fmax(r->noise, s->noise);
    c->a_ns = exp(left.centre);
    c->b_ns = exp(right.centre);
    return TAKT_OK;
}
