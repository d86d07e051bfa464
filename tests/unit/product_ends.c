/* product_ends.c - what follows a product gives the same bits inside its step as by itself. Under
 * fast, rows are finished when they are whole, short ones many at once. */
#include <string.h>

#include <takt/takt.h>

#include "test.h"

enum { MOST = 3 * 70 * 70 };

static takt_ctx *ctx;

static const struct {
    const char *text;
    size_t count;
} models[] = {
    {"model a(x: f32[70, 70]) -> f32[70, 70] {\n  return tanh(matmul(x, x) * x * 0.001)\n}\n",
     70 * 70},
    {("model b(x: f32[3, 70, 70]) -> f32[3, 70, 70] {\n"
      "  return tanh(matmul(x, x) * x * 0.001) + x[1:2, 3:4]\n}\n"),
     3 * 70 * 70},
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

static void agree(const char *text, size_t count, const char *numerics)
{
    static float got[MOST], want[MOST];
    takt_model *m;
    if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &m)))
        return;
    takt_plan_options apart = {.threads = 1, .numerics = numerics};
    EXPECT_OK(ctx, takt_opts_level(&apart, 1));
    run(m, &apart, want, count);
    for (int threads = 1; threads <= 3; threads++) {
        run(m, &(takt_plan_options){.threads = threads, .numerics = numerics}, got, count);
        for (size_t i = 0; i < count; i++)
            if (!EXPECT(memcmp(got + i, want + i, sizeof *got) == 0,
                        "%zu elements, %d threads: [%zu] is %g, should be %g", count, threads, i,
                        (double)got[i], (double)want[i]))
                break;
    }
    takt_model_destroy(m);
}

int main(void)
{
    if (EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
            agree(models[i].text, models[i].count, "exact");
            agree(models[i].text, models[i].count, "fast");
        }
    takt_ctx_destroy(ctx);
    return test_done();
}
