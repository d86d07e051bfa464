/* meters.c - energy, event counters, disk and loopback; batch sizes and processes of results. */
#include <takt/takt.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "measure/bench.h"
#include "os/counter.h"
#include "os/energy.h"
#include "os/traffic.h"
#include "test.h"

static takt_ctx *ctx;
static char folder[512];

static void begin(void)
{
    const char *tmp = getenv("TAKT_TEST_TMP");
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    snprintf(folder, sizeof folder, "%s", tmp != NULL ? tmp : "/tmp");
}

static void write_file(const char *name, const char *contents)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *at = path + strlen(folder) + 1; *at != '\0'; at++)
        if (*at == '/') {
            *at = '\0';
            mkdir(path, 0777);
            *at = '/';
        }
    FILE *file = fopen(path, "wb");
    if (EXPECT(file != NULL, "%s", path)) {
        fputs(contents, file);
        fclose(file);
    }
}

static void energy(void)
{
    takt_energy a, b;
    char root[600];
    snprintf(root, sizeof root, "%s/none", folder);
    EXPECT(!takt_energy_read(root, &a), "nobody counts there");
    snprintf(root, sizeof root, "%s/hwmon", folder);
    write_file("hwmon/sys/class/hwmon/hwmon3/energy1_input", "2500000\n");
    write_file("hwmon/sys/class/hwmon/hwmon3/energy2_input", "500000\n");
    EXPECT(takt_energy_read(root, &a) && strcmp(a.source, "hwmon") == 0 && a.joules == 3);
    snprintf(root, sizeof root, "%s/rapl", folder);
    write_file("rapl/sys/class/powercap/intel-rapl:0/energy_uj", "9000000\n");
    write_file("rapl/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "10000000\n");
    EXPECT(takt_energy_read(root, &a) && strcmp(a.source, "rapl") == 0 && a.joules == 9);
    write_file("rapl/sys/class/powercap/intel-rapl:0/energy_uj", "2000000\n");
    EXPECT(takt_energy_read(root, &b));
    EXPECT(fabs(takt_energy_between(&a, &b) - 3) < 1e-9, "the counter began again");
    EXPECT_IS(fabs(takt_energy_between(&b, &a) - 7), <, 1e-9);
}

static void events(void)
{
    EXPECT_EQ(takt_event_find("instructions"), TAKT_EVENT_INSTRUCTIONS);
    EXPECT_EQ(takt_event_find("nothing"), TAKT_EVENTS);
    EXPECT_TEXT(takt_event_name(TAKT_EVENT_BRANCH_MISSES), "branch-misses");
    EXPECT_EQ(takt_event_find("ll-misses"), TAKT_EVENT_LL_MISSES);
    EXPECT(takt_event_is_miss(TAKT_EVENT_L1_MISSES) && !takt_event_is_miss(TAKT_EVENT_L1_READS));
    EXPECT_IS(takt_counter_open(TAKT_EVENTS), <, 0);
    static const char text[] = "model m(x: f32[64]) -> f32[64] {\n  return relu(x)\n}\n";
    takt_model *model;
    takt_plan *plan;
    takt_session *s;
    const takt_plan_options options = {.threads = 1};
    double per_run;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model));
    EXPECT_OK(ctx, takt_plan_create(model, &options, &plan));
    EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    EXPECT_OK(ctx, takt_view_random(ctx, takt_session_input(s, 0), 0, 0));
    EXPECT_STATUS(ctx, takt_session_count(s, "wishes", 5, &per_run), TAKT_ERR_ARGUMENT);
    const takt_status status = takt_session_count(s, "instructions", 5, &per_run);
    if (status == TAKT_OK)
        EXPECT(per_run > 20 && per_run < 1e6, "%g", per_run);
    else
        EXPECT(status == TAKT_ERR_UNSUPPORTED && takt_last_error_info(ctx)->id == 8004);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
}

static void traffic(void)
{
    takt_disk_rates disk;
    takt_loopback_rates net;
    EXPECT_EQ(takt_disk_measure(ctx, folder, &disk), 0);
    EXPECT(disk.write_mbs > 0.1 && disk.read_mbs > 0.1 && disk.sync_ms > 0, "%g", disk.write_mbs);
    EXPECT_IS(takt_disk_measure(ctx, "/nowhere", &disk), >, 0);
    const int error = takt_loopback_measure(ctx, &net); /* a sandbox may forbid sockets */
    if (error == 0)
        EXPECT(net.mbs > 1 && net.round_trip_us > 0 && net.round_trip_us < 1e5, "%g", net.mbs);
}

/* ---- results ---- */

/* One case: batch, milliseconds, peak bytes, and whether its SLO of 2 ms is met. */
static void add_case(takt_text *t, int batch, double ms, int peak, bool met)
{
    takt_text_add(t,
                  "%s{\"config\":{\"batch_size\":%d,\"threads\":2,\"backend\":\"cpu\","
                  "\"precision\":\"bf16\",\"numerics\":\"fast\"},\"results\":{\"latency\":"
                  "{\"samples_ns\":[%g,%g,%g,%g]},\"throughput\":{\"median\":%g},"
                  "\"memory_usage\":{\"peak\":%d},\"slo\":{\"percentile\":99,\"limit_ms\":2,"
                  "\"value_ms\":%g,\"met\":%s}}}",
                  t->at[t->length - 1] == '[' ? "" : ",", batch, ms * 1e6, ms * 1e6, ms * 1.01e6,
                  ms * 1.02e6, batch / ms * 1000, peak, ms, met ? "true" : "false");
}

