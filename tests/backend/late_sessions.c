/* late_sessions.c - sessions in two memories: other sizes, twins, two at once, profiled; all share
 * one device and one copy of the weights. */
#include "util/late.h"

#include <pthread.h>
#include <string.h>

#include <takt/takt.h>

#include "api/backends.h"
#include "api/session/session.h"
#include "test.h"
#include "util/inject.h"

static const char text[] = "model m(x: f32[n, 8]) -> (y: f32[n, 4], runs: f32[2]) seed=5 {\n"
                           "  state count: f32[2] = 0\n"
                           "  more = count + 1.0\n"
                           "  next count = more\n"
                           "  h = gelu(dense(x, 16))\n"
                           "  return y = softmax(dense(h * h, 4)), runs = more\n"
                           "}\n";

enum { ROWS = 6 };

static takt_ctx *ctx;
static takt_model *model;
static float x[ROWS * 8];

static void begin(unsigned refuses)
{
    takt_late_begin();
    takt_late.refuses = refuses;
    for (int i = 0; i < ROWS * 8; i++)
        x[i] = (float)(i % 11) / 4 - 1;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, &takt_backend_late));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model));
}

static void end(void)
{
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    const char *wrong = takt_late_end();
    EXPECT(wrong == NULL, "%s", wrong);
}

static takt_session *open(const char *backend, const char *sizes)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_plan_options o = {.backend = backend, .sizes = sizes, .threads = 1};
    if (EXPECT_OK(ctx, takt_plan_create(model, &o, &plan)))
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    takt_plan_destroy(plan);
    return s;
}

static bool run(takt_session *s, int64_t rows, float *y)
{
    const takt_tensor_view view = {.dtype = TAKT_F32, .rank = 2, .dims = {rows, 8}, .data = x};
    const bool good =
        EXPECT(takt_session_bind(s, "x", &view) == TAKT_OK, "%s", takt_session_error(s)->message) &&
        EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
    if (good) {
        memcpy(y, takt_session_output(s, 0)->data, (size_t)rows * 4 * sizeof *y);
        memcpy(y + rows * 4, takt_session_output(s, 1)->data, 2 * sizeof *y);
    }
    return good;
}

static void same(takt_session *a, takt_session *b, int64_t rows)
{
    float p[ROWS * 4 + 2], q[ROWS * 4 + 2];
    if (run(a, rows, p) && run(b, rows, q))
        EXPECT(memcmp(p, q, (size_t)(rows * 4 + 2) * sizeof *p) == 0, "%d rows differ", (int)rows);
}

/* Weights go to the device once, whatever the size. */
static void sizes(void)
{
    static const int64_t rows[] = {6, 2, 5, 1, 6, 3};
    for (unsigned refuses = 0; refuses < 4; refuses++) {
        begin(refuses);
        takt_session *away = open("late", "n=1..6"), *home = open("cpu", "n=1..6");
        const int64_t blocks = takt_late.blocks;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            same(away, home, rows[i]);
        EXPECT_EQ(takt_late.devices, 1);
        EXPECT_EQ((refuses == 1), (blocks == 0));
        EXPECT(takt_late.blocks == blocks, "%d blocks, then %d", (int)blocks,
               (int)takt_late.blocks);
        takt_session_destroy(away);
        takt_session_destroy(home);
        end();
    }
}

static void twins(void)
{
    takt_session *twin = NULL;
    float y[ROWS * 4 + 2] = {0};
    begin(3);
    takt_session *away = open("late", "n=4"), *home = open("cpu", "n=4");
    for (int i = 0; i < 3; i++)
        same(away, home, 4);
    EXPECT_OK(ctx, takt_session_clone(away, &twin));
    EXPECT_EQ(takt_late.sessions, 2);
    same(twin, home, 4);
    EXPECT(run(away, 4, y) && y[16] == 4.0f, "%g runs", (double)y[16]);
    takt_session_reset(twin);
    EXPECT(run(twin, 4, y) && y[16] == 1.0f, "%g runs", (double)y[16]);
    EXPECT_OK(NULL, takt_session_reshape(twin, model, "n=2"));
    EXPECT(run(twin, 2, y) && y[8] == 2.0f, "%g runs", (double)y[8]);
    EXPECT_OK(NULL, takt_session_warmup(twin));
    EXPECT(run(twin, 2, y) && y[8] == 3.0f, "%g runs", (double)y[8]);
    takt_session_destroy(twin);
    takt_session_destroy(away);
    takt_session_destroy(home);
    end();
}

typedef struct runner {
    takt_session *session;
    float y[ROWS * 4 + 2];
} runner;

