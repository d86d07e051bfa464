/* shared_source.c - a constant in 16 bits that one step reads widened and another packs as it is:
 * the source outlives the first of them. */
#include "util/run_once.h"

static takt_ctx *ctx;

enum { K = 64 };

/* Values of 16 bits, which planning widens, and an explicit cast. */
static const char *const texts[] = {
    "model m(x: f16[64, 64]) -> (y: f16[64, 64], z: f16[64, 64]) seed=3 {\n"
    "  param a: f16[64, 64] = normal(0, 0.3)\n"
    "  param w: f16[64, 64] = normal(0, 0.3)\n"
    "  return y = op.matmul(x, w), z = op.matmul(x, a) + w\n}\n",
    "model m(x: f32[64, 64]) -> (y: f32[64, 64], z: f32[64, 64]) seed=3 {\n"
    "  param t: f16[64, 64] = normal(0, 0.3)\n"
    "  w = cast(t, dtype=f32)\n"
    "  return y = op.matmul(x, w), z = x + w\n}\n",
    "model m(x: bf16[64, 64]) -> (y: bf16[64, 64], z: bf16[64, 64]) seed=3 {\n"
    "  param w: bf16[64, 64] = normal(0, 0.3)\n"
    "  return y = op.matmul(x + w, w), z = x * w\n}\n"};

static bool run(const takt_model *m, const takt_plan_options *o, char *to)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    bool is_run = EXPECT_OK(ctx, takt_plan_create(m, o, &plan)) &&
                  EXPECT_OK(ctx, takt_session_create(plan, NULL, &s)) &&
                  EXPECT_OK(ctx, takt_view_random(ctx, takt_session_input(s, 0), 3, 1)) &&
                  EXPECT_OK(ctx, takt_session_run(s));
    for (size_t i = 0; is_run && i < 2; i++) {
        const takt_tensor_view *y = takt_session_output(s, i);
        const size_t bytes = K * K * (size_t)takt_dtype_bits(y->dtype) / 8;
        memcpy(to + i * K * K * sizeof(float), y->data, bytes);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    return is_run;
}

int main(void)
{
    static char want[2 * K * K * sizeof(float)], got[sizeof want];
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return test_done();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        takt_model *m = run_model(ctx, texts[i]);
        for (int level = 0; m != NULL && level < 4; level++) {
            takt_plan_options o = {.threads = 1};
            memset(got, 0, sizeof got);
            EXPECT_OK(ctx, takt_opts_level(&o, level));
            if (run(m, &o, got))
                EXPECT(level == 0 || memcmp(want, got, sizeof got) == 0, "model %zu at -O%d", i,
                       level);
            memcpy(want, got, sizeof got);
        }
        takt_model_destroy(m);
    }
    takt_ctx_destroy(ctx);
    return test_done();
}
