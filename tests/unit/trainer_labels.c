/* trainer_labels.c - labels with or without a last axis of one, as whole numbers or as floats,
 * train the same weights; what does not fit is refused, and so are classes that a model lacks. */
#include <string.h>

#include <takt/takt.h>

#include "test.h"

enum { ROWS = 6, WIDTH = 4, STEPS = 3 };

static const char any[] = "model net(x: f32[batch, 4]) seed=3 { return dense(x, 1) }\n";
static const char fixed[] = "model net(x: f32[3, 4]) seed=3 { return dense(x, 1) }\n";
static const char classes[] = "model net(x: f32[batch, 4]) seed=3 { return dense(x, 3) }\n";

static const float x[ROWS * WIDTH] = {0.5F, 1, -1, 0.25F, 2, 0, 0.5F, 1, 1, -0.5F, 0, 0.75F};
static const int64_t whole[ROWS] = {4, 30, 17, -2, 61, 8};
static const int32_t narrow[ROWS] = {4, 30, 17, -2, 61, 8};
static const float numbers[ROWS] = {4, 30, 17, -2, 61, 8};
static const int64_t kinds[ROWS] = {0, 2, 1, 1, 0, 2};

/* The loss after some steps; below 0: refused, and `status` says how. */
static double trained(const char *text, const char *loss, takt_dtype dtype, int rank,
                      const void *labels, takt_status *status)
{
    takt_ctx *ctx = NULL;
    takt_model *m = NULL;
    takt_trainer *t = NULL;
    const takt_load_options load = {.training = true};
    const takt_train_options options = {.loss = loss, .shards = text == fixed ? 2 : 1};
    takt_named_view batch[2] = {{.name = "x"}, {.name = "labels"}};
    takt_step_result r = {0};
    batch[0].view = (takt_tensor_view){
        .dtype = TAKT_F32, .rank = 2, .dims = {ROWS, WIDTH}, .data = (void *)(uintptr_t)x};
    batch[1].view = (takt_tensor_view){
        .dtype = dtype, .rank = rank, .dims = {ROWS, 1, 1}, .data = (void *)(uintptr_t)labels};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, strlen(text), &load, &m));
    EXPECT_OK(ctx, takt_trainer_create(m, &options, &t));
    *status = TAKT_OK;
    for (int i = 0; t != NULL && *status == TAKT_OK && i < STEPS; i++)
        *status = takt_trainer_step(t, batch, 2, &r);
    if (*status == TAKT_OK) /* an evaluation is another plan */
        *status = takt_trainer_eval(t, batch, 2, &r);
    takt_trainer_destroy(t);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    return *status == TAKT_OK ? r.loss : -1;
}

static void numbers_of_any_kind(void)
{
    static const char *const texts[] = {any, fixed};
    for (int i = 0; i < 2; i++) {
        takt_status s;
        const double like = trained(texts[i], "mse", TAKT_F32, 2, numbers, &s);
        EXPECT(like > 0);
        EXPECT(trained(texts[i], "mse", TAKT_F32, 1, numbers, &s) == like);
        EXPECT(trained(texts[i], "mse", TAKT_I64, 1, whole, &s) == like);
        EXPECT(trained(texts[i], "mse", TAKT_I64, 2, whole, &s) == like);
        EXPECT(trained(texts[i], "mse", TAKT_I32, 1, narrow, &s) == like);
    }
}

static void classes_as_a_column(void)
{
    takt_status s;
    const double like = trained(classes, "cross_entropy", TAKT_I64, 1, kinds, &s);
    EXPECT(like > 0);
    EXPECT(trained(classes, "cross_entropy", TAKT_I64, 2, kinds, &s) == like);
}

static void refused(void)
{
    takt_status s;
    EXPECT(trained(classes, "mse", TAKT_I64, 1, kinds, &s) < 0 && s != TAKT_OK);
    EXPECT(trained(any, "mse", TAKT_F32, 3, numbers, &s) > 0);
    EXPECT(trained(classes, "cross_entropy", TAKT_F32, 1, numbers, &s) < 0 && s != TAKT_OK);
}

/* A step, or an evaluation, on the labels 0, 2, 1, `odd`, 0, 2 in a column of two. */
static takt_status with_label(const char *loss, int64_t odd, bool is_eval, const char *said)
{
    takt_ctx *ctx = NULL;
    takt_model *m = NULL;
    takt_trainer *t = NULL;
    int64_t labels[2 * ROWS] = {0};
    const takt_load_options load = {.training = true};
    const takt_train_options options = {.loss = loss, .shards = 2};
    takt_named_view batch[2] = {{.name = "x"}, {.name = "labels"}};
    for (int i = 0; i < ROWS; i++)
        labels[2 * i] = i == 3 ? odd : kinds[i];
    batch[0].view = (takt_tensor_view){
        .dtype = TAKT_F32, .rank = 2, .dims = {ROWS, WIDTH}, .data = (void *)(uintptr_t)x};
    batch[1].view = (takt_tensor_view){
        .dtype = TAKT_I64, .rank = 1, .dims = {ROWS}, .strides = {2}, .data = labels};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", classes, strlen(classes), &load, &m));
    EXPECT_OK(ctx, takt_trainer_create(m, &options, &t));
    const takt_status status =
        is_eval ? takt_trainer_eval(t, batch, 2, NULL) : takt_trainer_step(t, batch, 2, NULL);
    if (said != NULL)
        EXPECT(strstr(takt_last_error(ctx), said) != NULL, "it says %s", takt_last_error(ctx));
    takt_trainer_destroy(t);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    return status;
}

