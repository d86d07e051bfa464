/* blocks.c - a model in ggml's block formats against the same model in floats: the same bits, and
 * no more memory than the file has bytes. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "api/text/together.h"
#include "op/util/ggml.h"
#include "util/gguf_file.h"
#include "util/memfs.h"

enum { WIDTH = 256, HIDDEN = 64, WORDS = 11, TENSORS = 12, PROMPT = 21, MODELS = 4, FLOATS = -1 };

typedef struct weight {
    const char *name;
    uint64_t k, n; /* n = 0: a vector */
    int format[MODELS];
} weight;

/* The table is the head as well. */
static const weight weights[TENSORS] = {
    {"token_embd.weight",
     WIDTH,
     WORDS,
     {TAKT_GGML_Q6_K, TAKT_GGML_Q5_1, TAKT_GGML_IQ2_S, TAKT_GGML_Q1_0}},
    {"output_norm.weight", WIDTH, 0, {FLOATS, FLOATS, FLOATS, FLOATS}},
    {"blk.0.attn_norm.weight", WIDTH, 0, {FLOATS, FLOATS, FLOATS, FLOATS}},
    {"blk.0.ffn_norm.weight", WIDTH, 0, {FLOATS, TAKT_GGML_Q8_0, FLOATS, TAKT_GGML_TQ2_0}},
    {"blk.0.attn_q.weight",
     WIDTH,
     WIDTH,
     {TAKT_GGML_Q4_K, TAKT_GGML_IQ4_XS, TAKT_GGML_TQ1_0, TAKT_GGML_IQ2_XXS}},
    {"blk.0.attn_k.weight",
     WIDTH,
     WIDTH / 2,
     {TAKT_GGML_Q4_K, TAKT_GGML_Q2_K, TAKT_GGML_TQ2_0, TAKT_GGML_IQ2_XS}},
    {"blk.0.attn_v.weight",
     WIDTH,
     WIDTH / 2,
     {TAKT_GGML_Q6_K, TAKT_GGML_Q3_K, TAKT_GGML_IQ1_S, TAKT_GGML_IQ3_XXS}},
    {"blk.0.attn_output.weight",
     WIDTH,
     WIDTH,
     {TAKT_GGML_Q4_K, TAKT_GGML_Q5_K, TAKT_GGML_IQ1_M, TAKT_GGML_Q3_K}},
    {"blk.0.ffn_gate.weight",
     WIDTH,
     HIDDEN,
     {TAKT_GGML_Q4_K, TAKT_GGML_IQ4_NL, TAKT_GGML_Q4_K, TAKT_GGML_IQ2_S}},
    {"blk.0.ffn_up.weight",
     WIDTH,
     HIDDEN,
     {TAKT_GGML_Q6_K, TAKT_GGML_Q5_0, TAKT_GGML_IQ3_S, TAKT_GGML_IQ4_XS}},
    {"blk.0.ffn_down.weight",
     HIDDEN,
     WIDTH,
     {TAKT_GGML_Q5_0, TAKT_GGML_MXFP4, TAKT_GGML_NVFP4, TAKT_GGML_Q2_0}},
    {"blk.0.ffn_down.scale", 1, 0, {FLOATS, FLOATS, FLOATS, FLOATS}},
};

/* ---- files ---- */

/* Offsets of the high bytes of f16 numbers in a block; 0: none. */
static const uint8_t halves[TAKT_GGML_FORMATS][2] = {
    [TAKT_GGML_Q5_0] = {1},      [TAKT_GGML_Q5_1] = {1, 3}, [TAKT_GGML_Q8_0] = {1},
    [TAKT_GGML_Q2_K] = {81, 83}, [TAKT_GGML_Q3_K] = {109},  [TAKT_GGML_Q4_K] = {1, 3},
    [TAKT_GGML_Q5_K] = {1, 3},   [TAKT_GGML_Q6_K] = {209},  [TAKT_GGML_IQ4_NL] = {1},
    [TAKT_GGML_IQ4_XS] = {1},    [TAKT_GGML_Q1_0] = {1},    [TAKT_GGML_Q2_0] = {1},
    [TAKT_GGML_TQ1_0] = {53},    [TAKT_GGML_TQ2_0] = {65},  [TAKT_GGML_IQ1_S] = {1},
    [TAKT_GGML_IQ1_M] = {55},    [TAKT_GGML_IQ2_XXS] = {1}, [TAKT_GGML_IQ2_XS] = {1},
    [TAKT_GGML_IQ2_S] = {1},     [TAKT_GGML_IQ3_XXS] = {1}, [TAKT_GGML_IQ3_S] = {1},
};

