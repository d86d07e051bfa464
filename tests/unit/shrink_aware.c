/* shrink_aware.c - training as integers: the integer model computes the same bits as training did,
 * and layers that are kept are trained as floats. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "api/model.h"
#include "op/ops.h"
#include "test.h"
#include "util/inject.h"
#include "util/shrinking.h"

enum { WIDTH = 64, CLASSES = SHRINK_CLASSES, ROWS = 24, INPUTS = 1000 };

static takt_ctx *ctx;

/* ---- models ---- */

static takt_model *load(const char *text)
{
    takt_model *m = NULL;
    const takt_load_options o = {.training = true};
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, strlen(text), &o, &m));
    return m;
}

static const char conv_text[] =
    "model c(x: f32[batch, 1, 8, 8]) seed=5 {\n"
    "  h = conv2d(x, 8, kernel=3, bias=false) |> batch_norm() |> relu()\n"
    "  h = max_pool(h, 2, stride=2)\n"
    "  h = conv2d(h, 8, kernel=3, act=relu6) + h\n"
    "  return dense(reshape(h, shape=[batch, 128]), 4)\n"
    "}\n";
static const char dense_text[] = "model m(x: f32[batch, 64]) seed=3 {\n"
                                 "  h = dense(x, 72, act=relu)\n"
                                 "  return dense(h, 4, act=softmax)\n"
                                 "}\n";

/* A table, a norm and a recurrent cell: floats in the model of integers. */
static const char float_text[] =
    "model f(x: f32[batch, 64]) seed=7 {\n"
    "  e = embedding(cast(clip(x[:, :8] * 2 + 4, 0, 7), dtype=i64), 8, 8)\n"
    "  h = dense(reshape(x, shape=[batch, 8, 8]), 8) + e\n"
    "  h = gru(layer_norm(h), 12)\n"
    "  return dense(reshape(h, shape=[batch, 96]), 4)\n"
    "}\n";

static double drawn(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return (double)(*state >> 8) / 0x1p23 - 1;
}

static void draw_batch(int step, uint32_t *state, float *x, int64_t *labels)
{
    for (size_t i = 0; i < ROWS; i++) {
        labels[i] = (int64_t)((i * 5 + (size_t)step) % CLASSES);
        for (size_t k = 0; k < WIDTH; k++)
            x[i * WIDTH + k] = (float)(drawn(state) + (k % CLASSES == (size_t)labels[i] ? 1 : 0));
    }
}

static const takt_tensor_view image = {.dtype = TAKT_F32, .rank = 4, .dims = {ROWS, 1, 8, 8}};
static const takt_tensor_view classes = {.dtype = TAKT_I64, .rank = 1, .dims = {ROWS}};

/* Some steps of training on noise that depends on the label. */
static bool train(takt_model *m, int rank)
{
    static float x[ROWS * WIDTH];
    static int64_t labels[ROWS];
    takt_trainer *t = NULL;
    const takt_train_options o = {.rate = 3e-3};
    takt_named_view views[2] = {{.name = "x"}, {.name = "labels"}};
    views[0].view = image;
    views[0].view.data = x;
    if (rank == 2) {
        views[0].view.rank = 2;
        views[0].view.dims[1] = WIDTH;
    }
    views[1].view = classes;
    views[1].view.data = labels;
    if (!EXPECT_OK(ctx, takt_trainer_create(m, &o, &t)))
        return false;
    double first = 0, last = 0;
    uint32_t state = 9;
    for (int step = 0; step < 30; step++) {
        takt_step_result r = {0};
        draw_batch(step, &state, x, labels);
        EXPECT_OK(ctx, takt_trainer_step(t, views, 2, &r));
        first = step == 0 ? r.loss : first;
        last = r.loss;
    }
    EXPECT(last < 0.7 * first, "the loss goes from %g to %g", first, last);
    EXPECT_OK(ctx, takt_trainer_export(t, m, false));
    takt_trainer_destroy(t);
    return true;
}

