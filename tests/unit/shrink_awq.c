/* shrink_awq.c - scales up weights that multiply large inputs before they are rounded. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

#include "test.h"
#include "util/inject.h"
#include "util/shrinking.h"

enum { MOST = 256 };

static takt_ctx *ctx;
static const takt_verdict faster[] = {TAKT_FASTER};

static takt_model *load(takt_ctx *own, const char *text)
{
    takt_model *m = NULL;
    EXPECT_OK(own, takt_model_load_memory(own, "m.takt", text, strlen(text), NULL, &m));
    return m;
}

/* The first output for four samples like those of the data; returns their number. */
static size_t run(const takt_model *m, float *y)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    size_t size = 1, count = 1;
    if (!EXPECT_OK(ctx, takt_plan_create(m, &(takt_plan_options){.threads = 1, .sizes = "batch=4"},
                                         &plan)) ||
        !EXPECT_OK(ctx, takt_session_create(plan, NULL, &s)))
        return 0;
    const takt_tensor_view *x = takt_session_input(s, 0), *out = takt_session_output(s, 0);
    for (int d = 0; d < x->rank; d++)
        size *= (size_t)x->dims[d];
    for (size_t i = 0; i < size; i++)
        ((float *)x->data)[i] = (float)sin(0.7 * (double)i + 0.3);
    EXPECT(takt_session_run(s) == TAKT_OK, "it runs");
    for (int d = 0; d < out->rank; d++)
        count *= (size_t)out->dims[d];
    count = count < MOST ? count : MOST;
    memcpy(y, out->data, count * sizeof *y);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    return count;
}

static takt_model *quantized(const takt_model *m, takt_quantize_options o)
{
    shrink_told t = {.verdicts = faster, .count = 1};
    takt_model *small = NULL;
    o.compare = shrink_tell;
    o.compare_user = &t;
    o.no_correction = true;
    EXPECT_OK(ctx, takt_model_quantize(m, &o, TAKT_FORMAT_JSON, shrink_keep_text,
                                       (char[SHRINK_REPORT]){0}, &small));
    return small;
}

/* The relative error of the model's result, as a root of mean squares. */
static double lost(const takt_model *m, takt_quantize_options o)
{
    float exact[MOST], rounded[MOST];
    double error = 0, sum = 0;
    takt_model *small = quantized(m, o);
    if (small == NULL)
        return NAN;
    const size_t count = run(m, exact);
    EXPECT(count == run(small, rounded), "another size");
    for (size_t i = 0; i < count; i++) {
        error += pow((double)(exact[i] - rounded[i]), 2);
        sum += pow((double)exact[i], 2);
    }
    takt_model_destroy(small);
    return sqrt(error / sum);
}

/* A few channels that are far larger than the others: after a norm that two products read, between
 * two products with a relu, and between convolutions in both layouts. */
#define ONES "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
#define GAIN "[" ONES "1, " ONES "1, " ONES "1, " ONES "40])\n"
static const struct {
    const char *text;
    size_t width;
} models[] = {
    {"model m(x: f32[batch, 64]) seed=3 {\n"
     "  param w: f32[64, 32] = normal(0, 0.2)\n  param v: f32[64, 32] = normal(0, 0.2)\n"
     "  param beta: f32[64] = zeros\n  gain = constant(f32[64], " GAIN
     "  h = op.layer_norm(x, gain, beta)\n  return concat(h @ w, tanh(h @ v), axis=1)\n}\n",
     64},
    {"model m(x: f32[batch, 8]) seed=3 {\n"
     "  param w: f32[8, 64] = glorot\n  param b: f32[64] = uniform(0, 1)\n"
     "  param v: f32[64, 8] = normal(0, 0.2)\n  gain = constant(f32[64], " GAIN
     "  return relu(x @ (w * gain) + b * gain) @ v\n}\n",
     8},
    {"model m(x: f32[batch, 1, 8, 8]) seed=3 {\n"
     "  param w: f32[64, 1, 3, 3] = glorot\n  param v: f32[4, 64, 3, 3] = normal(0, 0.2)\n"
     "  gain = constant(f32[64, 1, 1, 1], " GAIN
     "  return op.conv(relu(op.conv(x, w * gain)), v)\n}\n",
     64},
    {"model m(x: f32[batch, 8, 8, 1]) seed=3 {\n"
     "  param w: f32[64, 3, 3, 1] = glorot\n  param v: f32[4, 3, 3, 64] = normal(0, 0.2)\n"
     "  gain = constant(f32[64, 1, 1, 1], " GAIN
     "  return op.conv(op.conv(x, w * gain, layout=nhwc), v, layout=nhwc)\n}\n",
     64},
};

