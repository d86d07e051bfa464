/* data_cache.c - decoded data in a file: the same samples, decoded again when anything differs;
 * and sounds of different rates, which are refused. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <takt/takt.h>

#include "../test.h"
#include "api/train/data.h"
#include "base/error.h"
#include "util/inject.h"
#include "util/memfs.h"

static takt_ctx *ctx;
static char csv[1100], text[1100], pictures[1100], cache[1100];

static void put(const char *path, const char *contents)
{
    FILE *file = fopen(path, "wb");
    if (EXPECT(file != NULL, "%s", path)) {
        fwrite(contents, 1, strlen(contents), file);
        fclose(file);
    }
}

/* Then it lies somewhere in a file. */
static bool is_mapped(const takt_data *d)
{
    return d->set.field[0].tensor.offset > 0;
}

/* The first rows of "x" and of the labels. */
static void compare(const takt_data *a, const takt_data *b)
{
    enum { ROWS = 3, MOST = 8 };
    const uint64_t rows[ROWS] = {2, 0, 1};
    float x[2][ROWS * MOST] = {{0}};
    int64_t labels[2][ROWS * MOST] = {{0}};
    const takt_data *const sets[] = {a, b};
    EXPECT_EQ(takt_data_count(a), takt_data_count(b));
    EXPECT_EQ(takt_data_classes(a), takt_data_classes(b));
    EXPECT_EQ(takt_data_rate(a), takt_data_rate(b));
    EXPECT_EQ(takt_data_field_count(a), takt_data_field_count(b));
    EXPECT_TEXT(a->set.format, b->set.format);
    for (size_t i = 0; i < 2; i++) {
        const takt_desc *field = takt_data_field(sets[i], 0);
        takt_tensor_view v = {.dtype = TAKT_F32, .rank = field->rank};
        memcpy(v.dims, field->dims, sizeof v.dims);
        v.dims[0] = ROWS;
        v.data = x[i];
        EXPECT_OK(ctx, takt_data_take(sets[i], "x", rows, ROWS, &v));
        const bool is_text = sets[i]->set.window > 0;
        takt_tensor_view l = {.dtype = TAKT_I64, .rank = is_text ? 2 : 1, .dims = {ROWS, 4}};
        l.data = labels[i];
        EXPECT_OK(ctx, takt_data_take(sets[i], "labels", rows, ROWS, &l));
    }
    EXPECT_EQ(memcmp(x[0], x[1], sizeof x[0]), 0);
    EXPECT_EQ(memcmp(labels[0], labels[1], sizeof labels[0]), 0);
}

static takt_data *open_with(const char *path, const char *stamp)
{
    takt_data *d = NULL;
    const takt_data_options o = {.window = strcmp(path, text) == 0 ? 4 : 0,
                                 .cache = stamp != NULL ? cache : NULL,
                                 .cache_stamp = stamp};
    EXPECT_OK(ctx, takt_data_open(ctx, path, &o, &d));
    return d;
}

static void keeps(const char *path)
{
    unlink(cache);
    takt_data *plain = open_with(path, NULL);
    takt_data *written = open_with(path, "one"), *mapped = open_with(path, "one");
    if (plain != NULL && written != NULL && mapped != NULL) {
        EXPECT(!is_mapped(plain) && is_mapped(written) && is_mapped(mapped));
        compare(plain, written);
        compare(plain, mapped);
    }
    takt_data_destroy(written);
    takt_data_destroy(mapped);
    mapped = open_with(csv, "two"); /* another stamp: the file belongs to other data */
    EXPECT(mapped != NULL && strcmp(mapped->set.format, "csv") == 0 &&
           takt_data_count(mapped) == 4);
    takt_data_destroy(mapped);
    takt_data_destroy(plain);
}

/* Folders of two classes. */
static void put_pictures(void)
{
    static const char *const names[] = {"a", "b"};
    char path[1300];
    mkdir(pictures, 0777);
    for (int i = 0; i < 4; i++) {
        char picture[] = "P5\n2 1\n255\n0a";
        picture[sizeof picture - 2] = (char)('a' + i);
        snprintf(path, sizeof path, "%s/%s", pictures, names[i % 2]);
        mkdir(path, 0777);
        snprintf(path, sizeof path, "%s/%s/%d.pgm", pictures, names[i % 2], i);
        put(path, picture);
    }
}

/* Whatever the file holds, the data is that of the source. */
static void damaged(void)
{
    unlink(cache);
    takt_data *plain = open_with(csv, NULL), *other = open_with(csv, "one");
    takt_data_destroy(other);
    FILE *file = fopen(cache, "rb");
    if (!EXPECT(file != NULL))
        return;
    static char bytes[4096];
    const size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t cut = 0; cut < length; cut += 7) {
        file = fopen(cache, "wb");
        if (EXPECT(file != NULL)) {
            fwrite(bytes, 1, cut, file);
            fclose(file);
        }
        other = open_with(csv, "one");
        if (other != NULL)
            compare(plain, other);
        takt_data_destroy(other);
    }
    for (size_t at = 0; at < length; at++) { /* one bit: the file is rewritten */
        bytes[at] = (char)(bytes[at] ^ (1 << at % 8));
        file = fopen(cache, "wb");
        if (EXPECT(file != NULL)) {
            fwrite(bytes, 1, length, file);
            fclose(file);
        }
        bytes[at] = (char)(bytes[at] ^ (1 << at % 8));
        other = open_with(csv, "one");
        if (other != NULL)
            compare(plain, other);
        takt_data_destroy(other);
        static char now[4096];
        file = fopen(cache, "rb");
        if (EXPECT(file != NULL)) {
            EXPECT(fread(now, 1, sizeof now, file) == length && memcmp(now, bytes, length) == 0,
                   "byte %zu stays as it was changed", at);
            fclose(file);
        }
    }
    takt_data_destroy(plain);
}

