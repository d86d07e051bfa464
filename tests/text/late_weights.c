/* late_weights.c - weights of texts that stay in their files until a plan needs them.
 *
 * They have the same bytes as if read at once, as a whole or in parts, and it is an error if their
 * files have become shorter. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "api/model.h"
#include "io/gguf/stash.h"
#include "ir/late.h"
#include "util/memfs.h"

enum { MOST = 1 << 18 };

/* `tensors`: "NAME ROWS COLUMNS|..." with 0 for the columns of a vector; "/": the next file. */
typedef struct folder {
    const char *config, *type, *tensors;
} folder;

#define SIZES                                                                                      \
    "\"hidden_size\": 32, \"intermediate_size\": 48, \"num_hidden_layers\": 1, "                   \
    "\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"vocab_size\": 40, "                 \
    "\"max_position_embeddings\": 64"

static const folder folders[] = {
    {"{\"model_type\": \"llama\", \"torch_dtype\": \"float32\", " SIZES "}", "BF16",
     "model.embed_tokens.weight 40 32|model.norm.weight 32 0|"
     "model.layers.0.input_layernorm.weight 32 0|model.layers.0.self_attn.q_proj.weight 32 32|/|"
     "model.layers.0.self_attn.k_proj.weight 16 32|model.layers.0.self_attn.v_proj.weight 16 32|"
     "model.layers.0.self_attn.o_proj.weight 32 32|model.layers.0.mlp.gate_proj.weight 48 32|"
     "model.layers.0.mlp.up_proj.weight 48 32|model.layers.0.mlp.down_proj.weight 32 48|"
     "model.layers.0.post_attention_layernorm.weight 32 0|"},
    {"{\"model_type\": \"phi3\", " SIZES "}", "F16",
     "model.embed_tokens.weight 40 32|model.norm.weight 32 0|lm_head.weight 40 32|"
     "model.layers.0.input_layernorm.weight 32 0|model.layers.0.self_attn.qkv_proj.weight 64 32|"
     "model.layers.0.self_attn.o_proj.weight 32 32|model.layers.0.mlp.gate_up_proj.weight 96 32|"
     "model.layers.0.mlp.down_proj.weight 32 48|"
     "model.layers.0.post_attention_layernorm.weight 32 0|"},
    {"{\"model_type\": \"gpt_neox\", \"rotary_pct\": 0.5, \"hidden_act\": \"gelu\", "
     "\"hidden_size\": 32, \"intermediate_size\": 48, \"num_hidden_layers\": 1, "
     "\"num_attention_heads\": 4, \"vocab_size\": 40, \"max_position_embeddings\": 64}",
     "F32",
     "gpt_neox.embed_in.weight 40 32|gpt_neox.final_layer_norm.weight 32 0|"
     "gpt_neox.final_layer_norm.bias 32 0|embed_out.weight 40 32|"
     "gpt_neox.layers.0.input_layernorm.weight 32 0|gpt_neox.layers.0.input_layernorm.bias 32 0|"
     "gpt_neox.layers.0.post_attention_layernorm.weight 32 0|"
     "gpt_neox.layers.0.post_attention_layernorm.bias 32 0|"
     "gpt_neox.layers.0.attention.query_key_value.weight 96 32|"
     "gpt_neox.layers.0.attention.query_key_value.bias 96 0|"
     "gpt_neox.layers.0.attention.dense.weight 32 32|gpt_neox.layers.0.attention.dense.bias 32 0|"
     "gpt_neox.layers.0.mlp.dense_h_to_4h.weight 48 32|"
     "gpt_neox.layers.0.mlp.dense_h_to_4h.bias 48 0|"
     "gpt_neox.layers.0.mlp.dense_4h_to_h.weight 32 48|"
     "gpt_neox.layers.0.mlp.dense_4h_to_h.bias 32 0|"},
    {"{\"model_type\": \"gpt2\", \"activation_function\": \"gelu_new\", \"n_embd\": 32, "
     "\"n_layer\": 1, \"n_head\": 4, \"n_positions\": 64, \"vocab_size\": 40}",
     "F32",
     "wte.weight 40 32|wpe.weight 64 32|ln_f.weight 32 0|ln_f.bias 32 0|h.0.ln_1.weight 32 0|"
     "h.0.ln_1.bias 32 0|h.0.ln_2.weight 32 0|h.0.ln_2.bias 32 0|h.0.attn.c_attn.weight 32 96|"
     "h.0.attn.c_attn.bias 96 0|h.0.attn.c_proj.weight 32 32|h.0.attn.c_proj.bias 32 0|"
     "h.0.mlp.c_fc.weight 32 128|h.0.mlp.c_fc.bias 128 0|h.0.mlp.c_proj.weight 128 32|"
     "h.0.mlp.c_proj.bias 32 0|"},
};
enum { FOLDERS = sizeof folders / sizeof *folders };

