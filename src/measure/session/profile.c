/* profile.c - runs a session and times every step. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/options.h"
#include "base/size.h"
#include "measure/session/measure.h"
#include "plan/backend.h"
#include "stats/stats.h"

/* What the watch writes into while the session runs. */
typedef struct record {
    takt_profile *p;
    size_t run;
    uint64_t started;
    double sum;
    uint64_t *busy_ns; /* [threads * TAKT_BUSY_STRIDE], of the current step */
} record;

static uint64_t now(const takt_profile *p)
{
    return p->ctx->now_ns(p->ctx->clock_user);
}

static void before(void *user, size_t step)
{
    (void)step;
    record *r = user;
    r->started = now(r->p);
}

/* The fraction of the step's `ns` that each thread worked. */
static void keep_busy(const record *r, size_t step, double ns)
{
    takt_profile *p = r->p;
    const size_t threads = (size_t)p->plan->threads;
    float *to = &p->busy_samples[(step * p->kept_runs + r->run) * threads];
    for (size_t t = 0; t < threads; t++) {
        uint64_t *busy = &r->busy_ns[t * TAKT_BUSY_STRIDE];
        if (r->run < p->trace_runs) {
            uint64_t *bar = &p->bars[2 * ((r->run * p->plan->step_count + step) * threads + t)];
            bar[0] = busy[TAKT_BUSY_FIRST];
            bar[1] = busy[TAKT_BUSY_LAST];
        }
        busy[TAKT_BUSY_FIRST] = busy[TAKT_BUSY_LAST] = 0;
        if (r->run < p->kept_runs)
            to[t] = (float)fmin(1, (double)r->busy_ns[t * TAKT_BUSY_STRIDE] / fmax(ns, 1));
        r->busy_ns[t * TAKT_BUSY_STRIDE] = 0;
    }
}

static void after(void *user, size_t step)
{
    record *r = user;
    takt_profile *p = r->p;
    const uint64_t ended = now(p);
    const double ns = fmax(0, (double)(ended - r->started) - p->clock_ns);
    p->samples[step * p->runs + r->run] = ns;
    r->sum += ns;
    if (p->plan->steps[step].task_count > 1)
        keep_busy(r, step, ns);
    if (r->run < p->trace_runs) {
        uint64_t *at = &p->starts[2 * (r->run * p->plan->step_count + step)];
        at[0] = r->started;
        at[1] = ended;
    }
}

static double clock_cost(const takt_profile *p)
{
    double best = INFINITY;
    for (int i = 0; i < 64; i++) {
        const uint64_t start = now(p);
        best = fmin(best, (double)(now(p) - start));
    }
    return best;
}

/* How many runs fit into half of the time, and into 64 MiB. */
static size_t count_runs(const takt_profile *p, const takt_profile_options *o)
{
    const uint64_t max_ns = o->max_ns > 0 ? o->max_ns : 1000000000;
    double runs = (double)max_ns / 2 / fmax(p->timing.stats.median, 100);
    runs = o->runs > 0 ? (double)o->runs : fmin(fmax(runs, 3), o->whole ? INFINITY : 2000);
    const double room = (double)(64 << 20) / 8 / fmax((double)p->plan->step_count, 1);
    return (size_t)fmax(1, fmin(runs, room));
}

static takt_status get_memory(takt_profile *p)
{
    const size_t steps = p->plan->step_count;
    size_t cells;
    p->trace_runs = p->runs < TAKT_TRACE_RUNS ? p->runs : TAKT_TRACE_RUNS;
    if (!takt_size_mul(steps, p->runs, &cells))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "%zu runs of %zu steps", p->runs, steps);
    p->rows = takt_arena_array(&p->arena, steps, sizeof *p->rows);
    p->samples = takt_arena_array(&p->arena, cells, sizeof *p->samples);
    p->starts = takt_arena_array(&p->arena, 2 * p->trace_runs * steps, sizeof *p->starts);
    const size_t threads = (size_t)p->plan->threads;
    p->bars = takt_arena_array(&p->arena, 2 * p->trace_runs * steps, threads * sizeof *p->bars);
    const double room = (double)(16 << 20) / 4 / fmax((double)(steps * threads), 1);
    p->kept_runs = (size_t)fmax(1, fmin(fmin((double)p->runs, 64), room));
    p->busy_samples =
        takt_arena_array(&p->arena, steps * threads, p->kept_runs * sizeof *p->busy_samples);
    p->busy_ns = takt_arena_array(&p->arena, steps * threads, sizeof *p->busy_ns);
    return p->rows != NULL && p->samples != NULL && p->starts != NULL && p->busy_samples != NULL &&
                   p->busy_ns != NULL && p->bars != NULL
               ? TAKT_OK
               : TAKT_ERR_MEMORY;
}