/* Options of a program that was compiled against the first header: later members follow. */
static void older(void)
{
    const struct {
        size_t size;
        const char *split;
        uint64_t limit;
        double scale, mean, deviation;
        int64_t window;
        const char *label, *cache, *cache_stamp;
    } first = {.size = sizeof first, .limit = 2, .cache = cache, .cache_stamp = "older"};
    takt_data_options o = {0};
    takt_data *d = NULL;
    memcpy(&o, &first, sizeof first);
    unlink(cache);
    if (EXPECT_OK(ctx, takt_data_open(ctx, csv, &o, &d)))
        EXPECT(takt_data_count(d) == 2 && is_mapped(d));
    takt_data_destroy(d);
}

static void refusals(void)
{
    takt_data *d = NULL;
    char nowhere[1200];
    snprintf(nowhere, sizeof nowhere, "%s.no/such/folder", cache);
    const takt_data_options no_stamp = {.cache = cache},
                            no_folder = {.cache = nowhere, .cache_stamp = "one"};
    if (EXPECT_STATUS(NULL, takt_data_open(ctx, csv, &no_stamp, &d), TAKT_ERR_ARGUMENT))
        EXPECT_SAME(d, NULL);
    EXPECT(takt_data_open(ctx, csv, &no_folder, &d) == TAKT_ERR_IO && d == NULL, "%s",
           takt_last_error(ctx));
}

/* Sounds of two rates in one list: refused, because a model would hear one of them too fast. */
static void refuses_rates(void)
{
    char sound[] = "RIFF\x28\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0"
                   "\2\0\x10\0data\4\0\0\0\1\0\2\0";
    static const char list[] = "a.wav\t0\nb.wav\t1\n";
    takt_memfs *fs = takt_memfs_create();
    if (!EXPECT(fs != NULL))
        return;
    const takt_files files = takt_memfs_files(fs);
    const takt_config config = {.files = &files};
    takt_data *d = NULL;
    takt_ctx *own = NULL;
    EXPECT_EQ(takt_memfs_put(fs, "a.wav", sound, sizeof sound - 1), 0);
    sound[25] = '\x3e'; /* 0x3e40 samples a second */
    EXPECT_EQ(takt_memfs_put(fs, "b.wav", sound, sizeof sound - 1), 0);
    EXPECT_EQ(takt_memfs_put(fs, "r.tsv", list, sizeof list - 1), 0);
    if (EXPECT_OK(NULL, takt_ctx_create(&config, &own))) {
        EXPECT_STATUS(own, takt_data_open(own, "r.tsv", NULL, &d), TAKT_ERR_FORMAT);
        EXPECT_TEXT(takt_last_error_info(own)->message,
                    "b.wav has 15936 samples a second, a.wav has 8000");
        sound[24] = sound[25] = 0; /* a file that does not say its rate */
        EXPECT_EQ(takt_memfs_put(fs, "a.wav", sound, sizeof sound - 1), 0);
        EXPECT_OK(own, takt_data_open(own, "r.tsv", NULL, &d));
        EXPECT_EQ(takt_data_rate(d), 15936);
        takt_data_destroy(d);
    }
    takt_ctx_destroy(own);
    takt_memfs_destroy(fs);
}

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own;
    takt_data *d = NULL;
    const takt_data_options o = {.cache = cache, .cache_stamp = user};
    takt_inject_config(inject, &config);
    unlink(cache);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    for (int i = 0; i < 2 && status == TAKT_OK; i++) {
        status = takt_data_open(own, csv, &o, &d);
        takt_data_destroy(d);
    }
    takt_ctx_destroy(own);
    return status;
}

int main(void)
{
    const char *tmp = getenv("TAKT_TEST_TMP");
    char stamp[] = "one";
    tmp = tmp != NULL ? tmp : "/tmp";
    snprintf(csv, sizeof csv, "%s/cached.csv", tmp);
    snprintf(text, sizeof text, "%s/cached.txt", tmp);
    snprintf(pictures, sizeof pictures, "%s/cached.pictures", tmp);
    snprintf(cache, sizeof cache, "%s/cached.safetensors", tmp);
    put(csv, "a,b,kind\n1,2,x\n3,4,y\n5,6.5,x\n7,8,z\n");
    put(text, "to be or not to be, that is the question\n");
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return test_done();
    keeps(csv);
    keeps(text);
    put_pictures();
    keeps(pictures);
    damaged();
    older();
    refusals();
    refuses_rates();
    const takt_sweep_report r = takt_sweep(scenario, stamp, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s", r.message);
    takt_ctx_destroy(ctx);
    return test_done();
}
