/* 002.c - blocks of guide 002 for programs, in C. */
#include "guide.h"

/* 7: one session for all data: its memory is reused by every run */
static void reuse(void)
{
    takt_session *session = guide_session(NULL);
    const void *first = NULL;
    for (int i = 0; i < 10; i++) {
        EXPECT_OK(ctx, takt_view_random(ctx, takt_session_input(session, 0), (uint64_t)i, 0));
        EXPECT_OK(ctx, takt_session_run(session));
        const void *data = takt_session_output(session, 0)->data;
        EXPECT(i == 0 || data == first);
        first = data;
    }
    printf("10 runs wrote to the same buffer\n");
    takt_session_destroy(session);
    takt_ctx_trim(ctx); /* clears the caches */
}

static takt_status operation(void *arg)
{
    return takt_session_run(arg);
}

/* 14: how long did that take? */
static void detection(void)
{
    takt_session *session = guide_session(NULL);
    takt_profile_results results;
    EXPECT_OK(ctx, takt_profile_start(ctx));
    EXPECT_OK(ctx, takt_timed(ctx, "operation", operation, session));
    EXPECT_OK(ctx, takt_profile_stop(ctx, &results));
    EXPECT_OK(ctx, takt_profile_results_print(ctx, &results, TAKT_PROFILE_STEPS, TAKT_FORMAT_TEXT,
                                              guide_print, stdout));
    takt_profile_results_free(ctx, &results);
    takt_session_destroy(session);
}

/* 17: everything that a run needs in one static buffer */
static void static_buffer(void)
{
    static _Alignas(64) unsigned char buffer[1 << 16];
    const takt_plan_options options = {.threads = 1, .memory_limit = 1 << 20};
    const takt_session_options memory = {.arena = buffer, .arena_bytes = sizeof buffer};
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    EXPECT_OK(ctx, takt_plan_create(model, &options, &plan));
    EXPECT_OK(ctx, takt_session_create(plan, &memory, &session));
    EXPECT_OK(ctx, takt_view_random(ctx, takt_session_input(session, 0), 0, 0));
    EXPECT_OK(ctx, takt_session_run(session));
    printf("ran in a static buffer of %zu bytes\n", sizeof buffer);
    takt_session_destroy(session);
    takt_plan_destroy(plan);
}

/* 18 and 19: ten runs to warm up, a hundred that count, percentiles */
static void percentiles(void)
{
    const takt_timing_options options = {.warmup = 10, .runs = 100};
    takt_session *session = guide_session(NULL);
    takt_timing timing;
    EXPECT_OK(ctx, takt_session_time(session, &options, &timing));
    const takt_percentile *p = timing.stats.percentiles; /* 50, 90, 95, 99 */
    printf("p50 %.1f us, p95 %.1f us, p99 %.1f us%s\n", p[0].value / 1e3, p[2].value / 1e3,
           p[3].value / 1e3, p[3].resolved ? "" : " (at least: 100 runs cannot tell)");
    EXPECT_EQ(timing.count, 100);
    EXPECT_EQ(timing.warmup_runs, 10);
    EXPECT(!p[3].resolved);
    takt_timing_free(ctx, &timing);
    takt_session_destroy(session);
}

static void *counted_get(void *user, size_t size, size_t align)
{
    *(int *)user += 1;
    return aligned_alloc(align < sizeof(void *) ? sizeof(void *) : align,
                         (size + align - 1) / align * align);
}

static void counted_put(void *user, void *block, size_t size)
{
    (void)user, (void)size;
    free(block);
}

/* 20: an allocator of one's own */
static void allocator(void)
{
    int calls = 0;
    const takt_allocator mine = {counted_get, counted_put, &calls};
    const takt_config config = {.allocator = &mine};
    takt_ctx *own = NULL;
    EXPECT_OK(NULL, takt_ctx_create(&config, &own));
    takt_free(own, takt_alloc(own, 1000));
    takt_ctx_destroy(own);
    printf("%d blocks came from my own allocator\n", calls);
    EXPECT_IS(calls, >, 0);
}

static void square(void *user, const takt_tensor_view *in, size_t in_count,
                   const takt_tensor_view *out, size_t out_count)
{
    (void)user, (void)in_count, (void)out_count;
    const float *from = in[0].data;
    float *to = out[0].data;
    for (int i = 0; i < 4; i++) /* or intrinsics */
        to[i] = from[i] * from[i];
}

/* 21: a kernel of one's own */
static void own_kernel(void)
{
    static const char text[] =
        "model m(x: f32[4]) -> f32[4] {\n"
        "  return custom(x, name=\"square\", body=graph(x: f32[4]) { return x * x })\n}\n";
    takt_model *own = NULL;
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    EXPECT_OK(ctx, takt_register_op(ctx, &(takt_op_def){.name = "square", .run = square}));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &own));
    EXPECT_OK(ctx, takt_plan_create(own, NULL, &plan));
    EXPECT_OK(ctx, takt_session_create(plan, NULL, &session));
    memcpy(takt_session_input(session, 0)->data, (float[]){1, 2, 3, 4}, 4 * sizeof(float));
    EXPECT_OK(ctx, takt_session_run(session));
    const float *y = takt_session_output(session, 0)->data;
    printf("squares: %g %g %g %g\n", (double)y[0], (double)y[1], (double)y[2], (double)y[3]);
    EXPECT_EQ(y[3], 16);
    takt_session_destroy(session);
    takt_plan_destroy(plan);
    takt_model_destroy(own);
}

/* 22: a part of a tensor as input, without a copy */
static void view(void)
{
    const takt_plan_options options = {.sizes = "batch=4"};
    takt_session *session = guide_session(&options);
    takt_tensor_view all = {.dtype = TAKT_F32, .rank = 2, .dims = {100, 784}};
    EXPECT_OK(ctx, takt_view_alloc(ctx, &all));
    takt_tensor_view part = all;
    part.dims[0] = 4;
    part.data = (float *)all.data + 40 * 784; /* rows 40 to 43 */
    EXPECT_OK(ctx, takt_session_bind(session, "x", &part));
    EXPECT_OK(ctx, takt_session_run(session));
    printf("rows 40 to 43 of 100, in place: %s\n",
           takt_session_input(session, 0)->data == part.data ? "Yes" : "No");
    takt_session_destroy(session);
    takt_view_free(ctx, &all);
}

GUIDE_MAIN({"reuse", reuse}, {"detection", detection}, {"static_buffer", static_buffer},
           {"percentiles", percentiles}, {"allocator", allocator}, {"own_kernel", own_kernel},
           {"view", view})
