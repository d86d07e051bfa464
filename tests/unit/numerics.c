/* numerics.c - `numerics = fast`: products in bf16 and f16 where requested, close to exact, and
 * nowhere else.
 */
#include "test.h"

#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "backend/cpu/narrow.h"
#include "kernel/kernel.h"
#include "util/run_once.h"
#include "util/sheet.h"

static takt_ctx *ctx;

/* Products of one matrix and of several, convolutions of both layouts, of groups, of 3x3 and 1x1,
 * a depthwise one and a product of two inputs; then convolutions that read an image of bf16, with
 * strides, dilation, uneven padding and one axis. */
static const char *const texts[] = {
    "model a(x: f32[n, 70]) -> (y: f32[n, 45]) seed=1 {\n"
    "  return y = dense(dense(x, 33, act=relu), 45)\n"
    "}\n",
    "model b(x: f32[3, n, 19]) -> (y: f32[3, n, 21]) seed=2 {\n"
    "  param w: f32[3, 19, 21] = normal(0, 1)\n"
    "  param t: f32[21, 21] = normal(0, 1)\n"
    "  return y = op.matmul(op.matmul(x, w), t, transpose_b=true)\n"
    "}\n",
    "model c(x: f32[n, 16, 9, 9]) -> (y: f32[n, 24, 9, 9]) seed=3 {\n"
    "  param k: f32[16, 16, 3, 3] = normal(0, 0.2)\n"
    "  param l: f32[24, 4, 1, 1] = normal(0, 0.2)\n"
    "  h = relu(op.conv(x, k, pad=[1, 1, 1, 1]))\n"
    "  return y = op.conv(h, l, groups=4)\n"
    "}\n",
    "model d(x: f32[n, 9, 9, 3]) -> (y: f32[n, 5, 5, 20]) seed=4 {\n"
    "  param k: f32[18, 3, 3, 3] = normal(0, 0.2)\n"
    "  param l: f32[18, 3, 3, 1] = normal(0, 0.2)\n"
    "  param p: f32[20, 1, 1, 18] = normal(0, 0.2)\n"
    "  h = relu(op.conv(x, k, pad=[1, 1, 1, 1], stride=[2, 2], layout=nhwc))\n"
    "  h = op.conv(h, l, pad=[1, 1, 1, 1], groups=18, layout=nhwc)\n"
    "  return y = op.conv(h, p, layout=nhwc)\n"
    "}\n",
    "model e(x: f32[n, 8, 8]) -> (y: f32[n, 8, 8]) {\n"
    "  return y = op.matmul(x, x)\n"
    "}\n",
    "model f(x: f32[n, 11, 7, 32]) -> (y: f32[n, 10, 6, 37]) seed=5 {\n"
    "  param k: f32[37, 3, 3, 32] = normal(0, 0.1)\n"
    "  param b: f32[37] = normal(0, 1)\n"
    "  return y = relu(op.conv(x, k, pad=[0, 1, 1, 0], layout=nhwc) + b)\n"
    "}\n",
    "model g(x: f32[n, 9, 12, 64]) -> (y: f32[n, 5, 3, 20]) seed=6 {\n"
    "  param k: f32[20, 4, 5, 64] = normal(0, 0.1)\n"
    "  return y = op.conv(x, k, pad=[1, 2, 2, 3], stride=[2, 3], dilation=[1, 2], layout=nhwc)\n"
    "}\n",
    "model h(x: f32[n, 40, 96]) -> (y: f32[n, 14, 50]) seed=7 {\n"
    "  param k: f32[50, 2, 96] = normal(0, 0.1)\n"
    "  param l: f32[50, 1, 96] = normal(0, 0.1)\n"
    "  s = op.conv(x, l, stride=[3], layout=nhwc)\n"
    "  return y = tanh(op.conv(x, k, pad=[1, 0], stride=[3], layout=nhwc) + s)\n"
    "}\n",
};

enum { TEXTS = sizeof texts / sizeof *texts, PRODUCT_OF_INPUTS = 4, MOST = 24576 };

static bool has(const char *family)
{
    const takt_kernel *k = takt_kernel_find(family, takt_isa_detect(), NULL, 0, NULL);
    return k != NULL && k->rank > 0;
}

static bool has_bf16(void)
{
    return has("gemm_bf16");
}

