/* compile.c - a model into a file of Takt's own. */
#include <string.h>

#include <takt/version.h>

#include "api/model.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/options.h"
#include "base/sha256.h"
#include "io/read.h"
#include "io/takt/taktp.h"

static takt_status hash_file(takt_ctx *ctx, const char *path, char hex[TAKT_SHA256_TEXT])
{
    void *bytes;
    size_t length;
    uint8_t digest[TAKT_SHA256_BYTES];
    takt_sha256 sha;
    TAKT_TRY(takt_read_file(ctx, path, &bytes, &length));
    takt_sha256_init(&sha);
    takt_sha256_add(&sha, bytes, length);
    takt_sha256_end(&sha, digest);
    takt_sha256_text(digest, hex);
    takt_mem_put(ctx, bytes, length);
    return TAKT_OK;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static void pair(takt_json_writer *json, const char *key, const char *value)
{
    takt_json_key(json, key);
    takt_json_string(json, value);
}

/* Only the last part of the path: a file that is given away should not tell where it was made. */
static takt_status write_lineage(const takt_model *m, const takt_save_options *o, takt_text *text)
{
    char hex[TAKT_SHA256_TEXT];
    takt_json_writer json;
    takt_json_begin(&json, text, false);
    takt_json_open(&json, '{');
    if (o->source != NULL) {
        TAKT_TRY(hash_file(m->ctx, o->source, hex));
        pair(&json, "source", last_part(o->source));
        pair(&json, "sha256", hex);
    }
    pair(&json, "takt", takt_version());
    if (o->command != NULL)
        pair(&json, "command", o->command);
    takt_json_close(&json, '}');
    return text->status;
}

takt_status takt_model_save(const takt_model *m, const char *path, const takt_save_options *options)
{
    takt_save_options o;
    TAKT_TRY(takt_options_read(m->ctx, "takt_save_options", options, &o, sizeof o));
    if (path == NULL)
        return takt_fail(m->ctx, TAKT_E_ARGUMENT, "takt_model_save: path is NULL");
    takt_text lineage;
    takt_text_init(&lineage, m->ctx);
    takt_status status = TAKT_OK;
    if (options == NULL && m->lineage != NULL) /* what came from a file goes on with its history */
        takt_text_put(&lineage, m->lineage, strlen(m->lineage));
    else
        status = write_lineage(m, &o, &lineage);
    void *bytes = NULL;
    size_t length = 0;
    if (status == TAKT_OK)
        status = lineage.status;
    if (status == TAKT_OK)
        status = takt_taktp_write(m->graph, m->slots, takt_text_get(&lineage), &bytes, &length);
    takt_text_deinit(&lineage);
    if (status == TAKT_OK)
        status = takt_write_file(m->ctx, path, bytes, length);
    takt_mem_put(m->ctx, bytes, length);
    return status;
}

const char *takt_model_lineage(const takt_model *m)
{
    return m->lineage;
}
