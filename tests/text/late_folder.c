/* late_folder.c - weights of a Hugging Face folder that stay in their files until a plan needs
 * them: the same bytes as read at once, and an error if the files have become shorter. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "api/model.h"
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

static void same(void)
{
    for (size_t i = 0; i < FOLDERS; i++) {
        takt_model *early = NULL, *late = NULL;
        takt_ctx *ctx = begin(&folders[i], "context=16", &early);
        const takt_load_options options = {.sizes = "context=16,weights=late"};
        size_t count = 0;
        EXPECT_OK(ctx, takt_model_load(ctx, "m/config.json", &options, &late));
        for (size_t k = 0; late != NULL && k < late->graph->slot_count; k++) {
            const takt_tensor *a = &early->slots[k], *b = &late->slots[k];
            count += takt_storage_is_late(b->storage) && late->graph->slots[k].next == TAKT_NONE;
            EXPECT(memcmp(takt_tensor_data(a), takt_tensor_data(b), takt_tensor_bytes(a)) == 0,
                   "%s: %s", folders[i].config, late->graph->slots[k].name);
        }
        EXPECT(count >= 4, "%s: %zu weights stayed in their files", folders[i].config, count);
        takt_model_destroy(late);
        end(ctx, early);
    }
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

TEST_MAIN(same, cut)
