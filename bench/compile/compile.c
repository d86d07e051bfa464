/* compile.c - how long a graph takes from text to plan, by number of nodes.
 *
 *     bench/compile/run [nodes ...]
 *
 * Each shape of graph strains another table of the compiler; cost per node must not grow with the
 * number of nodes. Times are the best of a few repetitions, in milliseconds.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <takt/takt.h>

typedef struct text {
    char *at;
    size_t length, capacity;
} text;

static void add(text *t, const char *line)
{
    const size_t length = strlen(line);
    if (t->length + length + 1 > t->capacity) {
        t->capacity = 2 * (t->capacity + length + 1);
        t->at = realloc(t->at, t->capacity);
        if (t->at == NULL)
            exit(1);
    }
    memcpy(t->at + t->length, line, length + 1);
    t->length += length;
}

/* ---- graphs ---- */

/* Every value feeds the next one only. */
static void chain(text *t, size_t nodes)
{
    static const char *const ops[] = {"relu(v)", "v + 1.5", "tanh(v)", "v * 0.5"};
    char line[64];
    add(t, "model m(v: f32[16]) {\n");
    for (size_t i = 0; i < nodes; i++) {
        snprintf(line, sizeof line, "  v = %s\n", ops[i % 4]);
        add(t, line);
    }
    add(t, "  return v\n}\n");
}

/* Values are used far from where they are made, so that many are alive at once. */
static void mesh(text *t, size_t nodes)
{
    char line[96];
    unsigned long long state = 1;
    add(t, "model m(v0: f32[16]) {\n");
    for (size_t i = 1; i <= nodes; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const size_t back = 1 + (size_t)(state >> 33) % (i < 1000 ? i : 1000);
        snprintf(line, sizeof line, "  v%zu = %s(v%zu, v%zu)\n", i, i % 3 ? "add" : "max", i - 1,
                 i - back);
        add(t, line);
    }
    snprintf(line, sizeof line, "  return v%zu\n}\n", nodes);
    add(t, line);
}

/* A parameter, a product, a sum and an activation for every four nodes. */
static void layers(text *t, size_t nodes)
{
    add(t, "model m(x: f32[batch, 8]) seed=1 {\n");
    for (size_t i = 0; i < nodes; i += 5)
        add(t, "  x = dense(x, 8, act=relu)\n");
    add(t, "  return x\n}\n");
}

/* As many inputs and outputs as values. */
static void edges(text *t, size_t nodes)
{
    char line[64];
    add(t, "model m(x0: f32[4]");
    for (size_t i = 1; i < nodes / 2; i++) {
        snprintf(line, sizeof line, ", x%zu: f32[4]", i);
        add(t, line);
    }
    add(t, ") {\n  return y0 = relu(x0)");
    for (size_t i = 1; i < nodes / 2; i++) {
        snprintf(line, sizeof line, ", y%zu = relu(x%zu)", i, i);
        add(t, line);
    }
    add(t, "\n}\n");
}

/* Constants that differ, and scales that the passes fold away. */
static void folds(text *t, size_t nodes)
{
    char line[96];
    add(t, "model m(v: f32[4, 4]) {\n");
    for (size_t i = 0; i < nodes; i += 5) {
        snprintf(line, sizeof line,
                 "  v = transpose(transpose(v, perm=[1, 0]) * 1.0, perm=[1, 0])");
        add(t, line);
        snprintf(line, sizeof line, " + %zu.25\n", i);
        add(t, line);
    }
    add(t, "  return v\n}\n");
}

static const struct {
    const char *name;
    void (*make)(text *t, size_t nodes);
} shapes[] = {
    {"chain", chain}, {"mesh", mesh}, {"layers", layers}, {"edges", edges}, {"folds", folds}};

/* ---- measuring ---- */

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

typedef struct times {
    double load, plan;
    size_t steps;
} times;

static void fail(takt_ctx *ctx, const char *shape)
{
    fprintf(stderr, "%s: %s\n", shape, takt_last_error(ctx));
    exit(1);
}

static times compile(const char *shape, const text *t)
{
    takt_ctx *ctx;
    takt_model *model;
    takt_plan *plan;
    takt_plan_info info;
    const takt_plan_options options = {.threads = 1};
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK)
        exit(1);
    const double start = now_ms();
    if (takt_model_load_memory(ctx, shape, t->at, t->length, NULL, &model) != TAKT_OK)
        fail(ctx, shape);
    const double loaded = now_ms();
    if (takt_plan_create(model, &options, &plan) != TAKT_OK)
        fail(ctx, shape);
    const double planned = now_ms();
    takt_plan_query(plan, &info);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    return (times){loaded - start, planned - loaded, info.steps};
}

static void measure(size_t shape, size_t nodes)
{
    const int rounds = nodes <= 10000 ? 5 : 1;
    text t = {0};
    times best = {1e300, 1e300, 0};
    shapes[shape].make(&t, nodes);
    for (int i = 0; i < rounds; i++) {
        const times got = compile(shapes[shape].name, &t);
        best.load = got.load < best.load ? got.load : best.load;
        best.plan = got.plan < best.plan ? got.plan : best.plan;
        best.steps = got.steps;
    }
    const double total = best.load + best.plan;
    printf("%-8s %8zu %8zu %10.2f %10.2f %10.2f %10.2f\n", shapes[shape].name, nodes, best.steps,
           best.load, best.plan, total, 1e3 * total / (double)nodes);
    fflush(stdout);
    free(t.at);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {1000, 3000, 10000, 30000, 100000};
    printf("%-8s %8s %8s %10s %10s %10s %10s\n", "graph", "nodes", "steps", "text, ms", "plan, ms",
           "both, ms", "us/node");
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int i = 1; i < argc; i++)
            measure(s, (size_t)strtoull(argv[i], NULL, 10));
        for (size_t i = 0; argc == 1 && i < sizeof sizes / sizeof *sizes; i++)
            measure(s, sizes[i]);
    }
    return 0;
}
