/* monitor.c - recording between two points, monitors, and limits on processors and memory. */
#include <takt/takt.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "measure/monitor/monitor.h"
#include "os/os.h"
#include "test.h"

/* Processor time of this process within which the event must happen. */
#define ENOUGH_NS 5000000000u

static takt_ctx *ctx;
static takt_model *model;
static takt_plan *plan;
static takt_session *session;

static void begin(void)
{
    static const char text[] = "model m(x: f32[64, 64], w: f32[64, 64]) -> f32[64, 64] {\n"
                               "  return relu(matmul(x, w))\n}\n";
    const takt_plan_options options = {.threads = 1};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model));
    EXPECT_OK(ctx, takt_plan_create(model, &options, &plan));
    EXPECT_OK(ctx, takt_session_create(plan, NULL, &session));
    for (size_t i = 0; i < 2; i++)
        EXPECT_OK(ctx, takt_view_random(ctx, takt_session_input(session, i), 0, (uint32_t)i));
    EXPECT_OK(ctx, takt_session_run(session));
}

static void end(void)
{
    takt_session_destroy(session);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
}

static int to_text(void *user, const char *bytes, size_t length)
{
    takt_text_put(user, bytes, length);
    return 0;
}

/* ---- recording ---- */

static takt_status futex(void *arg)
{
    takt_os_sleep_until(takt_os_now_ns(NULL) + *(const uint64_t *)arg);
    return TAKT_OK;
}

static takt_status refuse(void *arg)
{
    *(int *)arg += 1;
    return TAKT_ERR_CANCELLED;
}

static takt_status allocate(void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++)
        takt_free(ctx, takt_alloc(ctx, 1000));
    return TAKT_OK;
}

static const takt_op_times *find(const takt_profile_results *r, const char *name)
{
    for (size_t i = 0; i < r->op_count; i++)
        if (strcmp(r->ops[i].name, name) == 0)
            return &r->ops[i];
    return NULL;
}

static void records(void)
{
    takt_profile_results r;
    uint64_t nap = 2000000;
    int calls = 0;
    EXPECT_STATUS(ctx, takt_profile_stop(ctx, &r), TAKT_ERR_STATE);
    EXPECT_OK(ctx, takt_profile_start(ctx));
    EXPECT_STATUS(ctx, takt_profile_start(ctx), TAKT_ERR_STATE);
    for (int i = 0; i < 5; i++)
        EXPECT_OK(ctx, takt_session_run(session));
    EXPECT_OK(ctx, takt_timed(ctx, "a nap", futex, &nap));
    EXPECT_OK(ctx, takt_timed(ctx, "a nap", futex, &nap));
    EXPECT_STATUS(ctx, takt_timed(ctx, "no", refuse, &calls), TAKT_ERR_CANCELLED);
    EXPECT_STATUS(ctx, takt_timed(ctx, NULL, refuse, &calls), TAKT_ERR_ARGUMENT);
    EXPECT_OK(ctx, takt_profile_stop(ctx, &r));
    const takt_op_times *naps = find(&r, "a nap"), *product = find(&r, "gemm");
    EXPECT(calls == 1 && find(&r, "no") != NULL);
    for (size_t i = 1; i < r.op_count; i++)
        EXPECT(r.ops[i - 1].total_ns >= r.ops[i].total_ns, "the costliest first");
    if (EXPECT(naps != NULL && product != NULL)) {
        EXPECT_EQ(naps->count, 2);
        EXPECT_IS(naps->min_ns, >=, 1.9e6);
        EXPECT_IS(naps->max_ns, >=, naps->min_ns);
        EXPECT_IS(fabs(naps->avg_ns * 2 - naps->total_ns), <, 1);
        EXPECT_EQ(product->count, 5);
        EXPECT_IS(product->min_ns, >, 0);
        EXPECT_IS(product->avg_ns, >=, product->min_ns);
    }
    EXPECT(r.total_ns >= 2 * nap && r.allocations == 0, "a run allocates nothing: %llu",
           (unsigned long long)r.allocations);
    takt_plan_info info;
    takt_plan_query(plan, &info);
    EXPECT(r.event_count == 5 * info.steps + 3, "%zu events", r.event_count);
    takt_profile_results_free(ctx, &r);
    EXPECT_OK(ctx, takt_timed(ctx, "later", refuse, &calls) == TAKT_ERR_CANCELLED ? TAKT_OK
                                                                                  : TAKT_ERR_STATE);
}

