/* shrink_rounding.c - how quantisation reduces its errors: rounding by the data, equal ranges of
 * neighbours, outliers after norms. */
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "test.h"
#include "util/shrinking.h"

static takt_ctx *ctx;
static const takt_verdict faster[] = {TAKT_FASTER};

static takt_model *load(const char *text)
{
    takt_model *m = NULL;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &m));
    return m;
}

/* The sum of the layers' reported errors, in decibels. */
static double loudness(const takt_model *m, const takt_data *data, takt_quantize_options o)
{
    shrink_told t = {.verdicts = faster, .count = 1};
    char report[SHRINK_REPORT] = "";
    takt_model *small = NULL;
    double sum = 0;
    o.calib = data;
    o.no_correction = true;
    o.compare = shrink_tell;
    o.compare_user = &t;
    EXPECT_OK(ctx, takt_model_quantize(m, &o, TAKT_FORMAT_JSON, shrink_keep_text, report, &small));
    for (const char *at = report; (at = strstr(at, "\"sqnr\":")) != NULL; at++)
        sum += strtod(at + 7, NULL);
    takt_model_destroy(small);
    return sum;
}

static void rounding(void)
{
    takt_model *m = load("model m(x: f32[batch, 8]) seed=3 {\n  h = dense(x, 48, act=relu)\n"
                         "  return dense(dense(h, 48, act=relu), 4)\n}\n");
    takt_data *data = shrink_data(ctx, "rounding", 8, 0);
    const takt_quantize_options plain = {.type = "w4"},
                                by_data = {.type = "w4", .rounding = "gptq"};
    const double nearest = loudness(m, data, plain), better = loudness(m, data, by_data);
    EXPECT(nearest > 20 && better > nearest + 3, "%g dB by gptq, %g to nearest", better, nearest);
    const char *const types[] = {"w4", "w4a8", "int8"};
    for (size_t i = 0; i < 3; i++) {
        const takt_quantize_options even = {.type = types[i]},
                                    turned = {.type = types[i], .rounding = "adaround"};
        const double before = loudness(m, data, even), after = loudness(m, data, turned);
        EXPECT(after > before + (i < 2 ? 3 : 0.2), "%s: %g dB by adaround, %g to nearest", types[i],
               after, before);
    }
    takt_model *none = NULL;
    EXPECT(takt_model_quantize(m, &(takt_quantize_options){.type = "w4", .rounding = "adaround"},
                               TAKT_FORMAT_TEXT, shrink_keep_text, (char[SHRINK_REPORT]){0},
                               &none) == TAKT_ERR_ARGUMENT &&
               takt_last_error_info(ctx)->id == 7501,
           "adaround without data");
    takt_data_destroy(data);
    takt_model_destroy(m);
}

static bool is_dense(void *user, const char *layer)
{
    (void)user;
    return strstr(layer, "dense") != NULL;
}

/* The same for convolutions: plain, in groups, depthwise, channels last, and of one axis. */
static void windows(void)
{
    static const char *const texts[] = {
        "model m(x: f32[batch, 1, 8, 8]) seed=3 {\n"
        "  h = conv(x, 8, 3, act=relu) |> conv(8, 3, stride=2, groups=2, act=relu)\n"
        "  return dense(flatten(depthwise(h, 3, act=relu) |> conv(6, 3, dilation=2)), 4)\n}\n",
        "model m(x: f32[batch, 1, 8, 8]) seed=3 {\n"
        "  h = transpose(x, perm=[0, 2, 3, 1]) |> conv2d(6, 3, layout=nhwc, act=relu)\n"
        "  h = conv2d(h, 8, 3, pad=1, layout=nhwc)\n"
        "  return dense(conv1d(reshape(h, shape=[-1, 8, 64]), 4, 5) |> flatten(), 4)\n}\n"};
    takt_data *data = shrink_data(ctx, "windows", 64, 0);
    for (size_t i = 0; i < 2; i++) {
        takt_model *m = load(texts[i]);
        const char *const types[] = {"w4", "w4a8"};
        for (size_t k = 0; k < 2 && m != NULL; k++) {
            takt_quantize_options o = {.type = types[k], .keeps = is_dense};
            const double nearest = loudness(m, data, o);
            o.rounding = "gptq";
            const double gptq = loudness(m, data, o);
            o.rounding = "adaround";
            const double adaround = loudness(m, data, o);
            EXPECT(nearest > 20 && gptq > nearest + 1.5 && adaround > nearest + 3,
                   "%zu %s: %g dB by gptq, %g by adaround, %g to nearest", i, types[k], gptq,
                   adaround, nearest);
        }
        takt_model_destroy(m);
    }
    takt_data_destroy(data);
}

/* A channel of size 500 between two layers that could as well have size 1. */
static void neighbours(void)
{
    static const char text[] =
        "model m(x: f32[batch, 8]) seed=3 {\n"
        "  up = constant(f32[4], [500, 1, 1, 1])\n  down = constant(f32[4, 1], [0.002, 1, 1, 1])\n"
        "  param a: f32[8, 4] = glorot\n  param b: f32[4, 4] = glorot\n"
        "  return relu(x @ (a * up)) @ (b * down)\n}\n";
    takt_model *m = load(text);
    takt_data *data = shrink_data(ctx, "neighbours", 8, 0);
    takt_quantize_summary s;
    const takt_quantize_options plain = {.summary = &s};
    takt_quantize_options scaled = {.equalize = true, .summary = &s};
    const double before = loudness(m, data, plain), after = loudness(m, data, scaled);
    EXPECT(s.equalized == 1 && after > before + 15, "%g dB became %g, %zu pairs", before, after,
           s.equalized);
    takt_data_destroy(data);
    takt_model_destroy(m);
}

/* A channel sixty times as large as the others behind a norm, which two products read. */
static void outliers(void)
{
    static const char text[] =
        "model m(x: f32[batch, 8]) seed=3 {\n"
        "  param beta: f32[8] = zeros\n  param w: f32[8, 8] = glorot\n"
        "  param v: f32[8, 4] = glorot\n"
        "  h = op.layer_norm(x, constant(f32[8], [60, 1, 1, 1, 1, 1, 1, 1]), beta)\n"
        "  return tanh(h @ (w * constant(f32[8, 1], [0.01, 1, 1, 1, 1, 1, 1, 1]))) @ v,\n"
        "    h @ (v * constant(f32[8, 1], [0.01, 1, 1, 1, 1, 1, 1, 1]))\n}\n";
    takt_model *m = load(text);
    takt_data *data = shrink_data(ctx, "outliers", 8, 0);
    takt_quantize_summary s;
    const takt_quantize_options plain = {.summary = &s};
    takt_quantize_options smooth = {.smooth = 0.5, .summary = &s};
    const double before = loudness(m, data, plain), after = loudness(m, data, smooth);
    EXPECT(s.smoothed == 1 && after > before + 8, "%g dB became %g, %zu norms", before, after,
           s.smoothed);
    smooth.smooth = 2;
    smooth.calib = data;
    takt_model *none = NULL;
    EXPECT(takt_model_quantize(m, &smooth, TAKT_FORMAT_TEXT, shrink_keep_text,
                               (char[SHRINK_REPORT]){0}, &none) == TAKT_ERR_ARGUMENT,
           "a power of 2");
    takt_data_destroy(data);
    takt_model_destroy(m);
}

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, rounding, windows, neighbours, outliers, end)
