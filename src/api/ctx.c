/* ctx.c - making a context: the caller's services or the system's, limits, and counted memory. */
#include "base/ctx.h"
#include "base/native.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "api/cache.h"
#include "base/count.h"
#include "base/mem.h"
#include "base/options.h"
#include "os/cpu.h"
#include "os/os.h"
#include "plan/device.h"
#include "plan/execute.h"

/* Memory beyond the limit is never requested. */
static void *counted_get(void *user, size_t size, size_t align)
{
    takt_ctx *ctx = user;
    uint64_t live;
    if (!takt_count_more(ctx, size, &live))
        return NULL;
    void *block = ctx->outer.get(ctx->outer.user, size, align);
    if (block == NULL) {
        takt_count_less(ctx, size);
        return NULL;
    }
    takt_count_peak(ctx, live);
    atomic_fetch_add(&ctx->allocations, 1);
    atomic_fetch_add(&ctx->allocated_bytes, size);
    return block;
}

static void counted_put(void *user, void *block, size_t size)
{
    takt_ctx *ctx = user;
    if (block == NULL)
        return;
    ctx->outer.put(ctx->outer.user, block, size);
    takt_count_less(ctx, size);
}

static uint64_t or_default(uint64_t value, uint64_t fallback)
{
    return value != 0 ? value : fallback;
}

static takt_limits fill_limits(const takt_limits *given)
{
    return (takt_limits){
        .bytes = given->bytes != 0 ? given->bytes : takt_memory_allowed() / 2,
        .file_bytes = or_default(given->file_bytes, UINT64_C(64) << 30),
        .tensor_bytes = or_default(given->tensor_bytes, UINT64_C(16) << 30),
        .nodes = or_default(given->nodes, 4000000),
        .name_bytes = or_default(given->name_bytes, 4096),
        .depth = or_default(given->depth, 32),
        .trip_count = or_default(given->trip_count, 1000000),
        .errors = or_default(given->errors, 20),
    };
}

static bool is_complete(const takt_config *c)
{
    const takt_files *f = c->files;
    if (c->allocator != NULL && (c->allocator->get == NULL || c->allocator->put == NULL))
        return false;
    if (c->threads != NULL && (c->threads->start == NULL || c->threads->join == NULL))
        return false;
    return f == NULL || (f->open_read != NULL && f->open_beneath != NULL && f->create != NULL &&
                         f->size != NULL && f->read != NULL && f->write != NULL &&
                         f->commit != NULL && f->close != NULL);
}

takt_status takt_ctx_create(const takt_config *given, takt_ctx **result)
{
    takt_config config;
    if (result == NULL)
        return TAKT_ERR_ARGUMENT;
    *result = NULL;
    TAKT_TRY(takt_options_read(NULL, "takt_config", given, &config, sizeof config));
    if (!is_complete(&config))
        return TAKT_ERR_ARGUMENT;
    const takt_allocator outer = config.allocator != NULL ? *config.allocator : takt_os_allocator();
    takt_ctx *ctx = outer.get(outer.user, sizeof *ctx, TAKT_ALIGN);
    if (ctx == NULL)
        return TAKT_ERR_MEMORY;
    memset(ctx, 0, sizeof *ctx);
    ctx->outer = outer;
    ctx->allocator = (takt_allocator){.get = counted_get, .put = counted_put, .user = ctx};
    ctx->files = config.files != NULL ? *config.files : takt_os_files(&ctx->allocator);
    ctx->threads = config.threads != NULL ? *config.threads : takt_os_threads(&ctx->allocator);
    ctx->now_ns = config.now_ns != NULL ? config.now_ns : takt_os_now_ns;
    ctx->clock_user = config.clock_user;
    ctx->log = config.log;
    ctx->log_user = config.log_user;
    ctx->limits = fill_limits(&config.limits);
    ctx->error.offset = -1;
    ctx->cpu.seen_wall_ns = takt_os_now_ns(NULL);
    ctx->cpu.seen_cpu_ns = takt_os_cpu_ns();
    *result = ctx;
    return TAKT_OK;
}

void takt_ctx_destroy(takt_ctx *ctx)
{
    if (ctx == NULL)
        return;
    const takt_allocator outer = ctx->outer;
    if (ctx->watch != NULL)
        ctx->watch->drop(ctx->watch->user);
    takt_plan_cache_destroy(ctx);
    takt_opened_close(ctx);
    takt_native_drop(ctx);
    outer.put(outer.user, ctx, sizeof *ctx);
}

const takt_limits *takt_ctx_limits(const takt_ctx *ctx)
{
    return &ctx->limits;
}

const takt_files *takt_ctx_files(const takt_ctx *ctx)
{
    return &ctx->files;
}
