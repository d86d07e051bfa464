/* conv_steps.c - convolutions and pools on the cpu backend: against the interpreter, and the same
 * bits for every layout, instruction set, number of threads and place in a batch. */
#include "test.h"

#include <string.h>

#include "util/conv_case.h"

#define CONV(type, x, w, attrs, k)                                                                 \
    {                                                                                              \
        "model m(x: " type x ", w: " type w ") { return op.conv(x, w" attrs ") }", k, false        \
    }

static void convolutions(void)
{
    static const conv_case cases[] = {
        CONV("f32", "[2, 3, 9, 7]", "[4, 3, 3, 3]", ", pad=[1, 1, 1, 1]", 27),
        CONV("f32", "[2, 9, 7, 3]", "[4, 3, 3, 3]", ", pad=[1, 1, 1, 1], layout=nhwc", 27),
        CONV("f32", "[1, 5, 6, 6]", "[17, 5, 1, 1]", "", 5),
        CONV("f32", "[3, 7, 5, 20]", "[33, 1, 1, 20]", ", layout=nhwc", 20),
        CONV("f32", "[1, 9, 9, 6]", "[18, 1, 1, 6]", ", stride=[2, 3], layout=nhwc", 6),
        CONV("f32", "[1, 4, 11, 13]", "[6, 2, 3, 2]",
             ", stride=[2, 1], dilation=[1, 2], groups=2, pad=[0, 1, 2, 0]", 12),
        CONV("f32", "[2, 11, 13, 40]", "[24, 3, 3, 10]",
             ", groups=4, pad=[2, 1, 0, 3], layout=nhwc", 90),
        CONV("f32", "[2, 70, 6, 5]", "[18, 70, 3, 3]", ", pad=[1, 1, 1, 1]", 630),
        CONV("f32", "[1, 3, 20, 20]", "[8, 3, 7, 7]", ", stride=[2, 2], pad=[3, 3, 3, 3]", 147),
        CONV("f32", "[1, 10, 5, 120]", "[20, 3, 4, 120]", ", pad=[1, 1, 1, 2], layout=nhwc", 1440),
        CONV("f32", "[2, 4, 30]", "[5, 4, 4]", ", stride=[3], pad=[2, 2]", 16),
        CONV("f32", "[1, 3, 6, 5, 7]", "[4, 3, 2, 3, 3]", ", pad=[1, 1, 0, 0, 1, 2]", 54),
        CONV("f32", "[1, 2, 3, 3]", "[3, 2, 5, 5]", ", pad=[6, 6, 6, 6]", 50),
        CONV("f64", "[2, 5, 6, 7]", "[4, 5, 3, 3]", ", pad=[1, 1, 1, 1]", 45),
        CONV("f64", "[1, 40, 5, 5]", "[4, 40, 3, 3]", ", stride=[2, 2]", 360),
        CONV("f16", "[2, 5, 6, 7]", "[4, 5, 3, 3]", ", pad=[1, 1, 1, 1]", 45),
        CONV("bf16", "[2, 6, 7, 6]", "[4, 3, 3, 3]", ", groups=2, layout=nhwc", 45),
        CONV("i32", "[2, 5, 6, 7]", "[4, 5, 3, 3]", ", pad=[1, 1, 1, 1]", 0),
        CONV("i8", "[2, 6, 7, 5]", "[4, 3, 3, 5]", ", layout=nhwc", 0),
    };
    CONV_CASES(cases);
}

static void depthwise(void)
{
    static const conv_case cases[] = {
        CONV("f32", "[2, 9, 11, 19]", "[19, 3, 3, 1]", ", groups=19, pad=[1, 1, 1, 1], layout=nhwc",
             9),
        CONV("f32", "[1, 10, 12, 16]", "[16, 3, 3, 1]",
             ", groups=16, stride=[2, 2], pad=[0, 0, 1, 1], layout=nhwc", 9),
        CONV("f32", "[1, 8, 13, 9]", "[8, 1, 5, 5]", ", groups=8, pad=[2, 2, 2, 2]", 25),
        CONV("f32", "[1, 8, 13, 9]", "[8, 1, 3, 3]",
             ", groups=8, dilation=[2, 3], pad=[2, 3, 2, 3]", 9),
        CONV("f32", "[1, 3, 40, 40]", "[3, 1, 17, 17]", ", groups=3, pad=[8, 8, 8, 8]", 289),
        CONV("f32", "[2, 6, 30]", "[6, 1, 4]", ", groups=6, stride=[3]", 4),
        CONV("f32", "[1, 5, 6, 5, 6]", "[5, 1, 3, 2, 3]", ", groups=5, pad=[1, 0, 1, 1, 0, 1]", 18),
        CONV("f32", "[1, 6, 8, 8]", "[12, 1, 3, 3]", ", groups=6, pad=[1, 1, 1, 1]", 9),
        CONV("f64", "[1, 6, 8, 8]", "[6, 1, 3, 3]", ", groups=6, pad=[1, 1, 1, 1]", 9),
    };
    CONV_CASES(cases);
}

