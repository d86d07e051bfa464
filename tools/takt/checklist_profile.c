/* checklist_profile.c - boxes that a profile, an SLO or the state of the machine decides. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_job.h"
#include "checklist.h"

#define SAY CHECK_SAY

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* How many steps take 80 % of the time, from folded stacks: one line per step, its time at the
 * end. */
static void count_hot(check_sheet *s, const char *text)
{
    double sum = 0, part = 0;
    size_t count = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        s->steps++;
    double *times = calloc(s->steps + 1, sizeof *times);
    for (const char *at = text; times != NULL && *at != '\0';) {
        const size_t length = strcspn(at, "\n");
        size_t last = length;
        while (last > 0 && at[last - 1] != ' ')
            last--;
        times[count] = strtod(at + last, NULL);
        sum += times[count++];
        at += length + (at[length] == '\n');
    }
    if (times != NULL)
        qsort(times, count, sizeof *times, by_size);
    for (size_t i = 0; times != NULL && i < count && part < 0.8 * sum; i++, s->hot_steps++)
        part += times[i];
    free(times);
}

static takt_profile *profile_of(check_sheet *s)
{
    takt_ceilings ceilings;
    takt_profile_summary sum;
    tool_buffer text = {0};
    if (s->profile != NULL || tool_ceilings(s->p->t, false, &ceilings) != TAKT_EXIT_OK)
        return s->profile;
    const takt_profile_options options = {.ceilings = &ceilings, .max_ns = s->p->max_ns};
    if (takt_profile_create(s->p->base, &options, &s->profile) != TAKT_OK)
        return NULL;
    takt_profile_summarize(s->profile, &sum);
    s->floor_ns = sum.floor_ns;
    s->profiled_ns = sum.latency.median;
    if (takt_profile_print(s->profile, TAKT_PROFILE_FOLDED, 0, TAKT_FORMAT_TEXT, tool_to_buffer,
                           &text) == TAKT_OK &&
        tool_to_buffer(&text, "", 1) == 0)
        count_hot(s, text.at);
    free(text.at);
    return s->profile;
}

void check_profile(check_sheet *s, check_result *r)
{
    r->ticked = profile_of(s) != NULL;
    SAY(r->evidence, "%zu steps were timed", s->steps);
    SAY(r->fix, "takt profile %s", s->p->path);
}

void check_hot(check_sheet *s, check_result *r)
{
    r->ticked = profile_of(s) != NULL && s->hot_steps > 0;
    SAY(r->evidence, "%zu of %zu steps make 80 %% of the time", s->hot_steps, s->steps);
    SAY(r->fix, "takt profile %s names them", s->p->path);
}

void check_distance(check_sheet *s, check_result *r)
{
    const bool known = profile_of(s) != NULL && s->profiled_ns > 0;
    const double part = known ? s->floor_ns / s->profiled_ns : 0;
    char time[TAKT_TIME_TEXT];
    r->ticked = part >= 0.7;
    SAY(r->evidence, "%s, %.0f %% of what this machine's ceilings would allow",
        tool_figure_time(s->profiled_ns, time), 100 * part);
    SAY(r->fix, "takt profile %s says which step and what bounds it", s->p->path);
}

void check_flame(check_sheet *s, check_result *r)
{
    tool_buffer text = {0};
    r->ticked = profile_of(s) != NULL &&
                takt_profile_print(s->profile, TAKT_PROFILE_FLAME, 0, TAKT_FORMAT_TEXT,
                                   tool_to_buffer, &text) == TAKT_OK;
    SAY(r->evidence, "drawn in %zu bytes; takt profile --flame F.svg keeps it", text.length);
    SAY(r->fix, "takt profile %s --flame flame.svg", s->p->path);
    free(text.at);
}

/* Times of the plan of the flags; false: not available. */
static bool time_base(check_sheet *s, takt_timing *timing)
{
    const takt_timing_options options = {.max_ns = s->p->max_ns, .min_ns = s->p->max_ns / 2};
    return takt_session_time(s->p->base, &options, timing) == TAKT_OK;
}

