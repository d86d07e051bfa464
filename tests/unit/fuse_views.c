/* fuse_views.c - a step never reads a view of a value that it is still computing. */
#include "util/run_once.h"

static takt_ctx *ctx;

static const char *const texts[] = {
    "model a(x: f32[4096]) -> f32[4096] {\n  y = relu(x) + 1.0\n  return y + y[4095:4096]\n}\n",
    "model b(x: f32[1, 6, 700]) -> f32[1, 6, 700] {\n  y = x * 2.0\n  return y - y[:, 5:6]\n}\n",
    ("model c(x: f32[64, 64]) -> f32[64, 64] {\n  y = x + 1.0\n"
     "  return y * reshape(y[63:64], shape=[64])\n}\n"),
};

static void agree(void)
{
    enum { MOST = 6 * 700 };
    static float got[MOST], want[MOST];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        takt_model *m = run_model(ctx, texts[i]);
        if (m == NULL)
            continue;
        const takt_plan_options plain = {.level = -1};
        const size_t count = run_once(ctx, m, &plain, (run_results){want, MOST});
        run_once(ctx, m, NULL, (run_results){got, MOST});
        EXPECT(memcmp(got, want, count * sizeof *got) == 0, "model %zu: %g and %g", i, got[0],
               want[0]);
        takt_model_destroy(m);
    }
}

/* A pool larger than the plan would have no scratch for its threads. */
static void large_pool(void)
{
    takt_model *m;
    takt_plan *plan;
    takt_pool *pool;
    takt_session *s;
    if (!EXPECT_OK(ctx, takt_model_load(ctx, "examples/mlp.takt", NULL, &m)))
        return;
    EXPECT_OK(ctx, takt_plan_create(m, &(takt_plan_options){.threads = 1}, &plan));
    EXPECT_OK(ctx, takt_pool_open(ctx, 3, &pool));
    EXPECT_STATUS(ctx, takt_session_create(plan, &(takt_session_options){.pool = pool}, &s),
                  TAKT_ERR_ARGUMENT);
    takt_pool_close(pool);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
}

int main(void)
{
    if (EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx))) {
        agree();
        large_pool();
    }
    takt_ctx_destroy(ctx);
    return test_done();
}
