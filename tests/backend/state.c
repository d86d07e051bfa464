/* state.c - state updated in place: nothing is copied, and any failure leaves it unchanged. */
#include "api/session/session.h"
#include "plan/backend.h"
#include "test.h"

#include <string.h>

#include <takt/takt.h>

/* A cache that grows by a row; the row at `bad` of a table is read afterwards, and may fail. */
static const char cached[] = "model cache(row: f32[1, 4], at: i64[], bad: i64[]) -> (y: f32[8]) {\n"
                             "    state kept: f32[8, 4] = 0\n"
                             "    state turns: i64[] = 0\n"
                             "    table = constant(f32[3], [1, 2, 3])\n"
                             "    grown = update_slice(kept, row, at)\n"
                             "    next kept = grown\n"
                             "    next turns = add(turns, constant(i64[], [1]))\n"
                             "    return y = add(reduce_sum(grown, axes=[1]), gather(table, bad))\n"
                             "}\n";

typedef struct fixture {
    takt_ctx *ctx;
    takt_model *model;
    takt_plan *plan;
    takt_session *session;
    float row[4], y[8];
    int64_t at, bad;
} fixture;

static void bind(fixture *f, const char *name, takt_dtype dtype, int rank, const int64_t *dims,
                 void *data)
{
    takt_tensor_view v = {.dtype = dtype, .rank = rank, .data = data};
    for (int d = 0; d < rank; d++)
        v.dims[d] = dims[d];
    EXPECT(takt_session_bind(f->session, name, &v) == TAKT_OK, "%s",
           takt_session_error(f->session)->message);
}

static bool begin(fixture *f, const char *text)
{
    *f = (fixture){.ctx = NULL};
    const takt_plan_options options = {.threads = 1};
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &f->ctx)))
        return false;
    return EXPECT_OK(f->ctx, takt_model_load_memory(f->ctx, "cache", text, strlen(text), NULL,
                                                    &f->model)) &&
           EXPECT_OK(f->ctx, takt_plan_create(f->model, &options, &f->plan)) &&
           EXPECT_OK(f->ctx, takt_session_create(f->plan, NULL, &f->session));
}

static void end(fixture *f)
{
    takt_session_destroy(f->session);
    takt_plan_destroy(f->plan);
    takt_model_destroy(f->model);
    takt_ctx_destroy(f->ctx);
}

static const float *kept(const fixture *f)
{
    return takt_tensor_data(&f->session->state[0]);
}

static int64_t turns(const fixture *f)
{
    return *(const int64_t *)takt_tensor_data(&f->session->state[1]);
}

/* No step copies the cache. */
static void is_in_place(const fixture *f)
{
    for (size_t i = 0; i < f->plan->step_count; i++)
        EXPECT(strstr(f->plan->steps[i].name, "kept") == NULL, "step %s", f->plan->steps[i].name);
    for (size_t i = 0; i < f->plan->buffer_count; i++)
        EXPECT(f->plan->buffers[i].place != TAKT_PLACE_ARENA ||
                   f->plan->buffers[i].bytes < 8 * 4 * 4,
               "buffer %zu has %zu bytes", i, f->plan->buffers[i].bytes);
}

static void bind_all(fixture *f)
{
    bind(f, "row", TAKT_F32, 2, (const int64_t[]){1, 4}, f->row);
    bind(f, "at", TAKT_I64, 0, NULL, &f->at);
    bind(f, "bad", TAKT_I64, 0, NULL, &f->bad);
    bind(f, "y", TAKT_F32, 1, (const int64_t[]){8}, f->y);
}

static void grows(void)
{
    fixture f = {0};
    if (begin(&f, cached)) {
        is_in_place(&f);
        bind_all(&f);
        for (f.at = 0; f.at < 8; f.at++) {
            for (int i = 0; i < 4; i++)
                f.row[i] = (float)(10 * f.at + i);
            EXPECT(takt_session_run(f.session) == TAKT_OK, "%s",
                   takt_session_error(f.session)->message);
            EXPECT_EQ(turns(&f), f.at + 1);
            EXPECT(f.y[f.at] == (float)(40 * f.at + 6 + 1), "row %d: %g", (int)f.at,
                   (double)f.y[f.at]);
        }
        for (int i = 0; i < 32; i++)
            EXPECT_EQ(kept(&f)[i], (float)(i / 4 * 10 + i % 4));
    }
    end(&f);
}

