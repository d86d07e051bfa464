/* trainer_cancel.c - takt_trainer_cancel: a step ends with its initial state, from any thread. */
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <takt/takt.h>

#include "api/train/trainer.h"

enum { ROWS = 24, WIDTH = 12, MOST = 400 };

/* Batch statistics are state that every shard changes. */
static const char net[] = "model net(x: f32[batch, 12]) seed=3 {\n"
                          "  h = relu(batch_norm(dense(x, 16)))\n"
                          "  return dense(h, 4)\n"
                          "}\n";
static float x[ROWS * WIDTH];
static int64_t labels[ROWS];

typedef struct fixture {
    takt_ctx *ctx;
    takt_model *model;
    takt_trainer *trainer;
    size_t at, looks; /* the clock read at which the cancel comes, and reads so far */
    uint64_t now;
} fixture;

/* A timed step readings of the clock around every step of its plan. */
static uint64_t clock_of(void *user)
{
    fixture *f = user;
    if (f->looks++ == f->at)
        takt_trainer_cancel(f->trainer);
    return ++f->now;
}

static bool begin(fixture *f, const takt_train_options *o)
{
    const takt_load_options load = {.training = true};
    *f = (fixture){.at = SIZE_MAX, .now = 1};
    const takt_config config = {.now_ns = clock_of, .clock_user = f};
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        x[i] = (float)(i * 7 % 11) / 11;
    for (size_t i = 0; i < ROWS; i++)
        labels[i] = (int64_t)(i * 5 % 4);
    return EXPECT_OK(NULL, takt_ctx_create(&config, &f->ctx)) &&
           EXPECT_OK(f->ctx, takt_model_load_memory(f->ctx, "m.takt", net, strlen(net), &load,
                                                    &f->model)) &&
           EXPECT_OK(f->ctx, takt_trainer_create(f->model, o, &f->trainer));
}

static void end(fixture *f)
{
    takt_trainer_destroy(f->trainer);
    takt_model_destroy(f->model);
    takt_ctx_destroy(f->ctx);
}

static takt_status run(const fixture *f, int64_t rows, bool is_step)
{
    takt_named_view batch[] = {{.name = "x"}, {.name = "labels"}};
    batch[0].view =
        (takt_tensor_view){.dtype = TAKT_F32, .rank = 2, .dims = {rows, WIDTH}, .data = x};
    batch[1].view =
        (takt_tensor_view){.dtype = TAKT_I64, .rank = 1, .dims = {rows}, .data = labels};
    takt_step_result r;
    takt_step_times times;
    return is_step ? takt_trainer_step_timed(f->trainer, batch, 2, &r, &times)
                   : takt_trainer_eval(f->trainer, batch, 2, &r);
}

/* A digest of everything that the next step depends on. */
static uint64_t digest(const fixture *f)
{
    uint64_t digest = 1469598103934665603U;
    const takt_graph *g = f->trainer->step.model->graph;
    for (size_t i = 0; i < g->slot_count; i++) {
        takt_tensor value;
        if (!EXPECT_OK(f->ctx, takt_train_slot(f->trainer, g->slots[i].name, &value)) ||
            value.storage == NULL)
            continue;
        const unsigned char *bytes = takt_tensor_data(&value);
        for (size_t k = 0; k < takt_tensor_bytes(&value); k++)
            digest = (digest ^ bytes[k]) * 1099511628211U;
        takt_tensor_release(&value);
    }
    return digest;
}

/* Cancels at every read of the clock in turn: the state is that before or that after the step. */
static void cancel_everywhere(const takt_train_options *o)
{
    fixture f, calm;
    size_t cancelled = 0, done = 0;
    if (begin(&calm, o) && begin(&f, o) && EXPECT_OK(f.ctx, run(&f, ROWS, true)) &&
        EXPECT_OK(calm.ctx, run(&calm, ROWS, true)))
        for (size_t at = 0; at < MOST && f.looks >= at; at++) {
            f.at = at;
            f.looks = 0;
            const takt_status status = run(&f, ROWS, true);
            cancelled += status == TAKT_ERR_CANCELLED;
            done += status == TAKT_OK;
            if (status == TAKT_OK)
                EXPECT_OK(calm.ctx, run(&calm, ROWS, true));
            EXPECT(status == TAKT_OK || status == TAKT_ERR_CANCELLED, "%d", (int)status);
            EXPECT(digest(&f) == digest(&calm), "shards %lld, look %zu: %d", (long long)o->shards,
                   at, (int)status);
        }
    EXPECT(cancelled > 10 && done > 0, "%zu cancelled, %zu not", cancelled, done);
    end(&f);
    end(&calm);
}

static void a_cancelled_step_changes_nothing(void)
{
    cancel_everywhere(&(takt_train_options){.optimizer = "adam"});
    cancel_everywhere(&(takt_train_options){.optimizer = "adam", .shards = 3});
    cancel_everywhere(&(takt_train_options){.optimizer = "sgd", .clip_norm = 1});
}

static void a_cancel_is_for_one_call(void)
{
    fixture f;
    if (begin(&f, NULL)) {
        takt_trainer_cancel(f.trainer); /* none is in progress: the next */
        EXPECT_STATUS(NULL, run(&f, ROWS, true), TAKT_ERR_CANCELLED);
        EXPECT(strstr(takt_last_error(f.ctx), "before it began") != NULL);
        EXPECT_OK(f.ctx, run(&f, ROWS, true));
        takt_trainer_cancel(f.trainer);
        EXPECT_STATUS(NULL, run(&f, ROWS, false), TAKT_ERR_CANCELLED);
        EXPECT_OK(f.ctx, run(&f, ROWS, false));
        EXPECT_EQ(takt_trainer_steps(f.trainer), 1);
    }
    end(&f);
}

/* ---- another thread ---- */

typedef struct canceller {
    takt_trainer *trainer;
    atomic_bool is_over;
    atomic_size_t calls;
} canceller;

static void *cancel_often(void *user)
{
    canceller *c = user;
    while (!atomic_load(&c->is_over)) {
        takt_trainer_cancel(c->trainer);
        atomic_fetch_add(&c->calls, 1);
    }
    return NULL;
}

/* Sessions are destroyed and made again by evaluations and other sizes. */
static void from_another_thread(void)
{
    fixture f;
    pthread_t thread;
    const takt_plan_options plan = {.threads = 2};
    const takt_train_options o = {.optimizer = "sgd", .plan = &plan};
    if (begin(&f, &o) && EXPECT_OK(f.ctx, run(&f, ROWS, true))) {
        const uint64_t old = digest(&f);
        canceller c = {.trainer = f.trainer};
        if (EXPECT_EQ(pthread_create(&thread, NULL, cancel_often, &c), 0)) {
            while (atomic_load(&c.calls) == 0) {
            }
            for (int64_t i = 0; i < 40; i++) {
                const takt_status status = run(&f, ROWS - i % 3, i % 2 == 0);
                EXPECT(status == TAKT_OK || status == TAKT_ERR_CANCELLED, "%d", (int)status);
            }
            atomic_store(&c.is_over, true);
            EXPECT_EQ(pthread_join(thread, NULL), 0);
        }
        EXPECT_EQ((takt_trainer_steps(f.trainer) == 1), (digest(&f) == old));
        (void)run(&f, ROWS, true); /* the last cancel may affect this one */
        EXPECT_OK(f.ctx, run(&f, ROWS, true));
    }
    end(&f);
}

TEST_MAIN(a_cancelled_step_changes_nothing, a_cancel_is_for_one_call, from_another_thread)
