/* skim.c - weights of a model in a file are read once, into their final place, and nothing differs
 * from a model that is in memory as a whole. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "api/model.h"
#include "io/read.h"
#include "io/takt/taktp.h"
#include "util/back.h"
#include "util/inject.h"
#include "util/memfs.h"

enum { SIDE = 512, WEIGHT = SIDE * SIDE * 4, ROOM = 3 * WEIGHT };

/* ---- files in memory that record what is read ---- */

static takt_files inner;
static uint8_t times_read[ROOM]; /* of each byte */
static size_t largest;           /* of all reads */
static const void *largest_to;
static size_t cut_at; /* reads see the end of the file here; 0: they do not */

static int noted_read(void *user, takt_file *file, uint64_t offset, void *to, size_t count,
                      size_t *done)
{
    const int error = inner.read(user, file, offset, to, count, done);
    if (cut_at > 0 && offset + *done > cut_at)
        *done = offset < cut_at ? (size_t)(cut_at - offset) : 0;
    for (size_t i = 0; i < *done; i++)
        times_read[offset + i]++;
    if (count > largest) {
        largest = count;
        largest_to = to;
    }
    return error;
}

static takt_files noting(takt_memfs *fs)
{
    inner = takt_memfs_files(fs);
    takt_files files = inner;
    files.read = noted_read;
    memset(times_read, 0, sizeof times_read);
    largest = 0;
    cut_at = 0;
    return files;
}

/* ---- a model with two large weights ---- */

static void before_value(back *b, uint32_t field, const char *name)
{
    const uint8_t *mark = b->at, *inside = b->at;
    back_bytes(b, "\x0a\x02\x08\x02\x0a\x03\x08\x80\x04", 9); /* 2 x 512 */
    back_wrap(b, 2, inside);
    back_int(b, 1, 1);
    back_wrap(b, 1, inside);
    back_wrap(b, 2, inside);
    back_text(b, 1, name);
    back_wrap(b, field, mark);
}

static void before_product(back *b, const char *a, const char *w, const char *out)
{
    const uint8_t *mark = b->at;
    back_text(b, 4, "MatMul");
    back_text(b, 2, out);
    back_text(b, 1, w);
    back_text(b, 1, a);
    back_wrap(b, 1, mark);
}

static void before_weight(back *b, const char *name, uint8_t seed, size_t bytes)
{
    const uint8_t *mark = b->at;
    uint8_t *raw = malloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        raw[i] = (uint8_t)(i % 4 == 3 ? 0x3e : i * 131 + seed);
    back_bytes(b, raw, bytes);
    back_wrap(b, 9, mark);
    free(raw);
    back_text(b, 8, name);
    back_int(b, 2, 1);
    back_int(b, 1, SIDE);
    back_int(b, 1, SIDE);
    back_wrap(b, 5, mark);
}

/* `short_by` bytes are missing in the second weight. */
static size_t make_model(char *to, size_t short_by)
{
    back b = back_open(ROOM);
    back_opset(&b, 8, "", 21);
    const uint8_t *mark = b.at;
    before_value(&b, 12, "y");
    before_value(&b, 11, "x");
    before_weight(&b, "v", 7, WEIGHT - short_by);
    before_weight(&b, "w", 1, WEIGHT);
    back_text(&b, 2, "g");
    before_product(&b, "h", "v", "y");
    before_product(&b, "x", "w", "h");
    back_wrap(&b, 7, mark);
    back_int(&b, 1, 8);
    return back_take(&b, to);
}

/* ---- comparing ---- */

typedef struct saved {
    void *bytes;
    size_t length;
} saved;

static saved save(takt_ctx *ctx, const takt_model *m)
{
    saved s = {0};
    const takt_taktp_parts parts = {.graph = m->graph, .slots = m->slots};
    EXPECT_OK(ctx, takt_taktp_write(&parts, &s.bytes, &s.length));
    return s;
}

static void expect_same(takt_ctx *ctx, const takt_model *a, const takt_model *b, const char *what)
{
    saved x = save(ctx, a), y = save(ctx, b);
    EXPECT(x.length == y.length && memcmp(x.bytes, y.bytes, x.length) == 0, "%s differs", what);
    ctx->allocator.put(ctx->allocator.user, x.bytes, x.length);
    ctx->allocator.put(ctx->allocator.user, y.bytes, y.length);
}

