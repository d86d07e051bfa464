/* 004.c - the C blocks of guide 004, in order, with takt_ for tinyai. */
#include "guide.h"

/* 1: vector code by family of kernels, and the optimisation level */
static void simd(void)
{
    takt_plan_options options = {0};
    EXPECT_OK(ctx, takt_opts_simd(&options, TAKT_FAMILY_GEMM, "on"));
    EXPECT_OK(ctx, takt_opts_simd(&options, TAKT_FAMILY_CONV, "on"));
    EXPECT_OK(ctx, takt_opts_simd(&options, TAKT_FAMILY_MAP, "on"));
    EXPECT_OK(ctx, takt_opts_simd(&options, TAKT_FAMILY_ATTENTION, "on"));
    EXPECT_OK(ctx, takt_opts_level(&options, 3)); /* maximum optimisation */

    takt_plan *plan = NULL;
    if (EXPECT_OK(ctx, takt_plan_create(model, &options, &plan)))
        EXPECT_OK(ctx, takt_plan_kernels(plan, TAKT_FORMAT_TEXT, guide_print, stdout));
    takt_plan_destroy(plan);
}

/* 2: the processor's capabilities */
static void capabilities(void)
{
    takt_cpu caps;
    takt_cpu_caps(&caps);
    printf("AVX2 Support: %s\n", strstr(caps.isas, "avx2") != NULL ? "Yes" : "No");
    printf("AVX512 Support: %s\n", strstr(caps.isas, "avx512") != NULL ? "Yes" : "No");
    printf("instruction sets: %s\n", caps.isas);
    EXPECT(strstr(caps.isas, "scalar") == caps.isas, "%s", caps.isas);
}

static takt_plan_options cached(void)
{
    return (takt_plan_options){.threads = 1,
                               .cache = {
                                   .block_size = 65536,    /* packed at a time: what L2 holds */
                                   .cache_line_size = 64,  /* standard cache line */
                                   .enable_prefetch = 1,   /* on */
                                   .prefetch_distance = 2, /* lines passed over */
                               }};
}

/* 3: how products walk through memory; the bits stay the same */
static void caches(void)
{
    const takt_plan_options plain = {.threads = 1}, tuned = cached();
    char digests[2][TAKT_DIGEST_TEXT];
    for (int i = 0; i < 2; i++) {
        takt_session *session = guide_session(i == 0 ? &plain : &tuned);
        EXPECT_OK(ctx, takt_session_run(session));
        EXPECT_OK(ctx, takt_view_digest(ctx, takt_session_output(session, 0), 1, digests[i]));
        takt_session_destroy(session);
    }
    EXPECT_TEXT(digests[0], digests[1]);
    printf("the same bits with another cache configuration: %.16s\n", digests[1]);
}

/* 4: the plan chooses the layout; the hit rate is counted where the kernel lets us */
static void layout(void)
{
    const takt_plan_options options = {.threads = 1};
    const takt_monitor_options watch = {.track_time = true, .track_cache = true};
    takt_monitor *monitor = NULL;
    if (!EXPECT_OK(ctx, takt_monitor_create(ctx, &watch, &monitor)))
        return;
    takt_session *session = guide_session(&options);
    takt_monitor_attach(monitor, session);
    for (int i = 0; i < 50; i++)
        EXPECT_OK(ctx, takt_session_run(session));

    takt_metrics stats;
    takt_monitor_metrics(monitor, &stats);
    if (stats.has_cache)
        printf("Cache hit rate: %.2f%%\n", stats.cache_hit_pct);
    else
        printf("Cache hit rate: unavailable (%s)\n", takt_monitor_cache_reason(monitor));
    EXPECT_EQ(stats.has_cache, (takt_monitor_cache_reason(monitor)[0] == '\0'));
    takt_session_destroy(session);
    takt_monitor_destroy(monitor);
}

/* 5: memory against speed: values are made twice where that lowers the peak, within a limit */
static const takt_plan_options scheduler = {
    .hint = "memory",                     /* the order of steps is searched */
    .memory_limit = 256ull * 1024 * 1024, /* of all that the plan needs */
};

