/* load.c - sessions under load: every scenario, SLOs and peaks, overload, cancellation. */
#include <takt/takt.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static const char text[] = "model m(x: f32[batch, 64]) -> f32[batch, 10] {\n"
                           "  h = dense(x, 128, act=relu)\n  return dense(h, 10, act=softmax)\n}\n";

enum { STREAMS = 2 };
static takt_ctx *ctx;
static takt_plan *plan;
static takt_session *sessions[STREAMS];

static void begin(void)
{
    takt_model *model;
    const takt_plan_options options = {.sizes = "batch=4", .threads = 1};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model)) ||
        !EXPECT_OK(ctx, takt_plan_create(model, &options, &plan)))
        exit(1);
    takt_model_destroy(model);
    for (int i = 0; i < STREAMS; i++) {
        if (!EXPECT_OK(ctx, takt_session_create(plan, NULL, &sessions[i])))
            exit(1);
        EXPECT_OK(ctx, takt_view_random(ctx, takt_session_input(sessions[i], 0), 0, 0));
    }
}

static void closed_loops(void)
{
    static const takt_scenario_kind all[] = {TAKT_SINGLE_STREAM, TAKT_MULTI_STREAM, TAKT_OFFLINE};
    for (size_t i = 0; i < 3; i++) {
        takt_load load;
        const size_t streams = all[i] == TAKT_SINGLE_STREAM ? 1 : STREAMS;
        const takt_scenario_options exact = {.scenario = all[i], .queries = 200};
        EXPECT_OK(ctx, takt_sessions_load(sessions, streams, &exact, &load));
        EXPECT(load.timing.count == 200 && load.timing.is_complete && load.unanswered == 0,
               "%s %zu", takt_scenario_name(all[i]), load.timing.count);
        EXPECT_EQ(load.streams, streams);
        EXPECT_IS(load.qps, >, 0);
        EXPECT_IS(load.timing.stats.median, >, 0);
        /* No rate exceeds that of all streams together. */
        EXPECT(load.qps <= 1.01e9 * (double)streams / load.timing.stats.min, "%g", load.qps);
        takt_load_free(ctx, &load);
        const takt_scenario_options timed = {.scenario = all[i], .max_ns = 20000000};
        EXPECT_OK(ctx, takt_sessions_load(sessions, streams, &timed, &load));
        EXPECT(load.timing.count > 0 && load.wall_ns > 1e6, "%zu", load.timing.count);
        takt_load_free(ctx, &load);
    }
}

/* Arrival of the last of 200 queries, in milliseconds: its end minus its duration, unless another
 * one ended later because its thread was suspended. */
static double last_arrival(void)
{
    takt_load load;
    double ms = 0;
    const takt_scenario_options o = {.scenario = TAKT_SERVER, .qps = 1000, .queries = 200};
    if (!EXPECT_OK(ctx, takt_sessions_load(sessions, STREAMS, &o, &load)))
        return 0;
    if (EXPECT(load.timing.count == 200 && load.unanswered == 0))
        ms = (load.wall_ns - load.timing.samples[199]) * 1e-6;
    EXPECT_EQ(load.waiting.count, 200);
    EXPECT_IS(load.waiting.median, <, load.timing.stats.median);
    takt_load_free(ctx, &load);
    return ms;
}

/* Arrivals follow a Poisson process, however long the answers take. 200 exponential intervals of 1
 * ms: their sum is within five deviations of 200 ms. On a busy machine it can seem longer, but
 * hardly five times in a row. */
static void a_patient_server(void)
{
    const double far = 5 * sqrt(200.0);
    double ms = 0;
    for (int i = 0; i < 5 && (i == 0 || ms > 200 + far); i++) {
        ms = last_arrival();
        EXPECT(ms > 200 - far, "%g ms", ms);
    }
    EXPECT(ms < 200 + far, "%g ms", ms);
}

/* More requests arrive than can be served: the queue grows, latencies grow with it, and time runs
 * out. */