static bool answer(const takt_model *m, const float *x, float *y)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    bool good =
        EXPECT_OK(ctx, takt_plan_create(m, &(takt_plan_options){.sizes = "batch=1000"}, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    if (good) {
        memcpy(takt_session_input(s, 0)->data, x, sizeof(float) * INPUTS * WIDTH);
        good = EXPECT(takt_session_run(s) == TAKT_OK, "it runs");
        memcpy(y, takt_session_output(s, 0)->data, sizeof(float) * INPUTS * CLASSES);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    return good;
}

static size_t count_op(const takt_model *m, const takt_op *op)
{
    size_t count = 0;
    for (size_t i = 0; i < m->graph->count; i++)
        count += m->graph->nodes[i].op == op;
    return count;
}

/* The float graph that gradients were computed for: it may round differently where a sum is halfway
 * between two levels, and nowhere else. */
static void check_simulation(const takt_model *aware, const float *x, const float *want,
                             const char *type)
{
    static float y[INPUTS * CLASSES];
    takt_model *m = NULL;
    size_t same = 0;
    takt_graph_retain(aware->training);
    if (!EXPECT_OK(ctx, takt_model_derive(aware, aware->training, &m)) || !answer(m, x, y))
        return;
    double most = 0, apart = 0;
    for (size_t i = 0; i < INPUTS * CLASSES; i++) {
        most = fmax(most, fabs((double)want[i]));
        apart = fmax(apart, fabs((double)(y[i] - want[i])));
        same += fabs((double)(y[i] - want[i])) <= 1e-5 * fmax(1, fabs((double)want[i]));
    }
    const bool is_fine = strcmp(type, "int16x8") == 0; /* levels are as near as the sums' errors */
    EXPECT(is_fine ? apart < 1e-4 * most
                   : same >= INPUTS * CLASSES * 95 / 100 && apart < 0.05 * most,
           "%s: %zu of %d are the same, the others differ by %g of %g", type, same,
           INPUTS * CLASSES, apart, most);
    takt_model_destroy(m);
}

static void same_integers(const char *text, int rank, const char *type)
{
    static float x[INPUTS * WIDTH], y[2][INPUTS * CLASSES];
    takt_model *m = load(text), *aware = NULL, *integers = NULL;
    takt_data *data = shrink_data(ctx, "aware", WIDTH, 0);
    const takt_aware_options o = {.type = type, .calib = data};
    uint32_t state = 4;
    for (size_t i = 0; i < INPUTS * WIDTH; i++)
        x[i] = (float)(1.5 * drawn(&state));
    if (m != NULL && data != NULL && EXPECT_OK(ctx, takt_model_aware(m, &o, &aware)) &&
        train(aware, rank) && EXPECT_OK(ctx, takt_model_aware_convert(aware, &integers)) &&
        answer(aware, x, y[0]) && answer(integers, x, y[1])) {
        size_t others = 0;
        double apart = 0;
        for (size_t i = 0; i < INPUTS * CLASSES; i++) {
            others += memcmp(&y[0][i], &y[1][i], sizeof(float)) != 0;
            apart = fmax(apart, fabs((double)(y[0][i] - y[1][i])));
        }
        EXPECT(others == 0, "%s of %d axes: %zu integers differ, by %g", type, rank, others, apart);
        EXPECT(integers->graph->slot_count == 0, "%s: slots are left", type);
        EXPECT(count_op(integers, &takt_op_reduce_max) == 0, "%s: scales are computed", type);
        const bool in_blocks = type[0] == 'w' && strcmp(type, "w4a8") != 0;
        EXPECT(count_op(integers, in_blocks ? &takt_op_block_dequantize : &takt_op_dequantize) >= 2,
               "%s: weights are floats", type);
        check_simulation(aware, x, y[1], type);
    }
    takt_model_destroy(integers);
    takt_model_destroy(aware);
    takt_data_destroy(data);
    takt_model_destroy(m);
}

/* ---- kept layers ---- */

static bool keep_last(void *user, const char *layer)
{
    (void)user;
    return strcmp(layer, "dense_1") == 0 || strcmp(layer, "conv2d_1") == 0;
}

/* Elements of trainable slots, and how many of them the training moved. */
static size_t count_moved(const takt_model *now, const takt_model *then, size_t *all)
{
    size_t moved = 0;
    for (size_t i = 0; i < now->graph->slot_count; i++) {
        const takt_slot *s = &now->graph->slots[i];
        if (!s->is_trainable)
            continue;
        const float *a = takt_tensor_data(&now->slots[i]);
        const float *b = takt_tensor_data(&then->slots[i]);
        const size_t count = takt_tensor_count(&now->slots[i]);
        size_t others = 0;
        for (size_t k = 0; k < count; k++)
            others += a[k] != b[k];
        EXPECT(others > 0, "%s is not trained", s->name);
        moved += others;
        *all += count;
    }
    return moved;
}

/* A kept layer is trained as floats: as many parameters as without, and all of them change. */
static void kept_layers(void)
{
    static const char *const types[] = {"int8", "w4"};
    static float x[INPUTS * WIDTH], y[2][INPUTS * CLASSES];
    takt_data *data = shrink_data(ctx, "kept", WIDTH, 0);
    uint32_t state = 4;
    for (size_t i = 0; i < INPUTS * WIDTH; i++)
        x[i] = (float)(1.5 * drawn(&state));
    for (size_t k = 0; k < 4; k++) {
        const bool is_conv = k % 2 == 1;
        const takt_aware_options o = {.type = types[k / 2], .calib = data, .keeps = keep_last};
        takt_model *m = load(is_conv ? conv_text : dense_text);
        takt_model *aware = NULL, *first = NULL, *integers = NULL;
        size_t all = 0;
        if (m == NULL || !EXPECT_OK(ctx, takt_model_aware(m, &o, &first)) ||
            !EXPECT_OK(ctx, takt_model_aware(m, &o, &aware)) || !train(aware, is_conv ? 4 : 2) ||
            !EXPECT_OK(ctx, takt_model_aware_convert(aware, &integers)))
            return;
        EXPECT_IS(count_moved(aware, first, &all), >, 0);
        EXPECT(all == (is_conv ? 8 * 9 + 8 + 8 * 8 * 9 + 8 + 4 * 128 + 4 : 64 * 72 + 72 + 4 * 73),
               "%s: %zu parameters", o.type, all);
        if (answer(aware, x, y[0]) && answer(integers, x, y[1]))
            EXPECT(memcmp(y[0], y[1], sizeof y[0]) == 0, "%s: other bits", o.type);
        takt_model_destroy(integers);
        takt_model_destroy(first);
        takt_model_destroy(aware);
        takt_model_destroy(m);
    }
    takt_data_destroy(data);
}

/* Parameters that are not rounded are trained, too, and the integers are the same. */
static void floats(void)
{
    static float x[INPUTS * WIDTH], y[2][INPUTS * CLASSES];
    takt_data *data = shrink_data(ctx, "floats", WIDTH, 0);
    const takt_aware_options o = {.type = "int8", .calib = data};
    takt_model *m = load(float_text), *aware = NULL, *first = NULL, *integers = NULL;
    size_t all = 0;
    uint32_t state = 4;
    for (size_t i = 0; i < INPUTS * WIDTH; i++)
        x[i] = (float)(1.5 * drawn(&state));
    if (m != NULL && EXPECT_OK(ctx, takt_model_aware(m, &o, &first)) &&
        EXPECT_OK(ctx, takt_model_aware(m, &o, &aware)) && train(aware, 2) &&
        EXPECT_OK(ctx, takt_model_aware_convert(aware, &integers))) {
        EXPECT_IS(count_moved(aware, first, &all), >, 0);
        const size_t cell = 3 * 12 * 8 + 3 * 12 * 12 + 2 * 3 * 12;
        EXPECT(all == 8 * 8 + 8 * 8 + 8 + 2 * 8 + cell + 96 * 4 + 4, "%zu parameters", all);
        EXPECT(integers->graph->slot_count == 0, "slots are left");
        if (answer(aware, x, y[0]) && answer(integers, x, y[1]))
            EXPECT(memcmp(y[0], y[1], sizeof y[0]) == 0, "other bits");
    }
    takt_model_destroy(integers);
    takt_model_destroy(first);
    takt_model_destroy(aware);
    takt_model_destroy(m);
    takt_data_destroy(data);
}

static void models(void)
{
    static const char *const types[] = {"int8", "w4a8", "w8", "w4", "int16x8"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        same_integers(conv_text, 4, types[i]);
        same_integers(dense_text, 2, types[i]);
    }
}

/* ---- bad input ---- */

static void expect_id(takt_status status, int id)
{
    EXPECT(status != TAKT_OK && takt_last_error_info(ctx)->id == id, "expected %d, got %d: %s", id,
           takt_last_error_info(ctx)->id, takt_last_error(ctx));
}

static bool keep_all(void *user, const char *layer)
{
    (void)user;
    (void)layer;
    return true;
}

static void bad_input(void)
{
    takt_model *m = load(dense_text), *none = load("model n(x: f32[4]) { return relu(x) }\n");
    takt_model *out = m;
    EXPECT(takt_model_aware(NULL, NULL, &out) == TAKT_ERR_ARGUMENT && out == NULL, "NULL");
    expect_id(takt_model_aware(m, NULL, NULL), TAKT_E_ARGUMENT);
    expect_id(takt_model_aware(m, NULL, &out), TAKT_E_SHRINK_DATA);
    expect_id(takt_model_aware(m, &(takt_aware_options){.type = "int3"}, &out), TAKT_E_OPTION);
    expect_id(takt_model_aware(none, &(takt_aware_options){.type = "w4"}, &out),
              TAKT_E_SHRINK_NOTHING);
    expect_id(takt_model_aware(m, &(takt_aware_options){.type = "w4", .keeps = keep_all}, &out),
              TAKT_E_SHRINK_NOTHING);
    EXPECT(takt_model_aware_convert(NULL, &out) == TAKT_ERR_ARGUMENT, "NULL");
    expect_id(takt_model_aware_convert(m, NULL), TAKT_E_ARGUMENT);
    expect_id(takt_model_aware_convert(m, &out), TAKT_E_SHRINK_NOTHING);
    takt_model_destroy(none);
    takt_model_destroy(m);
}

static takt_status use(takt_ctx *own)
{
    takt_model *m = NULL, *aware = NULL, *integers = NULL;
    takt_status status =
        takt_model_load_memory(own, "m.takt", dense_text, strlen(dense_text), NULL, &m);
    if (status == TAKT_OK)
        status = takt_model_aware(m, &(takt_aware_options){.type = "w4"}, &aware);
    if (status == TAKT_OK)
        status = takt_model_aware_convert(aware, &integers);
    takt_model_destroy(integers);
    takt_model_destroy(aware);
    takt_model_destroy(m);
    return status;
}

static takt_status scenario(takt_inject *inject, void *user)
{
    (void)user;
    takt_config config = {0};
    takt_ctx *own;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    status = use(own);
    takt_ctx_destroy(own);
    return status;
}

static void sweep(void)
{
    const takt_sweep_report r = takt_sweep_some(scenario, NULL, TAKT_INJECT_MEMORY, 50);
    EXPECT(r.is_good, "%s", r.message);
}

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, models, kept_layers, floats, bad_input, sweep, end)
