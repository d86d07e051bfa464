/* step.c - the step of one token: how many steps a layer takes, and that a token allocates nothing.
 */
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "op/util/ggml.h"
#include "util/gguf_file.h"
#include "util/inject.h"

enum { WIDTH = 256, HEADS = 4, KV_HEADS = 2, SIZE = 8, HIDDEN = 32, WORDS = 11 };

/* ggml's numbers of types that are not blocks. */
enum { F32 = 0, F16 = 1 };

typedef struct kind {
    const char *name;
    uint32_t inner; /* of all matrices whose rows have WIDTH weights, but */
    uint32_t value; /* attn_v */
    uint32_t outer; /* of those with shorter rows */
    size_t most;    /* steps of a layer */
    const char *activations;
} kind;

typedef struct file {
    gguf_file head;
    uint64_t at; /* bytes of tensors so far */
} file;

static uint64_t bytes_of(uint32_t type, uint64_t count)
{
    for (int i = 0; i < TAKT_GGML_FORMATS; i++)
        if (takt_ggml_formats[i].code == type)
            return count / takt_ggml_formats[i].weights * takt_ggml_formats[i].bytes;
    return type == F16 ? 2 * count : 4 * count;
}

static void tensor(file *f, uint32_t type, uint64_t k, uint64_t n, const char *format, uint32_t i)
{
    char name[64];
    snprintf(name, sizeof name, format, i);
    gguf_tensor(&f->head, name, type, n == 0 ? 1 : 2, (uint64_t[]){k, n}, f->at);
    f->at += (bytes_of(type, k * (n == 0 ? 1 : n)) + 31) / 32 * 32;
}

static void layer(file *f, const kind *k, uint32_t i)
{
    tensor(f, F32, WIDTH, 0, "blk.%u.attn_norm.weight", i);
    tensor(f, F32, WIDTH, 0, "blk.%u.ffn_norm.weight", i);
    tensor(f, k->inner, WIDTH, HEADS * SIZE, "blk.%u.attn_q.weight", i);
    tensor(f, k->inner, WIDTH, KV_HEADS * SIZE, "blk.%u.attn_k.weight", i);
    tensor(f, k->value, WIDTH, KV_HEADS * SIZE, "blk.%u.attn_v.weight", i);
    tensor(f, k->outer, HEADS * SIZE, WIDTH, "blk.%u.attn_output.weight", i);
    tensor(f, k->inner, WIDTH, HIDDEN, "blk.%u.ffn_gate.weight", i);
    tensor(f, k->inner, WIDTH, HIDDEN, "blk.%u.ffn_up.weight", i);
    tensor(f, k->outer, HIDDEN, WIDTH, "blk.%u.ffn_down.weight", i);
}

/* A model whose weights are all zero. */
static void write_model(file *f, const kind *k, uint32_t layers)
{
    f->at = 0;
    gguf_begin(&f->head, 3, 2 + 9 * layers, 10);
    gguf_key_text(&f->head, "general.architecture", "llama");
    gguf_key_u32(&f->head, "llama.context_length", 64);
    gguf_key_u32(&f->head, "llama.embedding_length", WIDTH);
    gguf_key_u32(&f->head, "llama.block_count", layers);
    gguf_key_u32(&f->head, "llama.feed_forward_length", HIDDEN);
    gguf_key_u32(&f->head, "llama.attention.head_count", HEADS);
    gguf_key_u32(&f->head, "llama.attention.head_count_kv", KV_HEADS);
    gguf_key_u32(&f->head, "llama.attention.key_length", SIZE);
    gguf_key_u32(&f->head, "llama.attention.value_length", SIZE);
    gguf_key_f32(&f->head, "llama.attention.layer_norm_rms_epsilon", 1e-5F);
    tensor(f, F32, WIDTH, WORDS, "token_embd.weight", 0);
    tensor(f, F32, WIDTH, 0, "output_norm.weight", 0);
    for (uint32_t i = 0; i < layers; i++)
        layer(f, k, i);
    gguf_pad(&f->head, 32);
    gguf_zeros(&f->head, f->at);
}

/* Steps of the plan for one token. */
static size_t steps_of(takt_ctx *ctx, const kind *k, uint32_t layers)
{
    static file f;
    char sizes[32];
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_plan_info info = {0};
    write_model(&f, k, layers);
    snprintf(sizes, sizeof sizes, "activations=%d", k->activations != NULL ? 8 : 0);
    const takt_load_options load = {.sizes = sizes};
    const takt_plan_options one = {.sizes = "seq=1,count=1", .threads = 1};
    EXPECT(f.head.length < sizeof f.head.bytes, "%s: %zu bytes", k->name, f.head.length);
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "model", f.head.bytes, f.head.length, &load,
                                              &model)) &&
        EXPECT_OK(ctx, takt_plan_create(model, &one, &plan)))
        takt_plan_query(plan, &info);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    return info.steps;
}

