/* lengths_restart.c - runs that start over, because sizes found at run time exceed the plan:
 * measured, short of memory, and while sizes change from run to run. */
#include <string.h>

#include <takt/takt.h>

#include "base/ctx.h"
#include "base/error.h"
#include "test.h"
#include "util/inject.h"

static takt_ctx *ctx;

static takt_model *load(const char *model)
{
    takt_model *m = NULL;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", model, strlen(model), NULL, &m));
    return m;
}

static takt_session *open(const takt_model *m)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    if (EXPECT_OK(ctx, takt_plan_create(m, &(takt_plan_options){.threads = 1}, &plan)))
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    takt_plan_destroy(plan);
    return s;
}

static const char shape_text[] = "model m(x: f32[24], s: i64[2]) {\n"
                                 "  l = length(s, names=[a, b], bounds=[24, 24], tops=[24, 1])\n"
                                 "  y = reshape(x, shape=[a, b, floordiv(24, max(1, a * b))])\n"
                                 "  return sums = reduce_sum(y, axes=[0, 2]), z = y * 2.0\n"
                                 "}\n";

/* Steps are measured in the plan that previous runs have settled on. */
static void profiles(void)
{
    takt_model *m = load(shape_text);
    takt_session *s = open(m);
    takt_profile *profile = NULL;
    EXPECT(takt_session_input(s, 0) != NULL);
    memcpy(takt_session_input(s, 1)->data, (const int64_t[]){1, 24}, 2 * sizeof(int64_t));
    EXPECT_OK(ctx, takt_profile_create(s, &(takt_profile_options){.runs = 3}, &profile));
    EXPECT_EQ(takt_session_output(s, 0)->dims[0], 24);
    takt_profile_destroy(profile);
    takt_session_destroy(s);
    takt_model_destroy(m);
}

/* [1, 24] and [24, 1] in turns, as its state says. */
static const char turns_text[] = "model m(x: f32[24]) {\n"
                                 "  state n: f32[1] = 1\n"
                                 "  next n = 25.0 - n\n"
                                 "  s = cast(concat(n, 25.0 - n, axis=0), dtype=i64)\n"
                                 "  l = length(s, names=[a, b], bounds=[24, 24], tops=[24, 1])\n"
                                 "  y = reshape(x, shape=[a, b, floordiv(24, max(1, a * b))])\n"
                                 "  return sums = reduce_sum(y, axes=[0, 2]), z = y * 2.0\n"
                                 "}\n";

/* A run that would begin again while its steps are measured is refused, and can be run later. */
static void refuses_turns(void)
{
    takt_model *m = load(turns_text);
    takt_session *s = open(m);
    takt_profile *profile = NULL;
    EXPECT(takt_session_input(s, 0) != NULL);
    EXPECT_IS(takt_profile_create(s, &(takt_profile_options){.runs = 4}, &profile), !=, TAKT_OK);
    EXPECT(takt_session_error(s)->id == TAKT_E_STATE &&
               strstr(takt_session_error(s)->message, "measured") != NULL,
           "%s", takt_session_error(s)->message);
    int64_t last = 0;
    for (int i = 0; i < 4; i++) {
        EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
        const int64_t rows = takt_session_output(s, 1)->dims[0];
        EXPECT(rows == 1 || rows == 24);
        EXPECT_IS(rows, !=, last);
        last = rows;
    }
    takt_session_destroy(s);
    takt_model_destroy(m);
}

/* A weight that is read both directly and packed. */
static const char weighted_text[] =
    "model m(i: i64[4], x: f32[24], s: i64[2]) seed=1 {\n"
    "  param table: f32[100, 32] = normal(0, 1)\n"
    "  l = length(s, names=[a, b], bounds=[24, 24], tops=[24, 1])\n"
    "  y = reshape(x, shape=[a, b, floordiv(24, max(1, a * b))])\n"
    "  e = gather(table, i, axis=0)\n"
    "  return z = y * 2.0, w = matmul(e, transpose(table, perm=[1, 0]))\n"
    "}\n";

static void run_weighted(takt_session *s, float *w)
{
    static const int64_t shapes[][2] = {{1, 24}, {2, 3}, {24, 1}, {1, 24}};
    for (size_t i = 0; i < 4; i++) {
        for (int64_t k = 0; k < 4; k++)
            ((int64_t *)takt_session_input(s, 0)->data)[k] = 11 * k + (int64_t)i;
        EXPECT(takt_session_input(s, 1) != NULL);
        memcpy(takt_session_input(s, 2)->data, shapes[i], sizeof shapes[i]);
        EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
        EXPECT_EQ(takt_session_output(s, 0)->dims[0], shapes[i][0]);
        memcpy(w + i * 400, takt_session_output(s, 1)->data, 400 * sizeof *w);
    }
}

/* The weights of a model that is given away are there for plans that a run needs later. */
static void keeps_weights(void)
{
    float want[1600], got[1600];
    takt_model *m = load(weighted_text);
    takt_session *s = open(m);
    takt_plan *plan = NULL;
    run_weighted(s, want);
    takt_session_destroy(s);
    takt_model_destroy(m);
    m = load(weighted_text);
    s = NULL;
    if (EXPECT_OK(ctx, takt_plan_take(m, &(takt_plan_options){.threads = 1}, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        run_weighted(s, got);
        EXPECT_EQ(memcmp(got, want, sizeof want), 0);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
}

/* ---- memory that runs out ---- */

static takt_status run_shape(takt_session *s, const int64_t shape[2])
{
    const takt_tensor_view *a = takt_session_input(s, 0), *b = takt_session_input(s, 1);
    if (a == NULL || b == NULL || a->data == NULL || b->data == NULL)
        return takt_session_error(s)->status;
    for (int k = 0; k < 24; k++)
        ((float *)a->data)[k] = (float)k;
    memcpy(b->data, shape, 2 * sizeof *shape);
    TAKT_TRY(takt_session_run(s));
    EXPECT_EQ(takt_session_output(s, 1)->dims[0], shape[0]);
    EXPECT_EQ(((const float *)takt_session_output(s, 1)->data)[23], 46);
    return TAKT_OK;
}

/* A run that starts over, and one that is resized in place. One that ran out of memory can be
 * repeated later. */
static takt_status scenario(takt_inject *inject, void *user)
{
    static const int64_t shapes[][2] = {{2, 3}, {1, 24}, {2, 3}};
    takt_config config = {0};
    takt_ctx *own;
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    status = takt_model_load_memory(own, "m", shape_text, strlen(shape_text), NULL, &m);
    if (status == TAKT_OK)
        status = takt_plan_create(m, &(takt_plan_options){.threads = 1}, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, &s);
    for (size_t i = 0; i < 3 && status == TAKT_OK; i++) {
        status = run_shape(s, shapes[i]);
        if (status == TAKT_OK || inject->mode == TAKT_INJECT_EVER)
            continue;
        EXPECT(run_shape(s, shapes[i]) == TAKT_OK, "%s", takt_session_error(s)->message);
        EXPECT(run_shape(s, shapes[0]) == TAKT_OK, "%s", takt_session_error(s)->message);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    takt_ctx_destroy(own);
    return status;
}

static void sweep(void)
{
    const takt_sweep_report r = takt_sweep_some(scenario, NULL, TAKT_INJECT_MEMORY, 400);
    EXPECT(r.is_good && r.runs > 100, "%s", r.message);
}

int main(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return test_done();
    profiles();
    refuses_turns();
    keeps_weights();
    sweep();
    takt_ctx_destroy(ctx);
    return test_done();
}
