/* tensor.c - storages and tensors: references, borrowing, limits; arrays to and from them. */
#include "ir/tensor.h"

#include <stdlib.h>
#include <string.h>

#include "ir/array.h"
#include "test.h"

static void count_call(void *user)
{
    ++*(int *)user;
}

static void references(void)
{
    takt_ctx *ctx;
    int calls = 0;
    char bytes[8] = {0};
    takt_storage *s;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_storage_borrow(ctx, bytes, sizeof bytes, count_call, &calls, &s));
    EXPECT_SAME(takt_storage_data(s), bytes);
    takt_storage_retain(s);
    takt_storage_release(s);
    EXPECT_EQ(calls, 0);
    takt_storage_release(s);
    EXPECT_EQ(calls, 1);
    takt_storage_release(NULL);
    EXPECT_OK(ctx, takt_storage_create(ctx, 100, &s));
    EXPECT_EQ((uintptr_t)takt_storage_data(s) % 64, 0);
    takt_storage_release(s);
    takt_ctx_destroy(ctx);
}

static void limits(void)
{
    takt_ctx *ctx;
    const takt_config config = {.limits = {.tensor_bytes = 1000}};
    takt_tensor t;
    EXPECT_OK(NULL, takt_ctx_create(&config, &ctx));
    const takt_type large = {.dtype = TAKT_F32, .rank = 1, .dim = {251}};
    const takt_type named = {.dtype = TAKT_F32, .rank = 1, .dim = {-1}};
    EXPECT_STATUS(ctx, takt_tensor_create(ctx, &large, &t), TAKT_ERR_LIMIT);
    EXPECT_SAME(t.storage, NULL);
    takt_tensor_release(&t);
    EXPECT_STATUS(ctx, takt_tensor_create(ctx, &named, &t), TAKT_ERR_ARGUMENT);
    const takt_type fits = {.dtype = TAKT_F32, .rank = 1, .dim = {250}};
    EXPECT_OK(ctx, takt_tensor_create(ctx, &fits, &t));
    EXPECT_EQ(takt_tensor_bytes(&t), 1000);
    EXPECT_EQ(takt_tensor_count(&t), 250);
    takt_tensor_release(&t);
    takt_ctx_destroy(ctx);
}

static void arrays(void)
{
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (int d = 0; d < TAKT_DTYPE_COUNT; d++) {
        const takt_type type = {.dtype = (takt_dtype)d, .rank = 2, .dim = {3, 5}};
        takt_array a, b;
        takt_tensor t;
        EXPECT_OK(ctx, takt_array_create(ctx, &type, &a));
        for (size_t i = 0; i < a.count; i++) {
            if (a.f != NULL)
                a.f[i] = (double)i / 3;
            else
                a.i[i] = (int64_t)i * 1000 - 7;
        }
        takt_array_round(&a);
        EXPECT_OK(ctx, takt_array_to_tensor(ctx, &a, &t));
        EXPECT_OK(ctx, takt_array_from_tensor(ctx, &t, &b));
        for (size_t i = 0; i < a.count; i++)
            EXPECT(a.f != NULL ? a.f[i] == b.f[i] : a.i[i] == b.i[i], "%s %zu",
                   takt_dtype_name(type.dtype), i);
        takt_tensor_release(&t);
        takt_array_release(ctx, &a);
        takt_array_release(ctx, &b);
    }
    takt_ctx_destroy(ctx);
}

static void *get_filled(void *user, size_t size, size_t align)
{
    void *block = aligned_alloc(align, (size + align - 1) & ~(align - 1));
    if (block != NULL)
        memset(block, *(int *)user, size);
    return block;
}

static void put_filled(void *user, void *block, size_t size)
{
    (void)user;
    (void)size;
    free(block);
}

/* Unused bits are the same whatever was in memory before: digests include them. */
static void last_bits(void)
{
    int filling = 0xff;
    const takt_allocator allocator = {.user = &filling, .get = get_filled, .put = put_filled};
    const takt_config config = {.allocator = &allocator};
    static const takt_dtype narrow[] = {TAKT_U2, TAKT_I2, TAKT_U4, TAKT_I4};
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(&config, &ctx));
    for (size_t d = 0; d < 4; d++) {
        const takt_type type = {.dtype = narrow[d], .rank = 1, .dim = {5}};
        takt_tensor t;
        EXPECT_OK(ctx, takt_tensor_create(ctx, &type, &t));
        const uint8_t *bytes = takt_tensor_data(&t);
        for (size_t i = 0; i < 5; i++)
            takt_dtype_put_i(type.dtype, takt_tensor_data(&t), i, 1);
        EXPECT(bytes[takt_tensor_bytes(&t) - 1] == 1, "%s: %02x", takt_dtype_name(type.dtype),
               bytes[takt_tensor_bytes(&t) - 1]);
        takt_tensor_release(&t);
    }
    takt_ctx_destroy(ctx);
}

TEST_MAIN(references, limits, arrays, last_bits)