static void layers(void)
{
    static const kind kinds[] = {
        {"f32", F32, F32, F32, 12, NULL},
        {"f16", F16, F16, F16, 12, NULL},
        {"q8_0", 8, 8, 8, 12, NULL},
        {"q4_0 int8", 2, 2, 2, 12, "int8"},
        {"q5_1", 7, 7, 7, 12, NULL},
        {"q4_k", 12, 12, 8, 12, NULL},
        {"q4_k, values in q6_k", 12, 14, 8, 13, NULL},
    };
    takt_ctx *ctx;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t one = steps_of(ctx, &kinds[i], 1), two = steps_of(ctx, &kinds[i], 2);
        EXPECT(one > 0 && two - one <= kinds[i].most, "%s: %zu steps a layer", kinds[i].name,
               two - one);
    }
    takt_ctx_destroy(ctx);
}

/* ---- allocations ---- */

typedef struct watch {
    const takt_inject *inject;
    uint64_t after_first, after_last;
    size_t calls;
} watch;

static int look(void *user, const char *text, size_t length)
{
    watch *w = user;
    (void)text;
    (void)length;
    w->after_last = w->inject->gets;
    if (w->calls++ == 0)
        w->after_first = w->after_last;
    return 0;
}

/* Reading a token and choosing the next one allocates no memory. */
static void no_allocation(void)
{
    static const takt_sampling drawn = {.temperature = 1,
                                        .top_k = 5,
                                        .top_p = 0.9,
                                        .min_p = 0.01,
                                        .typical_p = 0.9,
                                        .repeat_penalty = 1.1,
                                        .seed = 3};
    takt_inject inject;
    takt_config config = {0};
    takt_ctx *ctx;
    takt_generator *g = NULL;
    watch w = {.inject = &inject};
    takt_inject_init(&inject);
    takt_inject_config(&inject, &config);
    if (!EXPECT_OK(NULL, takt_ctx_create(&config, &ctx)))
        return;
    for (int threads = 1; threads < 3; threads++) {
        const takt_generator_options small = {.context = 48, .batch = 4, .threads = threads};
        const takt_generate_options how = {
            .max_tokens = 30, .ignore_eos = true, .show_control = true, .sampling = drawn};
        const int32_t token = 4;
        if (!EXPECT_OK(ctx, takt_generator_open(ctx, "tests/corpus/gguf/tiny.gguf", &small, &g)))
            break;
        w.calls = 0;
        EXPECT_OK(ctx, takt_generate(g, "a b a b a", &how, look, &w, NULL));
        EXPECT(w.calls > 20 && w.after_first == w.after_last, "%d threads: %llu for %zu pieces",
               threads, (unsigned long long)(w.after_last - w.after_first), w.calls);
        const uint64_t before = inject.gets;
        for (int i = 0; i < 5; i++)
            EXPECT_OK(ctx, takt_generator_read(g, &token, 1));
        EXPECT_EQ(inject.gets, before);
        takt_generator_destroy(g);
    }
    takt_ctx_destroy(ctx);
    EXPECT_EQ(takt_inject_deinit(&inject), 0);
    EXPECT_EQ(inject.faults, 0);
}

/* Plans for parts of a prompt and for ratings are freed and made again; read tokens are kept. */
static void shared_state(void)
{
    static const int32_t ids[6] = {1, 4, 5, 6, 4, 7};
    const takt_generator_options small = {.context = 16, .batch = 4, .threads = 1};
    float want[WORDS];
    takt_ctx *ctx;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    for (size_t parts = 0; parts < 4; parts++) { /* 6, 1 + 5, 1 + 1 + 4, 5 + 1 */
        takt_generator *g = NULL;
        const size_t first = parts == 0   ? 6
                             : parts == 3 ? 5
                                          : 1,
                     second = parts == 2 ? 1 : 6 - first;
        if (!EXPECT_OK(ctx, takt_generator_open(ctx, "tests/corpus/gguf/tiny.gguf", &small, &g)))
            break;
        EXPECT_OK(ctx, takt_generator_read(g, ids, first));
        EXPECT_OK(ctx, takt_generator_read(g, ids + first, second));
        EXPECT_OK(ctx, takt_generator_read(g, ids + first + second, 6 - first - second));
        const float *got = takt_generator_scores(g, NULL);
        EXPECT(takt_generator_position(g) == 6 && got != NULL);
        if (parts == 0 && got != NULL)
            memcpy(want, got, sizeof want);
        else if (got != NULL)
            EXPECT(memcmp(want, got, sizeof want) == 0, "parts %zu", parts);
        takt_generator_destroy(g);
    }
    takt_ctx_destroy(ctx);
}

TEST_MAIN(layers, no_allocation, shared_state)
