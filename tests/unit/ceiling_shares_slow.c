/* ceiling_shares_slow.c - on a quiet machine: a copy reaches memory's ceiling, a large product the
 * arithmetic one, steps add up to the run, and measuring them costs little. A busy machine gets
 * several attempts, and then the test is skipped. */
#include <math.h>
#include <string.h>
#include <takt/takt.h>

#include "measure/session/measure.h"
#include "test.h"

enum { CHANCES = 5 };

static takt_ctx *ctx;

static int drop(void *user, const char *text, size_t length)
{
    (void)user, (void)text, (void)length;
    return 0;
}

static const char copy[] =
    "model m(x: f32[16777216]) -> f32[16777216] {\n"
    "  return custom(x, name=\"copy\", body=graph(x: f32[16777216]) { return x * 1.5 })\n}\n";
static const char product[] = "model m(x: f32[1024, 1024]) -> f32[1024, 1024] {\n"
                              "  return x @ x\n}\n";
static const char deep[] = "model m(x: f32[256, 512]) -> f32[256, 512] seed=1 {\n"
                           "  repeat 8 as i {\n    x = dense(x, 512, act=relu)\n  }\n"
                           "  return softmax(x)\n}\n";

static void run_copy(void *user, const takt_tensor_view *in, size_t in_count,
                     const takt_tensor_view *out, size_t out_count)
{
    (void)user, (void)in_count, (void)out_count;
    memcpy(out->data, in->data, (size_t)in->dims[0] * sizeof(float));
}

static takt_profile *profile(const char *text)
{
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    takt_profile *p = NULL;
    takt_ceilings ceilings;
    const takt_plan_options options = {.threads = 1};
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model));
    EXPECT_OK(ctx, takt_plan_create(model, &options, &plan));
    EXPECT_OK(ctx, takt_session_create(plan, NULL, &session));
    EXPECT_OK(ctx, takt_view_random(ctx, takt_session_input(session, 0), 0, 0));
    EXPECT_OK(ctx, takt_ceilings_get(ctx, NULL, true, &ceilings));
    const takt_profile_options how = {.ceilings = &ceilings, .max_ns = 600000000, .whole = true};
    EXPECT_OK(ctx, takt_profile_create(session, &how, &p));
    takt_session_destroy(session);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    return p;
}

typedef double figure_fn(const takt_profile *p);

static double of_ceiling(const takt_profile *p)
{
    return p->rows[0].percent;
}

static double of_run(const takt_profile *p)
{
    return 100 * p->watched_ns / p->run_ns;
}

static double cost(const takt_profile *p)
{
    return 100 * (p->run_ns / p->timing.stats.median - 1);
}

/* Whether the figure lies in the range in one of several tries. */
static bool reaches(const char *what, const char *text, figure_fn *figure, double low, double high)
{
    for (int i = 0; i < CHANCES; i++) {
        takt_profile *p = profile(text);
        const double value = p != NULL ? figure(p) : NAN;
        printf("%s: %.1f %%, of %.0f to %.0f\n", what, value, low, high);
        takt_profile_destroy(p);
        if (value >= low && value <= high)
            return true;
    }
    return false;
}

int main(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_register_op(ctx, &(takt_op_def){.name = "copy", .run = run_copy}));
    takt_environment found = {0};
    EXPECT_OK(ctx, takt_environment_check(ctx, &found, TAKT_FORMAT_TEXT, drop, NULL));
    bool good = reaches("a copy, of memory's ceiling", copy, of_ceiling, 90, 105);
    good = reaches("a product, of the arithmetic ceiling", product, of_ceiling, 80, 105) && good;
    good = reaches("steps, of the run", deep, of_run, 97, 100.5) && good;
    good = reaches("what looking costs", deep, cost, -2, 2) && good;
    takt_ctx_destroy(ctx);
    if (!good && found.load > 0.5)
        TEST_SKIP("the machine is busy: load %.1f", found.load);
    EXPECT(good);
    return test_done();
}
