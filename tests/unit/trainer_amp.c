/* trainer_amp.c - mixed precision: close to f32, the same bits however it runs, loss scaling for
 * f16; and checkpoints written during training. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "api/model.h"
#include "base/error.h"
#include "util/inject.h"

static takt_ctx *ctx;
static char folder[1024];

static const char net[] = "model net(x: f32[batch, 12], i: i64[batch]) seed=3 {\n"
                          "  h = dense(x, 32, act=gelu) |> dropout(0.1)\n"
                          "  h = layer_norm(h + embedding(i, 5, 32))\n"
                          "  h = dense(h, 16, act=relu) * 0.7\n"
                          "  return dense(h, 4, act=softmax)\n"
                          "}\n";
static const char pictures[] = "model net(x: f32[batch, 1, 6, 2], i: i64[batch]) seed=3 {\n"
                               "  h = conv2d(x, 8, 3) |> batch_norm() |> relu() |> max_pool(2)\n"
                               "  y = dense(flatten(h), 4)\n"
                               "  return y + 0.1 * embedding(i, 5, 4)\n"
                               "}\n";
static const char cells[] = "model net(x: f32[batch, 4, 3], i: i64[batch]) seed=3 {\n"
                            "  h = gru(x, 20)\n"
                            "  h = concat(lstm(h, 9), rnn(h, 5, reverse=true), axis=2)\n"
                            "  y = dense(reduce_mean(h, axes=[1]), 4)\n"
                            "  return y + 0.1 * embedding(i, 5, 4)\n"
                            "}\n";
/* Products of several chunks, panels and blocks of rows and columns. */
static const char broad[] = "model net(x: f32[batch, 12], i: i64[batch]) seed=3 {\n"
                            "  h = dense(x, 550, act=relu) + embedding(i, 5, 550)\n"
                            "  return dense(dense(h, 301, act=gelu), 4)\n"
                            "}\n";
enum { ROWS = 24, WIDTH = 12, CLASSES = 4 };

static float x[ROWS * WIDTH];
static int64_t labels[ROWS], words[ROWS];

static void fill_batch(unsigned seed)
{
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        x[i] = (float)sin((double)(i * 7 + seed * 13 + 1));
    for (size_t i = 0; i < ROWS; i++) {
        labels[i] = (int64_t)((i * 5 + seed) % CLASSES);
        words[i] = (int64_t)((i + seed) % 5);
    }
}

static size_t batch_of(takt_named_view views[3], const char *text)
{
    views[0] = (takt_named_view){"x", {.dtype = TAKT_F32, .rank = 2, .dims = {ROWS, WIDTH}}};
    if (text == pictures)
        views[0].view = (takt_tensor_view){.dtype = TAKT_F32, .rank = 4, .dims = {ROWS, 1, 6, 2}};
    else if (text == cells)
        views[0].view = (takt_tensor_view){.dtype = TAKT_F32, .rank = 3, .dims = {ROWS, 4, 3}};
    views[0].view.data = x;
    views[1] =
        (takt_named_view){"labels", {.dtype = TAKT_I64, .rank = 1, .dims = {ROWS}, .data = labels}};
    views[2] =
        (takt_named_view){"i", {.dtype = TAKT_I64, .rank = 1, .dims = {ROWS}, .data = words}};
    return 3;
}

static takt_model *load(const char *text)
{
    takt_model *m = NULL;
    const takt_load_options o = {.training = true};
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, strlen(text), &o, &m));
    return m;
}

static void expect_id(takt_status status, int id)
{
    EXPECT(status != TAKT_OK && takt_last_error_info(ctx)->id == id, "expected %d, got %d: %s", id,
           takt_last_error_info(ctx)->id, takt_last_error(ctx));
}

static uint64_t digest_of(const takt_model *m)
{
    uint64_t digest = 1469598103934665603U;
    for (size_t i = 0; i < m->graph->slot_count; i++) {
        const unsigned char *bytes = takt_tensor_data(&m->slots[i]);
        for (size_t k = 0; k < takt_tensor_bytes(&m->slots[i]); k++)
            digest = (digest ^ bytes[k]) * 1099511628211U;
    }
    return digest;
}

