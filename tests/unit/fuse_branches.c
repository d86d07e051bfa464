/* fuse_branches.c - two chains of element-wise nodes that begin at the same value are one step,
 * unless that would keep other values longer; and a product adds what is computed after it. */
#include "util/run_once.h"

static takt_ctx *ctx;

static const struct {
    const char *text;
    size_t steps;
} models[] = {
    {"model a(x: f32[64, 65]) -> f32[64, 65] {\n"
     "  return (x * erf(x) + 1.0) * 0.5 + exp(x * x) * x\n}\n",
     1},
    {"model b(x: f32[64, 65], v: f32[65]) -> f32[64, 65] {\n" /* inputs are there anyway */
     "  s = cumsum(x, axis=1)\n  return sin(s + v) * (cos(s) - (exp(s) + tanh(s * v)))\n}\n",
     2},
    {"model c(x: f32[64, 65]) -> (y: f32[64, 65], z: f32[64, 65]) {\n" /* an output as well */
     "  a = sin(x)\n  return y = a * (cos(x) + 1.0), z = a\n}\n",
     2},
    {"model d(x: f32[64, 65]) -> f32[64, 65] {\n" /* would keep the first sums until the end */
     "  a = sin(cumsum(x, axis=0))\n  b = cumsum(x, axis=1)\n  return a * (cos(b) + exp(b))\n}\n",
     4},
    {"model e(x: f32[64, 65]) -> f32[64, 65] {\n" /* other shapes */
     "  a = sin(x[0:1])\n  return a * (cos(x) + 1.0)\n}\n",
     2},
    {"model f(x: f32[64, 65]) seed=1 {\n" /* the product waits for what is added to it */
     "  h = dense(x, 70)\n  return relu(h + pad(x, before=[0, 0], after=[0, 5]))\n}\n",
     2},
    {"model g(x: f32[64, 65]) seed=1 {\n" /* which it does not where others read it */
     "  h = dense(x, 70)\n  s = pad(x, before=[0, 0], after=[0, 5])\n"
     "  return relu(h + s) * h\n}\n",
     3},
};

static void branches(void)
{
    enum { MOST = 2 * 64 * 65 };
    static float got[MOST], want[MOST];
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        takt_model *m = run_model(ctx, models[i].text);
        takt_plan *plan = NULL;
        takt_plan_info info = {0};
        if (m == NULL)
            continue;
        const takt_plan_options plain = {.level = -1};
        const size_t count = run_once(ctx, m, &plain, (run_results){want, MOST});
        run_once(ctx, m, NULL, (run_results){got, MOST});
        EXPECT(memcmp(got, want, count * sizeof *got) == 0, "model %zu: %g and %g", i, got[0],
               want[0]);
        if (EXPECT_OK(ctx, takt_plan_create(m, NULL, &plan)))
            takt_plan_query(plan, &info);
        EXPECT(info.steps == models[i].steps, "model %zu: %zu steps, not %zu", i, info.steps,
               models[i].steps);
        takt_plan_destroy(plan);
        takt_model_destroy(m);
    }
}

int main(void)
{
    if (EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        branches();
    takt_ctx_destroy(ctx);
    return test_done();
}