static void scheduling(void)
{
    takt_plan *plan = NULL;
    takt_plan_info info;
    if (!EXPECT_OK(ctx, takt_plan_create(model, &scheduler, &plan)))
        return;
    takt_plan_query(plan, &info);
    printf("arena: %llu bytes of %llu\n", (unsigned long long)info.arena,
           (unsigned long long)info.peak);
    EXPECT_IS(info.peak, <=, scheduler.memory_limit);
    takt_plan_destroy(plan);

    takt_plan_options tight = scheduler;
    tight.memory_limit = 64;
    EXPECT_STATUS(ctx, takt_plan_create(model, &tight, &plan), TAKT_ERR_LIMIT);
}

/* 6: the plan, and its memory before anything has run */
static void planning(void)
{
    const takt_plan_options options = {.sizes = "batch=1024"};
    takt_plan *plan = NULL;
    takt_plan_info estimate;
    if (!EXPECT_OK(ctx, takt_plan_create(model, &options, &plan)))
        return;
    takt_plan_query(plan, &estimate);
    printf("Minimum memory: %.1f MB\n", (double)estimate.lower_bound / (1024 * 1024));
    printf("Maximum memory: %.1f MB\n", (double)estimate.unshared / (1024 * 1024));
    printf("planned: %.1f MB\n", (double)estimate.arena / (1024 * 1024));
    EXPECT_IS(estimate.lower_bound, <=, estimate.arena);
    EXPECT_IS(estimate.arena, <=, estimate.unshared);
    takt_plan_destroy(plan);
}

/* 7: many samples, eight at a time (the rest of this block is about generating text) */
static void batches(void)
{
    enum { SAMPLES = 20 };
    const takt_many_options many = {.batch_size = 8}; /* the last batch has four */
    takt_tensor_view x = {.dtype = TAKT_F32, .rank = 2, .dims = {SAMPLES, 784}};
    takt_tensor_view y = {.dtype = TAKT_F32, .rank = 2, .dims = {SAMPLES, 10}};
    EXPECT_OK(ctx, takt_view_alloc(ctx, &x));
    EXPECT_OK(ctx, takt_view_alloc(ctx, &y));
    EXPECT_OK(ctx, takt_view_random(ctx, &x, 1, 0));
    const takt_named_view views[] = {{"x", x}, {"out", y}};
    EXPECT_OK(ctx, takt_run_many(model, &many, views, 2));
    double sum = 0;
    for (size_t i = 0; i < SAMPLES * 10; i++)
        sum += takt_view_element(&y, i);
    printf("%d samples in batches of 8; their probabilities sum to %.3f\n", SAMPLES, sum);
    EXPECT(sum > SAMPLES - 1e-3 && sum < SAMPLES + 1e-3, "%g", sum);
    takt_view_free(ctx, &x);
    takt_view_free(ctx, &y);
}

/* 8: threads, and where they run */
static void threads(void)
{
    takt_cpu cpu;
    takt_cpu_caps(&cpu);
    const int num_cores = cpu.cores;
    const takt_plan_options options = {.threads = num_cores > 1 ? num_cores - 1 : 1};
    takt_session *session = guide_session(&options); /* one core is left free */

    const takt_status main_thread = takt_set_affinity(session, 0, 0);
    if (main_thread == TAKT_OK)
        printf("%d of %d cores; the main thread is bound to core 0\n", options.threads, num_cores);
    else /* core 0 may not be ours */
        printf("%d of %d cores; not bound: %s\n", options.threads, num_cores,
               takt_session_error(session)->message);
    EXPECT_STATUS(ctx, takt_set_affinity(session, 1 << 20, 0), TAKT_ERR_ARGUMENT);
    EXPECT_OK(ctx, takt_session_run(session));
    takt_session_destroy(session);
}

