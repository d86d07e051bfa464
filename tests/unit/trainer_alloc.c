/* trainer_alloc.c - a training step takes no memory, and saving and loading survive its lack. */
#include <string.h>

#include <takt/takt.h>

#include "test.h"
#include "util/inject.h"
#include "util/memfs.h"

enum { ROWS = 8, WIDTH = 4, STEPS = 50 };

static const char net[] = "model net(x: f32[batch, 4]) seed=3 {\n"
                          "  h = batch_norm(dense(x, 8, act=relu)) |> dropout(0.25)\n"
                          "  return dense(h, 3, act=softmax)\n"
                          "}\n";

static float x[ROWS * WIDTH];
static int64_t labels[ROWS];

static void fill_batch(takt_named_view *batch)
{
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        x[i] = (float)(i * 7 % 11) / 11;
    for (size_t i = 0; i < ROWS; i++)
        labels[i] = (int64_t)(i % 3);
    batch[0].name = "x";
    batch[0].view =
        (takt_tensor_view){.dtype = TAKT_F32, .rank = 2, .dims = {ROWS, WIDTH}, .data = x};
    batch[1].name = "labels";
    batch[1].view =
        (takt_tensor_view){.dtype = TAKT_I64, .rank = 1, .dims = {ROWS}, .data = labels};
}

static takt_status create(takt_ctx *ctx, const takt_train_options *o, takt_model **m,
                          takt_trainer **t)
{
    const takt_load_options load = {.training = true};
    *m = NULL;
    *t = NULL;
    const takt_status status = takt_model_load_memory(ctx, "m.takt", net, strlen(net), &load, m);
    return status == TAKT_OK ? takt_trainer_create(*m, o, t) : status;
}

/* ---- steps ---- */

static void steps_take_none(const takt_train_options *o, size_t index)
{
    takt_inject inject;
    takt_config config = {0};
    takt_ctx *ctx = NULL;
    takt_model *m;
    takt_trainer *t;
    takt_named_view batch[2] = {0};
    takt_inject_init(&inject);
    takt_inject_config(&inject, &config);
    fill_batch(batch);
    EXPECT_OK(NULL, takt_ctx_create(&config, &ctx));
    if (EXPECT_OK(ctx, create(ctx, o, &m, &t))) {
        takt_step_result r;
        EXPECT_OK(ctx, takt_trainer_step(t, batch, 2, &r)); /* makes the plan */
        const uint64_t gets = inject.gets, live = inject.live_bytes;
        for (int i = 0; i < STEPS; i++)
            EXPECT_OK(ctx, takt_trainer_step(t, batch, 2, &r));
        EXPECT(inject.gets == gets && inject.live_bytes == live,
               "options %zu: %llu allocations in %d steps", index,
               (unsigned long long)(inject.gets - gets), STEPS);
    }
    takt_trainer_destroy(t);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    EXPECT(takt_inject_deinit(&inject) == 0, "options %zu leak", index);
}

static void steps(void)
{
    static const takt_plan_options one = {.threads = 1}, four = {.threads = 4};
    const takt_train_options all[] = {
        {.optimizer = "adam", .plan = &one},
        {.optimizer = "adam", .plan = &four},
        {.optimizer = "sgd:momentum=0.9,nesterov=1", .clip_norm = 1, .ema = 0.9, .plan = &four},
        {.optimizer = "adamw", .shards = 4, .schedule = "cosine", .steps = 100, .plan = &four},
        {.optimizer = "adamw", .amp = "bf16", .plan = &one},
        {.optimizer = "adam", .amp = "f16", .skip_not_finite = true, .plan = &one},
        {.optimizer = "muon", .clip_value = 0.5, .warmup = 10, .plan = &one},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        steps_take_none(&all[i], i);
}

/* ---- checkpoints ---- */

static takt_status scenario(takt_inject *inject, void *user)
{
    static const takt_plan_options one = {.threads = 1};
    const takt_train_options o = {.optimizer = "sgd", .plan = &one};
    takt_config config = {0};
    takt_ctx *ctx;
    takt_model *m;
    takt_trainer *t;
    const char *note = NULL;
    takt_named_view batch[2] = {0};
    takt_memfs *fs = user;
    const takt_files files = takt_memfs_files(fs);
    takt_inject_config(inject, &config);
    inject->inner_files = files;
    fill_batch(batch);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    status = create(ctx, &o, &m, &t);
    if (status == TAKT_OK)
        status = takt_trainer_step(t, batch, 2, NULL);
    if (status == TAKT_OK)
        status = takt_trainer_save(t, "checkpoint", "a note");
    if (status == TAKT_OK)
        status = takt_trainer_load(t, "checkpoint", &note);
    EXPECT(status != TAKT_OK || (takt_trainer_steps(t) == 1 && strcmp(note, "a note") == 0));
    takt_trainer_destroy(t);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    return status;
}

static void checkpoints(void)
{
    takt_memfs *fs = takt_memfs_create();
    if (!EXPECT(fs != NULL))
        return;
    const takt_sweep_report r =
        takt_sweep_some(scenario, fs, TAKT_INJECT_MEMORY | TAKT_INJECT_FILES, 400);
    EXPECT(r.is_good && r.runs > 300, "%s", r.message);
    takt_memfs_destroy(fs);
}

TEST_MAIN(steps, checkpoints)
