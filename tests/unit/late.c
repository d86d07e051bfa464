/* late.c - storages whose bytes are read when they are needed: once, again, not at all, or never.
 * What is made of lost bytes is refused, however often it is asked for.
 */
#include "ir/late.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "api/model.h"
#include "base/ctx.h"
#include "base/error.h"
#include "base/hash.h"
#include "ir/storage.h"
#include "os/os.h"
#include "os/pool.h"
#include "test.h"

enum { BYTES = 10000 };

typedef struct origin {
    takt_ctx *ctx;
    int reads, ends;
    bool is_gone, is_slow;
} origin;

static takt_status read_in(void *user, size_t first, size_t count, void *to)
{
    origin *o = user;
    EXPECT(first == 0 && count == BYTES, "%zu, %zu", first, count);
    o->reads++;
    if (o->is_slow)
        takt_os_sleep_until(takt_os_now_ns(NULL) + 20000000);
    if (o->is_gone)
        return takt_fail(o->ctx, TAKT_E_FILE_READ, "the file is gone");
    memset(to, 7, BYTES);
    return TAKT_OK;
}

static void end(void *user)
{
    ((origin *)user)->ends++;
}

static takt_storage *make(origin *o)
{
    takt_storage *s;
    const takt_late late = {.read = read_in, .done = end, .user = o};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &o->ctx));
    EXPECT_OK(o->ctx, takt_storage_create_late(o->ctx, BYTES, &late, &s));
    EXPECT(takt_storage_is_late(s) && o->reads == 0, "%d reads", o->reads);
    return s;
}

static void finish(origin *o, takt_storage *s, uint64_t before)
{
    takt_storage_release(s);
    EXPECT_EQ(o->ends, 1);
    EXPECT(o->ctx->live_bytes <= before, "%llu bytes left", (unsigned long long)o->ctx->live_bytes);
    takt_ctx_destroy(o->ctx);
}

static void copies(void)
{
    origin o = {0};
    takt_storage *s = make(&o);
    const uint64_t before = o.ctx->live_bytes;
    static uint8_t to[BYTES];
    EXPECT_OK(o.ctx, takt_storage_copy(s, to));
    EXPECT(takt_storage_is_late(s) && to[BYTES - 1] == 7, "a copy keeps the bytes");
    EXPECT_EQ(o.ctx->live_bytes, before);
    EXPECT_EQ(takt_storage_count_once(s, 1), takt_storage_overhead());
    const takt_tensor t = {.type = {.dtype = TAKT_U8, .rank = 1, .dim = {BYTES}}, .storage = s};
    EXPECT(takt_tensor_hash(&t, 5) == takt_hash_bytes(5, to, BYTES), "another hash");
    EXPECT(takt_storage_is_late(s), "a hash keeps the bytes");
    finish(&o, s, before);
}

static void stays(void)
{
    origin o = {0};
    takt_storage *s = make(&o);
    const uint64_t before = o.ctx->live_bytes;
    const takt_tensor t = {.type = {.dtype = TAKT_U8, .rank = 1, .dim = {BYTES}}, .storage = s};
    const void *address = takt_tensor_address(&t);
    const uint8_t *at = takt_storage_data(s);
    EXPECT(at == address && at[0] == 7 && at[BYTES - 1] == 7, "%d", at[0]);
    EXPECT(!takt_storage_is_late(s), "its bytes were read");
    EXPECT_EQ(o.ctx->live_bytes, before + BYTES);
    EXPECT_EQ(takt_storage_count_once(s, 2), takt_storage_overhead() + BYTES);
    EXPECT_OK(o.ctx, takt_storage_settle(s));
    EXPECT_EQ(o.reads, 1);
    finish(&o, s, before);
}

