/* convert.c - a language model, GGUF file or folder, as a GGUF file. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <takt/shrink.h>

#include "api/text/engine.h"
#include "base/mem.h"
#include "base/options.h"
#include "io/gguf/gguf_write.h"
#include "io/gguf/importance.h"
#include "io/hf/hf.h"
#include "op/util/ggml.h"
#include "text/tokenizer.h"

/* A model that is being rewritten. */
typedef struct job {
    takt_ctx *ctx;
    const char *from, *to;
    const takt_gguf_type *type; /* of matrices; NULL: unchanged */
    takt_text_quantize_options o;
    takt_importance *importance; /* NULL: there is none */
    takt_gguf_model m;           /* what is read */
    bool is_folder;
    takt_gguf_tensor *out;
    takt_gguf_keys keys;
} job;

/* ---- types ---- */

/* Rows that are not a whole number of super-blocks are written in blocks of 32 with about as many
 * bits, as in llama.cpp, and other rows as F16. */
static const takt_gguf_type *fitting(const takt_gguf_type *type, int64_t columns)
{
    static const uint32_t smaller[] = {20, 20, 6, 7, 8}; /* of Q2_K to Q6_K */
    if (columns % type->elements == 0)
        return type;
    if (type->number >= 10 && type->number <= 14 && columns % 32 == 0)
        return takt_gguf_type_of(smaller[type->number - 10]);
    return takt_gguf_type_of(1);
}

/* The requested type. Vectors and routers are small, and llama.cpp expects floats there. */
static const takt_gguf_type *type_for(const job *j, const takt_gguf_tensor *t)
{
    const bool is_float = t->type->dtype == TAKT_DTYPE_COUNT || takt_dtype_is_float(t->type->dtype);
    const char *own = j->o.type_of != NULL ? j->o.type_of(j->o.user, t->name) : NULL;
    const takt_gguf_type *wanted = own != NULL ? takt_gguf_written_type(own) : NULL;
    if (own != NULL && wanted == NULL)
        return NULL;
    if (is_float && own != NULL && t->rank > 1)
        return wanted;
    if (!is_float || (j->type == NULL && !j->is_folder))
        return t->type;
    if (t->rank == 1 || strstr(t->name, "ffn_gate_inp") != NULL)
        return takt_gguf_type_of(0);
    return j->type == NULL ? t->type : j->type;
}

static void decode(const takt_gguf_type *type, const uint8_t *from, size_t first, size_t count,
                   float *to)
{
    if (type->dtype == TAKT_DTYPE_COUNT) {
        takt_ggml_decode(takt_gguf_format(type), from + first / type->elements * type->bytes,
                         count / type->elements, to);
        return;
    }
    for (size_t i = 0; i < count; i++)
        to[i] = (float)takt_dtype_get_f(type->dtype, from, first + i);
}

/* Numbers that blocks cannot hold, and those that become infinite as halves. */
static const float *find_bad(const takt_gguf_type *type, const float *row, size_t columns)
{
    const bool is_block = type->dtype == TAKT_DTYPE_COUNT;
    for (size_t i = 0; i < columns; i++)
        if (isfinite(row[i]) ? type->dtype == TAKT_F16 && fabsf(row[i]) >= 65520 : is_block)
            return row + i;
    return NULL;
}

static takt_status fail_row(const job *j, const takt_gguf_tensor *t, const takt_gguf_type *type,
                            const float *bad)
{
    if (bad != NULL)
        return takt_fail(j->ctx, TAKT_E_SHRINK_DATA, "%s holds %g, which %s cannot hold", t->name,
                         (double)*bad, type->name);
    return takt_fail(j->ctx, TAKT_E_SHRINK_DATA, "%s holds numbers that are too large for %s",
                     t->name, type->name);
}

