/* bench.c - measures one combination of a benchmark, and writes results. */
#include <math.h>

#include "base/mem.h"
#include "base/options.h"
#include "measure/bench.h"
#include "measure/plot_axis.h"
#include "measure/png.h"
#include "measure/session/bench.h"
#include "measure/session/measure.h"
#include "os/energy.h"
#include "os/facts.h"
#include "os/os.h"
#include "stats/compare.h"
#include "stats/stats.h"

/* ---- what it costs besides time ---- */

typedef struct meter {
    takt_energy energy;
    bool has_energy;
    uint64_t cpu_ns, wall_ns;
} meter;

static void meter_begin(const takt_bench *b, meter *m)
{
    m->has_energy = b->energy && takt_energy_read("", &m->energy);
    m->cpu_ns = takt_os_cpu_ns();
    m->wall_ns = b->ctx->now_ns(b->ctx->clock_user);
}

/* Warm-up counts too: it is work of the same kind. */
static void meter_end(const takt_bench *b, const meter *m, takt_bench_row *r)
{
    const double wall = (double)(b->ctx->now_ns(b->ctx->clock_user) - m->wall_ns);
    const double cpu = (double)(takt_os_cpu_ns() - m->cpu_ns);
    const size_t runs = r->timing.count + r->timing.warmup_runs;
    takt_cpu_facts facts;
    takt_energy now;
    takt_cpu_read(&facts);
    if (m->cpu_ns > 0 && wall > 0 && facts.usable > 0)
        r->usage.cpu_pct = fmin(100, 100 * cpu / wall / facts.usable); /* two clocks, read apart */
    if (!m->has_energy || runs == 0 || !takt_energy_read("", &now))
        return;
    const size_t each = r->usage.scenario == TAKT_MULTI_STREAM ? r->usage.streams : 1;
    r->usage.energy = now.source;
    r->usage.joules = takt_energy_between(&m->energy, &now) / (double)(runs * each);
}

/* ---- memory ---- */

typedef struct counter {
    takt_allocator inner;
    _Atomic uint64_t calls;
} counter;

static void *counted_get(void *user, size_t size, size_t align)
{
    counter *c = user;
    c->calls++;
    return c->inner.get(c->inner.user, size, align);
}

static void counted_put(void *user, void *block, size_t size)
{
    counter *c = user;
    c->inner.put(c->inner.user, block, size);
}

/* One run with an allocator that counts. */
static takt_status count_allocations(takt_session *s, uint64_t *count)
{
    counter c = {.inner = s->ctx->allocator};
    s->ctx->allocator = (takt_allocator){counted_get, counted_put, &c};
    const takt_status status = takt_session_run(s);
    s->ctx->allocator = c.inner;
    *count = c.calls;
    return status;
}

static size_t live_at(const takt_plan *plan, size_t at)
{
    size_t bytes = 0;
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const takt_buffer *b = &plan->buffers[i];
        if (b->place == TAKT_PLACE_ARENA && b->space == TAKT_HOST && b->first <= (int)at &&
            b->last >= (int)at)
            bytes += b->bytes;
    }
    return bytes;
}

static void fill_memory(takt_bench *b, takt_session *s, takt_bench_row *r)
{
    const takt_plan *plan = s->plan;
    takt_plan_info info;
    uint64_t now, most;
    takt_plan_query(plan, &info);
    r->planned_peak = info.peak;
    takt_process_memory(&now, &most);
    /* Memory that the process used before and freed does not count for this benchmark. */
    const uint64_t reached = most > b->peak_before ? most : now;
    r->rss_delta = reached > b->rss_before ? reached - b->rss_before : 0;
    double sum = 0, squares = 0;
    const double held = (double)(info.peak - info.arena), n = (double)plan->step_count;
    for (size_t i = 0; i < plan->step_count; i++) {
        const double live = held + (double)live_at(plan, i);
        sum += live;
        squares += live * live;
    }
    r->live_mean = n > 0 ? sum / n : held;
    r->live_std = n > 1 ? sqrt(fmax(0, (squares - sum * sum / n) / (n - 1))) : 0;
}

/* ---- the steps ---- */

