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
typedef struct stranger {
    size_t offset, length;
    const char *bytes, *hint;
} stranger;

static const stranger strangers[] = {
    {0, 6, "\x93NUMPY",
     "it holds an array: that is an input, -i NAME=FILE, or a weight, --weights"},
    {8, 2, "{\"", "it holds weights alone: give it with --weights next to the model"},
    {0, 4, "PK\3\4",
     "it is an archive: NumPy's .npz holds weights, --weights, or inputs, -i; models of PyTorch "
     "come as ONNX, by torch.onnx.export"},
    {0, 2, "\x1f\x8b", "it is compressed: unpack it first"},
    {0, 4, "\x89HDF", "HDF5 is not read: models of Keras come as ONNX, by model.export"},
    {0, 19, "version https://git", "it is a pointer of Git LFS: `git lfs pull` gets the file"},
    {0, 5, "<?xml", "it is XML: a model of OpenVINO comes as the ONNX that it was made from"},
    {0, 2, "<!", "it is a web page, not the file that was to be downloaded"},
    {0, 5, "<html", "it is a web page, not the file that was to be downloaded"},
};

static const stranger *find_stranger(const takt_source *source)
{
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        const stranger *s = &strangers[i];
        if (source->length >= s->offset + s->length &&
            memcmp(source->bytes + s->offset, s->bytes, s->length) == 0)
            return s;
    }
    return NULL;
}

/* Endings of formats that are not text. */
static const char *const endings[][2] = {
    {".tflite", "TensorFlow Lite"},
    {".onnx", "ONNX"},
    {".gguf", "GGUF"},
    {".taktp", "a compiled model"},
};

/* The format that the name promises, or NULL. */
static const char *promised(const takt_source *source)
{
    const char *dot = strrchr(source->name, '.');
    for (size_t i = 0; dot != NULL && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(dot, endings[i][0]) == 0)
            return endings[i][1];
    return NULL;
}

/* The first word, behind comments, is one that a text begins with. */
static bool begins_like_text(const takt_source *source)
{
    static const char *const words[] = {"model", "layer", "import", "domain"};
    const char *at = (const char *)source->bytes, *end = at + source->length;
    while (at < end && memchr("# \t\r\n", *at, 5) != NULL) {
        const char *line = *at == '#' ? memchr(at, '\n', (size_t)(end - at)) : at;
        at = line != NULL ? line + 1 : end;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if ((size_t)(end - at) > strlen(words[i]) && memcmp(at, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

/* Bytes without control characters may still be a damaged file of another format, or a page that
 * was downloaded in its place. */
static bool is_no_text(const takt_source *source)
{
    const char *text = (const char *)source->bytes;
    if (promised(source) != NULL)
        return takt_utf8_check(text, source->length) < source->length || !begins_like_text(source);
    return find_stranger(source) != NULL && !begins_like_text(source);
}

static takt_status refuse(const takt_source *source)
{
    const stranger *known = find_stranger(source);
    takt_fail(source->ctx, TAKT_E_FILE_KIND, "%s is not a model that Takt can read", source->name);
    if (known != NULL)
        return takt_fail_hint(source->ctx, "%s", known->hint);
    if (promised(source) != NULL)
        return takt_fail_hint(source->ctx,
                              "its name says %s, but it does not begin like one: it is damaged, "
                              "or another file",
                              promised(source));
    return takt_fail_hint(source->ctx, "models are text (.takt), ONNX (.onnx), TensorFlow Lite "
                                       "(.tflite), GGUF (.gguf), folders of Hugging Face or "
                                       "compiled (.taktp)");
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
    return refuse(source);
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
