/* lengths_loop.c - sizes found at run time inside the body of a loop: sessions that wait for each
 * other there, memory as planned, and failures during other runs. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

#include "api/session/session.h"
#include "base/ctx.h"
#include "base/error.h"
#include "os/os.h"
#include "plan/repeat.h"
#include "test.h"

enum { ROWS = 8, COLUMNS = 16 };

/* The sum of the positive elements of every row. */
static const char text[] = "model m(x: f32[8, 16]) {\n"
                           "  y = loop(8, true, 0.0, x, carried=1,\n"
                           "    body=graph(i: i64[], c: bool[], h: f32[], x: f32[8, 16]) {\n"
                           "      row = gather(x, i, axis=0)\n"
                           "      places, count = find_true(row > 0.0)\n"
                           "      l = length(count, names=[kept], bounds=[16], tops=[16])\n"
                           "      at = sized(places, shape=[kept])\n"
                           "      return c, add(h, reduce_sum(gather(row, at, axis=0), axes=[0]))\n"
                           "    })\n"
                           "  return y\n"
                           "}\n";

/* Cannot be resized in place: other sizes get separate plans. */
static const char again_text[] =
    "model m(x: f32[8, 16], w: f32[16, 20000]) {\n"
    "  y = loop(8, true, 0.0, x, w, carried=1,\n"
    "    body=graph(i: i64[], c: bool[], h: f32[], x: f32[8, 16], w: f32[16, 20000]) {\n"
    "      row = gather(x, i, axis=0)\n"
    "      places, count = find_true(row > 0.0)\n"
    "      l = length(count, names=[kept], bounds=[16], tops=[16])\n"
    "      those = gather(w, sized(places, shape=[kept]), axis=0)\n"
    "      both = concat(cumsum(those, axis=0), those, axis=0)\n"
    "      return c, add(h, reduce_sum(transpose(both, perm=[1, 0])))\n"
    "    })\n"
    "  return y\n"
    "}\n";

static takt_ctx *ctx;

static takt_session *open(const char *model, uint64_t limit)
{
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_plan_options o = {.threads = 1, .memory_limit = limit};
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", model, strlen(model), NULL, &m)) &&
        EXPECT_OK(ctx, takt_plan_create(m, &o, &plan)))
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    return s;
}

/* Row i has i positive elements. */
static void fill(takt_session *s)
{
    float *x = takt_session_input(s, 0)->data;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = i % COLUMNS < i / COLUMNS ? 1 : -1;
}

static void *cancel_later(void *session)
{
    takt_os_sleep_until(takt_os_now_ns(NULL) + 2000000);
    takt_session_cancel(session);
    return NULL;
}

/* A session that waits for another one at a loop still checks its deadline and cancel. */
static void waits(void)
{
    takt_session *s = open(text, 0);
    pthread_t thread;
    if (s == NULL)
        return;
    fill(s);
    EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
    takt_repeat *body = s->plan->child != NULL ? s->plan->child->body : NULL;
    if (EXPECT(body != NULL && takt_repeat_begin(body, NULL))) {
        EXPECT_STATUS(NULL, takt_session_run_deadline(s, 2000000), TAKT_ERR_DEADLINE);
        if (EXPECT_EQ(pthread_create(&thread, NULL, cancel_later, s), 0)) {
            EXPECT_STATUS(NULL, takt_session_run(s), TAKT_ERR_CANCELLED);
            pthread_join(thread, NULL);
        }
        takt_repeat_end(body);
    }
    EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
    EXPECT_EQ(*(const float *)takt_session_output(s, 0)->data, 28);
    takt_session_destroy(s);
}

/* Row i of x has i positive elements, a row of w has ten ones. */
static void fill_both(takt_session *s)
{
    fill(s);
    float *w = takt_session_input(s, 1)->data;
    for (int i = 0; i < 16 * 20000; i++)
        w[i] = i % 20000 < 10 ? 1 : 0;
}

/* Results for k rows: 10 * (1 + ... + k) and 10 * k. */
static bool is_right(takt_session *s)
{
    return *(const float *)takt_session_output(s, 0)->data == 10 * (84 + 28);
}

/* Plans for other sizes run in the session's arena. */
static void keeps_memory(void)
{
    takt_session *s = open(again_text, 0);
    if (s == NULL)
        return;
    fill_both(s);
    const uint64_t before = ctx->live_bytes;
    EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
    EXPECT(is_right(s));
    const uint64_t more = ctx->live_bytes - before;
    EXPECT(more < s->plan->arena_bytes, "%llu bytes more than an arena of %zu",
           (unsigned long long)more, s->plan->arena_bytes);
    takt_session_destroy(s);
}

/* Those that need a larger arena, as all do here, share one, which a memory limit forbids. */
static void needs_more(uint64_t limit)
{
    takt_session *s = open(again_text, limit);
    if (s == NULL || !EXPECT(s->plan->child != NULL))
        return;
    fill_both(s);
    s->plan->child->arena_bytes = 0;
    const uint64_t before = ctx->live_bytes;
    const takt_status status = takt_session_run(s);
    if (limit > 0)
        EXPECT(status == TAKT_ERR_LIMIT && takt_session_error(s)->id == TAKT_E_PLAN_LIMIT, "%s",
               takt_session_error(s)->message);
    else
        EXPECT(status == TAKT_OK && is_right(s), "%s", takt_session_error(s)->message);
    const uint64_t more = ctx->live_bytes - before;
    EXPECT(more < 2 * s->plan->arena_bytes, "%llu bytes more", (unsigned long long)more);
    takt_session_destroy(s);
}

typedef struct runner {
    takt_session *session;
    atomic_bool ends;
    takt_status status;
} runner;

static void *run_on(void *user)
{
    runner *r = user;
    while (r->status == TAKT_OK && !atomic_load(&r->ends))
        r->status = takt_session_run(r->session);
    return NULL;
}

/* A failure of another thread stays in the context while a loop finds sizes. */
static void keeps_errors(void)
{
    runner r = {.session = open(text, 0)};
    pthread_t thread;
    size_t lost = 0;
    if (r.session == NULL)
        return;
    fill(r.session);
    if (EXPECT_EQ(pthread_create(&thread, NULL, run_on, &r), 0)) {
        for (int i = 0; i < 20000; i++) {
            char name[32];
            takt_model *m;
            snprintf(name, sizeof name, "/none/%d.takt", i);
            EXPECT_IS(takt_model_load(ctx, name, NULL, &m), !=, TAKT_OK);
            lost += strstr(takt_last_error(ctx), name) == NULL;
        }
        atomic_store(&r.ends, true);
        pthread_join(thread, NULL);
        EXPECT(r.status == TAKT_OK, "%s", takt_session_error(r.session)->message);
        EXPECT(lost == 0, "%zu errors are lost", lost);
    }
    takt_session_destroy(r.session);
}

int main(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return test_done();
    waits();
    keeps_memory();
    needs_more(0);
    needs_more(64 << 20);
    keeps_errors();
    takt_ctx_destroy(ctx);
    return test_done();
}
