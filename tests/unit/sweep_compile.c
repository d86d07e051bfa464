/* sweep_compile.c - loading, planning and running the examples when memory or threads run out, at
 * every operation: the right error, and nothing leaks. */
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "test.h"
#include "util/inject.h"

typedef struct job {
    const char *text;
    size_t length;
    takt_plan_options options;
    takt_status want; /* of a run in which nothing fails */
} job;

static takt_status bind_all(takt_ctx *ctx, takt_session *s, takt_tensor_view *views, size_t most)
{
    const size_t count = takt_session_input_count(s);
    takt_status status = count <= most ? TAKT_OK : TAKT_ERR_LIMIT;
    for (size_t i = 0; i < count && status == TAKT_OK; i++) {
        const takt_desc *d = takt_session_input_desc(s, i);
        views[i] = (takt_tensor_view){.dtype = d->dtype, .rank = d->rank};
        memcpy(views[i].dims, d->dims, sizeof d->dims);
        status = takt_view_alloc(ctx, &views[i]);
        if (status == TAKT_OK)
            status = takt_session_bind(s, d->name, &views[i]);
    }
    return status;
}

static takt_status use_session(takt_ctx *ctx, takt_plan *plan)
{
    takt_tensor_view views[8] = {0};
    takt_session *s;
    takt_status status = takt_session_create(plan, NULL, &s);
    if (status != TAKT_OK)
        return status;
    status = bind_all(ctx, s, views, 8);
    for (int i = 0; i < 2 && status == TAKT_OK; i++) {
        status = takt_session_run(s);
        EXPECT(status == TAKT_OK || takt_session_error(s)->message[0] != '\0');
    }
    takt_session_destroy(s);
    for (size_t i = 0; i < 8; i++)
        takt_view_free(ctx, &views[i]);
    return status;
}

static takt_status use_model(takt_ctx *ctx, takt_model *model, const job *j)
{
    takt_plan *plan = NULL;
    takt_status status = takt_plan_create(model, &j->options, &plan);
    EXPECT_EQ((status == TAKT_OK), (plan != NULL));
    if (status == TAKT_OK)
        status = use_session(ctx, plan);
    takt_plan_destroy(plan);
    return status;
}

static takt_status scenario(takt_inject *inject, void *user)
{
    const job *j = user;
    takt_config config = {0};
    takt_ctx *ctx;
    takt_model *model = NULL;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    status = takt_model_load_memory(ctx, "m.takt", j->text, j->length, NULL, &model);
    EXPECT_EQ((status == TAKT_OK), (model != NULL));
    if (status == TAKT_OK)
        status = use_model(ctx, model, j);
    EXPECT(status == TAKT_OK || takt_last_error(ctx)[0] != '\0' || inject->hits > 0);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    return status == j->want ? TAKT_OK : status;
}

/* ---- models ---- */

