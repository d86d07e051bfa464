/* set.c - the list of readers, and functions that they share. */
#include <stdarg.h>
#include <string.h>

#include "train/data/data.h"

/* A table or a text has no magic number, so these come last. */
const takt_data_reader *const takt_data_readers[] = {
    &takt_data_npy,   &takt_data_npz,   &takt_data_idx, &takt_data_picture, &takt_data_wav,
    &takt_data_files, &takt_data_cifar, &takt_data_csv, &takt_data_text,    NULL};

takt_status takt_data_fail(takt_data_set *set, const takt_data_file *file, const char *format, ...)
{
    takt_text text;
    va_list args;
    takt_text_init(&text, set->ctx);
    va_start(args, format);
    takt_text_addv(&text, format, args);
    va_end(args);
    const takt_status status =
        takt_fail(set->ctx, TAKT_E_TRAIN_DATA, "%s: %s", file->path, takt_text_get(&text));
    takt_text_deinit(&text);
    return status;
}

size_t takt_data_mark(const takt_data_file *file)
{
    static const uint8_t mark[3] = {0xEF, 0xBB, 0xBF}; /* of UTF-8 */
    const bool is_there =
        file->length >= sizeof mark && memcmp(file->bytes, mark, sizeof mark) == 0;
    return is_there ? sizeof mark : 0;
}

/* ---- files of an unknown kind ---- */

static const struct {
    const char *ending, *kind;
} binary[] = {{".npy", "a NumPy array"},
              {".npz", "a NumPy archive"},
              {"-ubyte", "an IDX file"},
              {".png", "a PNG picture"},
              {".jpg", "a JPEG picture"},
              {".jpeg", "a JPEG picture"},
              {".pgm", "a PGM picture"},
              {".ppm", "a PPM picture"},
              {".wav", "a WAV file"},
              {".bin", "a CIFAR-10 file"},
              {".gz", "a gzip file"},
              {".zip", NULL},
              {".onnx", NULL},
              {".taktp", NULL},
              {".tflite", NULL},
              {".safetensors", NULL},
              {".gguf", NULL}};

bool takt_data_ends_with(const char *name, size_t length, const char *ending)
{
    const size_t end = strlen(ending);
    bool same = length > end;
    for (size_t i = 0; i < end && same; i++) {
        const char c = name[length - end + i];
        same = (c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) == ending[i];
    }
    return same;
}

static const char *ending_of(const char *path, const char **kind)
{
    const size_t length = strlen(path);
    for (size_t i = 0; i < sizeof binary / sizeof *binary; i++) {
        *kind = binary[i].kind;
        if (takt_data_ends_with(path, length, binary[i].ending))
            return binary[i].ending;
    }
    return NULL;
}

bool takt_data_is_binary(const char *path)
{
    const char *kind;
    return ending_of(path, &kind) != NULL;
}

static bool is_archive(const char *path)
{
    static const char *const endings[] = {".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2"};
    const size_t length = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t end = strlen(endings[i]);
        if (length > end && strcmp(path + length - end, endings[i]) == 0)
            return true;
    }
    return false;
}

takt_status takt_data_unknown(takt_data_set *set, const takt_data_file *file)
{
    const char *kind, *ending = ending_of(file->path, &kind);
    if (file->length > 0 && is_archive(file->path)) {
        takt_data_fail(set, file, "the file is an archive of other files");
        return takt_fail_hint(set->ctx, "unpack it, and name the folder or file of the samples");
    }
    if (file->length == 0)
        takt_data_fail(set, file, "the file is empty");
    else if (ending != NULL && kind != NULL)
        takt_data_fail(set, file, "the contents are not those of %s", kind);
    else
        takt_data_fail(set, file, "this is not a data set that Takt knows");
    if (file->length == 0 || (ending != NULL && kind != NULL))
        return takt_fail_hint(set->ctx, "copy or download it again: it is cut off, or something "
                                        "else under that name");
    return takt_fail_hint(set->ctx,
                          "it reads IDX, CIFAR, npy, npz, csv, text, pictures and WAV files");
}

takt_status takt_data_read(takt_data_set *set, const takt_data_file *file,
                           const takt_data_reader *reader)
{
    const takt_status status = reader->read(set, file);
    if (status == TAKT_OK || takt_last_error_info(set->ctx)->hint[0] != '\0')
        return status;
    return reader->advice != NULL && status == TAKT_ERR_FORMAT
               ? takt_fail_hint(set->ctx, "%s", reader->advice)
               : status;
}

/* ---- fields ---- */

takt_status takt_data_add(takt_data_set *set, const takt_data_file *file, const char *name,
                          const takt_type *type, takt_tensor **out)
{
    *out = NULL;
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->field[i].name, name) == 0)
            return takt_data_fail(set, file, "there are two arrays called %s", name);
    if (set->count == TAKT_DATA_FIELDS)
        return takt_data_fail(set, file, "more than %d arrays", TAKT_DATA_FIELDS);
    if (type->rank == 0)
        return takt_data_fail(set, file, "%s is one number, not samples", name);
    takt_field *field = &set->field[set->count];
    field->file = takt_arena_text(&set->arena, file->path, strlen(file->path));
    if (field->file == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_tensor_create(set->ctx, type, &field->tensor));
    field->name = name;
    set->count++;
    *out = &field->tensor;
    return TAKT_OK;
}

void takt_data_set_deinit(takt_data_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        takt_tensor_release(&set->field[i].tensor);
    takt_arena_deinit(&set->arena);
}
