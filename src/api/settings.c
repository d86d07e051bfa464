/* settings.c - settings from a JSON file, and suggestions for misspelt names. */
#include <takt/settings.h>

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "io/read.h"

static takt_status give_number(const takt_json *v, const char *key, takt_setting_fn *each,
                               void *user, takt_ctx *ctx)
{
    takt_text text;
    takt_text_init(&text, ctx);
    if (v->is_integer)
        takt_text_add(&text, "%lld", (long long)v->integer);
    else
        takt_text_double(&text, v->number);
    const takt_status status =
        text.status == TAKT_OK ? each(user, key, takt_text_get(&text)) : text.status;
    takt_text_deinit(&text);
    return status;
}

typedef struct reading {
    takt_ctx *ctx;
    const char *path;
    takt_setting_fn *each;
    void *user;
} reading;

static takt_status give(const reading *r, const char *key, const takt_json *v)
{
    switch (v->kind) {
    case TAKT_JSON_STRING: return r->each(r->user, key, v->text);
    case TAKT_JSON_BOOL: return r->each(r->user, key, v->boolean ? "true" : "false");
    case TAKT_JSON_NUMBER: return give_number(v, key, r->each, r->user, r->ctx);
    default:
        return takt_fail(r->ctx, TAKT_E_OPTION,
                         "%s: \"%s\" is neither a string, a number, a boolean nor a list of these",
                         r->path, key);
    }
}

static takt_status give_all(const reading *r, const takt_json *root)
{
    if (root->kind != TAKT_JSON_OBJECT)
        return takt_fail(r->ctx, TAKT_E_OPTION, "%s: the settings are not a JSON object", r->path);
    for (const takt_json *v = takt_json_first(root); v != NULL; v = takt_json_next(v)) {
        if (v->kind != TAKT_JSON_ARRAY) {
            TAKT_TRY(give(r, v->key, v));
            continue;
        }
        for (const takt_json *item = takt_json_first(v); item != NULL; item = takt_json_next(item))
            TAKT_TRY(give(r, v->key, item));
    }
    return TAKT_OK;
}

takt_status takt_settings_read(takt_ctx *ctx, const char *path, takt_setting_fn *each, void *user)
{
    TAKT_NEED(NULL, ctx);
    void *bytes;
    size_t length;
    const takt_json *root;
    takt_arena arena;
    if (path == NULL || each == NULL)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "takt_settings_read: path or each is NULL");
    TAKT_TRY(takt_read_file(ctx, path, &bytes, &length));
    takt_arena_init(&arena, ctx);
    takt_status status = takt_json_parse(ctx, &arena, bytes, length, &root);
    if (status != TAKT_OK) {
        takt_fail_in_file(ctx, path);
        takt_fail_hint(ctx, "settings are a JSON object such as {\"threads\": 2, \"json\": true}; "
                            "--dump-config writes one");
    }
    const reading r = {.ctx = ctx, .path = path, .each = each, .user = user};
    if (status == TAKT_OK)
        status = give_all(&r, root);
    takt_arena_deinit(&arena);
    takt_mem_put(ctx, bytes, length);
    return status;
}

int takt_nearest(const char *word, const char *const *names, size_t count)
{
    if (word == NULL)
        return 0;
    const size_t length = strlen(word);
    /* Up to a third of the letters may be wrong; for a single letter only its case. */
    size_t best = (length < 2 ? 0 : length < 3 ? 1 : length / 3) + 1;
    int nearest = -1;
    for (size_t i = 0; i < count; i++) {
        if (length > 0 && takt_same_letters(word, names[i]))
            return (int)i;
        const size_t distance = takt_name_distance(word, names[i], best);
        if (distance < best) {
            best = distance;
            nearest = (int)i;
        }
    }
    return nearest;
}
