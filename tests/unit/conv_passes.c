/* conv_passes.c - the effect of the passes `layout` and `winograd` on convolutions on the cpu
 * backend. */
#include "test.h"

#include <string.h>

#include "util/conv_case.h"

/* F(4x4, 3x3) multiplies magnitudes by up to |At||G..||Bt|: its error is bounded by a larger
 * multiple of the same sum. The weights of many channels are transformed in
 * f32, with few tiles by the product itself. */
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
        WINOGRAD("[1, 6, 5, 261]", "[262, 3, 3, 261]", ", pad=[1, 0, 1, 2], layout=nhwc", 2349),
        WINOGRAD("[2, 514, 3, 9]", "[131, 514, 3, 3]", ", pad=[1, 1, 1, 1]", 4626),
        {"model m(x: f32[1, 260, 7, 6], r: f32[1, 260, 7, 6]) { "
         "return relu(conv(x, 260, 3) + r) }",
         40000, true},
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
/* Their gradients: borders of tiles, padding of every kind, more tiles than a chunk, blocks of
 * channels that are not whole panels, and an empty batch. */
static void winograd_gradients(void)
{
#define DX(d, w, attrs, k)                                                                         \
    {                                                                                              \
        "model m(d: f32" d ", w: f32" w ") { return op.conv_dx(d, w, " attrs ") }", k, false       \
    }
#define DW(x, d, attrs, k)                                                                         \
    {                                                                                              \
        "model m(x: f32" x ", d: f32" d ") { return op.conv_dw(x, d, " attrs ") }", k, false       \
    }
    static const conv_case cases[] = {
        DX("[2, 9, 7, 20]", "[20, 3, 3, 18]", "pad=[1, 1, 1, 1], layout=nhwc, shape=[2, 9, 7, 18]",
           6400),
        DX("[1, 17, 6, 5]", "[17, 16, 3, 3]", "pad=[0, 2, 1, 1], shape=[1, 16, 7, 4]", 6400),
        DX("[1, 33, 8, 9]", "[33, 21, 3, 3]", "shape=[1, 21, 10, 11]", 12800),
        DX("[1, 5, 6, 520]", "[520, 3, 3, 131]",
           "pad=[1, 1, 1, 1], layout=nhwc, shape=[1, 5, 6, 131]", 160000),
        DX("[1, 16, 6, 6]", "[16, 16, 3, 3]", "pad=[2, 2, 2, 2], shape=[1, 16, 4, 4]", 6400),
        DW("[3, 9, 7, 18]", "[3, 9, 7, 20]", "pad=[1, 1, 1, 1], layout=nhwc, shape=[20, 3, 3, 18]",
           12800),
        DW("[2, 16, 5, 6]", "[2, 17, 6, 5]", "pad=[0, 1, 3, 0], shape=[17, 16, 3, 3]", 6400),
        DW("[2, 40, 41, 16]", "[2, 38, 39, 19]", "layout=nhwc, shape=[19, 3, 3, 16]", 100000),
        DW("[1, 6, 6, 140]", "[1, 6, 6, 16]",
           "pad=[1, 1, 1, 1], layout=nhwc, shape=[16, 3, 3, 140]", 6400),
        DW("[0, 8, 8, 16]", "[0, 8, 8, 16]", "pad=[1, 1, 1, 1], layout=nhwc, shape=[16, 3, 3, 16]",
           0),
    };
    CONV_CASES(cases);
}

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

/* The example of the repository: the layout pass changes no bit. */
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

TEST_MAIN(winograd, winograd_gradients, winograd_is_a_choice, example)