static char model_bytes[ROOM];

/* The same model as a compiled file. */
static size_t make_compiled(char *to)
{
    takt_ctx *ctx;
    takt_model *m = NULL;
    const size_t length = make_model(to, 0);
    saved s = {0};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", to, length, NULL, &m)))
        s = save(ctx, m);
    EXPECT(s.length > 2 * WEIGHT && s.length <= ROOM, "%zu bytes", s.length);
    memcpy(to, s.bytes, s.length);
    ctx->allocator.put(ctx->allocator.user, s.bytes, s.length);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    return s.length;
}

static size_t make(bool is_compiled)
{
    return is_compiled ? make_compiled(model_bytes) : make_model(model_bytes, 0);
}

static void read_one(bool is_compiled)
{
    const size_t length = make(is_compiled);
    takt_memfs *fs = takt_memfs_create();
    takt_memfs_put(fs, "m", model_bytes, length);
    const takt_files files = noting(fs);
    /* Memory for the weights once: what is not read is not counted. */
    const takt_config config = {.files = &files, .limits.bytes = 2 * WEIGHT + WEIGHT / 2};
    takt_ctx *ctx;
    takt_model *from_file = NULL, *from_memory = NULL;
    EXPECT_OK(NULL, takt_ctx_create(&config, &ctx));
    const bool is_loaded = EXPECT_OK(ctx, takt_model_load(ctx, "m", NULL, &from_file));
    EXPECT(ctx->live_bytes >= 2 * WEIGHT && ctx->live_bytes < 2 * WEIGHT + WEIGHT / 4,
           "%llu bytes are counted", (unsigned long long)ctx->live_bytes);
    ctx->limits.bytes = UINT64_MAX;
    if (is_loaded &&
        EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", model_bytes, length, NULL, &from_memory)))
        expect_same(ctx, from_file, from_memory, "a model read from a file");
    size_t wrong = 0;
    for (size_t i = 0; i < ROOM; i++)
        wrong += times_read[i] != (i < length ? 1 : 0);
    EXPECT(wrong == 0, "%zu bytes were not read exactly once", wrong);
    EXPECT(largest > WEIGHT / 2 && largest <= WEIGHT, "the largest read has %zu bytes", largest);
    bool is_in_place = false;
    for (size_t i = 0; from_file != NULL && i < from_file->graph->tensor_count; i++) {
        const uint8_t *data = takt_tensor_data(from_file->graph->tensors[i]);
        is_in_place |=
            (const uint8_t *)largest_to >= data && (const uint8_t *)largest_to < data + WEIGHT;
    }
    EXPECT(is_in_place, "the largest read went to a place that is not a weight's");
    takt_model_destroy(from_file);
    takt_model_destroy(from_memory);
    takt_ctx_destroy(ctx);
    takt_memfs_destroy(fs);
}

static void read_once(void)
{
    read_one(false);
    read_one(true);
}

/* A file that ends before its stated size, in any of its parts. */
static void becomes_shorter_one(bool is_compiled)
{
    const size_t length = make(is_compiled);
    takt_memfs *fs = takt_memfs_create();
    takt_memfs_put(fs, "m", model_bytes, length);
    for (size_t at = 1; at < length; at += length / 19) {
        const takt_files files = noting(fs);
        const takt_config config = {.files = &files};
        takt_ctx *ctx;
        takt_model *m = NULL;
        EXPECT_OK(NULL, takt_ctx_create(&config, &ctx));
        cut_at = at;
        const takt_status status = takt_model_load(ctx, "m", NULL, &m);
        EXPECT(status != TAKT_OK && m == NULL &&
                   takt_last_error_info(ctx)->id == TAKT_E_FILE_READ &&
                   strstr(takt_last_error_info(ctx)->message, "became shorter") != NULL,
               "cut at %zu: %s", at, takt_last_error_info(ctx)->message);
        takt_ctx_destroy(ctx);
    }
    takt_memfs_destroy(fs);
}

static void becomes_shorter(void)
{
    becomes_shorter_one(false);
    becomes_shorter_one(true);
}

/* ---- every seed, with gaps wherever there is a byte to leave out ---- */

static takt_status read_graph(takt_ctx *ctx, const takt_source *given, takt_error *error)
{
    takt_source source = *given;
    takt_graph *graph = NULL;
    source.ctx = ctx;
    source.name = "seed";
    const takt_status status = takt_read_graph(&source, &graph);
    *error = status == TAKT_OK ? (takt_error){0} : ctx->error;
    takt_graph_destroy(graph);
    return status;
}

static size_t gaps_seen, seeds_seen;

/* Skipped parts are poisoned in memory, so that reading them would show. */
static void skim_seed(const char *name, const uint8_t *bytes, size_t length)
{
    takt_memfs *fs = takt_memfs_create();
    takt_memfs_put(fs, "seed", bytes, length);
    const takt_files files = takt_memfs_files(fs);
    const takt_config config = {.files = &files};
    takt_ctx *ctx;
    takt_skim s;
    takt_error all, skimmed;
    EXPECT_OK(NULL, takt_ctx_create(&config, &ctx));
    if (EXPECT_OK(ctx, takt_skim_open(ctx, "seed", &s))) {
        memset(s.bytes, 0xa5, s.length);
        s.have = 0;
        s.chunk = 24;
        s.least = 1;
        EXPECT_OK(ctx, takt_skim_need(&s, s.length < 4 ? s.length : 4));
        EXPECT_OK(ctx, takt_read_skimmed(&s));
        const takt_source whole = {.bytes = bytes, .length = length};
        const takt_source parts = {.bytes = s.bytes, .length = s.length, .skim = &s};
        const takt_status a = read_graph(ctx, &whole, &all);
        const takt_status b = read_graph(ctx, &parts, &skimmed);
        EXPECT(a == b && all.id == skimmed.id && all.offset == skimmed.offset &&
                   strcmp(all.message, skimmed.message) == 0,
               "%s: %s; with gaps %s", name, all.message, skimmed.message);
        gaps_seen += s.gap_count;
        seeds_seen++;
        takt_skim_close(&s);
    }
    takt_ctx_destroy(ctx);
    takt_memfs_destroy(fs);
}

static void seeds_of(const char *folder)
{
    static uint8_t content[1 << 16];
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        char path[400];
        snprintf(path, sizeof path, "%s/%.200s", folder, e->d_name);
        FILE *f = e->d_name[0] != '.' && strstr(e->d_name, "exponential") == NULL
                      ? fopen(path, "rb")
                      : NULL;
        if (f == NULL)
            continue;
        const size_t length = fread(content, 1, sizeof content, f);
        fclose(f);
        if (length < sizeof content)
            skim_seed(e->d_name, content, length);
    }
    if (dir != NULL)
        closedir(dir);
}

