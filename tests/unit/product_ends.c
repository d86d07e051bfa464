/* product_ends.c - the epilogue of a product gives the same bits inside its step as separately.
 * Under fast, rows are finished when complete, short ones many at once. A function of the value and
 * a number, such as relu(x) + c, ends a tile by itself: for both orders of operands and every kind
 * of product. What fast keeps in 16 bits between convolutions has other bits, so not here. */
#include "util/run_once.h"

enum { MOST = 3 * 70 * 70 };

static takt_ctx *ctx;

static const char *const texts[] = {
    "model a(x: f32[70, 70]) -> f32[70, 70] {\n  return tanh(matmul(x, x) * x)\n}\n",
    ("model b(x: f32[3, 70, 70]) -> f32[3, 70, 70] {\n"
     "  return tanh(matmul(x, x) * x) + x[1:2, 3:4]\n}\n"),
    "model c(x: f32[1, 8, 19, 23]) { return relu(conv(x, 21, 1)) + 0.375 }",
    "model d(x: f32[2, 3, 33, 31]) { return relu(conv(x, 17, 3, stride=2)) - 1.5 }",
    "model e(x: f32[1, 8, 19, 23]) { return 2.5 / conv(x, 21, 5) }",
    "model f(x: f32[1, 24, 17, 13]) { return 0.0625 - relu(depthwise(x, 3)) }",
    "model g(x: f32[5, 37]) { return relu(dense(x, 71)) * 1.1 }",
    "model h(x: f32[1, 37]) { return 1.0 - dense(x, 71) }",
    "model i(x: f32[65, 64], r: f32[65, 96]) { return relu(dense(x, 96) + r) + -0.7 }",
    "model j(x: f32[1, 8, 19, 23]) { return sigmoid(relu(conv(x, 21, 1)) + 0.375) }",
    "model k(x: f32[5, 37], n: f32[5, 1]) { return relu(dense(x, 71)) + n }",
};

static void agree(const char *text, const char *numerics)
{
    static float got[MOST], want[MOST];
    takt_model *m = run_model(ctx, text);
    if (m == NULL)
        return;
    takt_plan_options apart = {.threads = 1, .numerics = numerics};
    EXPECT_OK(ctx, takt_opts_level(&apart, 1));
    const size_t count = run_once(ctx, m, &apart, (run_results){want, MOST});
    for (int threads = 1; threads <= 3; threads++) {
        const takt_plan_options o = {
            .threads = threads, .numerics = numerics, .passes = "-narrow-activations"};
        run_once(ctx, m, &o, (run_results){got, MOST});
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
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            agree(texts[i], "exact");
            agree(texts[i], "fast");
        }
    takt_ctx_destroy(ctx);
    return test_done();
}
