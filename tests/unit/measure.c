/* measure.c - timing, profiles, comparisons and results of a real session. */
#define _GNU_SOURCE
#include <takt/takt.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/json.h"
#include "test.h"
#include "util/sheet.h"

static const char text[] = "model m(x: f32[batch, 64]) -> f32[batch, 10] {\n"
                           "  h = dense(x, 128, act=relu)\n  return dense(h, 10, act=softmax)\n}\n";

static takt_ctx *ctx;
static takt_plan *plan;
static takt_session *session;

static takt_session *open_session(void)
{
    takt_session *s;
    if (!EXPECT_OK(ctx, takt_session_create(plan, NULL, &s)))
        exit(1);
    for (size_t i = 0; i < takt_session_input_count(s); i++)
        EXPECT_OK(ctx, takt_view_random(ctx, takt_session_input(s, i), 0, 0));
    return s;
}

static void begin(void)
{
    takt_model *model;
    const takt_plan_options options = {.sizes = "batch=4", .threads = 1};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model)) ||
        !EXPECT_OK(ctx, takt_plan_create(model, &options, &plan)))
        exit(1);
    takt_model_destroy(model);
    session = open_session();
}

static void timing(void)
{
    takt_timing t;
    const takt_timing_options exact = {.runs = 50, .warmup = 5};
    EXPECT_OK(ctx, takt_session_time(session, &exact, &t));
    EXPECT(t.count == 50 && t.warmup_runs == 5 && t.is_complete, "%zu %zu", t.count, t.warmup_runs);
    EXPECT_IS(t.first_ns, >, 0);
    EXPECT_IS(t.copy_ns, >, 0);
    EXPECT_EQ(t.stats.count, 50);
    EXPECT_IS(t.stats.min, <=, t.stats.median_ci.low);
    EXPECT_IS(t.stats.median_ci.high, <=, t.stats.max);
    EXPECT(t.stats.percentiles[0].resolved && !t.stats.percentiles[3].resolved);
    takt_timing_free(ctx, &t);
    const takt_timing_options one = {.runs = 1, .no_warmup = true};
    EXPECT_OK(ctx, takt_session_time(session, &one, &t));
    EXPECT_EQ(t.count, 1);
    EXPECT_EQ(t.warmup_runs, 0);
    takt_timing_free(ctx, &t);
    const takt_timing_options free_choice = {.max_ns = 30000000};
    EXPECT_OK(ctx, takt_session_time(session, &free_choice, &t));
    EXPECT_IS(t.count, >=, 3);
    EXPECT_IS(t.warmup_runs, >=, 1);
    takt_timing_free(ctx, &t);
}

static void cancelled(void)
{
    takt_timing t;
    const takt_timing_options options = {.runs = 10};
    takt_session_cancel(session);
    EXPECT_STATUS(NULL, takt_session_time(session, &options, &t), TAKT_ERR_CANCELLED);
    EXPECT_EQ(t.count, 0);
    EXPECT(!t.is_complete);
    takt_timing_free(ctx, &t);
    EXPECT_OK(ctx, takt_session_run(session));
}

static bool is_json(const char *bytes, size_t length)
{
    takt_arena arena;
    const takt_json *root;
    takt_arena_init(&arena, ctx);
    const bool good = takt_json_parse(ctx, &arena, bytes, length, &root) == TAKT_OK;
    takt_arena_deinit(&arena);
    return good;
}

/* Set values are printed in every view; impossible ones are refused. */
static void caches(takt_profile *p)
{
    static sheet c;
    takt_cache_use use;
    EXPECT_OK(ctx, takt_profile_model_cache(p, &use));
    EXPECT(strcmp(use.source, "modelled") == 0 && use.accesses > 0 && use.l1_misses >= 0 &&
               use.ll_misses >= 0 && use.l1_misses + use.ll_misses <= 2 * use.accesses,
           "%g %g", use.accesses, use.l1_misses);
    EXPECT_EQ(use.l1_bytes, 65536);
    EXPECT_EQ(use.ll_bytes, 1 << 25);
    use = (takt_cache_use){.source = "guessed", .accesses = 1000, .l1_misses = 250};
    EXPECT_STATUS(ctx, takt_profile_set_cache(p, &use), TAKT_ERR_ARGUMENT);
    use.source = "measured";
    use.l1_misses = 1001;
    EXPECT_STATUS(ctx, takt_profile_set_cache(p, &use), TAKT_ERR_ARGUMENT);
    use.l1_misses = 250;
    use.ll_misses = -1;
    use.note = "because";
    EXPECT_OK(ctx, takt_profile_set_cache(p, &use));
    for (int view = TAKT_PROFILE_STEPS; view <= TAKT_PROFILE_MEMORY; view++) {
        c.length = 0;
        EXPECT_OK(ctx, takt_profile_print(p, (takt_profile_view)view, 0, TAKT_FORMAT_JSON,
                                          sheet_keep, &c));
        EXPECT(is_json(c.at, c.length) && strstr(c.at, "\"hit_rate\": 0.75") != NULL &&
                   strstr(c.at, "ll_hit_rate") == NULL && strstr(c.at, "because") != NULL,
               "view %d: %s", view, c.at);
    }
    c.length = 0;
    EXPECT_OK(ctx, takt_profile_print(p, TAKT_PROFILE_BRIEF, 0, TAKT_FORMAT_TEXT, sheet_keep, &c));
    EXPECT(strstr(c.at, "cache (measured): 75 % of 1000 accesses a run hit L1\n") != NULL, "%s",
           c.at);
}

