/* bench_absorb.c - results of several processes become one, with how they differ. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "measure/bench.h"
#include "measure/cache.h"
#include "stats/compare.h"
#include "stats/special.h"
#include "stats/stats.h"

static const char *copy(takt_bench *b, const char *text)
{
    return text != NULL ? takt_arena_text(&b->arena, text, strlen(text)) : NULL;
}

static takt_status append(takt_bench *b, const takt_timing *from, takt_timing *to)
{
    void *samples = to->samples;
    TAKT_TRY(takt_mem_grow(b->ctx, &samples, &to->capacity, to->count + from->count,
                           sizeof *to->samples));
    to->samples = samples;
    memcpy(to->samples + to->count, from->samples, from->count * sizeof *to->samples);
    to->count += from->count;
    return TAKT_OK;
}

static void copy_config(takt_bench *b, takt_run_config *c)
{
    *c = (takt_run_config){copy(b, c->backend), copy(b, c->precision), copy(b, c->numerics),
                           copy(b, c->note)};
}

static void copy_cache(takt_bench *b, takt_cache_use *use)
{
    use->source = copy(b, use->source);
    use->note = copy(b, use->note);
}

/* A row like `from`, with its own copies of names and times. */
static takt_status first_of(takt_bench *b, const takt_bench_row *from, takt_bench_row **row)
{
    TAKT_TRY(takt_bench_push(b, row));
    takt_bench_row *r = *row;
    *r = *from;
    r->timing.samples = NULL;
    r->timing.count = r->timing.capacity = 0;
    r->usage.process_medians = NULL;
    r->usage.processes = 0;
    r->usage.energy = copy(b, from->usage.energy);
    r->usage.event = copy(b, from->usage.event);
    r->usage.source = copy(b, from->usage.source);
    copy_config(b, &r->config);
    copy_cache(b, &r->usage.cache);
    copy_cache(b, &r->usage.modelled);
    r->op_count = 0;
    r->ops = takt_arena_array(&b->arena, from->op_count, sizeof *r->ops);
    for (size_t i = 0; r->ops != NULL && i < from->op_count; i++) {
        r->ops[i] = from->ops[i];
        r->ops[i].name = copy(b, from->ops[i].name);
        r->ops[i].type = copy(b, from->ops[i].type);
        r->ops[i].bound = copy(b, from->ops[i].bound);
        r->op_count++;
    }
    return r->ops != NULL || from->op_count == 0 ? TAKT_OK : TAKT_ERR_MEMORY;
}

/* One figure per process: differences between processes (memory placement) are then in the
 * interval. */
static takt_status note_process(takt_bench *b, takt_bench_usage *m, double median)
{
    double *medians = takt_arena_array(&b->arena, m->processes + 1, sizeof *medians);
    if (medians == NULL)
        return TAKT_ERR_MEMORY;
    if (m->processes > 0)
        memcpy(medians, m->process_medians, m->processes * sizeof *medians);
    medians[m->processes++] = median;
    m->process_medians = medians;
    const double n = (double)m->processes, mean = takt_sample_mean(medians, m->processes);
    const double error = takt_sample_deviation(medians, m->processes, mean) / sqrt(n);
    const double half = n > 1 ? takt_student_quantile(0.975, n - 1) * error : 0;
    m->process_ci = (takt_interval){mean - half, mean + half};
    return TAKT_OK;
}

static takt_status absorb_row(takt_bench *b, size_t index, const takt_bench_row *from)
{
    takt_bench_row *r;
    if (index >= b->count)
        TAKT_TRY(first_of(b, from, &r));
    else
        r = &b->rows[index];
    if (r->batch != from->batch || r->threads != from->threads)
        return takt_fail(b->ctx, TAKT_E_RESULT_MIX,
                         "case %zu has batch %lld here and %lld there: not the same settings",
                         index + 1, (long long)r->batch, (long long)from->batch);
    r->timing.is_complete &= from->timing.is_complete;
    r->usage.slo_met &= from->usage.slo_met;
    r->usage.slo_sure |= from->usage.slo_sure;
    r->usage.slo_ns = fmax(r->usage.slo_ns, from->usage.slo_ns);
    r->rss_delta = from->rss_delta > r->rss_delta ? from->rss_delta : r->rss_delta;
    TAKT_TRY(append(b, &from->timing, &r->timing));
    TAKT_TRY(note_process(b, &r->usage, from->timing.stats.median));
    if (r->timing.count == 0)
        return TAKT_OK;
    TAKT_TRY(takt_stats_compute(b->ctx, r->timing.samples, r->timing.count, &r->timing.stats));
    return takt_noise_floor(b->ctx, r->timing.samples, r->timing.count, &r->noise);
}

takt_status takt_bench_absorb(takt_bench *b, const takt_bench *other)
{
    for (size_t i = 0; i < other->count; i++)
        TAKT_TRY(absorb_row(b, i, &other->rows[i]));
    b->others.steal_pct = fmax(b->others.steal_pct, other->others.steal_pct);
    b->others.processors = fmax(b->others.processors, other->others.processors);
    b->others.usable = other->others.usable;
    return TAKT_OK;
}

/* ---- events ---- */

takt_status takt_bench_set_counter(takt_bench *b, size_t index, const char *event, double per_run,
                                   const char *source)
{
    if (index >= b->count)
        return takt_fail(b->ctx, TAKT_E_ARGUMENT, "there is no case %zu", index);
    takt_bench_usage *m = &b->rows[index].usage;
    m->event = copy(b, event);
    m->source = copy(b, source);
    m->events = per_run;
    return m->event != NULL && m->source != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

double takt_bench_counter(const takt_bench *b, size_t index, const char **source)
{
    const takt_bench_usage *m = index < b->count ? &b->rows[index].usage : NULL;
    *source = m != NULL && m->event != NULL ? m->source : NULL;
    return *source != NULL ? m->events : 0;
}

takt_status takt_bench_set_cache(takt_bench *b, size_t index, const takt_cache_use *use)
{
    if (index >= b->count)
        return takt_fail(b->ctx, TAKT_E_ARGUMENT, "there is no case %zu", index);
    takt_cache_use *kept = &b->rows[index].usage.cache;
    const char *note = use->note != NULL ? copy(b, use->note) : NULL;
    TAKT_TRY(takt_cache_check(b->ctx, use, kept));
    kept->note = note;
    return TAKT_OK;
}

takt_status takt_bench_model_cache(const takt_bench *b, size_t index, takt_cache_use *use)
{
    *use = index < b->count ? b->rows[index].usage.modelled : (takt_cache_use){0};
    if (!(use->accesses > 0))
        return takt_fail(b->ctx, TAKT_E_ARGUMENT,
                         "case %zu knows no caches: its steps were not looked at", index);
    return TAKT_OK;
}

bool takt_bench_cache(const takt_bench *b, size_t index, takt_cache_use *use)
{
    *use = index < b->count ? b->rows[index].usage.cache : (takt_cache_use){0};
    return use->source != NULL;
}
