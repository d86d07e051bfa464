/* eager.c - operations run at once: correct, in place, and without allocations from the second call
 * on. */
#include "test.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include <takt/takt.h>

#include "util/inject.h"

static takt_inject inject;
static takt_ctx *ctx;

static void open_all(void)
{
    takt_config config = {0};
    takt_inject_init(&inject);
    takt_inject_config(&inject, &config);
    EXPECT_OK(NULL, takt_ctx_create(&config, &ctx));
}

static void close_all(void)
{
    takt_ctx_destroy(ctx);
    EXPECT(takt_inject_deinit(&inject) == 0, "memory is left");
}

static takt_tensor_view matrix(float *data, int64_t rows, int64_t columns)
{
    return (takt_tensor_view){.dtype = TAKT_F32, .rank = 2, .dims = {rows, columns}, .data = data};
}

static void gives_the_result(void)
{
    float x[6] = {-1, 2, -3, 4, -5, 6}, y[6];
    const takt_tensor_view in = matrix(x, 2, 3), out = matrix(y, 2, 3);
    EXPECT_OK(ctx, takt_op_run(ctx, &(takt_op_call){"relu", NULL, &in, 1, &out, 1}));
    for (int i = 0; i < 6; i++)
        EXPECT(y[i] == (x[i] < 0 ? 0 : x[i]), "relu %d: %g", i, (double)y[i]);
    const takt_op_call call = {"leaky_relu", "{\"slope\": 0.5}", &in, 1, &out, 1};
    EXPECT_OK(ctx, takt_op_run(ctx, &call));
    EXPECT(y[0] == -0.5f && y[1] == 2, "%g %g", (double)y[0], (double)y[1]);
    const takt_tensor_view turned = matrix(y, 3, 2);
    EXPECT_OK(ctx, takt_op_run(ctx, &(takt_op_call){"transpose", "{\"perm\": [1, 0]}", &in, 1,
                                                    &turned, 1}));
    EXPECT_EQ(y[0], -1);
    EXPECT_EQ(y[1], 4);
    EXPECT_EQ(y[5], 6);
    int32_t whole[6];
    const takt_tensor_view ints = {.dtype = TAKT_I32, .rank = 2, .dims = {2, 3}, .data = whole};
    EXPECT_OK(ctx,
              takt_op_run(ctx, &(takt_op_call){"cast", "{\"dtype\": \"i32\"}", &in, 1, &ints, 1}));
    EXPECT_EQ(whole[0], -1);
    EXPECT_EQ(whole[5], 6);
}

static void einsum(void)
{
    float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, 0, 1, 1, 1}, c[4];
    const takt_tensor_view in[2] = {matrix(a, 2, 3), matrix(b, 3, 2)}, out = matrix(c, 2, 2);
    EXPECT_OK(ctx, takt_einsum(ctx, "ij,jk->ik", in, 2, &out));
    EXPECT(c[0] == 4 && c[1] == 5 && c[2] == 10 && c[3] == 11, "%g %g", (double)c[0], (double)c[3]);
    EXPECT_STATUS(ctx, takt_einsum(ctx, NULL, in, 2, &out), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_einsum(ctx, "\"", in, 2, &out), TAKT_ERR_ARGUMENT);
    EXPECT_IS(takt_einsum(ctx, "ij,kj->ik", in, 2, &out), !=, TAKT_OK);
}

/* Outputs overlapping inputs: at the same address, and shifted by one element. */
static void in_place(void)
{
    float x[12], y[12], want[6];
    for (int i = 0; i < 12; i++)
        x[i] = y[i] = (float)i / 4 - 1;
    const takt_tensor_view first = matrix(x, 2, 3), result = matrix(want, 2, 3);
    EXPECT_OK(ctx,
              takt_op_run(ctx, &(takt_op_call){"softmax", "{\"axis\": 1}", &first, 1, &result, 1}));
    EXPECT_OK(ctx,
              takt_op_run(ctx, &(takt_op_call){"softmax", "{\"axis\": 1}", &first, 1, &first, 1}));
    EXPECT_EQ(memcmp(x, want, sizeof want), 0);
    const takt_tensor_view from = matrix(y, 2, 3), to = matrix(y + 1, 2, 3);
    EXPECT_OK(ctx, takt_op_run(ctx, &(takt_op_call){"neg", NULL, &from, 1, &to, 1}));
    for (int i = 0; i < 6; i++)
        EXPECT(y[i + 1] == -((float)i / 4 - 1), "%d: %g", i, (double)y[i + 1]);
    EXPECT_OK(ctx, takt_op_run(ctx, &(takt_op_call){"neg", NULL, &to, 1, &to, 1}));
    EXPECT_EQ(y[1], -1);
    EXPECT_EQ(y[6], 0.25f);
    const takt_tensor_view square = matrix(want, 2, 2);
    float before[4];
    memcpy(before, want, sizeof before);
    EXPECT_OK(ctx, takt_op_run(ctx, &(takt_op_call){"transpose", "{\"perm\": [1, 0]}", &square, 1,
                                                    &square, 1}));
    EXPECT_EQ(want[1], before[2]);
    EXPECT_EQ(want[2], before[1]);
}