/* The bits of all weights after some steps, whose losses go to `losses`, if given. */
static uint64_t train(const char *text, const takt_train_options *o, int steps, double *losses)
{
    takt_model *m = load(text);
    takt_trainer *t = NULL;
    takt_named_view views[3];
    uint64_t digest = 0;
    if (m != NULL && EXPECT_OK(ctx, takt_trainer_create(m, o, &t))) {
        for (int i = 0; i < steps; i++) {
            takt_step_result r;
            fill_batch((unsigned)i % 6);
            EXPECT_OK(ctx, takt_trainer_step(t, views, batch_of(views, text), &r));
            if (losses != NULL)
                losses[i] = r.loss;
        }
        EXPECT_OK(ctx, takt_trainer_export(t, m, false));
        digest = digest_of(m);
    }
    takt_trainer_destroy(t);
    takt_model_destroy(m);
    return digest;
}

static const char *const types[] = {"bf16", "f16"};

static void same_bits(const char *text, int steps, int most)
{
    for (size_t k = 0; k < 2; k++) {
        const takt_train_options plain = {
            .optimizer = "adam", .clip_norm = 0.5, .seed = 9, .amp = types[k]};
        const uint64_t want = train(text, &plain, steps, NULL);
        for (int threads = 1; threads <= most; threads += threads == 3 ? 5 : 1) {
            const takt_plan_options plan = {.threads = threads};
            takt_train_options o = plain;
            o.plan = &plan;
            EXPECT(train(text, &o, steps, NULL) == want, "%s: %d threads give other bits", types[k],
                   threads);
        }
        const takt_plan_options scalar = {.isa = "scalar"}, apart = {.level = 1};
        takt_train_options o = plain;
        o.plan = &scalar;
        EXPECT(train(text, &o, steps, NULL) == want, "%s: scalar kernels give other bits",
               types[k]);
        o.plan = &apart; /* no step converts what it reads */
        EXPECT(train(text, &o, steps, NULL) == want, "%s: unfused steps give other bits", types[k]);
        o = plain;
        o.amp = NULL;
        EXPECT(train(text, &o, steps, NULL) != want, "%s is f32", types[k]);
        o.amp = "f32";
        const uint64_t whole = train(text, &o, steps, NULL);
        o.amp = NULL;
        EXPECT(train(text, &o, steps, NULL) == whole, "f32 is not f32");
    }
}

/* Curves of a net that learns: mixed precision follows f32, f16 closer than bf16. */
static void curves(const char *text)
{
    enum { STEPS = 60 };
    double wide[STEPS], narrow[STEPS];
    const double allowed[] = {0.03, 0.01};
    takt_train_options o = {.optimizer = "adam", .rate = 3e-3, .seed = 9};
    (void)train(text, &o, STEPS, wide);
    EXPECT(wide[STEPS - 1] < 0.9 * wide[0], "%g, then %g: nothing is learnt", wide[0],
           wide[STEPS - 1]);
    for (size_t k = 0; k < 2; k++) {
        double off = 0;
        o.amp = types[k];
        (void)train(text, &o, STEPS, narrow);
        /* f16's first steps are skipped until the loss scale fits; the first real step depends on
         * that. */
        for (int i = 0; i < STEPS && k == 0; i++)
            off = fmax(off, fabs(narrow[i] - wide[i]));
        EXPECT(off < allowed[k], "%s: %g from f32", types[k], off);
        EXPECT(fabs(narrow[STEPS - 1] - wide[STEPS - 1]) < 0.1, "%s: %g, f32 %g", types[k],
               narrow[STEPS - 1], wide[STEPS - 1]);
    }
}

/* Gradients that overflow: no weight changes, the scale is halved, and the training continues. */
static void scales(void)
{
    const takt_train_options o = {.optimizer = "sgd", .rate = 0.05, .amp = "f16"};
    takt_model *m = load(net);
    takt_trainer *t = NULL;
    takt_named_view views[3];
    takt_step_result r;
    double scale = 65536;
    int skipped = 0, done = 0;
    if (m == NULL || !EXPECT_OK(ctx, takt_trainer_create(m, &o, &t)))
        return;
    fill_batch(0);
    for (int i = 0; i < 30; i++) {
        EXPECT_OK(ctx, takt_trainer_export(t, m, false));
        const uint64_t before = digest_of(m);
        EXPECT_OK(ctx, takt_trainer_step(t, views, batch_of(views, net), &r));
        EXPECT(r.scale == scale, "step %d: scale %g instead of %g", i, r.scale, scale);
        scale = r.skipped ? scale / 2 : scale;
        skipped += r.skipped;
        done += !r.skipped;
        EXPECT_OK(ctx, takt_trainer_export(t, m, false));
        EXPECT((digest_of(m) == before) == r.skipped, "step %d", i);
    }
    EXPECT(skipped > 0 && done > 10, "%d skipped, %d done", skipped, done);
    takt_trainer_destroy(t);
    takt_model_destroy(m);
}