void check_latency(check_sheet *s, check_result *r)
{
    takt_slo slo = {0};
    takt_timing timing = {0};
    SAY(r->fix, "add --slo p99=5ms, your own");
    SAY(r->evidence, "no SLO is given");
    r->ticked = false;
    if (!bench_take_slo(s->p->t, &slo) || slo.limit_ns <= 0 || !time_base(s, &timing))
        return;
    const double value = takt_timing_quantile(s->p->t->ctx, &timing, slo.part);
    r->ticked = value <= slo.limit_ns;
    char a[TAKT_TIME_TEXT], b[TAKT_TIME_TEXT];
    SAY(r->evidence, "p%.4g is %s, the SLO %s", 100 * slo.part, tool_figure_time(value, a),
        tool_figure_time(slo.limit_ns, b));
    SAY(r->fix, "takt doctor %s --slow", s->p->path);
    takt_timing_free(s->p->t->ctx, &timing);
}

/* 178460, not 1.7846e+05; but 0.001. */
static const char *plainly(double value, char to[static 32])
{
    snprintf(to, 32, value >= 1e5 && value < 1e15 ? "%.0f" : "%.5g", value);
    return to;
}

void check_rate(check_sheet *s, check_result *r)
{
    char a[32], b[32];
    const char *text = tool_text_of(s->p->t, TAKT_F_QPS);
    const double want = text != NULL ? strtod(text, NULL) : 0;
    char sizes[TOOL_SIZES];
    int64_t batch = 1;
    if (!tool_with_batch(s->p, 1, 1, sizes, &batch))
        batch = 1;
    const double rate = (double)batch * 1e9 / fmax(s->p->run_ns, 1);
    r->ticked = want > 0 && rate >= want;
    if (want > 0)
        SAY(r->evidence, "%s samples a second, %s are wanted", plainly(rate, a), plainly(want, b));
    else
        SAY(r->evidence, "%s samples a second; no requirement is given", plainly(rate, a));
    if (want > 0)
        SAY(r->fix, "takt doctor %s --throughput", s->p->path);
    else
        SAY(r->fix, "add --qps with what you need");
}

static int ignore(void *user, const char *text, size_t length)
{
    (void)user;
    (void)text;
    (void)length;
    return 0;
}

void check_machine(check_sheet *s, check_result *r)
{
    takt_environment e = {.grade = 'D'};
    const takt_status status =
        takt_environment_check(s->p->t->ctx, &e, TAKT_FORMAT_TEXT, ignore, NULL);
    r->ticked = status == TAKT_OK && e.warnings == 0;
    SAY(r->evidence, "grade %c, %zu finding%s", e.grade, e.warnings, e.warnings == 1 ? "" : "s");
    SAY(r->fix, "takt benchmark verify --env names each with its command");
}

/* A report of this model is stored next to it: m.takt, m.html or m.json. */
void check_report(check_sheet *s, check_result *r)
{
    static const char *const endings[] = {"html", "json"};
    const char *dot = strrchr(s->p->path, '.');
    const int length = (int)(dot != NULL ? (size_t)(dot - s->p->path) : strlen(s->p->path));
    r->ticked = false;
    SAY(r->evidence, "no report lies next to the model");
    SAY(r->fix, "takt benchmark run %.60s -o %.*s.html", s->p->path, length > 60 ? 60 : length,
        s->p->path);
    for (size_t i = 0; i < 2; i++) {
        char path[2048];
        takt_bench *bench = NULL;
        snprintf(path, sizeof path, "%.*s.%s", length, s->p->path, endings[i]);
        if (takt_bench_load(s->p->t->ctx, path, &bench) == TAKT_OK) {
            r->ticked = true;
            SAY(r->evidence, "%.150s holds %zu results", path, takt_bench_count(bench));
        }
        takt_bench_destroy(bench);
    }
}
