/* trend.c - sorts results, finds one metric in each, and its steps. */
#include "measure/trend.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/plain.h"
#include "base/sort.h"
#include "stats/stats.h"

/* Only the file's name: results of one model may have been measured from several folders. */
static const char *model_of(const takt_bench *b)
{
    const char *slash = b->model != NULL ? strrchr(b->model, '/') : NULL;
    return slash != NULL ? slash + 1 : b->model != NULL ? b->model : "";
}

static takt_status check_models(takt_ctx *ctx, const takt_trend *t)
{
    const char *a = model_of(t->benches[0]);
    for (size_t i = 1; i < t->count; i++) {
        const char *b = model_of(t->benches[i]);
        if (a[0] == '\0' || b[0] == '\0' || strcmp(a, b) == 0)
            continue;
        takt_fail(ctx, TAKT_E_RESULT_MIX, "result %zu is of model %.100s, the first of %.100s",
                  i + 1, b, a);
        return takt_fail_hint(ctx, "give the results of one model");
    }
    return TAKT_OK;
}

static takt_status check(takt_ctx *ctx, const takt_trend *t)
{
    if (t->count < 2)
        return takt_fail(ctx, TAKT_E_RESULT_MIX, "%zu result%s no trend", t->count,
                         t->count == 1 ? " makes" : "s make");
    for (size_t i = 1; i < t->count; i++) {
        const char *a = takt_bench_fingerprint(t->benches[0]);
        const char *b = takt_bench_fingerprint(t->benches[i]);
        if (strcmp(a, b) != 0) {
            takt_fail(ctx, TAKT_E_RESULT_MIX, "result %zu is of machine %s, the first of %s", i + 1,
                      b[0] != '\0' ? b : "unknown", a[0] != '\0' ? a : "unknown");
            return takt_fail_hint(ctx, "give the results of one machine");
        }
    }
    return check_models(ctx, t);
}

/* ---- the order ---- */

typedef struct place {
    const takt_bench *bench;
    size_t given; /* its place among the arguments */
} place;

static bool is_earlier(const void *a, const void *b)
{
    const place *p = a, *q = b;
    const int order = strcmp(takt_bench_time(p->bench), takt_bench_time(q->bench));
    return order != 0 ? order < 0 : p->given < q->given;
}

/* results_10.json comes before results_2.json in a shell's list, but not in time. */
static takt_status put_in_order(takt_ctx *ctx, const takt_trend *t, takt_trend_view *v)
{
    const size_t each = sizeof(place) + sizeof(void *);
    void *block;
    bool all_dated = true;
    TAKT_TRY(takt_mem_zero(ctx, t->count, each, "an order", &block));
    place *places = block;
    const void **order = (const void **)(void *)(places + t->count);
    for (size_t i = 0; i < t->count; i++) {
        places[i] = (place){t->benches[i], i};
        order[i] = &places[i];
        all_dated = all_dated && takt_bench_time(t->benches[i])[0] != '\0';
    }
    if (all_dated)
        takt_sort_pointers(order, t->count, is_earlier);
    for (size_t i = 0; i < t->count; i++)
        v->benches[i] = ((const place *)order[i])->bench;
    takt_mem_put(ctx, block, t->count * each);
    return TAKT_OK;
}

/* ---- the figures ---- */

static bool differ(const char *a, const char *b)
{
    return a != NULL && b != NULL && a[0] != '\0' && b[0] != '\0' && strcmp(a, b) != 0;
}

/* Another backend, precision or numerics is another case; a result that does not say is
 * accepted. */
static takt_status check_config(takt_ctx *ctx, takt_trend_view *v, size_t i,
                                const takt_run_config *c)
{
    if (c->backend == NULL)
        return TAKT_OK;
    if (v->config == NULL)
        v->config = c;
    const struct {
        const char *name, *first, *here;
    } parts[] = {{"backend", v->config->backend, c->backend},
                 {"numerics", v->config->numerics, c->numerics},
                 {"weights stored in", v->config->precision, c->precision}};
    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++)
        if (differ(parts[p].first, parts[p].here)) {
            takt_fail(ctx, TAKT_E_RESULT_MIX,
                      "result %zu, of %s, is not computed like those before it: %s %s, not %s",
                      i + 1, takt_bench_time(v->benches[i]), parts[p].name, parts[p].here,
                      parts[p].first);
            return takt_fail_hint(ctx, "give results of one backend, precision and numerics");
        }
    return TAKT_OK;
}