/* For a cancelled measurement: shrinks the tables to `runs`, fewer than planned. */
static void cut_short(takt_profile *p, double *whole, size_t runs)
{
    const size_t cells = p->plan->step_count * (size_t)p->plan->threads;
    const size_t kept = runs < p->kept_runs ? runs : p->kept_runs;
    const size_t threads = (size_t)p->plan->threads;
    for (size_t step = 0; step < p->plan->step_count; step++)
        memmove(&p->samples[step * runs], &p->samples[step * p->runs], runs * sizeof *p->samples);
    for (size_t step = 0; step < p->plan->step_count && cells > 0; step++)
        memmove(&p->busy_samples[step * kept * threads],
                &p->busy_samples[step * p->kept_runs * threads],
                kept * threads * sizeof *p->busy_samples);
    memmove(whole + runs, whole + p->runs, runs * sizeof *whole);
    p->kept_runs = kept;
    p->trace_runs = runs < p->trace_runs ? runs : p->trace_runs;
    p->runs = runs;
}

/* Medians of whole runs, and of the sums of their steps. */
static takt_status run_watched(takt_profile *p, takt_session *s)
{
    double *whole = takt_arena_array(&p->arena, 2 * p->runs, sizeof *whole);
    record r = {.p = p};
    r.busy_ns =
        takt_arena_array(&p->arena, (size_t)p->plan->threads, TAKT_BUSY_STRIDE * sizeof *r.busy_ns);
    const takt_watch watch = {.before = before, .after = after, .user = &r, .busy_ns = r.busy_ns};
    takt_status status = whole != NULL && r.busy_ns != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    const uint64_t allocations = atomic_load(&p->ctx->allocations);
    const uint64_t messages = atomic_load(&p->ctx->messages), log_ns = atomic_load(&p->ctx->log_ns);
    s->watch = &watch;
    while (r.run < p->runs && status == TAKT_OK) {
        r.sum = 0;
        const uint64_t start = now(p);
        status = takt_session_run(s);
        if (status != TAKT_OK)
            break;
        whole[r.run] = (double)(now(p) - start);
        whole[p->runs + r.run++] = r.sum;
    }
    s->watch = NULL;
    if (status == TAKT_ERR_CANCELLED && r.run > 0)
        cut_short(p, whole, r.run);
    else if (status != TAKT_OK)
        return status;
    const double runs = (double)p->runs;
    p->rest.allocations = (double)(atomic_load(&p->ctx->allocations) - allocations) / runs;
    p->rest.messages = (double)(atomic_load(&p->ctx->messages) - messages) / runs;
    p->rest.log_ns = (double)(atomic_load(&p->ctx->log_ns) - log_ns) / runs;
    takt_sort_doubles(whole, p->runs);
    takt_sort_doubles(whole + p->runs, p->runs);
    p->run_ns = takt_quantile(whole, p->runs, 0.5);
    p->watched_ns = takt_quantile(whole + p->runs, p->runs, 0.5);
    return TAKT_OK;
}

/* Work that threads share: what fraction of their time they waited, and how uneven the split was.
 * `sorted` has room for the runs. */
static void fill_threads(const takt_profile *p, takt_profile_row *row, double *sorted)
{
    const size_t threads = (size_t)p->plan->threads, step = (size_t)(row - p->rows);
    double sum = 0, most = 0;
    if (row->step->task_count <= 1 || threads <= 1 || !(row->median_ns > 0))
        return;
    for (size_t t = 0; t < threads; t++) {
        for (size_t i = 0; i < p->kept_runs; i++)
            sorted[i] = (double)p->busy_samples[(step * p->kept_runs + i) * threads + t];
        takt_sort_doubles(sorted, p->kept_runs);
        const double busy = row->median_ns * takt_quantile(sorted, p->kept_runs, 0.5);
        p->busy_ns[step * threads + t] = busy;
        sum += busy;
        most = fmax(most, busy);
    }
    row->wait = fmax(0, 1 - sum / ((double)threads * row->median_ns));
    row->imbalance = sum > 0 ? most * (double)threads / sum - 1 : 0;
}