#define POOL(op, type, x, attrs, k)                                                                \
    {                                                                                              \
        "model m(x: " type x ") { return op." op "(x, " attrs ") }", k, false                      \
    }

static void pools(void)
{
    static const conv_case cases[] = {
        POOL("max_pool", "f32", "[2, 21, 9, 8]", "kernel=[2, 2], stride=[2, 2]", 0),
        POOL("max_pool", "f32", "[1, 9, 8, 19]",
             "kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1], layout=nhwc", 0),
        POOL("max_pool", "f32", "[1, 3, 11]", "kernel=[3], stride=[3], ceil=true", 0),
        POOL("max_pool", "u8", "[2, 9, 8, 19]",
             "kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1], layout=nhwc", 0),
        POOL("max_pool", "i8", "[1, 5, 6, 7, 3]",
             "kernel=[2, 3, 2], dilation=[2, 1, 1], layout=nhwc", 0),
        POOL("max_pool", "i16", "[1, 3, 7, 7]", "kernel=[3, 2], pad=[2, 0, 1, 1]", 0),
        POOL("max_pool", "f64", "[1, 2, 4, 5, 4]", "kernel=[2, 3, 2], dilation=[2, 1, 1]", 0),
        POOL("avg_pool", "f32", "[2, 21, 9, 8]", "kernel=[2, 2], stride=[2, 2]", 5),
        POOL("avg_pool", "f32", "[1, 9, 8, 19]",
             "kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1], layout=nhwc", 10),
        POOL("avg_pool", "f32", "[1, 3, 11]",
             "kernel=[3], stride=[3], pad=[1, 1], ceil=true, count_pad=true", 4),
        POOL("avg_pool", "f16", "[1, 3, 7, 7]", "kernel=[3, 2], pad=[2, 0, 1, 1]", 7),
        POOL("avg_pool", "f64", "[1, 2, 4, 5, 4]", "kernel=[2, 3, 2], dilation=[2, 1, 1]", 13),
        {"model m(x: f32[2, 5, 7, 6], d: f32[2, 5, 4, 3]) { return op.max_pool_dx(x, d, "
         "kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1]) }",
         5, false},
        {"model m(x: f32[2, 7, 6, 5], t: f32[2, 7, 6, 5]) { return op.max_pool_pick(x, t, "
         "kernel=[3, 3], layout=nhwc) }",
         0, false},
        {"model m(d: f32[2, 5, 4, 3]) { return op.avg_pool_dx(d, kernel=[3, 3], stride=[2, 2], "
         "pad=[1, 1, 1, 1], shape=[2, 5, 7, 6]) }",
         9, false},
        {"model m(x: f32[3, 7, 6, 70], d: f32[3, 4, 3, 70]) { return op.max_pool_dx(x, d, "
         "kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1], layout=nhwc) }",
         5, true},
        {"model m(x: f32[1, 3, 5, 8, 7], d: f32[1, 3, 3, 4, 7]) { return op.max_pool_dx(x, d, "
         "kernel=[2, 2, 2], stride=[1, 2, 1], dilation=[2, 1, 1], pad=[0, 0, 0, 0, 0, 1]) }",
         5, true},
        {"model m(x: f32[2, 6, 6, 3]) { y = round(x * 2)\n return op.max_pool_dx(y, op.max_pool(y, "
         "kernel=[2, 2], layout=nhwc), kernel=[2, 2], layout=nhwc) }",
         5, true},
        {"model m(x: f32[3, 12, 11, 6], d: f32[3, 6, 5, 6]) { return op.max_pool_dx(x, d, "
         "kernel=[2, 2], stride=[2, 2], layout=nhwc) }",
         4, true},
        {"model m(d: f32[2, 4, 3, 70]) { return op.avg_pool_dx(d, kernel=[3, 3], stride=[2, 2], "
         "pad=[1, 1, 1, 1], count_pad=true, layout=nhwc, shape=[2, 7, 6, 70]) }",
         9, false},
        {"model m(d: bf16[2, 4, 3, 5]) { return op.avg_pool_dx(d, kernel=[3, 3], stride=[2, 2], "
         "pad=[1, 1, 1, 1], layout=nhwc, shape=[2, 7, 6, 5]) }",
         9, false},
    };
    CONV_CASES(cases);
}

