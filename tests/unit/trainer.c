/* trainer.c - training: the same bits however it runs, nothing lost, every failure named. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "api/model.h"
#include "base/error.h"
#include "util/inject.h"
#include "util/trained_net.h"

/* The bits of every parameter, after `steps` steps. */
static uint64_t digest_after(const takt_train_options *o, int steps, int64_t rows)
{
    takt_model *m = load(net);
    takt_trainer *t = NULL;
    takt_named_view views[2];
    uint64_t digest = 1469598103934665603U;
    if (m == NULL || !EXPECT_OK(ctx, takt_trainer_create(m, o, &t)))
        return 0;
    for (int i = 0; i < steps; i++) {
        takt_step_result r;
        fill_batch((unsigned)i);
        EXPECT_OK(ctx, takt_trainer_step(t, views, batch_of(views, rows), &r));
        EXPECT(r.step == (uint64_t)i + 1 && isfinite(r.loss) && r.count == (double)rows);
    }
    EXPECT_OK(ctx, takt_trainer_export(t, m, false));
    for (size_t i = 0; i < m->graph->slot_count; i++) {
        const unsigned char *bytes = takt_tensor_data(&m->slots[i]);
        for (size_t k = 0; k < takt_tensor_bytes(&m->slots[i]); k++)
            digest = (digest ^ bytes[k]) * 1099511628211U;
    }
    takt_trainer_destroy(t);
    takt_model_destroy(m);
    return digest;
}

static void same_bits(void)
{
    const takt_train_options plain = {.optimizer = "adam", .clip_norm = 0.5, .seed = 9};
    const uint64_t want = digest_after(&plain, 12, ROWS);
    for (int threads = 1; threads <= 8; threads++) {
        const takt_plan_options plan = {.threads = threads};
        takt_train_options o = plain;
        o.plan = &plan;
        EXPECT(digest_after(&o, 12, ROWS) == want, "%d threads give other bits", threads);
    }
    const takt_plan_options scalar = {.isa = "scalar"};
    takt_train_options o = plain;
    o.plan = &scalar;
    EXPECT(digest_after(&o, 12, ROWS) == want, "scalar kernels give other bits");
    o = plain;
    o.seed = 10;
    EXPECT(digest_after(&o, 12, ROWS) != want, "the seed of dropout changes nothing");
}

/* Whole batches and a ragged one; the gradient of a sum of shards is that of the batch. */
static void shards(void)
{
    takt_train_options o = {.optimizer = "sgd", .rate = 0.1, .shards = 3};
    const uint64_t want = digest_after(&o, 5, ROWS);
    EXPECT_EQ(digest_after(&o, 5, ROWS), want);
    o.shards = 5;
    (void)digest_after(&o, 2, 7);
    takt_model *m = load(net);
    takt_trainer *whole = NULL, *parts = NULL;
    takt_named_view views[2];
    takt_step_result a, b;
    const takt_train_options one = {.optimizer = "sgd", .rate = 0.1};
    o.shards = 4;
    if (EXPECT_OK(ctx, takt_trainer_create(m, &one, &whole)) &&
        EXPECT_OK(ctx, takt_trainer_create(m, &o, &parts))) {
        for (int i = 0; i < 20; i++) {
            fill_batch((unsigned)i);
            EXPECT_OK(ctx, takt_trainer_step(whole, views, batch_of(views, ROWS), &a));
            EXPECT_OK(ctx, takt_trainer_step(parts, views, batch_of(views, ROWS), &b));
            EXPECT(fabs(a.loss - b.loss) < 1e-5, "step %d: %g and %g", i, a.loss, b.loss);
        }
    }
    takt_trainer_destroy(whole);
    takt_trainer_destroy(parts);
    takt_model_destroy(m);
}

