/* gguf_shards.c - split GGUF files: written, read back, and every way in which parts do not fit. */
#include "io/gguf/shards.h"

#include <stdlib.h>
#include <string.h>

#include <takt/shrink.h>
#include <takt/takt.h>

#include "../test.h"
#include "base/ctx.h"
#include "util/gguf_file.h"
#include "util/inject.h"
#include "util/memfs.h"

static char tmp[256];
static takt_memfs *made; /* m/s-0000?-of-00005.gguf and m/t-0000?-of-00002.gguf */
static uint8_t tiny[1 << 16];
static size_t tiny_length;

static takt_ctx *context(takt_memfs *fs)
{
    takt_ctx *ctx;
    const takt_files files = takt_memfs_files(fs);
    const takt_config config = {.files = &files};
    if (takt_ctx_create(&config, &ctx) != TAKT_OK)
        exit(EXIT_FAILURE);
    return ctx;
}

static void begin(void)
{
    FILE *f = fopen("tests/corpus/gguf/tiny.gguf", "rb");
    const char *folder = getenv("TAKT_TEST_TMP");
    (void)snprintf(tmp, sizeof tmp, "%s", folder != NULL ? folder : "/tmp");
    tiny_length = f != NULL ? fread(tiny, 1, sizeof tiny, f) : 0;
    made = takt_memfs_create();
    if (f == NULL || fclose(f) != 0 || made == NULL ||
        takt_memfs_put(made, "m/tiny.gguf", tiny, tiny_length) != 0)
        exit(EXIT_FAILURE);
    takt_ctx *ctx = context(made);
    size_t parts = 0;
    takt_text_quantize_options o = {.size = sizeof o, .shard_bytes = 4096, .shards = &parts};
    EXPECT_OK(ctx, takt_text_quantize(ctx, "m/tiny.gguf", "m/s.gguf", &o));
    EXPECT(parts == 5, "%zu parts", parts);
    o.shard_bytes = 12000;
    EXPECT_OK(ctx, takt_text_quantize(ctx, "m/tiny.gguf", "m/t.gguf", &o));
    EXPECT(parts == 2, "%zu parts", parts);
    takt_ctx_destroy(ctx);
}

/* Parts become the file that they were cut from, whatever their number. */
static void joined(void)
{
    static const char *const firsts[] = {"m/s-00001-of-00005.gguf", "m/t-00001-of-00002.gguf"};
    takt_ctx *ctx = context(made);
    for (size_t i = 0; i < 2; i++) {
        takt_model *model = NULL;
        size_t length = 0;
        EXPECT_OK(ctx, takt_text_convert(ctx, firsts[i], "m/back.gguf", NULL));
        const void *back = takt_memfs_get(made, "m/back.gguf", &length);
        EXPECT(length == tiny_length && memcmp(back, tiny, length) == 0, "%s differs", firsts[i]);
        EXPECT_OK(ctx, takt_model_load(ctx, firsts[i], NULL, &model));
        takt_model_destroy(model);
    }
    size_t parts = 0;
    const takt_text_quantize_options o = {
        .size = sizeof o, .shard_bytes = 1 << 20, .shards = &parts};
    EXPECT_OK(ctx, takt_text_quantize(ctx, "m/tiny.gguf", "m/one.gguf", &o));
    EXPECT(parts == 1 && takt_memfs_get(made, "m/one.gguf", &(size_t){0}) != NULL);
    takt_ctx_destroy(ctx);
}

/* ---- parts that do not fit ---- */

typedef struct given {
    const char *name, *from; /* a file of `made` under a name */
} given;

static void copy(takt_memfs *fs, const char *name, const void *bytes, size_t length)
{
    if (bytes == NULL || takt_memfs_put(fs, name, bytes, length) != 0)
        exit(EXIT_FAILURE);
}

static void refused(const given *files, const char *path, int id, const char *says)
{
    takt_memfs *fs = takt_memfs_create();
    takt_model *model = NULL;
    for (const given *g = files; g->name != NULL; g++) {
        size_t length = 0;
        const void *bytes = takt_memfs_get(made, g->from, &length);
        copy(fs, g->name, bytes, length);
    }
    takt_ctx *ctx = context(fs);
    const takt_status status = takt_model_load(ctx, path, NULL, &model);
    EXPECT(status != TAKT_OK && takt_last_error_info(ctx)->id == id &&
               strstr(takt_last_error(ctx), says) != NULL,
           "%s: %s", says, status == TAKT_OK ? "it was read" : takt_last_error(ctx));
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    takt_memfs_destroy(fs);
}

