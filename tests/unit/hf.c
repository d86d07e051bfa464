/* hf.c - Hugging Face folders: defects are reported, and nothing leaks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <takt/takt.h>

#include "../test.h"
#include "util/inject.h"
#include "util/memfs.h"

enum { MOST = 1 << 14 };

/* config.json and model.safetensors of a seed. */
typedef struct folder {
    char config[MOST], weights[MOST];
    size_t config_length, weights_length;
} folder;

static folder base, experts;

static void read_seed(const char *path, folder *f)
{
    static char bytes[2 * MOST];
    FILE *file = fopen(path, "rb");
    const size_t length = file != NULL ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file != NULL)
        fclose(file);
    if (!EXPECT(length > 0 && memchr(bytes, 0, length) != NULL, "%s", path))
        exit(EXIT_FAILURE);
    f->config_length = strlen(bytes);
    f->weights_length = length - f->config_length - 1;
    memcpy(f->config, bytes, f->config_length + 1);
    memcpy(f->weights, bytes + f->config_length + 1, f->weights_length);
}

static void begin(void)
{
    read_seed("tests/corpus/folder/llama.bin", &base);
    read_seed("tests/corpus/folder/experts.bin", &experts);
}

/* Replaces all occurrences of `from` in a text by `to`, of the same length if the text contains
 * lengths. */
static void replace(char *bytes, size_t *length, const char *from, const char *to)
{
    const size_t n = strlen(from), k = strlen(to);
    bool found = false;
    for (size_t i = 0; i + n <= *length; i++)
        if (memcmp(bytes + i, from, n) == 0 && *length + k - n < MOST) {
            memmove(bytes + i + k, bytes + i + n, *length - i - n);
            memcpy(bytes + i, to, k);
            *length += k - n;
            found = true;
            i += k;
        }
    EXPECT(found, "%s is not there", from);
}

/* One more tensor, eight zeros. */
static void extend(folder *f, const char *name)
{
    char entry[256], *bytes = f->weights;
    size_t head = 0;
    for (size_t i = 0; i < 8; i++)
        head |= (size_t)(uint8_t)bytes[i] << (8 * i);
    const size_t data = f->weights_length - 8 - head;
    size_t end = 8 + head;
    while (bytes[--end] != '}')
        continue;
    const int length = snprintf(entry, sizeof entry,
                                ", \"%s\": {\"dtype\": \"F32\", \"shape\": [8], "
                                "\"data_offsets\": [%zu, %zu]}",
                                name, data, data + 32);
    memmove(bytes + end + length, bytes + end, f->weights_length - end);
    memcpy(bytes + end, entry, (size_t)length);
    f->weights_length += (size_t)length;
    memset(bytes + f->weights_length, 0, 32);
    f->weights_length += 32;
    for (size_t i = 0; i < 8; i++)
        bytes[i] = (char)((head + (size_t)length) >> (8 * i));
}

static takt_status load(const folder *f, const char *index, char *message)
{
    takt_ctx *ctx;
    takt_model *model = NULL;
    takt_memfs *fs = takt_memfs_create();
    if (fs == NULL || takt_memfs_put(fs, "m/config.json", f->config, f->config_length) != 0 ||
        takt_memfs_put(fs, "m/model.safetensors", f->weights, f->weights_length) != 0 ||
        (index != NULL &&
         takt_memfs_put(fs, "m/model.safetensors.index.json", index, strlen(index)) != 0))
        exit(EXIT_FAILURE);
    const takt_files files = takt_memfs_files(fs);
    const takt_config config = {.files = &files};
    if (takt_ctx_create(&config, &ctx) != TAKT_OK)
        exit(EXIT_FAILURE);
    const takt_status status = takt_model_load(ctx, "m/config.json", NULL, &model);
    (void)snprintf(message, 512, "%s", takt_last_error(ctx));
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    takt_memfs_destroy(fs);
    return status;
}

typedef struct change {
    const char *from, *to, *says; /* says NULL: it loads */
} change;

static void good(void)
{
    char message[512];
    EXPECT(load(&base, NULL, message) == TAKT_OK, "%s", message);
    EXPECT(load(&experts, NULL, message) == TAKT_OK, "%s", message);
}