static takt_status point_of(takt_ctx *ctx, takt_trend_view *v, size_t i)
{
    const takt_bench *b = v->benches[i];
    const size_t row = takt_bench_find_case(b, v->benches[0], 0);
    takt_trend_sample s = {0};
    if (row == SIZE_MAX && b->count > 0) {
        takt_fail(ctx, TAKT_E_RESULT_MIX,
                  "result %zu, of %s, holds nothing of %s, which the first "
                  "is of",
                  i + 1, takt_bench_time(b), v->which);
        return takt_fail_hint(ctx,
                              "give results of one batch size, number of threads and scenario");
    }
    if (row == SIZE_MAX || !v->metric->of(&b->rows[row], &s)) {
        takt_fail(ctx, TAKT_E_RESULT_MIX, "result %zu, of %s, holds no %s", i + 1,
                  takt_bench_time(b), v->metric->name);
        return takt_fail_hint(ctx, "measure it with takt benchmark run --metrics or --counter");
    }
    TAKT_TRY(check_config(ctx, v, i, &b->rows[row].config));
    v->points[i] = (takt_plot_point){
        .x = (double)i + 1, .y = s.value, .low = s.low, .high = s.high, .name = takt_bench_time(b)};
    return TAKT_OK;
}

static void find_steps(takt_trend_view *v, double *values, double *scratch)
{
    for (size_t i = 0; i < v->count; i++)
        values[i] = v->points[i].y;
    v->step_count = takt_steps_find(values, v->count, scratch, v->steps, TAKT_TREND_STEPS);
    for (size_t i = 0; i <= v->step_count; i++) {
        const size_t from = i == 0 ? 0 : v->steps[i - 1];
        const size_t to = i == v->step_count ? v->count : v->steps[i];
        memcpy(scratch, values + from, (to - from) * sizeof *values);
        v->levels[i] = takt_median_in_place(scratch, to - from);
    }
}

double takt_trend_change(const takt_trend_view *v, size_t step)
{
    return v->levels[step] != 0 ? v->levels[step + 1] / v->levels[step] - 1 : 0;
}

static void tell(const takt_trend_view *v, takt_trend_steps *steps)
{
    if (v->step_count == 0)
        return;
    const double change = takt_trend_change(v, v->step_count - 1);
    *steps = (takt_trend_steps){.count = v->step_count,
                                .last = v->steps[v->step_count - 1],
                                .change = change,
                                .is_worse = (change > 0) != v->metric->more_is_better};
}

static takt_status fill(takt_ctx *ctx, const takt_trend *t, takt_trend_view *v, double *values)
{
    TAKT_TRY(put_in_order(ctx, t, v));
    takt_bench_case_name(v->benches[0], 0, v->which, sizeof v->which);
    for (size_t i = 0; i < v->count; i++)
        TAKT_TRY(point_of(ctx, v, i));
    find_steps(v, values, values + v->count);
    return TAKT_OK;
}

takt_status takt_bench_trend(takt_ctx *ctx, const takt_trend *t, takt_sink_fn *sink, void *user,
                             takt_trend_steps *steps)
{
    takt_trend_view v = {.count = t->count};
    takt_arena arena;
    takt_text text;
    *steps = (takt_trend_steps){0};
    TAKT_TRY(takt_trend_metric_find(ctx, t->metric, &v.metric));
    TAKT_TRY(check(ctx, t));
    takt_arena_init(&arena, ctx);
    v.points = takt_arena_array(&arena, v.count, sizeof *v.points);
    v.benches = takt_arena_array(&arena, v.count, sizeof *v.benches);
    double *values = takt_arena_array(&arena, v.count, 2 * sizeof *values);
    takt_status status = v.points != NULL && v.benches != NULL && values != NULL
                             ? fill(ctx, t, &v, values)
                             : TAKT_ERR_MEMORY;
    takt_text_init(&text, ctx);
    if (status == TAKT_OK) {
        tell(&v, steps);
        status = takt_trend_write(&text, &v, t->format);
    }
    takt_text_plain(&text);
    if (status == TAKT_OK && sink(user, takt_text_get(&text), text.length) != 0)
        status = takt_fail(ctx, TAKT_E_FILE_WRITE, "the reader of a report refused it");
    takt_text_deinit(&text);
    takt_arena_deinit(&arena);
    return status;
}