static void mismatched(void)
{
    static const char one[] = "m/t-00001-of-00002.gguf", two[] = "m/t-00002-of-00002.gguf";
    static const char third[] = "m/s-00003-of-00005.gguf";
    refused((given[]){{one, one}, {NULL, NULL}}, one, TAKT_E_FILE_OPEN, "t-00002-of-00002.gguf");
    refused((given[]){{one, one}, {two, two}, {NULL, NULL}}, two, TAKT_E_GGUF_UNSUPPORTED,
            "not the first part");
    refused((given[]){{one, one}, {two, one}, {NULL, NULL}}, one, TAKT_E_GGUF,
            "t-00002-of-00002.gguf: it says that it is part 1 of 2");
    refused((given[]){{one, one}, {two, third}, {NULL, NULL}}, one, TAKT_E_GGUF,
            "it says that it is part 3 of 5");
    refused((given[]){{"m/t.gguf", one}, {NULL, NULL}}, "m/t.gguf", TAKT_E_GGUF,
            "it says that it is part 1 of 2");
    refused((given[]){{two, one}, {NULL, NULL}}, two, TAKT_E_GGUF, "part 1 of 2");
    refused((given[]){{one, one}, {two, "m/tiny.gguf"}, {NULL, NULL}}, one, TAKT_E_GGUF,
            "it says that it is part 1 of 1");
}

/* A part of two tensors "a" and `other`; the model has `all`. */
static void part(gguf_file *f, uint32_t number, uint32_t count, uint32_t all, const char *other)
{
    gguf_begin(f, 3, 2, 4);
    gguf_key_text(f, "general.architecture", "llama");
    gguf_key_u32(f, "split.no", number);
    gguf_key_u32(f, "split.count", count);
    gguf_key_u32(f, "split.tensors.count", all);
    gguf_tensor(f, number == 0 ? "a" : "b", 0, 1, (const uint64_t[]){8}, 0);
    gguf_tensor(f, other, 0, 1, (const uint64_t[]){8}, 32);
    gguf_pad(f, 32);
    gguf_zeros(f, 64);
}

static void crafted(uint32_t count, uint32_t all, const char *other, const char *says)
{
    static gguf_file f;
    takt_memfs *fs = takt_memfs_create();
    takt_model *model = NULL;
    part(&f, 0, count, all, "c");
    copy(fs, "m/x-00001-of-00002.gguf", f.bytes, f.length);
    part(&f, 1, count, all, other);
    copy(fs, "m/x-00002-of-00002.gguf", f.bytes, f.length);
    takt_ctx *ctx = context(fs);
    EXPECT(takt_model_load(ctx, "m/x-00001-of-00002.gguf", NULL, &model) != TAKT_OK &&
               strstr(takt_last_error(ctx), says) != NULL,
           "%s: %s", says, takt_last_error(ctx));
    part(&f, 0, count, all, "c");
    EXPECT_IS(takt_model_load_memory(ctx, "memory", f.bytes, f.length, NULL, &model), !=, TAKT_OK);
    takt_ctx_destroy(ctx);
    takt_memfs_destroy(fs);
}

static void tensors(void)
{
    crafted(2, 4, "c", "00002.gguf: the tensor c is in part 1, too");
    crafted(2, 5, "d", "its 2 parts have 4 tensors, not 5");
    crafted(2, 4, "d", "embedding_length");
    crafted(0xffffffff, 4, "d", "it cannot be part 0 of 4294967295");
}

/* ---- on a disk: mapped, and with failures ---- */

static char first[300];

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *ctx;
    takt_model *model = NULL;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    const takt_load_options o = {.size = sizeof o, .map = user != NULL};
    status = takt_model_load(ctx, first, &o, &model);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    return status;
}

static takt_status writing(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *ctx;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    const takt_text_quantize_options o = {.size = sizeof o, .shard_bytes = 12000};
    status = takt_text_quantize(ctx, "tests/corpus/gguf/tiny.gguf", user, &o);
    takt_ctx_destroy(ctx);
    return status;
}

static void swept(void)
{
    char to[300];
    (void)snprintf(to, sizeof to, "%s/swept.gguf", tmp);
    (void)snprintf(first, sizeof first, "%s/swept-00001-of-00002.gguf", tmp);
    takt_sweep_report r = takt_sweep(writing, to, TAKT_INJECT_MEMORY | TAKT_INJECT_FILES);
    EXPECT(r.is_good, "%s", r.message);
    r = takt_sweep(scenario, NULL, TAKT_INJECT_MEMORY | TAKT_INJECT_FILES);
    EXPECT(r.is_good, "%s", r.message);
    r = takt_sweep(scenario, to, TAKT_INJECT_MEMORY | TAKT_INJECT_FILES);
    EXPECT(r.is_good, "%s", r.message);
    (void)remove(first);
    (void)snprintf(first, sizeof first, "%s/swept-00002-of-00002.gguf", tmp);
    (void)remove(first);
}

static void end(void)
{
    takt_memfs_destroy(made);
}

TEST_MAIN(begin, joined, mismatched, tensors, swept, end)