/* A later step fails, the start is out of range, the run is cancelled: old state, every time. */
static void fails(void)
{
    fixture f = {0};
    if (begin(&f, cached)) {
        bind_all(&f);
        f.at = 2;
        f.row[0] = 5;
        EXPECT_OK(NULL, takt_session_run(f.session));
        f.row[0] = 7;
        f.bad = 3;
        EXPECT_STATUS(NULL, takt_session_run(f.session), TAKT_ERR_RANGE);
        EXPECT(kept(&f)[8] == 5 && turns(&f) == 1, "%g after %d", (double)kept(&f)[8],
               (int)turns(&f));
        f.bad = 0;
        f.at = 8;
        EXPECT_STATUS(NULL, takt_session_run(f.session), TAKT_ERR_RANGE);
        EXPECT_EQ(kept(&f)[8], 5);
        EXPECT_EQ(turns(&f), 1);
        f.at = 2;
        takt_session_cancel(f.session);
        EXPECT_STATUS(NULL, takt_session_run(f.session), TAKT_ERR_CANCELLED);
        EXPECT_EQ(kept(&f)[8], 5);
        EXPECT_EQ(turns(&f), 1);
        EXPECT_OK(NULL, takt_session_run(f.session));
        EXPECT_EQ(kept(&f)[8], 7);
        EXPECT_EQ(turns(&f), 2);
    }
    end(&f);
}

typedef struct stopper {
    takt_session *session;
    size_t at;
} stopper;

static void stop_before(void *user, size_t step)
{
    const stopper *s = user;
    if (step == s->at)
        takt_session_cancel(s->session);
}

static void nothing(void *user, size_t step)
{
    (void)user;
    (void)step;
}

/* Cancelled after each step in turn: the state is old, or the run is through. */
static void cancelled(void)
{
    fixture f = {0};
    if (begin(&f, cached)) {
        bind_all(&f);
        for (size_t at = 0; at < f.plan->step_count; at++) {
            stopper s = {.session = f.session, .at = at};
            const takt_watch watch = {.before = stop_before, .after = nothing, .user = &s};
            takt_session_reset(f.session);
            memset(takt_tensor_data(&f.session->state[0]), 0, 8 * 4 * 4);
            memset(takt_tensor_data(&f.session->state[1]), 0, 8);
            f.row[0] = 9;
            f.session->watch = &watch;
            const takt_status status = takt_session_run(f.session);
            const bool is_new = kept(&f)[0] == 9 && turns(&f) == 1;
            const bool is_old = kept(&f)[0] == 0 && turns(&f) == 0;
            EXPECT(status == TAKT_OK ? is_new : is_old, "cancelled in step %zu: status %d, %g, %d",
                   at, status, (double)kept(&f)[0], (int)turns(&f));
            f.session->watch = NULL;
            EXPECT(takt_session_run(f.session) == TAKT_OK, "a cancel hits the next run");
        }
    }
    end(&f);
}

/* The old value still has a reader, so it is copied. */
static void shared(void)
{
    static const char text[] = "model both(row: f32[1, 4], at: i64[]) -> (old: f32[8, 4]) {\n"
                               "    state kept: f32[8, 4] = 0\n"
                               "    grown = update_slice(kept, row, at)\n"
                               "    next kept = grown\n"
                               "    return old = add(kept, reduce_sum(grown))\n"
                               "}\n";
    fixture f = {0};
    if (begin(&f, text)) {
        float old[32];
        f.row[0] = 3;
        bind(&f, "row", TAKT_F32, 2, (const int64_t[]){1, 4}, f.row);
        bind(&f, "at", TAKT_I64, 0, NULL, &f.at);
        bind(&f, "old", TAKT_F32, 2, (const int64_t[]){8, 4}, old);
        EXPECT_OK(NULL, takt_session_run(f.session));
        EXPECT(old[0] == 3 && old[31] == 3 && kept(&f)[0] == 3, "%g %g", (double)old[0],
               (double)kept(&f)[0]);
        EXPECT_OK(NULL, takt_session_run(f.session));
        EXPECT_EQ(old[0], 6);
        EXPECT_EQ(old[31], 3);
    }
    end(&f);
}

TEST_MAIN(grows, fails, cancelled, shared)
