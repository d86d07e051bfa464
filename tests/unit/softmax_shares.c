/* softmax_shares.c - shares that would be denormal are zero, in every variant and every length.
 *
 * x86-64 multiplies a hundred times slower by a denormal number, which windows masked by -100 had
 * in all their rows.
 */
#include "test.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

enum { ROWS = 37 }; /* whole vectors of rows and a rest */

static const float below[] = {-87.25f, -87.35f, -88, -95, -100, -103.5f, -104, -1e4f, -INFINITY};
enum { BELOW = sizeof below / sizeof *below };

static takt_ctx *ctx;

/* The greatest element is at a place of its own in each row; what is far below it, around it. */
static float element(size_t row, size_t i, size_t n)
{
    const size_t top = row % n;
    return i == top ? 3.0f : 3.0f + below[(row + 2 * i) % BELOW];
}

static void check(const float *y, size_t n, const char *isa)
{
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = 0; i < n; i++) {
            const float x = element(row, i, n), share = y[row * n + i];
            const bool is_zero = x - 3.0f < -87.3f;
            EXPECT(is_zero ? share == 0 : share >= FLT_MIN / 2,
                   "%s, %zu elements: the share of %g is %g", isa, n, (double)(x - 3.0f),
                   (double)share);
            EXPECT(x < 3.0f || share == 1.0f, "%s, %zu elements: the greatest has %g", isa, n,
                   (double)share);
        }
}

/* `isa` NULL: the best. AVX2 is not on every machine. */
static void run(const takt_model *model, const char *isa, size_t n)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_plan_options o = {.threads = 1, .isa = isa};
    const bool is_here = takt_plan_create(model, &o, &plan) == TAKT_OK;
    isa = isa != NULL ? isa : "the best";
    EXPECT(is_here || strcmp(isa, "avx2") == 0, "%s: no plan", isa);
    if (is_here && EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        float *x = takt_session_input(s, 0)->data;
        for (size_t k = 0; k < ROWS * n; k++)
            x[k] = element(k / n, k % n, n);
        if (EXPECT_OK(ctx, takt_session_run(s)))
            check(takt_session_output(s, 0)->data, n, isa);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
}

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void small_shares_are_zero(void)
{
    static const size_t sizes[] = {2, 5, 16, 49, 64, 131, 5000};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        char text[100];
        takt_model *model = NULL;
        snprintf(text, sizeof text, "model m(x: f32[%d, %zu]) { return y = op.softmax(x) }", ROWS,
                 sizes[k]);
        if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model)))
            continue;
        run(model, "scalar", sizes[k]);
        run(model, "avx2", sizes[k]);
        run(model, NULL, sizes[k]);
        takt_model_destroy(model);
    }
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, small_shares_are_zero, end)
