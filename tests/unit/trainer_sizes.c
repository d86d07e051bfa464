/* trainer_sizes.c - batch sizes reach the plan under whole names: one name may be part of another.
 * In a range of sizes, timed steps have the phases of their own plan. */
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "api/session/session.h"
#include "api/train/trainer.h"
#include "test.h"

enum { ROWS = 6, STEPS = 5, WIDTH = 4, CLASSES = 3 };

static const char net[] = "model net(x: f32[batch, a, 4], y: f32[batch, at]) seed=3 {\n"
                          "  h = reduce_mean(x, axes=[1]) + reduce_mean(y, axes=[1], keep=true)\n"
                          "  return dense(h, 3)\n"
                          "}\n";

static void names_inside_names(void)
{
    static float x[ROWS * STEPS * WIDTH], y[ROWS * 2];
    int64_t labels[ROWS];
    takt_ctx *ctx = NULL;
    takt_model *m = NULL;
    takt_trainer *t = NULL;
    const takt_load_options load = {.training = true};
    takt_named_view batch[3] = {{.name = "x"}, {.name = "y"}, {.name = "labels"}};
    takt_step_result r = {0};
    for (size_t i = 0; i < ROWS; i++)
        labels[i] = (int64_t)(i % CLASSES);
    batch[1].view = (takt_tensor_view){.dtype = TAKT_F32, .rank = 2, .dims = {ROWS, 2}, .data = y};
    batch[2].view =
        (takt_tensor_view){.dtype = TAKT_I64, .rank = 1, .dims = {ROWS}, .data = labels};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", net, strlen(net), &load, &m));
    EXPECT_OK(ctx, takt_trainer_create(m, NULL, &t));
    for (int64_t steps = STEPS; t != NULL && steps > 2; steps--) {
        batch[0].view = (takt_tensor_view){
            .dtype = TAKT_F32, .rank = 3, .dims = {ROWS, steps, WIDTH}, .data = x};
        EXPECT_OK(ctx, takt_trainer_step(t, batch, 3, &r));
        EXPECT(isfinite(r.loss) && r.count == ROWS, "%g of %g", r.loss, r.count);
    }
    takt_trainer_destroy(t);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

/* Of one sample, the concatenation is not a step: its plan is another one. */
static void timed_in_a_range(void)
{
    static const char joined[] = "model net(x: f32[batch, 4]) seed=3 {\n"
                                 "  return dense(concat(dense(x, 8), dense(x, 6), axis=1), 3)\n"
                                 "}\n";
    static float x[ROWS * WIDTH];
    static int64_t labels[ROWS];
    takt_ctx *ctx = NULL;
    takt_model *m = NULL;
    takt_trainer *t = NULL;
    const takt_load_options load = {.training = true};
    const takt_plan_options plan = {.threads = 1, .sizes = "batch=1..6"};
    takt_named_view batch[] = {{.name = "x"}, {.name = "labels"}};
    takt_step_times times;
    size_t steps[2] = {0};
    batch[0].view = (takt_tensor_view){.dtype = TAKT_F32, .rank = 2, .dims = {0, WIDTH}, .data = x};
    batch[1].view = (takt_tensor_view){.dtype = TAKT_I64, .rank = 1, .data = labels};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", joined, strlen(joined), &load, &m));
    EXPECT_OK(ctx, takt_trainer_create(m, &(takt_train_options){.plan = &plan}, &t));
    for (int64_t i = 0, rows = 1; t != NULL && i < 2; i++, rows = ROWS) {
        batch[0].view.dims[0] = batch[1].view.dims[0] = rows;
        EXPECT_OK(ctx, takt_trainer_step(t, batch, 2, NULL));
        EXPECT_OK(ctx, takt_trainer_step_timed(t, batch, 2, NULL, &times));
        steps[i] = t->step.session->plan->step_count;
        EXPECT(t->phase_count == steps[i], "%zu phases of %zu steps", t->phase_count, steps[i]);
    }
    EXPECT(steps[0] < steps[1], "%zu steps, then %zu: nothing is tested", steps[0], steps[1]);
    takt_trainer_destroy(t);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(names_inside_names, timed_in_a_range)
