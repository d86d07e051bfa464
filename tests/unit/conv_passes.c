/* conv_passes.c - what the passes `layout` and `winograd` do to convolutions on the cpu backend. */
#include "test.h"

#include <string.h>

#include "util/conv_case.h"

/* F(4x4, 3x3) multiplies magnitudes by up to |At||G..||Bt|: its error is bounded by a larger
 * multiple of the same sum. */
static void winograd(void)
{
#define WINOGRAD(x, w, attrs, k)                                                                   \
    {                                                                                              \
        "model m(x: f32" x ", w: f32" w ") { return op.conv(x, w" attrs ") }", 40 * (k), false     \
    }
    static const conv_case cases[] = {
        WINOGRAD("[2, 16, 9, 10]", "[16, 16, 3, 3]", ", pad=[1, 1, 1, 1]", 144),
        WINOGRAD("[1, 13, 11, 21]", "[35, 3, 3, 21]", ", pad=[0, 2, 1, 0], layout=nhwc", 189),
        WINOGRAD("[1, 16, 3, 3]", "[17, 16, 3, 3]", "", 144),
        WINOGRAD("[1, 300, 6, 7]", "[16, 300, 3, 3]", ", pad=[1, 1, 1, 1]", 2700),
        {"model m(x: f32[1, 16, 9, 9], r: f32[1, 20, 9, 9]) { return relu(conv(x, 20, 3) + r) }",
         9000, true},
        {"model m(x: f32[1, 16, 9, 9]) { return min(relu(conv(x, 20, 3)), 0.1) }", 9000, true},
        {"model m(x: f32[2, 16, 9, 9]) { return x |> conv(20, 3) |> relu6() |> "
         "conv(16, 3, act=silu) }",
         9000, true},
        {"model m(x: f32[1, 16, 9, 9], r: f32[1, 20, 9, 9]) { return relu(conv(x, 20, 3)) + r }",
         9000, true},
        {"model m(x: f32[1, 16, 9, 9]) { return clip(conv(x, 20, 3), min=-0.5, max=0.5) }", 9000,
         true},
    };
    CONV_CASES(cases);
}

/* With the pass off, a 3x3 convolution is the direct sum. */
static void winograd_is_a_choice(void)
{
    static const char text[] = "model m(x: f32[1, 16, 9, 9]) { return conv(x, 16, 3, bias=false) }";
    static conv_result with, without, direct;
    takt_ctx *ctx;
    takt_model *model = NULL;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "choice", text, strlen(text), NULL, &model))) {
        const takt_plan_options on = {.threads = 1}, off = {.threads = 1, .passes = "-winograd"},
                                none = {.threads = 1, .passes = "-all"};
        if (EXPECT_OK(ctx, conv_run(model, &on, false, &with)) &&
            EXPECT_OK(ctx, conv_run(model, &off, false, &without)) &&
            EXPECT_OK(ctx, conv_run(model, &none, false, &direct))) {
            EXPECT(conv_difference(&with, &without) < with.count, "the pass changes nothing");
            EXPECT(conv_difference(&without, &direct) == direct.count, "the direct sums differ");
        }
    }
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
}

/* The example as it lies in the repository: the layout pass changes no bit. */
static void example(void)
{
    static conv_result with, without;
    takt_ctx *ctx;
    takt_model *model = NULL;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    if (EXPECT_OK(ctx, takt_model_load(ctx, "examples/cnn.takt", NULL, &model))) {
        const takt_plan_options on = {.threads = 1, .sizes = "batch=3"},
                                off = {.threads = 2, .sizes = "batch=3", .passes = "-layout"};
        if (EXPECT_OK(ctx, conv_run(model, &on, false, &with)) &&
            EXPECT_OK(ctx, conv_run(model, &off, false, &without)))
            EXPECT(conv_difference(&with, &without) == with.count, "the layout pass changed bits");
    }
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(winograd, winograd_is_a_choice, example)
