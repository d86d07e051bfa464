/* memory_exact.c - memory to the byte: after the model is freed and a run is done, exactly the
 * bytes that plan and session report are allocated. No original of a packed weight is kept, and
 * loading and planning by takt_plan_take never hold all weights twice: their peak is the one that
 * the plan states.
 *
 * Over every model of examples/, every seed of tests/corpus that is a model, and models made for
 * this: each kind of packed weight, loops and branches, state, several threads.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "plan/plan.h"
#include "test.h"
#include "util/load.h"

static meter memory;
static const takt_allocator counted = METER_ALLOCATOR(&memory);
static size_t tried;

/* ---- one model ---- */

typedef struct source {
    const char *name;
    const void *bytes;
    size_t length;
    const char *path; /* instead of bytes, or NULL */
} source;

static takt_model *load(takt_ctx *ctx, const source *from)
{
    takt_model *m = NULL;
    const takt_status status =
        from->path != NULL
            ? takt_model_load(ctx, from->path, NULL, &m)
            : takt_model_load_memory(ctx, from->name, from->bytes, from->length, NULL, &m);
    return status == TAKT_OK ? m : NULL;
}

/* Whether its sessions resize their own plan, which their first runs make. */
static bool resizes(const takt_plan *plan)
{
    return plan->ranges != NULL;
}

/* With those of subgraphs. */
static size_t count_steps(const takt_plan *plan)
{
    size_t count = plan->step_count;
    for (const takt_plan *child = plan->child; child != NULL; child = child->sibling)
        count += count_steps(child);
    return count;
}

/* Whether the originals of weights are gone: the remaining memory is tables, which do not grow with
 * the weights. */
static void check_tables(const char *name, const takt_plan *plan, const takt_plan_info *info)
{
    const uint64_t weights = info->weights + info->packed + info->state;
    const uint64_t room = (2 << 20) + (uint64_t)(count_steps(plan) << 15);
    EXPECT(info->held <= weights + room, "%s: the plan holds %llu, weights and state are %llu",
           name, (unsigned long long)info->held, (unsigned long long)weights);
}