static takt_status fill_steps(takt_bench *b, takt_session *s, takt_bench_row *r)
{
    const takt_profile_options options = {.ceilings = b->has_ceilings ? &b->ceilings : NULL,
                                          .max_ns = 100000000};
    takt_profile *p;
    TAKT_TRY(takt_profile_create(s, &options, &p));
    const size_t count = p->plan->step_count;
    r->ops = takt_arena_array(&b->arena, count, sizeof *r->ops);
    for (size_t i = 0; r->ops != NULL && i < count; i++) {
        const takt_profile_row *row = &p->rows[i];
        r->ops[i] = (takt_bench_op){.name = takt_arena_format(&b->arena, "%s", row->step->name),
                                    .type = row->step->kind,
                                    .bound = row->bound,
                                    .limit = row->limit,
                                    .time_us = row->median_ns * 1e-3,
                                    .share = row->share,
                                    .flops = row->roof.flops,
                                    .bytes = row->roof.bytes,
                                    .percent = row->percent};
    }
    r->op_count = r->ops != NULL ? count : 0;
    if (b->has_ceilings && takt_profile_model_cache(p, &r->usage.modelled) != TAKT_OK)
        r->usage.modelled.accesses = 0;
    takt_profile_destroy(p);
    return r->ops != NULL || count == 0 ? TAKT_OK : TAKT_ERR_MEMORY;
}

/* ---- times ---- */

static takt_status fill_throughput(takt_bench_row *r, takt_ctx *ctx)
{
    void *block;
    TAKT_TRY(takt_mem_zero(ctx, r->timing.count, sizeof(double), "throughput", &block));
    double *rates = block;
    for (size_t i = 0; i < r->timing.count; i++)
        rates[i] = (double)r->batch * 1e9 / fmax(1, r->timing.samples[i]);
    const takt_status status = takt_stats_compute(ctx, rates, r->timing.count, &r->throughput);
    takt_mem_put(ctx, block, r->timing.count * sizeof(double));
    return status;
}

static void fill_others(takt_bench *b)
{
    takt_ticks now;
    takt_ticks_read(&now);
    b->others = takt_ticks_between(&b->ticks, &now);
}

/* The plan may be gone before the result. */
static void keep_config(takt_bench *b, const takt_plan *plan, takt_bench_row *r)
{
    takt_plan_config(plan, &r->config);
    r->config.backend = takt_arena_format(&b->arena, "%s", r->config.backend);
    r->config.precision = takt_arena_format(&b->arena, "%s", r->config.precision);
    r->config.numerics = takt_arena_format(&b->arena, "%s", r->config.numerics);
    r->config.note = NULL;
}

typedef struct case_work {
    takt_bench *bench;
    takt_session *session;
    const takt_bench_case *o;
    takt_bench_row *row;
    meter meter;
} case_work;

/* Statistics of all times, or of those measured so far. */
static takt_status digest(case_work *w)
{
    takt_bench *b = w->bench;
    takt_bench_row *r = w->row;
    const takt_bench_case *o = w->o;
    meter_end(b, &w->meter, r);
    fill_others(b);
    fill_memory(b, w->session, r);
    if (r->timing.count == 0)
        return TAKT_OK;
    if (o->scenario == TAKT_SINGLE_STREAM)
        TAKT_TRY(fill_throughput(r, b->ctx));
    r->usage.slo = o->slo;
    if (o->slo.limit_ns > 0)
        r->usage.slo_ns = takt_timing_quantile(b->ctx, &r->timing, o->slo.part);
    r->usage.slo_sure = r->timing.count >= takt_quantile_count(o->slo.part, 0.95);
    r->usage.slo_met = r->usage.slo_ns <= o->slo.limit_ns && r->usage.unanswered == 0 &&
                       (!o->find_peak || r->usage.peak.qps > 0);
    return takt_noise_floor(b->ctx, r->timing.samples, r->timing.count, &r->noise);
}

static takt_status keep(void *user, takt_timing *t)
{
    case_work *w = user;
    TAKT_TRY(takt_stats_compute(w->bench->ctx, t->samples, t->count, &t->stats));
    TAKT_TRY(digest(w));
    return w->o->keep(w->o->keep_user);
}