static void second_call_allocates_nothing(void)
{
    float x[30] = {1, 2, 3}, y[8];
    takt_tensor_view in = matrix(x, 2, 4), out = matrix(y, 2, 4);
    const takt_op_call call = {"softmax", "{\"axis\": 1}", &in, 1, &out, 1};
    EXPECT_OK(ctx, takt_op_run(ctx, &call));
    in.strides[0] = 8;
    in.strides[1] = 2;
    EXPECT_OK(ctx, takt_op_run(ctx, &call)); /* a slice: memory for its copy */
    const uint64_t gets = inject.gets;
    for (int i = 0; i < 10; i++) {
        in.data = x + i;
        EXPECT_OK(ctx, takt_op_run(ctx, &call));
        EXPECT_IS(fabsf(y[0] + y[1] + y[2] + y[3] - 1), <, 1e-6f);
    }
    EXPECT(inject.gets == gets, "%llu allocations", (unsigned long long)(inject.gets - gets));
}

static void refused(void)
{
    float x[6] = {0}, y[6];
    int64_t i[2] = {0, 9};
    const takt_tensor_view in = matrix(x, 2, 3), out = matrix(y, 2, 3), small = matrix(y, 1, 3);
    const struct {
        takt_op_call call;
        takt_status want;
    } cases[] = {
        {{"sofmax", NULL, &in, 1, &out, 1}, TAKT_ERR_NOT_FOUND},
        {{NULL, NULL, &in, 1, &out, 1}, TAKT_ERR_ARGUMENT},
        {{"relu", NULL, &in, 1, &out, 0}, TAKT_ERR_ARGUMENT},
        {{"relu", NULL, &in, 1, &small, 1}, TAKT_ERR_SHAPE},
        {{"softmax", "{\"axis\": true}", &in, 1, &out, 1}, TAKT_ERR_ARGUMENT},
        {{"softmax", "{\"nix\": 1}", &in, 1, &out, 1}, TAKT_ERR_ARGUMENT},
        {{"softmax", "[1]", &in, 1, &out, 1}, TAKT_ERR_ARGUMENT},
        {{"softmax", "{", &in, 1, &out, 1}, TAKT_ERR_FORMAT},
        {{"cast", "{\"dtype\": \"f32) }\"}", &in, 1, &out, 1}, TAKT_ERR_ARGUMENT},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        EXPECT_STATUS(ctx, takt_op_run(ctx, &cases[k].call), cases[k].want);
    takt_tensor_view bad = in;
    bad.rank = 99;
    EXPECT_STATUS(ctx, takt_op_run(ctx, &(takt_op_call){"relu", NULL, &bad, 1, &out, 1}),
                  TAKT_ERR_ARGUMENT);
    const takt_tensor_view gather[2] = {in, {.dtype = TAKT_I64, .rank = 1, .dims = {2}, .data = i}};
    const takt_op_call call = {"gather", NULL, gather, 2, &out, 1};
    EXPECT_STATUS(ctx, takt_op_run(ctx, &call), TAKT_ERR_RANGE);
    EXPECT(strstr(takt_last_error(ctx), "index 9") != NULL, "%s", takt_last_error(ctx));
    i[1] = 1;
    EXPECT_OK(ctx, takt_op_run(ctx, &call));
}

/* More kinds than are kept; then everything is given back. */
static void bounded(void)
{
    float x[200] = {0}, y[200];
    for (int64_t n = 1; n <= 150; n++) {
        const takt_tensor_view in = {.dtype = TAKT_F32, .rank = 1, .dims = {n}, .data = x};
        takt_tensor_view out = in;
        out.data = y;
        EXPECT_OK(ctx, takt_op_run(ctx, &(takt_op_call){"exp", NULL, &in, 1, &out, 1}));
    }
    const uint64_t before = inject.live_bytes;
    const uint64_t freed = takt_ctx_trim(ctx);
    EXPECT_IS(freed, >, 0);
    EXPECT_EQ(before - inject.live_bytes, freed);
}

static void *work(void *user)
{
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8];
    const takt_tensor_view in = matrix(x, 2, 4), out = matrix(y, 2, 4);
    for (int i = 0; i < 200; i++) {
        if (takt_op_run(ctx, &(takt_op_call){"neg", NULL, &in, 1, &out, 1}) != TAKT_OK)
            ++*(int *)user;
        if (y[7] != -8)
            ++*(int *)user;
    }
    return NULL;
}

static void threads_at_once(void)
{
    pthread_t thread[4];
    int failures[4] = {0};
    for (int i = 0; i < 4; i++)
        EXPECT_EQ(pthread_create(&thread[i], NULL, work, &failures[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
        EXPECT_EQ(failures[i], 0);
    }
}

static takt_status scenario(takt_inject *in, void *user)
{
    float x[4] = {1, 2, 3, 4}, y[2];
    takt_config config = {0};
    takt_ctx *c;
    (void)user;
    takt_inject_config(in, &config);
    takt_status status = takt_ctx_create(&config, &c);
    if (status != TAKT_OK)
        return status;
    const takt_tensor_view from = matrix(x, 2, 2);
    const takt_tensor_view to = {.dtype = TAKT_F32, .rank = 1, .dims = {2}, .data = y};
    status = takt_op_run(c, &(takt_op_call){"reduce_sum", "{\"axes\": [1]}", &from, 1, &to, 1});
    EXPECT(status != TAKT_OK || (y[0] == 3 && y[1] == 7));
    takt_ctx_destroy(c);
    return status;
}

static void every_failure(void)
{
    const takt_sweep_report r = takt_sweep(scenario, NULL, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s", r.message);
}

TEST_MAIN(open_all, gives_the_result, einsum, in_place, second_call_allocates_nothing, refused,
          bounded, threads_at_once, every_failure, close_all)