static void counts_memory(void)
{
    takt_profile_results r;
    float padded[64][65] = {{0}};
    takt_tensor_view view = {
        .dtype = TAKT_F32, .rank = 2, .dims = {64, 64}, .strides = {65, 1}, .data = padded};
    EXPECT_OK(ctx, takt_session_bind(session, "w", &view));
    EXPECT_OK(ctx, takt_profile_start(ctx));
    EXPECT_OK(ctx, takt_timed(ctx, "allocate", allocate, NULL));
    EXPECT_OK(ctx, takt_session_run(session));
    EXPECT_OK(ctx, takt_profile_stop(ctx, &r));
    EXPECT(r.allocations == 3 && r.moves == 1, "%llu and %llu", (unsigned long long)r.allocations,
           (unsigned long long)r.moves);
    EXPECT(r.bytes >= 3 * 1000 + 64 * 64 * 4 && r.bytes < 3 * 1200 + 64 * 64 * 4, "%llu",
           (unsigned long long)r.bytes);
    takt_profile_results_free(ctx, &r);
    view = (takt_tensor_view){.dtype = TAKT_F32, .rank = 2, .dims = {64, 64}};
    EXPECT_OK(ctx, takt_session_bind(session, "w", &view));
    EXPECT_OK(ctx, takt_view_random(ctx, takt_session_input(session, 1), 0, 0));
}

static void prints(void)
{
    takt_profile_results r;
    takt_text text;
    uint64_t nap = 1000;
    EXPECT_OK(ctx, takt_profile_start(ctx));
    EXPECT_OK(ctx, takt_timed(ctx, "semi;colon", futex, &nap));
    EXPECT_OK(ctx, takt_session_run(session));
    EXPECT_OK(ctx, takt_profile_stop(ctx, &r));
    static const struct {
        takt_profile_view view;
        takt_format format;
        const char *says;
    } cases[] = {{TAKT_PROFILE_STEPS, TAKT_FORMAT_TEXT, "Memory operations: 0"},
                 {TAKT_PROFILE_STEPS, TAKT_FORMAT_JSON, "\"avg_ns\""},
                 {TAKT_PROFILE_TRACE, TAKT_FORMAT_JSON, "\"semi;colon\""},
                 {TAKT_PROFILE_FOLDED, TAKT_FORMAT_TEXT, "program;semi,colon "}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        takt_text_init(&text, ctx);
        EXPECT_OK(ctx, takt_profile_results_print(ctx, &r, cases[i].view, cases[i].format, to_text,
                                                  &text));
        EXPECT(strstr(takt_text_get(&text), cases[i].says) != NULL, "%s", takt_text_get(&text));
        takt_text_deinit(&text);
    }
    takt_profile_results_free(ctx, &r);
    EXPECT_OK(ctx, takt_profile_start(ctx)); /* never stopped: the context frees it */
}

/* ---- the monitor ---- */

static void histogram(void)
{
    static takt_run_times t;
    for (int i = 1; i <= 10000; i++)
        takt_run_times_add(&t, i * 1000.0);
    const double parts[] = {0.5, 0.95, 0.99}, want[] = {5e6, 9.5e6, 9.9e6};
    for (int i = 0; i < 3; i++) {
        const double got = takt_run_times_quantile(&t, parts[i]);
        EXPECT(fabs(got / want[i] - 1) < 0.011, "p%g: %g instead of %g", parts[i], got, want[i]);
    }
    EXPECT_EQ(t.min_ns, 1000);
    EXPECT_EQ(t.max_ns, 1e7);
}