/* Rates of the devices that the plan uses, measured now: they are not stored. */
static void measure_devices(takt_profile *p)
{
    takt_device_rate rates[TAKT_DEVICE_RATES];
    for (size_t i = 1; i < TAKT_SPACES; i++) {
        const takt_plan_space *s = &p->plan->space[i];
        if (s->backend != NULL && s->backend->rates != NULL && s->device != NULL)
            p->peaks[i] = takt_device_peaks_of(rates, s->backend->rates(s->device, rates));
    }
}

/* For a copy, the device's side decides. */
static const takt_device_peaks *peaks_of(const takt_profile *p, const takt_step *s)
{
    size_t space = s->space;
    for (size_t i = 0; i < s->in_count && space == 0; i++)
        space = p->plan->buffers[s->in[i].buffer].space;
    for (size_t i = 0; i < s->out_count && space == 0; i++)
        space = p->plan->buffers[s->out[i].buffer].space;
    return &p->peaks[space];
}

static void fill_row(takt_profile *p, size_t step, double *sorted)
{
    takt_profile_row *row = &p->rows[step];
    memcpy(sorted, p->samples + step * p->runs, p->runs * sizeof *sorted);
    takt_sort_doubles(sorted, p->runs);
    const takt_percentile half = takt_quantile_ci(sorted, p->runs, 0.5, 0.95);
    row->step = &p->plan->steps[step];
    row->median_ns = half.value;
    row->ci = half.ci;
    row->min_ns = sorted[0];
    row->max_ns = sorted[p->runs - 1];
    row->mean_ns = takt_sample_mean(sorted, p->runs);
    if (takt_roof_is_away(row->step))
        takt_roof_of_device(p->plan, row->step, peaks_of(p, row->step), &row->roof);
    else
        takt_roof_of(p->plan, row->step, p->has_ceilings ? &p->ceilings : NULL, &row->roof);
    if (p->has_ceilings) {
        row->bound = takt_roof_bound(&row->roof, row->median_ns);
        row->limit = takt_roof_kind(&row->roof, row->median_ns);
        row->percent = row->median_ns > 0 ? 100 * row->roof.floor_ns / row->median_ns : 0;
    }
    fill_threads(p, row, sorted);
    p->steps_ns += row->median_ns;
}

static void name_move(takt_profile *p, const takt_session_port *port, const char *name)
{
    const size_t length = strlen(p->move_names);
    if (!takt_port_moves(port))
        return;
    p->moves++;
    snprintf(p->move_names + length, sizeof p->move_names - length, "%s%s", length > 0 ? ", " : "",
             name);
}

/* Copies of bound buffers are not steps of the plan, which does not know about buffers. */
static void time_moves(takt_profile *p, takt_session *s)
{
    for (size_t i = 0; i < p->plan->graph->input_count; i++)
        name_move(p, &s->inputs[i], s->input_descs[i].name);
    for (size_t i = 0; i < p->plan->graph->output_count; i++)
        name_move(p, &s->outputs[i], s->output_descs[i].name);
    p->moves_ns = p->moves > 0 ? INFINITY : 0;
    for (int i = 0; i < 16 && p->moves > 0; i++) {
        const uint64_t start = now(p);
        if (takt_session_copy_in(s) != TAKT_OK || takt_session_copy_out(s) != TAKT_OK)
            break;
        p->moves_ns = fmin(p->moves_ns, (double)(now(p) - start));
    }
}

static void add_input(takt_text *text, const takt_desc *d)
{
    takt_text_add(text, "%s%s %s[", text->length > 0 ? ", " : "", d->name,
                  takt_dtype_name(d->dtype));
    for (int i = 0; i < d->rank; i++)
        takt_text_add(text, "%s%lld", i > 0 ? ", " : "", (long long)d->dims[i]);
    takt_text_add(text, "]");
}

/* The heading of the page; the session may no longer exist by then. */
static takt_status keep_names(takt_profile *p, const takt_session *s, const takt_profile_options *o)
{
    takt_text text;
    takt_text_init(&text, p->ctx);
    for (size_t i = 0; i < p->plan->graph->input_count; i++)
        add_input(&text, &s->input_descs[i]);
    const takt_status status = text.status;
    p->inputs = takt_arena_format(&p->arena, "%s", text.length > 0 ? takt_text_get(&text) : "");
    takt_text_deinit(&text);
    p->model =
        takt_arena_format(&p->arena, "%s", o->model != NULL ? o->model : p->plan->graph->name);
    if (o->timestamp != NULL)
        p->timestamp = takt_arena_format(&p->arena, "%s", o->timestamp);
    const bool is_short =
        p->inputs == NULL || p->model == NULL || (o->timestamp != NULL && p->timestamp == NULL);
    return status != TAKT_OK ? status : is_short ? TAKT_ERR_MEMORY : TAKT_OK;
}

