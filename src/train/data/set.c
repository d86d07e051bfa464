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
