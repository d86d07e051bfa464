/* grow.c - caches that exporters write as an input and an output become state: rows are appended in
 * place, and results equal those of a model that gets all rows. */
#include <string.h>

#include <takt/takt.h>

#include "base/ctx.h"
#include "base/error.h"
#include "test.h"
#include "util/inject.h"

/* Sums over all rows, weighted by a mask whose size is their number. */
static const char masked[] =
    "model m(x: f32[b, s, 2, 3], past: f32[b, 2, p, 3], mask: f32[b, p + s]) {\n"
    "  new = transpose(x, perm=[0, 2, 1, 3])\n"
    "  all = concat(past, new, axis=2)\n"
    "  weights = reshape(mask, shape=[b, 1, p + s, 1])\n"
    "  return y = reduce_sum(all * weights, axes=[2]), present = all\n"
    "}\n";

/* The same without a mask: a state counts the rows. */
static const char counted[] = "model m(x: f32[b, s, 2, 3], past: f32[b, 2, p, 3]) {\n"
                              "  all = concat(past, transpose(x, perm=[0, 2, 1, 3]), axis=2)\n"
                              "  return y = reduce_sum(all, axes=[2]), present = all\n"
                              "}\n";

/* Rows are appended in a different axis order than the cache's, which is also read directly. */
static const char turned[] =
    "model m(x: f32[b, s, 2, 3], past: f32[b, 2, p, 3]) {\n"
    "  old = transpose(transpose(past, perm=[2, 0, 1, 3]), perm=[1, 2, 3, 0])\n"
    "  all = concat(old, transpose(x, perm=[0, 2, 3, 1]), axis=-1)\n"
    "  y = reduce_sum(past, axes=[2]) + reduce_sum(x, axes=[1])\n"
    "  return y = y, present = cast(transpose(all, perm=[0, 1, 3, 2]), dtype=f32)\n"
    "}\n";

/* Branches that became part of the graph: one has all samples, the other none. */
static const char merged[] =
    "model m(x: f32[b, s, 2], past: f32[b, p, 2], c: bool[1]) {\n"
    "  taken = reshape(c, shape=[])\n"
    "  n = dim(x, axis=0)\n"
    "  zero = constant(i64[], [0])\n"
    "  old = dim(past, axis=1)\n"
    "  new = dim(x, axis=1)\n"
    "  i = reshape(select(taken, n, zero), shape=[1])\n"
    "  j = reshape(select(taken, zero, n), shape=[1])\n"
    "  k = reshape(select(taken, old + new, new), shape=[1])\n"
    "  f = length(concat(i, j, k), names=[g, h, r], bounds=[b, b, p + s], tops=[b, b, p + s])\n"
    "  all = concat(sized(past, shape=[g, p, 2]), sized(x, shape=[g, s, 2]) * 2.0, axis=1)\n"
    "  alone = sized(x, shape=[h, s, 2]) * 0.5\n"
    "  rows = concat(reshape(all, shape=[2*g*p + 2*g*s]), reshape(alone, shape=[2*h*s]))\n"
    "  return present = reshape(sized(rows, shape=[2*b*r]), shape=[b, r, 2])\n"
    "}\n";

enum { BATCH = 2, ROOM = 12, SPARE = 4, WIDTH = 6 };

static takt_ctx *ctx;
static float x[BATCH * ROOM * WIDTH], mask[BATCH * (ROOM + SPARE)];
static float sums[BATCH * WIDTH]; /* over the rows so far */

static takt_model *load(const char *text)
{
    takt_model *m = NULL;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m));
    return m;
}

static takt_session *open(const char *text, const char *sizes, const char *backend)
{
    takt_model *m = load(text), *grown = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_plan_options o = {.sizes = sizes, .threads = 1, .backend = backend};
    if (EXPECT_OK(ctx, takt_model_grow(m, text == masked ? ROOM + SPARE : ROOM, &grown)) &&
        EXPECT_OK(ctx, takt_plan_create(grown, &o, &plan)))
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    takt_plan_destroy(plan);
    takt_model_destroy(grown);
    takt_model_destroy(m);
    return s;
}

/* `rows` more of them behind `past`. */
static takt_status run(takt_session *s, int64_t past, int64_t rows, bool has_mask)
{
    const takt_tensor_view v = {
        .dtype = TAKT_F32, .rank = 4, .dims = {BATCH, rows, 2, 3}, .data = x};
    const takt_tensor_view w = {
        .dtype = TAKT_F32, .rank = 2, .dims = {BATCH, past + rows}, .data = mask};
    for (int64_t i = 0; i < BATCH * rows * WIDTH; i++)
        x[i] = (float)((past * 7 + i * 5) % 11) - 4;
    for (int64_t i = 0; i < BATCH * (ROOM + SPARE); i++)
        mask[i] = 1;
    EXPECT(takt_session_bind(s, "x", &v) == TAKT_OK, "%s", takt_session_error(s)->message);
    EXPECT(!has_mask || takt_session_bind(s, "mask", &w) == TAKT_OK);
    return takt_session_run(s);
}

