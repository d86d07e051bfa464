/* 000.c - blocks of guide 000 for programs, in C. */
#include "guide.h"

enum { BATCH = 32 };

/* 4: buffers are made once and used by every run */
static void buffers(void)
{
    const takt_plan_options options = {.sizes = "batch=32"};
    takt_tensor_view x = {.dtype = TAKT_F32, .rank = 2, .dims = {BATCH, 784}};
    takt_tensor_view y = {.dtype = TAKT_F32, .rank = 2, .dims = {BATCH, 10}};
    takt_session *session = guide_session(&options); /* hidden values live in its arena */
    EXPECT_OK(ctx, takt_view_alloc(ctx, &x));
    EXPECT_OK(ctx, takt_view_alloc(ctx, &y));
    EXPECT_OK(ctx, takt_session_bind(session, "x", &x));
    EXPECT_OK(ctx, takt_session_bind(session, "out", &y));

    takt_profile_results results;
    EXPECT_OK(ctx, takt_profile_start(ctx));
    for (int i = 0; i < 10; i++)
        EXPECT_OK(ctx, takt_session_run(session)); /* reads x, writes y */
    EXPECT_OK(ctx, takt_profile_stop(ctx, &results));
    printf("10 runs: %llu allocations\n", (unsigned long long)results.allocations);
    EXPECT_EQ(results.allocations, 0);
    EXPECT_EQ(results.moves, 0);
    takt_profile_results_free(ctx, &results);
    takt_session_destroy(session);
    takt_view_free(ctx, &x);
    takt_view_free(ctx, &y);
}

/* 8: memory aligned for vector code */
static void aligned(void)
{
    void *block = takt_alloc(ctx, 1000 * sizeof(float));
    printf("aligned to 64 bytes: %s\n", (uintptr_t)block % 64 == 0 ? "Yes" : "No");
    EXPECT(block != NULL && (uintptr_t)block % 64 == 0);
    takt_free(ctx, block);
}

/* 15: inputs shared out among sessions, one for each core */
static void data_parallel(void)
{
    enum { INPUTS = 100 };
    const takt_many_options many = {.batch_size = 1, .jobs = 2};
    takt_tensor_view x = {.dtype = TAKT_F32, .rank = 2, .dims = {INPUTS, 784}};
    takt_tensor_view y = {.dtype = TAKT_F32, .rank = 2, .dims = {INPUTS, 10}};
    EXPECT_OK(ctx, takt_view_alloc(ctx, &x));
    EXPECT_OK(ctx, takt_view_alloc(ctx, &y));
    EXPECT_OK(ctx, takt_view_random(ctx, &x, 3, 0));
    const takt_named_view views[] = {{"x", x}, {"out", y}};
    EXPECT_OK(ctx, takt_run_many(model, &many, views, 2));
    printf("%d inputs on 2 sessions at once\n", INPUTS);
    EXPECT_IS(takt_view_element(&y, INPUTS * 10 - 1), >, 0);
    takt_view_free(ctx, &x);
    takt_view_free(ctx, &y);
}

/* 18: the first run as fast as the others */
static void warm_up(void)
{
    takt_session *session = guide_session(NULL);
    EXPECT_OK(ctx, takt_session_warmup(session));
    takt_timing timing;
    const takt_timing_options options = {.runs = 100, .no_warmup = true};
    EXPECT_OK(ctx, takt_session_time(session, &options, &timing));
    printf("first of 100 runs %.3f ms, median %.3f ms\n", timing.samples[0] / 1e6,
           timing.stats.median / 1e6);
    EXPECT_EQ(timing.count, 100);
    EXPECT_EQ(timing.warmup_runs, 0);
    takt_timing_free(ctx, &timing);
    takt_session_destroy(session);
}

/* 20: nothing is collected during a run, since nothing is allocated; caches are emptied by hand */
static void no_pauses(void)
{
    takt_session *session = guide_session(NULL);
    EXPECT_OK(ctx, takt_session_warmup(session));
    takt_usage before, after;
    takt_resource_usage(ctx, &before);
    for (int i = 0; i < 1000; i++)
        EXPECT_OK(ctx, takt_session_run(session)); /* the critical path */
    takt_resource_usage(ctx, &after);
    printf("1000 runs: %llu allocations\n",
           (unsigned long long)(after.allocations - before.allocations));
    EXPECT_EQ(after.allocations, before.allocations);
    takt_session_destroy(session);
    takt_ctx_trim(ctx); /* now is a good moment */
}

GUIDE_MAIN({"buffers", buffers}, {"aligned", aligned}, {"data_parallel", data_parallel},
           {"warm_up", warm_up}, {"no_pauses", no_pauses})
