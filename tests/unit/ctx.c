/* ctx.c - making contexts: defaults, limits at their edges, other versions' configurations. */
#include "base/ctx.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <takt/version.h>

#include "base/mem.h"
#include "os/cpu.h"
#include "test.h"
#include "util/inject.h"

static void defaults(void)
{
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    const takt_limits *l = takt_ctx_limits(ctx);
    EXPECT_EQ(l->bytes, takt_memory_allowed() / 2);
    EXPECT_IS(l->bytes, >, 0);
    EXPECT_EQ(l->file_bytes, UINT64_C(64) << 30);
    EXPECT_EQ(l->tensor_bytes, UINT64_C(16) << 30);
    EXPECT_EQ(l->nodes, 4000000);
    EXPECT_EQ(l->name_bytes, 4096);
    EXPECT_EQ(l->depth, 32);
    EXPECT_EQ(l->trip_count, 1000000);
    EXPECT_EQ(l->errors, 20);
    const uint64_t now = ctx->now_ns(ctx->clock_user);
    EXPECT_IS(now, <=, ctx->now_ns(ctx->clock_user));
    takt_ctx_destroy(ctx);
    takt_ctx_destroy(NULL);
    EXPECT_IS(takt_last_error(NULL)[0], !=, '\0');
    EXPECT_EQ(takt_last_error_info(NULL)->offset, -1);
}

static void limit_edge(void)
{
    const takt_config config = {.limits = {.bytes = 1000, .depth = 3}};
    takt_ctx *ctx;
    void *a, *b;
    EXPECT_OK(NULL, takt_ctx_create(&config, &ctx));
    EXPECT_EQ(takt_ctx_limits(ctx)->depth, 3);
    EXPECT_EQ(takt_ctx_limits(ctx)->nodes, 4000000);
    EXPECT_OK(ctx, takt_mem_get(ctx, 999, "a test", &a));
    takt_mem_put(ctx, a, 999);
    EXPECT_OK(ctx, takt_mem_get(ctx, 1000, "a test", &a));
    takt_mem_put(ctx, a, 1000);
    EXPECT_STATUS(ctx, takt_mem_get(ctx, 1001, "a test", &a), TAKT_ERR_MEMORY);
    EXPECT(a == NULL && strstr(takt_last_error(ctx), "1001 bytes for a test") != NULL);
    EXPECT(strstr(takt_last_error(ctx), "limits.bytes") != NULL, "%s", takt_last_error(ctx));
    EXPECT_IS(takt_last_error_info(ctx)->hint[0], !=, '\0');
    EXPECT_OK(ctx, takt_mem_get(ctx, 600, "a test", &a));
    EXPECT_STATUS(ctx, takt_mem_get(ctx, 401, "a test", &b), TAKT_ERR_MEMORY);
    EXPECT_STATUS(ctx, takt_mem_get(ctx, SIZE_MAX, "a test", &b), TAKT_ERR_MEMORY);
    EXPECT_OK(ctx, takt_mem_get(ctx, 400, "a test", &b));
    EXPECT_EQ(ctx->live_bytes, 1000);
    takt_mem_put(ctx, a, 600);
    takt_mem_put(ctx, b, 400);
    EXPECT_EQ(ctx->live_bytes, 0);
    takt_ctx_destroy(ctx);
}

/* One context reuses what another has. */
static void own_files(void)
{
    takt_ctx *under, *over;
    takt_file *file = NULL;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &under));
    const takt_files files = *takt_ctx_files(under);
    const takt_config config = {.files = &files};
    EXPECT_OK(NULL, takt_ctx_create(&config, &over));
    EXPECT_SAME(takt_ctx_files(over)->open_read, files.open_read);
    EXPECT_SAME(takt_ctx_files(over)->user, files.user);
    EXPECT_EQ(takt_ctx_files(over)->open_read(files.user, "/nowhere/at/all", &file), ENOENT);
    takt_ctx_destroy(over);
    takt_ctx_destroy(under);
}

static void *never(void *user, size_t size, size_t align)
{
    (void)user;
    (void)size;
    (void)align;
    return NULL;
}

static void ignore(void *user, void *block, size_t size)
{
    (void)user;
    (void)block;
    (void)size;
}

static void bad_configurations(void)
{
    takt_ctx *ctx = (takt_ctx *)&ctx;
    const takt_allocator empty = {.get = never}, poor = {.get = never, .put = ignore};
    EXPECT_STATUS(NULL, takt_ctx_create(NULL, NULL), TAKT_ERR_ARGUMENT);
    takt_config config = {.allocator = &empty};
    EXPECT_STATUS(NULL, takt_ctx_create(&config, &ctx), TAKT_ERR_ARGUMENT);
    EXPECT_SAME(ctx, NULL);
    config.allocator = &poor;
    EXPECT_STATUS(NULL, takt_ctx_create(&config, &ctx), TAKT_ERR_MEMORY);
    const takt_files no_files = {0};
    config = (takt_config){.files = &no_files};
    EXPECT_STATUS(NULL, takt_ctx_create(&config, &ctx), TAKT_ERR_ARGUMENT);
    const takt_threads no_threads = {0};
    config = (takt_config){.threads = &no_threads};
    EXPECT_STATUS(NULL, takt_ctx_create(&config, &ctx), TAKT_ERR_ARGUMENT);
    config = (takt_config){.size = 3};
    EXPECT_STATUS(NULL, takt_ctx_create(&config, &ctx), TAKT_ERR_ARGUMENT);
}

/* A caller compiled against a shorter structure, and one against a longer. */
static void other_versions(void)
{
    struct {
        takt_config config;
        uint64_t future;
    } longer = {.config = {.size = sizeof longer, .limits.nodes = 7}};
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(&longer.config, &ctx));
    EXPECT_EQ(takt_ctx_limits(ctx)->nodes, 7);
    takt_ctx_destroy(ctx);
    longer.future = 1;
    EXPECT_STATUS(NULL, takt_ctx_create(&longer.config, &ctx), TAKT_ERR_ARGUMENT);
    takt_config shorter = {.size = offsetof(takt_config, limits), .limits.nodes = 7};
    EXPECT_OK(NULL, takt_ctx_create(&shorter, &ctx));
    EXPECT(takt_ctx_limits(ctx)->nodes == 4000000, "what lies behind its size is not read");
    takt_ctx_destroy(ctx);
}

static takt_status scenario(takt_inject *inject, void *user)
{
    (void)user;
    takt_config config = {0};
    takt_ctx *ctx;
    takt_inject_config(inject, &config);
    const takt_status status = takt_ctx_create(&config, &ctx);
    takt_ctx_destroy(ctx);
    return status;
}

static void sweeps(void)
{
    const takt_sweep_report r = takt_sweep(scenario, NULL, TAKT_INJECT_ALL);
    EXPECT(r.is_good && r.runs == 2, "%s", r.message);
}

static void version(void)
{
    EXPECT(strcmp(takt_version(), "0.1.0") == 0, "%s", takt_version());
    EXPECT(strncmp(takt_build_info(), "version: 0.1.0\n", 15) == 0, "%s", takt_build_info());
    EXPECT(strstr(takt_build_info(), "\nflags: ") != NULL);
}

TEST_MAIN(defaults, own_files, limit_edge, bad_configurations, other_versions, sweeps, version)
