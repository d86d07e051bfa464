/* taktp.c - compiled models: saving and loading agree, and any damage is detected. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include <takt/takt.h>

#include "api/model.h"
#include "base/crc32c.h"
#include "io/takt/taktp.h"
#include "util/inject.h"
#include "util/memfs.h"

static takt_ctx *ctx;

static const char small_text[] =
    "model small(x: f32[n, 3]) -> f32[n, 4] {\n"
    "  param w: f32[3, 4] = uniform(-1, 1)\n"
    "  state seen: f32[n, 4] = 0.5\n"
    "  c = constant(f32[4], [1, nan, -0.0, inf])\n"
    "  d = constant(i32[3, 4], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -12])\n"
    "  y = x @ w + c + cast(d[:1], dtype=f32) + seen\n"
    "  next seen = y\n"
    "  return y\n"
    "}\n";

static const char *const examples[] = {"examples/mlp.takt", "examples/cnn.takt",
                                       "examples/encoder.takt", "examples/gpt.takt",
                                       "examples/stream.takt"};

typedef struct file {
    unsigned char *at;
    size_t length;
} file;

static file save(const takt_model *m)
{
    void *bytes = NULL;
    file f = {0};
    const takt_taktp_parts parts = {
        .graph = m->graph, .slots = m->slots, .lineage = "{\"takt\":\"test\"}"};
    EXPECT_OK(ctx, takt_taktp_write(&parts, &bytes, &f.length));
    f.at = malloc(f.length);
    if (f.at != NULL && bytes != NULL)
        memcpy(f.at, bytes, f.length);
    ctx->allocator.put(ctx->allocator.user, bytes, f.length);
    return f;
}

static file small_file(void)
{
    takt_model *m;
    file f = {0};
    if (EXPECT_OK(ctx,
                  takt_model_load_memory(ctx, "small", small_text, strlen(small_text), NULL, &m)))
        f = save(m);
    takt_model_destroy(m);
    return f;
}

static bool same_tensor(const takt_tensor *a, const takt_tensor *b)
{
    if (a->storage == NULL || b->storage == NULL)
        return a->storage == b->storage;
    return takt_tensor_bytes(a) == takt_tensor_bytes(b) &&
           memcmp(takt_tensor_data(a), takt_tensor_data(b), takt_tensor_bytes(a)) == 0;
}

/* Graph, first values, and the text that people see. */
static bool same_model(const takt_model *a, const takt_model *b)
{
    bool same = takt_graph_digest(a->graph) == takt_graph_digest(b->graph) &&
                a->graph->slot_count == b->graph->slot_count;
    for (size_t i = 0; same && i < a->graph->slot_count; i++)
        same = strcmp(a->graph->slots[i].name, b->graph->slots[i].name) == 0 &&
               a->graph->slots[i].is_trainable == b->graph->slots[i].is_trainable &&
               same_tensor(&a->slots[i], &b->slots[i]);
    return same;
}

static void examples_return(void)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        takt_model *m, *back = NULL;
        if (!EXPECT_OK(ctx, takt_model_load(ctx, examples[i], NULL, &m)))
            continue;
        const file f = save(m);
        if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "f", f.at, f.length, NULL, &back))) {
            EXPECT(same_model(m, back), "%s", examples[i]);
            EXPECT(strcmp(takt_model_lineage(back), "{\"takt\":\"test\"}") == 0, "%s",
                   takt_model_lineage(back));
            const file again = save(back);
            EXPECT(again.length == f.length && memcmp(again.at, f.at, f.length) == 0,
                   "%s: the second file differs from the first", examples[i]);
            free(again.at);
        }
        takt_model_destroy(back);
        takt_model_destroy(m);
        free(f.at);
    }
}

static void lineage_is_kept(void)
{
    char path[512];
    const char *tmp = getenv("TAKT_TEST_TMP");
    snprintf(path, sizeof path, "%s/m.taktp", tmp != NULL ? tmp : "/tmp");
    takt_model *m, *back = NULL;
    if (!EXPECT_OK(ctx, takt_model_load(ctx, examples[0], NULL, &m)))
        return;
    EXPECT(takt_model_lineage(m) == NULL);
    const takt_save_options options = {.source = examples[0], .command = "made by hand"};
    EXPECT_OK(ctx, takt_model_save(m, path, &options));
    if (EXPECT_OK(ctx, takt_model_load(ctx, path, NULL, &back))) {
        EXPECT(same_model(m, back));
        const char *text = takt_model_lineage(back);
        EXPECT(strstr(text, "\"source\":\"mlp.takt\",\"sha256\":\"") != NULL &&
                   strstr(text, "\"command\":\"made by hand\"") != NULL,
               "%s", text);
    }
    EXPECT_STATUS(ctx, takt_model_save(m, "/nowhere/m.taktp", NULL), TAKT_ERR_IO);
    EXPECT_STATUS(ctx, takt_model_save(m, NULL, NULL), TAKT_ERR_ARGUMENT);
    takt_model_destroy(back);
    takt_model_destroy(m);
    remove(path);
}