static void configs(void)
{
    static const change changes[] = {
        {"\"llama\"", "\"wolf\"", "the model_type wolf is not known"},
        {"\"llama\"", "7", "model_type is missing"},
        {"\"llama\"", "\"llama\", \"quantization_config\": {}", "quantised"},
        {"\"silu\"", "\"relu\"", "hidden_act is relu"},
        {"\"hidden_size\": 8", "\"hidden_size\": [8]", "hidden_size is not one value"},
        {"\"hidden_size\": 8", "\"hidden_size\": 9", "model.embed_tokens"},
        {"\"num_hidden_layers\": 1", "\"num_hidden_layers\": 2",
         "blk.1.attn_norm.weight is missing"},
        {"\"num_hidden_layers\": 1", "\"num_hidden_layers\": 0", "block_count is 0"},
        {"\"num_key_value_heads\": 1", "\"num_key_value_heads\": 3", "head_count_kv divides"},
        {"\"silu\"", "\"silu\", \"rope_scaling\": {\"type\": \"dynamic\"}", "of type dynamic"},
        {"\"silu\"", "\"silu\", \"partial_rotary_factor\": 2", "impossible"},
        {"\"silu\"", "\"silu\", \"rope_scaling\": {\"type\": \"llama3\", \"factor\": 0}",
         "impossible"},
        {"\"silu\"", "\"silu\", \"rope_scaling\": {\"type\": \"yarn\", \"factor\": 0.5}",
         "impossible"},
        {"\"silu\"", "\"silu\", \"rope_scaling\": {\"type\": \"longrope\", \"long_factor\": [1]}",
         "long_factor is not a list of 2 numbers"},
        {"\"silu\"", "\"silu\", \"rope_scaling\": {\"type\": \"linear\", \"factor\": 2}", NULL},
        {"{\"hidden", "{\"hidden", NULL},
        {"}", "", "config.json"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const change *c = &changes[i];
        folder f = base;
        char message[512];
        replace(f.config, &f.config_length, c->from, c->to);
        const takt_status status = load(&f, NULL, message);
        if (c->says == NULL)
            EXPECT(status == TAKT_OK, "%s: %s", c->to, message);
        else
            EXPECT(status != TAKT_OK &&
                       (strstr(message, c->says) != NULL || strstr(message, "the tensor") != NULL),
                   "%s: %s", c->to, message);
    }
}

static void weights(void)
{
    static const change changes[] = {
        {"model.norm.weight", "model.form.weight", "model.form.weight is not part of llama"},
        {"model.norm.weight", "lm_head.weigh\", \"", "JSON"},
        {"layers.0.self_attn.q", "layers.1.self_attn.q", "attn_q.weight is missing"},
        {"\"F32\"", "\"U32\"", "of type U32"},
        {"\"F32\"", "\"F99\"", "type is unknown"},
    };
    char message[512];
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        folder f = base;
        replace(f.weights, &f.weights_length, changes[i].from, changes[i].to);
        EXPECT(load(&f, NULL, message) != TAKT_OK && strstr(message, changes[i].says) != NULL,
               "%s: %s", changes[i].to, message);
    }
    folder f = experts;
    replace(f.weights, &f.weights_length, "experts.1.w2", "experts.2.w2");
    EXPECT(load(&f, NULL, message) != TAKT_OK && strstr(message, "is missing") != NULL, "%s",
           message);
    f = experts; /* one space less behind the header */
    replace(f.weights, &f.weights_length, "experts.1.w2", "experts.01.w2");
    replace(f.weights, &f.weights_length, "}}  ", "}} ");
    EXPECT(load(&f, NULL, message) != TAKT_OK && strstr(message, "experts.01.w2") != NULL, "%s",
           message);
    f = base;
    f.weights_length--;
    EXPECT(load(&f, NULL, message) != TAKT_OK, "a file without its last byte was read");
}