static void classes_that_the_model_lacks(void)
{
    static const char *const losses[] = {"cross_entropy", "focal", "hinge"};
    for (int i = 0; i < 6; i++) {
        const char *loss = losses[i % 3];
        EXPECT_EQ(with_label(loss, 2, i < 3, NULL), TAKT_OK);
        EXPECT_EQ(with_label(loss, 3, i < 3, "sample 3 of the batch has the label 3"),
                  TAKT_ERR_RANGE);
        EXPECT_EQ(with_label(loss, -1, i < 3, "sample 3 of the batch has the label -1"),
                  TAKT_ERR_RANGE);
    }
    EXPECT_EQ(with_label("cross_entropy:ignore=-1", -1, false, NULL), TAKT_OK);
    EXPECT_EQ(with_label("cross_entropy:ignore=-1", -2, false, "the label -2"), TAKT_ERR_RANGE);
    EXPECT_EQ(with_label("triplet", -1, false, NULL), TAKT_OK);
}

/* Shards take their rows from arrays with gaps, too. */
static void shards_of_columns(void)
{
    double loss[2];
    for (int gaps = 0; gaps < 2; gaps++) {
        takt_ctx *ctx = NULL;
        takt_model *m = NULL;
        takt_trainer *t = NULL;
        float wide[ROWS * 2 * WIDTH] = {0};
        const takt_load_options load = {.training = true};
        const takt_train_options options = {.shards = 3};
        takt_step_result r = {0};
        takt_named_view batch[2] = {{.name = "x"}, {.name = "labels"}};
        const int64_t width = gaps ? 2 * WIDTH : WIDTH;
        for (int i = 0; i < ROWS * WIDTH; i++)
            wide[i / WIDTH * width + i % WIDTH] = x[i];
        batch[0].view = (takt_tensor_view){.dtype = TAKT_F32,
                                           .rank = 2,
                                           .dims = {ROWS, WIDTH},
                                           .strides = {width, 1},
                                           .data = wide};
        batch[1].view = (takt_tensor_view){
            .dtype = TAKT_I64, .rank = 1, .dims = {ROWS}, .data = (void *)(uintptr_t)kinds};
        EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
        EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", classes, strlen(classes), &load, &m));
        EXPECT_OK(ctx, takt_trainer_create(m, &options, &t));
        EXPECT_OK(ctx, takt_trainer_step(t, batch, 2, &r));
        loss[gaps] = r.loss;
        takt_trainer_destroy(t);
        takt_model_destroy(m);
        takt_ctx_destroy(ctx);
    }
    EXPECT(loss[0] == loss[1]);
}

/* The loss after some steps on samples of five elements of `bits`, which may begin inside a byte.
 */
static double narrow_loss(int bits, takt_dtype dtype, int64_t shards)
{
    enum { EACH = 5, SAMPLES = 12 };
    takt_ctx *ctx = NULL;
    takt_model *m = NULL;
    takt_trainer *t = NULL;
    char text[128];
    unsigned char packed[SAMPLES * EACH] = {0};
    int64_t labels[SAMPLES];
    const takt_load_options load = {.training = true};
    const takt_train_options options = {.optimizer = "sgd", .shards = shards};
    takt_step_result r = {0};
    for (int i = 0; i < SAMPLES * EACH; i++) /* the first element of a byte is in its low bits */
        packed[i * bits / 8] |= (unsigned char)((i * 7 + i / 3) % 4 << i * bits % 8);
    for (int i = 0; i < SAMPLES; i++)
        labels[i] = i % 3;
    takt_named_view batch[2] = {{.name = "x"}, {.name = "labels"}};
    batch[0].view =
        (takt_tensor_view){.dtype = dtype, .rank = 2, .dims = {SAMPLES, EACH}, .data = packed};
    batch[1].view =
        (takt_tensor_view){.dtype = TAKT_I64, .rank = 1, .dims = {SAMPLES}, .data = labels};
    snprintf(text, sizeof text,
             "model net(x: %s[batch, 5]) seed=3 { return dense(cast(x, f32), 3) }",
             takt_dtype_name(dtype));
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, strlen(text), &load, &m));
    EXPECT_OK(ctx, takt_trainer_create(m, &options, &t));
    for (int i = 0; t != NULL && i < STEPS; i++)
        EXPECT_OK(ctx, takt_trainer_step(t, batch, 2, &r));
    takt_trainer_destroy(t);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    return r.loss;
}

static void shards_of_narrow_elements(void)
{
    for (int64_t shards = 1; shards <= 12; shards++) {
        const double want = narrow_loss(8, TAKT_U8, shards);
        EXPECT(want > 0);
        EXPECT(narrow_loss(4, TAKT_U4, shards) == want, "4 bits, %lld shards", (long long)shards);
        EXPECT(narrow_loss(2, TAKT_U2, shards) == want, "2 bits, %lld shards", (long long)shards);
        EXPECT(narrow_loss(4, TAKT_I4, shards) == want, "4 bits, %lld shards", (long long)shards);
    }
}

TEST_MAIN(shards_of_narrow_elements, numbers_of_any_kind, classes_as_a_column, refused,
          shards_of_columns, classes_that_the_model_lacks)
