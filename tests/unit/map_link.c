/* map_link.c - operations that run in one pass have the same bits as one by one, also if a value, a
 * mask or an expanded operand would overwrite another. */
#include "util/run_once.h"

static takt_ctx *ctx;

static const char *const texts[] = {
    /* u, which is read later, would be stored over the mask of w */
    ("model mask(x: f32[1000], y: f32[1000]) {\n  w = select(x < y, x * y, y)\n  u = w + x\n"
     "  t = u * y\n  return exp(t) + u\n}\n"),
    /* c would be expanded over e, which the product reads */
    ("model expanded(x: f32[100, 7], y: f32[100, 7], c: f32[100, 1]) {\n  e = exp(x + y)\n"
     "  return e * x + c\n}\n"),
    /* values that are results, too, or are read after the next operation */
    ("model later(x: f32[1000], y: f32[1000]) {\n  a = x + y\n  b = a * x\n  c = b - y\n"
     "  d = max(c, b)\n  return d / 4.0 - a, b, c\n}\n"),
    ("model result(x: f32[1000], y: f32[1000]) {\n  b = (x + y) * x\n  c = b - y\n"
     "  return c, relu(c)\n}\n"),
    /* operands on either side, one value for all, and a predicate at the end */
    ("model sides(x: f32[1000], o: f32[1]) {\n  a = 1.5 - x\n  b = o / a\n  c = b / o\n"
     "  p = min(2.0, c) < x\n  return select(p, -c, square(c)), p\n}\n"),
    /* one mask for all elements */
    ("model single(x: f32[1000], y: f32[1000], o: f32[1]) {\n  a = x * y\n"
     "  return abs(select(o < 0.5, a, y)) + x\n}\n"),
};

int main(void)
{
    enum { MOST = 4000 };
    static float got[MOST], want[MOST];
    const takt_plan_options plain = {.level = -1};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        takt_model *m = run_model(ctx, texts[i]);
        if (m == NULL)
            continue;
        const size_t count = run_once(ctx, m, &plain, (run_results){want, MOST});
        run_once(ctx, m, NULL, (run_results){got, MOST});
        EXPECT(count > 0 && memcmp(got, want, count * sizeof *got) == 0, "model %zu", i);
        takt_model_destroy(m);
    }
    takt_ctx_destroy(ctx);
    return test_done();
}