/* Whether this machine multiplies f16 weights in f16: with few rows wherever it can. */
enum { MANY = 25 };

static bool prefers_f16(size_t rows)
{
    const takt_isa_set isas = takt_isa_detect();
    return takt_narrow_prefers_f16(takt_kernel_find("gemm_f16", isas, NULL, 0, NULL),
                                   takt_kernel_find("gemm_bf16", isas, NULL, 0, NULL), rows,
                                   70 * 45);
}

static void fast_is_close_and_says_so(int which)
{
    static float exact[MOST], got[MOST], other[MOST];
    takt_model *m = run_model(ctx, texts[which]);
    static const char *const sizes[] = {"n=1", "n=7"};
    for (int i = 0; i < 2; i++) {
        takt_plan_options o = {.sizes = sizes[i], .threads = 1};
        const size_t count = run_once(ctx, m, &o, (run_results){exact, MOST});
        o.numerics = "exact";
        run_once(ctx, m, &o, (run_results){got, MOST});
        EXPECT(memcmp(got, exact, count * sizeof *got) == 0, "exact is not the default");
        o.numerics = "fast";
        run_once(ctx, m, &o, (run_results){got, MOST});
        const double far = run_distance(got, exact, count);
        const bool is_exact = which == PRODUCT_OF_INPUTS || !has_bf16();
        EXPECT(is_exact ? far < 1e-6 : far > 1e-4 && far < 1e-2, "model %d %s: %g from exact",
               which, sizes[i], far);
        o.threads = 3;
        run_once(ctx, m, &o, (run_results){other, MOST});
        EXPECT(run_distance(other, got, count) < 1e-6, "model %d %s: threads change it by %g",
               which, sizes[i], run_distance(other, got, count));
        o.precision = "bf16";
        run_once(ctx, m, &o, (run_results){other, MOST});
        EXPECT(run_distance(other, exact, count) < 1e-2, "model %d %s: %g with bf16 weights", which,
               sizes[i], run_distance(other, exact, count));
        o = (takt_plan_options){.sizes = sizes[i], .numerics = "fast", .isa = "scalar"};
        run_once(ctx, m, &o, (run_results){other, MOST});
        EXPECT(run_distance(other, exact, count) < 1e-5, "model %d %s: %g in scalar code", which,
               sizes[i], run_distance(other, exact, count));
    }
    takt_model_destroy(m);
}

static bool kernels_have(const takt_plan_options *o, const char *words)
{
    static sheet r;
    r = (sheet){.length = 0};
    takt_model *m = run_model(ctx, texts[3]);
    takt_plan *plan;
    if (EXPECT_OK(ctx, takt_plan_create(m, o, &plan)))
        EXPECT_OK(ctx, takt_plan_kernels(plan, TAKT_FORMAT_TEXT, sheet_keep, &r));
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    return strstr(r.at, words) != NULL;
}

static void kernels_are_shown_and_kept_apart(void)
{
    takt_plan_options o = {.sizes = "n=1"};
    EXPECT(!kernels_have(&o, "_bf16"), "exact arithmetic by bf16");
    o.numerics = "fast";
    EXPECT(kernels_have(&o, "_bf16") == has_bf16(), "fast arithmetic by f32");
    static const char *const families[] = {"product_bf16", "depthwise_bf16"};
    for (int i = 0; i < 2; i++) {
        const takt_kernel *k = takt_kernel_find(families[i], takt_isa_detect(), NULL, 0, NULL);
        EXPECT(kernels_have(&o, families[i]) == (k != NULL && k->rank > 0), "%s", families[i]);
    }
    o.level = 1;
    EXPECT(!kernels_have(&o, "product_bf16"), "maps are narrow without licensed passes");
    o.precision = "f16";
    const bool in_f16 = prefers_f16(MANY); /* the model's products have this many rows */
    EXPECT(kernels_have(&o, "gemm_f16/") == in_f16, "f16 weights by another arithmetic");
    EXPECT(!in_f16 || !kernels_have(&o, "gemm_bf16"), "f16 weights by bf16");
    EXPECT_EQ(kernels_have(&o, "f16 weights are faster as bf16"), (has("gemm_f16") && !in_f16));
    o.numerics = NULL;
    EXPECT(!kernels_have(&o, "gemm_f16/"), "exact arithmetic by f16");
    o = (takt_plan_options){.sizes = "n=1", .numerics = "fast", .isa = "scalar"};
    EXPECT(!kernels_have(&o, "_bf16") && kernels_have(&o, "no bf16 dot products here"),
           "scalar code by bf16");
}

