/* text.c - plain text as bytes: a sample is a window of them, its labels the same window shifted by
 * one byte.
 *
 * Symbols are the bytes that occur, numbered in ascending order. The texts of a folder follow each
 * other in the order of their names, and symbols are those of all its parts, so that a part for
 * tests has the numbers of that for training. */
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "io/file.h"
#include "io/inflate.h"
#include "os/folder.h"
#include "train/data/data.h"

static bool is_plain(const takt_data_file *f)
{
    const size_t probe = f->length < 4096 ? f->length : 4096;
    for (size_t i = 0; i < probe; i++)
        if (f->bytes[i] == 0 || (f->bytes[i] < 32 && memchr("\t\n\r\f\v", f->bytes[i], 5) == NULL))
            return false;
    return true;
}

static bool recognises(const takt_data_file *f)
{
    return f->length > 0 && !takt_data_is_binary(f->path) && is_plain(f);
}

/* ---- symbols ---- */

typedef struct symbols {
    bool occurs[256];
    uint8_t number[256];
} symbols;

static void count_symbols(symbols *s, const takt_data_file *f)
{
    for (size_t i = 0; i < f->length; i++)
        s->occurs[f->bytes[i]] = true;
}

/* A field for `length` characters; the caller fills it with their numbers. */
static takt_status begin(takt_data_set *set, const takt_data_file *f, size_t length, symbols *s,
                         uint8_t **to)
{
    const takt_type type = {.dtype = TAKT_U8, .rank = 1, .dim = {(int64_t)length}};
    takt_tensor *x;
    for (int c = 0; c < 256; c++)
        if (s->occurs[c])
            s->number[c] = (uint8_t)set->classes++;
    if (length < (size_t)f->window + 1)
        return takt_data_fail(set, f, "%zu characters are less than a window of %lld and one more",
                              length, (long long)f->window);
    TAKT_TRY(takt_data_add(set, f, "x", &type, &x));
    *to = takt_tensor_data(x);
    set->window = f->window;
    return TAKT_OK;
}

static void number(const symbols *s, const takt_data_file *f, uint8_t *to)
{
    for (size_t i = 0; i < f->length; i++)
        to[i] = s->number[f->bytes[i]];
}

static takt_status read(takt_data_set *set, const takt_data_file *f)
{
    symbols s = {{0}, {0}};
    uint8_t *to;
    count_symbols(&s, f);
    TAKT_TRY(begin(set, f, f->length, &s, &to));
    number(&s, f, to);
    return TAKT_OK;
}

const takt_data_reader takt_data_text = {
    .name = "text",
    .summary = "plain text: windows of characters, labels one character on",
    .advice = "use a longer text, or a smaller --window",
    .recognises = recognises,
    .read = read,
};

/* ---- folders ---- */

typedef struct document {
    struct document *next;
    const char *path;
    bool is_test, is_train; /* by its name or folder */
    bool is_used;
} document;

typedef struct listing {
    takt_data_set *set;
    const char *folder;
    document *first;
    const void **order;
    size_t count;
    bool is_test, is_train;     /* the folder of a part */
    bool has_other, has_failed; /* files that are not texts; out of memory */
} listing;

static bool ends_with(const char *name, const char *ending)
{
    const size_t length = strlen(name), end = strlen(ending);
    return length > end && strcmp(name + length - end, ending) == 0;
}

static bool visit(void *user, const char *name, bool is_folder)
{
    listing *l = user;
    if (is_folder)
        return true;
    if (!ends_with(name, ".txt") && !ends_with(name, ".txt.gz")) {
        l->has_other = true;
        return true;
    }
    document *d = takt_arena_array(&l->set->arena, 1, sizeof *d);
    const char *path = takt_arena_format(&l->set->arena, "%s/%s", l->folder, name);
    l->has_failed = d == NULL || path == NULL;
    if (l->has_failed)
        return false;
    *d = (document){.next = l->first,
                    .path = path,
                    .is_test = l->is_test || strncmp(name, "test.txt", 8) == 0,
                    .is_train = l->is_train || strncmp(name, "train.txt", 9) == 0};
    l->first = d;
    l->count++;
    return true;
}

