/* einsum_order.c - the bits of an einsum do not depend on how many rows are computed at once. */
#include <string.h>

#include <takt/takt.h>

#include "test.h"

enum { ROWS = 64, INNER = 40 };

/* With few rows it is cheaper to multiply from the left, with many from the right. */
static const char text[] =
    "model m(x: f32[n, 40], c: bool[]) seed=1 {\n"
    "  param a: [40, 40] = uniform(-1, 1)\n"
    "  param b: [40, 40] = uniform(-1, 1)\n"
    "  y = einsum(x, a, b, equation=\"ni,ij,jk->nk\")\n"
    "  z = if(c, x, a, b,\n"
    "    then=graph(x: f32[n, 40], a: f32[40, 40], b: f32[40, 40]) {\n"
    "      return einsum(x, a, b, equation=\"ni,ij,jk->nk\") },\n"
    "    else=graph(x: f32[n, 40], a: f32[40, 40], b: f32[40, 40]) { return x })\n"
    "  return y, z\n}\n";

static takt_ctx *ctx;
static float x[ROWS][INNER];

static void run(const takt_model *model, size_t rows, float (*y)[INNER], float (*z)[INNER])
{
    char sizes[24];
    snprintf(sizes, sizeof sizes, "n=%zu", rows);
    const takt_plan_options options = {.sizes = sizes, .threads = 1};
    unsigned char yes = 1;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_tensor_view view = {
        .dtype = TAKT_F32, .rank = 2, .dims = {(int64_t)rows, INNER}, .data = x};
    const takt_tensor_view flag = {.dtype = TAKT_BOOL, .data = &yes};
    if (!EXPECT_OK(ctx, takt_plan_create(model, &options, &plan)) ||
        !EXPECT_OK(ctx, takt_session_create(plan, NULL, &s)))
        return;
    EXPECT_OK(ctx, takt_session_bind(s, "x", &view));
    EXPECT_OK(ctx, takt_session_bind(s, "c", &flag));
    EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
    memcpy(y, takt_session_output(s, 0)->data, rows * sizeof *y);
    memcpy(z, takt_session_output(s, 1)->data, rows * sizeof *z);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
}

static void rows_alone_and_together(void)
{
    static float one[ROWS][INNER], one_inside[ROWS][INNER], all[ROWS][INNER], inside[ROWS][INNER];
    takt_model *model = NULL;
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < INNER; k++)
            x[i][k] = ((float)((i * 31 + k * 17) % 97) - 48.0f) / 37.0f;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model));
    run(model, 1, one, one_inside);
    run(model, ROWS, all, inside);
    EXPECT(memcmp(one[0], all[0], sizeof one[0]) == 0, "%.9g and %.9g", (double)one[0][0],
           (double)all[0][0]);
    EXPECT(memcmp(one_inside[0], inside[0], sizeof one[0]) == 0, "in a subgraph: %.9g and %.9g",
           (double)one_inside[0][0], (double)inside[0][0]);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(rows_alone_and_together)
