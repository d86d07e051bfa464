/* logic_train.c - constraints are a loss: a trainer makes them hold, with the same bits by any
 * number of threads. */
#include <string.h>

#include <takt/takt.h>
#include <takt/train.h>

#include "test.h"

static takt_ctx *ctx;

/* Only one person is known to smoke; friends have the same habits, friendship is mutual, and not
 * everybody smokes.
 */
static const char text[] =
    "domain person = 6\n"
    "model smokers(x: f32[person, 4]) semantics=product seed=3 {\n"
    "  smokes = reshape(dense(x, 1, act=sigmoid), shape=[6])\n"
    "  relation friend(person, person) = [[0, 1], [1, 2], [3, 4], [4, 5]]\n"
    "  rule near(a, b) = friend(a, b) or friend(b, a)\n"
    "  constraint alike = forall(p=2) a, b: near(a, b) and smokes(a) implies smokes(b)\n"
    "  constraint first weight=2 = smokes(0)\n"
    "  constraint last = not smokes(5)\n"
    "  return smokes\n"
    "}\n";

static double train(int threads, int steps, float *losses)
{
    static float x[24];
    takt_model *m = NULL;
    takt_trainer *t = NULL;
    takt_step_result r = {.loss = -1};
    const takt_load_options load = {.size = sizeof load, .training = true};
    const takt_plan_options plan = {.threads = threads};
    const takt_train_options options = {.optimizer = "adam", .rate = 0.1, .plan = &plan};
    for (int i = 0; i < 24; i++)
        x[i] = (float)(i * 7 % 11) / 5 - 1;
    const takt_named_view batch = {
        .name = "x", .view = {.dtype = TAKT_F32, .rank = 2, .dims = {6, 4}, .data = x}};
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, sizeof text - 1, &load, &m)) &&
        EXPECT_OK(ctx, takt_trainer_create(m, &options, &t)))
        for (int i = 0; i < steps; i++) {
            if (!EXPECT_OK(ctx, takt_trainer_step(t, &batch, 1, &r)))
                break;
            losses[i] = (float)r.loss;
        }
    takt_trainer_destroy(t);
    takt_model_destroy(m);
    return r.loss;
}

static void constraints(void)
{
    enum { STEPS = 150 };
    static float one[STEPS], two[STEPS];
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    const double last = train(1, STEPS, one);
    EXPECT(one[0] > 1 && last < 0.2, "the loss goes from %g to %g", (double)one[0], last);
    train(3, STEPS, two);
    EXPECT(memcmp(one, two, sizeof one) == 0, "threads change the losses");
    takt_ctx_destroy(ctx);
}

TEST_MAIN(constraints)