static void *run_often(void *user)
{
    runner *r = user;
    for (int i = 0; i < 20; i++)
        run(r->session, 4, r->y);
    return NULL;
}

/* Sessions of one device run at once. */
static void together(void)
{
    runner r[2];
    pthread_t thread;
    begin(2);
    takt_late.delay_us = 50;
    r[0].session = open("late", "n=4");
    EXPECT_OK(ctx, takt_session_clone(r[0].session, &r[1].session));
    EXPECT_EQ(pthread_create(&thread, NULL, run_often, &r[0]), 0);
    run_often(&r[1]);
    pthread_join(thread, NULL);
    EXPECT_EQ(memcmp(r[0].y, r[1].y, sizeof(float) * 18), 0);
    EXPECT_EQ(r[0].y[16], 20.0f);
    EXPECT_EQ(takt_late.devices, 1);
    EXPECT_OK(NULL, takt_run_async(r[0].session, NULL, NULL));
    EXPECT_OK(NULL, takt_session_wait(r[0].session));
    EXPECT_EQ(((const float *)takt_session_output(r[0].session, 1)->data)[0], 21.0f);
    takt_session_destroy(r[0].session);
    takt_session_destroy(r[1].session);
    end();
}

/* Under a profile every step is timed, so every step is a segment. */
static void profiled(void)
{
    takt_profile *profile = NULL;
    const takt_profile_options o = {.runs = 3, .max_ns = 200000000};
    float y[ROWS * 4 + 2] = {0};
    begin(3);
    takt_session *s = open("late", "n=4");
    run(s, 4, y);
    size_t away = 0;
    for (size_t i = 0; i < s->plan->step_count; i++)
        away += s->plan->steps[i].space != TAKT_HOST;
    const uint64_t before = takt_late.segments;
    EXPECT_OK(ctx, takt_profile_create(s, &o, &profile));
    EXPECT(away > 2 && takt_late.segments - before >= 3 * away, "%d segments of %zu steps",
           (int)(takt_late.segments - before), away);
    takt_profile_destroy(profile);
    takt_session_destroy(s);
    end();
}

/* ---- state ---- */

static takt_session *share(const char *backend, takt_session *of)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_plan_options o = {.backend = backend, .sizes = "n=4", .threads = 1};
    if (EXPECT_OK(ctx, takt_plan_create(model, &o, &plan)))
        EXPECT_OK(ctx, takt_session_create(plan, &(takt_session_options){.state_of = of}, &s));
    takt_plan_destroy(plan);
    return s;
}

static float runs_of(takt_session *s)
{
    float y[ROWS * 4 + 2] = {0};
    return run(s, 4, y) ? y[16] : -1;
}

/* Values made on the device stay there: a run copies only inputs and outputs. A plan for the host
 * can still share that state. */
static void state_stays(void)
{
    float count[2] = {0};
    takt_tensor_view view = {.dtype = TAKT_F32, .rank = 1, .dims = {2}, .data = count};
    begin(0);
    takt_session *s = open("late", "n=4");
    EXPECT_EQ(s->plan->slots[0].space, 1);
    EXPECT_EQ(s->plan->space[1].state, 64);
    EXPECT_EQ(s->plan->state_bytes, 0);
    EXPECT_EQ(runs_of(s), 1);
    const uint64_t up = takt_late.uploads, down = takt_late.downloads;
    EXPECT_EQ(runs_of(s), 2);
    EXPECT(takt_late.uploads == up + 1 && takt_late.downloads == down + 2, "%d up, %d down",
           (int)(takt_late.uploads - up), (int)(takt_late.downloads - down));
    takt_session *home = share("cpu", s), *other = share("late", s);
    EXPECT(!other->slots[0].is_mirror && home->slots[0].is_mirror);
    EXPECT_EQ(runs_of(home), 3);
    EXPECT_EQ(runs_of(s), 4);
    EXPECT_EQ(runs_of(other), 5);
    EXPECT_EQ(runs_of(home), 6);
    if (EXPECT_OK(NULL, takt_session_state_get(home, "count", &view)))
        EXPECT_EQ(count[1], 6);
    count[0] = 20;
    EXPECT_OK(NULL, takt_session_state_put(home, "count", &view));
    EXPECT_EQ(runs_of(s), 21);
    EXPECT_EQ(runs_of(home), 22);
    takt_session_reset(s);
    EXPECT_EQ(runs_of(home), 1);
    takt_session_destroy(s);
    EXPECT_EQ(runs_of(other), 2);
    EXPECT_EQ(runs_of(home), 3);
    takt_session_destroy(other);
    takt_session_destroy(home);
    home = open("cpu", "n=4"); /* and the other way round */
    s = share("late", home);
    EXPECT(s->slots[0].is_mirror);
    EXPECT_EQ(runs_of(home), 1);
    EXPECT_EQ(runs_of(s), 2);
    EXPECT_EQ(runs_of(s), 3);
    EXPECT_EQ(runs_of(home), 4);
    takt_session_destroy(home);
    EXPECT_EQ(runs_of(s), 5);
    takt_session_destroy(s);
    end();
}

