/* custom_op.c - a custom op runs by its body, and by a registered function once there is one. */
#include <string.h>

#include <takt/takt.h>

#include "test.h"

static takt_ctx *ctx;
static int calls;

static const char text[] =
    "model m(x: f32[n, 3], s: f32[3]) -> f32[n, 3] {\n"
    "  y = custom(x, s, name=\"scaled_relu\", body=graph(a: f32[n, 3], b: f32[3]) {\n"
    "    return relu(a) * b\n"
    "  })\n"
    "  return y + 1\n"
    "}\n";

static void scaled_relu(void *user, const takt_tensor_view *in, size_t in_count,
                        const takt_tensor_view *out, size_t out_count)
{
    const float *x = in[0].data, *s = in[1].data;
    float *y = out[0].data;
    EXPECT_EQ(in_count, 2);
    EXPECT_EQ(out_count, 1);
    EXPECT_EQ(out[0].dims[0], 2);
    EXPECT_EQ(out[0].dims[1], 3);
    for (int i = 0; i < 6; i++)
        y[i] = (x[i] < 0 ? 0 : x[i]) * s[i % 3];
    *(int *)user += 1;
}

static void run(const char *backend, float out[6])
{
    takt_model *m;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &m)))
        return;
    const takt_plan_options options = {.backend = backend, .sizes = "n=2"};
    if (EXPECT_OK(ctx, takt_plan_create(m, &options, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        const float x[6] = {-1, 2, -3, 4, -5, 6}, scale[3] = {1, 10, 100};
        memcpy(takt_session_input(s, 0)->data, x, sizeof x);
        memcpy(takt_session_input(s, 1)->data, scale, sizeof scale);
        EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
        memcpy(out, takt_session_output(s, 0)->data, 6 * sizeof *out);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
}

int main(void)
{
    const float want[6] = {1, 21, 1, 5, 1, 601};
    float got[6] = {0};
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return test_done();
    run("cpu", got);
    EXPECT(memcmp(got, want, sizeof want) == 0 && calls == 0, "by its body: %g %g", got[1], got[5]);
    EXPECT_STATUS(ctx, takt_register_op(ctx, &(takt_op_def){.name = "scaled_relu"}),
                  TAKT_ERR_ARGUMENT);
    EXPECT_OK(ctx, takt_register_op(ctx, &(takt_op_def){"scaled_relu", scaled_relu, &calls}));
    memset(got, 0, sizeof got);
    run("cpu", got);
    EXPECT(memcmp(got, want, sizeof want) == 0 && calls == 1, "%d calls, %g", calls, got[5]);
    run("ref", got);
    EXPECT(memcmp(got, want, sizeof want) == 0 && calls == 1, "the reference computes the body");
    takt_ctx_destroy(ctx);
    return test_done();
}