/* No scale helps a gradient that is infinite in f32, too. */
static void never_fits(void)
{
    const takt_train_options o = {.optimizer = "sgd", .amp = "f16"};
    takt_model *m = load("model m(x: f32[batch, 12]) {\n"
                         "  param w: f32[12, 2] = zeros\n"
                         "  return loss = reduce_mean(sqrt(x @ w))\n}\n");
    takt_trainer *t = NULL;
    takt_named_view views[3];
    takt_status status = TAKT_OK;
    int steps = 0;
    fill_batch(0);
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        x[i] = fabsf(x[i]);
    if (m == NULL || !EXPECT_OK(ctx, takt_trainer_create(m, &o, &t)))
        return;
    for (; steps < 100 && status == TAKT_OK; steps++) {
        (void)batch_of(views, net);
        status = takt_trainer_step(t, views, 1, NULL);
    }
    expect_id(status, TAKT_E_TRAIN_SCALE);
    EXPECT(steps == 27, "%d steps", steps);
    takt_trainer_destroy(t);
    takt_model_destroy(m);
    m = load(net);
    const takt_train_options wrong = {.amp = "f8"};
    expect_id(takt_trainer_create(m, &wrong, &t), TAKT_E_OPTION);
    takt_model_destroy(m);
}

/* ---- checkpoints ---- */

static void resumes(void)
{
    char path[1100];
    takt_train_options o = {.optimizer = "adamw", .seed = 4, .amp = "f16"};
    takt_model *m = load(net), *again = load(net);
    takt_trainer *t = NULL, *u = NULL;
    takt_named_view views[3];
    takt_step_result a = {0}, b = {0};
    snprintf(path, sizeof path, "%s/amp.checkpoint", folder);
    if (!EXPECT_OK(ctx, takt_trainer_create(m, &o, &t)) ||
        !EXPECT_OK(ctx, takt_trainer_create(again, &o, &u)))
        return;
    for (int i = 0; i < 20; i++) {
        fill_batch((unsigned)i);
        if (i == 7)
            EXPECT_OK(ctx, takt_trainer_save_begin(t, path, "at seven"));
        EXPECT_OK(ctx, takt_trainer_step(t, views, batch_of(views, net), &a));
    }
    EXPECT_OK(ctx, takt_trainer_save_end(t));
    EXPECT_OK(ctx, takt_trainer_load(u, path, NULL));
    EXPECT_EQ(takt_trainer_steps(u), 7);
    for (int i = 7; i < 20; i++) {
        fill_batch((unsigned)i);
        EXPECT_OK(ctx, takt_trainer_step(u, views, batch_of(views, net), &b));
    }
    EXPECT_EQ(a.loss, b.loss);
    EXPECT_EQ(a.scale, b.scale);
    EXPECT_OK(ctx, takt_trainer_export(t, m, false));
    EXPECT_OK(ctx, takt_trainer_export(u, again, false));
    EXPECT_EQ(digest_of(m), digest_of(again));
    takt_trainer_destroy(u);
    o.amp = "bf16";
    EXPECT_OK(ctx, takt_trainer_create(again, &o, &u));
    expect_id(takt_trainer_load(u, path, NULL), TAKT_E_TRAIN_CHECKPOINT);
    takt_trainer_destroy(t);
    takt_trainer_destroy(u);
    takt_model_destroy(m);
    takt_model_destroy(again);
}

static size_t read_all(const char *path, char **bytes)
{
    FILE *file = fopen(path, "rb");
    *bytes = NULL;
    if (!EXPECT(file != NULL, "%s", path))
        return 0;
    fseek(file, 0, SEEK_END);
    const size_t size = (size_t)ftell(file);
    rewind(file);
    *bytes = malloc(size + 1);
    EXPECT(*bytes != NULL && fread(*bytes, 1, size, file) == size);
    fclose(file);
    return size;
}

