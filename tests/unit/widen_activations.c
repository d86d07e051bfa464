/* widen_activations.c - models of f16 and bf16: values between products are f32 that were rounded,
 * with the bits of values in 16 bits, and arithmetic after a product belongs to its step. */
#include "test.h"

#include <string.h>
#include <takt/takt.h>

#include "plan/plan.h"
#include "util/conv_case.h"

#define NET(type)                                                                                  \
    "model net(x: " type "[2, 9, 8, 5]) seed=3 {\n"                                                \
    "  param v: " type "[24, 1, 1, 5] = normal(0, 0.4)\n"                                          \
    "  param d: " type "[24, 3, 3, 1] = normal(0, 0.4)\n"                                          \
    "  param w: " type "[24, 3, 3, 24] = normal(0, 0.1)\n"                                         \
    "  param s: " type "[24, 1, 1, 24] = normal(0, 0.2)\n"                                         \
    "  param b: " type "[24] = normal(0, 1)\n"                                                     \
    "  a = op.hard_swish(op.conv(x, v, layout=nhwc) + b)\n"                                        \
    "  c = op.relu(op.conv(a, d, groups=24, pad=[1, 1, 1, 1], layout=nhwc) + b)\n"                 \
    "  e = op.tanh(op.conv(c, w, pad=[1, 1, 1, 1], layout=nhwc)) * 0.7 + c\n"                      \
    "  g = op.hard_sigmoid(op.conv(op.reduce_mean(e, axes=[1, 2], keep=true), s, layout=nhwc))\n"  \
    "  return op.max_pool(op.conv(e * g, s, stride=[2, 2], layout=nhwc), kernel=[2, 2], "          \
    "layout=nhwc)\n}"
#define BLOCK(type)                                                                                \
    "model block(x: " type "[3, 7, 20]) seed=5 {\n"                                                \
    "  param w: " type "[20, 36] = normal(0, 0.2)\n"                                               \
    "  param v: " type "[36, 20] = normal(0, 0.2)\n"                                               \
    "  param s: " type "[20] = normal(1, 0.2)\n"                                                   \
    "  h = op.gelu(op.matmul(x, w) + 0.1)\n"                                                       \
    "  y = op.layer_norm(op.matmul(h, v) + x, s, s)\n"                                             \
    "  return op.matmul(op.softmax(op.matmul(y, x, transpose_b=true) * 0.2), y)\n}"
/* Nothing of 16 bits is 0.1. */
#define PAD(type)                                                                                  \
    "model pad(x: " type "[2, 4, 4, 5]) seed=3 {\n"                                                \
    "  param w: " type "[5, 1, 1, 5] = normal(0, 1)\n"                                             \
    "  a = op.tanh(op.conv(x, w, layout=nhwc) + x)\n"                                              \
    "  b = op.pad(a, before=[0, 1, 1, 0], after=[0, 1, 1, 0], value=0.1)\n"                        \
    "  c = op.tanh(op.conv(b, w, layout=nhwc) * 3.3)\n"                                            \
    "  return op.tanh(op.conv(c, w, layout=nhwc))\n}"

typedef struct sample {
    const char *text;
    size_t steps; /* at most; without the pass there are more */
} sample;

static const sample samples[] = {
    {NET("f16"), 12},   {NET("bf16"), 12}, {BLOCK("f16"), 7},
    {BLOCK("bf16"), 7}, {PAD("f16"), 6},   {PAD("bf16"), 6},
};

static size_t steps_of(const takt_model *model, const char *passes)
{
    const takt_plan_options o = {.threads = 1, .passes = passes};
    takt_plan *plan;
    if (takt_plan_create(model, &o, &plan) != TAKT_OK)
        return 0;
    const size_t count = plan->step_count;
    takt_plan_destroy(plan);
    return count;
}

static void same_bits(takt_ctx *ctx, const sample *s)
{
    static conv_result with, without;
    const takt_plan_options on = {.threads = 2};
    const takt_plan_options off = {.threads = 1, .passes = "-widen-activations"};
    takt_model *model;
    if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", s->text, strlen(s->text), NULL, &model)))
        return;
    if (EXPECT_OK(ctx, conv_run(model, &on, false, &with)) &&
        EXPECT_OK(ctx, conv_run(model, &off, false, &without)))
        EXPECT(conv_difference(&with, &without) == with.count, "%s", s->text);
    const size_t steps = steps_of(model, NULL), more = steps_of(model, off.passes);
    EXPECT(steps <= s->steps && more > s->steps, "%zu steps, %zu without the pass:\n%s", steps,
           more, s->text);
    takt_model_destroy(model);
}

static void bits(void)
{
    takt_ctx *ctx;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        same_bits(ctx, &samples[i]);
    takt_ctx_destroy(ctx);
}

static void settings(void)
{
    static const conv_case cases[] = {
        {NET("f16"), 216, true},
        {NET("bf16"), 216, true},
        {BLOCK("f16"), 36, true},
        {BLOCK("bf16"), 36, true},
    };
    CONV_CASES(cases);
}

TEST_MAIN(bits, settings)