static void profiles(void)
{
    static sheet c;
    takt_ceilings ceilings = {.one = {.threads = 1, .f32_gflops = 50, .f64_gflops = 25},
                              .cache_bytes = {65536, 1 << 20, 1 << 25, 1 << 30}};
    for (int i = 0; i < TAKT_LEVELS; i++)
        ceilings.one.read_gbs[i] = 100 - 20 * i;
    ceilings.all = ceilings.one;
    takt_profile *p;
    takt_profile_summary s;
    const takt_profile_options options = {.ceilings = &ceilings, .runs = 40, .max_ns = 100000000};
    if (!EXPECT_OK(ctx, takt_profile_create(session, &options, &p)))
        return;
    s.flops = 1;
    takt_profile_summarize(NULL, &s);
    EXPECT(s.flops == 0 && s.latency.count == 0, "zeros without a profile");
    takt_profile_summarize(p, &s);
    EXPECT(s.latency.median > 0 && s.floor_ns > 0 && s.flops >= 2.0 * 4 * 64 * 128, "%g", s.flops);
    for (int view = TAKT_PROFILE_STEPS; view <= TAKT_PROFILE_FOLDED; view++) {
        c.length = 0;
        EXPECT_OK(ctx, takt_profile_print(p, (takt_profile_view)view, 0, TAKT_FORMAT_JSON,
                                          sheet_keep, &c));
        if (view != TAKT_PROFILE_FOLDED)
            EXPECT(is_json(c.at, c.length), "view %d: %s", view, c.at);
        EXPECT(c.length > 20, "view %d", view);
        c.length = 0;
        EXPECT_OK(ctx, takt_profile_print(p, (takt_profile_view)view, 1, TAKT_FORMAT_TEXT,
                                          sheet_keep, &c));
    }
    c.length = 0;
    EXPECT_OK(ctx, takt_profile_print(p, TAKT_PROFILE_MEMORY, 0, TAKT_FORMAT_TEXT, sheet_keep, &c));
    EXPECT(strncmp(c.at, "Allocations:", 12) == 0 && strstr(c.at, "\nTotal memory:") != NULL &&
               strstr(c.at, "\nPeak memory:") != NULL,
           "%s", c.at);
    caches(p);
    takt_profile_destroy(p);
    takt_profile_destroy(NULL);
}

/* A buffer in an order that no step takes costs one copy, which the profile shows. */
static void moves(void)
{
    static sheet c;
    static float columns[64][4];
    takt_session *s = open_session();
    takt_profile *p = NULL;
    const takt_profile_options options = {.runs = 5, .max_ns = 20000000};
    takt_tensor_view v = {.dtype = TAKT_F32, .rank = 2, .dims = {4, 64}, .data = columns};
    v.strides[0] = 1;
    v.strides[1] = 4;
    for (int bound = 0; bound < 3; bound++) {
        if (bound == 2) { /* from the last row to the first */
            v.data = (float *)columns + 3 * 64;
            v.strides[0] = -64;
            v.strides[1] = 1;
        }
        EXPECT(bound == 0 || takt_session_bind(s, "x", &v) == TAKT_OK);
        c.length = 0;
        if (EXPECT_OK(ctx, takt_profile_create(s, &options, &p)))
            EXPECT_OK(ctx, takt_profile_print(p, TAKT_PROFILE_STEPS, 0, TAKT_FORMAT_TEXT,
                                              sheet_keep, &c));
        EXPECT((strstr(c.at, "move: 1 bound buffer (x) is not dense") != NULL) == (bound == 2),
               "%s", c.at);
        takt_profile_destroy(p);
    }
    takt_session_destroy(s);
}