/* The layer that computes the channels is not rounded: its error would hide the gain. */
static bool is_first(void *user, const char *layer)
{
    char *first = user;
    if (first[0] == '\0')
        snprintf(first, 64, "%s", layer);
    return strcmp(first, layer) == 0;
}

static void outliers(void)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        takt_model *m = load(ctx, models[i].text);
        takt_data *data = shrink_data(ctx, "awq", models[i].width, 0);
        char first[64] = "";
        takt_quantize_options plain = {.type = "w4", .calib = data, .keeps_user = first};
        plain.keeps = i > 0 ? is_first : NULL;
        takt_quantize_options scaled = plain;
        scaled.rounding = "awq";
        if (m != NULL && data != NULL) {
            const double before = lost(m, plain), after = lost(m, scaled);
            EXPECT(before > 0.02 && after < 0.8 * before, "%zu: %g became %g", i, before, after);
        }
        takt_data_destroy(data);
        takt_model_destroy(m);
    }
}

/* Layers that cannot be scaled are rounded to nearest: those with a value that is also an output,
 * relu6, and groups. */
static void left_alone(void)
{
    static const char *const texts[] = {
        "model m(x: f32[batch, 8]) seed=3 {\n  h = dense(x, 64, act=relu)\n"
        "  return dense(h, 8), h\n}\n",
        "model m(x: f32[batch, 8]) seed=3 {\n  return dense(relu6(dense(x, 64)), 8)\n}\n",
        "model m(x: f32[batch, 1, 2, 4]) seed=3 {\n"
        "  return conv(conv(x, 8, 1, act=relu), 8, 1, groups=4)\n}\n"};
    takt_data *data = shrink_data(ctx, "awq_alone", 8, 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        takt_model *m = load(ctx, texts[i]);
        float y[2][MOST];
        takt_quantize_options o = {.type = "w4", .calib = data};
        takt_model *nearest = quantized(m, o);
        o.rounding = "awq";
        takt_model *awq = quantized(m, o);
        if (nearest != NULL && awq != NULL) {
            const size_t count = run(nearest, y[0]);
            EXPECT(run(awq, y[1]) == count && memcmp(y[0], y[1], count * sizeof **y) == 0,
                   "%zu was scaled", i);
        }
        takt_model_destroy(nearest);
        takt_model_destroy(awq);
        takt_model_destroy(m);
    }
    takt_data_destroy(data);
}

static void refused(void)
{
    takt_model *m = load(ctx, "model m(x: f32[batch, 8]) { return dense(x, 4) }\n"), *none = NULL;
    takt_data *data = shrink_data(ctx, "awq_refused", 8, 0);
    const struct {
        takt_quantize_options o;
        const char *words;
    } bad[] = {{{.type = "w4", .rounding = "awq"}, "needs data"},
               {{.type = "int8", .rounding = "awq", .calib = data}, "weights in blocks"},
               {{.type = "w4", .rounding = "aqw", .calib = data}, "gptq or awq"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        EXPECT(takt_model_quantize(m, &bad[i].o, TAKT_FORMAT_TEXT, shrink_keep_text,
                                   (char[SHRINK_REPORT]){0}, &none) == TAKT_ERR_ARGUMENT &&
                   none == NULL && strstr(takt_last_error(ctx), bad[i].words) != NULL,
               "%zu: %s", i, takt_last_error(ctx));
    takt_data_destroy(data);
    takt_model_destroy(m);
}

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own;
    shrink_told t = {.verdicts = faster, .count = 1};
    takt_model *m = NULL, *small = NULL;
    takt_data *data = NULL;
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    status =
        takt_model_load_memory(own, "m.takt", models[1].text, strlen(models[1].text), NULL, &m);
    if (status == TAKT_OK)
        status = (data = shrink_data(own, "awq_sweep", 8, 3)) != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    const takt_quantize_options o = {.type = "w4",
                                     .rounding = "awq",
                                     .calib = data,
                                     .compare = shrink_tell,
                                     .compare_user = &t,
                                     .threads = 1};
    if (status == TAKT_OK)
        status = takt_model_quantize(m, &o, TAKT_FORMAT_TEXT, shrink_keep_text,
                                     (char[SHRINK_REPORT]){0}, &small);
    takt_data_destroy(data);
    takt_model_destroy(small);
    takt_model_destroy(m);
    takt_ctx_destroy(own);
    return status;
}

static void sweep(void)
{
    const takt_sweep_report r = takt_sweep_some(scenario, NULL, TAKT_INJECT_MEMORY, 40);
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

TEST_MAIN(begin, outliers, left_alone, refused, sweep, end)