static void sweep(const char *what, const char *text, const takt_plan_options *options,
                  takt_status want)
{
    job j = {.text = text, .length = strlen(text), .want = want};
    if (options != NULL)
        j.options = *options;
    const takt_sweep_report r = takt_sweep(scenario, &j, TAKT_INJECT_MEMORY | TAKT_INJECT_THREADS);
    EXPECT(r.is_good, "%s: %s", what, r.message);
    EXPECT(r.operations > 20 && r.runs > r.operations, "%s: %llu operations", what,
           (unsigned long long)r.operations);
}

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = malloc(1 << 16);
    if (!EXPECT(file != NULL && text != NULL, "%s", path))
        exit(1);
    text[fread(text, 1, (1 << 16) - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* Dimensions are small: the test is about allocations, not arithmetic. */
static void examples(void)
{
    static const char *const paths[] = {"examples/mlp.takt", "examples/stream.takt"};
    const takt_plan_options one = {.threads = 1}, two = {.threads = 2};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char *text = read_all(paths[i]);
        sweep(paths[i], text, i == 0 ? &two : &one, TAKT_OK);
        free(text);
    }
}

/* Arithmetic that passes combine, and weighted sums. */
static void recognised(void)
{
    static const char text[] =
        "model m(x: f32[1, 3, 4], i: i64[2, 3], w: f32[2, 3]) {\n"
        "  h = op.transpose(op.reshape(x, shape=[1, 3, 2, 2]), perm=[0, 2, 1, 3])\n"
        "  a = op.matmul(op.softmax(op.matmul(h, h, transpose_b=true) * 0.5), h)\n"
        "  b = op.matmul(op.softmax(op.matmul(x, x, transpose_b=true)), x)\n"
        "  d = b - op.reduce_mean(b, axes=[-1], keep=true)\n"
        "  n = d / op.sqrt(op.reduce_mean(d * d, axes=[-1], keep=true) + 0.001)\n"
        "  return a, op.gather_sum(n * 0.5 * (1 + op.erf(n / 1.4142135)), i, w)\n}\n";
    const takt_plan_options one = {.threads = 1};
    sweep("recognised", text, &one, TAKT_OK);
}

/* ---- planning, binding and running a loaded model ---- */

/* A context and a model that all tries share: loading is most of the time. */
typedef struct subject {
    takt_inject inject;
    takt_ctx *ctx;
    takt_model *model;
    const job *j;
    uint64_t operations; /* of a try in which nothing fails */
} subject;

static bool open_subject(subject *s, const char *path, const job *j)
{
    takt_config config = {0};
    *s = (subject){.j = j};
    takt_inject_init(&s->inject);
    takt_inject_config(&s->inject, &config);
    return EXPECT_OK(NULL, takt_ctx_create(&config, &s->ctx)) &&
           EXPECT_OK(s->ctx,
                     takt_model_load_memory(s->ctx, path, j->text, j->length, NULL, &s->model));
}

static void close_subject(subject *s)
{
    takt_model_destroy(s->model);
    takt_ctx_destroy(s->ctx);
    EXPECT(takt_inject_deinit(&s->inject) == 0 && s->inject.faults == 0, "%s", s->inject.fault);
}

/* One try in which operation `k` fails; false: it was not reached, or something is wrong. */
static bool try_one(subject *s, takt_inject_mode mode, uint64_t k, const char *path)
{
    const uint64_t live = s->inject.live_bytes;
    takt_inject_plan(&s->inject, mode, TAKT_INJECT_MEMORY | TAKT_INJECT_THREADS, k);
    const takt_status status = use_model(s->ctx, s->model, s->j);
    const uint64_t hits = s->inject.hits, operations = s->inject.operations;
    takt_inject_plan(&s->inject, TAKT_INJECT_OFF, 0, 0);
    takt_ctx_trim(s->ctx); /* what the context keeps for the next plan */
    if (mode == TAKT_INJECT_OFF)
        s->operations = operations;
    const bool right = status == TAKT_OK || (hits > 0 && status == TAKT_ERR_MEMORY);
    return EXPECT(right && s->inject.live_bytes == live && s->inject.live_threads == 0 &&
                      s->inject.faults == 0,
                  "%s: mode %d, operation %llu: status %d, %lld bytes and %lld threads left, %s",
                  path, (int)mode, (unsigned long long)k, (int)status,
                  (long long)s->inject.live_bytes - (long long)live,
                  (long long)s->inject.live_threads, s->inject.fault) &&
           hits > 0;
}

/* Fails every operation, once and from there on. */
static void sweep_subject(subject *s, const char *path)
{
    uint64_t tries = 0;
    EXPECT_OK(s->ctx, use_model(s->ctx, s->model, s->j)); /* initialises everything that is made
                                                           * only once */
    takt_ctx_trim(s->ctx);
    (void)try_one(s, TAKT_INJECT_OFF, 0, path);
    for (uint64_t k = 1; try_one(s, TAKT_INJECT_ONCE, k, path); k++)
        tries++;
    for (uint64_t k = 1; try_one(s, TAKT_INJECT_EVER, k, path); k++)
        tries++;
    EXPECT(s->operations > 100 && tries >= 2 * s->operations - 4, "%s: %llu tries of %llu", path,
           (unsigned long long)tries, (unsigned long long)(2 * s->operations));
}

static const struct {
    const char *path, *sizes;
} models[] = {{"examples/cnn.takt", NULL},
              {"examples/encoder.takt", "batch=1,seq=3"},
              {"examples/gpt.takt", NULL},
              {"examples/kv.takt", "rows=2"}};

static void plan_bind_run(void)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char *text = read_all(models[i].path);
        const job j = {.text = text,
                       .length = strlen(text),
                       .options = {.threads = 2, .sizes = models[i].sizes}};
        subject s;
        if (open_subject(&s, models[i].path, &j))
            sweep_subject(&s, models[i].path);
        close_subject(&s);
        free(text);
    }
}

/* Larger models, loading included: it takes longer, so only some operations fail. */
static void larger_examples(void)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char *text = read_all(models[i].path);
        job j = {.text = text,
                 .length = strlen(text),
                 .options = {.threads = 2, .sizes = models[i].sizes}};
        const takt_sweep_report r =
            takt_sweep_some(scenario, &j, TAKT_INJECT_MEMORY | TAKT_INJECT_THREADS, 60);
        EXPECT(r.is_good, "%s: %s", models[i].path, r.message);
        EXPECT(r.runs > 60, "%s: %llu runs", models[i].path, (unsigned long long)r.runs);
        free(text);
    }
}

static void small_models(void)
{
    const takt_plan_options one = {.threads = 1}, ref = {.threads = 1, .backend = "ref"},
                            plain = {.threads = 1, .level = -1};
    static const char net[] = "model m(x: f32[1, 2, 6, 6]) seed=1 {\n"
                              "  h = x |> conv(4, 3, act=relu) |> batch_norm() |> max_pool(2)\n"
                              "  return softmax(dense(flatten(h), 3), axis=-1)\n}\n";
    static const char flow[] = "model m(x: f32[4], c: bool[]) {\n"
                               "  state s: [4] = 0\n"
                               "  y = if(c, x, then=graph(a: f32[4]) { return exp(a) },\n"
                               "    else=graph(a: f32[4]) { return -a })\n"
                               "  v, i = top_k(y + s, k=2)\n"
                               "  next s = s + y\n"
                               "  return v, i, einsum(y, y, equation=\"i,j->ij\")\n}\n";
    static const char encoder[] = "model m(x: f32[1, 4, 8]) seed=1 {\n"
                                  "  return transformer_block(x, 2, 16)\n}\n";
    sweep("convolution", net, &one, TAKT_OK);
    sweep("convolution, plain", net, &plain, TAKT_OK);
    sweep("control flow", flow, &one, TAKT_OK);
    sweep("control flow, ref", flow, &ref, TAKT_OK);
    sweep("encoder", encoder, &one, TAKT_OK);
}

/* Refusals must be clean as well. */
static void refused(void)
{
    const takt_plan_options tight = {.threads = 1, .memory_limit = 8};
    sweep("memory limit", "model m(x: f32[64]) { return relu(cumsum(x, axis=0)) + 1 }", &tight,
          TAKT_ERR_LIMIT);
    sweep("unknown size", "model m(x: f32[n]) { return relu(x) }",
          &(const takt_plan_options){.threads = 1, .sizes = "k=2"}, TAKT_ERR_NOT_FOUND);
}

TEST_MAIN(examples, recognised, plan_bind_run, larger_examples, small_models, refused)
