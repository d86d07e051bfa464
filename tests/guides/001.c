/* 001.c - blocks of guide 001 for programs, in C. */
#include "guide.h"

/* 1: every operation with its count and average */
static void operations(void)
{
    takt_session *session = guide_session(NULL);
    takt_profile_results profile;
    EXPECT_OK(ctx, takt_profile_start(ctx));
    for (int i = 0; i < 10; i++)
        EXPECT_OK(ctx, takt_session_run(session));
    EXPECT_OK(ctx, takt_profile_stop(ctx, &profile));
    for (size_t i = 0; i < profile.op_count; i++)
        printf("%s: avg=%.4fms, count=%llu\n", profile.ops[i].name, profile.ops[i].avg_ns / 1e6,
               (unsigned long long)profile.ops[i].count);
    /* gemm twice, rows once a run; the one that took longer comes first */
    EXPECT_EQ(profile.op_count, 2);
    EXPECT_EQ(profile.ops[0].count + profile.ops[1].count, 30);
    takt_profile_results_free(ctx, &profile);
    takt_session_destroy(session);
}

static float a[4], b[4], c[4];

static takt_status product(void *arg)
{
    const takt_tensor_view ab[] = {
        {.dtype = TAKT_F32, .rank = 2, .dims = {2, 2}, .data = a},
        {.dtype = TAKT_F32, .rank = 2, .dims = {2, 2}, .data = b},
    };
    const takt_tensor_view to = {.dtype = TAKT_F32, .rank = 2, .dims = {2, 2}, .data = c};
    return takt_einsum(arg, "ik,kj->ij", ab, 2, &to);
}

/* 4: a function of one's own in the same table */
static void timed(void)
{
    a[0] = 2, a[3] = 3, b[0] = 5, b[3] = 7;
    takt_profile_results profile;
    EXPECT_OK(ctx, takt_profile_start(ctx));
    EXPECT_OK(ctx, takt_timed(ctx, "matmul", product, ctx));
    EXPECT_OK(ctx, takt_profile_stop(ctx, &profile));
    for (size_t i = 0; i < profile.op_count; i++)
        if (strcmp(profile.ops[i].name, "matmul") == 0)
            printf("matmul: %.2fms\n", profile.ops[i].total_ns / 1e6);
    EXPECT_EQ(c[0], 10);
    EXPECT_EQ(c[3], 21);
    takt_profile_results_free(ctx, &profile);
}

/* 5 and 17: the fastest relu that this processor has, in place */
static void in_place(void)
{
    double numbers[5] = {-1, 2, -3, 4, -5};
    const takt_tensor_view x = {.dtype = TAKT_F64, .rank = 1, .dims = {5}, .data = numbers};
    const takt_op_call call = {"relu", NULL, &x, 1, &x, 1};
    EXPECT_OK(ctx, takt_op_run(ctx, &call));
    printf("relu: %g %g %g %g %g\n", numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]);
    EXPECT_EQ(numbers[0], 0);
    EXPECT_EQ(numbers[1], 2);
    EXPECT_EQ(numbers[4], 0);
}

/* 12, 13 and 14: Fortran order is read in place */
static void order(void)
{
    const takt_plan_options options = {.sizes = "batch=4", .threads = 1};
    takt_session *session = guide_session(&options);
    takt_tensor_view x = {.dtype = TAKT_F32, .rank = 2, .dims = {4, 784}};
    EXPECT_OK(ctx, takt_view_alloc(ctx, &x));
    takt_tensor_view fortran = x;
    fortran.strides[0] = 1, fortran.strides[1] = 4;
    for (int i = 0; i < 2; i++) {
        takt_profile_results profile;
        EXPECT_OK(ctx, takt_session_bind(session, "x", i == 0 ? &x : &fortran));
        EXPECT_OK(ctx, takt_profile_start(ctx));
        EXPECT_OK(ctx, takt_session_run(session));
        EXPECT_OK(ctx, takt_profile_stop(ctx, &profile));
        printf("%s order: %llu copies\n", i == 0 ? "C" : "Fortran",
               (unsigned long long)profile.moves);
        EXPECT_EQ(profile.moves, 0);
        takt_profile_results_free(ctx, &profile);
    }
    takt_session_destroy(session);
    takt_view_free(ctx, &x);
}

