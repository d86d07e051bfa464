/* sweep_steps.c - the time of every other step that multiplies, over the same knobs; through plans,
 * because only they pass the knobs on. */
#include "sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <takt/takt.h>

enum { TRIES = 5 };

static const struct {
    const char *family, *what, *text;
} models[] = {
    {"gemm_f64", "512 x 512 x 512", "model m(x: f64[512, 512]) seed=1 {\n  return x @ x\n}\n"},
    {"gemm_f16", "256 x 512 x 1024, weights of 16 bits",
     "model m(x: f32[256, 1024]) seed=1 {\n  return dense(x, 512)\n}\n"},
    {"conv", "5x5, 64 to 64 channels, 28 x 28",
     "model m(x: f32[1, 64, 28, 28]) seed=1 {\n  return conv(x, 64, 5)\n}\n"},
    {"conv", "1x1, 256 to 128 channels, 28 x 28",
     "model m(x: f32[1, 256, 28, 28]) seed=1 {\n  return conv(x, 128, 1)\n}\n"},
    {"conv_depthwise", "1x1, 32 to 96 channels, then 3x3 each, 56 x 56",
     "model m(x: f32[1, 32, 56, 56]) seed=1 {\n"
     "  return conv(conv(x, 96, 1, act=relu), 96, 3, groups=96)\n}\n"},
    {"winograd", "3x3, 64 to 64 channels, 56 x 56",
     "model m(x: f32[1, 64, 56, 56]) seed=1 {\n  return conv(x, 64, 3)\n}\n"},
    {"attention", "8 heads of 64, 256 queries, 256 keys",
     "model m(x: f32[1, 256, 512]) {\n  return attention(x, x, x, heads=8)\n}\n"},
};

typedef struct setting {
    const char *name;
    takt_cache_config cache;
} setting;

static const setting tiles[] = {
    {"default", {0}},
    {"rows 16", {.rows = 16}},
    {"rows 48", {.rows = 48}},
    {"rows 192", {.rows = 192}},
    {"rows 384", {.rows = 384}},
    {"depth 256", {.depth = 256}},
    {"depth 512", {.depth = 512}},
    {"columns 48", {.columns = 48}},
    {"columns 192", {.columns = 192}},
    {"columns 512", {.columns = 512}},
    {"block 64 KiB", {.block_size = 64 << 10}},
    {"block 256 KiB", {.block_size = 256 << 10}},
};
static const setting distances[] = {
    {"default", {0}},
    {"none", {.enable_prefetch = -1}},
    {"distance 16", {.prefetch_distance = 16}},
    {"distance 256", {.prefetch_distance = 256}},
    {"line 128", {.cache_line_size = 128}},
};

static double now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* One model and its results under the first setting. */
typedef struct subject {
    takt_ctx *ctx;
    takt_model *model;
    takt_plan_options options;
    void *first;
    double usual;
} subject;

static size_t bytes_of(const takt_tensor_view *v)
{
    size_t count = (size_t)takt_dtype_bits(v->dtype) / 8;
    for (int d = 0; d < v->rank; d++)
        count *= (size_t)v->dims[d];
    return count;
}

/* The best time of a few; INFINITY if it does not run. */
static double time_of(takt_session *s)
{
    double best = INFINITY;
    for (int i = 0; i < TRIES; i++) {
        const double start = now();
        if (takt_session_run(s) != TAKT_OK)
            return INFINITY;
        best = fmin(best, now() - start);
    }
    return best;
}

static bool is_same(subject *o, const takt_tensor_view *y)
{
    const size_t bytes = bytes_of(y);
    if (o->first != NULL)
        return memcmp(o->first, y->data, bytes) == 0;
    o->first = malloc(bytes);
    if (o->first != NULL)
        memcpy(o->first, y->data, bytes);
    return o->first != NULL;
}

static int one(subject *o, const setting *at)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    int failed = 1;
    o->options.cache = at->cache;
    if (takt_plan_create(o->model, &o->options, &plan) == TAKT_OK &&
        takt_session_create(plan, NULL, &s) == TAKT_OK &&
        takt_view_random(o->ctx, takt_session_input(s, 0), 0, 1) == TAKT_OK) {
        const double seconds = time_of(s);
        const bool same = seconds < INFINITY && is_same(o, takt_session_output(s, 0));
        o->usual = o->usual > 0 ? o->usual : seconds;
        printf("  %-14s %9.1f us  %6.3f%s\n", at->name, seconds * 1e6, o->usual / seconds,
               same ? "" : "  OTHER BITS");
        failed = !same;
    } else {
        printf("  %-14s %s\n", at->name, takt_last_error(o->ctx));
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    return failed;
}

static int curve(subject *o, const setting *settings, size_t count)
{
    int failed = 0;
    o->usual = 0;
    for (size_t i = 0; i < count; i++)
        failed += one(o, &settings[i]);
    return failed;
}

int check_sweep_steps(const char *what, const char *family, size_t *swept)
{
    int failed = 0;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        subject o = {.options = {.threads = 1}};
        const char *text = models[i].text;
        if (family != NULL && strcmp(family, models[i].family) != 0)
            continue;
        ++*swept;
        o.options.precision = strcmp(models[i].family, "gemm_f16") == 0 ? "f16" : NULL;
        printf("%s, %s\n", models[i].family, models[i].what);
        if (takt_ctx_create(NULL, &o.ctx) != TAKT_OK ||
            takt_model_load_memory(o.ctx, "text", text, strlen(text), NULL, &o.model) != TAKT_OK) {
            printf("  does not load\n");
            failed++;
        } else {
            if (strstr(what, "tile") != NULL)
                failed += curve(&o, tiles, sizeof tiles / sizeof *tiles);
            if (strstr(what, "prefetch") != NULL)
                failed += curve(&o, distances, sizeof distances / sizeof *distances);
        }
        free(o.first);
        takt_model_destroy(o.model);
        takt_ctx_destroy(o.ctx);
    }
    return failed;
}