static void an_overrun_server(void)
{
    takt_load load;
    const takt_scenario_options o = {.scenario = TAKT_SERVER, .qps = 5e6, .max_ns = 10000000};
    EXPECT_OK(ctx, takt_sessions_load(sessions, 1, &o, &load));
    EXPECT(load.unanswered > 0 && load.qps < 0.9 * o.qps, "%zu %g", load.unanswered, load.qps);
    const takt_timing *t = &load.timing;
    EXPECT(t->samples[t->count / 2] > 10 * t->samples[1] || t->samples[t->count / 2] > 1e6, "%g %g",
           t->samples[1], t->samples[t->count / 2]);
    takt_load_free(ctx, &load);
}

static void peaks(void)
{
    takt_load load;
    takt_peak peak;
    const takt_scenario_options o = {.max_ns = 90000000};
    const takt_slo never = {.part = 0.99, .limit_ns = 1}, always = {.part = 0.5, .limit_ns = 1e12};
    for (int i = 0; i < 10; i++) { /* a busy machine may suspend it for a whole attempt */
        EXPECT_OK(ctx, takt_sessions_peak(sessions, 1, &o, always, &peak, &load));
        EXPECT_IS(peak.try_count, >=, 1);
        EXPECT_IS(load.timing.count, >, 0);
        EXPECT(peak.qps <= load.qps, "%g is the peak, %g were served", peak.qps, load.qps);
        takt_load_free(ctx, &load);
        if (peak.qps > 0)
            break;
    }
    EXPECT(peak.qps > 0, "%g", peak.qps);
    EXPECT_OK(ctx, takt_sessions_peak(sessions, 1, &o, never, &peak, &load));
    EXPECT_EQ(peak.qps, 0);
    EXPECT_IS(peak.try_count, >=, 1);
    EXPECT(!peak.tries[0].met);
    for (size_t i = 1; i < peak.try_count; i++)
        EXPECT(peak.tries[i].qps < peak.tries[i - 1].qps, "halved every time");
    takt_load_free(ctx, &load);
    const takt_slo none = {0};
    EXPECT_STATUS(ctx, takt_sessions_peak(sessions, 1, &o, none, &peak, &load), TAKT_ERR_ARGUMENT);
}

static void mistakes(void)
{
    takt_load load;
    const takt_scenario_options no_rate = {.scenario = TAKT_SERVER};
    EXPECT_STATUS(ctx, takt_sessions_load(sessions, 1, &no_rate, &load), TAKT_ERR_ARGUMENT);
    const takt_scenario_options o = {.scenario = TAKT_MULTI_STREAM, .queries = 50};
    for (int i = 0; i < STREAMS; i++) {
        takt_session_cancel(sessions[i]);
        EXPECT_STATUS(NULL, takt_sessions_load(sessions, STREAMS, &o, &load), TAKT_ERR_CANCELLED);
        EXPECT(!load.timing.is_complete);
        EXPECT_IS(load.timing.count, <, 50);
        takt_load_free(ctx, &load);
    }
    EXPECT_TEXT(takt_scenario_name(TAKT_MULTI_STREAM), "multi-stream");
    EXPECT_TEXT(takt_scenario_name((takt_scenario_kind)9), "unknown");
}

static void quantiles(void)
{
    double times[] = {5, 1, 4, 2, 3};
    const takt_timing t = {.samples = times, .count = 5};
    EXPECT_EQ(takt_timing_quantile(ctx, &t, 0.5), 3);
    EXPECT_EQ(takt_timing_quantile(ctx, &t, 1), 5);
    EXPECT_EQ(takt_timing_quantile(ctx, &t, 0.25), 2);
    EXPECT_EQ(times[0], 5);
    const takt_timing none = {0};
    EXPECT_EQ(takt_timing_quantile(ctx, &none, 0.5), 0);
}

static void end(void)
{
    for (int i = 0; i < STREAMS; i++)
        takt_session_destroy(sessions[i]);
    takt_plan_destroy(plan);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, closed_loops, a_patient_server, an_overrun_server, peaks, mistakes, quantiles, end)
