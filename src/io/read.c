/* read.c - chooses a reader for a model's files. */
#include "io/read.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static const takt_reader *const readers[] = {
    &takt_reader_taktp, &takt_reader_tflite, &takt_reader_gguf,
    &takt_reader_hf,    &takt_reader_onnx,   &takt_reader_text, /* last: it accepts any text */
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

/* Files commonly mistaken for models, recognised by the bytes at `offset`. */
static const struct stranger {
    size_t offset, length;
    const char *bytes, *hint;
} strangers[] = {
    {0, 6, "\x93NUMPY",
     "it holds an array: that is an input, -i NAME=FILE, or a weight, --weights"},
    {8, 2, "{\"", "it holds weights alone: give it with --weights next to the model"},
    {0, 4, "PK\3\4",
     "it is an archive: NumPy's .npz holds weights, --weights, or inputs, -i; models of PyTorch "
     "come as ONNX, by torch.onnx.export"},
    {0, 2, "\x1f\x8b", "it is compressed: unpack it first"},
    {0, 4, "\x89HDF", "HDF5 is not read: models of Keras come as ONNX, by model.export"},
};

static const char *what_it_is(const takt_source *source)
{
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        const struct stranger *s = &strangers[i];
        if (source->length >= s->offset + s->length &&
            memcmp(source->bytes + s->offset, s->bytes, s->length) == 0)
            return s->hint;
    }
    return "models are text (.takt), ONNX (.onnx), TensorFlow Lite (.tflite), GGUF (.gguf), "
           "folders of Hugging Face or compiled (.taktp)";
}

/* Bytes without control characters are still not text if they are not UTF-8 and the file name
 * belongs to another format. */
static bool is_no_text(const takt_source *source)
{
    const char *dot = strrchr(source->name, '.');
    return dot != NULL && (strcmp(dot, ".onnx") == 0 || strcmp(dot, ".taktp") == 0) &&
           takt_utf8_check((const char *)source->bytes, source->length) < source->length;
}

takt_status takt_read_graph(const takt_source *source, takt_graph **graph)
{
    *graph = NULL;
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (readers[i]->recognises(source->bytes, source->length) &&
            !(readers[i] == &takt_reader_text && is_no_text(source))) {
            const takt_status status = readers[i]->read(source, graph);
            return status == TAKT_OK || readers[i] == &takt_reader_text
                       ? status
                       : takt_fail_in_file(source->ctx, source->name);
        }
    if (source->length == 0)
        return takt_fail(source->ctx, TAKT_E_FILE_KIND, "%s is empty", source->name);
    takt_fail(source->ctx, TAKT_E_FILE_KIND, "%s is not a model that Takt can read", source->name);
    return takt_fail_hint(source->ctx, "%s", what_it_is(source));
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
