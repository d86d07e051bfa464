/* arrays.c - NumPy's files: one array (.npy) is x, an archive (.npz) has fields by name. */
#include <string.h>

#include <takt/array.h>

#include "io/npy/npy.h"
#include "train/data/data.h"

static bool is_npy(const takt_data_file *f)
{
    return f->length > 10 && memcmp(f->bytes, "\x93NUMPY", 6) == 0;
}

static bool is_npz(const takt_data_file *f)
{
    return f->length > 4 && memcmp(f->bytes, "PK\x03\x04", 4) == 0;
}

typedef struct adding {
    takt_data_set *set;
    const takt_data_file *file;
} adding;

/* "y", "label" and "target" are common names for labels. */
static const char *known_as(takt_span name)
{
    static const char *const labels[] = {"y", "label", "target", "targets"};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (takt_span_is(name, labels[i]))
            return "labels";
    return NULL;
}

static takt_status add(void *user, takt_span name, takt_span member, const takt_tensor_view *view)
{
    (void)member;
    const adding *a = user;
    takt_type type = {.dtype = view->dtype, .rank = view->rank};
    const char *known = known_as(name);
    takt_tensor *to;
    for (int i = 0; i < view->rank; i++)
        type.dim[i] = view->dims[i];
    if (known == NULL)
        known = takt_arena_text(&a->set->arena, name.at, name.length);
    if (known == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_data_add(a->set, a->file, known, &type, &to));
    memcpy(takt_tensor_data(to), view->data, takt_tensor_bytes(to));
    return TAKT_OK;
}

static takt_status read_npz(takt_data_set *set, const takt_data_file *f)
{
    adding a = {set, f};
    const takt_npz from = {set->ctx, f->path, (const uint8_t *)f->bytes, f->length, NULL};
    return takt_npz_each(&from, add, &a);
}

static takt_status read_npy(takt_data_set *set, const takt_data_file *f)
{
    adding a = {set, f};
    takt_tensor_view view;
    TAKT_TRY(takt_npy_read_memory(set->ctx, f->path, (takt_span){(const char *)f->bytes, f->length},
                                  false, &view));
    const takt_status status = add(&a, (takt_span){"x", 1}, (takt_span){0}, &view);
    takt_view_free(set->ctx, &view);
    return status;
}

const takt_data_reader takt_data_npy = {
    .name = "npy",
    .summary = "one array: x",
    .advice = "save it again with numpy.save",
    .recognises = is_npy,
    .read = read_npy,
};
const takt_data_reader takt_data_npz = {
    .name = "npz",
    .summary = "arrays by name",
    .advice = "save it again with numpy.savez: arrays of numbers, whose first axis is the sample",
    .recognises = is_npz,
    .read = read_npz,
};
