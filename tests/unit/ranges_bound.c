/* ranges_bound.c - what a plan reserves for a range is a bound of every size in it, on any number
 * of threads: fewer rows cut into other tasks need no more scratch. And products of all sizes are
 * resized in place: only sizes whose steps differ get a separate plan. */
#include <string.h>

#include <takt/takt.h>

#include "api/ranges.h"
#include "base/ctx.h"
#include "plan/resize.h"
#include "test.h"

typedef struct sample {
    const char *text, *sizes;
    int64_t high; /* of the name "n", which goes down to 1 */
    size_t apart; /* sizes that may have a plan of their own */
} sample;

static const sample samples[] = {
    {"model m(x: f32[n, 128]) seed=3 {\n"
     "  return y = dense(x, 512, act=gelu) |> dense(128)\n"
     "}\n",
     "n=1..128", 128, 0},
    {"model m(x: f32[2, n, 64]) seed=3 {\n"
     "  return y = transformer_block(x, heads=4, hidden=256)\n"
     "}\n",
     "n=1..96", 96, 0},
    {"model m(x: f32[n, 600], y: f32[600, 90]) seed=3 {\n"
     "  return y = matmul(x, y)\n"
     "}\n",
     "n=1..80", 80, 0},
    {"model m(x: f32[1, 24, n, 9]) seed=3 {\n"
     "  return y = conv(x, 40, kernel=1) |> conv(24, kernel=3, pad=1, act=relu)\n"
     "}\n",
     "n=1..70", 70, 70},
    {"model m(x: f32[1, 8, n, n]) seed=3 {\n"
     "  return y = reduce_mean(conv(x, 8, kernel=3, pad=1), axes=[2, 3])\n"
     "}\n",
     "n=1..64", 64, 64},
    {"model m(a: i8[n, 96]) {\n"
     "  param b: i8[96, 72] = ones()\n"
     "  return y = integer_matmul(a, b)\n"
     "}\n",
     "n=1..90", 90, 0},
};

static takt_ctx *ctx;

static void check(const takt_model *m, const sample *of, int threads)
{
    takt_plan *top = NULL;
    takt_resizer *r = NULL;
    size_t apart = 0;
    const takt_plan_options o = {.threads = threads, .sizes = of->sizes};
    if (!EXPECT_OK(ctx, takt_plan_create(m, &o, &top)))
        return;
    EXPECT_OK(ctx, takt_plan_resizer(top, &r));
    for (int64_t n = of->high; n >= 1 && EXPECT_EQ(top->name_count, 1); n--) {
        takt_plan *plan = NULL;
        bool is_done = false;
        if (EXPECT_OK(ctx, takt_plan_at(top, &n, true, &plan)))
            EXPECT(plan->arena_bytes <= top->arena_bytes, "%s, n=%d, %d threads: %zu of %zu bytes",
                   of->text, (int)n, threads, plan->arena_bytes, top->arena_bytes);
        takt_plan_release_internal(plan);
        if (r != NULL)
            EXPECT_OK(ctx, takt_resizer_set(r, &n, &is_done));
        apart += !is_done;
    }
    EXPECT(apart <= of->apart, "%s, %d threads: %zu sizes have a plan of their own", of->text,
           threads, apart);
    takt_resizer_destroy(r);
    takt_plan_destroy(top);
}

int main(void)
{
    static const int threads[] = {1, 2, 4, 16};
    if (EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
            takt_model *m = NULL;
            const char *text = samples[i].text;
            if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m)))
                for (size_t t = 0; t < sizeof threads / sizeof *threads; t++)
                    check(m, &samples[i], threads[t]);
            takt_model_destroy(m);
        }
    takt_ctx_destroy(ctx);
    return test_done();
}