static void run(const source *from, const takt_plan_options *options, bool takes)
{
    takt_ctx *ctx;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_config config = {.allocator = &counted};
    if (!EXPECT_OK(NULL, takt_ctx_create(&config, &ctx)))
        return;
    const size_t empty = memory.live;
    memory.peak = empty;
    takt_model *m = load(ctx, from);
    takt_status status = m == NULL ? TAKT_ERR_ARGUMENT
                         : takes   ? takt_plan_take(m, options, &plan)
                                   : takt_plan_create(m, options, &plan);
    if (!takes)
        takt_model_destroy(m);
    takt_plan_info info = {0};
    if (status == TAKT_OK) {
        tried++;
        takt_plan_query(plan, &info);
        EXPECT(memory.live - empty == info.held, "%s: %zu bytes are live, the plan holds %llu",
               from->name, memory.live - empty, (unsigned long long)info.held);
        EXPECT(info.planning_peak == memory.peak - empty,
               "%s: planning took %zu at most, and %llu are stated", from->name,
               memory.peak - empty, (unsigned long long)info.planning_peak);
        check_tables(from->name, plan, &info);
        status = info.peak < (64 << 20) ? takt_session_create(plan, NULL, &s) : TAKT_ERR_LIMIT;
    }
    for (size_t i = 0; status == TAKT_OK && i < takt_session_input_count(s); i++)
        status = takt_session_random(s, i, NULL, 1, (uint32_t)i);
    if (status == TAKT_OK && takt_session_run(s) == TAKT_OK) {
        const uint64_t stated =
            info.held + info.session + info.pool + info.state + info.arena + info.io;
        const size_t live = memory.live - empty;
        takt_plan_query(plan, &info); /* now includes the plans for sizes that runs requested */
        const uint64_t want = info.held + takt_session_held(s);
        EXPECT(live == want, "%s: %zu bytes are live, plan and session hold %llu", from->name, live,
               (unsigned long long)want);
        EXPECT(live == stated || resizes(plan), "%s: %zu bytes are live, %llu were stated",
               from->name, live, (unsigned long long)stated);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_ctx_destroy(ctx);
}

static void try_all(const source *from, size_t first, size_t step)
{
    static const takt_plan_options ways[] = {
        {.threads = 1}, {.threads = 2}, {.threads = 1, .backend = "ref"}, {.hint = "memory"}};
    for (size_t i = first; i < sizeof ways / sizeof *ways; i += step)
        run(from, &ways[i], i % 2 == 1);
}

/* ---- models ---- */

/* Every `step`-th file, each planned in one of four ways; with step 1 all files in all ways. Sorted
 * by name: the selection must not depend on the file system. */
static void walk(const char *folder, const char *ending, size_t step)
{
    char path[512];
    struct dirent **found = NULL;
    const int count = scandir(folder, &found, NULL, alphasort);
    size_t at = 0;
    EXPECT(count > 0, "%s cannot be read", folder);
    for (int i = 0; i < count; i++) {
        const char *name = found[i]->d_name;
        const size_t length = strlen(name), tail = strlen(ending);
        const bool fits =
            name[0] != '.' && length >= tail && strcmp(name + length - tail, ending) == 0;
        if (fits && ++at % step == 0) {
            snprintf(path, sizeof path, "%s/%s", folder, name);
            try_all(&(source){.name = path, .path = path}, step == 1 ? 0 : at / step % 4,
                    step == 1 ? 1 : 4);
        }
        free(found[i]);
    }
    free(found);
}

/* Sizes that a run decides, and subgraphs in subgraphs: always tried, each in one way. */
static void walk_sized(void)
{
    static const char *const names[] = {
        "29_shape_bytes",         "29_shape_less_names",   "29_shape_through_byte",
        "29_shape_through_truth", "29_shape_where_truth",  "29_shape_zero_first",
        "29_tables_of_boxes",     "31_shape_equal_known",  "31_shape_pow",
        "legal_29_sizes_meet",    "legal_29_split_caches", "legal_32_subgraphs_12",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        snprintf(path, sizeof path, "tests/corpus/onnx/%s", names[i]);
        try_all(&(source){.name = path, .path = path}, i % 4, 4);
    }
}

#define PARAM(name, shape) "  param " name ": f32[" shape "] = normal(0, 0.1)\n"

static const char *const texts[] = {
    "model dense(x: f32[4, 1024]) seed=1 {\n" PARAM("w", "1024, 1024") PARAM("v", "1024, 1024")
        PARAM("b", "1024") "  return op.relu(x @ w + b) @ v\n}\n",
    "model both(x: f32[4, 1024], i: i64[3]) seed=1 {\n" PARAM(
        "w", "1024, 1024") "  return op.concat(x @ w, op.gather(w, i, axis=0), axis=0)\n}\n",
    "model winograd(x: f32[1, 128, 9, 9]) seed=1 {\n" PARAM("w", "128, 128, 3, 3")
        PARAM("v", "128, 128, 3, 3") "  y = op.conv(x, w, pad=[1, 1, 1, 1])\n"
                                     "  return op.conv(op.relu(y), v, pad=[1, 1, 1, 1])\n}\n",
    "model turned(x: f32[16, 900]) seed=1 {\n" PARAM(
        "w", "900, 900") "  return matmul(x, w) + op.matmul(x, w, transpose_b=true)\n}\n",
    "model folded(x: f32[2, 16, 9, 9]) seed=1 {\n" PARAM("w", "64, 16, 3, 3")
        PARAM("g", "64, 1, 1, 1") "  return op.conv(x, w * g, stride=[2, 2])\n}\n",
    "model narrow(x: f32[4, 1024]) seed=1 {\n" PARAM(
        "w", "1024, 1024") "  return x @ op.cast(op.cast(w, dtype=bf16), dtype=f32)\n}\n",
};

/* ---- the peak of loading and planning ---- */

enum { MEGABYTES = 16, WEIGHTS = 32 << 20 /* of large[0] */ };

#define HALF(name) "  param " name ": f16[2048, 2048] = normal(0, 0.1)\n"
#define WIDE(name) "  y = y @ op.cast(" name ", dtype=f32)\n"

/* Weights beyond the 16 MB that are free. `tensor`: the larger form of the largest, in MiB; with
 * ranges the plan also keeps the sources of packs for other sizes. */
static const struct large {
    const char *text;
    takt_plan_options options;
    uint64_t tensor;
} large[] = {
    {"model deep(x: f32[2, 1024]) seed=1 {\n  y = x\n"
     "  repeat 8 { y = dense(y, 1024, act=relu) }\n  return y\n}\n",
     {.threads = 1},
     4},
    {"model ranged(x: f32[batch, 1024]) seed=1 {\n  y = x\n"
     "  repeat 8 { y = dense(y, 1024, act=relu) }\n  return y\n}\n",
     {.threads = 1, .sizes = "batch=1..4"},
     4},
    {"model halves(x: f32[2, 1024]) seed=1 {\n  y = x\n"
     "  repeat 8 { y = dense(y, 1024) }\n  return y\n}\n",
     {.threads = 1, .precision = "f16"},
     4},
    {"model images(x: f32[1, 256, 6, 6]) seed=1 {\n  y = x\n"
     "  repeat 12 { y = conv(y, 256, 3) }\n  return y\n}\n",
     {.threads = 1},
     9},
    {"model images_ranged(x: f32[batch, 256, 6, 6]) seed=1 {\n  y = x\n"
     "  repeat 12 { y = conv(y, 256, 3) }\n  return y\n}\n",
     {.threads = 1, .sizes = "batch=1..2"},
     9},
    {"model recurrent(x: f32[2, 3, 512]) seed=1 {\n  y = x\n"
     "  repeat 6 { y = gru(y, 512) }\n  return y\n}\n",
     {.threads = 1},
     3},
    /* Widened weights that no step reads are not made, and their source is freed. */
    {"model widened(x: f32[2, 2048]) seed=1 {\n" HALF("a") HALF("b") HALF("c") HALF("d")
         HALF("e") "  y = x\n" WIDE("a") WIDE("b") WIDE("c") WIDE("d") WIDE("e") "  return y\n}\n",
     {.threads = 1},
     8},
};

/* At most all weights once, in their larger form, one more tensor and 16 MB. */
static void check_peak(const struct large *l, const char *path)
{
    takt_ctx *ctx;
    takt_plan *plan = NULL;
    takt_plan_info info = {0};
    const takt_config config = {.allocator = &counted};
    if (!EXPECT_OK(NULL, takt_ctx_create(&config, &ctx)))
        return;
    const size_t empty = memory.live;
    memory.peak = empty;
    const source from = {
        .name = "large", .bytes = l->text, .length = strlen(l->text), .path = path};
    takt_model *m = load(ctx, &from);
    const size_t loaded = memory.live - empty;
    if (EXPECT(m != NULL, "%.14s does not load: %s", l->text, takt_last_error(ctx)) &&
        EXPECT_OK(ctx, takt_plan_take(m, &l->options, &plan)))
        takt_plan_query(plan, &info);
    const uint64_t most = info.held > loaded ? info.held : loaded;
    EXPECT(loaded >= (uint64_t)MEGABYTES << 20, "%.14s: %zu bytes of weights", l->text, loaded);
    EXPECT(info.planning_peak <= most + ((l->tensor + MEGABYTES) << 20),
           "%.14s: planning took %llu for weights of %llu", l->text,
           (unsigned long long)info.planning_peak, (unsigned long long)most);
    EXPECT(memory.peak - empty <= info.planning_peak, "%.14s: %zu were taken, %llu are stated",
           l->text, memory.peak - empty, (unsigned long long)info.planning_peak);
    takt_plan_destroy(plan);
    takt_ctx_destroy(ctx);
}

/* The same from a file, whose weights are there once, too. */
static void check_file(const struct large *l, const char *ending)
{
    char path[512];
    const char *folder = getenv("TAKT_TEST_TMP");
    takt_ctx *ctx;
    takt_model *m = NULL;
    snprintf(path, sizeof path, "%s/memory_exact.%s", folder != NULL ? folder : ".", ending);
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "l", l->text, strlen(l->text), NULL, &m)))
        EXPECT_OK(ctx, takt_model_save(m, path, NULL));
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    check_peak(l, path);
    (void)remove(path);
}

