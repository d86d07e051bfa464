/* cpu_rnn_dx.c - gradients of recurrent cells as one step: recognised, and close to the
 * interpreter's.
 */
#include "api/session/session.h"
#include "plan/plan.h"
#include "test.h"
#include "util/inject.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

enum { MOST = 40000 };

static takt_ctx *ctx;

/* All outputs, concatenated. */
typedef struct results {
    float at[MOST];
    size_t count, steps; /* how many steps are gradients of cells */
} results;

static void take(takt_session *s, results *r)
{
    for (size_t i = 0; i < takt_session_output_count(s); i++) {
        const takt_tensor_view *y = takt_session_output(s, i);
        size_t count = 1;
        for (int d = 0; d < y->rank; d++)
            count *= (size_t)y->dims[d];
        if (!EXPECT(r->count + count <= MOST, "%zu results", r->count + count))
            return;
        memcpy(r->at + r->count, y->data, count * sizeof *r->at);
        r->count += count;
    }
}

static bool run(const takt_model *m, const takt_plan_options *o, results *r)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    r->count = r->steps = 0;
    bool ok = EXPECT_OK(ctx, takt_plan_create(m, o, &plan)) &&
              EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    for (size_t i = 0; ok && i < takt_session_input_count(s); i++)
        ok = EXPECT_OK(ctx, takt_view_random(ctx, takt_session_input(s, i), 5, (uint32_t)i));
    for (int k = 0; ok && k < 2; k++)
        ok = EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
    for (size_t i = 0; ok && i < plan->step_count; i++)
        r->steps += strcmp(plan->steps[i].kind, "rnn_dx") == 0;
    if (ok)
        take(s, r);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    return ok;
}

static double distance(const results *a, const results *b)
{
    double most = 0;
    for (size_t i = 0; i < a->count; i++)
        most = fmax(most, fabs((double)a->at[i] - b->at[i]) / (1 + fabs((double)b->at[i])));
    return most;
}

/* The gradients by all parameters of a model around `call`. */
static void check(const char *call, int batch, int length, size_t steps)
{
    static results want, got, other;
    char text[400];
    takt_model *m = NULL, *g = NULL;
    snprintf(text, sizeof text,
             "model m(x: f32[%d, %d, 5]) -> (y: f32[]) seed=3 {\n  h = %s\n"
             "  return y = reduce_sum(h * h)\n}\n",
             batch, length, call);
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m)) &&
        EXPECT_OK(ctx, takt_model_gradient(m, "y", NULL, &g)) &&
        run(g, &(takt_plan_options){.threads = 1}, &got) &&
        run(g, &(takt_plan_options){.backend = "ref"}, &want)) {
        EXPECT(got.steps == steps, "%zu steps\n%s", got.steps, text);
        EXPECT(got.count == want.count && distance(&got, &want) < 1e-4, "%g apart\n%s",
               distance(&got, &want), text);
        for (int threads = 2; threads <= 3; threads++)
            if (run(g, &(takt_plan_options){.threads = threads, .isa = "scalar"}, &other))
                EXPECT(memcmp(other.at, got.at, got.count * sizeof *got.at) == 0,
                       "%d threads: other bits\n%s", threads, text);
    }
    takt_model_destroy(g);
    takt_model_destroy(m);
}

static void cells(void)
{
    static const char *const calls[] = {"gru(x, %d)", "lstm(x, %d)", "gru(x, %d, reverse=true)",
                                        "lstm(x, %d, reverse=true)"};
    static const int units[] = {1, 3, 4, 13, 32}, batches[] = {1, 2, 7, 50};
    for (int i = 0; i < 40; i++) {
        char call[80];
        snprintf(call, sizeof call, calls[i % 4], units[i / 4 % 5]);
        check(call, batches[(i + i / 4) % 4], 1 + i % 6, 1);
    }
}

/* More than one, and one of which only the last state is used. */
static void around(void)
{
    check("gru(x, 6, bidirectional=true)", 3, 4, 2);
    check("lstm(x, 6, layers=2)", 3, 4, 2);
    check("slice(gru(x, 9), axes=[1], start=[3], stop=[4])", 3, 4, 1);
    check("slice(lstm(x, 9), axes=[1], start=[3], stop=[4])", 3, 4, 1);
    check("rnn(x, 6)", 3, 4, 0); /* a plain cell has none */
}

/* Large enough that threads share the rows. */
static void shared_work(void)
{
    check("gru(x, 40)", 32, 8, 1);
    check("lstm(x, 40)", 32, 8, 1);
    check("gru(x, 90)", 52, 3, 1); /* R is larger than the nearest cache */
}

/* ---- every allocation fails once ---- */

static takt_status scenario(takt_inject *inject, void *user)
{
    const char *text = user;
    takt_config config = {0};
    takt_ctx *own;
    takt_model *m = NULL, *g = NULL;
    takt_plan *plan = NULL;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    status = takt_model_load_memory(own, "m", text, strlen(text), NULL, &m);
    if (status == TAKT_OK)
        status = takt_model_gradient(m, "y", NULL, &g);
    if (status == TAKT_OK)
        status = takt_plan_create(g, &(takt_plan_options){.threads = 1}, &plan);
    EXPECT_EQ((status == TAKT_OK), (plan != NULL));
    takt_plan_destroy(plan);
    takt_model_destroy(g);
    takt_model_destroy(m);
    takt_ctx_destroy(own);
    return status;
}

static void out_of_memory(void)
{
    char text[] = "model m(x: f32[2, 3, 2]) -> (y: f32[]) { return y = reduce_sum(gru(x, 2)) }\n";
    const takt_sweep_report r = takt_sweep(scenario, text, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good && r.operations > 20, "%s", r.message);
}

static void open_all(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void close_all(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(open_all, cells, around, shared_work, close_all, out_of_memory)