/* ---- no memory ---- */

static int sink(void *user, const char *bytes, size_t length)
{
    char *to = user;
    const size_t at = strlen(to);
    if (EXPECT(at + length < 8192)) {
        memcpy(to + at, bytes, length);
        to[at + length] = '\0';
    }
    return 0;
}

/* A limit on the device's memory, exact to the byte; shown with the plan's requirement. */
static void limits(const takt_plan_options *plain, size_t need)
{
    static char shown[8192];
    takt_plan *plan = NULL;
    takt_plan_options o = *plain;
    char words[64];
    snprintf(words, sizeof words, "late=%zu", need);
    o.space_limits = words;
    shown[0] = '\0';
    if (EXPECT_OK(ctx, takt_plan_create(model, &o, &plan))) {
        EXPECT_EQ(plan->space[1].limit, need);
        EXPECT_OK(ctx, takt_plan_describe(plan, TAKT_FORMAT_TEXT, sink, shown));
        EXPECT(strstr(shown, "memory of late: constants ") != NULL, "%s", shown);
        EXPECT(strstr(shown, " bytes of ") != NULL, "%s", shown);
    }
    takt_plan_destroy(plan);
    snprintf(words, sizeof words, "late=%zu", need - 1);
    EXPECT(takt_plan_create(model, &o, &plan) != TAKT_OK && plan == NULL);
    EXPECT(takt_last_error_info(ctx)->id == TAKT_E_PLAN_LIMIT, "%s", takt_last_error(ctx));
    static const char *const wrong[] = {"late", "late=", "late=many", "nowhere=2G", "=2G"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        o.space_limits = wrong[i];
        EXPECT(takt_plan_create(model, &o, &plan) == TAKT_ERR_ARGUMENT, "%s", wrong[i]);
    }
    o.space_limits = "late=1.5GiB,cuda=2G"; /* which has nothing to do here */
    EXPECT_OK(ctx, takt_plan_create(model, &o, &plan));
    takt_plan_destroy(plan);
}

/* A device that is too small is reported before a session is made, to the byte. */
static void too_small(void)
{
    takt_plan *plan = NULL;
    begin(0);
    takt_session *s = open("late", "n=4");
    const takt_plan_space need = s->plan->space[1];
    takt_session_destroy(s);
    takt_late.total = need.constants + need.state + need.arena;
    takt_session_destroy(open("late", "n=4"));
    takt_plan_options o = {.backend = "late", .sizes = "n=4", .threads = 1};
    limits(&o, need.constants + need.state + need.arena);
    takt_late.total--;
    if (EXPECT_STATUS(NULL, takt_plan_create(model, &o, &plan), TAKT_ERR_MEMORY))
        EXPECT_SAME(plan, NULL);
    const takt_error *e = takt_last_error_info(ctx);
    EXPECT(e->id == TAKT_E_DEVICE_MEMORY && strstr(e->message, "on late, which has") != NULL,
           "%d: %s", e->id, e->message);
    EXPECT(takt_late.blocks == 0, "%d blocks are left", (int)takt_late.blocks);
    end();
}

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own = NULL;
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_plan_options o = {.backend = "late", .sizes = "n=1..6", .threads = 1};
    const takt_tensor_view view = {.dtype = TAKT_F32, .rank = 2, .dims = {2, 8}, .data = x};
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status == TAKT_OK)
        status = takt_backend_add(own, &takt_backend_late);
    if (status == TAKT_OK)
        status = takt_model_load_memory(own, "m", text, strlen(text), NULL, &m);
    if (status == TAKT_OK)
        status = takt_plan_create(m, &o, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, &s);
    if (status == TAKT_OK)
        status = takt_session_bind(s, "x", &view);
    if (status == TAKT_OK)
        status = takt_session_run(s);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    takt_ctx_destroy(own);
    return status;
}

/* Every allocation of the host fails in turn: nothing is lost on either side. */
static void sweep(void)
{
    takt_late_begin();
    takt_late.refuses = 3;
    const takt_sweep_report r = takt_sweep(scenario, NULL, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s", r.message);
    const char *wrong = takt_late_end();
    EXPECT(wrong == NULL, "%s", wrong);
}

TEST_MAIN(sizes, twins, together, profiled, state_stays, too_small, sweep)
