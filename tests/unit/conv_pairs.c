/* conv_pairs.c - a 1x1 convolution and the depthwise one after it as one step: when it is done,
 * when not and why, with the bits of two steps. */
#include "test.h"

#include <string.h>

#include "plan/plan.h"
#include "util/conv_case.h"

static size_t pairs_in(const takt_plan *plan)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->step_count; i++)
        count += strcmp(plan->steps[i].kind, "conv_depthwise") == 0;
    return count;
}

static size_t pairs_with(const takt_model *model, int threads, const char *numerics)
{
    takt_plan *plan;
    const takt_plan_options o = {.threads = threads, .numerics = numerics};
    if (!EXPECT_OK(NULL, takt_plan_create(model, &o, &plan)))
        return 0;
    const size_t count = pairs_in(plan);
    takt_plan_destroy(plan);
    return count;
}

typedef struct pair_case {
    const char *text;
    size_t pairs[2]; /* with one and two threads */
} pair_case;

/* Every setting against separate steps: with three threads nothing is joined. */
static void check_bits(takt_ctx *ctx, const takt_model *model, const char *text)
{
    static conv_result apart, together;
    static const char *const isas[] = {NULL, "scalar"};
    const takt_plan_options o = {.threads = 3};
    EXPECT(pairs_with(model, 3, NULL) == 0, "%s\n    is joined for three threads", text);
    if (!EXPECT_OK(ctx, conv_run(model, &o, false, &apart)))
        return;
    for (size_t i = 0; i < 4; i++) {
        const takt_plan_options now = {.threads = 1 + (int)i % 2, .isa = isas[i / 2]};
        if (!EXPECT_OK(ctx, conv_run(model, &now, false, &together)))
            return;
        const size_t at = conv_difference(&apart, &together);
        EXPECT(at == apart.count, "%s\n    %d threads: element %zu is %.9g, not %.9g", text,
               now.threads, at, together.value[at], apart.value[at]);
    }
}

static void check(const pair_case *c)
{
    takt_ctx *ctx;
    takt_model *model;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    if (EXPECT_OK(ctx,
                  takt_model_load_memory(ctx, "pair", c->text, strlen(c->text), NULL, &model))) {
        for (int t = 0; t < 2; t++) {
            const size_t count = pairs_with(model, t + 1, NULL);
            EXPECT(count == c->pairs[t], "%s\n    %zu pairs with %d threads, not %zu", c->text,
                   count, t + 1, c->pairs[t]);
        }
        check_bits(ctx, model, c->text);
        takt_model_destroy(model);
    }
    takt_ctx_destroy(ctx);
}

static void joined(void)
{
    static const pair_case cases[] = {
        /* padding, relu6, both strides; lines that end anywhere in the ring */
        {"model m(x: f32[1, 8, 61, 67]) { return x |> conv(72, 1) |> relu6() |> "
         "depthwise(3, stride=2) |> relu6() |> conv(2, 1) }",
         {1, 0}},
        {"model m(x: f32[1, 4, 128, 65]) { return x |> conv(72, 1, bias=false) |> depthwise(3) |> "
         "conv(3, 1) }",
         {1, 1}},
        /* several samples, a kernel of five, none of the padding that is usual */
        {"model m(x: f32[5, 6, 31, 33]) { return x |> conv(56, 1, act=relu) |> "
         "depthwise(5, stride=2, pad=0) |> relu() |> conv(5, 1) }",
         {1, 0}},
        /* clips in registers, and with a bound of zero */
        {"model m(x: f32[1, 8, 61, 67]) { return x |> conv(72, 1) |> clip(0, 6) |> "
         "depthwise(3, stride=2) |> clip(-0.5, 0) |> conv(2, 1) }",
         {1, 0}},
        /* endings that are programs, with operands of the whole shape, on both sides */
        {"model m(x: f32[1, 64, 64, 6], r: f32[1, 64, 64, 70]) { h = tanh(conv(x, 70, 1, "
         "layout=nhwc) * r)\n return h |> depthwise(3, stride=2, layout=nhwc) |> sigmoid() |> "
         "conv(9, 1, layout=nhwc) }",
         {1, 0}},
        /* a function of one value behind bias and relu, on both sides */
        {"model m(x: f32[1, 8, 61, 67]) { return x |> conv(72, 1) |> hard_swish() |> "
         "depthwise(3, stride=2, act=relu) |> tanh() |> conv(2, 1) }",
         {1, 0}},
        {"model m(x: f32[1, 64, 64, 6], r: f32[1, 64, 64, 70]) { h = relu(conv(x, 70, 1, "
         "layout=nhwc) + r)\n return relu(depthwise(h, 3, layout=nhwc) + r) |> "
         "conv(9, 1, layout=nhwc) }",
         {1, 0}},
        /* two pairs, the second of which reads the first */
        {"model m(x: f32[1, 4, 64, 64]) { h = x |> conv(66, 1, bias=false) |> batch_norm() |> "
         "relu6() |> depthwise(3, bias=false) |> batch_norm() |> relu6() |> conv(5, 1)\n"
         " return h |> conv(67, 1, bias=false) |> batch_norm() |> relu6() |> "
         "depthwise(3, stride=2, bias=false) |> batch_norm() |> conv(7, 1) }",
         {2, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i]);
}

static void apart(void)
{
    static const pair_case cases[] = {
        /* the value between is small, read twice, an output, strided, dilated, or 3x3 */
        {"model m(x: f32[1, 8, 31, 33]) { return x |> conv(72, 1) |> depthwise(3) |> conv(3, 1) }",
         {0, 0}},
        {"model m(x: f32[1, 4, 64, 64]) { h = conv(x, 72, 1)\n"
         " return (h |> depthwise(3)) + h |> conv(3, 1) }",
         {0, 0}},
        {"model m(x: f32[1, 4, 128, 128]) { return x |> conv(72, 1, stride=2) |> "
         "depthwise(3, stride=2) |> conv(3, 1) }",
         {0, 0}},
        {"model m(x: f32[1, 4, 64, 64]) { return x |> conv(72, 1) |> depthwise(3, dilation=2) |> "
         "conv(3, 1) }",
         {0, 0}},
        {"model m(x: f32[1, 4, 64, 64]) { return x |> conv(72, 3) |> depthwise(3) |> conv(3, 1) }",
         {0, 0}},
        /* few lines for each thread: too many would be computed twice */
        {"model m(x: f32[1, 4, 12, 900]) { return x |> conv(72, 1) |> depthwise(3) |> conv(3, 1) }",
         {1, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i]);
}

/* Weights in 16 bits, or products by bf16 dot products, are other steps' business. */
static void other_numbers(void)
{
    static const char text[] =
        "model m(x: f32[1, 8, 61, 67]) { return x |> conv(72, 1) |> depthwise(3, stride=2) }";
    takt_ctx *ctx;
    takt_model *model;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "pair", text, strlen(text), NULL, &model))) {
        EXPECT(pairs_with(model, 1, "exact") == 1, "it is a pair");
        EXPECT(pairs_with(model, 1, "fast") == 0, "fast products are not joined");
        takt_plan *plan;
        const takt_plan_options o = {.threads = 1, .precision = "f16"};
        if (EXPECT_OK(ctx, takt_plan_create(model, &o, &plan))) {
            EXPECT(pairs_in(plan) == 0, "weights of 16 bits are not joined");
            takt_plan_destroy(plan);
        }
        takt_model_destroy(model);
    }
    takt_ctx_destroy(ctx);
}

TEST_MAIN(joined, apart, other_numbers)
