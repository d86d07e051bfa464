/* narrow_activations.c - convolutions on activations of 16 bits under `numerics = fast`: every
 * algorithm is close to exact, gives the same bits for any number of threads, and is used where it
 * should be.
 */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

#include "kernel/kernel.h"
#include "util/run_once.h"
#include "util/sheet.h"

static takt_ctx *ctx;

/* One convolution: sizes, its arguments besides layout=nhwc, and its family. */
typedef struct sample {
    int height, width, cin, cout, rows, columns, groups;
    const char *more, *family;
} sample;

static const sample samples[] = {
    {19, 17, 33, 35, 3, 3, 1, "pad=[1, 1, 1, 1]", "winograd_bf16"},
    {7, 6, 16, 17, 3, 3, 1, "", "winograd_bf16"},
    {30, 31, 3, 20, 5, 7, 1, "stride=[2, 3], pad=[2, 9, 1, 8]", "product_bf16"},
    {30, 31, 7, 10, 3, 3, 1, "stride=[2, 1], dilation=[1, 2], pad=[2, 4, 1, 3]", "product_bf16"},
    {40, 30, 48, 20, 1, 1, 1, "", "product_bf16"},
    {9, 11, 20, 21, 1, 1, 1, "stride=[2, 2]", "product_bf16"},
    {5, 5, 300, 12, 2, 2, 1, "", "product_bf16"},
    {19, 17, 32, 35, 3, 3, 1, "pad=[1, 1, 1, 1]", "winograd_bf16"}, /* these read images, if any */
    {14, 13, 64, 33, 3, 3, 1, "stride=[2, 2], pad=[1, 1, 1, 1]", "product_bf16"},
    {12, 20, 32, 20, 5, 3, 1, "stride=[2, 3], dilation=[1, 2], pad=[2, 1, 1, 3]", "product_bf16"},
    {9, 11, 96, 21, 1, 1, 1, "stride=[2, 2]", "product_bf16"},
    {21, 30, 44, 44, 3, 3, 44, "pad=[1, 1, 1, 1]", "depthwise_bf16"},
    {20, 33, 24, 24, 3, 3, 24, "pad=[0, 1, 0, 1], stride=[2, 2]", "depthwise_bf16"},
    {21, 30, 20, 20, 5, 4, 20, "stride=[2, 3], dilation=[2, 1], pad=[1, 2, 3, 0]",
     "depthwise_bf16"},
};

enum { SAMPLES = sizeof samples / sizeof *samples, MOST = 200000 };

static bool has(const char *family)
{
    const takt_kernel *k = takt_kernel_find(family, takt_isa_detect(), NULL, 0, NULL);
    return k != NULL && k->rank > 0;
}

/* The convolution, a bias, and bounds; and again as the residual of a product that follows. */
static takt_model *model_of(const sample *s)
{
    static char text[1024];
    snprintf(text, sizeof text,
             "model m(x: f32[n, %d, %d, %d]) seed=3 {\n"
             "  param w: f32[%d, %d, %d, %d] = normal(0, 0.2)\n"
             "  param b: f32[%d] = normal(0, 1)\n"
             "  param p: f32[%d, 1, 1, %d] = normal(0, 0.2)\n"
             "  h = op.clip(op.conv(x, w, groups=%d%s%s, layout=nhwc) + b, min=-1, max=3)\n"
             "  return relu(op.conv(h, p, layout=nhwc) + b + h)\n"
             "}\n",
             s->height, s->width, s->cin, s->cout, s->rows, s->columns, s->cin / s->groups, s->cout,
             s->cout, s->cout, s->groups, *s->more ? ", " : "", s->more);
    return run_model(ctx, text);
}

static void is_taken(takt_model *m, const sample *s)
{
    static sheet r;
    r = (sheet){.length = 0};
    takt_plan *plan;
    const takt_plan_options o = {.sizes = "n=1", .numerics = "fast"};
    if (EXPECT_OK(ctx, takt_plan_create(m, &o, &plan)))
        EXPECT_OK(ctx, takt_plan_kernels(plan, TAKT_FORMAT_TEXT, sheet_keep, &r));
    takt_run_config config;
    takt_plan_config(plan, &config);
    EXPECT(config.note == NULL || !has(s->family), "%s: %s", s->family, config.note);
    takt_plan_destroy(plan);
    EXPECT((strstr(r.at, s->family) != NULL) == has(s->family), "%s:\n%s", s->family, r.at);
}