/* A folder with other files is not one of texts, unless a text is named after its part. */
static takt_status list(listing *l, const char *folder)
{
    static const char *const parts[] = {"train", "test"};
    l->folder = folder;
    (void)takt_folder_each(folder, visit, l);
    const bool is_mixed = l->has_other;
    for (int i = 0; i < 2 && !l->has_failed; i++) {
        l->folder = takt_arena_format(&l->set->arena, "%s/%s", folder, parts[i]);
        l->is_train = i == 0;
        l->is_test = i == 1;
        if (l->folder == NULL)
            return TAKT_ERR_MEMORY;
        (void)takt_folder_each(l->folder, visit, l);
    }
    document **at = &l->first;
    while (is_mixed && *at != NULL)
        if ((*at)->is_test || (*at)->is_train) {
            at = &(*at)->next;
        } else {
            *at = (*at)->next;
            l->count--;
        }
    return l->has_failed ? TAKT_ERR_MEMORY : TAKT_OK;
}

static bool by_path(const void *a, const void *b)
{
    return strcmp(((const document *)a)->path, ((const document *)b)->path) < 0;
}

/* Texts of no part are for training, if there are none that say so. Returns how many are used. */
static size_t choose(listing *l, bool is_test)
{
    bool has_train = false;
    size_t i = 0, used = 0;
    for (document *d = l->first; d != NULL; d = d->next) {
        has_train = has_train || d->is_train;
        l->order[i++] = d;
    }
    for (document *d = l->first; d != NULL; d = d->next) {
        d->is_used = is_test ? d->is_test : has_train ? d->is_train : !d->is_test;
        used += d->is_used;
    }
    takt_sort_pointers(l->order, l->count, by_path);
    return used;
}

typedef struct reading {
    symbols symbols;
    size_t length; /* of the texts that are used, so far */
    uint8_t *to;   /* NULL: symbols are counted */
    size_t room;
} reading;

static takt_status read_one(const listing *l, const document *d, reading *r)
{
    takt_ctx *ctx = l->set->ctx;
    void *bytes, *plain = NULL;
    size_t length, plain_length = 0;
    TAKT_TRY(takt_read_file(ctx, d->path, &bytes, &length));
    takt_status status = TAKT_OK;
    if (takt_is_gzip(bytes, length))
        status = takt_gunzip(ctx, d->path, bytes, length, &plain, &plain_length);
    const takt_data_file f = {.path = d->path,
                              .bytes = plain != NULL ? plain : bytes,
                              .length = plain != NULL ? plain_length : length};
    if (status == TAKT_OK && !is_plain(&f)) {
        takt_data_fail(l->set, &f, "this is not plain text");
        status = takt_fail_hint(ctx, "save it as UTF-8, or take it out of the folder");
    }
    const bool is_changed = r->to != NULL && f.length > r->room - r->length;
    if (status == TAKT_OK && is_changed)
        status = takt_data_fail(l->set, &f, "the file has become longer while it was read");
    if (status == TAKT_OK && r->to == NULL)
        count_symbols(&r->symbols, &f);
    else if (status == TAKT_OK)
        number(&r->symbols, &f, r->to + r->length);
    r->length += d->is_used ? f.length : 0;
    if (plain != NULL)
        takt_mem_put(ctx, plain, plain_length > 0 ? plain_length : 1);
    takt_mem_put(ctx, bytes, length);
    return status;
}

/* Every text is read twice, so that only one of them is in memory next to the samples. */
static takt_status read_all(const listing *l, const takt_data_file *f)
{
    reading r = {.to = NULL};
    for (size_t i = 0; i < l->count; i++)
        TAKT_TRY(read_one(l, l->order[i], &r));
    r.room = r.length;
    r.length = 0;
    TAKT_TRY(begin(l->set, f, r.room, &r.symbols, &r.to));
    for (size_t i = 0; i < l->count; i++)
        if (((const document *)l->order[i])->is_used)
            TAKT_TRY(read_one(l, l->order[i], &r));
    memset(r.to + r.length, 0, r.room - r.length); /* of files that have become shorter */
    return TAKT_OK;
}

takt_status takt_data_read_texts(takt_data_set *set, const takt_data_file *f, bool *found)
{
    listing l = {.set = set};
    TAKT_TRY(list(&l, f->path));
    l.order = takt_arena_array(&set->arena, l.count + 1, sizeof *l.order);
    if (l.order == NULL)
        return TAKT_ERR_MEMORY;
    *found = choose(&l, f->is_test) > 0;
    if (!*found)
        return TAKT_OK;
    set->format = takt_data_text.name;
    const takt_status status = read_all(&l, f);
    return status == TAKT_ERR_FORMAT && takt_last_error_info(set->ctx)->hint[0] == '\0'
               ? takt_fail_hint(set->ctx, "%s", takt_data_text.advice)
               : status;
}