/* layer_types agrees with the architecture, or is refused. */
static void layers(void)
{
    static const struct {
        const char *type, *list;
        int count;
        bool is_good;
    } cases[] = {
#define NEAR "\"sliding_attention\""
#define FULL "\"full_attention\""
        {"llama\"", "[" FULL "]", 1, true},
        {"llama\"", "[" FULL ", " FULL "]", 1, true},
        {"llama\"", "null", 1, true},
        {"llama\", \"sliding_window\": 3", "[" FULL "]", 1, true},
        {"llama\", \"sliding_window\": 3", "[" NEAR "]", 1, true},
        {"llama\", \"sliding_window\": 3", "[" NEAR ", " FULL "]", 2, false},
        {"llama\"", "[" NEAR "]", 1, false},
        {"llama\"", "[\"chunked_attention\"]", 1, false},
        {"llama\"", "[7]", 1, false},
        {"llama\"", "[]", 1, false},
        {"llama\"", FULL, 1, false},
        {"qwen3\"", "[" FULL ", " FULL "]", 2, true},
        {"qwen3\"", "[" FULL ", " NEAR "]", 2, false},
        {"smollm3\"", "[" FULL "]", 1, true},
        {"gemma2\"", "[" NEAR ", " FULL ", " NEAR "]", 3, true},
        {"gemma2\"", "[" FULL ", " NEAR "]", 2, false},
        {"gemma2\"", "[" FULL ", " FULL "]", 2, false},
        {"gpt_oss\", \"sliding_window\": 9", "[" NEAR ", " FULL "]", 2, true},
        {"gpt_oss\"", "[" NEAR ", " NEAR "]", 2, false},
#define FIVE NEAR ", " NEAR ", " NEAR ", " NEAR ", " NEAR
        {"gemma3_text\"", "[" FIVE ", " FULL ", " NEAR "]", 7, true},
        {"gemma3_text\", \"_sliding_window_pattern\": 6", "[" FIVE ", " FULL "]", 6, true},
        {"gemma3_text\", \"sliding_window_pattern\": 2", "[" NEAR ", " FULL "]", 2, true},
        {"gemma3_text\", \"sliding_window_pattern\": 0", "[" NEAR ", " FULL "]", 2, false},
        {"gemma3_text\"", "[" FIVE ", " NEAR "]", 6, false},
        {"gemma3_text\"", "[" NEAR ", " FULL "]", 2, false},
        {"gemma3_text\"", "[" FULL ", " FULL "]", 2, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char message[512], to[512];
        folder f = base;
        (void)snprintf(to, sizeof to, "\"%s, \"layer_types\": %s", cases[i].type, cases[i].list);
        replace(f.config, &f.config_length, "\"llama\"", to);
        (void)snprintf(to, sizeof to, "\"num_hidden_layers\": %d", cases[i].count);
        replace(f.config, &f.config_length, "\"num_hidden_layers\": 1", to);
        const takt_status status = load(&f, NULL, message);
        EXPECT((strstr(message, "layer_types") == NULL) == cases[i].is_good, "case %zu: %s", i,
               message);
        /* The weights are those of a llama; for other architectures only settings are read. */
        if (cases[i].is_good && strncmp(cases[i].type, "llama", 5) == 0)
            EXPECT(status == TAKT_OK, "case %zu: %s", i, message);
    }
}

/* A tensor that the model would not read is refused; buffers of old versions are not. */
static void unread(void)
{
    static const change changes[] = {
        {"", "model.norm.bias", "model.norm.bias"},
        {"", "model.layers.1.input_layernorm.weight", "model.layers.1.input_layernorm.weight"},
        {"", "model.layers.0.self_attn.q_norm.bias", "q_norm.bias"},
        {"", "model.layers.0.mlp.gate_proj.bias", NULL},
        {"", "model.layers.0.self_attn.rotary_emb.inv_freq", NULL},
        {"", "model.rotary_emb.inv_freq", NULL},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char message[512];
        folder f = base;
        extend(&f, changes[i].to);
        const takt_status status = load(&f, NULL, message);
        if (changes[i].says == NULL)
            EXPECT(status == TAKT_OK, "%s: %s", changes[i].to, message);
        else
            EXPECT(status != TAKT_OK && strstr(message, "reads the tensor") != NULL &&
                       strstr(message, changes[i].says) != NULL,
                   "%s: %s", changes[i].to, message);
    }
}

/* The same expert in three files: the right number, and yet one is missing. */
static void repeated(void)
{
    static const char head[] =
        "{\"model.layers.0.block_sparse_moe.experts.1.w1.weight\": {\"dtype\": "
        "\"F32\", \"shape\": [1], \"data_offsets\": [0, 4]}}";
    static const char index[] = "{\"weight_map\": {\"x\": \"0.safetensors\", \"y\": "
                                "\"1.safetensors\", \"z\": \"2.safetensors\"}}";
    char bytes[8 + sizeof head - 1 + 4] = {(char)(sizeof head - 1)}, path[32];
    takt_ctx *ctx;
    takt_model *model = NULL;
    takt_memfs *fs = takt_memfs_create();
    memcpy(bytes + 8, head, sizeof head - 1);
    bool is_made = fs != NULL;
    for (int i = 0; is_made && i < 3; i++) {
        (void)snprintf(path, sizeof path, "m/%d.safetensors", i);
        is_made = takt_memfs_put(fs, path, bytes, sizeof bytes) == 0;
    }
    if (!is_made ||
        takt_memfs_put(fs, "m/config.json", experts.config, experts.config_length) != 0 ||
        takt_memfs_put(fs, "m/model.safetensors.index.json", index, sizeof index - 1) != 0)
        exit(EXIT_FAILURE);
    const takt_files files = takt_memfs_files(fs);
    const takt_config config = {.files = &files};
    if (takt_ctx_create(&config, &ctx) != TAKT_OK)
        exit(EXIT_FAILURE);
    EXPECT(takt_model_load(ctx, "m/config.json", NULL, &model) != TAKT_OK &&
               strstr(takt_last_error(ctx), "experts.1.w1.weight is there twice") != NULL,
           "%s", takt_last_error(ctx));
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    takt_memfs_destroy(fs);
}

static void parts(void)
{
    static const change changes[] = {
        {"", "{\"weight_map\": {\"x\": \"model.safetensors\"}}", NULL},
        {"", "{\"weight_map\": {\"x\": \"../model.safetensors\"}}", "lies in no file"},
        {"", "{\"weight_map\": {\"x\": \"other.safetensors\"}}", "other.safetensors"},
        {"", "{\"weight_map\": []}", "no weight_map"},
        {"", "{", "JSON"},
    };
    char message[512];
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const takt_status status = load(&base, changes[i].to, message);
        if (changes[i].says == NULL)
            EXPECT(status == TAKT_OK, "%s", message);
        else
            EXPECT(status != TAKT_OK && message[0] != '\0', "%s: %s", changes[i].to, message);
    }
}

