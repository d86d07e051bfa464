/* conv_groups.c - convolutions with few channels per group, of several panels, and with
 * non-adjacent taps, have the bits of the reference. */
#include "test.h"

#include "util/conv_case.h"

/* Groups of few channels: each number of them, k of one chunk and of more, tails and ends. */
static void few_channels(void)
{
    static const conv_case cases[] = {
        {"model m(x: f32[1, 14, 14, 64]) { return conv(x, 64, 3, groups=4, layout=nhwc, act=relu) "
         "}",
         400, true},
        {"model m(x: f32[2, 15, 13, 32]) { return conv(x, 32, 3, stride=2, pad=1, groups=4, "
         "layout=nhwc) }",
         400, true},
        {"model m(x: f32[1, 20, 9, 10]) { return conv(x, 20, 3, pad=1, groups=5) |> sigmoid() }",
         400, true},
        {"model m(x: f32[1, 12, 9, 8], r: f32[1, 9, 9, 8]) { return relu(conv(x, 9, 3, groups=3) "
         "+ r) }",
         400, true},
        {"model m(x: f32[1, 9, 11, 62]) { return min(relu(conv(x, 26, [5, 3], groups=2, pad=2, "
         "dilation=[1, 2], layout=nhwc)), 0.1) }",
         900, true},
        {"model m(x: f32[1, 7, 30, 128]) { return conv(x, 32, 3, groups=2, layout=nhwc) }", 900,
         true},
        {"model m(x: f32[2, 6, 8, 7]) { return min(max(conv(x, 12, 3, groups=6, bias=false), "
         "-0.05), 0.1) }",
         300, true},
        {"model m(x: f32[70, 6, 30]) { return conv(x, 9, 5, groups=3) * 2 }", 300, true},
        {"model m(x: f32[1, 4, 2, 6]) { return conv(x, 8, 3, groups=2, pad=9) }", 300, true},
        /* weights that are an input */
        {"model m(x: f32[2, 9, 8, 12], w: f32[15, 3, 3, 4]) { return op.conv(x, w, groups=3, "
         "layout=nhwc, pad=[1, 1, 1, 1]) }",
         300, false},
    };
    CONV_CASES(cases);
}

/* More channels than a panel of weights has, in one group and in each of some. */
static void many_panels(void)
{
    static const conv_case cases[] = {
        {"model m(x: f32[1, 14, 15, 40]) { return conv(x, 48, 3, pad=1, groups=2, layout=nhwc, "
         "act=relu) }",
         400, true},
        {"model m(x: f32[2, 9, 17, 96]) { return conv(x, 80, 3, stride=2, pad=1, groups=2, "
         "layout=nhwc) }",
         900, true},
        {"model m(x: f32[1, 3, 31, 29]) { return conv(x, 33, 3, stride=2, pad=1, act=relu) |> "
         "conv(40, 3, stride=2, pad=1) }",
         400, true},
        {"model m(x: f32[2, 17, 19, 36], r: f32[2, 9, 10, 64]) { return relu(conv(x, 64, 3, "
         "stride=2, pad=1, layout=nhwc) + r) }",
         400, true},
        /* 279 products: zeros follow the last of two chunks */
        {"model m(x: f32[1, 13, 18, 31]) { return conv(x, 20, 3, stride=2, layout=nhwc) }", 300,
         true},
        {"model m(x: f32[1, 12, 30, 7]) { return min(max(conv(x, 50, [5, 2], dilation=[1, 3], "
         "pad=[2, 3, 2, 0], layout=nhwc), -0.05), 0.1) }",
         300, true},
    };
    CONV_CASES(cases);
}

/* Non-adjacent taps, gathered one by one: inside x, and partly or all outside. */
static void holes(void)
{
    static const conv_case cases[] = {
        {"model m(x: f32[2, 40, 24]) { return conv(x, 40, 2, dilation=5, pad=[5, 0], layout=nhwc) "
         "}",
         300, true},
        {"model m(x: f32[1, 9, 23, 20]) { return conv(x, 24, [2, 4], dilation=[3, 2], "
         "pad=[3, 0, 0, 7], layout=nhwc, act=relu) }",
         300, true},
        {"model m(x: f32[1, 3, 17]) { return conv(x, 20, 3, dilation=4, pad=4, layout=nhwc) }", 300,
         true},
        {"model m(x: f32[1, 30, 5]) { return conv(x, 24, 3, stride=2, dilation=3, pad=2, "
         "layout=nhwc) }",
         300, true},
    };
    CONV_CASES(cases);
}

/* Lines so wide that groups cannot be taken together: a task copies at most one group's. */
static void wide_lines(void)
{
    static const char text[] = "model m(x: f32[1, 3, 2600, 32]) { return conv(x, 32, 3, groups=8, "
                               "layout=nhwc, bias=false) }";
    const takt_plan_options options = {.threads = 1};
    takt_ctx *ctx;
    takt_model *model;
    takt_plan *plan;
    takt_plan_info info;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "text", text, sizeof text - 1, NULL, &model));
    EXPECT_OK(ctx, takt_plan_create(model, &options, &plan));
    takt_plan_query(plan, &info);
    EXPECT(info.scratch > 0 && info.scratch < 160 << 10, "scratch of %zu bytes", info.scratch);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(few_channels, many_panels, holes, wide_lines)
