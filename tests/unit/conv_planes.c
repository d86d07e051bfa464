/* conv_planes.c - convolutions of few channels that read x with channels first where it is: when it
 * is done, and when not. tests/unit/conv_steps.c checks their bits. */
#include "test.h"

#include <string.h>
#include <takt/takt.h>

#include "plan/plan.h"

typedef struct planes_case {
    const char *text;
    const char *kinds; /* of the steps */
} planes_case;

static void kinds_of(const takt_plan *plan, char *to, size_t room)
{
    to[0] = '\0';
    for (size_t i = 0; i < plan->step_count; i++) {
        const size_t at = strlen(to);
        snprintf(to + at, room - at, "%s%s", i > 0 ? " " : "", plan->steps[i].kind);
    }
}

static void check(const planes_case *c)
{
    takt_ctx *ctx;
    takt_model *model;
    takt_plan *plan;
    char kinds[256];
    const takt_plan_options o = {.threads = 1, .isa = "scalar"}; /* which takes them */
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    if (EXPECT_OK(ctx,
                  takt_model_load_memory(ctx, "conv", c->text, strlen(c->text), NULL, &model))) {
        if (EXPECT_OK(ctx, takt_plan_create(model, &o, &plan))) {
            kinds_of(plan, kinds, sizeof kinds);
            EXPECT(strcmp(kinds, c->kinds) == 0, "%s\n    is %s, not %s", c->text, kinds, c->kinds);
            takt_plan_destroy(plan);
        }
        takt_model_destroy(model);
    }
    takt_ctx_destroy(ctx);
}

static void joined(void)
{
    static const planes_case cases[] = {
        {"model m(x: f32[1, 3, 32, 32]) { return relu(conv(x, 8, 3, stride=2, pad=1)) |> "
         "global_avg_pool() }",
         "conv_planes reduce map"},
        {"model m(x: f32[4, 2, 90]) { return conv(x, 8, 5) |> global_avg_pool() }",
         "conv_planes reduce map"},
        {"model m(x: f32[1, 3, 4, 16, 16]) { return conv(x, 8, 3) |> global_avg_pool() }",
         "conv_planes reduce map"},
        /* so few outputs that a product would waste most of its tile, however many inputs */
        {"model m(x: f32[1, 64, 40, 40]) { return conv(x, 2, 3) |> global_avg_pool() }",
         "conv_planes reduce map"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i]);
}

static void apart(void)
{
    static const planes_case cases[] = {
        /* one channel has the same order in both layouts */
        {"model m(x: f32[1, 1, 32, 32]) { return conv(x, 8, 3) |> global_avg_pool() }",
         "conv reduce map"},
        /* another convolution reads the transpose too */
        {"model m(x: f32[1, 3, 32, 32]) { return global_avg_pool(conv(x, 8, 3)), "
         "global_avg_pool(conv(x, 4, 5)) }",
         "move conv reduce map conv reduce map"},
        /* too many outputs for sums of single inputs */
        {"model m(x: f32[1, 3, 32, 32]) { return conv(x, 64, 3) |> global_avg_pool() }",
         "move conv reduce map"},
        /* weights that are not known before the run */
        {"model m(x: f32[1, 3, 32, 32], w: f32[8, 3, 3, 3]) { return op.conv(x, w) |> "
         "global_avg_pool() }",
         "move move conv reduce map"},
        /* a patch is a row of x */
        {"model m(x: f32[1, 3, 32, 32]) { return conv(x, 8, 1) |> global_avg_pool() }",
         "move conv reduce map"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i]);
}

/* A result that is needed with channels first alone is made so, unless its step begins with another
 * transpose. */
static void first(void)
{
    static const planes_case cases[] = {
        {"model m(x: f32[1, 1, 200]) { return relu(conv(x, 8, 5)) }", "conv_first"},
        {"model m(x: f32[1, 20, 32, 32]) { return conv(x, 40, 3, stride=2) }", "move conv_first"},
        {"model m(x: f32[1, 20, 32, 32]) { return conv(x, 40, 1) }", "move conv_first"},
        {"model m(x: f32[1, 3, 32, 32]) { return conv(x, 8, 3) }", "conv_planes move"},
        {"model m(x: f32[1, 20, 32, 32]) { y = conv(x, 40, 3, stride=2)\n  "
         "return y, global_avg_pool(y) }",
         "move conv reduce map move"},
        {"model m(x: f32[1, 20, 32, 32]) { return conv(x, 40, 3, groups=2) }", "move conv move"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i]);
}

/* A file may have any dilation: the copied part stays small. */
static void scratch_is_bounded(void)
{
    static const char text[] = "model m(x: f32[1, 2, 9, 30]) { return conv(x, 4, [3, 1], "
                               "dilation=[900000, 1], pad=[900000, 0, 900000, 0]) }";
    takt_ctx *ctx;
    takt_model *model;
    takt_plan *plan;
    const takt_plan_options o = {.threads = 1};
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "far", text, strlen(text), NULL, &model))) {
        if (EXPECT_OK(ctx, takt_plan_create(model, &o, &plan))) {
            for (size_t i = 0; i < plan->step_count; i++)
                EXPECT(plan->steps[i].scratch_each < 1 << 20, "step %zu wants %zu bytes", i,
                       plan->steps[i].scratch_each);
            takt_plan_destroy(plan);
        }
        takt_model_destroy(model);
    }
    takt_ctx_destroy(ctx);
}

TEST_MAIN(joined, apart, first, scratch_is_bounded)
