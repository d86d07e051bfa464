/* conv_shared.c - gradients by weights whose threads share samples or chunks of tiles, and weights
 * that threads transform together: any number of threads, with the bits of one. */
#include "test.h"

#include <string.h>

#include "util/conv_case.h"

#define DW(op, x, d, attrs)                                                                        \
    "model m(x: f32" x ", d: f32" d ") { return op." op "(x, d, layout=nhwc, " attrs ") }"

static const char *const models[] = {
    /* few inputs, one tap, and few outputs with and without padding: 30 samples */
    DW("conv_dw", "[30, 26, 26, 1]", "[30, 24, 24, 20]", "shape=[20, 3, 3, 1]"),
    DW("conv_dw", "[30, 20, 17, 33]", "[30, 20, 17, 24]", "shape=[24, 1, 1, 33]"),
    DW("conv_dw", "[30, 23, 25, 3]", "[30, 21, 23, 9]", "shape=[9, 3, 3, 3]"),
    DW("conv_dw", "[30, 23, 25, 3]", "[30, 23, 25, 16]", "pad=[1, 1, 1, 1], shape=[16, 3, 3, 3]"),
    /* a line longer than a chunk of positions */
    DW("conv_dw", "[30, 3, 600, 1]", "[30, 1, 598, 5]", "shape=[5, 3, 3, 1]"),
    /* by Winograd's transform: 5 chunks, 81 chunks, which are two waves, and four blocks */
    DW("winograd_conv_dw", "[9, 29, 31, 20]", "[9, 29, 31, 18]",
       "pad=[1, 1, 1, 1], shape=[18, 3, 3, 20]"),
    DW("winograd_conv_dw", "[10, 130, 130, 8]", "[10, 128, 128, 7]", "shape=[7, 3, 3, 8]"),
    DW("winograd_conv_dw", "[12, 14, 14, 130]", "[12, 14, 14, 40]",
       "pad=[1, 1, 1, 1], shape=[40, 3, 3, 130]"),
    /* weights that change from run to run, in both layouts */
    "model m(x: f32[2, 6, 7, 130], w: f32[140, 3, 3, 130]) {"
    "  return op.winograd_conv(x, w, pad=[1, 1, 1, 1], layout=nhwc) }",
    "model m(x: f32[2, 130, 6, 7], w: f32[140, 130, 3, 3]) {"
    "  return op.winograd_conv(x, w, pad=[1, 1, 1, 1]) }",
    "model m(d: f32[2, 6, 7, 140], w: f32[140, 3, 3, 130]) {"
    "  return op.winograd_conv_dx(d, w, pad=[1, 1, 1, 1], shape=[2, 6, 7, 130], layout=nhwc) }",
};

/* A limit that leaves little scratch leads to another algorithm with the same bits. */
static void check(takt_ctx *ctx, const takt_model *model, const char *text)
{
    static conv_result one, got;
    static const int threads[] = {1, 2, 3, 7, 12};
    for (size_t i = 0; i < 2 * sizeof threads / sizeof *threads; i++) {
        const takt_plan_options o = {.threads = threads[i / 2],
                                     .memory_limit = i % 2 == 1 ? 64 << 20 : 0};
        if (!EXPECT_OK(ctx, conv_run(model, &o, false, i == 0 ? &one : &got)))
            return;
        const size_t at = i == 0 ? one.count : conv_difference(&one, &got);
        EXPECT(at == one.count, "%s\n    %d threads: element %zu differs", text, o.threads, at);
    }
}

static void same_bits(void)
{
    takt_ctx *ctx;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        takt_model *model;
        if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "shared", models[i], strlen(models[i]), NULL,
                                                  &model))) {
            check(ctx, model, models[i]);
            takt_model_destroy(model);
        }
    }
    takt_ctx_destroy(ctx);
}

/* Bytes of the arena of a plan. */
static uint64_t arena(takt_ctx *ctx, const takt_model *model, int threads, uint64_t limit)
{
    const takt_plan_options o = {.threads = threads, .memory_limit = limit};
    takt_plan *plan = NULL;
    takt_plan_info info = {0};
    if (EXPECT_OK(ctx, takt_plan_create(model, &o, &plan)))
        takt_plan_query(plan, &info);
    takt_plan_destroy(plan);
    return info.arena;
}

/* Sums of chunks are stored where memory is not limited: more than under a limit. */
static void limits(void)
{
    static const char text[] =
        DW("winograd_conv_dw", "[12, 30, 30, 64]", "[12, 28, 28, 64]", "shape=[64, 3, 3, 64]");
    takt_ctx *ctx;
    takt_model *model;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "limits", text, strlen(text), NULL, &model))) {
        const uint64_t free = arena(ctx, model, 12, 0), limited = arena(ctx, model, 12, 40 << 20);
        EXPECT(limited <= free / 2, "%llu bytes under a limit, %llu without",
               (unsigned long long)limited, (unsigned long long)free);
        takt_model_destroy(model);
    }
    takt_ctx_destroy(ctx);
}

/* Every thread has scratch, also where there is work for a few only. */
static void few_tasks(void)
{
    static const char text[] = DW("winograd_conv_dw", "[1, 4, 4, 32]", "[1, 4, 4, 64]",
                                  "pad=[1, 1, 1, 1], shape=[64, 3, 3, 32]");
    takt_ctx *ctx;
    takt_model *model;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "few", text, strlen(text), NULL, &model))) {
        EXPECT_IS(arena(ctx, model, 64, 8 << 20), <, 8 << 20);
        takt_model_destroy(model);
    }
    takt_ctx_destroy(ctx);
}

TEST_MAIN(same_bits, limits, few_tasks)
