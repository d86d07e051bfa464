/* map_tiles.c - element-wise programs by tiles: the bits of operations that run one by one.
 *
 * Programs of many registers have smaller tiles; the gradient of gelu has a kernel of its own,
 * around which narrow floats are cast a tile at a time.
 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "util/conv_case.h"

static void check(takt_ctx *ctx, const char *text)
{
    static conv_result want, have;
    static const int threads[] = {1, 2, 5};
    takt_model *model;
    takt_plan_options single = {.threads = 1};
    EXPECT(takt_opts_level(&single, 0) == TAKT_OK, "there is no level 0");
    if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model)))
        return;
    EXPECT_OK(ctx, conv_run(model, &single, false, &want));
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        const takt_plan_options o = {.threads = threads[i]};
        memset(&have, 0, sizeof have);
        if (!EXPECT_OK(ctx, conv_run(model, &o, false, &have)))
            continue;
        const size_t at = conv_difference(&want, &have);
        EXPECT(at == want.count && have.count == want.count,
               "%s\n    %d threads: element %zu is %.9g, not %.9g", text, threads[i], at,
               have.value[at], want.value[at]);
    }
    takt_model_destroy(model);
}

/* `live` values are there before the first two are multiplied. */
static void many_live(takt_ctx *ctx, int rows, int period, int live)
{
    char text[4096];
    int at = snprintf(text, sizeof text, "model m(x: f32[%d, %d], p: f32[%d]) {\n", rows, period,
                      period);
    for (int i = 0; i < live; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "  v%d = exp(x * 0.%d) %s p\n", i,
                       i + 1, i % 2 == 0 ? "*" : "-");
    at += snprintf(text + at, sizeof text - (size_t)at, "  return v0 * v%d", live - 1);
    for (int i = 1; i < live / 2; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, " + v%d * v%d", i, live - 1 - i);
    (void)snprintf(text + at, sizeof text - (size_t)at, "\n}\n");
    check(ctx, text);
}

static void programs_of_many_registers(void)
{
    static const int periods[] = {1, 255, 257, 300, 513, 1024, 1030};
    takt_ctx *ctx;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    for (size_t i = 0; i < sizeof periods / sizeof *periods; i++)
        for (int live = 6; live <= 36; live += 10)
            many_live(ctx, 5000 / periods[i] + 3, periods[i], live);
    takt_ctx_destroy(ctx);
}

/* The gradient as op/gelu.c writes it. */
static void one_slope(takt_ctx *ctx, const char *x, const char *dy, const char *y, int n)
{
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "model m(a: %s[%d], d: %s[%d]) {\n  x = cast(a, dtype=f32)\n"
                   "  level = (erf(x * 0.7071067811865476) + 1) * 0.5\n"
                   "  rise = exp(x * x * -0.5) * 0.3989422804014327\n"
                   "  return cast(cast(d, dtype=f32) * (level + x * rise), dtype=%s)\n}\n",
                   x, n, dy, n, y);
    check(ctx, text);
}

static void slopes_of_gelu(void)
{
    static const char *const types[] = {"f32", "bf16", "f16"};
    static const int counts[] = {1, 1023, 1025, 7001};
    takt_ctx *ctx;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    for (size_t i = 0; i < 27; i++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
            one_slope(ctx, types[i % 3], types[i / 3 % 3], types[i / 9], counts[k]);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(programs_of_many_registers, slopes_of_gelu)
