/* transposed_ends.c - arithmetic after a transposed convolution that is the same at all positions
 * belongs to its step, for any strides and kernels; other arithmetic does not. */
#include "test.h"

#include <string.h>
#include <takt/takt.h>

#include "plan/plan.h"
#include "util/conv_case.h"

#define AFTER(d, w, attrs, end)                                                                    \
    "model m(d: f32" d ", w: f32" w ", b: f32[20]) { return " end "(op.conv_dx(d, w, " attrs       \
    ", layout=nhwc) + b) }"

static const conv_case cases[] = {
    {AFTER("[2, 5, 6, 17]", "[17, 2, 2, 20]", "stride=[2, 2], shape=[2, 10, 12, 20]", "op.relu"),
     17, false},
    {AFTER("[1, 7, 6, 9]", "[9, 4, 4, 20]",
           "stride=[2, 2], pad=[1, 1, 1, 1], shape=[1, 14, 12, 20]", "op.tanh"),
     36, true},
    {AFTER("[2, 5, 4, 8]", "[8, 2, 1, 20]", "stride=[3, 2], shape=[2, 15, 8, 20]", "op.relu6"), 16,
     false}, /* some positions have no taps */
    {AFTER("[1, 5, 40, 8]", "[8, 3, 3, 20]",
           "stride=[1, 1], pad=[1, 1, 1, 1], shape=[1, 5, 40, 20]", "op.sigmoid"),
     72, true},
};

static void settings(void)
{
    CONV_CASES(cases);
}

static size_t steps_of(takt_ctx *ctx, const char *text)
{
    const takt_plan_options o = {.threads = 1};
    takt_model *model;
    takt_plan *plan;
    if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model)))
        return 0;
    size_t count = 0;
    if (EXPECT_OK(ctx, takt_plan_create(model, &o, &plan))) {
        count = plan->step_count;
        takt_plan_destroy(plan);
    }
    takt_model_destroy(model);
    return count;
}

static void steps(void)
{
    takt_ctx *ctx;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        EXPECT(steps_of(ctx, cases[i].text) == 1, "%s", cases[i].text);
    EXPECT_EQ(steps_of(ctx, "model m(d: f32[2, 5, 6, 17], w: f32[17, 2, 2, 20], "
                            "r: f32[2, 10, 12, 20]) { return op.conv_dx(d, w, stride=[2, 2], "
                            "shape=[2, 10, 12, 20], layout=nhwc) + r }"),
              2);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(settings, steps)
