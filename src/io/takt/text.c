/* text.c - reads models written in Takt's own language. */
#include "io/read.h"
#include "io/takt/sidecar.h"

static bool recognises(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i] < 32 && bytes[i] != '\n' && bytes[i] != '\t' && bytes[i] != '\r')
            return false;
    return length > 0;
}

/* A model with warnings is still read: they go to the log. */
static void log_warnings(const takt_source *source, const takt_diagnostics *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const takt_diagnostic *d = &list->at[i];
        takt_log(source->ctx, TAKT_LOG_WARNING, "%s:%d:%d: %s",
                 d->file != NULL ? d->file : source->name, d->line, d->column, d->message);
    }
}

static takt_status read(const takt_source *source, takt_graph **graph)
{
    takt_diagnostics diagnostics;
    takt_diagnostics_init(&diagnostics, source->ctx);
    const takt_parse_files files = takt_sidecar_files(source);
    const takt_parse_options options = {.model = source->model,
                                        .training = source->training,
                                        .dense_limit = source->dense_limit,
                                        .files = source->folder != NULL ? &files : NULL,
                                        .diagnostics = &diagnostics};
    const char *text = (const char *)source->bytes;
    const takt_status status =
        takt_parse(source->ctx, source->name, text, source->length, &options, graph);
    if (source->complaints != NULL)
        takt_diagnostics_render(&diagnostics, source->name, text, source->length,
                                source->complaints);
    if (status == TAKT_OK)
        log_warnings(source, &diagnostics);
    takt_diagnostics_deinit(&diagnostics);
    return status;
}

const takt_reader takt_reader_text = {
    .name = "text",
    .summary = "Takt's own language (.takt)",
    .recognises = recognises,
    .read = read,
};