/* Random blocks with small scales. */
static void fill(takt_ggml_format format, uint8_t *to, size_t blocks)
{
    static uint32_t seed = 1;
    const size_t bytes = takt_ggml_formats[format].bytes;
    for (size_t i = 0; i < blocks * bytes; i++) {
        seed = seed * 1664525 + 1013904223;
        to[i] = (uint8_t)(seed >> 24);
    }
    for (size_t i = 0; i < blocks; i++) {
        for (int k = 0; k < 2 && halves[format][k] != 0; k++)
            to[i * bytes + halves[format][k]] = 0x10; /* about 0.0006 */
        if (format == TAKT_GGML_MXFP4)
            to[i * bytes] = 120;
        if (format == TAKT_GGML_NVFP4)
            memset(to + i * bytes, 0x10, 4);
    }
}

/* A tensor's bytes in the file of blocks and in that of floats; the size of the former. */
static size_t make(const weight *w, int format, uint8_t *blocks, float *floats)
{
    const size_t count = (size_t)(w->k * (w->n == 0 ? 1 : w->n));
    if (format == FLOATS) {
        for (size_t i = 0; i < count; i++)
            floats[i] = 1 + (float)(i % 7) / 16;
        memcpy(blocks, floats, count * sizeof *floats);
        return count * sizeof *floats;
    }
    const takt_ggml_info *info = &takt_ggml_formats[format];
    const size_t many = count / info->weights;
    fill((takt_ggml_format)format, blocks, many);
    takt_ggml_decode((takt_ggml_format)format, blocks, many, floats);
    return many * info->bytes;
}

/* The same product with a scale of a half, and with a scale of a quarter and the matrix doubled. */
static void scale(const weight *w, uint8_t *blocks, float *floats)
{
    const float half = 0.5F;
    if (strcmp(w->name, "blk.0.ffn_down.scale") == 0) {
        memcpy(blocks, &half, sizeof half);
        floats[0] = 0.25F;
    }
    for (size_t i = 0; strcmp(w->name, "blk.0.ffn_down.weight") == 0 && i < w->k * w->n; i++)
        floats[i] *= 2;
}

static void head(gguf_file *f)
{
    gguf_begin(f, 3, TENSORS, 8);
    gguf_key_text(f, "general.architecture", "llama");
    gguf_key_u32(f, "llama.context_length", 64);
    gguf_key_u32(f, "llama.embedding_length", WIDTH);
    gguf_key_u32(f, "llama.block_count", 1);
    gguf_key_u32(f, "llama.feed_forward_length", HIDDEN);
    gguf_key_u32(f, "llama.attention.head_count", 4);
    gguf_key_u32(f, "llama.attention.head_count_kv", 2);
    gguf_key_f32(f, "llama.attention.layer_norm_rms_epsilon", 1e-5F);
}

/* Adds blocks.gguf and floats.gguf of a model; bytes of the tensors of the former. */
static size_t put_model(takt_memfs *fs, int model)
{
    enum { ROOM = 1 << 21 };
    static gguf_file heads[2];
    static uint8_t data[2][ROOM], whole[ROOM + GGUF_FILE_BYTES];
    static float floats[WIDTH * WIDTH];
    size_t at[2] = {0, 0}, sum = 0;
    head(&heads[0]);
    head(&heads[1]);
    for (size_t i = 0; i < TENSORS; i++) {
        const weight *w = &weights[i];
        const int format = w->format[model];
        const uint64_t dims[2] = {w->k, w->n};
        const uint32_t rank = w->n == 0 ? 1 : 2;
        const size_t bytes = make(w, format, data[0] + at[0], floats);
        const size_t wide = (size_t)(w->k * (w->n == 0 ? 1 : w->n)) * sizeof *floats;
        scale(w, data[0] + at[0], floats);
        memcpy(data[1] + at[1], floats, wide);
        gguf_tensor(&heads[0], w->name, format == FLOATS ? 0 : takt_ggml_formats[format].code, rank,
                    dims, at[0]);
        gguf_tensor(&heads[1], w->name, 0, rank, dims, at[1]);
        sum += bytes;
        at[0] += (bytes + 31) / 32 * 32;
        at[1] += (wide + 31) / 32 * 32;
    }
    for (int k = 0; k < 2; k++) {
        gguf_pad(&heads[k], 32);
        memcpy(whole, heads[k].bytes, heads[k].length);
        memcpy(whole + heads[k].length, data[k], at[k]);
        EXPECT_EQ(takt_memfs_put(fs, k == 0 ? "blocks.gguf" : "floats.gguf", whole,
                                 heads[k].length + at[k]),
                  0);
    }
    return sum;
}

/* ---- the same bits ---- */

static takt_ctx *ctx;
static takt_memfs *fs;

static bool has_avx2(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") != 0;
#else
    return false;
#endif
}