static void fails(void)
{
    origin o = {.is_gone = true};
    takt_storage *s = make(&o);
    const uint64_t before = o.ctx->live_bytes;
    static uint8_t to[BYTES];
    EXPECT_STATUS(o.ctx, takt_storage_settle(s), TAKT_ERR_IO);
    EXPECT_STATUS(o.ctx, takt_storage_copy(s, to), TAKT_ERR_IO);
    EXPECT(!o.ctx->has_lost_bytes, "nobody was given wrong bytes");
    const uint8_t *at = takt_storage_data(s);
    EXPECT(at[0] == 0 && at[BYTES - 1] == 0 && o.ctx->has_lost_bytes, "%d", at[0]);
    EXPECT_EQ(o.ctx->live_bytes, before);
    EXPECT_STATUS(o.ctx, takt_late_check(o.ctx), TAKT_ERR_IO);
    EXPECT_STATUS(o.ctx, takt_late_check(o.ctx), TAKT_ERR_IO);
    o.is_gone = false;
    EXPECT(((const uint8_t *)takt_storage_data(s))[0] == 7, "it is not read again");
    finish(&o, s, before);
}

/* A model whose weight has left its file. */
static void refused(void)
{
    static const char text[] = "model m(x: f32[1, 50]) { return dense(x, 50, bias=false) }";
    static const char path[] = "/late.onnx";
    char saved[300];
    origin o = {.is_gone = true};
    takt_model *m = NULL;
    takt_plan *plan;
    const takt_late late = {.read = read_in, .done = end, .user = &o};
    snprintf(saved, sizeof saved, "%s%s", getenv("TAKT_TEST_TMP"), path);
    (void)remove(saved);
    EXPECT_OK(NULL, takt_ctx_create(NULL, &o.ctx));
    if (!EXPECT_OK(o.ctx, takt_model_load_memory(o.ctx, "m", text, strlen(text), NULL, &m)))
        return;
    takt_storage **weight = &m->slots[0].storage;
    EXPECT_EQ(takt_storage_bytes(*weight), BYTES);
    takt_storage_release(*weight);
    EXPECT_OK(o.ctx, takt_storage_create_late(o.ctx, BYTES, &late, weight));
    for (int i = 0; i < 2; i++) {
        EXPECT_STATUS(o.ctx, takt_model_save(m, saved, NULL), TAKT_ERR_IO);
        EXPECT_STATUS(o.ctx, takt_plan_create(m, NULL, &plan), TAKT_ERR_IO);
    }
    EXPECT(fopen(saved, "rb") == NULL, "%s was written from zeros", saved);
    o.is_gone = false; /* nobody was given wrong bytes, so all is well again */
    if (EXPECT_OK(o.ctx, takt_plan_create(m, NULL, &plan)))
        takt_plan_destroy(plan);
    takt_model_destroy(m);
    takt_ctx_destroy(o.ctx);
}

static void read_one(void *user, size_t task, int thread)
{
    const uint8_t *at = takt_storage_data(user);
    (void)thread;
    EXPECT(at[task] == 7, "%d", at[task]);
}

/* Threads that ask at once wait for the one that reads. */
static void together(void)
{
    origin o = {.is_slow = true};
    takt_storage *s = make(&o);
    const uint64_t before = o.ctx->live_bytes;
    takt_pool *pool;
    if (EXPECT_OK(o.ctx, takt_pool_create(o.ctx, 4, NULL, &pool))) {
        takt_pool_share(pool, read_one, s, 64);
        takt_pool_destroy(pool);
    }
    EXPECT_EQ(o.reads, 1);
    finish(&o, s, before);
}

static void limited(void)
{
    origin o = {0};
    takt_storage *s = make(&o);
    const uint64_t before = o.ctx->live_bytes;
    o.ctx->limits.bytes = before + BYTES / 2;
    EXPECT_STATUS(o.ctx, takt_storage_settle(s), TAKT_ERR_MEMORY);
    EXPECT_EQ(o.reads, 0);
    finish(&o, s, before);
}

static void zeros(void)
{
    takt_ctx *ctx;
    takt_storage *s;
    uint8_t to[64];
    memset(to, 1, sizeof to);
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_storage_create_zeros(ctx, sizeof to, &s));
    EXPECT_OK(ctx, takt_storage_copy(s, to));
    EXPECT(to[0] == 0 && to[63] == 0, "%d", to[0]);
    EXPECT(((const uint8_t *)takt_storage_data(s))[5] == 0, "not zeros");
    takt_storage_release(s);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(copies, stays, fails, refused, together, limited, zeros)
