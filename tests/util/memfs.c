/* memfs.c - a list of named blocks. */
#include "util/memfs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    struct entry *next;
    char *path;
    unsigned char *bytes;
    size_t size;
} entry;

struct takt_memfs {
    entry *first;
};

struct takt_file {
    entry *source;        /* of a file that is read */
    char *path;           /* of one that is written, else NULL */
    unsigned char *bytes; /* written so far */
    size_t size;
};

static entry *find(const takt_memfs *fs, const char *path)
{
    entry *e = fs->first;
    while (e != NULL && strcmp(e->path, path) != 0)
        e = e->next;
    return e;
}

static char *copy_text(const char *text)
{
    char *copy = malloc(strlen(text) + 1);
    if (copy != NULL)
        memcpy(copy, text, strlen(text) + 1);
    return copy;
}

takt_memfs *takt_memfs_create(void)
{
    return calloc(1, sizeof(takt_memfs));
}

void takt_memfs_destroy(takt_memfs *fs)
{
    while (fs != NULL && fs->first != NULL) {
        entry *e = fs->first;
        fs->first = e->next;
        free(e->bytes);
        free(e->path);
        free(e);
    }
    free(fs);
}

int takt_memfs_put(takt_memfs *fs, const char *path, const void *bytes, size_t size)
{
    entry *e = find(fs, path);
    unsigned char *copy = malloc(size != 0 ? size : 1);
    if (e == NULL && copy != NULL) {
        e = calloc(1, sizeof *e);
        if (e != NULL && (e->path = copy_text(path)) == NULL) {
            free(e);
            e = NULL;
        }
        if (e != NULL) {
            e->next = fs->first;
            fs->first = e;
        }
    }
    if (e == NULL || copy == NULL) {
        free(copy);
        return ENOMEM;
    }
    if (size != 0)
        memcpy(copy, bytes, size);
    free(e->bytes);
    e->bytes = copy;
    e->size = size;
    return 0;
}

const void *takt_memfs_get(const takt_memfs *fs, const char *path, size_t *size)
{
    const entry *e = find(fs, path);
    *size = e != NULL ? e->size : 0;
    return e != NULL ? e->bytes : NULL;
}

static int open_entry(entry *e, takt_file **file)
{
    *file = e != NULL ? calloc(1, sizeof **file) : NULL;
    if (*file != NULL)
        (*file)->source = e;
    return e == NULL ? ENOENT : *file == NULL ? ENOMEM : 0;
}

static int open_read(void *user, const char *path, takt_file **file)
{
    return open_entry(find(user, path), file);
}

static bool climbs(const char *name)
{
    for (const char *at = name; at != NULL; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
            return true;
    }
    return false;
}

static int open_beneath(void *user, const char *dir, const char *name, int allow_links,
                        takt_file **file)
{
    (void)allow_links; /* there are none */
    *file = NULL;
    if (*name == '\0' || *name == '/' || strchr(name, '\\') != NULL || climbs(name))
        return *name == '\0' ? ENOENT : EXDEV;
    const size_t length = strlen(dir);
    char *path = malloc(length + strlen(name) + 2);
    if (path == NULL)
        return ENOMEM;
    memcpy(path, dir, length);
    const bool needs_slash = length > 0 && dir[length - 1] != '/';
    if (needs_slash)
        path[length] = '/';
    memcpy(path + length + needs_slash, name, strlen(name) + 1);
    const int error = open_entry(find(user, path), file);
    free(path);
    return error;
}

static int create(void *user, const char *path, takt_file **file)
{
    (void)user;
    *file = calloc(1, sizeof **file);
    if (*file == NULL)
        return ENOMEM;
    (*file)->path = copy_text(path);
    if ((*file)->path != NULL)
        return 0;
    free(*file);
    *file = NULL;
    return ENOMEM;
}

static int size_of(void *user, takt_file *file, uint64_t *bytes)
{
    (void)user;
    *bytes = file->source != NULL ? file->source->size : file->size;
    return 0;
}

static int read_at(void *user, takt_file *file, uint64_t offset, void *to, size_t count,
                   size_t *done)
{
    (void)user;
    const entry *e = file->source;
    *done = 0;
    if (e == NULL)
        return EBADF;
    if (offset >= e->size)
        return 0;
    const size_t left = e->size - (size_t)offset;
    *done = count < left ? count : left;
    if (*done > 0)
        memcpy(to, e->bytes + offset, *done);
    return 0;
}

static int write_on(void *user, takt_file *file, const void *from, size_t count)
{
    (void)user;
    if (file->path == NULL)
        return EBADF;
    unsigned char *grown = realloc(file->bytes, file->size + count + 1);
    if (grown == NULL)
        return ENOMEM;
    if (count > 0)
        memcpy(grown + file->size, from, count);
    file->bytes = grown;
    file->size += count;
    return 0;
}

static int commit(void *user, takt_file *file)
{
    return file->path != NULL ? takt_memfs_put(user, file->path, file->bytes, file->size) : EBADF;
}

static void close_file(void *user, takt_file *file)
{
    (void)user;
    if (file == NULL)
        return;
    free(file->bytes);
    free(file->path);
    free(file);
}

takt_files takt_memfs_files(takt_memfs *fs)
{
    return (takt_files){.open_read = open_read,
                        .open_beneath = open_beneath,
                        .create = create,
                        .size = size_of,
                        .read = read_at,
                        .write = write_on,
                        .commit = commit,
                        .close = close_file,
                        .user = fs};
}
