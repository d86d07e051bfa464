/* session_stops.c - deadlines and cancels: a run past its deadline fails even after its last step,
 * pending tasks are skipped, and a cancel affects one run. */
#include "test.h"

#include <string.h>

#include <takt/takt.h>

#include "api/session/session.h"
#include "plan/finish.h"

typedef struct fixture {
    takt_ctx *ctx;
    takt_model *model;
    takt_session *session;
    uint64_t now, step_ns; /* every read of the clock takes this long */
    size_t looks;
    size_t at; /* the step at whose end something happens */
    bool cancels;
    uint64_t wait_ns;
} fixture;

static uint64_t clock_of(void *user)
{
    fixture *f = user;
    f->looks++;
    return f->now += f->step_ns;
}

static bool begin(fixture *f, const char *text, int threads)
{
    *f = (fixture){.now = 1, .at = SIZE_MAX};
    const takt_config config = {.now_ns = clock_of, .clock_user = f};
    const takt_plan_options o = {.threads = threads};
    takt_plan *plan = NULL;
    bool ok = EXPECT_OK(NULL, takt_ctx_create(&config, &f->ctx));
    ok = ok &&
         EXPECT_OK(f->ctx,
                   takt_model_load_memory(f->ctx, "m", text, strlen(text), NULL, &f->model)) &&
         EXPECT_OK(f->ctx, takt_plan_create(f->model, &o, &plan)) &&
         EXPECT_OK(f->ctx, takt_session_create(plan, NULL, &f->session));
    takt_plan_destroy(plan);
    for (size_t i = 0; ok && i < takt_session_input_count(f->session); i++)
        ok = EXPECT(takt_session_input(f->session, i) != NULL);
    return ok;
}

static void end(fixture *f)
{
    takt_session_destroy(f->session);
    takt_model_destroy(f->model);
    takt_ctx_destroy(f->ctx);
}

static void before(void *user, size_t step)
{
    (void)user;
    (void)step;
}

static void after(void *user, size_t step)
{
    fixture *f = user;
    if (step != f->at)
        return;
    f->now += f->wait_ns;
    if (f->cancels)
        takt_session_cancel(f->session);
}

static const char plain[] = "model m(x: f32[64]) -> (y: f32[64]) {\n  return y = relu(x)\n}\n";
static const char counting[] = "model m(x: f32[64]) -> (y: f32[64]) {\n  state n: f32[] = 0\n"
                               "  next n = n + 1.0\n  return y = relu(x)\n}\n";

static void late_after_the_last_step(void)
{
    fixture f;
    if (begin(&f, plain, 1)) {
        const takt_watch watch = {.before = before, .after = after, .user = &f};
        f.session->watch = &watch;
        f.at = f.session->plan->step_count - 1;
        f.wait_ns = 1000;
        EXPECT_STATUS(NULL, takt_session_run_deadline(f.session, 500), TAKT_ERR_DEADLINE);
        EXPECT(strstr(takt_session_error(f.session)->message, "after step") != NULL, "%s",
               takt_session_error(f.session)->message);
        EXPECT_OK(NULL, takt_session_run_deadline(f.session, 5000));
        f.session->watch = NULL;
    }
    end(&f);
}

/* A stop after the last step before the commit phase leaves the state unchanged; in that phase a
 * run can no longer be stopped, and a late stop does not affect the next run. */
static void the_commit_phase_is_exempt(void)
{
    fixture f;
    if (begin(&f, counting, 1)) {
        const takt_plan *plan = f.session->plan;
        const takt_watch watch = {.before = before, .after = after, .user = &f};
        size_t commit = 0, stopped = 0;
        while (commit < plan->step_count && !plan->steps[commit].is_commit)
            commit++;
        EXPECT(commit < plan->step_count, "there is no commit phase");
        f.session->watch = &watch;
        for (int cancels = 0; cancels < 2; cancels++)
            for (f.at = 0; f.at < plan->step_count; f.at++) {
                f.cancels = cancels == 1;
                f.wait_ns = cancels == 1 ? 0 : 1000;
                const takt_status status = takt_session_run_deadline(f.session, 500);
                const bool was_in_time = f.at >= commit;
                EXPECT(status == (was_in_time    ? TAKT_OK
                                  : cancels == 1 ? TAKT_ERR_CANCELLED
                                                 : TAKT_ERR_DEADLINE),
                       "%d at step %zu: %d", cancels, f.at, (int)status);
                stopped += status != TAKT_OK;
                f.cancels = false;
                f.wait_ns = 0;
                EXPECT(takt_session_run(f.session) == TAKT_OK, "the next run is hit");
            }
        EXPECT_IS(stopped, >, 0);
        f.session->watch = NULL;
    }
    end(&f);
}

static void a_cancel_is_for_one_run(void)
{
    fixture f;
    if (begin(&f, plain, 1)) {
        const takt_watch watch = {.before = before, .after = after, .user = &f};
        takt_session_cancel(f.session); /* none is in progress: the next */
        EXPECT_STATUS(NULL, takt_session_run(f.session), TAKT_ERR_CANCELLED);
        EXPECT_OK(NULL, takt_session_run(f.session));
        f.session->watch = &watch;
        f.cancels = true;
        f.at = f.session->plan->step_count - 1;
        EXPECT(takt_session_run(f.session) == TAKT_ERR_CANCELLED, "during the last step");
        f.cancels = false;
        EXPECT(takt_session_run(f.session) == TAKT_OK, "an innocent run is hit");
        f.session->watch = NULL;
    }
    end(&f);
}

