/* example.c - the backend of examples/backend passes the suite, runs the nodes that it accepts, and
 * is refused where it does not fit. */
#include "../../examples/backend/plain.c"

#include "backend/samples.h"

#include "backend/list.h"

#include <takt/takt.h>

static void conforms(void)
{
    samples_run run = {.backend = "plain", .added = &takt_backend_plain, .may_fall_back = true};
    for (size_t i = 0; i < takt_op_count; i++)
        samples_visit(takt_ops[i], &run, false);
    EXPECT(run.checked > 100 && run.refused == 0, "%zu samples checked, %zu refused", run.checked,
           run.refused);
}

/* A product, two fused sums, and something that it leaves to cpu. */
static const char text[] = "model m(x: f32[n, 5]) -> (y: f32[n, 3]) seed=3 {\n"
                           "  h = dense(x, 3, bias=false)\n"
                           "  return y = tanh(h * h + -h)\n"
                           "}\n";

static size_t steps_of(const takt_plan *plan, const takt_backend *backend)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->step_count; i++)
        count += plan->steps[i].backend == backend;
    return count;
}

static void run_both(takt_ctx *ctx, const takt_model *model, float y[2][12])
{
    static const char *const names[] = {"plain", "ref"};
    for (size_t i = 0; i < 2; i++) {
        takt_plan *plan = NULL;
        takt_session *s = NULL;
        const takt_plan_options o = {
            .sizes = "n=4", .backend = names[i], .threads = 2, .passes = "-all"};
        if (EXPECT_OK(ctx, takt_plan_create(model, &o, &plan)) &&
            EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
            for (int k = 0; k < 20; k++)
                ((float *)takt_session_input(s, 0)->data)[k] = (float)k / 8 - 1;
            EXPECT_OK(NULL, takt_session_run(s));
            memcpy(y[i], takt_session_output(s, 0)->data, sizeof y[i]);
        }
        EXPECT(i == 1 || steps_of(plan, &takt_backend_plain) >= 1, "plain runs nothing");
        EXPECT(i == 1 || steps_of(plan, &takt_backend_cpu) >= 1, "cpu takes nothing over");
        takt_session_destroy(s);
        takt_plan_destroy(plan);
    }
}

static void works(void)
{
    takt_ctx *ctx;
    takt_model *model;
    float y[2][12];
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, &takt_backend_plain));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model));
    run_both(ctx, model, y);
    for (int i = 0; i < 12; i++)
        EXPECT(fabsf(y[0][i] - y[1][i]) <= 1e-5f, "element %d: %g and %g", i, (double)y[0][i],
               (double)y[1][i]);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
}

static void misfits(void)
{
    static takt_backend more[4];
    static const char *const names[] = {"a", "b", "c", "d"};
    takt_ctx *ctx;
    const takt_backend *found;
    takt_backend odd = takt_backend_plain;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_STATUS(ctx, takt_backend_find(ctx, "plain", NULL, &found), TAKT_ERR_NOT_FOUND);
    EXPECT_OK(ctx, takt_backend_add(ctx, &takt_backend_plain));
    EXPECT_OK(ctx, takt_backend_find(ctx, "plain", NULL, &found));
    EXPECT_STATUS(ctx, takt_backend_add(ctx, &takt_backend_plain), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_backend_add(ctx, &takt_backend_cpu), TAKT_ERR_ARGUMENT);
    odd.compile = NULL;
    EXPECT_STATUS(ctx, takt_backend_add(ctx, &odd), TAKT_ERR_ARGUMENT);
    for (int i = 0; i < 4; i++) {
        more[i] = takt_backend_plain;
        more[i].name = names[i];
        EXPECT_STATUS(ctx, takt_backend_add(ctx, &more[i]), i < 3 ? TAKT_OK : TAKT_ERR_ARGUMENT);
    }
    takt_ctx_destroy(ctx);
}

TEST_MAIN(conforms, works, misfits)
