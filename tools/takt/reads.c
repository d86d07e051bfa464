/* reads.c - which files a command has read, so that none of them is written over by its results.
 *
 * A model may name others: external data of ONNX, the parts of an index. All are opened through the
 * context, whose files these are.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "progress.h"
#include "tool.h"

typedef struct identity {
    dev_t device;
    ino_t node;
} identity;

struct tool_reads {
    takt_ctx *under; /* its files are read */
    takt_files inner, files;
    pthread_mutex_t lock;
    identity *at;
    size_t count, room;
    bool is_strict; /* create() refuses what was read */
    char refused[1024];
    /* How much of a large file is read, while models are loaded. */
    const takt_tool *watcher; /* NULL: nobody looks */
    takt_file *watched;
    uint64_t watched_bytes, read_bytes;
    tool_progress bar;
};

static bool find(const tool_reads *r, const struct stat *about)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->at[i].device == about->st_dev && r->at[i].node == about->st_ino)
            return true;
    return false;
}

static int keep(tool_reads *r, const struct stat *about)
{
    if (find(r, about))
        return 0;
    if (r->count == r->room) {
        const size_t room = r->room * 2 + 16;
        identity *at = realloc(r->at, room * sizeof *at);
        if (at == NULL)
            return ENOMEM;
        r->at = at;
        r->room = room;
    }
    r->at[r->count++] = (identity){about->st_dev, about->st_ino};
    return 0;
}

/* Records the file that was opened as `path`; one that no longer exists cannot be overwritten. */
static int note(tool_reads *r, const char *path, takt_file **file)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return 0;
    pthread_mutex_lock(&r->lock);
    const int error = keep(r, &about);
    pthread_mutex_unlock(&r->lock);
    if (error != 0) {
        r->inner.close(r->inner.user, *file);
        *file = NULL;
    }
    return error;
}

static int open_read(void *user, const char *name, takt_file **file)
{
    tool_reads *r = user;
    const char *path = tool_readable(name);
    const int error = r->inner.open_read(r->inner.user, path, file);
    return error != 0 ? error : note(r, path, file);
}

static int open_beneath(void *user, const char *dir, const char *name, int allow_links,
                        takt_file **file)
{
    tool_reads *r = user;
    int error = r->inner.open_beneath(r->inner.user, dir, name, allow_links, file);
    const size_t size = strlen(dir) + strlen(name) + 4;
    char *path = error == 0 ? malloc(size) : NULL;
    if (error != 0)
        return error;
    if (path == NULL) {
        r->inner.close(r->inner.user, *file);
        *file = NULL;
        return ENOMEM;
    }
    snprintf(path, size, "%s/%s", *dir != '\0' ? dir : ".", name);
    error = note(r, path, file);
    free(path);
    return error;
}

/* Standing for standard output; never looked into. */
static takt_file *printed(tool_reads *r)
{
    return (takt_file *)(void *)r;
}

typedef int create_fn(void *user, const char *path, takt_file **file);

static int create_by(tool_reads *r, create_fn *inner, const char *path, takt_file **file)
{
    struct stat about;
    *file = NULL;
    if (strcmp(path, TOOL_STDOUT) == 0) {
        *file = printed(r);
        return 0;
    }
    if (r->is_strict && stat(path, &about) == 0 && find(r, &about)) {
        snprintf(r->refused, sizeof r->refused, "%s", path);
        return EEXIST;
    }
    return inner(r->inner.user, path, file);
}

static int create(void *user, const char *path, takt_file **file)
{
    tool_reads *r = user;
    return create_by(r, r->inner.create, path, file);
}

static int create_private(void *user, const char *path, takt_file **file)
{
    tool_reads *r = user;
    return create_by(r, r->inner.create_private, path, file);
}

static int remove_file(void *user, const char *path)
{
    const tool_reads *r = user;
    return r->inner.remove(r->inner.user, path);
}

static int size_of(void *user, takt_file *file, uint64_t *bytes)
{
    const tool_reads *r = user;
    return r->inner.size(r->inner.user, file, bytes);
}

static int stamp_of(void *user, takt_file *file, uint64_t *stamp)
{
    const tool_reads *r = user;
    return r->inner.stamp(r->inner.user, file, stamp);
}

/* ---- how far the loading is ---- */

enum { PIECE = 8 << 20 };

static void unwatch(tool_reads *r)
{
    if (r->watched != NULL)
        tool_progress_end(&r->bar);
    r->watched = NULL;
}

static void watch(tool_reads *r, takt_file *file, size_t count)
{
    pthread_mutex_lock(&r->lock);
    if (r->watcher != NULL && file != r->watched) {
        uint64_t size = 0;
        unwatch(r);
        if (r->inner.size(r->inner.user, file, &size) == 0 && size >= PIECE) {
            r->watched = file;
            r->watched_bytes = size;
            r->read_bytes = 0;
            r->bar = tool_progress_begin(r->watcher, "reading", "MiB", size >> 20);
        }
    }
    if (file == r->watched) {
        r->read_bytes += count;
        tool_progress_at(&r->bar, r->read_bytes >> 20);
        if (r->read_bytes >= r->watched_bytes)
            tool_progress_end(&r->bar);
    }
    pthread_mutex_unlock(&r->lock);
}

