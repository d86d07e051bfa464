/* train.c - trains a model on MNIST and saves it: ./train examples/mlp.takt mnist/ digits.taktp */
#include <stdio.h>
#include <takt/takt.h>

enum { BATCH = 64, PIXELS = 28 * 28 };
static float x[BATCH * PIXELS];
static int64_t labels[BATCH];
static const takt_named_view batch[2] = {
    {"x", {.dtype = TAKT_F32, .rank = 2, .dims = {BATCH, PIXELS}, .data = x}},
    {"labels", {.dtype = TAKT_I64, .rank = 1, .dims = {BATCH}, .data = labels}}};

int main(int argc, char **argv)
{
    takt_ctx *ctx;
    takt_model *model = NULL;
    takt_data *data = NULL;
    takt_trainer *trainer = NULL;
    takt_step_result r = {0};
    if (argc != 4 || takt_ctx_create(NULL, &ctx) != TAKT_OK)
        return 2;
    bool ok = !takt_model_load(ctx, argv[1], &(takt_load_options){.training = true}, &model) &&
              !takt_data_open(ctx, argv[2], NULL, &data) &&
              !takt_trainer_create(model, NULL, &trainer);
    for (uint64_t at = 0; ok && at + BATCH <= takt_data_count(data); at += BATCH) {
        uint64_t rows[BATCH]; /* the next samples in a shuffled order */
        for (uint64_t i = 0; i < BATCH; i++)
            rows[i] = takt_shuffle(takt_data_count(data), 1, 0, at + i);
        ok = !takt_data_take(data, "x", rows, BATCH, &batch[0].view) &&
             !takt_data_take(data, "labels", rows, BATCH, &batch[1].view) &&
             !takt_trainer_step(trainer, batch, 2, &r);
    }
    ok = ok && !takt_trainer_export(trainer, model, 0) && !takt_model_save(model, argv[3], NULL);
    printf("%s; loss %.4f\n", ok ? argv[3] : takt_last_error(ctx), r.loss);
    takt_trainer_destroy(trainer);
    takt_data_destroy(data);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    return ok ? 0 : 1;
}
