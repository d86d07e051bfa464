/* logic_digits.c - digits are learnt from their sums alone, by a constraint under `probability`. */
#include <string.h>

#include <takt/takt.h>
#include <takt/train.h>

#include "test.h"
#include "util/random_array.h"

static takt_ctx *ctx;

enum { BATCH = 16, PIXELS = 12 };

static void draw(takt_random *random, float *x, int64_t *label)
{
    for (int k = 0; k < BATCH * 2; k++) {
        const int d = (int)takt_random_below(random, 4);
        label[k / 2] = k % 2 == 0 ? d : label[k / 2] + d;
        for (int j = 0; j < PIXELS; j++)
            x[k * PIXELS + j] = (float)(j % 4 == d) + (float)takt_random_below(random, 100) / 200;
    }
}

static double learn(int threads, float *losses, int steps)
{
    static const char text[] =
        "domain total = 7\n"
        "model add(x: f32[batch, 2, 12], label: i64[batch]) semantics=probability seed=2 {\n"
        "  h = dense(reshape(x, shape=[2 * batch, 12]), 16, act=relu)\n"
        "  digit = reshape(softmax(dense(h, 4)), shape=[batch, 2, 4])\n"
        "  rule adds(i, s: total) = exists d, e: digit(i, 0, d) and digit(i, 1, e) and s == d + e\n"
        "  constraint right weight=0.0625 = forall i: adds(i, label[i])\n"
        "  return adds\n}\n";
    static float x[BATCH * 2 * PIXELS];
    static int64_t label[BATCH];
    takt_model *m = NULL;
    takt_trainer *t = NULL;
    takt_step_result r = {.loss = -1};
    const takt_load_options load = {.size = sizeof load, .training = true};
    const takt_plan_options plan = {.threads = threads};
    const takt_train_options options = {.optimizer = "adam", .rate = 0.02, .plan = &plan};
    const takt_tensor_view pixels = {
        .dtype = TAKT_F32, .rank = 3, .dims = {BATCH, 2, PIXELS}, .data = x};
    const takt_tensor_view sums = {.dtype = TAKT_I64, .rank = 1, .dims = {BATCH}, .data = label};
    const takt_named_view batch[] = {{"x", pixels}, {"label", sums}};
    takt_random random;
    random.state = 5;
    bool is_good =
        EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, sizeof text - 1, &load, &m)) &&
        EXPECT_OK(ctx, takt_trainer_create(m, &options, &t));
    for (int i = 0; i < steps && is_good; i++) {
        draw(&random, x, label);
        is_good = EXPECT_OK(ctx, takt_trainer_step(t, batch, 2, &r));
        losses[i] = (float)r.loss;
    }
    takt_trainer_destroy(t);
    takt_model_destroy(m);
    return r.loss;
}

static void training(void)
{
    enum { STEPS = 120 };
    static float one[STEPS], two[STEPS];
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    const double last = learn(1, one, STEPS);
    EXPECT(one[0] > 1 && last < 0.2, "the loss goes from %g to %g", (double)one[0], last);
    learn(3, two, STEPS);
    EXPECT(memcmp(one, two, sizeof one) == 0, "threads change the losses");
    takt_ctx_destroy(ctx);
}

TEST_MAIN(training)