void tool_loaded(const takt_tool *t)
{
    if (t->reads == NULL)
        return;
    pthread_mutex_lock(&t->reads->lock);
    unwatch(t->reads);
    t->reads->watcher = NULL;
    pthread_mutex_unlock(&t->reads->lock);
}

/* In pieces, so that a bar can follow. */
static int read_at(void *user, takt_file *file, uint64_t offset, void *to, size_t count,
                   size_t *done)
{
    tool_reads *r = user;
    *done = 0;
    while (*done < count) {
        const size_t part = count - *done < PIECE ? count - *done : PIECE;
        size_t got = 0;
        const int error =
            r->inner.read(r->inner.user, file, offset + *done, (char *)to + *done, part, &got);
        if (error != 0)
            return error;
        *done += got;
        watch(r, file, got);
        if (got < part)
            break; /* the end of the file */
    }
    return 0;
}

static int write_on(void *user, takt_file *file, const void *from, size_t count)
{
    tool_reads *r = user;
    if (file == printed(r)) {
        fwrite(from, 1, count, stdout); /* main() looks at the stream's state */
        return 0;
    }
    return r->inner.write(r->inner.user, file, from, count);
}

static int commit(void *user, takt_file *file)
{
    tool_reads *r = user;
    if (file == printed(r))
        return 0;
    return r->inner.commit(r->inner.user, file);
}

static void close_file(void *user, takt_file *file)
{
    tool_reads *r = user;
    if (file == printed(r))
        return;
    pthread_mutex_lock(&r->lock);
    if (file == r->watched)
        unwatch(r);
    pthread_mutex_unlock(&r->lock);
    r->inner.close(r->inner.user, file);
}

static int map_file(void *user, takt_file *file, size_t bytes, const void **data)
{
    const tool_reads *r = user;
    return r->inner.map(r->inner.user, file, bytes, data);
}

static void unmap_file(void *user, const void *data, size_t bytes)
{
    const tool_reads *r = user;
    r->inner.unmap(r->inner.user, data, bytes);
}

static bool begin(takt_tool *t)
{
    tool_reads *r = calloc(1, sizeof *r);
    if (r == NULL || takt_ctx_create(NULL, &r->under) != TAKT_OK) {
        free(r);
        return false;
    }
    pthread_mutex_init(&r->lock, NULL);
    r->inner = *takt_ctx_files(r->under);
    r->files = (takt_files){.open_read = open_read,
                            .open_beneath = open_beneath,
                            .create = create,
                            .size = size_of,
                            .read = read_at,
                            .write = write_on,
                            .commit = commit,
                            .close = close_file,
                            .user = r,
                            .map = r->inner.map != NULL ? map_file : NULL,
                            .unmap = r->inner.unmap != NULL ? unmap_file : NULL,
                            .create_private = create_private,
                            .remove = remove_file,
                            .stamp = stamp_of};
    r->watcher = t;
    t->reads = r;
    return true;
}

static void keep_note(void *user, takt_log_level level, const char *line)
{
    takt_tool *t = user;
    const size_t length = strlen(t->notes);
    if (t->collects_notes && level == TAKT_LOG_WARNING)
        snprintf(t->notes + length, sizeof t->notes - length, "note: %.300s\n", line);
}

void tool_notes_begin(takt_tool *t)
{
    t->collects_notes = true;
    t->notes[0] = '\0';
    if (t->reads == NULL)
        return;
    pthread_mutex_lock(&t->reads->lock);
    t->reads->watcher = t;
    pthread_mutex_unlock(&t->reads->lock);
}

void tool_notes_end(takt_tool *t, bool is_reported)
{
    t->collects_notes = false;
    tool_loaded(t);
    if (is_reported && !t->is_trial && !tool_on(t, TAKT_F_QUIET))
        fputs(t->notes, stderr);
}

bool tool_make_context(takt_tool *t, uint64_t bytes)
{
    if (t->reads == NULL && !begin(t))
        return false;
    const takt_config config = {
        .files = &t->reads->files, .limits.bytes = bytes, .log = keep_note, .log_user = t};
    takt_ctx_destroy(t->ctx);
    return takt_ctx_create(&config, &t->ctx) == TAKT_OK;
}

void tool_free_context(takt_tool *t)
{
    takt_ctx_destroy(t->ctx);
    if (t->reads == NULL)
        return;
    takt_ctx_destroy(t->reads->under);
    pthread_mutex_destroy(&t->reads->lock);
    free(t->reads->at);
    free(t->reads);
}

bool tool_has_read(const takt_tool *t, const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && find(t->reads, &about);
}

void tool_spare_reads(takt_tool *t)
{
    t->reads->is_strict = true;
}

const char *tool_spared(const takt_tool *t)
{
    return t->reads->refused[0] != '\0' ? t->reads->refused : NULL;
}