static void resumes(void)
{
    char path[1100];
    const takt_train_options o = {
        .optimizer = "adamw", .seed = 4, .ema = 0.9, .schedule = "cosine", .steps = 20};
    snprintf(path, sizeof path, "%s/resume.checkpoint", folder);
    takt_model *m = load(net), *again = load(net);
    takt_trainer *t = NULL, *u = NULL;
    takt_named_view views[2];
    takt_step_result a, b;
    const char *note = NULL;
    if (!EXPECT_OK(ctx, takt_trainer_create(m, &o, &t)) ||
        !EXPECT_OK(ctx, takt_trainer_create(again, &o, &u)))
        return;
    for (int i = 0; i < 20; i++) {
        fill_batch((unsigned)i);
        if (i == 7)
            EXPECT_OK(ctx, takt_trainer_save(t, path, "at seven"));
        EXPECT_OK(ctx, takt_trainer_step(t, views, batch_of(views, ROWS), &a));
    }
    EXPECT_OK(ctx, takt_trainer_load(u, path, &note));
    EXPECT(note != NULL && strcmp(note, "at seven") == 0 && takt_trainer_steps(u) == 7);
    for (int i = 7; i < 20; i++) {
        fill_batch((unsigned)i);
        EXPECT_OK(ctx, takt_trainer_step(u, views, batch_of(views, ROWS), &b));
    }
    EXPECT_EQ(a.loss, b.loss);
    EXPECT_EQ(a.rate, b.rate);
    EXPECT_EQ(a.step, b.step);
    EXPECT_OK(ctx, takt_trainer_export(t, m, true));
    EXPECT_OK(ctx, takt_trainer_export(u, again, true));
    for (size_t i = 0; i < m->graph->slot_count; i++)
        EXPECT(memcmp(takt_tensor_data(&m->slots[i]), takt_tensor_data(&again->slots[i]),
                      takt_tensor_bytes(&m->slots[i])) == 0,
               "%s differs", m->graph->slots[i].name);
    takt_trainer_destroy(t);
    takt_trainer_destroy(u);
    takt_model_destroy(m);
    takt_model_destroy(again);
}

/* A checkpoint with any byte changed is refused, and the trainer can continue. */
static void damaged(void)
{
    char path[1100];
    const takt_train_options o = {.optimizer = "sgd"}, other = {.optimizer = "adam"};
    takt_model *m = load(net);
    takt_trainer *t = NULL, *u = NULL;
    takt_named_view views[2];
    snprintf(path, sizeof path, "%s/damaged.checkpoint", folder);
    if (!EXPECT_OK(ctx, takt_trainer_create(m, &o, &t)) ||
        !EXPECT_OK(ctx, takt_trainer_create(m, &other, &u)))
        return;
    EXPECT_OK(ctx, takt_trainer_save(t, path, NULL));
    EXPECT_IS(takt_trainer_load(u, path, NULL), !=, TAKT_OK);
    EXPECT(takt_last_error_info(ctx)->id == TAKT_E_TRAIN_CHECKPOINT, "%s", takt_last_error(ctx));
    FILE *file = fopen(path, "rb+");
    if (EXPECT(file != NULL)) {
        fseek(file, 0, SEEK_END);
        const long size = ftell(file);
        for (long at = 0; at < size; at += size / 97 + 1) {
            fseek(file, at, SEEK_SET);
            const int was = fgetc(file);
            fseek(file, at, SEEK_SET);
            fputc(was ^ 0x10, file);
            fflush(file);
            EXPECT(takt_trainer_load(t, path, NULL) != TAKT_OK, "byte %ld", at);
            fseek(file, at, SEEK_SET);
            fputc(was, file);
            fflush(file);
        }
        fclose(file);
    }
    EXPECT_OK(ctx, takt_trainer_load(t, path, NULL));
    fill_batch(1);
    EXPECT_OK(ctx, takt_trainer_step(t, views, batch_of(views, ROWS), NULL));
    takt_trainer_destroy(t);
    takt_trainer_destroy(u);
    takt_model_destroy(m);
}

/* ---- failures ---- */

static void expect_id(takt_status status, int id)
{
    EXPECT(status != TAKT_OK && takt_last_error_info(ctx)->id == id, "expected %d, got %d: %s", id,
           takt_last_error_info(ctx)->id, takt_last_error(ctx));
}

static bool never(void *user, const char *name)
{
    (void)user;
    (void)name;
    return false;
}