/* 9: limits, and their use */
static void limits(void)
{
    takt_usage usage;
    EXPECT_OK(ctx, takt_set_cpu_limit(ctx, 90)); /* per cent of the processors */
    takt_resource_usage(ctx, &usage);
    EXPECT_OK(ctx, takt_set_memory_limit(ctx, usage.memory_bytes / 100 * 80)); /* 80 % */

    takt_session *session = guide_session(NULL);
    for (int i = 0; i < 20; i++)
        EXPECT_OK(ctx, takt_session_run(session));
    takt_resource_usage(ctx, &usage);
    printf("CPU Usage: %.1f%%\n", usage.cpu_pct);
    printf("Memory Usage: %.1f%%\n", usage.memory_pct);
    EXPECT_EQ(usage.cpu_limit_pct, 90);
    EXPECT_IS(usage.memory_pct, >, 0);
    EXPECT_IS(usage.memory_pct, <, 100);
    takt_session_destroy(session);
    EXPECT_OK(ctx, takt_set_cpu_limit(ctx, 100)); /* lifted */
}

/* 10: a monitor */
static takt_monitor *monitored(takt_session *session)
{
    const takt_monitor_options config = {
        .track_time = true,
        .track_cache = true,
        .interval_ms = 100,
    };
    takt_monitor *analysis = NULL;
    if (EXPECT_OK(ctx, takt_monitor_create(ctx, &config, &analysis)))
        takt_monitor_attach(analysis, session);
    return analysis;
}

/* 10 and 11: its figures */
static void metrics(void)
{
    takt_session *session = guide_session(NULL);
    takt_monitor *analysis = monitored(session);
    for (int i = 0; i < 100; i++)
        EXPECT_OK(ctx, takt_session_run(session));

    takt_metrics seen;
    takt_monitor_metrics(analysis, &seen);
    printf("Inference time: %.3f ms\n", seen.p50_ns / 1e6);
    printf("Throughput: %.2f runs/s\n", seen.throughput);
    EXPECT_EQ(seen.runs, 100);
    EXPECT_IS(seen.p50_ns, >, 0);
    EXPECT_IS(seen.p50_ns, <=, seen.p99_ns);
    takt_session_destroy(session);
    takt_monitor_destroy(analysis);
}

/* 12: everything between two points */
static void profiling(void)
{
    takt_session *session = guide_session(NULL);
    EXPECT_OK(ctx, takt_session_warmup(session)); /* memory of the results */
    EXPECT_OK(ctx, takt_profile_start(ctx));
    EXPECT_OK(ctx, takt_session_run(session));
    takt_profile_results results;
    EXPECT_OK(ctx, takt_profile_stop(ctx, &results));
    printf("Total time: %.3f ms\n", (double)results.total_ns / 1e6);
    printf("Memory operations: %llu\n", (unsigned long long)(results.allocations + results.moves));
    EXPECT_EQ(results.allocations, 0);
    EXPECT_IS(results.op_count, >, 0);
    takt_profile_results_free(ctx, &results);
    takt_session_destroy(session);
}

/* 13: samples, the gain of each optimisation, and a report */
static void reporting(void)
{
    char path[4096];
    takt_session *session = guide_session(NULL);
    takt_monitor *analysis = monitored(session);
    for (int i = 0; i < 5; i++) {
        EXPECT_OK(ctx, takt_session_run(session));
        EXPECT_OK(ctx, takt_monitor_sample(analysis, NULL));
    }
    EXPECT_EQ(takt_monitor_count(analysis), 5);
    EXPECT_OK(ctx,
              takt_profile_impact(model, NULL, 2000000, TAKT_FORMAT_TEXT, guide_print, stdout));
    guide_path(path, sizeof path, "performance_report.txt");
    EXPECT_OK(ctx, takt_monitor_report(analysis, path));
    printf("written: performance_report.txt\n");
    takt_session_destroy(session);
    takt_monitor_destroy(analysis);
}

GUIDE_MAIN({"simd", simd}, {"capabilities", capabilities}, {"caches", caches}, {"layout", layout},
           {"scheduling", scheduling}, {"planning", planning}, {"batches", batches},
           {"limits", limits}, {"metrics", metrics}, {"profiling", profiling},
           {"reporting", reporting}, {"threads", threads}) /* last: it binds this thread */
