/* time.c - times a session: first run, warm-up, and as many steady runs as are needed. */
#include <math.h>
#include <string.h>

#include "api/session/session.h"
#include "base/mem.h"
#include "base/options.h"
#include "stats/stats.h"

enum { LEAST_RUNS = 3, FIRST_LOOK = 16 };

typedef struct clock_work {
    takt_session *session;
    takt_timing *t;
    uint64_t begun_ns;
    const takt_timing_options *o;
    uint64_t max_ns;
    size_t max_runs;
    double ci_width;
    unsigned char *copies; /* of all inputs, if every run copies them */
    size_t copy_bytes;
    uint64_t keep_at_ns; /* when to call `keep` next */
} clock_work;

static uint64_t now(const clock_work *w)
{
    return w->session->ctx->now_ns(w->session->ctx->clock_user);
}

/* Like a caller whose data is elsewhere. */
static void bring_inputs(const clock_work *w)
{
    const takt_session *s = w->session;
    const unsigned char *from = w->copies;
    for (size_t i = 0; i < s->plan->graph->input_count; i++) {
        const takt_session_port *port = &s->inputs[i];
        if (port->view.data == NULL || port->is_view || port->view.device != 0)
            continue;
        memcpy(port->view.data, from, port->bytes);
        from += port->bytes;
    }
}

static takt_status keep_inputs(clock_work *w)
{
    const takt_session *s = w->session;
    void *block;
    for (size_t i = 0; i < s->plan->graph->input_count; i++)
        w->copy_bytes +=
            s->inputs[i].view.data != NULL && !s->inputs[i].is_view && s->inputs[i].view.device == 0
                ? s->inputs[i].bytes
                : 0;
    if (w->copy_bytes == 0)
        return TAKT_OK;
    TAKT_TRY(takt_mem_get(s->ctx, w->copy_bytes, "copies of the inputs", &block));
    w->copies = block;
    unsigned char *to = block;
    for (size_t i = 0; i < s->plan->graph->input_count; i++) {
        const takt_session_port *port = &s->inputs[i];
        if (port->view.data == NULL || port->is_view || port->view.device != 0)
            continue;
        memcpy(to, port->view.data, port->bytes);
        to += port->bytes;
    }
    return TAKT_OK;
}

static takt_status one_run(clock_work *w)
{
    takt_timing *t = w->t;
    void *samples = t->samples;
    TAKT_TRY(
        takt_mem_grow(w->session->ctx, &samples, &t->capacity, t->count + 1, sizeof *t->samples));
    t->samples = samples;
    const uint64_t start = now(w);
    if (w->copies != NULL)
        bring_inputs(w);
    TAKT_TRY(takt_session_run(w->session));
    t->samples[t->count++] = (double)(now(w) - start);
    return TAKT_OK;
}

static void drop(takt_timing *t, size_t count)
{
    memmove(t->samples, t->samples + count, (t->count - count) * sizeof *t->samples);
    t->count -= count;
    t->warmup_runs += count;
}

/* The index at which the runs so far settle; at least 1, since the first run is always
 * different. */
static takt_status settle(clock_work *w, size_t *index)
{
    void *scratch;
    const size_t count = w->t->count;
    TAKT_TRY(takt_mem_zero(w->session->ctx, count, 2 * sizeof(double), "statistics", &scratch));
    *index = takt_settle_index(w->t->samples, count, scratch);
    *index = *index > 0 ? *index : 1;
    takt_mem_put(w->session->ctx, scratch, 2 * count * sizeof(double));
    return TAKT_OK;
}

/* Runs until the second half of the runs has settled, or a quarter of the time is spent. */
static takt_status warm_up(clock_work *w)
{
    size_t look = FIRST_LOOK, index = 1;
    for (;;) {
        TAKT_TRY(one_run(w));
        const uint64_t spent = now(w) - w->begun_ns;
        const bool is_late = spent > w->max_ns / 4 || w->t->count >= 4096;
        if (w->t->count < look && !is_late)
            continue;
        TAKT_TRY(settle(w, &index));
        if (is_late || (index <= w->t->count / 2 && spent > 20000000))
            break;
        look *= 2;
    }
    drop(w->t, index < w->t->count ? index : w->t->count);
    return TAKT_OK;
}

/* Exactly this many runs; the first is done already. */
static takt_status warm_up_as_requested(clock_work *w)
{
    w->t->count = 0;
    w->t->warmup_runs = 1;
    while (w->t->warmup_runs < w->o->warmup) {
        TAKT_TRY(one_run(w));
        w->t->count = 0;
        w->t->warmup_runs++;
    }
    return TAKT_OK;
}

static takt_status is_narrow(clock_work *w, bool *narrow)
{
    takt_stats *s = &w->t->stats;
    TAKT_TRY(takt_stats_compute(w->session->ctx, w->t->samples, w->t->count, s));
    *narrow = s->percentiles[0].resolved &&
              s->median_ci.high - s->median_ci.low <= w->ci_width * s->median;
    return TAKT_OK;
}