/* ---- damage ---- */

static takt_status load(const file *f, size_t length)
{
    takt_model *m;
    unsigned char *exact = malloc(length > 0 ? length : 1);
    memcpy(exact, f->at, length);
    const takt_status status = takt_model_load_memory(ctx, "f", exact, length, NULL, &m);
    takt_model_destroy(m);
    free(exact);
    return status;
}

static void every_truncation(void)
{
    const file f = small_file();
    for (size_t n = 0; n < f.length; n++)
        EXPECT(load(&f, n) != TAKT_OK, "%zu of %zu bytes are loaded", n, f.length);
    free(f.at);
}

static void every_bit(void)
{
    const file f = small_file();
    EXPECT_OK(ctx, load(&f, f.length));
    for (size_t bit = 0; bit < 8 * f.length; bit++) {
        f.at[bit / 8] ^= (unsigned char)(1u << bit % 8);
        EXPECT(load(&f, f.length) != TAKT_OK, "bit %zu of byte %zu is not noticed", bit % 8,
               bit / 8);
        f.at[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    free(f.at);
}

static void put32(unsigned char *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

static uint32_t get32(const unsigned char *from)
{
    return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

/* Makes all checksums right again, so that only the contents are wrong. */
static void seal(const file *f)
{
    const size_t room = (f->length - TAKTP_HEADER) / TAKTP_ENTRY, said = get32(f->at + 24);
    const size_t count = said < room ? said : room;
    for (size_t i = 0; i < count; i++) {
        unsigned char *e = f->at + TAKTP_HEADER + i * TAKTP_ENTRY;
        const size_t offset = get32(e + 8), length = get32(e + 16);
        if (get32(e) != TAKTP_DATA && offset + length <= f->length)
            put32(e + 24, takt_crc32c(0, f->at + offset, length));
    }
    put32(f->at + 28, takt_crc32c(0, f->at + TAKTP_HEADER, count * TAKTP_ENTRY));
    put32(f->at + TAKTP_HEADER - 4, takt_crc32c(0, f->at, TAKTP_HEADER - 4));
}

static void expect(const file *f, int id, const char *what)
{
    seal(f);
    EXPECT(load(f, f->length) != TAKT_OK && takt_last_error_info(ctx)->id == id, "%s: error %d, %s",
           what, takt_last_error_info(ctx)->id, takt_last_error(ctx));
}

/* Copies `f`, writes `value` at `at`, and seals. */
static void wrong_word(const file *f, size_t at, uint32_t value, int id, const char *what)
{
    file bad = {malloc(f->length), f->length};
    memcpy(bad.at, f->at, f->length);
    put32(bad.at + at, value);
    expect(&bad, id, what);
    free(bad.at);
}

static void sealed_nonsense(void)
{
    enum { TABLE = TAKTP_HEADER, SECOND = TABLE + TAKTP_ENTRY };
    const file f = small_file();
    wrong_word(&f, 8, 2, 3008, "newer major");
    wrong_word(&f, 8, 0, 3008, "older major");
    wrong_word(&f, 12, 2, 3008, "portable numerics");
    wrong_word(&f, 24, 65, 3007, "too many sections");
    wrong_word(&f, 24, 3, 3007, "too few sections");
    wrong_word(&f, 16, (uint32_t)f.length + 64, 3007, "another length");
    wrong_word(&f, TABLE, TAKTP_WEIGHTS, 3007, "weights twice");
    wrong_word(&f, TABLE, TAKTP_KIND('n', 'e', 'w', '!'), 3008, "unknown section");
    wrong_word(&f, SECOND + 8, get32(f.at + TABLE + 8), 3007, "sections overlap");
    wrong_word(&f, SECOND + 16, 0xffffff00u, 3007, "section beyond the file");
    const size_t index = get32(f.at + SECOND + 8);
    wrong_word(&f, index, TAKT_DTYPE_COUNT, 3007, "dtype of a weight");
    wrong_word(&f, index, TAKT_F64, 3007, "size of a weight");
    wrong_word(&f, index + 4, 17, 3007, "rank of a weight");
    wrong_word(&f, index + 12, 0x80000000u, 3007, "dimension of a weight");
    wrong_word(&f, index + 24, 64, 3007, "offset of a weight");
    wrong_word(&f, index + 44, 0xffffffffu, 3007, "name of a weight");
    free(f.at);
}

/* A later minor version may add a section: it is passed over, and the model is the same. */
static void optional_section_is_skipped(void)
{
    const file f = small_file();
    takt_model *a = NULL, *b = NULL;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "a", f.at, f.length, NULL, &a));
    put32(f.at + 8, TAKTP_MAJOR | 7u << 16);
    unsigned char *lineage = f.at + TAKTP_HEADER + 2 * TAKTP_ENTRY;
    EXPECT_EQ(get32(lineage), TAKTP_LINEAGE);
    EXPECT_EQ(get32(lineage + 4), TAKTP_OPTIONAL);
    put32(lineage, TAKTP_KIND('x', 't', 'r', 'a'));
    seal(&f);
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "b", f.at, f.length, NULL, &b)))
        EXPECT(same_model(a, b) && takt_model_lineage(b) == NULL);
    takt_model_destroy(a);
    takt_model_destroy(b);
    free(f.at);
}

