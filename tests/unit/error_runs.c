/* error_runs.c - every way in which making a plan, a session or a run fails, by its id. */
#include <string.h>

#include <takt/takt.h>

#include "interp/interp.h"
#include "lang/parse.h"
#include "test.h"

static takt_ctx *ctx;

static int last_id(void)
{
    return takt_last_error_info(ctx)->id;
}

/* A size that was not given. */
static int plan_size(void)
{
    static const char text[] = "model m() { c = rand(constant(u64[], [1]), constant(u64[], [1]), "
                               "constant(u64[], [0]), stream=0, shape=[n])\n return c }";
    takt_graph *g = NULL;
    takt_array out[1];
    EXPECT_OK(ctx, takt_parse(ctx, "m.takt", text, strlen(text), NULL, &g));
    const takt_status status =
        g == NULL ? TAKT_OK : takt_interpret_arrays(ctx, g, NULL, NULL, out, NULL);
    takt_graph_destroy(g);
    return status == TAKT_OK ? 0 : last_id();
}

/* ---- plans and runs ---- */

static takt_model *model_of(const char *text)
{
    takt_model *model = NULL;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model));
    return model;
}

static int planned(const char *text, const takt_plan_options *options)
{
    takt_model *model = model_of(text);
    takt_plan *plan = NULL;
    const takt_status status = takt_plan_create(model, options, &plan);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    return status == TAKT_OK ? 0 : last_id();
}

#define MLP "model m(x: f32[batch, 8]) { return dense(exp(x), 8, act=relu) }"

static int plan_limit(void)
{
    return planned(MLP, &(const takt_plan_options){.memory_limit = 1});
}

static int name(void)
{
    return planned(MLP, &(const takt_plan_options){.backend = "abacus"});
}

static int option(void)
{
    return planned(MLP, &(const takt_plan_options){.sizes = "batch"});
}

static int library(void)
{
    const takt_plan_options options = {.backend = "blas", .blas = "/there/is/no/such/library.so"};
    return planned(MLP, &options);
}

typedef takt_status run_fn(takt_session *s);

static int ran(const char *text, const takt_plan_options *options, run_fn *run)
{
    takt_model *model = model_of(text);
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    int id = 0;
    EXPECT_OK(ctx, takt_plan_create(model, options, &plan));
    if (takt_session_create(plan, NULL, &s) != TAKT_OK)
        id = last_id();
    else if (run(s) != TAKT_OK)
        id = takt_session_error(s)->id;
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    return id;
}

/* All inputs bound to zeros. */
static takt_status run_zeros(takt_session *s)
{
    static int64_t zeros[64];
    for (size_t i = 0; i < takt_session_input_count(s); i++) {
        const takt_desc *d = takt_session_input_desc(s, i);
        takt_tensor_view view = {.dtype = d->dtype, .rank = d->rank, .data = zeros};
        memcpy(view.dims, d->dims, sizeof d->dims);
        TAKT_TRY(takt_session_bind(s, d->name, &view));
    }
    return takt_session_run(s);
}

static takt_status bind_wrong(takt_session *s)
{
    static double zeros[64];
    const takt_tensor_view view = {.dtype = TAKT_F64, .rank = 2, .dims = {1, 8}, .data = zeros};
    return takt_session_bind(s, "x", &view);
}

static takt_status run_cancelled(takt_session *s)
{
    takt_session_cancel(s);
    return run_zeros(s);
}

static takt_status run_late(takt_session *s)
{
    static float zeros[8];
    const takt_tensor_view view = {.dtype = TAKT_F32, .rank = 2, .dims = {1, 8}, .data = zeros};
    TAKT_TRY(takt_session_bind(s, "x", &view));
    return takt_session_run_deadline(s, 1);
}

#define GATHER "model m(x: f32[4], i: i64[2]) { return gather(x, i - 9, axis=0) }"

static int index_range(void)
{
    return ran(GATHER, NULL, run_zeros);
}

static int divide(void)
{
    return ran("model m(x: i32[4], y: i32[4]) { return div(x + 1, y) }", NULL, run_zeros);
}

static int reference(void)
{
    return ran(GATHER, &(const takt_plan_options){.backend = "ref"}, run_zeros);
}

static int binding(void)
{
    return ran(MLP, NULL, bind_wrong);
}

static int cancelled(void)
{
    return ran(MLP, NULL, run_cancelled);
}

static int deadline(void)
{
    return ran(MLP, NULL, run_late);
}

static int require(void)
{
    return planned(MLP, &(const takt_plan_options){.require = "ref"});
}

static int state(void)
{
    return ran(MLP, &(const takt_plan_options){.dry = true}, run_zeros);
}

static const struct {
    int id;
    int (*trigger)(void);
} rows[] = {
    {TAKT_E_NAME, name},           {TAKT_E_OPTION, option},         {TAKT_E_STATE, state},
    {TAKT_E_PLAN_SIZE, plan_size}, {TAKT_E_PLAN_LIMIT, plan_limit}, {TAKT_E_LIBRARY, library},
    {TAKT_E_INDEX, index_range},   {TAKT_E_DIVIDE, divide},         {TAKT_E_BINDING, binding},
    {TAKT_E_DEADLINE, deadline},   {TAKT_E_CANCELLED, cancelled},   {TAKT_E_INDEX, reference},
    {TAKT_E_REQUIRE, require},
};

static void rows_fail(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int id = rows[i].trigger();
        EXPECT(id == rows[i].id, "%s (%d): got %d: %s", takt_error_name(rows[i].id), rows[i].id, id,
               takt_last_error(ctx));
    }
}

int main(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    rows_fail();
    takt_ctx_destroy(ctx);
    return test_done();
}