static void add(int64_t rows)
{
    for (int64_t b = 0; b < BATCH; b++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t k = 0; k < WIDTH; k++)
                sums[b * WIDTH + k] += x[(b * rows + i) * WIDTH + k];
}

static void grows(const char *text, const char *sizes, const char *backend)
{
    static const int64_t pieces[] = {3, 1, 1, 4, 1, 2};
    const bool has_mask = text == masked;
    takt_session *s = open(text, sizes, backend);
    if (s == NULL)
        return;
    EXPECT_EQ(takt_session_input_count(s), (has_mask ? 2 : 1));
    EXPECT_EQ(takt_session_output_count(s), 1);
    for (int round = 0; round < 2; round++) {
        int64_t past = 0;
        memset(sums, 0, sizeof sums);
        for (size_t i = 0; i < 6; past += pieces[i++]) {
            EXPECT(run(s, past, pieces[i], has_mask) == TAKT_OK, "%lld + %lld: %s", (long long)past,
                   (long long)pieces[i], takt_session_error(s)->message);
            add(pieces[i]);
            EXPECT(memcmp(takt_session_output(s, 0)->data, sums, sizeof sums) == 0,
                   "%lld rows, then %lld", (long long)past, (long long)pieces[i]);
        }
        EXPECT(run(s, ROOM + 1, 1, has_mask) != TAKT_OK, "there is no room for another row");
        if (!has_mask)
            takt_session_reset(s);
    }
    takt_session_destroy(s);
}

static void refuses(void)
{
    takt_model *m = load(masked), *grown = NULL;
    EXPECT_STATUS(ctx, takt_model_grow(m, 0, &grown), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_model_grow(NULL, 4, &grown), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_model_grow(m, 4, NULL), TAKT_ERR_ARGUMENT);
    takt_model_destroy(m);
    m = load("model m(x: f32[n], y: f32[n]) { return z = concat(x * 2.0, y) }\n");
    EXPECT_STATUS(ctx, takt_model_grow(m, 4, &grown), TAKT_ERR_ARGUMENT);
    EXPECT(grown == NULL && strstr(takt_last_error_info(ctx)->message, "rows appended") != NULL);
    takt_model_destroy(m);
    m = load("model m(x: f32[2, n, 3], past: f32[2, p, 3]) {\n"
             "  all = concat(transpose(past, perm=[1, 0, 2]), transpose(x, perm=[1, 0, 2]))\n"
             "  return present = transpose(all, perm=[2, 0, 1])\n"
             "}\n");
    EXPECT_STATUS(ctx, takt_model_grow(m, 4, &grown), TAKT_ERR_ARGUMENT);
    EXPECT(grown == NULL && strstr(takt_last_error_info(ctx)->message, "rows appended") != NULL);
    takt_model_destroy(m);
}

static takt_status scenario(takt_inject *inject, void *user)
{
    const char *text = user;
    takt_config config = {0};
    takt_ctx *own;
    takt_model *m = NULL, *grown = NULL;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status == TAKT_OK)
        status = takt_model_load_memory(own, "m", text, strlen(text), NULL, &m);
    if (status == TAKT_OK)
        status = takt_model_grow(m, 4, &grown);
    takt_model_destroy(grown);
    takt_model_destroy(m);
    takt_ctx_destroy(own);
    return status;
}

/* Every allocation may fail. */
static void falls_short(const char *text)
{
    const takt_sweep_report r = takt_sweep(scenario, (void *)(uintptr_t)text, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good && r.runs > 20, "%s (%llu runs)", r.message, (unsigned long long)r.runs);
}

/* The cache of a branch is state, and no longer an input or output. */
static void in_a_branch(void)
{
    takt_model *m = load(merged), *grown = NULL;
    if (EXPECT_OK(ctx, takt_model_grow(m, 4, &grown)))
        EXPECT(takt_model_input_count(grown) == 2 && takt_model_output_count(grown) == 0);
    takt_model_destroy(grown);
    takt_model_destroy(m);
}

/* Outputs without inputs of their own, after one that has some. */
static void leaves(void)
{
    takt_model *grown = NULL, *m = load("model m(x: f32[n, 2], past: f32[p, 2]) {\n"
                                        "  all = concat(past, x, axis=0)\n"
                                        "  return present = all, same = x, again = all\n"
                                        "}\n");
    EXPECT_OK(ctx, takt_model_grow(m, 4, &grown));
    takt_model_destroy(grown);
    takt_model_destroy(m);
}

int main(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return test_done();
    grows(masked, "b=2,p=0..12,s=1..4", "cpu");
    grows(masked, "b=2,p=0..12,s=1..4", "ref");
    grows(counted, "b=2,s=1..4", "cpu");
    grows(turned, "b=2,s=1..4", "cpu");
    grows(turned, "b=2,s=1..4", "ref");
    refuses();
    leaves();
    in_a_branch();
    falls_short(turned);
    falls_short(counted);
    falls_short(merged);
    takt_ctx_destroy(ctx);
    return test_done();
}