static takt_generator *open_as(const char *path, const takt_generator_options *way)
{
    takt_generator_options o = *way;
    takt_generator *g = NULL;
    o.tokenizer = "tiny.gguf";
    EXPECT_OK(ctx, takt_generator_open(ctx, path, &o, &g));
    return g;
}

/* Scores after a prompt and after each of two further tokens. */
static void scores(takt_generator *g, float to[3][WORDS])
{
    int32_t tokens[PROMPT];
    for (int i = 0; i < PROMPT; i++)
        tokens[i] = i * 7 % WORDS;
    for (int i = 0; g != NULL && i < 3; i++) {
        size_t count = 0;
        if (!EXPECT_OK(ctx, takt_generator_read(g, tokens, i == 0 ? PROMPT : 1)))
            return;
        const float *got = takt_generator_scores(g, &count);
        if (EXPECT_EQ(count, WORDS))
            memcpy(to[i], got, sizeof to[i]);
    }
}

static void compare(int model)
{
    static const takt_generator_options ways[] = {
        {.threads = 1}, {.threads = 2, .batch = 5}, {.threads = 2, .isa = "scalar"}};
    float want[3][WORDS] = {{0}}, got[3][WORDS];
    takt_generator *g = open_as("floats.gguf", &ways[0]);
    scores(g, want);
    takt_generator_destroy(g);
    EXPECT(isfinite(want[2][0]) && want[2][0] != want[2][1] && want[0][0] != want[1][0]);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        memset(got, 0, sizeof got);
        g = open_as("blocks.gguf", &ways[i]);
        scores(g, got);
        takt_generator_destroy(g);
        EXPECT(memcmp(got, want, sizeof want) == 0, "model %d, way %zu: %g, not %g", model, i,
               (double)got[0][0], (double)want[0][0]);
    }
}

/* ONNX has no blocks: the file has floats and operators that any engine knows. */
static void save(int model)
{
    float want[3][WORDS] = {{0}}, got[3][WORDS] = {{0}};
    takt_model *m = NULL;
    size_t size = 0, own = 0;
    EXPECT_OK(ctx, takt_model_load(ctx, "blocks.gguf", NULL, &m));
    if (m == NULL || !EXPECT_OK(ctx, takt_model_save(m, "m.onnx", NULL)))
        return;
    takt_model_destroy(m);
    const char *bytes = takt_memfs_get(fs, "m.onnx", &size);
    for (size_t i = 0; bytes != NULL && i + 4 < size; i++)
        own += memcmp(bytes + i, "ggml", 4) == 0;
    EXPECT(size > 0 && own == 0, "model %d: %zu nodes", model, own);
    takt_generator *g = open_as("floats.gguf", &(takt_generator_options){.threads = 1});
    scores(g, want);
    takt_generator_destroy(g);
    g = open_as("m.onnx", &(takt_generator_options){.threads = 1});
    scores(g, got);
    takt_generator_destroy(g);
    EXPECT(memcmp(got, want, sizeof want) == 0, "model %d", model);
}

/* With rounded activations: near the exact scores, and the same bits for any threads, instruction
 * set and parts of the prompt. */
static void rounded(int model)
{
    static const takt_generator_options ways[] = {
        {.threads = 1, .activations = "int8"},
        {.threads = 2, .batch = 5, .activations = "int8"},
        {.threads = 1, .batch = 1, .activations = "int8"},
        {.threads = 2, .isa = "avx2", .activations = "int8"},
        {.threads = 2, .isa = "scalar", .activations = "int8"}};
    float exact[3][WORDS] = {{0}}, want[3][WORDS] = {{0}}, got[3][WORDS];
    takt_generator *g = open_as("floats.gguf", &(takt_generator_options){.threads = 1});
    double worst = 0, most = 0;
    EXPECT(!takt_generator_rounds(g));
    scores(g, exact);
    takt_generator_destroy(g);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        memset(got, 0, sizeof got);
        if (i == 3 && !has_avx2())
            continue;
        g = open_as("blocks.gguf", &ways[i]);
        EXPECT(takt_generator_rounds(g));
        scores(g, i == 0 ? want : got);
        takt_generator_destroy(g);
        EXPECT(i == 0 || memcmp(got, want, sizeof want) == 0, "model %d, way %zu: %g, not %g",
               model, i, (double)got[0][0], (double)want[0][0]);
    }
    for (size_t i = 0; i < WORDS; i++) {
        const double away = fabs((double)want[0][i] - (double)exact[0][i]);
        const double size = fabs((double)exact[0][i]);
        worst = away > worst ? away : worst; /* not fmax: gcc 12 fails on it at -O3 */
        most = size > most ? size : most;
    }
    EXPECT(worst > 0 && worst < 0.05 * most, "model %d: %g of %g", model, worst, most);
}

/* A vector of blocks becomes floats once, and columns are padded to sixteen, here for eleven words;
 * everything else has its size in the file. */
