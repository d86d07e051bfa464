/* fuse_views.c - a step never reads a view of what it is itself still computing. */
#include <string.h>

#include <takt/takt.h>

#include "test.h"

static takt_ctx *ctx;

static const char *const texts[] = {
    "model a(x: f32[4096]) -> f32[4096] {\n  y = relu(x) + 1.0\n  return y + y[4095:4096]\n}\n",
    "model b(x: f32[1, 6, 700]) -> f32[1, 6, 700] {\n  y = x * 2.0\n  return y - y[:, 5:6]\n}\n",
    ("model c(x: f32[64, 64]) -> f32[64, 64] {\n  y = x + 1.0\n"
     "  return y * reshape(y[63:64], shape=[64])\n}\n"),
};

static void run(const takt_model *m, const takt_plan_options *o, float *y, size_t count)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    if (EXPECT_OK(ctx, takt_plan_create(m, o, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        float *x = takt_session_input(s, 0)->data;
        for (size_t i = 0; i < count; i++)
            x[i] = (float)(i % 97) - 48;
        EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
        memcpy(y, takt_session_output(s, 0)->data, count * sizeof *y);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
}

static void agree(void)
{
    enum { COUNT = 4096, SMALL = 4200 };
    static float got[SMALL], want[SMALL];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        takt_model *m;
        const size_t count = i == 1 ? SMALL : COUNT;
        if (!EXPECT_OK(ctx,
                       takt_model_load_memory(ctx, "m.takt", texts[i], strlen(texts[i]), NULL, &m)))
            continue;
        run(m, NULL, got, count);
        run(m, &(takt_plan_options){.level = -1}, want, count);
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