#define DX(type, d, w, attrs, k)                                                                   \
    {                                                                                              \
        "model m(d: " type d ", w: " type w ") { return op.conv_dx(d, w, " attrs ") }", k, false   \
    }
#define DW(type, x, d, attrs, k)                                                                   \
    {                                                                                              \
        "model m(x: " type x ", d: " type d ") { return op.conv_dw(x, d, " attrs ") }", k, false   \
    }

static void gradients(void)
{
    static const conv_case cases[] = {
        DX("f32", "[2, 6, 9, 7]", "[6, 5, 3, 3]", "pad=[1, 1, 1, 1], shape=[2, 5, 9, 7]", 54),
        DX("f32", "[2, 5, 4, 20]", "[20, 3, 3, 18]",
           "stride=[2, 2], pad=[1, 1, 1, 1], layout=nhwc, shape=[2, 9, 7, 18]", 180),
        DX("f32", "[1, 4, 3, 2]", "[4, 1, 2, 3]", "stride=[2, 2], groups=2, shape=[1, 2, 7, 5]",
           12),
        DX("f32", "[1, 8, 4, 4]", "[8, 3, 1, 1]", "stride=[3, 3], shape=[1, 3, 11, 10]", 8),
        DX("f32", "[2, 40, 6, 6]", "[40, 3, 3, 3]", "dilation=[2, 2], shape=[2, 3, 10, 10]", 360),
        DX("f64", "[2, 6, 5, 4]", "[6, 3, 3, 2]", "stride=[2, 1], shape=[2, 3, 11, 5]", 36),
        DX("f16", "[2, 6, 9, 7]", "[6, 5, 3, 3]", "pad=[1, 1, 1, 1], shape=[2, 5, 9, 7]", 54),
        DX("i32", "[1, 4, 9]", "[4, 3, 3]", "pad=[1, 1], shape=[1, 3, 9]", 0),
        DW("f32", "[3, 5, 9, 7]", "[3, 6, 9, 7]", "pad=[1, 1, 1, 1], shape=[6, 5, 3, 3]", 189),
        DW("f32", "[2, 21, 19, 5]", "[2, 21, 19, 18]",
           "pad=[1, 1, 1, 1], layout=nhwc, shape=[18, 3, 3, 5]", 798),
        DW("f32", "[2, 7, 5, 4]", "[2, 3, 2, 6]",
           "stride=[2, 2], groups=2, layout=nhwc, shape=[6, 2, 3, 2]", 12),
        DW("f32", "[2, 6, 8, 8]", "[2, 6, 8, 8]", "groups=6, pad=[1, 1, 1, 1], shape=[6, 1, 3, 3]",
           128),
        DW("f64", "[3, 1, 6]", "[3, 2, 3]", "dilation=[3], shape=[2, 1, 2]", 9),
        DW("bf16", "[1, 4, 8, 8]", "[1, 3, 8, 8]", "pad=[1, 1, 1, 1], shape=[3, 4, 3, 3]", 64),
        DW("i64", "[1, 2, 8]", "[1, 3, 8]", "pad=[1, 1], shape=[3, 2, 3]", 0),
    };
    CONV_CASES(cases);
}