static void comparisons(void)
{
    takt_session *other = open_session();
    takt_comparison c;
    const takt_compare_options options = {.blocks = 8, .max_ns = 200000000};
    EXPECT_OK(ctx, takt_session_compare(session, other, &options, &c));
    EXPECT(c.blocks == 8 && c.ratio > 0.2 && c.ratio < 5 && c.ci.low <= c.ci.high, "%g", c.ratio);
    EXPECT_IS(c.a_ns, >, 0);
    EXPECT_IS(c.b_ns, >, 0);
    EXPECT_IS(strlen(takt_verdict_name(c.verdict)), >, 3);
    const takt_compare_options many = {.blocks = 100001};
    EXPECT_STATUS(NULL, takt_session_compare(session, other, &many, &c), TAKT_ERR_ARGUMENT);
    takt_session_destroy(other);
}

/* Memory that the process had before and gave back is not a benchmark's. */
static void resident(void)
{
    enum { BYTES = 96 << 20 };
    static sheet c;
    takt_bench *bench;
    const takt_bench_case settings = {.timing = {.runs = 5, .warmup = 1}, .no_steps = true};
    void *block = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!EXPECT(block != MAP_FAILED))
        return;
    memset(block, 1, BYTES);
    munmap(block, BYTES);
    EXPECT_OK(ctx, takt_bench_create(ctx, NULL, &bench));
    EXPECT_OK(ctx, takt_bench_add(bench, session, &settings));
    c.length = 0;
    EXPECT_OK(ctx, takt_bench_write(bench, TAKT_BENCH_JSON, sheet_keep, &c));
    const char *at = strstr(c.at, "\"measured_peak_rss_delta\": ");
    if (EXPECT(at != NULL))
        EXPECT(atof(at + 27) < BYTES / 2.0, "%.40s", at);
    takt_bench_destroy(bench);
}

static void results(void)
{
    static sheet c;
    takt_bench *bench, *again;
    const takt_bench_info info = {.model = "none.takt", .timestamp = "2026-11-15T10:00:00Z"};
    const takt_bench_case settings = {.batch = 4, .timing = {.runs = 60, .warmup = 3}};
    char path[1024];
    const char *folder = getenv("TAKT_TEST_TMP");
    EXPECT_OK(ctx, takt_bench_create(ctx, &info, &bench));
    EXPECT_OK(ctx, takt_bench_add(bench, session, &settings));
    EXPECT_OK(ctx, takt_bench_add(bench, session, &settings));
    for (int format = TAKT_BENCH_TEXT; format <= TAKT_BENCH_GBENCH; format++) {
        c.length = 0;
        if (format == TAKT_BENCH_HTML)
            continue; /* larger than the buffer here; the command's test reads one */
        EXPECT_OK(ctx, takt_bench_write(bench, (takt_bench_format)format, sheet_keep, &c));
        if (format == TAKT_BENCH_JSON || format == TAKT_BENCH_GBENCH)
            EXPECT(is_json(c.at, c.length));
    }
    c.length = 0;
    EXPECT_OK(ctx, takt_bench_write(bench, TAKT_BENCH_JSON, sheet_keep, &c));
    snprintf(path, sizeof path, "%s/result.json", folder != NULL ? folder : "/tmp");
    FILE *file = fopen(path, "wb");
    if (EXPECT(file != NULL)) {
        fwrite(c.at, 1, c.length, file);
        fclose(file);
        EXPECT_OK(ctx, takt_bench_load(ctx, path, &again));
        EXPECT(takt_bench_count(again) == 2 && takt_bench_timing(again, 2) == NULL);
        EXPECT_EQ(takt_bench_timing(again, 1)->count, 60);
        EXPECT_EQ(takt_bench_timing(again, 0)->stats.median,
                  takt_bench_timing(bench, 0)->stats.median);
        EXPECT_TEXT(takt_bench_fingerprint(again), takt_bench_fingerprint(bench));
        takt_bench_destroy(again);
    }
    takt_bench_destroy(bench);
    EXPECT_STATUS(ctx, takt_bench_load(ctx, "CMakeLists.txt", &again), TAKT_ERR_FORMAT);
    EXPECT_SAME(again, NULL);
}

static void end(void)
{
    takt_session_destroy(session);
    takt_plan_destroy(plan);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, timing, cancelled, profiles, moves, comparisons, resident, results, end)
