/* trainer_empty.c - batches in which no label counts: all are ignored, or of classes with weight 0.
 * Weights and slots keep their bits, and the steps around such a batch are those of a training
 * without it. */
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "test.h"

enum { ROWS = 6, WIDTH = 4 };

static const char net[] = "model net(x: f32[batch, 4]) seed=3 { return dense(x, 3) }\n";
static const float x[ROWS * WIDTH] = {0.5F, 1, -1, 0.25F, 2, 0, 0.5F, 1, 1, -0.5F, 0, 0.75F};
static const int64_t some[ROWS] = {0, 1, 0, 1, 0, 1};

typedef struct training {
    takt_ctx *ctx;
    takt_model *model;
    takt_trainer *trainer;
} training;

static void begin(training *t, const takt_train_options *o)
{
    const takt_load_options load = {.training = true};
    *t = (training){NULL, NULL, NULL};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &t->ctx));
    EXPECT_OK(t->ctx, takt_model_load_memory(t->ctx, "m.takt", net, strlen(net), &load, &t->model));
    EXPECT_OK(t->ctx, takt_trainer_create(t->model, o, &t->trainer));
}

static void end(training *t)
{
    takt_trainer_destroy(t->trainer);
    takt_model_destroy(t->model);
    takt_ctx_destroy(t->ctx);
}

static takt_step_result run(training *t, const int64_t *labels, bool is_eval)
{
    takt_step_result r = {0};
    takt_named_view batch[2] = {{.name = "x"}, {.name = "labels"}};
    batch[0].view = (takt_tensor_view){
        .dtype = TAKT_F32, .rank = 2, .dims = {ROWS, WIDTH}, .data = (void *)(uintptr_t)x};
    batch[1].view = (takt_tensor_view){
        .dtype = TAKT_I64, .rank = 1, .dims = {ROWS}, .data = (void *)(uintptr_t)labels};
    EXPECT_OK(t->ctx, is_eval ? takt_trainer_eval(t->trainer, batch, 2, &r)
                              : takt_trainer_step(t->trainer, batch, 2, &r));
    return r;
}

/* Loss and state are those of a training that never saw the empty batch. */
static void left_alone(const takt_train_options *o, const int64_t *empty)
{
    training with, without;
    begin(&with, o);
    begin(&without, o);
    (void)run(&with, some, false);
    (void)run(&without, some, false);
    for (int i = 0; i < 2; i++) {
        const takt_step_result r = run(&with, empty, false);
        EXPECT(r.skipped && r.count == 0 && r.loss == 0, "%s %s: loss %g, count %g", o->loss,
               o->optimizer, r.loss, r.count);
        EXPECT_EQ(r.step, 2 + i);
    }
    const takt_step_result none = run(&with, empty, true);
    EXPECT(none.count == 0 && none.loss == 0, "an evaluation: %g of %g", none.loss, none.count);
    for (int i = 0; i < 3; i++) {
        const takt_step_result a = run(&with, some, false), b = run(&without, some, false);
        EXPECT(isfinite(a.loss) && a.loss == b.loss && a.hits == b.hits, "%s %s: %.9g, not %.9g",
               o->loss, o->optimizer, a.loss, b.loss);
    }
    end(&with);
    end(&without);
}

static void no_label_counts(void)
{
    static const int64_t ignored[ROWS] = {-1, -1, -1, -1, -1, -1}, third[ROWS] = {2, 2, 2, 2, 2, 2};
    static const char *const optimizers[] = {"adamw", "sgd:momentum=0.9", "adafactor", "muon",
                                             "lion",  "adadelta"};
    float weights[3] = {1, 2, 0};
    const takt_tensor_view classes = {.dtype = TAKT_F32, .rank = 1, .dims = {3}, .data = weights};
    for (size_t i = 0; i < 6; i++)
        for (int64_t shards = 1; shards <= 3; shards += 2) {
            takt_train_options o = {.loss = "cross_entropy:ignore=-1",
                                    .optimizer = optimizers[i],
                                    .shards = shards,
                                    .ema = 0.9,
                                    .clip_norm = i % 2 == 0 ? 1 : 0};
            left_alone(&o, ignored);
            o.class_weights = &classes;
            left_alone(&o, ignored);
            o.loss = "cross_entropy";
            left_alone(&o, third);
            o.amp = "f16";
            left_alone(&o, third);
            o = (takt_train_options){.loss = "triplet", .optimizer = optimizers[i]};
            left_alone(&o, third);
        }
}

/* Shards without a label that counts add nothing to the step, nor to its divisor. */
static void one_shard_of_three(void)
{
    static const int64_t part[ROWS] = {0, 1, -1, -1, 1, 0};
    const takt_train_options whole = {.loss = "cross_entropy:ignore=-1"};
    const takt_train_options parts = {.loss = "cross_entropy:ignore=-1", .shards = 3};
    training a, b;
    begin(&a, &whole);
    begin(&b, &parts);
    for (int i = 0; i < 3; i++) {
        const takt_step_result r = run(&a, part, false), s = run(&b, part, false);
        EXPECT(fabs(r.loss - s.loss) < 1e-6 && r.count == 4 && s.count == 4 && !s.skipped, "%g, %g",
               r.loss, s.loss);
    }
    end(&a);
    end(&b);
}

/* What is right counts as much as its loss does: never more than all of it. */
static void hits_are_weighed(void)
{
    static const int64_t ignored[ROWS] = {0, 0, 0, 1, 0, 1};
    float weights[3] = {0.25F, 4, 1};
    const takt_tensor_view classes = {.dtype = TAKT_F32, .rank = 1, .dims = {3}, .data = weights};
    const takt_train_options options[2] = {
        {.loss = "cross_entropy:ignore=0", .optimizer = "sgd", .rate = 1},
        {.class_weights = &classes, .optimizer = "sgd", .rate = 1}};
    for (int i = 0; i < 2; i++) {
        training t;
        takt_step_result r = {0};
        begin(&t, &options[i]);
        for (int k = 0; k < 60; k++)
            r = run(&t, ignored, false);
        EXPECT(r.count == (i == 0 ? 2 : 9), "%g", r.count);
        EXPECT(r.hits >= 0 && r.hits <= r.count, "%g of %g are right", r.hits, r.count);
        EXPECT(i == 1 || r.hits == 2, "%g", r.hits);
        end(&t);
    }
}

static void bad_weights(void)
{
    const float bad[] = {-1, INFINITY, NAN};
    for (size_t i = 0; i < 3; i++) {
        float weights[3] = {1, bad[i], 1};
        const takt_tensor_view classes = {
            .dtype = TAKT_F32, .rank = 1, .dims = {3}, .data = weights};
        const takt_train_options o = {.class_weights = &classes};
        const takt_load_options load = {.training = true};
        training t = {NULL, NULL, NULL};
        EXPECT_OK(NULL, takt_ctx_create(NULL, &t.ctx));
        EXPECT_OK(t.ctx,
                  takt_model_load_memory(t.ctx, "m.takt", net, strlen(net), &load, &t.model));
        EXPECT_STATUS(t.ctx, takt_trainer_create(t.model, &o, &t.trainer), TAKT_ERR_ARGUMENT);
        EXPECT(strstr(takt_last_error(t.ctx), "class weight 1 is") != NULL, "%s",
               takt_last_error(t.ctx));
        end(&t);
    }
}

TEST_MAIN(no_label_counts, one_shard_of_three, hits_are_weighed, bad_weights)
