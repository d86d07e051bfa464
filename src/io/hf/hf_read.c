/* hf_read.c - a Hugging Face folder as a model, as config.json describes it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "io/file.h"
#include "io/hf/hf.h"

takt_status takt_hf_fail(const takt_hf *h, takt_error_id id, const takt_json *at,
                         const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    text[takt_utf8_cut(text, sizeof text - 1)] = '\0';
    const takt_status status = takt_fail(h->ctx, id, "%s: %s", h->source->name, text);
    return at != NULL ? takt_fail_offset(h->ctx, at->offset) : status;
}

/* A JSON object that names a model type near its beginning. */
bool takt_hf_recognises(const uint8_t *bytes, size_t length)
{
    static const char key[] = "\"model_type\"";
    size_t i = 0;
    while (i < length && (bytes[i] == ' ' || bytes[i] == '\n' || bytes[i] == '\r'))
        i++;
    if (i == length || bytes[i] != '{')
        return false;
    for (; i + sizeof key - 1 <= length; i++)
        if (bytes[i] == '"' && memcmp(bytes + i, key, sizeof key - 1) == 0)
            return true;
    return false;
}

/* ---- the architecture ---- */

/* The architecture text that lists `type` in a "#: type" line; NULL: none. */
static const char *text_for(const char *type)
{
    for (size_t i = 0; takt_gguf_arch_name(i) != NULL; i++) {
        const char *name = takt_gguf_arch_name(i);
        takt_hf_lines lines = {.at = takt_gguf_arch(name)};
        takt_hf_line line;
        while (takt_hf_next(&lines, &line))
            for (size_t w = 1; takt_hf_is(&line, "type") && w < line.count; w++)
                if (takt_span_is(line.word[w], type))
                    return name;
    }
    return NULL;
}

static takt_status list_types(const takt_hf *h)
{
    takt_text known;
    takt_text_init(&known, h->ctx);
    for (size_t i = 0; takt_gguf_arch_name(i) != NULL; i++) {
        takt_hf_lines lines = {.at = takt_gguf_arch(takt_gguf_arch_name(i))};
        takt_hf_line line;
        while (takt_hf_next(&lines, &line))
            for (size_t w = 1; takt_hf_is(&line, "type") && w < line.count; w++)
                takt_text_add(&known, "%s%.*s", known.length > 0 ? ", " : "",
                              (int)line.word[w].length, line.word[w].at);
    }
    const takt_status status = known.status != TAKT_OK
                                   ? known.status
                                   : takt_fail_hint(h->ctx, "known are %s", takt_text_get(&known));
    takt_text_deinit(&known);
    return status;
}

static takt_status find_architecture(takt_hf *h)
{
    const takt_json *type = takt_hf_member(h->config, "model_type");
    const takt_json *inner = takt_hf_member(h->config, "text_config");
    const takt_json *own = takt_hf_member(inner, "model_type");
    if (own != NULL && own->kind == TAKT_JSON_STRING && text_for(own->text) != NULL) {
        h->config = inner;
        type = own;
    }
    if (type == NULL || type->kind != TAKT_JSON_STRING)
        return takt_hf_fail(h, TAKT_E_GGUF_MODEL, h->config, "model_type is missing");
    /* A class may be a part of the model that its type names: T5EncoderModel. */
    const takt_json *classes = takt_hf_member(h->config, "architectures");
    const takt_json *class = classes != NULL ? takt_json_first(classes) : NULL;
    if (class != NULL && class->kind == TAKT_JSON_STRING)
        h->architecture = text_for(class->text);
    if (h->architecture == NULL)
        h->architecture = text_for(type->text);
    if (h->architecture != NULL)
        return TAKT_OK;
    (void)takt_hf_fail(h, TAKT_E_GGUF_UNSUPPORTED, type, "the model_type %.60s is not known",
                       type->text);
    return list_types(h);
}

/* ---- sentence encoders ---- */