/* Those that read their inputs in place. */
static void near_gradients(void)
{
    static const conv_case cases[] = {
        /* few outputs: x is read in place, with or without padding */
        DW("f32", "[3, 28, 28, 1]", "[3, 24, 24, 6]", "layout=nhwc, shape=[6, 5, 5, 1]", 1728),
        DW("f32", "[4, 12, 12, 6]", "[4, 8, 8, 16]", "layout=nhwc, shape=[16, 5, 5, 6]", 256),
        DW("f32", "[2, 17, 15, 3]", "[2, 9, 8, 7]",
           "stride=[2, 2], pad=[1, 1, 1, 1], layout=nhwc, shape=[7, 3, 3, 3]", 144),
        DW("f32", "[2, 14, 13, 3]", "[2, 10, 9, 5]", "layout=nhwc, shape=[5, 5, 5, 3]", 180),
        DW("f32", "[1, 1, 40]", "[1, 4, 38]", "shape=[4, 1, 3]", 38),
        /* the same of dy, with chunks of k */
        DX("f32", "[3, 8, 8, 16]", "[16, 5, 5, 6]", "layout=nhwc, shape=[3, 12, 12, 6]", 400),
        DX("f32", "[1, 60, 12]", "[12, 30, 7]", "layout=nhwc, shape=[1, 89, 7]", 360),
        DX("f32", "[2, 10, 9, 3]", "[3, 3, 3, 11]",
           "pad=[1, 1, 1, 1], layout=nhwc, shape=[2, 10, 9, 11]", 27),
    };
    CONV_CASES(cases);
}

/* Those that have kernels of their own. */
static void special_gradients(void)
{
    static const conv_case cases[] = {
        /* first layers: few inputs, many outputs */
        DW("f32", "[3, 17, 19, 3]", "[3, 17, 19, 20]",
           "pad=[1, 1, 1, 1], layout=nhwc, shape=[20, 3, 3, 3]", 969),
        DW("f32", "[2, 1, 28, 28]", "[2, 33, 14, 14]",
           "stride=[2, 2], pad=[1, 1, 0, 0], shape=[33, 1, 3, 3]", 392),
        DW("f32", "[1, 2, 40]", "[1, 17, 37]", "dilation=[3], pad=[3, 3], shape=[17, 2, 4]", 37),
        DW("f32", "[2, 30, 60, 1]", "[2, 30, 60, 16]",
           "pad=[2, 2, 2, 2], layout=nhwc, shape=[16, 5, 5, 1]", 3600),
        /* one tap: rows of x and dy are read in place, those of dx written there */
        DX("f32", "[2, 9, 7, 20]", "[20, 1, 1, 18]", "layout=nhwc, shape=[2, 9, 7, 18]", 20),
        DX("f32", "[2, 9, 7, 20]", "[20, 1, 1, 9]", "groups=2, layout=nhwc, shape=[2, 9, 7, 18]",
           10),
        DX("bf16", "[1, 30, 7, 20]", "[20, 1, 1, 18]", "layout=nhwc, shape=[1, 30, 7, 18]", 20),
        DW("f32", "[3, 9, 7, 70]", "[3, 9, 7, 33]", "layout=nhwc, shape=[33, 1, 1, 70]", 189),
        DW("f32", "[2, 20, 21, 65]", "[2, 20, 21, 16]", "layout=nhwc, shape=[16, 1, 1, 65]", 840),
        DX("f32", "[2, 9, 7, 20]", "[20, 5, 5, 6]",
           "pad=[2, 2, 2, 2], layout=nhwc, shape=[2, 9, 7, 6]", 500),
        /* phases that are one product: rows of dy in place, rows that only some phases write,
           phases with more taps than others, holes, groups, few channels */
        DX("f32", "[2, 9, 7, 20]", "[20, 2, 2, 5]",
           "stride=[2, 2], layout=nhwc, shape=[2, 18, 14, 5]", 20),
        DX("f32", "[2, 20, 9, 7]", "[20, 5, 4, 4]",
           "stride=[2, 2], pad=[1, 1, 1, 1], shape=[2, 5, 18, 14]", 80),
        DX("f32", "[1, 12, 13, 33]", "[33, 4, 3, 2]",
           "stride=[2, 2], pad=[1, 1, 1, 1], layout=nhwc, shape=[1, 24, 25, 2]", 264),
        DX("f32", "[1, 99, 40]", "[40, 16, 1]", "stride=[8], layout=nhwc, shape=[1, 800, 1]", 80),
        DX("f32", "[1, 9, 8, 6]", "[6, 4, 5, 40]",
           "stride=[2, 3], dilation=[3, 2], pad=[2, 0, 1, 3], layout=nhwc, shape=[1, 23, 27, 40]",
           120),
        DX("bf16", "[2, 8, 5, 6]", "[8, 3, 4, 4]",
           "groups=2, stride=[2, 2], pad=[1, 1, 1, 1], shape=[2, 6, 10, 12]", 64),
        DX("f32", "[1, 6, 4, 5, 6]", "[6, 3, 2, 4, 3]",
           "stride=[2, 2, 1], pad=[0, 1, 1, 0, 1, 1], shape=[1, 3, 8, 10, 6]", 72),
        /* depthwise: phases of strides, borders, holes, more taps and positions than a chunk */
        DX("f32", "[2, 9, 11, 19]", "[19, 3, 3, 1]",
           "groups=19, pad=[1, 1, 1, 1], layout=nhwc, shape=[2, 9, 11, 19]", 9),
        DX("f32", "[2, 8, 5, 6]", "[8, 1, 3, 3]",
           "groups=8, stride=[2, 2], pad=[1, 1, 1, 1], shape=[2, 8, 10, 11]", 9),
        DX("f32", "[1, 6, 4, 40]", "[6, 1, 2, 2]",
           "groups=6, stride=[3, 1], dilation=[1, 2], pad=[0, 2, 1, 0], shape=[1, 6, 10, 40]", 4),
        DX("f32", "[1, 3, 24, 40]", "[3, 1, 17, 17]",
           "groups=3, pad=[8, 8, 8, 8], shape=[1, 3, 24, 40]", 289),
        DX("f32", "[2, 6, 9]", "[6, 1, 4]", "groups=6, stride=[3], shape=[2, 6, 30]", 4),
        DX("f32", "[1, 5, 6, 4, 6]", "[5, 1, 3, 2, 3]",
           "groups=5, pad=[1, 0, 1, 1, 0, 1], shape=[1, 5, 6, 5, 6]", 18),
        DW("f32", "[2, 21, 19, 35]", "[2, 21, 19, 35]",
           "groups=35, pad=[1, 1, 1, 1], layout=nhwc, shape=[35, 3, 3, 1]", 798),
        DW("f32", "[3, 8, 10, 11]", "[3, 8, 5, 6]",
           "groups=8, stride=[2, 2], pad=[1, 1, 1, 1], shape=[8, 1, 3, 3]", 90),
        DW("f32", "[1, 6, 10, 40]", "[1, 6, 4, 40]",
           "groups=6, stride=[3, 1], dilation=[1, 2], pad=[0, 2, 1, 0], shape=[6, 1, 2, 2]", 160),
        DW("f32", "[1, 3, 24, 40]", "[1, 3, 24, 40]",
           "groups=3, pad=[8, 8, 8, 8], shape=[3, 1, 17, 17]", 960),
        DW("f32", "[1, 5, 6, 5, 6]", "[1, 5, 6, 4, 6]",
           "groups=5, pad=[1, 0, 1, 1, 0, 1], shape=[5, 1, 3, 2, 3]", 144),
    };
    CONV_CASES(cases);
}

