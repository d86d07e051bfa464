/* files.c - one file per sample: a list of files and labels (.tsv), or folders of classes.
 *
 * Images must have one size. Sounds are padded with zeros to the longest of them, and the field
 * "length" has their own lengths. Labels that are not all whole numbers are words. */
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "base/sort.h"
#include "io/file.h"
#include "os/folder.h"
#include "train/data/data.h"

typedef struct entry {
    const char *path, *label;
} entry;

typedef struct gathering {
    takt_data_set *set;
    const takt_data_file *file; /* for messages */
    const entry **at;
    size_t count, room;
    const char *folder, *label; /* of the current list; label NULL: of classes */
    const char *other;          /* first file or folder that is not a sample, */
    size_t others;              /* and how many there are */
    takt_status status;
} gathering;

static bool is_sample(const char *name, size_t length)
{
    static const char *const endings[] = {".png", ".jpg", ".jpeg", ".pgm", ".ppm", ".wav"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (takt_data_ends_with(name, length, endings[i]))
            return true;
    return false;
}

static takt_status add_entry(gathering *g, const char *path, const char *label)
{
    if (g->count == g->room) {
        const size_t room = g->room > 0 ? 2 * g->room : 256;
        const entry **more = takt_arena_array(&g->set->arena, room, sizeof(entry *));
        if (more == NULL)
            return TAKT_ERR_MEMORY;
        if (g->count > 0)
            memcpy(more, g->at, g->count * sizeof *more);
        g->at = more;
        g->room = room;
    }
    entry *e = takt_arena_array(&g->set->arena, 1, sizeof *e);
    if (e == NULL || path == NULL || label == NULL)
        return TAKT_ERR_MEMORY;
    *e = (entry){path, label};
    g->at[g->count++] = e;
    return TAKT_OK;
}

/* ---- labels ---- */

static bool all_numbers(const gathering *g)
{
    double value;
    for (size_t i = 0; i < g->count; i++)
        if (!takt_number_read(g->at[i]->label, strlen(g->at[i]->label), &value) || value < 0 ||
            value > 1e9 || value != (double)(int64_t)value)
            return false;
    return true;
}

static takt_status set_labels(gathering *g)
{
    const takt_type type = {.dtype = TAKT_I64, .rank = 1, .dim = {(int64_t)g->count}};
    takt_tensor *labels;
    TAKT_TRY(takt_data_add(g->set, g->file, "labels", &type, &labels));
    int64_t *to = takt_tensor_data(labels);
    if (all_numbers(g)) {
        for (size_t i = 0; i < g->count; i++) {
            double value = 0;
            (void)takt_number_read(g->at[i]->label, strlen(g->at[i]->label), &value);
            to[i] = (int64_t)value;
        }
        return TAKT_OK;
    }
    takt_span *word = takt_arena_array(&g->set->arena, g->count, sizeof *word);
    if (word == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->count; i++)
        word[i] = takt_span_of(g->at[i]->label);
    return takt_data_number_words(g->set, word, g->count, to);
}

/* ---- samples ---- */

/* One file as a set of one sample; free it with takt_data_set_deinit. */
static takt_status open_sample(gathering *g, const entry *e, takt_data_set *one)
{
    void *bytes;
    size_t length;
    *one = (takt_data_set){.ctx = g->set->ctx};
    takt_arena_init(&one->arena, one->ctx);
    takt_status status = takt_read_file(one->ctx, e->path, &bytes, &length);
    if (status == TAKT_OK) {
        const takt_data_file f = {.path = e->path, .bytes = bytes, .length = length};
        if (takt_data_picture.recognises(&f))
            status = takt_data_read(one, &f, &takt_data_picture);
        else if (takt_data_wav.recognises(&f))
            status = takt_data_read(one, &f, &takt_data_wav);
        else
            status = takt_data_unknown(one, &f);
        takt_mem_put(one->ctx, bytes, length);
    }
    if (status != TAKT_OK)
        takt_data_set_deinit(one);
    return status;
}

static takt_status fail_rate(const gathering *g, size_t i, size_t first, int64_t rate)
{
    takt_fail(g->set->ctx, TAKT_E_TRAIN_DATA, "%s has %lld samples a second, %s has %lld",
              g->at[i]->path, (long long)rate, g->at[first]->path, (long long)g->set->rate);
    return takt_fail_hint(g->set->ctx, "convert all sounds to one rate");
}

/* The common type of all samples: that of the first, and for sounds the longest. */
static takt_status find_type(gathering *g, takt_type *type)
{
    size_t first = 0;
    for (size_t i = 0; i < g->count; i++) {
        takt_data_set one;
        TAKT_TRY(open_sample(g, g->at[i], &one));
        const takt_type own = one.field[0].tensor.type;
        const int64_t rate = one.rate;
        takt_data_set_deinit(&one);
        if (i == 0)
            *type = own;
        if (i == 0 && own.rank == 4 && g->set->form.channels > 0) {
            type->dim[1] = g->set->form.channels;
            type->dim[2] = g->set->form.height;
            type->dim[3] = g->set->form.width;
        }
        if (g->set->rate == 0) { /* the files so far do not say it */
            g->set->rate = rate;
            first = i;
        } else if (rate != 0 && rate != g->set->rate)
            return fail_rate(g, i, first, rate);
        if (own.rank == 2 && type->rank == 2 && own.dim[1] > type->dim[1])
            type->dim[1] = own.dim[1];
        if (type->rank != 2)
            break; /* images are compared when they are read */
    }
    type->dim[0] = (int64_t)g->count;
    return TAKT_OK;
}

static bool fits(const takt_type *all, const takt_type *own)
{
    bool fits = own->dtype == all->dtype && own->rank == all->rank;
    for (int d = 1; fits && d < own->rank; d++)
        fits = own->rank == 2 ? own->dim[d] <= all->dim[d] : own->dim[d] == all->dim[d];
    return fits;
}

static takt_status fail_form(const gathering *g, size_t i)
{
    takt_fail(g->set->ctx, TAKT_E_TRAIN_DATA, "%s has another size or kind than %s: sample %zu",
              g->at[i]->path, g->at[0]->path, i);
    return takt_fail_hint(g->set->ctx,
                          "all pictures need one size and kind: convert it, or remove it");
}

/* A picture of another form, where one is wanted. */
static takt_status take_picture(const gathering *g, const takt_tensor *own, char *to)
{
    const takt_type *t = &own->type;
    const takt_reform how = {{t->dim[1], t->dim[2], t->dim[3]}, g->set->form, g->set->is_cropped};
    g->set->reformed++;
    return takt_form_picture(g->set->ctx, &how, takt_tensor_data(own), (uint8_t *)to);
}

static takt_status copy_samples(gathering *g, takt_tensor *x, int64_t *lengths)
{
    const size_t bytes = takt_tensor_bytes(x) / g->count;
    char *to = takt_tensor_data(x);
    for (size_t i = 0; i < g->count; i++, to += bytes) {
        takt_data_set one;
        TAKT_TRY(open_sample(g, g->at[i], &one));
        const takt_tensor *own = &one.field[0].tensor;
        const bool is_good = fits(&x->type, &own->type);
        const bool is_picture = x->type.rank == 4 && own->type.rank == 4;
        const size_t size = is_good ? takt_tensor_bytes(own) : 0;
        takt_status status = TAKT_OK;
        memcpy(to, takt_tensor_data(own), size);
        memset(to + size, 0, bytes - size);
        if (lengths != NULL)
            lengths[i] = is_good ? own->type.dim[1] : 0;
        if (!is_good)
            status = is_picture && g->set->form.channels > 0 ? take_picture(g, own, to)
                                                             : fail_form(g, i);
        takt_data_set_deinit(&one);
        TAKT_TRY(status);
    }
    return TAKT_OK;
}

static takt_status keep_paths(gathering *g)
{
    const char **path = takt_arena_array(&g->set->arena, g->count, sizeof *path);
    if (path == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->count; i++)
        path[i] = g->at[i]->path;
    g->set->sample_file = path;
    return TAKT_OK;
}

static takt_status read_samples(gathering *g)
{
    takt_type type = {0};
    takt_tensor *x, *lengths = NULL;
    if (g->count == 0)
        return takt_data_fail(g->set, g->file, "there are no pictures or sounds");
    TAKT_TRY(keep_paths(g));
    TAKT_TRY(find_type(g, &type));
    TAKT_TRY(takt_data_add(g->set, g->file, "x", &type, &x));
    if (type.rank == 2) {
        const takt_type one = {.dtype = TAKT_I64, .rank = 1, .dim = {(int64_t)g->count}};
        TAKT_TRY(takt_data_add(g->set, g->file, "length", &one, &lengths));
        x = &g->set->field[g->set->count - 2].tensor;
    }
    TAKT_TRY(copy_samples(g, x, lengths != NULL ? takt_tensor_data(lengths) : NULL));
    return set_labels(g);
}

/* ---- a list ---- */

static bool next_line(const takt_data_file *f, size_t *at, takt_span *line)
{
    const char *from = (const char *)f->bytes + *at;
    const size_t left = f->length - *at;
    const char *end = left > 0 ? memchr(from, '\n', left) : NULL;
    const size_t length = end != NULL ? (size_t)(end - from) : left;
    *line = (takt_span){from, length > 0 && from[length - 1] == '\r' ? length - 1 : length};
    *at += length + (end != NULL);
    return left > 0;
}

static bool is_list(const takt_data_file *f)
{
    size_t at = 0;
    takt_span line;
    if (!takt_data_ends_with(f->path, strlen(f->path), ".tsv") || !next_line(f, &at, &line))
        return false;
    const char *tab = line.length > 0 ? memchr(line.at, '\t', line.length) : NULL;
    return tab != NULL && is_sample(line.at, (size_t)(tab - line.at));
}

/* Files must be beneath the list: an untrusted list must not name others. */
static bool is_beneath(const char *path)
{
    return path[0] != '/' && strncmp(path, "../", 3) != 0 && strstr(path, "/../") == NULL;
}

static takt_status read_list(takt_data_set *set, const takt_data_file *f)
{
    gathering g = {.set = set, .file = f};
    const char *slash = strrchr(f->path, '/');
    const int folder = slash != NULL ? (int)(slash - f->path) + 1 : 0;
    size_t at = takt_data_mark(f);
    takt_span line;
    for (size_t row = 1; next_line(f, &at, &line); row++) {
        const char *tab = line.length > 0 ? memchr(line.at, '\t', line.length) : NULL;
        if (line.length == 0)
            continue;
        if (tab == NULL || memchr(line.at, '\0', line.length) != NULL)
            return takt_data_fail(set, f, "line %zu is not a file, tab and label", row);
        const size_t length = (size_t)(tab - line.at);
        if (length + 1 == line.length)
            return takt_data_fail(set, f, "line %zu has no label", row);
        const char *name = takt_arena_text(&set->arena, line.at, length);
        if (name == NULL)
            return TAKT_ERR_MEMORY;
        if (!is_beneath(name))
            return takt_data_fail(set, f, "line %zu: %s does not lie beneath the list", row, name);
        TAKT_TRY(add_entry(&g, takt_arena_format(&set->arena, "%.*s%s", folder, f->path, name),
                           takt_arena_text(&set->arena, tab + 1, line.length - length - 1)));
    }
    return read_samples(&g);
}

const takt_data_reader takt_data_files = {.name = "files",
                                          .summary = "a list of pictures or sounds and labels",
                                          .advice = "a line is a file beneath the list, tab, label",
                                          .recognises = is_list,
                                          .read = read_list};

/* ---- folders ---- */

const char takt_data_folders[] = "folders";

static takt_status add_other(gathering *g, const char *name)
{
    if (name != NULL && (g->other == NULL || strcmp(name, g->other) < 0))
        g->other = name;
    g->others++;
    return name != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

static bool visit(void *user, const char *name, bool is_folder)
{
    gathering *g = user;
    takt_arena *arena = &g->set->arena;
    const bool is_class = g->label == NULL;
    if (!is_class && (is_folder || !is_sample(name, strlen(name)))) {
        const bool is_of_system =
            name[0] == '.' || strcmp(name, "Thumbs.db") == 0 || strcmp(name, "desktop.ini") == 0;
        if (!is_of_system)
            g->status = add_other(
                g, takt_arena_format(arena, "%s/%s%s", g->label, name, is_folder ? "/" : ""));
        return g->status == TAKT_OK;
    }
    if (is_class != is_folder)
        return true;
    const char *path = takt_arena_format(arena, "%s/%s", g->folder, name);
    const char *label = is_class ? takt_arena_text(arena, name, strlen(name)) : g->label;
    g->status = add_entry(g, path, label);
    return g->status == TAKT_OK;
}

static bool by_path(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->path, ((const entry *)b)->path) < 0;
}

static bool stop(void *user, const char *name, bool is_folder)
{
    (void)name;
    (void)is_folder;
    *(bool *)user = false;
    return false;
}

/* Folders with files of other kinds do not count as classes. */
static bool is_empty(const char *folder)
{
    bool empty = true;
    return takt_folder_each(folder, stop, &empty) && empty;
}

/* Class numbers follow the order of the folders, so one of them must not vanish unnoticed. */
static takt_status no_samples(takt_data_set *set, const char *folder)
{
    takt_fail(set->ctx, TAKT_E_TRAIN_DATA, "%s is empty: a class has pictures or sounds", folder);
    return takt_fail_hint(set->ctx, "put samples into it, or remove it");
}

static void tell_others(const gathering *g)
{
    takt_data_set *set = g->set;
    if (g->others == 0)
        return;
    set->left_out[0] = g->other;
    set->left_why[0] = g->other[strlen(g->other) - 1] == '/'
                           ? "a folder in that of a class"
                           : "not a PNG, JPEG, PGM, PPM or WAV file";
    set->left_count = 1;
    set->left_unnamed = g->others - 1;
}

takt_status takt_data_read_folder(takt_data_set *set, const char *folder, bool *found)
{
    const takt_data_file file = {.path = folder};
    gathering classes = {.set = set, .file = &file, .folder = folder};
    gathering g = {.set = set, .file = &file};
    const char *empty = NULL;
    (void)takt_folder_each(folder, visit, &classes);
    for (size_t i = 0; i < classes.count && classes.status == TAKT_OK; i++) {
        const gathering before = g;
        g.folder = classes.at[i]->path;
        g.label = classes.at[i]->label;
        (void)takt_folder_each(g.folder, visit, &g);
        classes.status = g.status;
        if (g.count > before.count)
            continue;
        g.other = before.other; /* the folder has no samples */
        g.others = before.others;
        if (is_empty(g.folder))
            empty = g.folder;
    }
    *found = g.count > 0;
    if (classes.status != TAKT_OK || !*found)
        return classes.status;
    if (empty != NULL)
        return no_samples(set, empty);
    takt_sort_pointers((const void **)g.at, g.count, by_path); /* whatever the order on disk */
    set->format = takt_data_folders;
    tell_others(&g);
    return read_samples(&g);
}
