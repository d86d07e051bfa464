/* pack_fill.c - weights that are read where they are packed: hardly any twice, although heads are
 * read as a whole, and while another thread brings them into memory. Large ones in memory are given
 * back as they are packed. */
#include "plan/pack_fill.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "base/ctx.h"
#include "ir/late.h"
#include "ir/storage_fields.h"
#include "os/pool.h"
#include "test.h"

enum { ROW = 256, PANEL = 32, MOST = 64 * 128 * ROW };

static uint8_t packed[MOST];

typedef struct weights {
    size_t heads, head, bytes; /* head: bytes of one */
    _Atomic size_t seen;       /* bytes that were read */
    _Atomic bool is_over;
    takt_storage *storage;
} weights;

static uint8_t at(size_t i)
{
    return (uint8_t)(i * 7 + i / 255);
}

static takt_status read_in(void *user, size_t first, size_t count, void *to)
{
    weights *w = user;
    uint8_t *out = to;
    EXPECT(first % w->head == 0 && count % w->head == 0, "%zu, %zu", first, count);
    atomic_fetch_add(&w->seen, count);
    for (size_t i = 0; i < count; i++)
        out[i] = at(first + i);
    return TAKT_OK;
}

static void end(void *user)
{
    (void)user;
}

/* Parts are of whole panels. */
static void span(const void *user, size_t index, size_t count, size_t to[2])
{
    const weights *w = user;
    const size_t panels = w->bytes / (ROW * PANEL);
    to[0] = panels * index / count * (ROW * PANEL);
    to[1] = panels * (index + 1) / count * (ROW * PANEL);
}

static takt_status part(const void *user, const void *from, void *to, size_t index, size_t count)
{
    size_t own[2];
    span(user, index, count, own);
    memcpy((uint8_t *)to + own[0], from, own[1] - own[0]);
    return TAKT_OK;
}

static takt_status fill(void *user, const void *from, void *to)
{
    return part(user, from, to, 0, 1);
}

static bool begin(weights *w, size_t heads, size_t rows, takt_ctx **ctx)
{
    *w = (weights){.heads = heads, .head = rows * ROW, .bytes = heads * rows * ROW};
    const takt_late late = {.read = read_in, .done = end, .user = w, .grain = w->head};
    return EXPECT(w->bytes <= MOST, "%zu", w->bytes) &&
           EXPECT_OK(NULL, takt_ctx_create(NULL, ctx)) &&
           EXPECT_OK(*ctx, takt_storage_create_late(*ctx, w->bytes, &late, &w->storage));
}

static bool is_packed(const weights *w)
{
    size_t i = 0;
    while (i < w->bytes && packed[i] == at(i))
        i++;
    return i == w->bytes;
}

static takt_status pack(takt_ctx *ctx, weights *w, int threads, takt_pool **pool)
{
    static takt_builder b;
    takt_plan plan = {.threads = threads};
    const takt_tensor tensor = {.storage = w->storage};
    const takt_pack_name name = {.bytes = w->bytes, .fill = fill, .part = part, .span = span};
    const takt_pack_work work = {.name = &name, .user = w, .tensor = &tensor, .to = packed};
    b = (takt_builder){.p = {.ctx = ctx, .plan = &plan}, .pool = *pool};
    memset(packed, 0, w->bytes);
    const takt_status status = takt_builder_fill(&b, &work);
    takt_storage_release(b.late_room);
    *pool = b.pool;
    return status;
}

static void once(void)
{
    static const size_t shapes[][2] = {{16, 128}, {14, 64}, {28, 128}, {4, 128},
                                       {17, 96},  {1, 64},  {64, 64},  {8, 80}};
    static const int threads[] = {1, 2, 3, 16};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            weights w;
            takt_ctx *ctx;
            takt_pool *pool = NULL;
            if (!begin(&w, shapes[i][0], shapes[i][1], &ctx))
                return;
            EXPECT_OK(ctx, pack(ctx, &w, threads[t], &pool));
            EXPECT(is_packed(&w), "%zu heads: other bytes", w.heads);
            EXPECT(w.seen <= w.bytes + w.bytes / 8, "%zu heads, %d threads: %zu of %zu bytes",
                   w.heads, threads[t], w.seen, w.bytes);
            takt_pool_destroy(pool);
            takt_storage_release(w.storage);
            takt_ctx_destroy(ctx);
        }
}

/* The bytes come into memory, and leave it again, so that it happens at any moment. */
static void come_and_go(void *user)
{
    weights *w = user;
    for (bool is_late = false; !atomic_load(&w->is_over); is_late = !is_late)
        atomic_store(&w->storage->is_late, is_late);
}

static void settled(void)
{
    weights w;
    takt_ctx *ctx;
    takt_pool *pool = NULL;
    void *thread;
    if (!begin(&w, 8, 32, &ctx) || !EXPECT_OK(ctx, takt_storage_settle(w.storage)))
        return;
    const takt_threads *threads = &ctx->threads;
    if (!EXPECT_EQ(threads->start(threads->user, come_and_go, &w, &thread), 0))
        return;
    bool is_good = true;
    for (int i = 0; i < 1000 && is_good; i++)
        is_good = pack(ctx, &w, 1, &pool) == TAKT_OK && is_packed(&w);
    EXPECT(is_good, "other bytes");
    atomic_store(&w.is_over, true);
    threads->join(threads->user, thread);
    takt_pool_destroy(pool);
    takt_storage_release(w.storage);
    takt_ctx_destroy(ctx);
}

/* The pages of weights that nobody reads again read as zeros then. */
static void given_back(void)
{
    enum { BYTES = 32 << 20, ENDS = 1 << 17 };
    for (int threads = 1; threads < 4; threads += 2)
        for (int is_last = 0; is_last < 2; is_last++) {
            static takt_builder b;
            takt_plan plan = {.threads = threads};
            takt_tensor tensor = {0};
            takt_ctx *ctx;
            weights w = {.bytes = BYTES};
            uint8_t *to = malloc(BYTES);
            const takt_pack_name name = {.bytes = BYTES, .fill = fill, .part = part, .span = span};
            if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)) ||
                !EXPECT_OK(ctx, takt_storage_create(ctx, BYTES, &tensor.storage)))
                return;
            uint8_t *from = takt_storage_data(tensor.storage);
            for (size_t i = 0; i < BYTES; i++)
                from[i] = at(i) | 1;
            b = (takt_builder){.p = {.ctx = ctx, .plan = &plan}};
            const takt_pack_work work = {
                .name = &name, .user = &w, .tensor = &tensor, .to = to, .is_last = is_last};
            EXPECT_OK(ctx, takt_builder_fill(&b, &work));
            size_t wrong = 0, left = 0;
            for (size_t i = 0; i < BYTES; i++) {
                wrong += to[i] != (at(i) | 1);
                left += from[i] != 0;
            }
            EXPECT(wrong == 0, "%zu bytes are wrong", wrong);
            EXPECT(is_last ? left < ENDS : left == BYTES, "%zu bytes are left", left);
            takt_pool_destroy(b.pool);
            takt_storage_release(tensor.storage);
            takt_ctx_destroy(ctx);
            free(to);
        }
}

TEST_MAIN(once, settled, given_back)
