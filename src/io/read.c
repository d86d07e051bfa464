/* read.c - the choice of a reader, and what a model's files are to it. */
#include "io/read.h"

#include <stdio.h>
#include <string.h>

static const takt_reader *const readers[] = {
    &takt_reader_taktp, &takt_reader_onnx,
    &takt_reader_text, /* last: it takes anything that is text */
};

takt_status takt_fail_in_file(takt_ctx *ctx, const char *name)
{
    takt_error *e = &ctx->error;
    char text[TAKT_ERROR_TEXT];
    if (e->status != TAKT_ERR_FORMAT || strstr(e->message, name) != NULL)
        return e->status;
    const int length = snprintf(text, sizeof text, "%.200s: %s", name, e->message);
    memcpy(e->message, text, length < 0 ? 0 : strlen(text) + 1);
    return e->status;
}

takt_status takt_read_graph(const takt_source *source, takt_graph **graph)
{
    *graph = NULL;
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (readers[i]->recognises(source->bytes, source->length)) {
            const takt_status status = readers[i]->read(source, graph);
            return status == TAKT_OK || readers[i] == &takt_reader_text
                       ? status
                       : takt_fail_in_file(source->ctx, source->name);
        }
    if (source->length == 0)
        return takt_fail(source->ctx, TAKT_E_FILE_KIND, "%s is empty", source->name);
    return takt_fail(source->ctx, TAKT_E_FILE_KIND, "%s is no model that Takt can read",
                     source->name);
}

takt_status takt_read_skimmed(takt_skim *s)
{
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (readers[i]->skim != NULL && readers[i]->recognises(s->bytes, s->have))
            return readers[i]->skim(s);
    return takt_skim_need(s, s->length);
}

takt_status takt_source_copy(const takt_source *source, const uint8_t *from, void *to, size_t count)
{
    if (source->skim != NULL)
        return takt_skim_copy(source->skim, from, to, count);
    if (count > 0)
        memcpy(to, from, count);
    return TAKT_OK;
}

takt_status takt_read_beneath(const takt_source *source, const char *path, void **bytes,
                              size_t *length)
{
    takt_ctx *ctx = source->ctx;
    *bytes = NULL;
    *length = 0;
    if (source->folder == NULL)
        return takt_fail(ctx, TAKT_E_FILE_OPEN, "cannot open %s: a model in memory has no folder",
                         path);
    takt_file *file;
    const int error =
        ctx->files.open_beneath(ctx->files.user, source->folder, path, source->allow_links, &file);
    if (error != 0)
        return takt_fail_file(ctx, TAKT_E_FILE_OPEN, path, "open", error);
    const takt_status status = takt_file_whole(ctx, path, file, bytes, length);
    ctx->files.close(ctx->files.user, file);
    return status;
}
