/* late_files.c - a file that is overwritten in place while weights are still read from it is
 * noticed at every read; one that is replaced by another file is not in the way. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <takt/takt.h>

#include "base/error.h"
#include "os/os.h"
#include "test.h"

enum { MOST = 1 << 15 };

typedef struct meddler {
    takt_files files, inner;
    char path[512];      /* of the weights */
    takt_file *weights;  /* of the files that are open, the one opened last */
    int reads, begin;    /* of any file, and before `weights` was opened */
    int at;              /* before which read it acts; 0: never */
    bool replaces;       /* renames a copy to the path, or overwrites the file */
    const char *content; /* of the weights */
    size_t length;
} meddler;

static void put(const char *path, const char *bytes, size_t length)
{
    FILE *f = fopen(path, "wb");
    if (EXPECT(f != NULL, "%s", path)) {
        EXPECT_EQ(fwrite(bytes, 1, length, f), length);
        fclose(f);
    }
}

static size_t get(const char *path, char to[MOST])
{
    FILE *f = fopen(path, "rb");
    const size_t length = f != NULL ? fread(to, 1, MOST, f) : 0;
    EXPECT(length > 0 && length < MOST, "%s has %zu bytes", path, length);
    if (f != NULL)
        fclose(f);
    return length;
}

static void meddle(const meddler *m)
{
    char other[600];
    if (!m->replaces) {
        FILE *f = fopen(m->path, "r+b");
        if (EXPECT(f != NULL, "%s", m->path)) {
            EXPECT(fseek(f, -1, SEEK_END) == 0 && fputc(1, f) == 1, "%s", m->path);
            fclose(f);
        }
        return;
    }
    snprintf(other, sizeof other, "%s.new", m->path);
    put(other, m->content, m->length);
    EXPECT_EQ(rename(other, m->path), 0);
}

static int open_read(void *user, const char *path, takt_file **file)
{
    meddler *m = user;
    const int error = m->inner.open_read(m->inner.user, path, file);
    if (error == 0 && strcmp(path, m->path) == 0) {
        m->weights = *file;
        m->begin = m->reads;
    }
    return error;
}

static int read_at(void *user, takt_file *file, uint64_t offset, void *to, size_t count,
                   size_t *done)
{
    meddler *m = user;
    if (file == m->weights && ++m->reads == m->at)
        meddle(m);
    return m->inner.read(m->inner.user, file, offset, to, count, done);
}

static int size_of(void *user, takt_file *file, uint64_t *bytes)
{
    const meddler *m = user;
    return m->inner.size(m->inner.user, file, bytes);
}

static int stamp_of(void *user, takt_file *file, uint64_t *stamp)
{
    const meddler *m = user;
    return m->inner.stamp(m->inner.user, file, stamp);
}

static void close_file(void *user, takt_file *file)
{
    const meddler *m = user;
    m->inner.close(m->inner.user, file);
}

/* Opens a model from `path`; the error, or 0. */
static int opened(meddler *m, const char *path)
{
    takt_ctx *under, *ctx;
    takt_generator *g = NULL;
    const struct timespec old[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    put(m->path, m->content, m->length);
    EXPECT_EQ(utimensat(AT_FDCWD, m->path, old, 0), 0); /* clocks of file systems are coarse */
    m->reads = 0;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &under)))
        return -1;
    m->inner = *takt_ctx_files(under);
    m->files = (takt_files){.open_read = open_read,
                            .open_beneath = m->inner.open_beneath,
                            .create = m->inner.create, /* nothing is written */
                            .size = size_of,
                            .read = read_at,
                            .write = m->inner.write,
                            .commit = m->inner.commit,
                            .close = close_file,
                            .user = m,
                            .stamp = stamp_of};
    const takt_config config = {.files = &m->files};
    EXPECT_OK(NULL, takt_ctx_create(&config, &ctx));
    const takt_generator_options o = {.threads = 1};
    const takt_status status = takt_generator_open(ctx, path, &o, &g);
    const int id = status == TAKT_OK ? 0 : (int)takt_last_error_info(ctx)->id;
    takt_generator_destroy(g);
    takt_ctx_destroy(ctx);
    takt_ctx_destroy(under);
    return id;
}

static void meddled(meddler *m, const char *path)
{
    m->at = 0;
    EXPECT_EQ(opened(m, path), 0);
    const int reads = m->reads;
    EXPECT(reads - m->begin > 2, "%d of %d reads are late", reads - m->begin, reads);
    for (m->at = 1; m->at <= reads; m->at++) {
        const int id = opened(m, path);
        EXPECT(id == (m->replaces || m->at <= m->begin ? 0 : TAKT_E_FILE_CHANGED),
               "%s before read %d of %d: %d", m->replaces ? "replaced" : "overwritten", m->at,
               reads, id);
    }
}

static void of_gguf(void)
{
    static char bytes[MOST];
    static meddler m;
    snprintf(m.path, sizeof m.path, "%s/late.gguf", getenv("TAKT_TEST_TMP"));
    m.content = bytes;
    m.length = get("tests/corpus/gguf/tiny.gguf", bytes);
    meddled(&m, m.path);
    m.replaces = true;
    meddled(&m, m.path);
}

static void of_folder(void)
{
    static char bytes[MOST], other[MOST];
    static const char *const names[] = {"config.json", "tokenizer.json", "tokenizer_config.json"};
    static meddler m;
    char folder[400], path[500];
    snprintf(folder, sizeof folder, "%s/hf", getenv("TAKT_TEST_TMP"));
    (void)mkdir(folder, 0777);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "tests/corpus/hf_tiny/%s", names[i]);
        const size_t length = get(path, other);
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        put(path, other, length);
    }
    snprintf(m.path, sizeof m.path, "%s/model.safetensors", folder);
    m.content = bytes;
    m.length = get("tests/corpus/hf_tiny/model.safetensors", bytes);
    meddled(&m, folder);
    m.replaces = true;
    meddled(&m, folder);
}

TEST_MAIN(of_gguf, of_folder)
