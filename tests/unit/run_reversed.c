/* run_reversed.c - with one thread, tasks run in alternating order from run to run, with the same
 * bits; with several threads each runs once. */
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "api/session/session.h"
#include "os/pool.h"
#include "test.h"

enum { TASKS = 5 };

typedef struct seen {
    size_t order[TASKS];
    _Atomic size_t count;
} seen;

static seen log_of_run;

static void run(const takt_step *s, const takt_task *t)
{
    (void)s;
    const size_t at = atomic_fetch_add(&log_of_run.count, 1);
    if (at < TASKS)
        log_of_run.order[at] = t->index;
}

static void execute(takt_ctx *ctx, takt_pool *pool, bool is_back)
{
    takt_step step = {.kind = "test", .name = "test", .run = run, .task_count = TASKS};
    takt_segment segment = {.end = 1};
    const takt_plan plan = {.ctx = ctx,
                            .steps = &step,
                            .step_count = 1,
                            .segments = &segment,
                            .segment_count = 1,
                            .is_parallel = true};
    const takt_execution x = {.plan = &plan, .pool = pool, .is_back = is_back};
    memset(&log_of_run, 0, sizeof log_of_run);
    EXPECT_OK(NULL, takt_execute(&x));
    EXPECT(log_of_run.count == TASKS, "%zu tasks", (size_t)log_of_run.count);
}

static void one_thread(takt_ctx *ctx)
{
    for (int is_back = 0; is_back < 2; is_back++) {
        execute(ctx, NULL, is_back != 0);
        for (size_t i = 0; i < TASKS; i++)
            EXPECT(log_of_run.order[i] == (is_back ? TASKS - 1 - i : i), "task %zu as number %zu",
                   log_of_run.order[i], i);
    }
}

static void two_threads(takt_ctx *ctx)
{
    takt_pool *pool;
    EXPECT_OK(NULL, takt_pool_create(ctx, 2, NULL, &pool));
    for (int is_back = 0; is_back < 2; is_back++) {
        unsigned found = 0;
        execute(ctx, pool, is_back != 0);
        for (size_t i = 0; i < TASKS; i++)
            found |= 1u << log_of_run.order[i];
        EXPECT(found == (1u << TASKS) - 1, "%x", found);
    }
    takt_pool_destroy(pool);
}

/* Large enough for steps to be divided: for one thread where that pays off, for two everywhere. */
static const char *const models[] = {
    "model m(x: f32[33, 9001]) -> (y: f32[33, 9001]) { return y = softmax(x) }",
    "model m(x: f32[300001]) -> (y: f32[300001]) { return y = relu(x) }",
    "model m(x: f64[600001]) -> (y: f64) { return y = reduce_sum(x) }",
    "model m(x: f32[1, 701]) -> (y: f32[1, 803]) seed=1 { return y = x |> dense(803) }",
};

/* Floats, or halves of doubles, of 1 to 2 and both signs. */
static void fill(uint32_t *x, size_t count)
{
    uint32_t state = 7;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = 0x3f800000u | state >> 9 | (state & 1) << 31;
    }
}

static bool is_cut(const takt_session *s)
{
    for (size_t i = 0; i < s->plan->step_count; i++)
        if (s->plan->steps[i].task_count > 1)
            return true;
    return false;
}

/* A session of one thread; `pool`, also of one thread, is for a plan that is split for two. */
static takt_session *session_of(takt_ctx *ctx, const char *text, takt_pool *pool)
{
    const takt_plan_options options = {.threads = pool != NULL ? 2 : 1};
    const takt_session_options one = {.pool = pool};
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model)) &&
        EXPECT_OK(ctx, takt_plan_create(model, &options, &plan)))
        EXPECT_OK(ctx, takt_session_create(plan, &one, &s));
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    return s;
}

static void same_bits(takt_ctx *ctx, const char *text, takt_pool *pool)
{
    takt_session *s = session_of(ctx, text, pool);
    if (s == NULL)
        return;
    EXPECT(pool == NULL || is_cut(s), "no step has several tasks: %s", text);
    fill(takt_session_input(s, 0)->data, s->inputs[0].bytes / sizeof(uint32_t));
    EXPECT_OK(NULL, takt_session_run(s));
    const size_t bytes = s->outputs[0].bytes;
    void *y = takt_session_output(s, 0)->data, *first = malloc(bytes);
    if (EXPECT(first != NULL))
        memcpy(first, y, bytes);
    for (int i = 0; first != NULL && i < 2; i++) {
        memset(y, 0x55, bytes);
        EXPECT_OK(NULL, takt_session_run(s));
        EXPECT(memcmp(first, y, bytes) == 0, "run %d of %s", i + 2, text);
    }
    free(first);
    takt_session_destroy(s);
}

int main(void)
{
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    one_thread(ctx);
    two_threads(ctx);
    takt_pool *pool = NULL;
    EXPECT_OK(ctx, takt_pool_open(ctx, 1, &pool));
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        same_bits(ctx, models[i], NULL);
        same_bits(ctx, models[i], pool);
    }
    takt_pool_close(pool);
    takt_ctx_destroy(ctx);
    return test_done();
}
