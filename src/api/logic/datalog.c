/* datalog.c - Datalog files as texts with rules. */
#include <string.h>

#include <takt/logic.h>

#include "base/mem.h"
#include "io/file.h"
#include "logic/datalog.h"

typedef struct program_file {
    takt_ctx *ctx;
    const char *path; /* of the program */
} program_file;

/* A file of facts in the program's folder, or below it. */
static takt_status read_facts(void *user, const char *name, void **bytes, size_t *length)
{
    const program_file *b = user;
    const char *slash = strrchr(b->path, '/');
    const int folder = slash != NULL ? (int)(slash - b->path) + 1 : 0;
    takt_text path;
    if (name[0] == '/' || strstr(name, "..") != NULL)
        return takt_fail(b->ctx, TAKT_E_DATALOG,
                         "%.64s lies outside of the program's folder: facts lie next to it", name);
    takt_text_init(&path, b->ctx);
    takt_text_add(&path, "%.*s%s", folder, b->path, name);
    const takt_status status = path.status != TAKT_OK
                                   ? path.status
                                   : takt_read_file(b->ctx, takt_text_get(&path), bytes, length);
    takt_text_deinit(&path);
    return status;
}

takt_status takt_datalog_convert(takt_ctx *ctx, const char *path, const char *to)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, path);
    TAKT_NEED(ctx, to);
    program_file b = {ctx, path};
    takt_text text;
    void *bytes;
    size_t length;
    TAKT_TRY(takt_read_file(ctx, path, &bytes, &length));
    takt_text_init(&text, ctx);
    takt_status status =
        takt_dlog_translate(ctx, path, (takt_span){bytes, length}, read_facts, &b, &text);
    takt_mem_put(ctx, bytes, length);
    if (status == TAKT_OK)
        status = takt_write_text(ctx, to, &text);
    takt_text_deinit(&text);
    return status;
}
