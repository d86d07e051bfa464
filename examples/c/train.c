/* train.c - trains a model on a data set, and saves it.
 *
 *     cc train.c -ltakt -lm -pthread && ./a.out examples/spirals.takt examples/spirals.csv
 * out.taktp
 */
#include <stdio.h>
#include <stdlib.h>

#include <takt/takt.h>

enum { BATCH = 30, EPOCHS = 40, WIDTH = 2 };

static float x[BATCH * WIDTH];
static int64_t labels[BATCH];
static const takt_named_view batch[2] = {
    {"x", {.dtype = TAKT_F32, .rank = 2, .dims = {BATCH, WIDTH}, .data = x}},
    {"labels", {.dtype = TAKT_I64, .rank = 1, .dims = {BATCH}, .data = labels}}};

/* The next batch of a shuffled order. */
static takt_status fill(const takt_data *data, uint64_t step)
{
    const uint64_t count = takt_data_count(data), steps = count / BATCH;
    uint64_t rows[BATCH];
    for (uint64_t i = 0; i < BATCH; i++)
        rows[i] = takt_shuffle(count, 1, step / steps, step % steps * BATCH + i);
    const takt_status status = takt_data_take(data, "x", rows, BATCH, &batch[0].view);
    return status == TAKT_OK ? takt_data_take(data, "labels", rows, BATCH, &batch[1].view) : status;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "examples/spirals.takt";
    const char *samples = argc > 2 ? argv[2] : "examples/spirals.csv";
    takt_ctx *ctx;
    takt_model *model;
    takt_data *data;
    takt_trainer *trainer;
    takt_step_result result = {0};
    const takt_load_options load = {.training = true};
    const takt_train_options options = {.optimizer = "adam", .rate = 1e-2};
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK)
        return EXIT_FAILURE;
    if (takt_model_load(ctx, path, &load, &model) != TAKT_OK ||
        takt_data_open(ctx, samples, NULL, &data) != TAKT_OK ||
        takt_trainer_create(model, &options, &trainer) != TAKT_OK) {
        fprintf(stderr, "%s\n", takt_last_error(ctx));
        return EXIT_FAILURE;
    }
    const uint64_t steps = EPOCHS * (takt_data_count(data) / BATCH);
    takt_status status = TAKT_OK;
    for (uint64_t step = 0; step < steps && status == TAKT_OK; step++) {
        status = fill(data, step);
        if (status == TAKT_OK)
            status = takt_trainer_step(trainer, batch, 2, &result);
    }
    if (status == TAKT_OK)
        status = takt_trainer_export(trainer, model, false);
    if (status == TAKT_OK && argc > 3)
        status = takt_model_save(model, argv[3], NULL);
    if (status != TAKT_OK)
        fprintf(stderr, "%s\n", takt_last_error(ctx));
    printf("loss %.4f after %llu steps\n", result.loss, (unsigned long long)result.step);
    takt_trainer_destroy(trainer);
    takt_data_destroy(data);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    return status == TAKT_OK && result.loss < 0.3 ? EXIT_SUCCESS : EXIT_FAILURE;
}
