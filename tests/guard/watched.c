/* watched.c - runs of a session without a profile, or after one: profiling.py counts them. Without
 * arguments: a run is the same before, during and after profiling.
 */
#include <stdlib.h>
#include <string.h>
#include <takt/takt.h>

#include "test.h"

static takt_ctx *ctx;
static takt_session *session;

/* Steps that do little: overhead around them would show. */
static const char model_text[] = "model m(x: f32[8, 16]) {\n"
                                 "  return softmax(softmax(softmax(softmax(softmax(softmax("
                                 "softmax(softmax(x))))))))\n}\n";

static void open_session(void)
{
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    const takt_plan_options options = {.threads = 1};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", model_text, strlen(model_text), NULL, &model));
    EXPECT_OK(ctx, takt_plan_create(model, &options, &plan));
    EXPECT_OK(ctx, takt_session_create(plan, NULL, &session));
    EXPECT_OK(ctx, takt_view_random(ctx, takt_session_input(session, 0), 0, 0));
    takt_plan_destroy(plan);
    takt_model_destroy(model);
}

static void run(int times)
{
    for (int i = 0; i < times; i++)
        EXPECT_OK(ctx, takt_session_run(session));
}

/* Every way of watching, begun and ended. */
static void watch(void)
{
    takt_profile_results results;
    takt_profile *profile = NULL;
    const takt_profile_options few = {.runs = 4, .max_ns = 1000000};
    EXPECT_OK(ctx, takt_profile_start(ctx));
    run(2);
    EXPECT_OK(ctx, takt_profile_stop(ctx, &results));
    EXPECT(results.op_count > 0, "nothing was watched");
    takt_profile_results_free(ctx, &results);
    EXPECT_OK(ctx, takt_profile_create(session, &few, &profile));
    takt_profile_destroy(profile);
}

static void close_session(void)
{
    takt_session_destroy(session);
    takt_ctx_destroy(ctx);
}

static void same_results(void)
{
    float before[128];
    open_session();
    run(1);
    memcpy(before, takt_session_output(session, 0)->data, sizeof before);
    watch();
    run(1);
    EXPECT_EQ(memcmp(before, takt_session_output(session, 0)->data, sizeof before), 0);
    close_session();
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        same_results();
    } else {
        open_session();
        if (strcmp(argv[1], "after") == 0)
            watch();
        if (strcmp(argv[1], "while") == 0)
            EXPECT_OK(ctx, takt_profile_start(ctx));
        run(atoi(argv[2]));
        close_session();
    }
    return test_done();
}