/* Operations that a convolution absorbs, weights known at plan time, and chains that the layout
 * pass keeps with channels last. */
static void chains(void)
{
    static const conv_case cases[] = {
        {"model m(x: f32[2, 3, 12, 10]) { return x |> conv(20, 3, act=relu) |> conv(7, 1) }", 300,
         true},
        {"model m(x: f32[1, 6, 9, 9], r: f32[1, 18, 9, 9]) { return relu(conv(x, 18, 3) + r) * 2 }",
         300, true},
        {"model m(x: f32[1, 8, 9, 9]) { return x |> depthwise(3, act=relu) |> "
         "conv(16, 1, act=silu) }",
         300, true},
        {"model m(x: f32[1, 8, 9, 9]) { return depthwise(x, 3, stride=2) |> sigmoid() }", 300,
         true},
        {"model m(x: f32[1, 32, 13, 14], r: f32[1, 36, 13, 14]) { return conv(x, 36, 3) |> "
         "hard_swish() |> conv(36, 3) |> add(r) |> relu() |> tanh() }",
         300, true},
        {"model m(x: f32[2, 3, 12, 12]) { h = x |> conv(16, 3, act=relu) |> max_pool(2, stride=2)\n"
         " return concat(conv(h, 9, 1), avg_pool(h, 3, pad=1), axis=1) }",
         400, true},
        {"model m(x: f32[2, 3, 8, 8]) { return x |> conv(12, 3, bias=false) |> relu() |> "
         "global_avg_pool() |> flatten() |> dense(5) }",
         400, true},
        {"model m(x: f32[2, 8, 8, 3]) { return conv(x, 12, 3, groups=3, layout=nhwc, act=relu) }",
         300, true},
        /* frames: patches are read in place, and overlap, touch or leave gaps */
        {"model m(x: f32[1, 1, 4000]) { return conv(x, 65, 300, stride=100, pad=valid) }", 600,
         true},
        {"model m(x: f32[1, 700, 5]) { return conv(x, 40, 61, stride=7, pad=valid, layout=nhwc, "
         "act=relu) }",
         600, true},
        {"model m(x: f32[1, 900, 4]) { return conv(x, 40, 70, stride=90, pad=valid, layout=nhwc) }",
         600, true},
        {"model m(x: f32[1, 90, 24]) { return conv(x, 33, 5, pad=[2, 2], layout=nhwc, act=relu) }",
         600, true},
        {"model m(x: f32[1, 70, 20]) { return conv(x, 40, 9, stride=4, pad=[13, 6], layout=nhwc) }",
         600, true},
        {"model m(x: f32[2, 900, 4]) { return conv(x, 40, 70, stride=9, pad=valid, layout=nhwc) }",
         600, true},
    };
    CONV_CASES(cases);
}

