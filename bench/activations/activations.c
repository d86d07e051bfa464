/* activations.c - activations ranked by time per element, and kernels on unlike data.
 *
 *     bench/activations/run [--strict]
 *
 * Each runs in turn on random, sorted and constant data. A kernel without branches takes the same
 * time for all; with --strict a spread above 1.05 fails.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <takt/takt.h>

enum { ROWS = 64, WIDTH = 64, COUNT = ROWS * WIDTH, BLOCKS = 15, DATA = 3, MOST = 64 };
static const double SPREAD_LIMIT = 1.05;

typedef struct row {
    const char *text;
    double ns[DATA]; /* an element; random, sorted, constant */
    double spread;   /* the slowest over the fastest */
} row;

static const char *const activations[] = {
    "relu(x)",     "relu6(x)",      "leaky_relu(x)",   "elu(x)",
    "selu(x)",     "celu(x)",       "sigmoid(x)",      "tanh(x)",
    "silu(x)",     "gelu(x)",       "mish(x)",         "softplus(x)",
    "softsign(x)", "hard_swish(x)", "hard_sigmoid(x)", "thresholded_relu(x)",
};
static const char *const others[] = {
    "softmax(x)",   "layer_norm(x)", "exp(x)",        "erf(x)", "x + 0.5",
    "max(x, 0.25)", "reduce_sum(x)", "reduce_max(x)", "x * x",  "dense(x, 64)",
};

static void must(takt_ctx *ctx, takt_status status)
{
    if (status != TAKT_OK) {
        fprintf(stderr, "activations: %s\n", takt_last_error(ctx));
        exit(1);
    }
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Values of both signs between -4 and 4. */
static void fill(float *to, int kind)
{
    unsigned state = 1;
    for (int i = 0; i < COUNT; i++) {
        state = state * 1664525u + 1013904223u;
        to[i] = kind == 2 ? 0.75f : (float)(state >> 8) * (8.0f / 16777216.0f) - 4.0f;
    }
    if (kind == 1)
        qsort(to, COUNT, sizeof *to, by_value);
}

static takt_session *session_of(takt_ctx *ctx, const char *text)
{
    char model_text[256];
    takt_model *model;
    takt_plan *plan;
    takt_session *session;
    const takt_plan_options options = {.threads = 1};
    snprintf(model_text, sizeof model_text, "model m(x: f32[%d, %d]) { return %s }\n", ROWS, WIDTH,
             text);
    must(ctx, takt_model_load_memory(ctx, text, model_text, strlen(model_text), NULL, &model));
    must(ctx, takt_plan_create(model, &options, &plan));
    must(ctx, takt_session_create(plan, NULL, &session));
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    return session;
}

/* The kinds take turns, each with a fresh look at the clock; the least of the medians counts. */
static row measure(takt_ctx *ctx, const char *text)
{
    takt_session *session = session_of(ctx, text);
    float *x = takt_session_input(session, 0)->data;
    row r = {.text = text, .ns = {INFINITY, INFINITY, INFINITY}};
    const takt_timing_options options = {.runs = 30, .warmup = 3};
    for (int i = 0; i < BLOCKS * DATA; i++) {
        const int kind = i / DATA % 2 == 0 ? i % DATA : DATA - 1 - i % DATA;
        takt_timing timing;
        fill(x, kind);
        must(ctx, takt_session_time(session, &options, &timing));
        r.ns[kind] = fmin(r.ns[kind], timing.stats.median / COUNT);
        takt_timing_free(ctx, &timing);
    }
    r.spread = fmax(fmax(r.ns[0], r.ns[1]), r.ns[2]) / fmin(fmin(r.ns[0], r.ns[1]), r.ns[2]);
    takt_session_destroy(session);
    return r;
}

static int by_time(const void *a, const void *b)
{
    const row *x = a, *y = b;
    return (x->ns[0] > y->ns[0]) - (x->ns[0] < y->ns[0]);
}

static int table(takt_ctx *ctx, const char *title, const char *const *texts, size_t count)
{
    row rows[MOST];
    int wide = 0;
    for (size_t i = 0; i < count; i++)
        rows[i] = measure(ctx, texts[i]);
    qsort(rows, count, sizeof *rows, by_time);
    printf("%-22s random  sorted  constant ns/element  spread\n", title);
    for (size_t i = 0; i < count; i++) {
        const row *r = &rows[i];
        wide += r->spread > SPREAD_LIMIT;
        printf("%-20s %8.3f%8.3f%10.3f %17.3f%s\n", r->text, r->ns[0], r->ns[1], r->ns[2],
               r->spread, r->spread > SPREAD_LIMIT ? "  above 1.05" : "");
    }
    return wide;
}

int main(int argc, char **argv)
{
    takt_ctx *ctx;
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK)
        return 1;
    int wide = table(ctx, "activations", activations, sizeof activations / sizeof *activations);
    wide += table(ctx, "other kernels", others, sizeof others / sizeof *others);
    takt_ctx_destroy(ctx);
    return argc > 1 && strcmp(argv[1], "--strict") == 0 && wide > 0;
}