/* Weights out of a file take the memory of the model's own, and the file is read tensor by tensor:
 * one more is needed, and with .npz, whose arrays are converted, two. */
static void check_weights(const struct large *l, const char *ending, uint64_t tensors)
{
    char path[512];
    const char *folder = getenv("TAKT_TEST_TMP");
    takt_ctx *ctx;
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_usage before = {0}, after = {0};
    takt_plan_info info = {0};
    snprintf(path, sizeof path, "%s/memory_exact.%s", folder != NULL ? folder : ".", ending);
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "l", l->text, strlen(l->text), NULL, &m)))
        EXPECT_OK(ctx, takt_model_save_weights(
                           m, path, &(takt_convert_options){.shard_bytes = 3 * (WEIGHTS / 4)}));
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "l", l->text, strlen(l->text), NULL, &m))) {
        takt_resource_usage(ctx, &before);
        EXPECT_OK(ctx, takt_model_load_weights(m, path));
        takt_resource_usage(ctx, &after);
        EXPECT(before.live_bytes >= WEIGHTS && after.live_bytes <= before.live_bytes + 4096 &&
                   after.peak_bytes - before.live_bytes <= (tensors * l->tensor + 1) << 20,
               "%s: %llu bytes more at once", path,
               (unsigned long long)(after.peak_bytes - before.live_bytes));
        if (EXPECT_OK(ctx, takt_plan_take(m, &l->options, &plan)))
            takt_plan_query(plan, &info);
        const uint64_t most = info.held > before.live_bytes ? info.held : before.live_bytes;
        EXPECT(info.planning_peak > 0 &&
                   info.planning_peak <= most + ((l->tensor + MEGABYTES) << 20),
               "%s: loading and planning took %llu", path, (unsigned long long)info.planning_peak);
        takt_plan_destroy(plan);
    }
    takt_ctx_destroy(ctx);
    (void)remove(path);
    for (int i = 1; i <= 2; i++) { /* of the index */
        snprintf(path, sizeof path, "%s/memory_exact-%05d-of-00002.safetensors",
                 folder != NULL ? folder : ".", i);
        (void)remove(path);
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const size_t before = tried;
        try_all(&(source){.name = texts[i], .bytes = texts[i], .length = strlen(texts[i])}, 0, 1);
        EXPECT(tried > before, "%.20s is not a model", texts[i]);
    }
    walk("examples", ".takt", 1);
    walk_sized();
    walk("tests/corpus/onnx", "", 11);
    walk("tests/corpus/text", "", 11);
    walk("tests/corpus/taktp", "", 5);
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        check_peak(&large[i], NULL);
    check_file(&large[0], "taktp");
    check_file(&large[0], "tflite");
    check_weights(&large[0], "safetensors", 1);
    check_weights(&large[0], "index.json", 1);
    check_weights(&large[0], "npz", 2);
    EXPECT(tried >= 60, "only %zu plans were made", tried);
    EXPECT(memory.live == 0, "%zu bytes were lost", memory.live);
    return test_done();
}