/* The same file as a synchronous save; a failure is reported by the wait. */
static void in_background(void)
{
    char now[1100], later[1100], nowhere[1200], *one, *two;
    takt_train_options o = {.optimizer = "adam", .ema = 0.9};
    takt_model *m = load(net);
    takt_trainer *t = NULL, *counted = NULL;
    takt_named_view views[3];
    takt_plan_info info, more;
    snprintf(now, sizeof now, "%s/now.checkpoint", folder);
    snprintf(later, sizeof later, "%s/later.checkpoint", folder);
    snprintf(nowhere, sizeof nowhere, "%s/no/such/folder/x", folder);
    if (!EXPECT_OK(ctx, takt_trainer_create(m, &o, &t)))
        return;
    fill_batch(0);
    EXPECT_OK(ctx, takt_trainer_save_end(t));
    EXPECT_OK(ctx, takt_trainer_step(t, views, batch_of(views, net), NULL));
    EXPECT_OK(ctx, takt_trainer_save(t, now, "a note"));
    EXPECT_OK(ctx, takt_trainer_save_begin(t, later, "a note"));
    for (int i = 0; i < 5; i++)
        EXPECT_OK(ctx, takt_trainer_step(t, views, batch_of(views, net), NULL));
    EXPECT_OK(ctx, takt_trainer_save_begin(t, nowhere, NULL));
    const size_t size = read_all(now, &one);
    EXPECT(read_all(later, &two) == size && one != NULL && memcmp(one, two, size) == 0);
    free(one);
    free(two);
    expect_id(takt_trainer_save_end(t), TAKT_E_FILE_WRITE);
    EXPECT_OK(ctx, takt_trainer_save_begin(t, nowhere, NULL));
    expect_id(takt_trainer_save_begin(t, later, NULL), TAKT_E_FILE_WRITE);
    EXPECT_OK(ctx, takt_trainer_save_begin(t, later, NULL));
    o.async_save = true;
    EXPECT_OK(ctx, takt_trainer_plan(t, views, batch_of(views, net), &info));
    if (EXPECT_OK(ctx, takt_trainer_create(m, &o, &counted)))
        EXPECT_OK(ctx, takt_trainer_plan(counted, views, batch_of(views, net), &more));
    EXPECT(more.peak == info.peak + info.state && more.state == 2 * info.state,
           "%llu bytes of state, then %llu", (unsigned long long)info.state,
           (unsigned long long)more.state);
    takt_trainer_destroy(counted);
    takt_trainer_destroy(t); /* waits for what is under way */
    EXPECT_IS(read_all(later, &two), >, 0);
    free(two);
    takt_model_destroy(m);
}

/* ---- what is refused ---- */

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own, *const before = ctx;
    takt_model *m = NULL;
    takt_trainer *t = NULL;
    takt_named_view views[3];
    char path[1100];
    const takt_load_options load_options = {.training = true};
    const takt_plan_options plan = {.threads = 1};
    const takt_train_options o = {.optimizer = "sgd", .plan = &plan, .amp = user};
    snprintf(path, sizeof path, "%s/sweep.checkpoint", folder);
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    ctx = own;
    status = takt_model_load_memory(own, "m.takt", net, strlen(net), &load_options, &m);
    if (status == TAKT_OK)
        status = takt_trainer_create(m, &o, &t);
    if (status == TAKT_OK)
        status = takt_trainer_step(t, views, batch_of(views, net), NULL);
    if (status == TAKT_OK)
        status = takt_trainer_save_begin(t, path, "note");
    if (status == TAKT_OK)
        status = takt_trainer_save_end(t);
    takt_trainer_destroy(t);
    takt_model_destroy(m);
    takt_ctx_destroy(own);
    ctx = before;
    return status;
}

static void memory_fails(void)
{
    char type[] = "f16";
    fill_batch(0);
    const takt_sweep_report r = takt_sweep(scenario, type, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s", r.message);
    const takt_sweep_report f = takt_sweep(scenario, type, TAKT_INJECT_FILES);
    EXPECT(f.is_good, "%s", f.message);
}

int main(void)
{
    const char *tmp = getenv("TAKT_TEST_TMP");
    snprintf(folder, sizeof folder, "%s", tmp != NULL ? tmp : "/tmp");
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return test_done();
    same_bits(net, 12, 8);
    same_bits(pictures, 12, 8);
    same_bits(cells, 6, 2);
    same_bits(broad, 3, 2);
    curves(net);
    curves(pictures);
    scales();
    never_fits();
    resumes();
    in_background();
    memory_fails();
    takt_ctx_destroy(ctx);
    return test_done();
}