/* The runs before may have settled on other sizes, and so on another plan. */
static void take_plan(takt_profile *p, const takt_session *s)
{
    takt_plan_retain_internal(s->plan);
    takt_plan_release_internal(p->plan);
    p->plan = s->plan;
}

static takt_status look(takt_profile *p, takt_session *s, const takt_profile_options *o)
{
    const uint64_t half = (o->max_ns > 0 ? o->max_ns : 1000000000) / 2;
    const takt_timing_options timing = {.max_ns = half, .min_ns = o->whole ? half : 0};
    takt_ticks begun, ended;
    takt_ticks_read(&begun);
    const takt_status timed = takt_session_time(s, &timing, &p->timing);
    const bool is_cut = timed == TAKT_ERR_CANCELLED && p->timing.count > 0;
    if (!is_cut)
        TAKT_TRY(timed);
    take_plan(p, s);
    TAKT_TRY(keep_names(p, s, o));
    p->clock_ns = clock_cost(p);
    p->runs = is_cut ? 1 : count_runs(p, o); /* one run shows where the time went */
    TAKT_TRY(get_memory(p));
    TAKT_TRY(run_watched(p, s));
    double *sorted = takt_arena_array(&p->arena, p->runs, sizeof *sorted);
    if (sorted == NULL)
        return TAKT_ERR_MEMORY;
    time_moves(p, s);
    for (size_t i = 0; i < p->plan->step_count; i++)
        fill_row(p, i, sorted);
    for (size_t i = 0; i < p->plan->step_count; i++)
        p->rows[i].share = p->steps_ns > 0 ? p->rows[i].median_ns / p->steps_ns : 0;
    p->rest.load_ns = (double)o->load_ns;
    takt_ticks_read(&ended);
    p->rest.others = takt_ticks_between(&begun, &ended);
    return takt_profile_look_aside(p, s);
}

takt_status takt_profile_create(takt_session *s, const takt_profile_options *options,
                                takt_profile **profile)
{
    TAKT_NEED(NULL, s);
    TAKT_NEED(NULL, profile);
    takt_profile_options given;
    const takt_profile_options *o = &given;
    void *block;
    *profile = NULL;
    TAKT_TRY(takt_options_read(s->ctx, "takt_profile_options", options, &given, sizeof given));
    TAKT_TRY(takt_mem_zero(s->ctx, 1, sizeof(takt_profile), "profile", &block));
    takt_profile *p = block;
    p->ctx = s->ctx;
    p->plan = s->plan;
    takt_plan_retain_internal(p->plan);
    takt_arena_init(&p->arena, p->ctx);
    p->has_ceilings = o->ceilings != NULL;
    if (p->has_ceilings) {
        p->ceilings = *o->ceilings;
        measure_devices(p);
    }
    const takt_status status = look(p, s, o);
    if (status != TAKT_OK) {
        takt_profile_destroy(p);
        return status;
    }
    *profile = p;
    return TAKT_OK;
}

void takt_profile_destroy(takt_profile *p)
{
    if (p == NULL)
        return;
    takt_timing_free(p->ctx, &p->timing);
    takt_arena_deinit(&p->arena);
    takt_plan_release_internal(p->plan);
    takt_mem_put(p->ctx, p, sizeof *p);
}

takt_status takt_profile_print(const takt_profile *p, takt_profile_view view, size_t top,
                               takt_format format, takt_sink_fn *sink, void *user)
{
    TAKT_NEED(NULL, p);
    takt_report r;
    if (view == TAKT_PROFILE_TRACE)
        return takt_profile_trace(p, sink, user);
    if (view == TAKT_PROFILE_FOLDED)
        return takt_profile_folded(p, sink, user);
    if (view == TAKT_PROFILE_PAGE)
        return takt_profile_page(p, sink, user);
    if (view == TAKT_PROFILE_FLAME)
        return takt_profile_flame(p, sink, user);
    takt_report_begin(&r, p->ctx, format);
    switch (view) {
    case TAKT_PROFILE_BRIEF: takt_profile_brief(p, &r); break;
    case TAKT_PROFILE_LAYERS: takt_profile_layers(p, &r); break;
    case TAKT_PROFILE_MEMORY: takt_profile_memory(p, &r); break;
    default: takt_profile_steps(p, top, &r); break;
    }
    takt_profile_cache(p, &r);
    return takt_report_end(&r, TAKT_OK, sink, user);
}
