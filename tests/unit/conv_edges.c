/* conv_edges.c - convolutions on the cpu backend with limits, whose sums underflow, and whose depth
 * is padding: against the interpreter, and the same bits for every instruction set and number of
 * threads. */
#include "test.h"

#include <string.h>

#include "util/conv_case.h"

#define TINY(x, w, attrs)                                                                          \
    {                                                                                              \
        "model m(x: f32" x ") { param w: f32" w " = uniform(-1, 1)\n return op.conv(x * 1e-30, "   \
        "w * 1e-30, layout=nhwc" attrs ") }",                                                      \
            100, true                                                                              \
    }

/* An upper limit at every position where an epilogue can have one. */
static void limits(void)
{
    static const conv_case cases[] = {
        {"model m(x: f32[1, 6, 9, 9]) { return min(relu(conv(x, 18, 1)), 0.1) }", 300, true},
        {"model m(x: f32[1, 6, 9, 9]) { return min(relu(conv(x, 18, 3)), 0.1) }", 300, true},
        {"model m(x: f32[1, 8, 9, 9]) { return min(relu(depthwise(x, 3)), 0.1) }", 300, true},
        {"model m(x: f32[1, 8, 9, 9]) { return min(depthwise(x, 3), 0.1) }", 300, true},
        {"model m(x: f32[1, 6, 9, 9], r: f32[1, 18, 9, 9]) { return min(relu(conv(x, 18, 1)) + r, "
         "0.1) }",
         300, true},
        {"model m(x: f32[1, 6, 9, 9], r: f32[1, 18, 9, 9]) { return min(relu(conv(x, 18, 1) + r), "
         "0.1) }",
         300, true},
        {"model m(x: f32[1, 8, 9, 9], r: f32[1, 8, 9, 9]) { return min(relu(depthwise(x, 3) + r), "
         "0.1) }",
         300, true},
        {"model m(x: f32[1, 6, 9, 9]) { return min(max(conv(x, 18, 1), -0.05), 0.1) }", 300, true},
    };
    CONV_CASES(cases);
}

/* Sums that are -0, or +0 where a step adds zeros: every step has to, or none. */
static void underflow(void)
{
    static const conv_case cases[] = {
        TINY("[1, 1, 3000, 9]", "[3, 1, 1, 9]", ""),
        TINY("[1, 3000, 1]", "[16, 3, 1]", ", pad=[1, 1]"),
        TINY("[1, 2000, 3]", "[16, 3, 3]", ""),
        TINY("[1, 900, 3]", "[24, 5, 3]", ", stride=[2], pad=[2, 2]"),
    };
    CONV_CASES(cases);
}

/* It also makes no difference whether passes have changed the layout. */
static void underflow_of_layouts(void)
{
    static const char *const texts[] = {
        "model m(x: f32[1, 3, 8, 8]) { param w: f32[6, 3, 1, 1] = uniform(-1, 1)\n return "
        "op.conv(x * 1e-30, w * 1e-30) }",
        "model m(x: f32[2, 7, 9, 5]) { param w: f32[3, 7, 1, 1] = uniform(-1, 1)\n return "
        "op.conv(x * 1e-30, w * 1e-30) }",
        "model m(x: f32[1, 10, 40]) { param w: f32[8, 5, 1] = uniform(-1, 1)\n return "
        "op.conv(x * 1e-30, w * 1e-30, groups=2) }",
    };
    static conv_result plain, optimised;
    takt_ctx *ctx;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        takt_model *model;
        const takt_plan_options none = {.threads = 1, .passes = "-all"}, all = {.threads = 1};
        if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", texts[i], strlen(texts[i]), NULL,
                                                   &model)))
            continue;
        if (EXPECT_OK(ctx, conv_run(model, &none, false, &plain)) &&
            EXPECT_OK(ctx, conv_run(model, &all, false, &optimised)))
            EXPECT_EQ(conv_difference(&plain, &optimised), plain.count);
        takt_model_destroy(model);
    }
    takt_ctx_destroy(ctx);
}

/* One plane of x, and more of y. */
static void depth_of_padding(void)
{
    static const conv_case cases[] = {
        {"model m(x: f32[2, 1, 12, 40, 8]) { param w: f32[3, 1, 3, 3, 8] = uniform(-1, 1)\n "
         "return op.conv(x, w, pad=[0, 1, 1, 1, 1, 1], layout=nhwc) }",
         72, true},
        {"model m(x: f32[2, 1, 9, 11, 3], d: f32[2, 2, 9, 11, 5]) { return op.conv_dw(x, d, "
         "pad=[0, 1, 1, 1, 1, 1], layout=nhwc, shape=[5, 1, 3, 3, 3]) }",
         400, true},
        {"model m(d: f32[2, 2, 9, 11, 5], w: f32[5, 1, 3, 3, 3]) { return op.conv_dx(d, w, "
         "pad=[0, 1, 1, 1, 1, 1], layout=nhwc, shape=[2, 1, 9, 11, 3]) }",
         45, true},
    };
    CONV_CASES(cases);
}

/* Few channels in three dimensions are read in place: with padding and without, each layout, and
 * results that become channels first by tiles of several lines. */
static void volumes(void)
{
    static const conv_case cases[] = {
        {"model m(x: f32[2, 1, 5, 9, 11]) { return relu(conv(x, 8, 3, pad=1)) }", 27, true},
        {"model m(x: f32[1, 1, 7, 9, 30]) { return conv(x, 8, [9, 5, 1], pad=[4, 2, 0, 4, 2, 0]) }",
         45, true},
        {"model m(x: f32[2, 3, 6, 12, 17]) { return conv(x, 9, [3, 5, 5], stride=2, pad=[1, 2, 2, "
         "1, 2, 2]) }",
         225, true},
        {"model m(x: f32[1, 3, 6, 9, 16]) { return conv(x, 8, 3, dilation=[2, 1, 2]) }", 81, true},
        {"model m(x: f32[2, 6, 9, 16, 2]) { param w: f32[5, 3, 2, 3, 2] = uniform(-1, 1)\n "
         "return op.conv(x, w, stride=[2, 1, 1], layout=nhwc) }",
         36, true},
        {"model m(x: f32[1, 10, 4, 8, 40]) { return conv(x, 3, 3, pad=1) }", 270, true},
        {"model m(x: f32[1, 16, 4, 8, 16]) { return conv(x, 32, 3, pad=1) |> relu() }", 432, true},
        {"model m(d: f32[2, 4, 6, 11, 5], w: f32[5, 3, 3, 3, 2]) { return op.conv_dx(d, w, "
         "pad=[1, 1, 1, 1, 1, 1], layout=nhwc, shape=[2, 4, 6, 11, 2]) }",
         135, true},
    };
    CONV_CASES(cases);
}

TEST_MAIN(limits, underflow, underflow_of_layouts, depth_of_padding, volumes)