static takt_status measure(case_work *w)
{
    takt_timing_options timing = w->o->timing;
    if (w->o->scenario != TAKT_SINGLE_STREAM)
        return takt_bench_measure_load(w->bench, w->session, w->o, w->row);
    if (w->o->keep != NULL && timing.keep == NULL) {
        timing.keep = keep;
        timing.keep_user = w;
    }
    return takt_session_time(w->session, &timing, &w->row->timing);
}

takt_status takt_bench_add(takt_bench *b, takt_session *s, const takt_bench_case *settings)
{
    takt_bench_case given;
    const takt_bench_case *o = &given;
    takt_bench_row *r;
    TAKT_TRY(takt_options_read(b->ctx, "takt_bench_case", settings, &given, sizeof given));
    TAKT_TRY(takt_bench_push(b, &r));
    const size_t enough = o->slo.limit_ns > 0 ? takt_quantile_count(o->slo.part, 0.95) : 0;
    if (given.timing.min_runs < enough)
        given.timing.min_runs = enough;
    r->batch = o->batch > 0 ? o->batch : 1;
    r->threads = s->plan->threads;
    keep_config(b, s->plan, r);
    r->load_ns = o->load_ns;
    r->plan_ns = o->plan_ns;
    r->usage.scenario = o->scenario;
    case_work w = {.bench = b, .session = s, .o = o, .row = r};
    meter_begin(b, &w.meter);
    const takt_status status = measure(&w), digested = digest(&w);
    if (r->timing.count == 0) {
        b->count--; /* nothing was measured */
        takt_timing_free(b->ctx, &r->timing);
        return status;
    }
    if (status != TAKT_OK || digested != TAKT_OK)
        return status != TAKT_OK ? status : digested;
    TAKT_TRY(count_allocations(s, &r->allocations));
    return o->no_steps ? TAKT_OK : fill_steps(b, s, r);
}

/* The times of the first combination, in the order in which they were taken. */
static takt_status draw(const takt_bench *b, takt_text *text)
{
    enum { MOST = 4000 };
    const takt_timing *t = b->count > 0 ? &b->rows[0].timing : NULL;
    takt_arena arena;
    double scale;
    if (t == NULL || t->count == 0)
        return takt_fail(b->ctx, TAKT_E_SAMPLE, "the result has no times to draw");
    const size_t stride = t->count / MOST + 1, count = (t->count + stride - 1) / stride;
    const double end = fmax(takt_plot_end(t), t->stats.min + 1);
    const char *unit = takt_time_word(end, &scale);
    takt_arena_init(&arena, b->ctx);
    takt_plot_point *points = takt_arena_array(&arena, count, sizeof *points);
    for (size_t i = 0; points != NULL && i < count; i++)
        points[i] =
            (takt_plot_point){.x = (double)(i * stride), .y = t->samples[i * stride] * scale};
    const takt_plot plot = {.title = b->count > 1 ? "latency of the first case" : "latency",
                            .x_label = "run",
                            .y_label = unit,
                            .points = points,
                            .count = count,
                            .level = t->stats.median * scale,
                            .y_most = end * scale};
    const takt_status status = points != NULL ? takt_plot_png(text, &plot) : TAKT_ERR_MEMORY;
    takt_arena_deinit(&arena);
    return status;
}

takt_status takt_bench_write(const takt_bench *b, takt_bench_format format, takt_sink_fn *sink,
                             void *user)
{
    takt_text text;
    takt_json_writer w;
    takt_status status = TAKT_OK;
    takt_text_init(&text, b->ctx);
    takt_json_begin(&w, &text, true);
    switch (format) {
    case TAKT_BENCH_JSON:
        takt_bench_json(&w, b);
        takt_text_put(&text, "\n", 1);
        break;
    case TAKT_BENCH_GBENCH:
        takt_bench_gbench(&w, b);
        takt_text_put(&text, "\n", 1);
        break;
    case TAKT_BENCH_JSONL: takt_bench_jsonl(&text, b); break;
    case TAKT_BENCH_CSV: takt_bench_csv(&text, b); break;
    case TAKT_BENCH_MD: takt_bench_md(&text, b); break;
    case TAKT_BENCH_HTML: takt_bench_html(&text, b); break;
    case TAKT_BENCH_PNG: status = draw(b, &text); break;
    default: status = takt_bench_text(b, &text); break;
    }
    if (status != TAKT_OK)
        text.status = status;
    return takt_sink_text(b->ctx, &text, sink, user);
}
