/* hf.c - folders of Hugging Face: what is wrong with them is said, and nothing is left behind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* All of `from` in a text becomes `to`, which is as long if the text has lengths in it. */
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
         "long_factor is no list of 2 numbers"},
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
        {"model.norm.weight", "model.form.weight", "model.form.weight is no part of llama"},
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
    f = base;
    f.weights_length--;
    EXPECT(load(&f, NULL, message) != TAKT_OK, "a file without its last byte was read");
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

static void sweep(void)
{
    char path[] = "tests/corpus/hf_tiny";
    const takt_sweep_report r = takt_sweep(scenario, path, TAKT_INJECT_MEMORY | TAKT_INJECT_FILES);
    EXPECT(r.is_good, "%s", r.message);
}

TEST_MAIN(begin, good, configs, weights, parts, sweep)
