/* session_errors.c - sessions of one plan that fail concurrently: each reports its own failure. */
#include "test.h"

#include <pthread.h>
#include <string.h>

#include <takt/takt.h>

#include "util/inject.h"

static const char text[] = "model m(x: f32[n, 16]) -> (y: f32[n, 16]) seed=4 {\n"
                           "  return y = x |> dense(16, act=tanh)\n"
                           "}\n";
static takt_ctx *ctx;

static void open_all(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void close_all(void)
{
    takt_ctx_destroy(ctx);
}

typedef struct failing {
    takt_plan *plan;
    int number, wrong;
} failing;

/* Every session gets its own index out of range, and reports that one. */
static void *fail_often(void *arg)
{
    failing *f = arg;
    char want[40];
    snprintf(want, sizeof want, "index %d", 100 + f->number);
    for (int i = 0; i < 50; i++) {
        takt_session *s;
        if (takt_session_create(f->plan, NULL, &s) != TAKT_OK) {
            f->wrong++;
            continue;
        }
        int64_t index[2] = {0, 100 + f->number};
        const takt_tensor_view v = {.dtype = TAKT_I64, .rank = 1, .dims = {2}, .data = index};
        if (takt_session_bind(s, "i", &v) != TAKT_OK || takt_session_run(s) != TAKT_ERR_RANGE ||
            strstr(takt_session_error(s)->message, want) == NULL ||
            takt_session_error(s)->hint[0] == '\0' || takt_session_error(s)->node[0] == '\0')
            f->wrong++;
        index[1] = 1; /* the session is as good as new */
        f->wrong += takt_session_run(s) != TAKT_OK;
        takt_session_destroy(s);
    }
    return NULL;
}

static void errors_apart(const char *backend)
{
    static const char table[] = "model t(i: i64[2]) -> (a: f32[2]) {\n"
                                "  rows = constant(f32[4], [1, 2, 3, 4])\n"
                                "  return a = gather(rows, i)\n"
                                "}\n";
    enum { THREADS = 4 };
    takt_model *m;
    takt_plan *plan = NULL;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "t", table, strlen(table), NULL, &m));
    EXPECT_OK(ctx,
              takt_plan_create(m, &(takt_plan_options){.threads = 1, .backend = backend}, &plan));
    pthread_t threads[THREADS];
    failing all[THREADS];
    for (int i = 0; i < THREADS; i++) {
        all[i] = (failing){.plan = plan, .number = i};
        EXPECT_EQ(pthread_create(&threads[i], NULL, fail_often, &all[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        EXPECT(all[i].wrong == 0, "%s, thread %d: %d of 50", backend, i, all[i].wrong);
    }
    takt_plan_destroy(plan);
    takt_model_destroy(m);
}

static void errors_of_each(void)
{
    errors_apart("cpu");
    errors_apart("ref");
}

/* The first run allocates outputs: if that fails, each session reports it itself. */
static void *first_run(void *arg)
{
    takt_session *s = arg;
    return takt_session_run(s) == TAKT_ERR_MEMORY &&
                   strstr(takt_session_error(s)->message, "output") != NULL
               ? NULL
               : arg;
}

static void memory_short_at_once(void)
{
    takt_inject inject;
    takt_config config = {0};
    takt_ctx *c;
    takt_model *m;
    takt_plan *plan = NULL;
    takt_session *s[4];
    pthread_t threads[4];
    takt_inject_init(&inject);
    takt_inject_config(&inject, &config);
    EXPECT_OK(NULL, takt_ctx_create(&config, &c));
    EXPECT_OK(c, takt_model_load_memory(c, "m", text, strlen(text), NULL, &m));
    EXPECT_OK(c, takt_plan_create(m, &(takt_plan_options){.threads = 1}, &plan));
    for (int i = 0; i < 4; i++) {
        EXPECT_OK(c, takt_session_create(plan, NULL, &s[i]));
        EXPECT(takt_session_input(s[i], 0) != NULL);
    }
    takt_inject_plan(&inject, TAKT_INJECT_EVER, TAKT_INJECT_MEMORY, 1);
    for (int i = 0; i < 4; i++)
        EXPECT_EQ(pthread_create(&threads[i], NULL, first_run, s[i]), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        EXPECT(failed == NULL, "session %d: %s", i, takt_session_error(s[i])->message);
    }
    takt_inject_plan(&inject, TAKT_INJECT_OFF, TAKT_INJECT_ALL, 0);
    for (int i = 0; i < 4; i++) {
        EXPECT(takt_session_run(s[i]) == TAKT_OK, "it is usable again");
        takt_session_destroy(s[i]);
    }
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    takt_ctx_destroy(c);
    EXPECT_EQ(takt_inject_deinit(&inject), 0);
}

TEST_MAIN(open_all, errors_of_each, memory_short_at_once, close_all)