static void monitors(void)
{
    takt_monitor *m;
    takt_metrics x, part;
    const takt_monitor_options options = {.track_time = true, .track_cache = true};
    EXPECT_OK(ctx, takt_monitor_create(ctx, &options, &m));
    takt_monitor_attach(m, session);
    for (int i = 0; i < 50; i++)
        EXPECT_OK(ctx, takt_session_run(session));
    EXPECT_OK(ctx, takt_monitor_sample(m, &part));
    EXPECT_EQ(part.runs, 50);
    EXPECT_EQ(part.failures, 0);
    EXPECT_IS(part.throughput, >, 0);
    EXPECT_IS(part.min_ns, >, 0);
    EXPECT_IS(part.min_ns, <=, part.p50_ns);
    EXPECT_IS(part.p50_ns, <=, part.p95_ns);
    EXPECT_IS(part.p95_ns, <=, part.p99_ns);
    EXPECT_IS(part.p99_ns, <=, part.max_ns);
    EXPECT_IS(part.cpu_pct, >, 0);
    EXPECT_IS(part.memory_bytes, >, 0);
    EXPECT_IS(part.peak_bytes, >=, part.memory_bytes);
    EXPECT(part.resident_bytes > 100000, "%llu", (unsigned long long)part.resident_bytes);
    EXPECT(part.has_cache || takt_monitor_cache_reason(m)[0] != '\0');
    takt_session_cancel(session);
    EXPECT_STATUS(ctx, takt_session_run(session), TAKT_ERR_CANCELLED);
    EXPECT_OK(ctx, takt_monitor_sample(m, NULL));
    EXPECT(takt_monitor_count(m) == 2 && takt_monitor_get(m, 1, &x) && x.failures == 1 &&
           x.runs == 0 && !takt_monitor_get(m, 2, &x));
    takt_monitor_metrics(m, &x);
    EXPECT_EQ(x.runs, 50);
    EXPECT_EQ(x.failures, 1);
    takt_monitor_attach(NULL, session);
    EXPECT_OK(ctx, takt_session_run(session));
    takt_monitor_metrics(m, &x);
    EXPECT(x.runs == 50, "a detached session counts no more");
    for (int i = 0; i < 5000; i++)
        EXPECT_OK(ctx, takt_monitor_sample(m, NULL));
    EXPECT(takt_monitor_count(m) <= 4096 && takt_monitor_get(m, 0, &x) && x.runs == 50);
    takt_monitor_destroy(m);
}

/* However busy the machine is, at least 5 ms are between them. */
static void samples_by_itself(void)
{
    takt_monitor *m;
    const takt_monitor_options options = {.track_time = true, .interval_ms = 5};
    const uint64_t start = takt_os_now_ns(NULL), until = takt_os_cpu_ns() + ENOUGH_NS;
    EXPECT_OK(ctx, takt_monitor_create(ctx, &options, &m));
    takt_monitor_attach(m, session);
    while (takt_monitor_count(m) < 4 && takt_os_cpu_ns() < until)
        EXPECT_OK(ctx, takt_session_run(session));
    const double ms = (double)(takt_os_now_ns(NULL) - start) / 1e6;
    EXPECT(takt_monitor_count(m) == 4 && ms >= 20, "%zu in %g ms", takt_monitor_count(m), ms);
    takt_monitor_attach(NULL, session);
    takt_monitor_destroy(m);
}

static void reports(void)
{
    takt_monitor *m;
    char path[600];
    const takt_monitor_options options = {.track_time = true};
    const char *tmp = getenv("TAKT_TEST_TMP");
    EXPECT_OK(ctx, takt_monitor_create(ctx, &options, &m));
    takt_monitor_attach(m, session);
    EXPECT_OK(ctx, takt_session_run(session));
    EXPECT_OK(ctx, takt_monitor_sample(m, NULL));
    EXPECT_OK(ctx, takt_session_run(session));
    EXPECT_OK(ctx, takt_monitor_sample(m, NULL));
    static const char *const names[] = {"m.json", "m.html", "m.txt"};
    static const char *const says[] = {"\"takt-monitor/1\"", "<svg", "whole"};
    for (size_t i = 0; i < 3; i++) {
        static char bytes[200000];
        snprintf(path, sizeof path, "%s/%s", tmp != NULL ? tmp : "/tmp", names[i]);
        EXPECT_OK(ctx, takt_monitor_report(m, path));
        FILE *file = fopen(path, "rb");
        if (!EXPECT(file != NULL, "%s", path))
            continue;
        bytes[fread(bytes, 1, sizeof bytes - 1, file)] = '\0';
        fclose(file);
        EXPECT(strstr(bytes, says[i]) != NULL, "%s: %s", path, bytes);
    }
    EXPECT_STATUS(ctx, takt_monitor_report(m, "/nowhere/at/all.json"), TAKT_ERR_IO);
    takt_monitor_attach(NULL, session);
    takt_monitor_destroy(m);
}

