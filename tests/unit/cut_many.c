/* cut_many.c - products cut finely for many threads: the bits of one thread. */
#include "test.h"

#include <string.h>

#include "plan/plan.h"
#include "util/conv_case.h"

typedef struct work {
    const char *text;
    size_t least; /* tasks for sixteen threads; 0: at most one each */
} work;

static const work works[] = {
    {"model m(x: f32[200, 256]) seed=1 {\n  param w: f32[256, 300] = normal(0, 0.1)\n"
     "  return op.matmul(x, w)\n}",
     17},
    {"model m(x: f32[37, 1024]) seed=1 {\n  param w: f32[1024, 700] = normal(0, 0.1)\n"
     "  return relu(op.matmul(x, w))\n}",
     17},
    {"model m(x: f32[1, 300]) seed=1 {\n  param w: f32[300, 12345] = normal(0, 0.1)\n"
     "  return op.matmul(x, w)\n}",
     17},
    {"model m(x: f64[200, 256]) seed=1 {\n  param w: f64[256, 300] = normal(0, 0.1)\n"
     "  return op.matmul(x, w)\n}",
     17},
    {"model m(x: f32[5, 120, 80], y: f32[5, 80, 96]) { return op.matmul(x, y) }", 17},
    {"model m(x: f32[5, 120, 80], y: f32[5, 96, 80]) {\n"
     "  return op.matmul(x, op.transpose(y, perm=[0, 2, 1]))\n}",
     17},
    {"model m(x: f32[3, 2, 100, 90], y: f32[3, 1, 90, 101]) { return op.matmul(x, y) }", 17},
    {"model m(x: f16[5, 120, 90], y: f16[5, 90, 101]) { return op.matmul(x, y) }", 17},
    {"model m(x: f32[5, 120, 90]) seed=1 {\n  param w: f32[5, 90, 101] = normal(0, 0.1)\n"
     "  return op.matmul(x, w)\n}",
     17},
    {"model m(q: f32[1, 120, 192], k: f32[1, 130, 192], v: f32[1, 130, 96]) {\n"
     "  return op.attention(q, k, v, heads=3)\n}",
     15},
    {"model m(q: f32[1, 90, 264], k: f32[1, 120, 132], v: f32[1, 120, 99], w: f32[90, 120]) {\n"
     "  return op.attention(q, k, v, w, heads=6, kv_heads=3, causal=true)\n}",
     15},
    {"model m(q: f32[2, 5, 24], k: f32[2, 7, 24], v: f32[2, 7, 24]) {\n"
     "  return op.attention(q, k, v, heads=3)\n}",
     0},
    {"model m(x: f32[20, 30]) seed=1 {\n  param w: f32[30, 40] = normal(0, 0.1)\n"
     "  return op.matmul(x, w)\n}",
     0},
    {"model m(x: f32[1, 28, 28, 250]) seed=1 {\n  param w: f32[80, 1, 1, 250] = normal(0, 0.1)\n"
     "  return op.conv(x, w, layout=nhwc)\n}",
     17},
    {"model m(x: f32[1, 55, 55, 64]) seed=1 {\n  param w: f32[72, 3, 3, 64] = normal(0, 0.1)\n"
     "  return op.conv(x, w, pad=[1, 1, 1, 1], stride=[2, 2], layout=nhwc)\n}",
     17},
    {"model m(x: f32[1, 30, 31, 64]) seed=1 {\n  param w: f32[64, 3, 3, 64] = normal(0, 0.1)\n"
     "  return op.conv(x, w, pad=[1, 1, 1, 1], layout=nhwc)\n}",
     17},
    /* groups of few channels are read in place, those of more are products */
    {"model m(x: f32[1, 30, 31, 64]) seed=1 {\n  param w: f32[64, 3, 3, 16] = normal(0, 0.1)\n"
     "  return op.conv(x, w, pad=[1, 1, 1, 1], groups=4, layout=nhwc)\n}",
     17},
    {"model m(x: f32[1, 15, 16, 136]) seed=1 {\n  param w: f32[136, 3, 3, 68] = normal(0, 0.1)\n"
     "  return op.conv(x, w, pad=[1, 1, 1, 1], groups=2, layout=nhwc)\n}",
     0},
};

static size_t most_tasks(takt_ctx *ctx, const takt_model *model, const takt_plan_options *o)
{
    takt_plan *plan;
    size_t most = 0;
    if (!EXPECT_OK(ctx, takt_plan_create(model, o, &plan)))
        return 0;
    for (size_t i = 0; i < plan->step_count; i++)
        most = plan->steps[i].task_count > most ? plan->steps[i].task_count : most;
    takt_plan_destroy(plan);
    return most;
}

static void check(takt_ctx *ctx, const work *w, const char *numerics)
{
    static conv_result want, have;
    static const int threads[] = {1, 2, 13, 16};
    takt_model *model;
    if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", w->text, strlen(w->text), NULL, &model)))
        return;
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        const takt_plan_options o = {.threads = threads[i], .numerics = numerics};
        memset(&have, 0, sizeof have);
        EXPECT_OK(ctx, conv_run(model, &o, false, &have));
        if (i == 0)
            memcpy(&want, &have, sizeof want);
        const size_t at = conv_difference(&want, &have);
        EXPECT(at == want.count && have.count == want.count && have.count > 0,
               "%s\n    %s, %d threads: element %zu is %.9g, not %.9g", w->text, numerics,
               threads[i], at, have.value[at], want.value[at]);
    }
    const takt_plan_options o = {.threads = 16, .numerics = numerics};
    const size_t tasks = most_tasks(ctx, model, &o);
    if (strcmp(numerics, "exact") == 0)
        EXPECT(w->least > 0 ? tasks >= w->least : tasks <= 16, "%s\n    %zu tasks", w->text, tasks);
    takt_model_destroy(model);
}

static void same_bits(void)
{
    takt_ctx *ctx;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        check(ctx, &works[i], "exact");
        check(ctx, &works[i], "fast");
    }
    takt_ctx_destroy(ctx);
}

TEST_MAIN(same_bits)