static void corpus(void)
{
    seeds_of("tests/corpus/onnx");
    EXPECT(seeds_seen >= 100 && gaps_seen >= 12, "%zu seeds, %zu gaps", seeds_seen, gaps_seen);
    seeds_seen = gaps_seen = 0;
    seeds_of("tests/corpus/taktp");
    EXPECT(seeds_seen >= 10 && gaps_seen >= 10, "%zu seeds, %zu gaps", seeds_seen, gaps_seen);
}

/* ---- failures ---- */

static takt_status load_injected(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *ctx;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    takt_model *m;
    status = takt_model_load(ctx, user, NULL, &m);
    if (status == TAKT_OK)
        takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    return status;
}

static void failures_of(bool is_compiled)
{
    const char *folder = getenv("TAKT_TEST_TMP");
    char path[400];
    snprintf(path, sizeof path, "%s/skim_test", folder != NULL ? folder : ".");
    const size_t length = make(is_compiled);
    FILE *f = fopen(path, "wb");
    EXPECT(f != NULL && fwrite(model_bytes, 1, length, f) == length && fclose(f) == 0, "%s", path);
    const takt_sweep_report r =
        takt_sweep(load_injected, path, TAKT_INJECT_MEMORY | TAKT_INJECT_FILES);
    EXPECT(r.is_good && r.runs > 20, "%s (%llu runs)", r.message, (unsigned long long)r.runs);
    remove(path);
}

static void failures(void)
{
    failures_of(false);
    failures_of(true);
}

static void wrong_length(void)
{
    const size_t length = make_model(model_bytes, 4);
    skim_seed("a weight four bytes short", (const uint8_t *)model_bytes, length);
}

TEST_MAIN(read_once, becomes_shorter, corpus, failures, wrong_length)