/* ---- memory, files and time ---- */

static takt_status save_and_load(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *c;
    takt_model *m = NULL, *back = NULL;
    takt_memfs *fs = takt_memfs_create();
    (void)user;
    takt_inject_config(inject, &config);
    inject->inner_files = takt_memfs_files(fs);
    takt_status status = takt_ctx_create(&config, &c);
    if (status == TAKT_OK) {
        status = takt_model_load_memory(c, "small", small_text, strlen(small_text), NULL, &m);
        if (status == TAKT_OK)
            status = takt_model_save(m, "m.taktp", NULL);
        if (status == TAKT_OK)
            status = takt_model_load(c, "m.taktp", NULL, &back);
        takt_model_destroy(back);
        takt_model_destroy(m);
        takt_ctx_destroy(c);
    }
    takt_memfs_destroy(fs);
    return status;
}

static void every_failure(void)
{
    const takt_sweep_report r =
        takt_sweep(save_and_load, NULL, TAKT_INJECT_MEMORY | TAKT_INJECT_FILES);
    EXPECT(r.is_good, "%s", r.message);
    EXPECT(r.runs > 100, "%llu runs", (unsigned long long)r.runs);
}

static double cpu_time_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* Milliseconds to copy the bytes into fresh memory and to sum them up: the least that loading takes
 * on this machine at this moment. */
static double floor_ms(file f)
{
    const double start = cpu_time_ms();
    unsigned char *copy = malloc(f.length);
    if (!EXPECT(copy != NULL, "no memory"))
        return 0;
    memcpy(copy, f.at, f.length);
    const uint32_t sum = takt_crc32c(0, copy, f.length);
    const double ms = cpu_time_ms() - start;
    EXPECT(sum != 0, "the sum is 0");
    free(copy);
    return ms;
}

/* Ten megabytes in ten milliseconds of processor time in one of the tries, or in three times the
 * floor of that try: other programs take a part of caches and memory. */
static void loads_quickly(void)
{
    static const char text[] = "model big(x: f32[1, 1600]) -> f32[1, 1600] {\n"
                               "  param w: f32[1600, 1600] = uniform(-1, 1)\n"
                               "  return x @ w\n}\n";
    takt_model *m;
    if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "big", text, strlen(text), NULL, &m)))
        return;
    const file f = save(m);
    takt_model_destroy(m);
    double best = 1e9, times = 1e9;
    for (int i = 0; i < 10 || (i < 100 && best >= 10 && times >= 3); i++) {
        const double start = cpu_time_ms();
        EXPECT_OK(ctx, takt_model_load_memory(ctx, "f", f.at, f.length, NULL, &m));
        const double ms = cpu_time_ms() - start;
        takt_model_destroy(m);
        best = ms < best ? ms : best;
        times = fmin(times, ms / floor_ms(f));
    }
    printf("%.1f MB in %.2f ms, %.2f times the floor\n", 1e-6 * (double)f.length, best, times);
#ifdef __OPTIMIZE__
    EXPECT(best < 10 || times < 3 || TEST_SANITIZED, "%.2f ms, %.2f times", best, times);
#endif
    free(f.at);
}

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, examples_return, lineage_is_kept, every_truncation, every_bit, sealed_nonsense,
          optional_section_is_skipped, every_failure, loads_quickly, end)
