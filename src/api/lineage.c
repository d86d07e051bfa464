/* lineage.c - where a file came from: the command, the files it read, and their own lineage. */
#include "api/lineage.h"

#include <errno.h>
#include <string.h>

#include <takt/version.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "io/file.h"
#include "io/read.h"

enum { MOST_LINKS = 64, PIECE = 1 << 20 /* bytes */ };

static takt_status add_file(takt_ctx *ctx, const char *path, takt_file *file, takt_sha256 *sha)
{
    size_t length;
    void *piece;
    takt_status status = TAKT_OK;
    TAKT_TRY(takt_file_length(ctx, path, file, &length));
    const size_t room = length < PIECE ? length + 1 : PIECE;
    TAKT_TRY(takt_mem_get(ctx, room, "part of a file", &piece));
    for (size_t at = 0, n; status == TAKT_OK && at < length; at += n) {
        n = length - at < room ? length - at : room;
        status = takt_file_part(ctx, path, file, at, piece, n);
        if (status == TAKT_OK)
            takt_sha256_add(sha, piece, n);
    }
    takt_mem_put(ctx, piece, room);
    return status;
}

takt_status takt_lineage_hash(takt_ctx *ctx, const char *path, char hex[static TAKT_LINEAGE_HEX])
{
    uint8_t digest[TAKT_SHA256_BYTES];
    takt_sha256 sha;
    takt_file *file;
    const int error = ctx->files.open_read(ctx->files.user, path, &file);
    if (error != 0)
        return takt_fail_file(ctx, TAKT_E_FILE_OPEN, path, "open", error);
    takt_sha256_init(&sha);
    const takt_status status = add_file(ctx, path, file, &sha);
    takt_sha256_end(&sha, digest);
    takt_sha256_text(digest, hex);
    ctx->files.close(ctx->files.user, file);
    return status;
}

/* Only the last part of the path: a published file should not reveal where it was made. */
static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* ---- links ---- */

/* Members that are texts, and the files that were read. */
static void copy_link(takt_json_writer *json, const takt_json *link)
{
    takt_json_open(json, '{');
    for (const takt_json *v = takt_json_first(link); v != NULL; v = takt_json_next(v)) {
        if (v->kind == TAKT_JSON_STRING)
            takt_json_put_string(json, v->key, v->text);
        if (v->kind != TAKT_JSON_OBJECT || strcmp(v->key, "reads") != 0)
            continue;
        takt_json_put_open(json, "reads", '{');
        for (const takt_json *r = takt_json_first(v); r != NULL; r = takt_json_next(r))
            if (r->kind == TAKT_JSON_STRING)
                takt_json_put_string(json, r->key, r->text);
        takt_json_close(json, '}');
    }
    takt_json_close(json, '}');
}

static const takt_json *member(const takt_json *object, const char *key, takt_json_kind kind)
{
    if (object == NULL || object->kind != TAKT_JSON_OBJECT)
        return NULL;
    for (const takt_json *v = takt_json_first(object); v != NULL; v = takt_json_next(v))
        if (v->kind == kind && strcmp(v->key, key) == 0)
            return v;
    return NULL;
}

/* The metadata of an ONNX file holds Takt's lineage, if Takt wrote the file. */
static takt_status own_part(const takt_model *m, takt_arena *arena, const takt_json **lineage)
{
    TAKT_TRY(takt_json_parse(m->ctx, arena, m->lineage, strlen(m->lineage), lineage));
    const takt_json *inner =
        member(member(*lineage, "metadata", TAKT_JSON_OBJECT), "takt.lineage", TAKT_JSON_STRING);
    if (inner == NULL)
        return TAKT_OK;
    const takt_error before = m->ctx->error;
    const takt_json *own;
    if (takt_json_parse(m->ctx, arena, inner->text, strlen(inner->text), &own) == TAKT_OK)
        *lineage = own;
    else
        m->ctx->error = before; /* foreign text: its errors are ignored */
    return TAKT_OK;
}

static void write_before(takt_json_writer *json, const takt_json *before)
{
    size_t count = 1;
    if (before == NULL || before->kind != TAKT_JSON_OBJECT)
        return;
    takt_json_put_open(json, "links", '[');
    copy_link(json, before);
    const takt_json *links = member(before, "links", TAKT_JSON_ARRAY);
    for (const takt_json *v = links != NULL ? takt_json_first(links) : NULL;
         v != NULL && count < MOST_LINKS; v = takt_json_next(v), count++)
        if (v->kind == TAKT_JSON_OBJECT)
            copy_link(json, v);
    takt_json_close(json, ']');
}

/* Keys of an object are unique: of two files with the same name the first is reported. */
static bool is_listed(const takt_save_options *o, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(last_part(o->reads[i]), last_part(o->reads[index])) == 0)
            return true;
    return false;
}

static takt_status write_link(const takt_model *m, const takt_save_options *o,
                              takt_json_writer *json)
{
    char hex[TAKT_LINEAGE_HEX];
    if (o->source != NULL && takt_file_refusal(m->ctx, o->source) == EISDIR) {
        /* a folder of Hugging Face, whose name is kept alone */
        takt_json_put_string(json, "source", last_part(o->source));
    } else if (o->source != NULL) {
        TAKT_TRY(takt_lineage_hash(m->ctx, o->source, hex));
        takt_json_put_string(json, "source", last_part(o->source));
        takt_json_put_string(json, "sha256", hex);
    }
    takt_json_put_string(json, "takt", takt_version());
    if (o->command != NULL)
        takt_json_put_string(json, "command", o->command);
    if (o->read_count == 0)
        return TAKT_OK;
    takt_json_put_open(json, "reads", '{');
    for (size_t i = 0; i < o->read_count; i++) {
        if (is_listed(o, i))
            continue;
        TAKT_TRY(takt_lineage_hash(m->ctx, o->reads[i], hex));
        takt_json_put_string(json, last_part(o->reads[i]), hex);
    }
    takt_json_close(json, '}');
    return TAKT_OK;
}

takt_status takt_lineage_write(const takt_model *m, const takt_save_options *o, takt_text *text)
{
    takt_json_writer json;
    takt_arena arena;
    const takt_json *before = NULL;
    if (o->source == NULL && o->command == NULL && m->lineage != NULL) {
        takt_text_put(text, m->lineage, strlen(m->lineage)); /* continues with its history */
        return text->status;
    }
    takt_arena_init(&arena, m->ctx);
    takt_status status = m->lineage != NULL ? own_part(m, &arena, &before) : TAKT_OK;
    takt_json_begin(&json, text, false);
    takt_json_open(&json, '{');
    if (status == TAKT_OK)
        status = write_link(m, o, &json);
    if (status == TAKT_OK)
        write_before(&json, before);
    takt_json_close(&json, '}');
    takt_arena_deinit(&arena);
    return status != TAKT_OK ? status : text->status;
}