/* One row, rounded to what can be read back: a block's scale, a half, may have become infinite. */
static takt_status recode_row(const job *j, const takt_gguf_tensor *t, const takt_gguf_type *type,
                              float *row, const float *importance, uint8_t *to)
{
    const size_t columns = (size_t)t->dims[t->rank - 1];
    const float *bad = find_bad(type, row, columns);
    if (bad != NULL)
        return fail_row(j, t, type, bad);
    takt_gguf_encode(type, row, columns, importance, to);
    if (type->dtype != TAKT_DTYPE_COUNT)
        return TAKT_OK;
    decode(type, to, 0, columns, row);
    return find_bad(type, row, columns) == NULL ? TAKT_OK : fail_row(j, t, type, NULL);
}

/* Row by row: from the bytes of the file to floats, and on to the new type. */
static takt_status recode(const job *j, const takt_gguf_tensor *t, const takt_gguf_type *type,
                          const uint8_t *from, uint8_t *to)
{
    const size_t columns = (size_t)t->dims[t->rank - 1];
    const size_t rows = t->count / columns, bytes = columns / type->elements * type->bytes;
    float *importance = NULL;
    size_t matrices = 1;
    void *row;
    if (j->importance != NULL && type->dtype == TAKT_DTYPE_COUNT)
        TAKT_TRY(takt_importance_of(j->importance, t, &importance, &matrices));
    TAKT_TRY(takt_mem_get(j->ctx, columns * sizeof(float), "a row", &row));
    takt_status status = TAKT_OK;
    for (size_t i = 0; status == TAKT_OK && i < rows; i++) {
        const size_t matrix = i / (rows / matrices);
        decode(t->type, from, i * columns, columns, row);
        status =
            recode_row(j, t, type, row, importance != NULL ? importance + matrix * columns : NULL,
                       to + i * bytes);
    }
    takt_mem_put(j->ctx, row, columns * sizeof(float));
    return status;
}

/* The bytes of tensor `i` in its new type. */
static takt_status fetch(void *user, size_t i, uint8_t *to)
{
    const job *j = user;
    const takt_gguf_tensor *t = &j->m.g->tensors[i];
    const takt_gguf_type *type = j->out[i].type;
    void *block;
    if (type == t->type)
        return takt_gguf_bytes(&j->m, t, to);
    if (t->type->dtype == TAKT_DTYPE_COUNT && takt_gguf_format(t->type) == TAKT_GGML_FORMATS)
        return takt_gguf_fail(j->m.g, TAKT_E_GGUF_UNSUPPORTED, t->offset,
                              "%s has blocks of type %s, which Takt does not read", t->name,
                              t->type->name);
    TAKT_TRY(takt_mem_get(j->ctx, t->bytes, "a tensor", &block));
    takt_status status = takt_gguf_bytes(&j->m, t, block);
    if (status == TAKT_OK && t->count > 0)
        status = recode(j, t, type, block, to);
    takt_mem_put(j->ctx, block, t->bytes);
    return status;
}

/* ---- metadata ---- */

/* Whether a tensor is written in another type than it was read in. */
static bool is_changed(const job *j)
{
    bool is_other = j->is_folder || j->type != NULL;
    for (size_t i = 0; i < j->m.g->tensor_count; i++)
        is_other |= j->out[i].type != j->m.g->tensors[i].type;
    return is_other;
}

static void put_values(job *j)
{
    const bool is_other = is_changed(j);
    for (size_t i = 0; i < j->m.g->value_count; i++) {
        const takt_gguf_value *v = &j->m.g->values[i];
        if (strcmp(v->key, "general.alignment") != 0 && strncmp(v->key, "split.", 6) != 0 &&
            (!is_other || strcmp(v->key, "general.file_type") != 0))
            takt_gguf_put_value(&j->keys, v);
    }
    const bool has_version = takt_gguf_find(j->m.g, "general.quantization_version") != NULL;
    if (is_other)
        takt_gguf_put_file_type(&j->keys, j->out, j->m.g->tensor_count, has_version);
}

