/* arrays.c - NumPy's files: one array (.npy) is x, an archive (.npz) has fields by name.
 *
 * An archive may hold several parts of a data set, as x_train and x_test or train_images and
 * test_images: the fields of one part are read, and named without it. Next to them, arrays of no
 * part with another number of rows, as a mean or names of classes, are left out. */
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
    bool has_parts, has_own; /* names of parts, such as x_train; some of them are of this part */
    bool is_own[TAKT_DATA_FIELDS];
    const char *number; /* the name of one that is a single number, of no part */
} adding;

enum { TRAIN, TEST, VALIDATION, NO_PART };

/* The part that a name is of, x_train or train_images, which is taken off. */
static int take_part(takt_span *name)
{
    static const struct {
        const char *word;
        int part;
    } words[] = {{"train", TRAIN}, {"test", TEST}, {"val", VALIDATION}, {"valid", VALIDATION}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t n = strlen(words[i].word);
        if (name->length < n + 2)
            continue;
        const char *end = name->at + name->length - n;
        const bool is_first = memcmp(name->at, words[i].word, n) == 0 && name->at[n] == '_';
        if (!is_first && (memcmp(end, words[i].word, n) != 0 || end[-1] != '_'))
            continue;
        *name = (takt_span){name->at + (is_first ? n + 1 : 0), name->length - n - 1};
        return words[i].part;
    }
    return NO_PART;
}

/* "y", "label" and "target" are common names for labels. */
static const char *known_as(takt_span name)
{
    static const char *const labels[] = {"y", "label", "target", "targets"};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (takt_span_is(name, labels[i]))
            return "labels";
    return NULL;
}

static void leave_out(takt_data_set *set, const char *name, const char *why)
{
    if (set->left_count == TAKT_DATA_FIELDS)
        return;
    set->left_why[set->left_count] = why;
    set->left_out[set->left_count++] = name;
}

/* An array without numbers hinders only where its name says that it is needed. */
static takt_status add_words(const adding *a, const char *known, takt_span name)
{
    leave_out(a->set, known, "text or objects, not numbers");
    if (strcmp(known, "x") != 0 && strcmp(known, "labels") != 0)
        return TAKT_OK;
    takt_data_fail(a->set, a->file, "array %.*s holds text or objects, not numbers",
                   (int)name.length, name.at);
    return takt_fail_hint(a->set->ctx, "numpy.unique(y, return_inverse=True)[1] numbers the words "
                                       "of an array y");
}

static takt_status add(void *user, takt_span name, takt_span member, const takt_tensor_view *view)
{
    (void)member;
    adding *a = user;
    takt_type type = {.dtype = view->dtype, .rank = view->rank};
    const takt_span whole = name;
    const int part = take_part(&name);
    a->has_parts = a->has_parts || part != NO_PART;
    if (part != NO_PART && part != (a->file->is_test ? TEST : TRAIN))
        return TAKT_OK;
    a->has_own = a->has_own || part != NO_PART;
    const char *known = known_as(name);
    takt_tensor *to;
    for (int i = 0; i < view->rank; i++)
        type.dim[i] = view->dims[i];
    if (known == NULL)
        known = takt_arena_text(&a->set->arena, name.at, name.length);
    if (known == NULL)
        return TAKT_ERR_MEMORY;
    if (view->rank < 0)
        return add_words(a, known, whole);
    if (type.rank == 0 && part == NO_PART) { /* whether there are parts is known at the end */
        a->number = known;
        leave_out(a->set, known, "one number");
        return TAKT_OK;
    }
    TAKT_TRY(takt_data_add(a->set, a->file, known, &type, &to));
    memcpy(takt_tensor_data(to), view->data, takt_tensor_bytes(to));
    a->is_own[a->set->count - 1] = part != NO_PART;
    return TAKT_OK;
}

static int64_t rows_of(const takt_data_set *set, size_t field)
{
    return set->field[field].tensor.type.dim[0];
}

/* Without parts labels say how many samples there are, if another field agrees: those that do not
 * are then not cut off but something else, unless they are called x. Otherwise `count`. */
static size_t find_labels(const takt_data_set *set, size_t first)
{
    size_t labels = first, alike = 0;
    while (labels < set->count && strcmp(set->field[labels].name, "labels") != 0)
        labels++;
    for (size_t i = first; i < set->count && labels < set->count; i++) {
        alike += i != labels && rows_of(set, i) == rows_of(set, labels);
        if (strcmp(set->field[i].name, "x") == 0 && rows_of(set, i) != rows_of(set, labels))
            return set->count;
    }
    return alike > 0 ? labels : set->count;
}

/* Of fields `first` and later, those that cannot belong to the samples of field `own`. */
static void drop_others(const adding *a, size_t first, size_t own)
{
    takt_data_set *set = a->set;
    size_t kept = first;
    const int64_t samples = rows_of(set, own);
    for (size_t i = first; i < set->count; i++) {
        if (a->is_own[i] || rows_of(set, i) == samples) {
            set->field[kept++] = set->field[i];
            continue;
        }
        leave_out(set, set->field[i].name,
                  a->has_own ? "of no part, and not as many rows" : "not as many rows as labels");
        takt_tensor_release(&set->field[i].tensor);
    }
    set->count = kept;
}

/* Of a folder with a file for each part. */
static bool is_called_test(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strstr(slash != NULL ? slash + 1 : path, "test") != NULL;
}

static takt_status read_npz(takt_data_set *set, const takt_data_file *f)
{
    adding a = {.set = set, .file = f};
    const takt_npz from = {.ctx = set->ctx,
                           .name = f->path,
                           .bytes = f->bytes,
                           .length = f->length,
                           .has_others = true};
    const size_t first = set->count;
    TAKT_TRY(takt_npz_each(&from, add, &a));
    size_t own = a.has_own ? first : find_labels(set, first);
    while (a.has_own && !a.is_own[own])
        own++;
    if (own < set->count)
        drop_others(&a, first, own);
    else if (!a.has_parts && a.number != NULL)
        return takt_data_fail(set, f, "%s is one number, not samples", a.number);
    if (a.has_own || (!a.has_parts && (!f->is_test || is_called_test(f->path))))
        return TAKT_OK;
    takt_data_fail(set, f, "the archive has no %s part", f->is_test ? "test" : "training");
    return takt_fail_hint(set->ctx, "arrays of a part are called x_train and y_train, x_test and "
                                    "y_test, or train_images and so on");
}

static takt_status read_npy(takt_data_set *set, const takt_data_file *f)
{
    adding a = {.set = set, .file = f};
    takt_tensor_view view;
    TAKT_TRY(takt_npy_read_memory(set->ctx, f->path, (takt_span){(const char *)f->bytes, f->length},
                                  false, &view));
    const takt_status status = add(&a, (takt_span){"x", 1}, (takt_span){0}, &view);
    takt_view_free(set->ctx, &view);
    return status == TAKT_OK && a.number != NULL
               ? takt_data_fail(set, f, "%s is one number, not samples", a.number)
               : status;
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