static void measure(int model, size_t bytes)
{
    takt_plan_info info = {0};
    takt_generator *g = open_as("blocks.gguf", &(takt_generator_options){.threads = 1});
    if (g == NULL)
        return;
    takt_plan_query(takt_generator_plan(g), &info);
    const takt_ggml_info *table = &takt_ggml_formats[weights[0].format[model]];
    const uint64_t more =
        (uint64_t)(16 - WORDS) * (uint64_t)(WIDTH / table->weights * table->bytes);
    const uint64_t most = bytes + bytes / 100 + more + (model % 2 == 1 ? WIDTH * sizeof(float) : 0);
    EXPECT(info.weights + info.packed <= most, "model %d: %" PRIu64 " + %" PRIu64 " for %zu bytes",
           model, info.weights, info.packed, bytes);
    takt_generator_destroy(g);
}

/* Three texts in one run, of which the first and the last say the same as one alone. */
static void kept_together(const takt_generator_options *o, float want[3][WORDS])
{
    enum { TEXTS = 3 };
    takt_generator *g[TEXTS] = {NULL};
    takt_together t = {0};
    int32_t tokens[PROMPT];
    for (int i = 0; i < PROMPT; i++)
        tokens[i] = i * 7 % WORDS;
    bool is_open =
        EXPECT_OK(ctx, takt_generator_open_first(ctx, "floats.gguf", o, TEXTS, 0, &g[0]));
    for (size_t i = 1; is_open && i < TEXTS; i++)
        is_open = EXPECT_OK(ctx, takt_generator_clone(g[0], i, &g[i]));
    is_open = is_open && EXPECT_OK(ctx, takt_together_open(&t, g, TEXTS));
    for (size_t i = 0; is_open && i < TEXTS; i++)
        EXPECT_OK(ctx, takt_generator_read(g[i], tokens, i == 1 ? 5 : PROMPT));
    for (int step = 1; is_open && step < 3; step++) {
        EXPECT_OK(ctx, takt_together_read(&t, (const int32_t[TEXTS]){0, 3, 0}));
        for (size_t i = 0; i < TEXTS; i += 2)
            EXPECT(memcmp(takt_generator_scores(g[i], NULL), want[step], sizeof want[step]) == 0,
                   "text %zu, step %d", i, step);
    }
    takt_together_close(&t);
    for (size_t i = TEXTS; i-- > 0;)
        takt_generator_destroy(g[i]);
}

/* A cache in blocks of q8_0: near the exact scores, and the same bits however it is filled. */
static void kept(void)
{
    takt_generator_options ways[] = {
        {.threads = 1}, {.threads = 3, .batch = 4}, {.threads = 2, .batch = 1, .isa = "scalar"}};
    float exact[3][WORDS] = {{0}}, want[3][WORDS] = {{0}}, got[3][WORDS] = {{0}};
    takt_generator *g = open_as("floats.gguf", &ways[0]);
    scores(g, exact);
    takt_generator_destroy(g);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        ways[i].cache_type_k = ways[i].cache_type_v = "q8_0";
        g = open_as("floats.gguf", &ways[i]);
        scores(g, i == 0 ? want : got);
        takt_generator_destroy(g);
        EXPECT(i == 0 || memcmp(got, want, sizeof want) == 0, "way %zu", i);
    }
    double worst = 0, most = 0;
    for (size_t i = 0; i < WORDS; i++) {
        const double away = fabs((double)want[2][i] - (double)exact[2][i]);
        const double size = fabs((double)exact[2][i]);
        worst = away > worst ? away : worst;
        most = size > most ? size : most;
    }
    EXPECT(worst > 0 && worst < 0.02 * most, "%g of %g", worst, most);
    ways[1].tokenizer = "tiny.gguf";
    kept_together(&ways[1], want);
}

static void models(void)
{
    for (int model = 0; model < MODELS; model++) {
        const size_t bytes = put_model(fs, model);
        compare(model);
        rounded(model);
        measure(model, bytes);
        save(model);
    }
    kept();
}

static void begin(void)
{
    static char bytes[1 << 16];
    static takt_files files;
    FILE *file = fopen("tests/corpus/gguf/tiny.gguf", "rb");
    fs = takt_memfs_create();
    if (fs == NULL || file == NULL)
        exit(EXIT_FAILURE);
    const size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    files = takt_memfs_files(fs);
    if (takt_memfs_put(fs, "tiny.gguf", bytes, length) != 0 ||
        takt_ctx_create(&(takt_config){.files = &files}, &ctx) != TAKT_OK)
        exit(EXIT_FAILURE);
}

static void end(void)
{
    takt_ctx_destroy(ctx);
    takt_memfs_destroy(fs);
}

TEST_MAIN(begin, models, end)
