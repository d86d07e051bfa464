/* run_once.h - a model from a text, run once on random inputs, and the distance of results. */
#ifndef TAKT_TESTS_RUN_ONCE_H
#define TAKT_TESTS_RUN_ONCE_H

#include <math.h>
#include <stddef.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"

typedef struct run_results {
    float *at;
    size_t most;
} run_results;

/* NULL, and a failed test, if it does not load. */
static inline takt_model *run_model(takt_ctx *ctx, const char *source)
{
    takt_model *m = NULL;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", source, strlen(source), NULL, &m));
    return m;
}

/* A session of a model of text; NULL, and a failed test, if there is none. */
static inline takt_session *run_session(takt_ctx *ctx, const char *text, const takt_plan_options *o)
{
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &model)) &&
        EXPECT_OK(ctx, takt_plan_create(model, o, &plan)))
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    return s;
}

/* The first output, and how many elements it has; more than `most` fail the test. */
static inline size_t run_once(takt_ctx *ctx, const takt_model *m, const takt_plan_options *o,
                              run_results to)
{
    takt_plan *plan;
    takt_session *s = NULL;
    size_t count = 0;
    if (!EXPECT_OK(ctx, takt_plan_create(m, o, &plan)))
        return 0;
    if (EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        for (size_t i = 0; i < takt_session_input_count(s); i++)
            EXPECT_OK(ctx, takt_view_random(ctx, takt_session_input(s, i), 3, (uint32_t)i));
        EXPECT_OK(ctx, takt_session_run(s));
        const takt_tensor_view *y = takt_session_output(s, 0);
        count = 1;
        for (int d = 0; d < y->rank; d++)
            count *= (size_t)y->dims[d];
        EXPECT(count <= to.most, "%zu results", count);
        memcpy(to.at, y->data, (count < to.most ? count : to.most) * sizeof *to.at);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    return count;
}

/* sqrt(sum of squared differences / sum of squares of b). */
static inline double run_distance(const float *a, const float *b, size_t count)
{
    double error = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        error += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        size += (double)b[i] * b[i];
    }
    return sqrt(error / size);
}

#endif