static void refusals(void)
{
    takt_trainer *t = NULL;
    takt_model *m = load(net), *plain = NULL;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", net, strlen(net), NULL, &plain));
    expect_id(takt_trainer_create(plain, NULL, &t), TAKT_E_ARGUMENT);
    const takt_train_options wrong[] = {
        {.optimizer = "adma"}, {.loss = "cross"}, {.schedule = "cosin"}};
    for (size_t i = 0; i < 3; i++)
        expect_id(takt_trainer_create(m, &wrong[i], &t), TAKT_E_NAME);
    const takt_train_options numbers[] = {{.optimizer = "sgd:momentum=2"},
                                          {.optimizer = "sgd:momentun=0.5"},
                                          {.optimizer = "sgd:momentum=x"},
                                          {.schedule = "cosine"},
                                          {.rate = -1},
                                          {.ema = NAN},
                                          {.shards = -2}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        expect_id(takt_trainer_create(m, &numbers[i], &t), TAKT_E_OPTION);
    const takt_train_options frozen = {.trains = never};
    expect_id(takt_trainer_create(m, &frozen, &t), TAKT_E_TRAIN_PARAMETERS);
    takt_model_destroy(plain);
    takt_model_destroy(m);
    m = load("model m(x: f32[batch, 3]) { param w: f32[3]\n return loss = x * w }\n");
    expect_id(takt_trainer_create(m, NULL, &t), TAKT_E_TRAIN_LOSS);
    takt_model_destroy(m);
    m = load("model m(x: i64[batch, 3]) { return x + 1 }\n");
    expect_id(takt_trainer_create(m, NULL, &t), TAKT_E_TRAIN_LOSS);
    EXPECT_SAME(t, NULL);
    takt_model_destroy(m);
}

/* A loss that is not finite leaves everything unchanged; so does a label out of range. */
static void bad_batches(void)
{
    const takt_train_options o = {.optimizer = "adam", .seed = 9};
    takt_model *m = load(net);
    takt_trainer *t = NULL;
    takt_named_view views[2];
    takt_step_result a, b;
    if (!EXPECT_OK(ctx, takt_trainer_create(m, &o, &t)))
        return;
    fill_batch(0);
    EXPECT_OK(ctx, takt_trainer_step(t, views, batch_of(views, ROWS), &a));
    x[5] = NAN;
    expect_id(takt_trainer_step(t, views, batch_of(views, ROWS), &b), TAKT_E_TRAIN_NOT_FINITE);
    fill_batch(0);
    labels[3] = CLASSES;
    expect_id(takt_trainer_step(t, views, batch_of(views, ROWS), &b), TAKT_E_INDEX);
    fill_batch(0);
    expect_id(takt_trainer_step(t, views, 1, &b), TAKT_E_BINDING);
    expect_id(takt_trainer_step(t, views, batch_of(views, 0), &b), TAKT_E_TRAIN_DATA);
    EXPECT_EQ(takt_trainer_steps(t), 1);
    EXPECT_OK(ctx, takt_trainer_step(t, views, batch_of(views, ROWS), &a));
    takt_trainer_destroy(t);
    EXPECT_OK(ctx, takt_trainer_create(m, &o, &t)); /* the same two steps without the bad ones */
    for (int i = 0; i < 2; i++)
        EXPECT_OK(ctx, takt_trainer_step(t, views, batch_of(views, ROWS), &b));
    EXPECT_EQ(a.loss, b.loss);
    takt_trainer_destroy(t);
    takt_model_destroy(m);
}

/* A model of four samples at a time: a step consists of such parts only. */
static void fixed_batch(void)
{
    const takt_train_options o = {.optimizer = "sgd", .shards = 3};
    takt_model *m = load("model net(x: f32[4, 12]) { return dense(x, 4) }\n");
    takt_trainer *t = NULL;
    takt_named_view views[2];
    takt_step_result r, e;
    if (m == NULL || !EXPECT_OK(ctx, takt_trainer_create(m, &o, &t)))
        return;
    fill_batch(0);
    expect_id(takt_trainer_step(t, views, batch_of(views, 6), &r), TAKT_E_TRAIN_BATCH);
    expect_id(takt_trainer_step(t, views, batch_of(views, 16), &r), TAKT_E_TRAIN_BATCH);
    expect_id(takt_trainer_eval(t, views, batch_of(views, 5), &r), TAKT_E_TRAIN_BATCH);
    EXPECT_OK(ctx, takt_trainer_eval(t, views, batch_of(views, 12), &e));
    EXPECT_OK(ctx, takt_trainer_step(t, views, batch_of(views, 12), &r));
    EXPECT_EQ(r.count, 12);
    EXPECT_EQ(e.count, 12);
    EXPECT_EQ(e.loss, r.loss);
    EXPECT_EQ(e.hits, r.hits);
    EXPECT_OK(ctx, takt_trainer_step(t, views, batch_of(views, 4), &r));
    takt_trainer_destroy(t);
    takt_model_destroy(m);
}

/* Evaluation computes as in inference, with the weights of now, and changes nothing. */
static void evaluates(void)
{
    const takt_train_options o = {.optimizer = "sgd", .rate = 0.3};
    takt_model *m = load(net);
    takt_trainer *t = NULL;
    takt_named_view views[2];
    takt_step_result first, twice, later;
    fill_batch(2);
    if (!EXPECT_OK(ctx, takt_trainer_create(m, &o, &t)))
        return;
    EXPECT(strstr(takt_trainer_note(t), "softmax") != NULL);
    EXPECT_OK(ctx, takt_trainer_eval(t, views, batch_of(views, ROWS), &first));
    EXPECT_OK(ctx, takt_trainer_eval(t, views, batch_of(views, ROWS), &twice));
    EXPECT_EQ(first.loss, twice.loss);
    EXPECT_IS(first.hits, >=, 0);
    EXPECT_IS(first.hits, <=, ROWS);
    for (int i = 0; i < 60; i++)
        EXPECT_OK(ctx, takt_trainer_step(t, views, batch_of(views, ROWS), NULL));
    EXPECT_OK(ctx, takt_trainer_eval(t, views, batch_of(views, ROWS), &later));
    EXPECT(later.loss < first.loss, "%g, then %g", first.loss, later.loss);
    takt_plan_info info;
    EXPECT_OK(ctx, takt_trainer_plan(t, views, batch_of(views, ROWS), &info));
    EXPECT_IS(info.peak, >, 0);
    EXPECT_IS(info.state, >, 0);
    takt_trainer_destroy(t);
    takt_model_destroy(m);
}

/* ---- memory that is refused ---- */

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own, *const before = ctx;
    takt_model *m = NULL;
    takt_trainer *t = NULL;
    takt_named_view views[2];
    takt_step_times times;
    const takt_load_options load_options = {.training = true};
    const takt_plan_options plan = {.threads = 1};
    const takt_train_options o = {.optimizer = "adam", .shards = 2, .plan = &plan};
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    ctx = own;
    status = takt_model_load_memory(own, "m.takt", net, strlen(net), &load_options, &m);
    if (status == TAKT_OK)
        status = takt_trainer_create(m, &o, &t);
    if (status == TAKT_OK)
        status = takt_trainer_step_timed(t, views, batch_of(views, ROWS), NULL, &times);
    EXPECT(status != TAKT_OK ||
           (times.forward_ns > 0 && times.gradient_ns > 0 && times.optimizer_ns > 0));
    if (status == TAKT_OK)
        status = takt_trainer_eval(t, views, batch_of(views, ROWS), NULL);
    if (status == TAKT_OK)
        status = takt_trainer_export(t, m, false);
    takt_trainer_destroy(t);
    takt_model_destroy(m);
    takt_ctx_destroy(own);
    ctx = before;
    return status;
}

static void memory_fails(void)
{
    fill_batch(0);
    const takt_sweep_report r = takt_sweep(scenario, NULL, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s", r.message);
}

int main(void)
{
    const char *tmp = getenv("TAKT_TEST_TMP");
    snprintf(folder, sizeof folder, "%s", tmp != NULL ? tmp : "/tmp");
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return test_done();
    same_bits();
    shards();
    resumes();
    damaged();
    refusals();
    bad_batches();
    fixed_batch();
    evaluates();
    memory_fails();
    takt_ctx_destroy(ctx);
    return test_done();
}