/* ---- memory, and files that cannot be read ---- */

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *ctx;
    takt_model *model = NULL;
    takt_tokenizer *t = NULL;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    status = takt_tokenizer_load(ctx, user, &t);
    if (status == TAKT_OK)
        status = takt_model_load(ctx, user, NULL, &model);
    takt_tokenizer_destroy(t);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    return status;
}

/* A GGUF file written as a folder. */
static takt_status unpacking(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *ctx;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    status = takt_text_unpack(ctx, "tests/corpus/gguf/tiny.gguf", user, NULL);
    takt_ctx_destroy(ctx);
    return status;
}

static void unpacked(void)
{
    static const char *const names[] = {"config.json", "model.safetensors", "tokenizer.json",
                                        "tokenizer_config.json"};
    const char *tmp = getenv("TAKT_TEST_TMP");
    char path[400], to[300];
    (void)snprintf(to, sizeof to, "%s/unpacked", tmp != NULL ? tmp : "/tmp");
    (void)mkdir(to, 0777);
    const takt_sweep_report r = takt_sweep(unpacking, to, TAKT_INJECT_MEMORY | TAKT_INJECT_FILES);
    EXPECT(r.is_good, "%s", r.message);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", to, names[i]);
        EXPECT(remove(path) == 0, "%s was not written", names[i]);
    }
    (void)rmdir(to);
}

static void sweep(void)
{
    char path[] = "tests/corpus/hf_tiny";
    const takt_sweep_report r = takt_sweep(scenario, path, TAKT_INJECT_MEMORY | TAKT_INJECT_FILES);
    EXPECT(r.is_good, "%s", r.message);
}

TEST_MAIN(begin, good, configs, weights, layers, unread, repeated, parts, sweep, unpacked)