/* ---- limits ---- */

static void limits_memory(void)
{
    takt_usage usage;
    takt_resource_usage(ctx, &usage);
    EXPECT_IS(usage.live_bytes, >, 0);
    EXPECT_IS(usage.peak_bytes, >=, usage.live_bytes);
    EXPECT_IS(usage.processors, >=, 1);
    EXPECT_IS(usage.memory_bytes, >, 0);
    EXPECT_IS(usage.memory_pct, >, 0);
    EXPECT_EQ(usage.cpu_limit_pct, 100);
    EXPECT_STATUS(ctx, takt_set_memory_limit(ctx, 80), TAKT_ERR_ARGUMENT);
    EXPECT_OK(ctx, takt_set_memory_limit(ctx, usage.live_bytes + 100000));
    EXPECT(takt_alloc(ctx, 200000) == NULL);
    EXPECT_OK(ctx, takt_set_memory_limit(ctx, usage.limit_bytes));
    void *block = takt_alloc(ctx, 200000);
    EXPECT(block != NULL);
    takt_free(ctx, block);
    takt_resource_usage(NULL, &usage);
    EXPECT_EQ(usage.live_bytes, 0);
    EXPECT_IS(usage.memory_bytes, >, 0);
}

/* Runs for 200 ms of waiting and working at a fifth of a processor: a busy machine gives less,
 * never more. */
static void keeps_limit(double percent)
{
    takt_usage usage;
    EXPECT_OK(ctx, takt_set_cpu_limit(ctx, percent));
    takt_resource_usage(ctx, &usage);
    const uint64_t until = takt_os_now_ns(NULL) + 200000000;
    while (takt_os_now_ns(NULL) < until)
        EXPECT_OK(ctx, takt_session_run(session));
    takt_resource_usage(ctx, &usage);
    EXPECT(usage.cpu_limit_pct == percent && usage.cpu_pct < 1.6 * percent, "%g %%", usage.cpu_pct);
}

/* With a limit of a hundredth of a processor, even a process that gets little time must soon
 * wait. */
static uint64_t waits(double percent)
{
    takt_usage usage;
    takt_resource_usage(ctx, &usage);
    const uint64_t before = usage.waited_ns, until = takt_os_cpu_ns() + ENOUGH_NS;
    EXPECT_OK(ctx, takt_set_cpu_limit(ctx, percent));
    while (usage.waited_ns == before && takt_os_cpu_ns() < until) {
        EXPECT_OK(ctx, takt_session_run(session));
        takt_resource_usage(ctx, &usage);
    }
    EXPECT_IS(usage.waited_ns, >, before);
    return usage.waited_ns;
}

static void limits_processors(void)
{
    takt_usage usage;
    takt_resource_usage(ctx, &usage);
    EXPECT_STATUS(ctx, takt_set_cpu_limit(ctx, 0), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_set_cpu_limit(ctx, 101), TAKT_ERR_ARGUMENT);
    keeps_limit(20.0 / usage.processors);
    const uint64_t waited = waits(1.0 / usage.processors);
    EXPECT_OK(ctx, takt_set_cpu_limit(ctx, 100));
    EXPECT_OK(ctx, takt_session_run(session));
    takt_resource_usage(ctx, &usage);
    EXPECT_EQ(usage.waited_ns, waited);
    EXPECT_EQ(usage.cpu_limit_pct, 100);
}

TEST_MAIN(begin, records, counts_memory, histogram, monitors, samples_by_itself, reports,
          limits_memory, limits_processors, prints, end)