/* Gradients with few channels, by weights known at plan time: phases with more taps than others,
 * phases that are one product, strips of lines, chunks of k, holes, borders, positions that no tap
 * reaches; the last have too many channels or lines that are too long. */
static void few_channels(void)
{
#define FEW(d, w, attrs, k)                                                                        \
    {                                                                                              \
        "model m(d: f32" d ") { param w: f32" w " = uniform(-1, 1)\n return op.conv_dx(d, w, "     \
        "layout=nhwc, " attrs ") }",                                                               \
            k, true                                                                                \
    }
    static const conv_case cases[] = {
        FEW("[2, 40, 33, 32]", "[32, 3, 3, 2]",
            "stride=[1, 2], pad=[1, 1, 1, 1], shape=[2, 40, 65, 2]", 300),
        FEW("[1, 9, 11, 20]", "[20, 4, 4, 1]",
            "stride=[2, 2], pad=[1, 1, 1, 1], shape=[1, 18, 22, 1]", 100),
        FEW("[1, 9, 11, 70]", "[70, 3, 5, 3]",
            "dilation=[2, 1], pad=[2, 1, 2, 2], shape=[1, 9, 12, 3]", 1100),
        FEW("[1, 200, 7]", "[7, 9, 1]", "stride=[4], pad=[3, 2], shape=[1, 800, 1]", 100),
        FEW("[2, 7, 6, 5]", "[5, 2, 2, 1]", "stride=[3, 1], shape=[2, 20, 7, 1]", 100),
        FEW("[3, 7, 6, 5]", "[5, 2, 2, 2]", "stride=[3, 4], shape=[3, 20, 23, 2]", 100),
        FEW("[1, 5, 6, 9]", "[9, 3, 3, 1]", "stride=[2, 1], pad=[0, 2, 0, 2], shape=[1, 11, 4, 1]",
            100),
        FEW("[1, 5, 6, 9]", "[9, 3, 3, 13]", "pad=[1, 1, 1, 1], shape=[1, 5, 6, 13]", 100),
        FEW("[1, 9000, 16]", "[16, 3, 1]", "pad=[1, 1], shape=[1, 9000, 1]", 100),
    };
#undef FEW
    CONV_CASES(cases);
}

