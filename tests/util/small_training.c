/* small_training.c - a small model that is trained on made-up samples. */
#include "util/small_training.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../test.h"

enum { ROWS = 8, WIDTH = 4, LONGEST = 1 << 20 };

static const char net[] = "model net(x: f32[batch, 4]) seed=3 {\n"
                          "  h = dense(x, 8, act=relu) |> dropout(0.25)\n"
                          "  return dense(h, 3, act=softmax)\n"
                          "}\n";

bool small_training_begin(small_training *t, const takt_files *files)
{
    const takt_config config = {.files = files};
    const takt_load_options load = {.training = true};
    const takt_plan_options plan = {.threads = 1};
    const takt_train_options o = {.optimizer = "adam", .plan = &plan};
    *t = (small_training){0};
    return EXPECT_OK(NULL, takt_ctx_create(&config, &t->ctx)) &&
           EXPECT_OK(t->ctx, takt_model_load_memory(t->ctx, "m.takt", net, strlen(net), &load,
                                                    &t->model)) &&
           EXPECT_OK(t->ctx, takt_trainer_create(t->model, &o, &t->trainer));
}

void small_training_end(small_training *t)
{
    takt_trainer_destroy(t->trainer);
    takt_model_destroy(t->model);
    takt_ctx_destroy(t->ctx);
}

void small_training_step(small_training *t)
{
    float x[ROWS * WIDTH];
    int64_t labels[ROWS];
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        x[i] = (float)((i * 7 + takt_trainer_steps(t->trainer)) % 11) / 11;
    for (size_t i = 0; i < ROWS; i++)
        labels[i] = (int64_t)(i % 3);
    takt_named_view batch[2] = {{.name = "x"}, {.name = "labels"}};
    batch[0].view =
        (takt_tensor_view){.dtype = TAKT_F32, .rank = 2, .dims = {ROWS, WIDTH}, .data = x};
    batch[1].view =
        (takt_tensor_view){.dtype = TAKT_I64, .rank = 1, .dims = {ROWS}, .data = labels};
    EXPECT_OK(t->ctx, takt_trainer_step(t->trainer, batch, 2, NULL));
}

char *small_training_read(const char *path, size_t *length)
{
    FILE *f = fopen(path, "rb");
    char *bytes = malloc(LONGEST);
    *length = f != NULL && bytes != NULL ? fread(bytes, 1, LONGEST, f) : 0;
    if (f != NULL)
        fclose(f);
    return bytes;
}
