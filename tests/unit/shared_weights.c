/* shared_weights.c - a constant that several steps read, each packed for its own shape: results are
 * as with separate constants, and steps share a pack only if its form is the same. */
#include "util/run_once.h"

enum { MOST = 20000 };

static takt_ctx *ctx;

#define FLAT(v, count) "op.reshape(" v ", shape=[" count "])"
#define BOTH(a, b) "  return op.concat(" a ", " b ", axis=0)\n}\n"

static const char *const texts[] = {
    /* patches are padded to a multiple of 4 channels, pixels are not */
    ("model patches(x: f32[1, 3, 9, 9]) seed=1 {\n  param w: f32[20, 3, 1, 1] = normal(0, 1)\n"
     "  a = op.conv(x, w, pad=[1, 1, 1, 1])\n  b = op.conv(x, w)\n" BOTH(FLAT("a", "2420"),
                                                                         FLAT("b", "1620"))),
    ("model pixels(x: f32[1, 3, 9, 9]) seed=1 {\n  param w: f32[20, 3, 1, 1] = normal(0, 1)\n"
     "  b = op.conv(x, w)\n  a = op.conv(x, w, stride=[2, 2])\n" BOTH(FLAT("b", "1620"),
                                                                      FLAT("a", "500"))),
    ("model groups(x: f32[1, 6, 9, 9]) seed=1 {\n  param w: f32[20, 3, 1, 1] = normal(0, 1)\n"
     "  a = op.conv(x, w, groups=2, stride=[2, 2])\n  b = op.conv(x[:, :3], w)\n" BOTH(
         FLAT("a", "500"), FLAT("b", "1620"))),
    ("model lines(x: f32[2, 5, 40]) seed=1 {\n  param w: f32[33, 5, 1] = normal(0, 1)\n"
     "  a = op.conv(x, w, stride=[3])\n  b = op.conv(x, w)\n" BOTH(FLAT("a", "924"),
                                                                   FLAT("b", "2640"))),
    /* a column, and the row that it is on its side */
    ("model vector(x: f32[16, 7], z: f32[5, 1]) seed=1 {\n  param w: f32[7, 1] = normal(0, 1)\n"
     "  a = matmul(x, w)\n  b = op.matmul(z, w, transpose_b=true)\n" BOTH(FLAT("a", "16"),
                                                                          FLAT("b", "35"))),
    ("model turned(x: f32[16, 7], z: f32[5, 1]) seed=1 {\n  param w: f32[7, 1] = normal(0, 1)\n"
     "  b = op.matmul(z, w, transpose_b=true)\n  a = matmul(x, w)\n" BOTH(FLAT("b", "35"),
                                                                          FLAT("a", "16"))),
    ("model square(x: f32[16, 40]) seed=1 {\n  param w: f32[40, 40] = normal(0, 1)\n"
     "  a = matmul(x, w)\n  b = op.matmul(x, w, transpose_b=true)\n" BOTH(FLAT("a", "640"),
                                                                          FLAT("b", "640"))),
};

static void agree(const char *text, const char *numerics, double most)
{
    static float got[MOST], want[MOST];
    takt_model *m = run_model(ctx, text);
    if (m == NULL)
        return;
    const takt_plan_options apart = {.threads = 1, .backend = "ref"};
    const takt_plan_options packed = {.threads = 2, .numerics = numerics};
    const size_t count = run_once(ctx, m, &apart, (run_results){want, MOST});
    EXPECT_EQ(run_once(ctx, m, &packed, (run_results){got, MOST}), count);
    const double distance = run_distance(got, want, count);
    EXPECT(distance < most, "%.20s, %s: %g from the interpreter", text, numerics, distance);
    takt_model_destroy(m);
}

int main(void)
{
    if (EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            agree(texts[i], "exact", 1e-5);
            agree(texts[i], "fast", 0.02);
        }
    takt_ctx_destroy(ctx);
    return test_done();
}