/* 15, 16, 33 and 34: tensors are used again instead of freed */
static void pooled(void)
{
    takt_tensor_pool *pool = NULL;
    takt_tensor_pool_info info;
    EXPECT_OK(ctx, takt_tensor_pool_create(ctx, 1 << 20, &pool));
    for (int i = 0; i < 10; i++) {
        takt_tensor_view temp;
        EXPECT_OK(ctx, takt_tensor_pool_acquire(pool, TAKT_F32, 2, (int64_t[]){8, 64}, &temp));
        EXPECT_OK(ctx, takt_view_random(ctx, &temp, 1, 0));
        const takt_op_call relu = {"relu", NULL, &temp, 1, &temp, 1};
        EXPECT_OK(ctx, takt_op_run(ctx, &relu));
        takt_tensor_pool_release(pool, &temp);
    }
    takt_tensor_pool_query(pool, &info);
    printf("10 tensors: %llu allocated, %llu used again\n", (unsigned long long)info.misses,
           (unsigned long long)info.hits);
    EXPECT_EQ(info.misses, 1);
    EXPECT_EQ(info.hits, 9);
    takt_tensor_pool_clear(pool);
    takt_tensor_pool_destroy(pool);
}

/* 19: an input is used in place, and copied only if necessary */
static void borrowed(void)
{
    takt_session *session = guide_session(NULL);
    takt_tensor_view x = {.dtype = TAKT_F32, .rank = 2, .dims = {1, 784}};
    EXPECT_OK(ctx, takt_view_alloc(ctx, &x));
    EXPECT_OK(ctx, takt_session_bind(session, "x", &x));
    const bool zero_copy = takt_session_input(session, 0)->data == x.data;
    printf("zero-copy: %s\n", zero_copy ? "Yes" : "No");
    EXPECT(zero_copy);
    takt_session_destroy(session);
    takt_view_free(ctx, &x);
}

/* 24: compile once, run often */
static void compiled(void)
{
    const takt_plan_options options = {.sizes = "batch=8"};
    takt_plan *first = NULL, *again = NULL;
    EXPECT_OK(ctx, takt_plan_get(model, &options, &first));
    EXPECT_OK(ctx, takt_plan_get(model, &options, &again));
    printf("the second plan comes from the cache: %s\n", first == again ? "Yes" : "No");
    EXPECT_SAME(first, again);
    takt_plan_destroy(first);
    takt_plan_destroy(again);
}

static takt_status produce(void *user, const char *name, int64_t first, int64_t count, void *to)
{
    (void)name;
    *(int *)user += 1;
    float *rows = to;
    for (int64_t i = 0; i < count * 784; i++)
        rows[i] = (float)((first + i) % 7) / 7; /* a file is read here */
    return TAKT_OK;
}

static takt_status consume(void *user, const char *name, int64_t first, int64_t count,
                           const void *from)
{
    (void)user, (void)name, (void)from;
    if (first + count == 64)
        printf("64 samples loaded, computed and stored at the same time\n");
    return TAKT_OK;
}

/* 27: one batch is loaded while the last is computed */
static void pipeline(void)
{
    int loads = 0;
    const takt_many_options many = {
        .batch_size = 16, .jobs = 2, .load = produce, .store = consume, .user = &loads};
    const takt_tensor_view x = {.dtype = TAKT_F32, .rank = 2, .dims = {64, 784}};
    const takt_tensor_view y = {.dtype = TAKT_F32, .rank = 2, .dims = {64, 10}};
    const takt_named_view views[] = {{"x", x}, {"out", y}}; /* no data: batch by batch */
    EXPECT_OK(ctx, takt_run_many(model, &many, views, 2));
    EXPECT(loads == 4, "%d", loads);
}

GUIDE_MAIN({"operations", operations}, {"timed", timed}, {"in_place", in_place}, {"order", order},
           {"pooled", pooled}, {"borrowed", borrowed}, {"compiled", compiled},
           {"pipeline", pipeline})
