/* model_gradient.c - gradients of models through the public interface. */
#include "test.h"

#include <string.h>

#include <takt/takt.h>

static void gradients(void)
{
    static const char text[] = "model m(x: f32[3]) -> (y: f32[], z: f32[3]) {\n"
                               "  param w: f32[3] = 2\n"
                               "  return y = reduce_sum(x * x * w, axes=[0]), z = x\n}\n";
    takt_ctx *ctx;
    takt_model *m = NULL, *g = NULL, *gg = NULL;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "text", text, sizeof text - 1, NULL, &m));
    EXPECT_OK(ctx, takt_model_gradient(m, NULL, "x", &g));
    EXPECT_EQ(takt_model_output_count(g), 3);
    EXPECT_TEXT(takt_model_output(g, 2)->name, "grad.x");
    float x[3] = {1, -2, 3};
    const takt_tensor_view v = {.dtype = TAKT_F32, .rank = 1, .dims = {3}, .data = x};
    takt_plan *p = NULL;
    takt_session *s = NULL;
    if (EXPECT_OK(ctx, takt_plan_create(g, NULL, &p)) &&
        EXPECT_OK(ctx, takt_session_create(p, NULL, &s))) {
        EXPECT_OK(NULL, takt_session_bind(s, "x", &v));
        EXPECT_OK(NULL, takt_session_run(s));
        const float *d = takt_session_output(s, 2)->data;
        EXPECT(d[0] == 4 && d[1] == -8 && d[2] == 12, "%g %g %g", d[0], d[1], d[2]);
    }
    takt_session_destroy(s);
    takt_plan_destroy(p);
    EXPECT_OK(ctx, takt_model_gradient(g, "grad.x", "w", &gg)); /* of a gradient */
    takt_model_destroy(gg);
    EXPECT_OK(ctx, takt_model_gradient(m, "y", NULL, &gg)); /* every parameter */
    EXPECT_EQ(takt_model_output_count(gg), 3);
    EXPECT_TEXT(takt_model_output(gg, 2)->name, "grad.w");
    takt_model_destroy(gg);
    EXPECT_STATUS(ctx, takt_model_gradient(m, "no", NULL, &gg), TAKT_ERR_NOT_FOUND);
    EXPECT_STATUS(ctx, takt_model_gradient(m, "y", "no", &gg), TAKT_ERR_NOT_FOUND);
    EXPECT_STATUS(ctx, takt_model_gradient(m, "y", "x", NULL), TAKT_ERR_ARGUMENT);
    EXPECT_SAME(gg, NULL);
    takt_model_destroy(g);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(gradients)
