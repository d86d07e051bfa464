/* conv_edges.c - convolutions on the cpu backend with limits, whose sums underflow, and whose depth
 * is padding: against the interpreter, and the same bits for every instruction set and number of
 * threads. */
#include "test.h"

#include "util/conv_case.h"

#define TINY(x, w, attrs)                                                                          \
    {                                                                                              \
        "model m(x: f32" x ") { param w: f32" w " = uniform(-1, 1)\n return op.conv(x * 1e-30, "   \
        "w * 1e-30, layout=nhwc" attrs ") }",                                                      \
            100, true                                                                              \
    }

/* An upper limit at every place where an ending can have one. */
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

TEST_MAIN(limits, underflow, depth_of_padding)
