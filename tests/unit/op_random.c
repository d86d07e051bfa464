/* op_random.c - the distributions that random ops draw from, and that every draw can be repeated.
 */
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "test.h"

enum { COUNT = 20000 };

static takt_ctx *ctx;

static const char *const texts[] = {
    "model m(step: u64[]) -> f32[20000] {\n"
    "  return random_uniform(seed, step, base, stream=1, low=-1, high=3, shape=[20000])\n}\n",
    "model m(step: u64[]) -> f32[20000] {\n"
    "  return random_normal(seed, step, base, stream=2, mean=2, deviation=3, shape=[20000])\n}\n",
    "model m(step: u64[]) -> f32[20000] {\n"
    "  p = broadcast(constant(f32[], [0.3]), shape=[20000])\n"
    "  return bernoulli(p, seed, step, base, stream=3)\n}\n",
    "model m(step: u64[]) -> f32[20000] {\n" /* softmax: 0.1, 0.2, 0.7 */
    "  p = log(constant(f32[1, 3], [1, 2, 7]))\n"
    "  k = multinomial(p, seed, step, base, stream=4, samples=20000)\n"
    "  return reshape(cast(k, dtype=f32), shape=[20000])\n}\n",
    "model m(step: u64[]) -> f32[20000] {\n"
    "  x = broadcast(constant(f32[], [1]), shape=[20000])\n"
    "  y, kept = op.dropout(x, seed, step, base, stream=5, rate=0.2)\n"
    "  return y\n}\n",
};
/* Mean and variance of each. */
static const double mean[] = {1, 2, 0.3, 1.6, 1}, variance[] = {16 / 12.0, 9, 0.21, 0.44, 0.25};

static bool draw(const char *backend, size_t i, uint64_t step, float *out)
{
    char text[1024];
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const char *line = strchr(texts[i], '\n') + 1;
    snprintf(text, sizeof text,
             "%.*s  seed = constant(u64[], [42])\n  base = constant(u64[], [0])\n%s",
             (int)(line - texts[i]), texts[i], line);
    const takt_plan_options options = {.backend = backend};
    bool good = EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &m));
    good = good && EXPECT_OK(ctx, takt_plan_create(m, &options, &plan));
    good = good && EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    if (good) {
        *(uint64_t *)takt_session_input(s, 0)->data = step;
        good = EXPECT_OK(NULL, takt_session_run(s));
        memcpy(out, takt_session_output(s, 0)->data, COUNT * sizeof *out);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    return good;
}

/* Five standard errors of mean and (roughly) of variance. */
static void moments(size_t i, const float *x)
{
    double sum = 0, square = 0;
    for (size_t k = 0; k < COUNT; k++) {
        sum += (double)x[k];
        square += ((double)x[k] - mean[i]) * ((double)x[k] - mean[i]);
    }
    EXPECT(fabs(sum / COUNT - mean[i]) < 5 * sqrt(variance[i] / COUNT), "model %zu: mean %g", i,
           sum / COUNT);
    EXPECT(fabs(square / COUNT - variance[i]) < 0.06 * variance[i] + 0.01, "model %zu: variance %g",
           i, square / COUNT);
}

static void distributions(void)
{
    static float first[COUNT], again[COUNT], other[COUNT], plain[COUNT];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!draw("cpu", i, 7, first) || !draw("cpu", i, 7, again) || !draw("cpu", i, 8, other) ||
            !draw("ref", i, 7, plain))
            continue;
        moments(i, first);
        EXPECT(memcmp(first, again, sizeof first) == 0, "model %zu", i);
        EXPECT(memcmp(first, other, sizeof first) != 0, "model %zu", i);
        size_t same = 0;
        for (size_t k = 0; k < COUNT; k++)
            same += fabsf(first[k] - plain[k]) <= 1e-5F;
        EXPECT(same == COUNT, "model %zu: ref draws %zu other numbers", i, COUNT - same);
    }
}

int main(void)
{
    if (EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        distributions();
    takt_ctx_destroy(ctx);
    return test_done();
}