/* Few output channels, with inputs read in place. */
static void near_inputs(void)
{
    static const conv_case cases[] = {
        {"model m(x: f32[2, 1, 28, 29]) { return conv(x, 8, 5, act=relu) }", 300, true},
        {"model m(x: f32[1, 14, 14, 8]) { return conv(x, 16, 5, layout=nhwc) }", 300, true},
        /* few channels of y: outputs fill the lanes, and k has one chunk, several, and a tail */
        {"model m(x: f32[2, 9, 43, 40]) { return conv(x, 1, 3, pad=1, layout=nhwc, act=relu) }",
         300, true},
        {"model m(x: f32[1, 3, 150, 9]) { return conv(x, 1, 3, layout=nhwc) }", 300, true},
        {"model m(x: f32[2, 5, 33, 8]) { return conv(x, 3, 1, layout=nhwc, act=relu) }", 300, true},
        {"model m(x: f32[1, 33, 7, 75]) { return conv(x, 3, 5, pad=2) |> sigmoid() }", 900, true},
        {"model m(x: f32[1, 11, 36, 16], r: f32[1, 9, 34, 2]) { return relu(conv(x, 2, 3, "
         "pad=valid, layout=nhwc) + r) }",
         300, true},
        {"model m(x: f32[1, 7, 50, 64]) { return op.min(relu(conv(x, 4, [2, 4], "
         "dilation=[1, 2], pad=[1, 0, 1, 5], layout=nhwc)), 0.5) }",
         600, true},
        {"model m(x: f32[1, 3, 31, 33]) { return conv(x, 16, 3, stride=2, pad=1, act=relu) }", 300,
         true},
        {"model m(x: f32[3, 2, 17, 40]) { return conv(x, 3, 4, pad=valid, bias=false) }", 300,
         true},
        {"model m(x: f32[1, 4, 20, 21]) { return conv(x, 5, [3, 2], stride=[1, 3], dilation=[2, 3],"
         " pad=[4, 0, 1, 9]) }",
         300, true},
        {"model m(x: f32[2, 16, 9, 11]) { return min(max(conv(x, 13, 4), -0.05), 0.1) }", 300,
         true},
        {"model m(x: f32[2, 5, 9, 11]) { return min(relu(conv(x, 9, 5)), 0.1) }", 300, true},
        {"model m(x: f32[1, 6, 9, 9], r: f32[1, 12, 9, 9]) { return relu(conv(x, 12, 5) + r) * 2 }",
         300, true},
        {"model m(x: f32[70, 2, 30]) { return sigmoid(conv(x, 6, 5)) }", 300, true},
        {"model m(x: f32[1, 2, 7, 6]) { return conv(x, 4, 3, pad=9) }", 300, true},
        /* more outputs than a tile on the way to channels first */
        {"model m(x: f32[1, 1, 16370]) { return relu(conv(x, 4, 3)) }", 300, true},
        {"model m(x: f32[1, 1, 1017]) { return conv(x, 65, 10, pad=valid) }", 300, true},
        /* heads, which are joined */
        {"model m(x: f32[2, 9, 8, 7]) { return concat(conv(x, 1, 1) |> depthwise(3) |> sigmoid(), "
         "conv(x, 4, 1) |> depthwise(3), conv(x, 10, 1) |> depthwise(3), axis=1) }",
         300, true},
    };
    CONV_CASES(cases);
}

/* Sample i of a batch has the bits it has alone. */
static void batch_position(void)
{
    static const char text[] =
        "model m(x: f32[n, 5, 9, 8]) { return x |> conv(18, 3, act=relu) |> conv(20, 3) |> "
        "depthwise(3) |> max_pool(2) }";
    static conv_result all, one;
    takt_ctx *ctx;
    takt_model *model = NULL;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "batch", text, strlen(text), NULL, &model));
    for (int sample = -1; model != NULL && sample < 4; sample++) {
        const takt_plan_options o = {.sizes = sample < 0 ? "n=4" : "n=1", .threads = 2};
        if (!EXPECT_OK(ctx, takt_plan_create(model, &o, &plan)) ||
            !EXPECT_OK(ctx, takt_session_create(plan, NULL, &session)))
            break;
        static float inputs[4 * 360];
        takt_tensor_view whole = {.dtype = TAKT_F32, .rank = 1, .dims = {4 * 360}, .data = inputs};
        conv_fill(&whole, 1, false);
        const takt_tensor_view *x = takt_session_input(session, 0);
        memcpy(x->data, inputs + (sample < 0 ? 0 : sample * 360), conv_count(x) * sizeof *inputs);
        EXPECT_OK(ctx, takt_session_run(session));
        conv_keep(takt_session_output(session, 0), sample < 0 ? &all : &one);
        if (sample >= 0)
            EXPECT(memcmp(one.bytes, all.bytes + (size_t)sample * one.count * 4, one.count * 4) ==
                       0,
                   "sample %d differs from what it is alone", sample);
        takt_session_destroy(session);
        takt_plan_destroy(plan);
    }
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(convolutions, depthwise, pools, gradients, near_gradients, special_gradients,
          few_channels, chains, near_inputs, batch_position)