/* The clock advances a millisecond with every read: a run of many tasks must end after as many
 * reads as the deadline has milliseconds, in the middle of its one step. */
static void tasks_are_left_out(void)
{
    static const char large[] =
        "model m(x: f32[1000000]) -> (y: f32[1000000]) {\n  return y = exp(sin(x))\n}\n";
    fixture f;
    if (begin(&f, large, 16)) {
        const uint64_t ms = UINT64_C(1000000);
        EXPECT(f.session->plan->step_count == 1 && f.session->plan->steps[0].task_count > 12,
               "%zu tasks", f.session->plan->steps[0].task_count);
        takt_pool *pool = f.session->pool; /* one thread takes all tasks */
        f.session->pool = NULL;
        f.step_ns = ms;
        f.looks = 0;
        EXPECT_STATUS(NULL, takt_session_run_deadline(f.session, 8 * ms), TAKT_ERR_DEADLINE);
        EXPECT(f.looks <= 10, "%zu looks at the clock", f.looks);
        EXPECT(strstr(takt_session_error(f.session)->message, "in step 1") != NULL, "%s",
               takt_session_error(f.session)->message);
        f.session->pool = pool;
        f.step_ns = 0;
        EXPECT_OK(NULL, takt_session_run_deadline(f.session, 8 * ms));
    }
    end(&f);
}

/* One long task of each kind of loop: it reads the clock so often that at most MOST_FLOPS or
 * MOST_BYTES lie between two reads, about two milliseconds on a slow core, and ends at the
 * deadline. Reads are counted, so machine load does not matter. */
static const char *const tasks[] = {
    "model product(x: f32[700, 700], w: f32[700, 700]) { return x @ w }",
    "model deep(x: f32[96, 20000], w: f32[20000, 96]) { return x @ w }",
    "model row(x: f32[1, 6000], w: f32[6000, 1000]) { return x @ w }",
    "model doubles(x: f64[500, 500], w: f64[500, 500]) { return x @ w }",
    "model packed(x: f32[600, 700]) { return dense(x, 700) }",
    "model conv(x: f32[1, 8, 100, 100]) { return conv(x, 64, 5) }",
    "model winograd(x: f32[1, 32, 120, 120]) { return conv(x, 32, 3) }",
    "model points(x: f32[1, 64, 100, 100]) { return conv(x, 64, 1) }",
    "model first(x: f32[4, 3, 120, 120]) { return conv(x, 8, 3) }",
    "model depthwise(x: f32[4, 32, 120, 120]) { return conv(x, 32, 3, groups=32) }",
    ("model attention(q: f32[1, 600, 128], k: f32[1, 600, 128], v: f32[1, 600, 128]) {\n"
     "  return op.attention(q, k, v, heads=4) }"), /* one text, as clang expects it marked */
    "model map(x: f32[2000000]) { return op.exp(op.sin(x)) }",
    "model soft(x: f32[4000, 500]) { return softmax(x) }",
    "model sums(x: f32[4000, 1000]) { return op.reduce_sum(x, axes=[1]) }",
    "model columns(x: f32[400, 100, 100]) { return op.reduce_sum(x, axes=[1]) }",
    "model whole(x: f32[8000000]) { return op.reduce_sum(x, axes=[0]) }",
    "model move(x: f32[200, 200, 200]) { return op.transpose(x, perm=[2, 0, 1]) }",
    "model pool(x: f32[8, 32, 120, 120]) { return max_pool(x, 3) }",
};

enum { MOST_FLOPS = 40000000, MOST_BYTES = 32000000 };

static void long_tasks_look_inside(void)
{
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        fixture f;
        if (begin(&f, tasks[i], 1)) {
            const takt_plan *plan = f.session->plan;
            takt_cost cost = {0};
            for (size_t k = 0; k < plan->step_count; k++) {
                const takt_cost step = takt_step_cost(plan, &plan->steps[k]);
                cost.flops += step.flops;
                cost.bytes += step.bytes;
            }
            f.looks = 0;
            EXPECT_OK(NULL, takt_session_run_deadline(f.session, 1000));
            const size_t looks = f.looks;
            EXPECT((double)looks >= cost.flops / MOST_FLOPS + cost.bytes / MOST_BYTES,
                   "%.20s: %zu looks for %.3g operations and %.3g bytes", tasks[i], looks,
                   cost.flops, cost.bytes);
            f.step_ns = 1;
            f.looks = 0;
            EXPECT_STATUS(NULL, takt_session_run_deadline(f.session, looks / 2), TAKT_ERR_DEADLINE);
            EXPECT(f.looks <= looks / 2 + 8, "%.20s: %zu looks, late after %zu", tasks[i], f.looks,
                   looks / 2);
            f.step_ns = 0;
            EXPECT(takt_session_run_deadline(f.session, 1000) == TAKT_OK, "the next run is hit");
        }
        end(&f);
    }
}

TEST_MAIN(late_after_the_last_step, the_commit_phase_is_exempt, a_cancel_is_for_one_run,
          tasks_are_left_out, long_tasks_look_inside)
