/* arena.c - memory through a context, growing arrays, and arenas. */
#include "base/arena.h"

#include <stdint.h>
#include <string.h>

#include "base/ctx.h"
#include "base/mem.h"
#include "test.h"
#include "util/inject.h"

static takt_ctx *ctx;
static takt_inject inject;

static void begin(void)
{
    takt_config config = {0};
    takt_inject_init(&inject);
    takt_inject_config(&inject, &config);
    EXPECT_OK(NULL, takt_ctx_create(&config, &ctx));
}

static void blocks(void)
{
    for (size_t size = 0; size < 300; size += 37) {
        void *block;
        EXPECT_OK(ctx, takt_mem_get(ctx, size, "a test", &block));
        EXPECT(block != NULL && (uintptr_t)block % TAKT_ALIGN == 0);
        memset(block, 1, size);
        takt_mem_put(ctx, block, size);
    }
    takt_mem_put(ctx, NULL, 5);
    void *zero;
    EXPECT_OK(ctx, takt_mem_zero(ctx, 7, 9, "a test", &zero));
    for (size_t i = 0; i < 63; i++)
        EXPECT_EQ(((char *)zero)[i], 0);
    EXPECT_EQ(ctx->live_bytes, 63);
    takt_mem_put(ctx, zero, 63);
    EXPECT_EQ(ctx->live_bytes, 0);
    EXPECT_STATUS(ctx, takt_mem_zero(ctx, SIZE_MAX / 2, 3, "a test", &zero), TAKT_ERR_LIMIT);
    EXPECT(zero == NULL && takt_last_error_info(ctx)->id == TAKT_E_OVERFLOW);
}

static void grows(void)
{
    void *array = NULL;
    size_t capacity = 0;
    for (size_t need = 1; need < 1000; need += 13) {
        EXPECT_OK(ctx, takt_mem_grow(ctx, &array, &capacity, need, sizeof(int)));
        EXPECT_IS(capacity, >=, need);
        ((int *)array)[need - 1] = (int)need;
    }
    for (size_t need = 1; need < 1000; need += 13)
        EXPECT_EQ(((int *)array)[need - 1], (int)need);
    const size_t before = capacity;
    EXPECT_STATUS(ctx, takt_mem_grow(ctx, &array, &capacity, SIZE_MAX / 2, 4), TAKT_ERR_LIMIT);
    EXPECT(capacity == before, "a failure leaves the array");
    EXPECT_STATUS(ctx, takt_mem_grow(ctx, &array, &capacity, (size_t)1 << 60, 1), TAKT_ERR_MEMORY);
    EXPECT_EQ(capacity, before);
    EXPECT_EQ(((int *)array)[0], 1);
    takt_mem_put(ctx, array, capacity * sizeof(int));
}

static void many_pieces(void)
{
    enum { COUNT = 2000 };
    static unsigned char *pieces[COUNT];
    takt_arena arena;
    takt_arena_init(&arena, ctx);
    for (size_t i = 0; i < COUNT; i++) {
        const size_t size = i % 97 == 0 ? 20000 + i : i % 61;
        pieces[i] = takt_arena_get(&arena, size);
        EXPECT(pieces[i] != NULL && (uintptr_t)pieces[i] % 16 == 0);
        memset(pieces[i], (int)(i & 0xFF), size);
    }
    for (size_t i = 0; i < COUNT; i++) {
        const size_t size = i % 97 == 0 ? 20000 + i : i % 61;
        for (size_t j = 0; j < size; j++)
            EXPECT(pieces[i][j] == (i & 0xFF), "piece %zu", i);
    }
    takt_arena_deinit(&arena);
    EXPECT_EQ(ctx->live_bytes, 0);
    EXPECT(takt_arena_get(&arena, 10) != NULL, "an arena may be used again");
    takt_arena_deinit(&arena);
    takt_arena_deinit(&arena);
}

static void texts_and_arrays(void)
{
    takt_arena arena;
    takt_arena_init(&arena, ctx);
    EXPECT_TEXT(takt_arena_text(&arena, "abcdef", 3), "abc");
    EXPECT_TEXT(takt_arena_text(&arena, NULL, 0), "");
    EXPECT_TEXT(takt_arena_format(&arena, "%d-%s", 7, "x"), "7-x");
    EXPECT_EQ(memcmp(takt_arena_copy(&arena, "\1\2\3", 3), "\1\2\3", 3), 0);
    const uint64_t *array = takt_arena_array(&arena, 50, sizeof *array);
    for (size_t i = 0; i < 50; i++)
        EXPECT_EQ(array[i], 0);
    EXPECT(takt_arena_array(&arena, SIZE_MAX / 4, 8) == NULL);
    EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_OVERFLOW);
    EXPECT(takt_arena_get(&arena, SIZE_MAX) == NULL);
    EXPECT(takt_arena_get(&arena, SIZE_MAX - 60) == NULL);
    EXPECT_STATUS(NULL, takt_last_error_info(ctx)->status, TAKT_ERR_MEMORY);
    EXPECT(takt_arena_text(&arena, "x", SIZE_MAX) == NULL);
    takt_arena_deinit(&arena);
}

static takt_status scenario(takt_inject *in, void *user)
{
    (void)user;
    takt_config config = {0};
    takt_ctx *c;
    takt_arena arena;
    takt_inject_config(in, &config);
    takt_status status = takt_ctx_create(&config, &c);
    if (status != TAKT_OK)
        return status;
    takt_arena_init(&arena, c);
    for (size_t i = 0; i < 400 && status == TAKT_OK; i++) {
        if (takt_arena_get(&arena, i * 7) == NULL)
            status = takt_last_error_info(c)->status;
    }
    takt_arena_deinit(&arena);
    takt_ctx_destroy(c);
    return status;
}

static void sweeps(void)
{
    const takt_sweep_report r = takt_sweep(scenario, NULL, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s", r.message);
    EXPECT(r.runs == 2 * r.operations && r.survived == 0 && r.operations > 5, "%llu runs of %llu",
           (unsigned long long)r.runs, (unsigned long long)r.operations);
}

static void end(void)
{
    takt_ctx_destroy(ctx);
    EXPECT(takt_inject_check(&inject) == 0, "%s", inject.fault);
    EXPECT_EQ(takt_inject_deinit(&inject), 0);
}

TEST_MAIN(begin, blocks, grows, many_pieces, texts_and_arrays, sweeps, end)