/* ---- files ---- */

static struct {
    takt_memfs *fs;
    takt_files files;
    char index[MOST];
} disk;

typedef struct part {
    char head[MOST], bytes[MOST];
    size_t length; /* of bytes */
} part;

static void add_tensor(part *p, const char *type, const char *at, int number)
{
    char name[128], shape[40];
    unsigned rows, columns;
    if (sscanf(at, "%127s %u %u", name, &rows, &columns) != 3)
        exit(EXIT_FAILURE);
    snprintf(shape, sizeof shape, columns > 0 ? "%u, %u" : "%u", rows, columns);
    const size_t count = (size_t)rows * (columns > 0 ? columns : 1);
    const size_t end = p->length + count * (strcmp(type, "F32") == 0 ? 4 : 2);
    sprintf(p->head + strlen(p->head),
            "%s\"%s\": {\"dtype\": \"%s\", \"shape\": [%s], \"data_offsets\": [%zu, %zu]}",
            p->length > 0 ? ", " : "{", name, type, shape, p->length, end);
    for (; p->length < end; p->length++) /* numbers below 2 in every type */
        p->bytes[p->length] = (char)(p->length * 37 % 61 + p->length / 251 % 2);
    sprintf(disk.index + strlen(disk.index), "%s\"%s\": \"part-%d\"",
            disk.index[1] != '\0' ? ", " : "\"weight_map\": {", name, number);
}

static void put_part(const part *p, int number)
{
    static char all[2 * MOST];
    char path[16];
    const size_t head = strlen(p->head) + 1;
    for (size_t i = 0; i < 8; i++)
        all[i] = (char)(head >> (8 * i));
    memcpy(all + 8, p->head, head - 1);
    all[7 + head] = '}';
    memcpy(all + 8 + head, p->bytes, p->length);
    snprintf(path, sizeof path, "m/part-%d", number);
    if (takt_memfs_put(disk.fs, path, all, 8 + head + p->length) != 0)
        exit(EXIT_FAILURE);
}

static void write(const folder *f)
{
    static part p;
    int number = 0;
    strcpy(disk.index, "{");
    p = (part){.length = 0};
    for (const char *at = f->tensors; *at != '\0'; at = strchr(at, '|') + 1) {
        if (*at != '/') {
            add_tensor(&p, f->type, at, number);
            continue;
        }
        put_part(&p, number++);
        p = (part){.length = 0};
    }
    put_part(&p, number);
    strcat(disk.index, "}}");
    if (takt_memfs_put(disk.fs, "m/config.json", f->config, strlen(f->config)) != 0 ||
        takt_memfs_put(disk.fs, "m/model.safetensors.index.json", disk.index, strlen(disk.index)) !=
            0)
        exit(EXIT_FAILURE);
}

static takt_ctx *begin(const folder *f, const char *sizes, takt_model **model)
{
    takt_ctx *ctx;
    disk.fs = takt_memfs_create();
    if (disk.fs == NULL)
        exit(EXIT_FAILURE);
    write(f);
    disk.files = takt_memfs_files(disk.fs);
    const takt_config config = {.files = &disk.files};
    const takt_load_options options = {.sizes = sizes};
    if (takt_ctx_create(&config, &ctx) != TAKT_OK)
        exit(EXIT_FAILURE);
    EXPECT_OK(ctx, takt_model_load(ctx, "m/config.json", &options, model));
    return ctx;
}

static void end(takt_ctx *ctx, takt_model *model)
{
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    takt_memfs_destroy(disk.fs);
}

/* ---- tests ---- */

/* All bytes of a late storage, a few grains at a time, the last ones first. */
static void copy_parts(takt_storage *from, unsigned char *to)
{
    const size_t grain = takt_storage_grain(from), bytes = takt_storage_bytes(from);
    const size_t each = grain == 0 ? bytes : grain < 100 ? grain * (100 / grain) : grain;
    for (size_t i = (bytes + each - 1) / each; i-- > 0;) {
        const size_t at = i * each, count = bytes - at < each ? bytes - at : each;
        EXPECT_OK(NULL, takt_storage_copy_part(from, at, count, to + at));
    }
}