static void is_close(const sample *s)
{
    static float exact[MOST], got[MOST], other[MOST];
    static const char *const sizes[] = {"n=1", "n=3"};
    takt_model *m = model_of(s);
    for (int i = 0; i < 2; i++) {
        takt_plan_options o = {.sizes = sizes[i], .threads = 1};
        const size_t count = run_once(ctx, m, &o, (run_results){exact, MOST});
        o.numerics = "fast";
        run_once(ctx, m, &o, (run_results){got, MOST});
        const double far = run_distance(got, exact, count);
        EXPECT(has(s->family) ? far > 1e-4 && far < 1.5e-2 : far < 1.5e-2, "%s %s: %g from exact",
               s->family, s->more, far);
        for (o.threads = 2; o.threads <= 5; o.threads += 3) {
            run_once(ctx, m, &o, (run_results){other, MOST});
            EXPECT(memcmp(other, got, count * sizeof *got) == 0, "%s %s: %d threads change bits",
                   s->family, s->more, o.threads);
        }
        o.precision = "f16";
        run_once(ctx, m, &o, (run_results){other, MOST});
        EXPECT(run_distance(other, exact, count) < 1.5e-2, "%s %s: %g with f16 weights", s->family,
               s->more, run_distance(other, exact, count));
    }
    is_taken(m, s);
    takt_model_destroy(m);
}

/* The pass is switched by name like any other, and without it convolutions are products of bf16. */
static void is_switched_by_name(const sample *s)
{
    static float exact[MOST], with[MOST], other[MOST];
    static const char *const same[] = {"+narrow-activations",
                                       "-narrow-activations,+narrow-activations", "-fuse",
                                       "fuse:min-gain=2"};
    const bool is_there = has("product_bf16") && has("depthwise_bf16");
    takt_model *m = model_of(s);
    takt_plan_options o = {.sizes = "n=1"};
    const size_t count = run_once(ctx, m, &o, (run_results){exact, MOST});
    o.passes = "+narrow-activations";
    run_once(ctx, m, &o, (run_results){other, MOST});
    EXPECT(memcmp(other, exact, count * sizeof *exact) == 0, "%s: it runs in exact", s->family);
    o = (takt_plan_options){.sizes = "n=1", .numerics = "fast"};
    run_once(ctx, m, &o, (run_results){with, MOST});
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        o.passes = same[i];
        run_once(ctx, m, &o, (run_results){other, MOST});
        EXPECT(memcmp(with, other, count * sizeof *with) == 0, "%s: %s changes bits", s->family,
               o.passes);
    }
    o.passes = "-narrow-activations";
    run_once(ctx, m, &o, (run_results){other, MOST});
    EXPECT((memcmp(with, other, count * sizeof *with) != 0) == is_there, "%s: %s changes nothing",
           s->family, o.passes);
    EXPECT(run_distance(other, exact, count) < 1.5e-2, "%s without the pass", s->family);
    takt_model_destroy(m);
}

/* Patches of few channels are f32 under fast, with the pass and without; of some more they are not.
 */
static void few_channels_stay_f32(void)
{
    static float exact[MOST], got[MOST];
    static const char *const passes[] = {NULL, "-narrow-activations"};
    for (int cout = 8; cout <= 32; cout += 24) {
        char text[256];
        snprintf(text, sizeof text,
                 "model m(x: f32[2, 12, 13, 3]) seed=3 {\n"
                 "  param w: f32[%d, 3, 3, 3] = normal(0, 0.2)\n"
                 "  return relu(op.conv(x, w, layout=nhwc))\n"
                 "}\n",
                 cout);
        takt_model *m = run_model(ctx, text);
        takt_plan_options o = {.threads = 1};
        const size_t count = run_once(ctx, m, &o, (run_results){exact, MOST});
        o.numerics = "fast";
        for (int i = 0; i < 2; i++) {
            o.passes = passes[i];
            run_once(ctx, m, &o, (run_results){got, MOST});
            EXPECT((memcmp(got, exact, count * sizeof *got) == 0) ==
                       (cout == 8 || !has("gemm_bf16")),
                   "%d channels, passes %s", cout, passes[i] ? passes[i] : "as usual");
        }
        takt_model_destroy(m);
    }
}

int main(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    for (int i = 0; i < SAMPLES; i++)
        is_close(&samples[i]);
    for (int i = 0; i < SAMPLES; i++)
        is_switched_by_name(&samples[i]);
    few_channels_stay_f32();
    takt_ctx_destroy(ctx);
    return test_done();
}