static takt_bench *made_up(double slower)
{
    takt_text t;
    takt_bench *bench = NULL;
    char path[600];
    takt_text_init(&t, ctx);
    takt_text_add(&t, "{\"benchmark_info\":{\"model\":\"made-up.takt\",\"system_info\":"
                      "{\"fingerprint\":\"0000000000000000\"}},\"results\":{\"latency\":{}},"
                      "\"runs\":[");
    add_case(&t, 1, 1.0 * slower, 1000 + 100, true);
    add_case(&t, 4, 1.6 * slower, 1000 + 400, true);
    add_case(&t, 8, 2.8 * slower, 1000 + 800, false);
    add_case(&t, 16, 5.5 * slower, 1000 + 1600, false);
    takt_text_add(&t, "]}");
    write_file("made-up.json", takt_text_get(&t));
    takt_text_deinit(&t);
    snprintf(path, sizeof path, "%s/made-up.json", folder);
    EXPECT_OK(ctx, takt_bench_load(ctx, path, &bench));
    return bench;
}

static void batches(void)
{
    takt_batch_suggestion s;
    takt_bench *b = made_up(1);
    if (b == NULL)
        return;
    EXPECT_EQ(takt_bench_count(b), 4);
    EXPECT_EQ(takt_bench_batch(b, 3), 16);
    EXPECT_EQ(takt_bench_batch(b, 4), 0);
    EXPECT_OK(ctx, takt_suggest_batch(b, NULL, &s));
    /* 1000, 2500, 2857 and 2909 samples a second: 8 is above 90 %, and only 4 meets the SLO. */
    EXPECT(s.best == 4 && s.knee == 8 && s.threads == 2, "%lld %lld", (long long)s.best,
           (long long)s.knee);
    EXPECT(s.sample_bytes == 100 && s.formula == 4, "%g %lld", s.sample_bytes,
           (long long)s.formula);
    const takt_batch_limits small = {.memory = 1250};
    EXPECT_OK(ctx, takt_suggest_batch(b, &small, &s));
    EXPECT(s.best == 1 && s.formula == 2, "%lld %lld", (long long)s.best, (long long)s.formula);
    EXPECT(takt_bench_keeps_slo(b, 1) && !takt_bench_keeps_slo(b, 2));
    takt_bench_destroy(b);
    takt_bench *empty;
    EXPECT_OK(ctx, takt_bench_create(ctx, NULL, &empty));
    EXPECT_STATUS(ctx, takt_suggest_batch(empty, NULL, &s), TAKT_ERR_ARGUMENT);
    takt_bench_destroy(empty);
}

/* `text` equals `want`, but is a separate copy: the other may be freed. */
static bool is_own(const char *text, const char *of_other, const char *want)
{
    return text != NULL && text != of_other && strcmp(text, want) == 0;
}

static void owns_words(const takt_bench *all, const takt_bench *other)
{
    for (size_t i = 0; i < takt_bench_count(all); i++) {
        const takt_bench_row *r = &all->rows[i], *from = &other->rows[i];
        EXPECT(is_own(r->config.backend, from->config.backend, "cpu"));
        EXPECT(is_own(r->config.precision, from->config.precision, "bf16"));
        EXPECT(is_own(r->config.numerics, from->config.numerics, "fast"));
        EXPECT(is_own(r->usage.cache.source, from->usage.cache.source, "simulated"));
        EXPECT(is_own(r->usage.cache.note, from->usage.cache.note, "no counters"));
    }
}

static void processes(void)
{
    takt_bench *all, *a = made_up(1), *b = made_up(1.5);
    const char *source;
    EXPECT_OK(ctx, takt_bench_create(ctx, NULL, &all));
    if (a != NULL && b != NULL) {
        const takt_cache_use use = {"simulated", 100, 10, 1, 1 << 15, 1 << 20, "no counters"};
        for (size_t i = 0; i < takt_bench_count(a); i++)
            EXPECT_OK(ctx, takt_bench_set_cache(a, i, &use));
        EXPECT_OK(ctx, takt_bench_absorb(all, a));
        EXPECT_OK(ctx, takt_bench_absorb(all, b));
        owns_words(all, a);
        EXPECT_EQ(takt_bench_count(all), 4);
        EXPECT_EQ(takt_bench_timing(all, 0)->count, 8);
        EXPECT(takt_bench_timing(all, 0)->stats.max == 1.53e6, "%g",
               takt_bench_timing(all, 0)->stats.max);
        EXPECT(takt_bench_counter(all, 0, &source) == 0 && source == NULL);
        EXPECT_OK(ctx, takt_bench_set_counter(all, 0, "instructions", 12345, "simulated"));
        EXPECT_EQ(takt_bench_counter(all, 0, &source), 12345);
        EXPECT_TEXT(source, "simulated");
        EXPECT_STATUS(ctx, takt_bench_set_counter(all, 9, "instructions", 1, "measured"),
                      TAKT_ERR_ARGUMENT);
    }
    takt_bench_destroy(all);
    takt_bench_destroy(a);
    takt_bench_destroy(b);
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, energy, events, traffic, batches, processes, end)