/* Weights in f16 are multiplied in f16, which is closer to exact than bf16, but differs from f32;
 * in bf16 if the kernel reports that it is much faster. */
static void half_weights_are_multiplied_in_f16(int which)
{
    static float exact[MOST], stored[MOST], got[MOST], other[MOST];
    takt_model *m = run_model(ctx, texts[which]);
    static const char *const sizes[] = {"n=1", "n=7", "n=8"};
    for (int i = 0; i < 3; i++) {
        /* -O1: no maps in bf16 between convolutions */
        takt_plan_options o = {.sizes = sizes[i], .threads = 1, .level = 1};
        const size_t count = run_once(ctx, m, &o, (run_results){exact, MOST});
        o.precision = "f16";
        run_once(ctx, m, &o, (run_results){stored, MOST});
        o.numerics = "fast";
        run_once(ctx, m, &o, (run_results){got, MOST});
        const double far = run_distance(got, exact, count),
                     moved = run_distance(got, stored, count);
        EXPECT(far < (prefers_f16(MANY) ? 2e-3 : 1e-2), "model %d %s: %g from exact", which,
               sizes[i], far);
        EXPECT(which == PRODUCT_OF_INPUTS || !has("gemm_f16") || moved > 1e-6,
               "model %d %s: the arithmetic is that of f32", which, sizes[i]);
        o.threads = 3;
        run_once(ctx, m, &o, (run_results){other, MOST});
        EXPECT(run_distance(other, got, count) < 2e-3, "model %d %s: threads change it by %g",
               which, sizes[i], run_distance(other, got, count));
        o.isa = "scalar";
        run_once(ctx, m, &o, (run_results){other, MOST});
        EXPECT(memcmp(other, stored, count * sizeof *other) == 0,
               "model %d %s: scalar code is not exact", which, sizes[i]);
    }
    takt_model_destroy(m);
}

/* A model that is f16 throughout. */
static void half_models_are_multiplied_in_f16(void)
{
    static const char text[] = "model h(x: f16[n, 70]) -> (y: f32[n, 45]) seed=1 {\n"
                               "  param w: f16[70, 45] = normal(0, 1)\n"
                               "  return y = cast(op.matmul(x, w), f32)\n"
                               "}\n";
    static float exact[MOST], got[MOST];
    takt_model *m = run_model(ctx, text);
    takt_plan_options o = {.sizes = "n=9"};
    const size_t count = run_once(ctx, m, &o, (run_results){exact, MOST});
    o.numerics = "fast";
    run_once(ctx, m, &o, (run_results){got, MOST});
    EXPECT(run_distance(got, exact, count) < (prefers_f16(9) ? 3e-3 : 1e-2), "%g",
           run_distance(got, exact, count));
    static sheet r;
    r = (sheet){.length = 0};
    takt_plan *plan;
    if (EXPECT_OK(ctx, takt_plan_create(m, &o, &plan)))
        EXPECT_OK(ctx, takt_plan_kernels(plan, TAKT_FORMAT_TEXT, sheet_keep, &r));
    EXPECT((strstr(r.at, "gemm_f16/") != NULL) == prefers_f16(9), "%s", r.at);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
}

static void mistakes(void)
{
    takt_model *m = run_model(ctx, texts[0]);
    takt_plan *plan;
    EXPECT_STATUS(ctx, takt_plan_create(m, &(takt_plan_options){.numerics = "quick"}, &plan),
                  TAKT_ERR_ARGUMENT);
    EXPECT(strstr(takt_last_error(ctx), "quick") != NULL, "%s", takt_last_error(ctx));
    takt_model_destroy(m);
}

int main(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    for (int i = 0; i < TEXTS; i++)
        fast_is_close_and_says_so(i);
    for (int i = 0; i < TEXTS; i++)
        half_weights_are_multiplied_in_f16(i);
    half_models_are_multiplied_in_f16();
    kernels_are_shown_and_kept_apart();
    mistakes();
    takt_ctx_destroy(ctx);
    return test_done();
}