/* Passes on the measurements so far, if it is time, outside the timed part. This takes at most a
 * twentieth of the time, and short runs find the caches as their predecessors left them. */
static takt_status keep(clock_work *w)
{
    const uint64_t start = now(w), each = w->o->keep_ns > 0 ? w->o->keep_ns : 1000000000;
    if (w->o->keep == NULL || w->t->count == 0 || start < w->keep_at_ns)
        return TAKT_OK;
    if (w->keep_at_ns > 0) {
        TAKT_TRY(w->o->keep(w->o->keep_user, w->t));
        if (w->t->samples[w->t->count - 1] < 0.01 * (double)each)
            TAKT_TRY(takt_session_run(w->session));
    }
    const uint64_t took = now(w) - start;
    w->keep_at_ns = start + took + (20 * took > each ? 20 * took : each);
    return TAKT_OK;
}

/* Checks the interval less and less often, so that checking does not bias it. */
static takt_status steady(clock_work *w)
{
    size_t look = FIRST_LOOK;
    bool narrow = false;
    if (w->o->runs > 0) {
        while (w->t->count < w->o->runs) {
            TAKT_TRY(keep(w));
            TAKT_TRY(one_run(w));
        }
        w->t->count = (size_t)w->o->runs;
        return is_narrow(w, &w->t->is_settled);
    }
    while (w->t->count < w->max_runs) {
        const uint64_t spent = now(w) - w->begun_ns;
        if (w->t->count >= LEAST_RUNS && spent >= w->max_ns)
            break;
        const bool is_enough = w->t->count >= w->o->min_runs || spent >= w->max_ns / 2;
        if (w->t->count >= look && spent >= w->o->min_ns && is_enough) {
            TAKT_TRY(is_narrow(w, &narrow));
            if (narrow)
                break;
            look = w->t->count + w->t->count / 2;
        }
        TAKT_TRY(keep(w));
        TAKT_TRY(one_run(w));
    }
    return is_narrow(w, &w->t->is_settled);
}

/* The cost of copying the caller's inputs once. */
static takt_status time_copy(takt_session *s, takt_timing *t)
{
    for (size_t i = 0; i < s->plan->graph->input_count; i++) {
        const takt_session_port *port = &s->inputs[i];
        void *to;
        if (port->view.data == NULL || port->is_view || port->view.device != 0 || port->bytes == 0)
            continue;
        TAKT_TRY(takt_mem_zero(s->ctx, 1, port->bytes, "a copy of an input", &to));
        double best = INFINITY;
        for (int r = 0; r < 3; r++) {
            const uint64_t start = s->ctx->now_ns(s->ctx->clock_user);
            memcpy(to, port->view.data, port->bytes);
            best = fmin(best, (double)(s->ctx->now_ns(s->ctx->clock_user) - start));
        }
        t->copy_ns += best;
        takt_mem_put(s->ctx, to, port->bytes);
    }
    return TAKT_OK;
}

static takt_status work(clock_work *w)
{
    takt_timing *t = w->t;
    TAKT_TRY(one_run(w));
    t->first_ns = t->samples[0];
    if (w->o->warmup > 0)
        TAKT_TRY(warm_up_as_requested(w));
    else if (!w->o->no_warmup)
        TAKT_TRY(warm_up(w));
    TAKT_TRY(steady(w));
    TAKT_TRY(time_copy(w->session, t));
    t->is_complete = true;
    return TAKT_OK;
}

takt_status takt_session_time(takt_session *session, const takt_timing_options *options,
                              takt_timing *timing)
{
    TAKT_NEED(NULL, timing);
    takt_timing_options given;
    const takt_timing_options *o = &given;
    *timing = (takt_timing){0};
    TAKT_TRY(takt_options_read(session->ctx, "takt_timing_options", options, &given, sizeof given));
    clock_work w = {.session = session,
                    .t = timing,
                    .o = o,
                    .max_ns = o->max_ns > 0 ? o->max_ns : 1000000000,
                    .max_runs = o->max_runs > 0 ? o->max_runs : 1000000,
                    .ci_width = o->ci_width > 0 ? o->ci_width : 0.01};
    w.begun_ns = now(&w);
    if (o->include_copy)
        TAKT_TRY(keep_inputs(&w));
    const takt_status status = work(&w);
    takt_mem_put(session->ctx, w.copies, w.copy_bytes);
    if (status != TAKT_OK && timing->count > 0 &&
        takt_stats_compute(session->ctx, timing->samples, timing->count, &timing->stats) != TAKT_OK)
        timing->count = 0;
    return status;
}

void takt_timing_free(takt_ctx *ctx, takt_timing *timing)
{
    if (timing == NULL)
        return;
    takt_mem_put(ctx, timing->samples, timing->capacity * sizeof *timing->samples);
    *timing = (takt_timing){0};
}