/* 1_Pooling/config.json of sentence-transformers: how token vectors are pooled into one. */
static takt_status read_pooling(takt_hf *h)
{
    const char *path = takt_arena_format(h->arena, "%s/1_Pooling/config.json", h->folder);
    const takt_json *root;
    takt_file *file;
    void *bytes;
    size_t length;
    if (path == NULL)
        return TAKT_ERR_MEMORY;
    const int error = h->ctx->files.open_read(h->ctx->files.user, path, &file);
    if (error == ENOENT || error == ENOTDIR) {
        takt_log(h->ctx, TAKT_LOG_WARNING,
                 "%s does not say how vectors of tokens become one: their mean is taken",
                 h->folder);
        return takt_hf_put_integer(h, "pooling_type", 1);
    }
    if (error != 0)
        return takt_fail_file(h->ctx, TAKT_E_FILE_OPEN, path, "open", error);
    takt_status status = takt_file_whole(h->ctx, path, file, &bytes, &length);
    h->ctx->files.close(h->ctx->files.user, file);
    TAKT_TRY(status);
    status = takt_json_parse(h->ctx, h->arena, bytes, length, &root);
    takt_mem_put(h->ctx, bytes, length);
    TAKT_TRY(status);
    const takt_json *first = takt_hf_member(root, "pooling_mode_cls_token");
    const takt_json *mean = takt_hf_member(root, "pooling_mode_mean_tokens");
    if (first != NULL && first->kind == TAKT_JSON_BOOL && first->boolean)
        return takt_hf_put_integer(h, "pooling_type", 2);
    if (mean != NULL && mean->kind == TAKT_JSON_BOOL && mean->boolean)
        return takt_hf_put_integer(h, "pooling_type", 1);
    return takt_fail(h->ctx, TAKT_E_GGUF_UNSUPPORTED,
                     "%s: vectors become one by their mean or by the first; this asks for another "
                     "way",
                     path);
}

/* ---- life ---- */

static bool makes_vectors(const takt_hf *h)
{
    const size_t length = strlen(h->architecture);
    return strcmp(h->architecture, "bert") == 0 || takt_gguf_wants_encoder(h->source) ||
           (length > 7 && strcmp(h->architecture + length - 7, "encoder") == 0);
}

static takt_status read_config(takt_hf *h)
{
    const takt_source *s = h->source;
    TAKT_TRY(takt_json_parse(h->ctx, h->arena, (const char *)s->bytes, s->length, &h->config));
    const takt_json *packed = takt_hf_member(h->config, "quantization_config");
    if (packed != NULL)
        return takt_hf_fail(h, TAKT_E_GGUF_UNSUPPORTED, packed,
                            "weights that are quantised in safetensors are not read");
    TAKT_TRY(find_architecture(h));
    TAKT_TRY(takt_hf_settings(h));
    return makes_vectors(h) ? read_pooling(h) : TAKT_OK;
}

takt_status takt_hf_open(takt_hf *h, takt_arena *arena, const takt_source *source)
{
    *h = (takt_hf){.ctx = source->ctx,
                   .arena = arena,
                   .source = source,
                   .folder = source->folder,
                   .g = {.ctx = source->ctx, .version = 3, .alignment = 32}};
    if (source->folder == NULL)
        return takt_fail(source->ctx, TAKT_E_GGUF_MODEL, "%s: its safetensors are in no folder",
                         source->name);
    h->g.file = source->name;
    TAKT_TRY(read_config(h));
    return takt_hf_weights(h);
}

void takt_hf_close(takt_hf *h)
{
    for (size_t i = 0; i < h->file_count; i++)
        takt_held_file_release(h->files[i]);
    h->file_count = 0;
}

/* Reports tensors that the model does not use: the weights do not match config.json. */
static takt_status check_read(const takt_hf *h, const bool *is_read)
{
    if (takt_gguf_wants_encoder(h->source))
        return TAKT_OK;
    for (size_t i = 0; i < h->g.tensor_count; i++)
        if (!is_read[i] && h->tensors[i].made == NULL)
            return takt_hf_fail(h, TAKT_E_GGUF_UNSUPPORTED, NULL,
                                "nothing of the model that it describes reads the tensor %.120s",
                                h->tensors[i].pieces->name);
    return TAKT_OK;
}

static takt_status build(takt_hf *h, takt_graph **graph)
{
    bool *is_read = takt_arena_array(h->arena, h->g.tensor_count + 1, sizeof *is_read);
    if (is_read == NULL)
        return TAKT_ERR_MEMORY;
    takt_gguf_model m = {.ctx = h->ctx,
                         .source = h->source,
                         .g = &h->g,
                         .recipe = takt_hf_recipe,
                         .user = h,
                         .format = "huggingface",
                         .is_read = is_read};
    TAKT_TRY(takt_gguf_build(&m, graph));
    const takt_status status = check_read(h, is_read);
    if (status != TAKT_OK) {
        takt_graph_destroy(*graph);
        *graph = NULL;
    }
    return status;
}

static takt_status read(const takt_source *source, takt_graph **graph)
{
    takt_arena arena;
    takt_hf h;
    takt_arena_init(&arena, source->ctx);
    takt_status status = takt_hf_open(&h, &arena, source);
    if (status == TAKT_OK)
        status = build(&h, graph);
    takt_hf_close(&h);
    takt_arena_deinit(&arena);
    return status;
}

const takt_reader takt_reader_hf = {
    .name = "huggingface",
    .summary = "folders of Hugging Face (config.json and safetensors)",
    .recognises = takt_hf_recognises,
    .read = read,
};