/* The last part of a path names the model. */
static void put_name(job *j)
{
    size_t end = strlen(j->from);
    while (end > 1 && j->from[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && j->from[begin - 1] != '/')
        begin--;
    takt_gguf_put_text(&j->keys, "general.name", (takt_span){j->from + begin, end - begin});
}

/* A folder without a tokenizer becomes a file without one. */
static takt_status put_tokenizer(job *j)
{
    takt_tokenizer *t;
    const takt_gguf_tensor *table = takt_gguf_tensor_find(j->m.g, "token_embd.weight");
    takt_text file;
    takt_text_init(&file, j->ctx);
    takt_status status = takt_tokenizer_inside(j->ctx, j->from, &file);
    const bool is_there = file.length > 0;
    takt_text_deinit(&file);
    TAKT_TRY(status);
    if (!is_there) {
        takt_log(j->ctx, TAKT_LOG_WARNING, "no tokenizer in %s: the file has none", j->from);
        return TAKT_OK;
    }
    TAKT_TRY(takt_tokenizer_load(j->ctx, j->from, &t));
    const int64_t rows = table != NULL && table->rank == 2 ? table->dims[0] : 0;
    const bool is_near = rows > 0 && (uint64_t)rows < 2 * (uint64_t)takt_tokenizer_count(t) + 1024;
    status = takt_tokenizer_write_gguf(t, is_near ? (size_t)rows : 0, &j->keys);
    takt_tokenizer_destroy(t);
    return status;
}

/* ---- writing ---- */

enum { BLOCK_TYPES = 32 };

/* Reports how many matrices are not of the requested type: [0] smaller blocks, [1] F16. */
static void tell_replaced(const job *j, size_t counts[BLOCK_TYPES][2])
{
    for (uint32_t i = 0; i < 2 * BLOCK_TYPES; i++) {
        const size_t count = counts[i / 2][i % 2];
        const takt_gguf_type *asked = count > 0 ? takt_gguf_type_of(i / 2) : NULL;
        if (asked != NULL)
            takt_log(j->ctx, TAKT_LOG_WARNING,
                     "%zu %s as %s, not %s: their rows are not a multiple of %u", count,
                     count == 1 ? "matrix" : "matrices", fitting(asked, i % 2 == 0 ? 32 : 1)->name,
                     asked->name, i % 2 == 0 ? asked->elements : 32);
    }
}

static takt_status choose_types(job *j)
{
    size_t replaced[BLOCK_TYPES][2] = {{0}};
    for (size_t i = 0; i < j->m.g->tensor_count; i++) {
        takt_gguf_tensor *t = &j->out[i];
        *t = j->m.g->tensors[i];
        const takt_gguf_type *asked = type_for(j, t);
        if (asked == NULL)
            return takt_fail(j->ctx, TAKT_E_OPTION, "%s cannot be written in the type asked for",
                             t->name);
        if (asked == t->type)
            continue;
        t->type = fitting(asked, t->dims[t->rank - 1]);
        if (t->type != asked && asked->number < BLOCK_TYPES)
            replaced[asked->number][t->type->number == 1]++;
    }
    tell_replaced(j, replaced);
    return TAKT_OK;
}

static takt_status write_gguf(job *j)
{
    const takt_gguf *g = j->m.g;
    void *block;
    const size_t room = g->tensor_count + 1;
    TAKT_TRY(takt_mem_zero(j->ctx, room, sizeof *j->out, "tensors", &block));
    j->out = block;
    takt_gguf_keys_init(&j->keys, j->ctx);
    takt_status status = choose_types(j);
    if (status == TAKT_OK)
        put_values(j);
    if (status == TAKT_OK && j->is_folder) {
        put_name(j);
        status = put_tokenizer(j);
    }
    const takt_gguf_tensors all = {
        .at = j->out, .count = g->tensor_count, .bytes = fetch, .user = j};
    size_t parts = 0;
    if (status == TAKT_OK)
        status = takt_gguf_write_shards(j->ctx, j->to, &j->keys, &all, j->o.shard_bytes, &parts);
    if (status == TAKT_OK && j->o.shards != NULL)
        *j->o.shards = parts;
    takt_gguf_keys_deinit(&j->keys);
    takt_mem_put(j->ctx, block, room * sizeof *j->out);
    return status;
}

/* ---- reading ---- */

static takt_status not_a_text_model(takt_ctx *ctx, const char *from)
{
    takt_fail(ctx, TAKT_E_GGUF, "%s is neither a GGUF file nor a folder", from);
    return takt_fail_hint(ctx, "only language models are written as GGUF, from GGUF files and "
                               "Hugging Face folders");
}

static takt_status from_file(job *j, takt_arena *arena)
{
    takt_skim skim;
    takt_gguf g;
    takt_gguf_shards shards = {.count = 0};
    TAKT_TRY(takt_skim_open(j->ctx, j->from, &skim));
    takt_status status = takt_gguf_recognises(skim.bytes, skim.have)
                             ? takt_gguf_skim(&skim)
                             : not_a_text_model(j->ctx, j->from);
    if (status == TAKT_OK)
        status = takt_gguf_parse(arena, j->from, skim.bytes, skim.length, skim.length, &g);
    const takt_source source = {.ctx = j->ctx,
                                .name = j->from,
                                .folder = ".", /* `name` is a path */
                                .bytes = skim.bytes,
                                .length = skim.length,
                                .skim = &skim};
    if (status == TAKT_OK)
        status = takt_gguf_shards_open(&shards, arena, &source, &g);
    if (status == TAKT_OK) {
        j->m = (takt_gguf_model){.ctx = j->ctx, .source = &source, .g = &g, .shards = &shards};
        status = write_gguf(j);
    }
    takt_gguf_shards_close(&shards);
    takt_skim_close(&skim);
    return status;
}

static takt_status from_folder(job *j, takt_arena *arena)
{
    takt_hf h;
    takt_skim skim;
    const char *path = takt_arena_format(arena, "%s/config.json", j->from);
    if (path == NULL)
        return TAKT_ERR_MEMORY;
    j->is_folder = true;
    TAKT_TRY(takt_skim_open(j->ctx, path, &skim));
    takt_status status = takt_skim_need(&skim, skim.length);
    if (status == TAKT_OK) {
        const takt_source source = {.ctx = j->ctx,
                                    .name = path,
                                    .folder = j->from,
                                    .bytes = skim.bytes,
                                    .length = skim.length};
        status = takt_hf_open(&h, arena, &source);
        j->m = (takt_gguf_model){
            .ctx = j->ctx, .source = &source, .g = &h.g, .recipe = takt_hf_recipe, .user = &h};
        if (status == TAKT_OK)
            status = write_gguf(j);
        takt_hf_close(&h);
    }
    takt_skim_close(&skim);
    return status;
}

static takt_status read_type(job *j, const char *type)
{
    if (type == NULL || strcmp(type, "auto") == 0)
        return TAKT_OK;
    j->type = takt_gguf_written_type(type);
    if (j->type != NULL)
        return TAKT_OK;
    (void)takt_fail(j->ctx, TAKT_E_OPTION, "tensors cannot be written as %.40s", type);
    return takt_fail_hint(j->ctx, "auto, f32, f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0, q6_k, q5_k, "
                                  "q4_k, q3_k, q2_k and iq4_nl can");
}

takt_status takt_text_quantize(takt_ctx *ctx, const char *from, const char *to,
                               const takt_text_quantize_options *options)
{
    takt_arena arena;
    takt_importance importance = {.ctx = NULL};
    TAKT_NEED(ctx, ctx);
    TAKT_NEED(ctx, from);
    TAKT_NEED(ctx, to);
    job j = {.ctx = ctx, .from = from, .to = to};
    TAKT_TRY(takt_options_read(ctx, "takt_text_quantize_options", options, &j.o, sizeof j.o));
    TAKT_TRY(read_type(&j, j.o.type));
    if (j.o.imatrix != NULL) {
        TAKT_TRY(takt_importance_open(&importance, ctx, j.o.imatrix));
        j.importance = &importance;
    }
    takt_arena_init(&arena, ctx);
    const takt_status status =
        takt_file_refusal(ctx, from) == EISDIR ? from_folder(&j, &arena) : from_file(&j, &arena);
    takt_arena_deinit(&arena);
    takt_importance_close(&importance);
    return status;
}

takt_status takt_text_convert(takt_ctx *ctx, const char *from, const char *to, const char *type)
{
    const takt_text_quantize_options options = {.size = sizeof options, .type = type};
    return takt_text_quantize(ctx, from, to, &options);
}
