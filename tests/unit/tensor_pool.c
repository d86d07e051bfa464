/* tensor_pool.c - tensors are reused, within limits, by callers that request the same type. */
#include "test.h"

#include <pthread.h>
#include <string.h>

#include <takt/takt.h>

#include "util/inject.h"

static const int64_t dims[] = {3, 5};

static takt_tensor_view acquire(takt_ctx *ctx, takt_tensor_pool *pool, takt_dtype dtype, int rank)
{
    takt_tensor_view v;
    if (EXPECT_OK(ctx, takt_tensor_pool_acquire(pool, dtype, rank, dims, &v))) {
        EXPECT_EQ((uintptr_t)v.data % 64, 0);
        EXPECT_EQ(v.rank, rank);
        EXPECT_EQ(v.dtype, dtype);
        EXPECT(rank == 0 || (v.dims[0] == 3 && v.strides[0] == 0));
        size_t bytes = (size_t)takt_dtype_bits(dtype) / 8;
        for (int d = 0; d < rank; d++)
            bytes *= (size_t)dims[d];
        memset(v.data, 0x11, bytes);
    }
    return v;
}

static void same_comes_back(void)
{
    takt_ctx *ctx;
    takt_tensor_pool *pool;
    takt_tensor_pool_info info;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_tensor_pool_create(ctx, 1 << 20, &pool));
    takt_tensor_view a = acquire(ctx, pool, TAKT_F32, 2), b = acquire(ctx, pool, TAKT_F32, 2);
    const void *first = a.data;
    EXPECT(a.data != b.data);
    takt_tensor_pool_query(pool, &info);
    EXPECT_EQ(info.misses, 2);
    EXPECT_EQ(info.hits, 0);
    EXPECT_EQ(info.lent_bytes, 120);
    EXPECT_EQ(info.idle_bytes, 0);
    takt_tensor_pool_release(pool, &a);
    EXPECT_SAME(a.data, NULL);
    takt_tensor_pool_release(pool, &a); /* nothing to give back */
    takt_tensor_view other = acquire(ctx, pool, TAKT_I32, 2),
                     less = acquire(ctx, pool, TAKT_F32, 1);
    EXPECT(other.data != first && less.data != first, "another type, another shape");
    a = acquire(ctx, pool, TAKT_F32, 2);
    EXPECT_SAME(a.data, first);
    takt_tensor_pool_query(pool, &info);
    EXPECT_EQ(info.misses, 4);
    EXPECT_EQ(info.hits, 1);
    EXPECT_EQ(info.idle_bytes, 0);
    takt_tensor_pool_release(pool, &a);
    takt_tensor_pool_release(pool, &b);
    takt_tensor_pool_release(pool, &other);
    takt_tensor_pool_release(pool, &less);
    takt_tensor_pool_query(pool, &info);
    EXPECT_EQ(info.lent_bytes, 0);
    EXPECT_EQ(info.idle_bytes, 192);
    EXPECT_IS(takt_tensor_pool_clear(pool), >, 192);
    EXPECT_EQ(takt_tensor_pool_clear(pool), 0);
    a = acquire(ctx, pool, TAKT_F32, 0);
    takt_tensor_pool_release(pool, &a);
    EXPECT_IS(takt_ctx_trim(ctx), >, 0);
    EXPECT_EQ(takt_ctx_trim(ctx), 0);
    EXPECT_STATUS(ctx, takt_tensor_pool_acquire(pool, (takt_dtype)99, 0, NULL, &a),
                  TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_tensor_pool_acquire(pool, TAKT_F32, 17, dims, &a), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_tensor_pool_acquire(pool, TAKT_F32, 1, (int64_t[]){-1}, &a),
                  TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(
        ctx, takt_tensor_pool_acquire(pool, TAKT_F32, 2, (int64_t[]){1LL << 40, 1LL << 40}, &a),
        TAKT_ERR_ARGUMENT);
    EXPECT_SAME(a.data, NULL);
    takt_tensor_pool_destroy(pool);
    takt_tensor_pool_destroy(NULL);
    takt_ctx_destroy(ctx);
}

/* 60 bytes each, and room for two: the third release frees the first. */
static void bounded(void)
{
    takt_ctx *ctx;
    takt_tensor_pool *pool;
    takt_tensor_pool_info info;
    takt_tensor_view v[3];
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_tensor_pool_create(ctx, 130, &pool));
    for (int i = 0; i < 3; i++)
        v[i] = acquire(ctx, pool, TAKT_F32, 2);
    const void *kept = v[2].data;
    for (int i = 0; i < 3; i++)
        takt_tensor_pool_release(pool, &v[i]);
    takt_tensor_pool_query(pool, &info);
    EXPECT(info.idle_bytes == 120, "%llu", (unsigned long long)info.idle_bytes);
    v[0] = acquire(ctx, pool, TAKT_F32, 2);
    EXPECT(v[0].data == kept, "the newest first");
    takt_tensor_pool_release(pool, &v[0]);
    takt_tensor_pool_destroy(pool);
    EXPECT_OK(ctx, takt_tensor_pool_create(ctx, 0, &pool));
    v[0] = acquire(ctx, pool, TAKT_F32, 2);
    takt_tensor_pool_release(pool, &v[0]);
    takt_tensor_pool_query(pool, &info);
    EXPECT(info.idle_bytes == 0, "no room at all");
    takt_tensor_pool_destroy(pool);
    takt_ctx_destroy(ctx);
}

typedef struct user {
    takt_tensor_pool *pool;
    int failures;
} user;

static void *use(void *at)
{
    user *u = at;
    for (int i = 0; i < 500; i++) {
        takt_tensor_view v;
        if (takt_tensor_pool_acquire(u->pool, TAKT_F32, 1 + i % 2, dims, &v) != TAKT_OK)
            u->failures++;
        ((float *)v.data)[0] = (float)i;
        if (((float *)v.data)[0] != (float)i)
            u->failures++;
        takt_tensor_pool_release(u->pool, &v);
    }
    return NULL;
}

static void threads_share(void)
{
    takt_ctx *ctx;
    takt_tensor_pool *pool;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_tensor_pool_create(ctx, 200, &pool));
    user users[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        users[i] = (user){.pool = pool};
        EXPECT_EQ(pthread_create(&threads[i], NULL, use, &users[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        EXPECT_EQ(users[i].failures, 0);
    }
    takt_tensor_pool_destroy(pool);
    takt_ctx_destroy(ctx);
}

static takt_status scenario(takt_inject *inject, void *nothing)
{
    takt_config config = {0};
    takt_ctx *ctx;
    takt_tensor_pool *pool = NULL;
    takt_tensor_view v = {.data = NULL};
    (void)nothing;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    status = takt_tensor_pool_create(ctx, 100, &pool);
    if (status == TAKT_OK)
        status = takt_tensor_pool_acquire(pool, TAKT_F64, 2, dims, &v);
    if (pool != NULL)
        takt_tensor_pool_release(pool, &v);
    takt_tensor_pool_destroy(pool);
    takt_ctx_destroy(ctx);
    return status;
}

static void every_failure(void)
{
    const takt_sweep_report r = takt_sweep(scenario, NULL, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s", r.message);
}

TEST_MAIN(same_comes_back, bounded, threads_share, every_failure)
