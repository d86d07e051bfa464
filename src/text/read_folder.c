/* read_folder.c - the rest of a Hugging Face folder's tokenizer: tokenizer_config.json with the
 * roles of tokens and the chat template, which may also be in chat_template.jinja. */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "io/file.h"
#include "text/tokenizer.h"

/* Other failures are reported when the file is read. */
static bool is_there(takt_ctx *ctx, const char *path)
{
    takt_file *file;
    const int error = ctx->files.open_read(ctx->files.user, path, &file);
    if (error == 0)
        ctx->files.close(ctx->files.user, file);
    return error != ENOENT && error != ENOTDIR;
}

takt_status takt_tokenizer_inside(takt_ctx *ctx, const char *path, takt_text *file)
{
    static const char *const names[] = {"tokenizer.json", "tokenizer.model"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        file->length = 0;
        takt_text_add(file, "%s/%s", path, names[i]);
        if (file->status != TAKT_OK || is_there(ctx, takt_text_get(file)))
            return file->status;
    }
    file->length = 0;
    return TAKT_OK;
}

/* ---- roles ---- */

/* The name of a token: a text, or an object with its content. */
static const takt_json *name_of(const takt_json *root, const char *key)
{
    const takt_json *v = takt_json_get(root, key);
    if (v != NULL && v->kind == TAKT_JSON_OBJECT)
        v = takt_json_get(v, "content");
    return v != NULL && v->kind == TAKT_JSON_STRING && v->text_length > 0 ? v : NULL;
}

static void read_roles(takt_tokenizer *t, const takt_json *root)
{
    static const struct {
        const char *key;
        takt_token_role role;
    } keys[] = {{"bos_token", TAKT_TOKEN_BOS},  {"eos_token", TAKT_TOKEN_EOS},
                {"unk_token", TAKT_TOKEN_UNK},  {"pad_token", TAKT_TOKEN_PAD},
                {"cls_token", TAKT_TOKEN_CLS},  {"sep_token", TAKT_TOKEN_SEP},
                {"mask_token", TAKT_TOKEN_MASK}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const takt_json *v = name_of(root, keys[i].key);
        const uint32_t id = v != NULL
                                ? takt_spans_find(&t->index, (takt_span){v->text, v->text_length})
                                : UINT32_MAX;
        if (id != UINT32_MAX)
            t->roles[keys[i].role] = (int32_t)id;
    }
}

/* ---- the chat template ---- */

static takt_status keep_chat(takt_tokenizer *t, const char *text, size_t length)
{
    t->chat = takt_arena_text(&t->arena, text, length);
    return t->chat != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

/* A text, or a list of named ones, from which "default" is taken. */
static const takt_json *template_of(const takt_json *root)
{
    const takt_json *v = takt_json_get(root, "chat_template");
    if (v == NULL || v->kind != TAKT_JSON_ARRAY)
        return v != NULL && v->kind == TAKT_JSON_STRING ? v : NULL;
    for (const takt_json *p = takt_json_first(v); p != NULL; p = takt_json_next(p)) {
        const takt_json *name = p->kind == TAKT_JSON_OBJECT ? takt_json_get(p, "name") : NULL;
        const takt_json *text = name != NULL ? takt_json_get(p, "template") : NULL;
        if (text != NULL && text->kind == TAKT_JSON_STRING && name->kind == TAKT_JSON_STRING &&
            strcmp(name->text, "default") == 0)
            return text;
    }
    return NULL;
}

static takt_status read_json(takt_tokenizer *t, const char *bytes, size_t length)
{
    takt_arena arena;
    const takt_json *root;
    takt_arena_init(&arena, t->ctx);
    takt_status status = takt_json_parse(t->ctx, &arena, bytes, length, &root);
    if (status == TAKT_OK && root->kind != TAKT_JSON_OBJECT)
        status = takt_tokenizer_fail(t, TAKT_E_TOKENIZER, "tokenizer_config.json is not an object");
    if (status == TAKT_OK) {
        const takt_json *chat = template_of(root);
        read_roles(t, root);
        if (chat != NULL)
            status = keep_chat(t, chat->text, chat->text_length);
    }
    takt_arena_deinit(&arena);
    return status;
}

typedef takt_status take_fn(takt_tokenizer *t, const char *bytes, size_t length);

/* Passes the file to `take`, if it exists. */
static takt_status read_one(takt_tokenizer *t, const char *folder, const char *name, take_fn *take)
{
    takt_text path;
    void *bytes = NULL;
    size_t length = 0;
    takt_text_init(&path, t->ctx);
    takt_text_add(&path, "%s/%s", folder, name);
    takt_status status = path.status;
    if (status == TAKT_OK && is_there(t->ctx, takt_text_get(&path))) {
        status = takt_read_file(t->ctx, takt_text_get(&path), &bytes, &length);
        if (status == TAKT_OK)
            status = take(t, bytes, length);
        takt_mem_put(t->ctx, bytes, length);
    }
    takt_text_deinit(&path);
    return status;
}

takt_status takt_tokenizer_read_config(takt_tokenizer *t, const char *folder)
{
    TAKT_TRY(read_one(t, folder, "tokenizer_config.json", read_json));
    return read_one(t, folder, "chat_template.jinja", keep_chat);
}