/* Whether `b` is late; then it has the bytes of `a`. */
static size_t compare(const takt_tensor *a, const takt_tensor *b, const char *name)
{
    static unsigned char bytes[MOST];
    const size_t count = takt_tensor_bytes(a);
    if (!takt_storage_is_late(b->storage) || !EXPECT(count <= sizeof bytes, "%zu", count))
        return 0;
    copy_parts(b->storage, bytes);
    EXPECT(memcmp(takt_tensor_data(a), bytes, count) == 0, "%s: in parts", name);
    EXPECT_OK(NULL, takt_storage_copy(b->storage, bytes));
    EXPECT(memcmp(takt_tensor_data(a), bytes, count) == 0, "%s: as a whole", name);
    EXPECT(memcmp(takt_tensor_data(a), takt_tensor_data(b), count) == 0, "%s: in place", name);
    return 1;
}

static void compare_models(takt_ctx *ctx, const char *path, size_t least)
{
    const takt_load_options at_once = {.sizes = "context=16"},
                            later = {.sizes = "context=16,weights=late"};
    takt_model *early = NULL, *late = NULL;
    size_t count = 0;
    if (!EXPECT_OK(ctx, takt_model_load(ctx, path, &at_once, &early)) ||
        !EXPECT_OK(ctx, takt_model_load(ctx, path, &later, &late)))
        return;
    const takt_graph *a = early->graph, *b = late->graph;
    EXPECT_EQ(a->slot_count, b->slot_count);
    EXPECT_EQ(a->tensor_count, b->tensor_count);
    for (size_t i = 0; i < b->slot_count; i++)
        if (b->slots[i].next == TAKT_NONE)
            count += compare(&early->slots[i], &late->slots[i], b->slots[i].name);
    for (size_t i = 0; i < b->tensor_count; i++)
        count += compare(a->tensors[i], b->tensors[i], "a constant");
    EXPECT(count >= least, "%s: %zu weights stayed in their files", path, count);
    takt_model_destroy(early);
    takt_model_destroy(late);
}

static void same(void)
{
    takt_ctx *ctx;
    for (size_t i = 0; i < FOLDERS; i++) {
        takt_model *model = NULL;
        ctx = begin(&folders[i], NULL, &model);
        compare_models(ctx, "m/config.json", 4);
        end(ctx, model);
    }
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    compare_models(ctx, "tests/corpus/gguf/tiny.gguf", 1);
    takt_ctx_destroy(ctx);
}

static void cut(void)
{
    static const char nothing[] = "not weights";
    for (size_t i = 0; i < FOLDERS; i++) {
        takt_model *model = NULL;
        takt_plan *plan = NULL;
        takt_ctx *ctx = begin(&folders[i], "context=16,weights=late", &model);
        const takt_plan_options options = {.sizes = "seq=1,count=1", .threads = 1};
        EXPECT_EQ(takt_memfs_put(disk.fs, "m/part-0", nothing, sizeof nothing), 0);
        EXPECT_STATUS(ctx, takt_plan_create(model, &options, &plan), TAKT_ERR_IO);
        end(ctx, model);
    }
}

/* Scales that are put in by chunks, in any order, come out once, when all are there. */
static void stash(void)
{
    enum { BLOCKS = 2 * TAKT_GGUF_CHUNK + 3, WIDTH = 2 };
    static uint8_t out[BLOCKS * WIDTH];
    static const size_t ends[][2] = {{2 * TAKT_GGUF_CHUNK, BLOCKS}, {0, 2 * TAKT_GGUF_CHUNK}};
    takt_ctx *ctx;
    takt_gguf_stash *s;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    for (int way = 0; way < 3; way++) { /* 1: a part fails; 2: one is still being read */
        uint8_t *at = NULL;
        if (!EXPECT_OK(ctx, takt_gguf_stash_create(ctx, BLOCKS, WIDTH, &s)))
            break;
        for (size_t i = 0; i < 2; i++) {
            at = takt_gguf_stash_open(s);
            memset(at + ends[i][0] * WIDTH, 5, (ends[i][1] - ends[i][0]) * WIDTH);
            if (way < 2 || i == 0)
                takt_gguf_stash_close(s, ends[i][0], ends[i][way == 0 || i == 0 ? 1 : 0]);
        }
        EXPECT_EQ(takt_gguf_stash_take(s, out), way == 0);
        EXPECT_EQ(out[BLOCKS * WIDTH - 1], 5);
        if (way == 2)
            takt_gguf_stash_close(s, ends[1][0], ends[1][1]);
        EXPECT(takt_gguf_stash_open(s) == NULL, "nothing will be taken again");
        takt_gguf_stash_release(s);
    }
    takt_ctx_destroy(ctx);
}

TEST_MAIN(same, cut, stash)
