/* lengths_slow.c - the same bits along a random walk of a thousand sizes, and, for every model of
 * the zoo and of the examples with a batch, along one of batch sizes. */
#include <glob.h>

#include "util/lengths.h"

enum { MOST = 12, STEPS = 36 };

static const char *const examples[] = {"examples/mlp.takt", "examples/cnn.takt",
                                       "examples/encoder.takt", "examples/fashion.takt",
                                       "examples/spirals.takt"};

static void walk_file(const char *path)
{
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    uint32_t state = 1;
    const takt_plan_options options = {.threads = 2, .sizes = "batch=1..12"};
    if (EXPECT_OK(ctx, takt_model_load(ctx, path, NULL, &m)) &&
        EXPECT_OK(ctx, takt_plan_create(m, &options, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s)))
        for (int i = 0; i < STEPS; i++) {
            char sizes[32];
            snprintf(sizes, sizeof sizes, "batch=%d", 1 + (int)(drawn(&state) % MOST));
            check(s, m, sizes);
        }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
}

static void files_check(void)
{
    glob_t zoo;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    if (EXPECT(glob("zoo/*/*.takt", 0, NULL, &zoo) == 0)) {
        EXPECT(zoo.gl_pathc >= 30, "%zu models", zoo.gl_pathc);
        for (size_t i = 0; i < zoo.gl_pathc; i++)
            walk_file(zoo.gl_pathv[i]);
        globfree(&zoo);
    }
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        walk_file(examples[i]);
    takt_ctx_destroy(ctx);
}

int main(void)
{
    files_check();
    lengths_check(1000);
    return test_done();
}
