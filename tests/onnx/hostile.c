/* hostile.c - every named bad input is refused with its exact error and place, cut files too,
 * within bounds of memory and time.
 *
 *     onnx_hostile            checks tests/corpus against tests/corpus/expected.tsv
 *     onnx_hostile --write    records the error of each input
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <takt/takt.h>

#include "../test.h"
#include "util/load.h"

typedef struct outcome {
    int id;
    long long offset;
} outcome;

/* From a block of exactly its size, so that a sanitizer detects reads beyond it. */
static outcome load(load_fn *how, const uint8_t *bytes, size_t length)
{
    const takt_config config = {.allocator = &load_allocator};
    takt_ctx *ctx;
    outcome o = {0, -1};
    uint8_t *copy = malloc(length != 0 ? length : 1);
    if (length > 0)
        memcpy(copy, bytes, length);
    load_meter = (meter){0};
    if (EXPECT_OK(NULL, takt_ctx_create(&config, &ctx))) {
        if (how(ctx, copy, length) != TAKT_OK)
            o = (outcome){takt_last_error_info(ctx)->id,
                          (long long)takt_last_error_info(ctx)->offset};
        takt_ctx_destroy(ctx);
    }
    EXPECT(load_meter.live == 0, "%zu bytes leak", load_meter.live);
    free(copy);
    return o;
}

/* ---- the corpus ---- */

enum { ROOM = 1 << 20, SEEDS = 4096 };

typedef struct seed {
    char name[160];
    outcome want;
} seed;

static seed seeds[SEEDS];
static size_t seed_count;
static uint8_t content[ROOM];

static size_t read_seed(const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "tests/corpus/%s", name);
    FILE *f = fopen(path, "rb");
    const size_t length = f != NULL ? fread(content, 1, ROOM, f) : 0;
    EXPECT(f != NULL && length < ROOM, "%s", path);
    if (f != NULL)
        fclose(f);
    return length;
}

static void cut(load_fn *how, const char *name, size_t length)
{
    const size_t step = length > 4096 ? length / 4096 : 1;
    for (size_t i = 0; i < length; i += step) {
        const outcome o = load(how, content, i);
        EXPECT(o.id != 1001 && o.id != 9001, "%s cut to %zu bytes: id %d", name, i, o.id);
    }
}

static void check(load_fn *how, const seed *s, bool writes, FILE *out)
{
    const size_t length = read_seed(s->name);
    const clock_t start = clock();
    const outcome o = load(how, content, length);
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    const bool is_legal = strstr(s->name, "/legal") != NULL || strstr(s->name, "/good") != NULL;
    /* Functions that call each other multiply, and tables grow, up to their own limits. */
    const bool is_large =
        strstr(s->name, "exponential") != NULL || strstr(s->name, "tables_of") != NULL;
    const size_t most = is_large ? 32 << 20 : 16 * length + (1 << 20);
    EXPECT(load_meter.peak <= most, "%s: %zu bytes of memory for %zu", s->name, load_meter.peak,
           length);
    EXPECT(seconds <= 1 || TEST_SANITIZED, "%s takes %g s", s->name, seconds);
    EXPECT(!is_legal || o.id == 0, "%s is refused with %d", s->name, o.id);
    if (writes)
        fprintf(out, "%s\t%d\t%lld\n", s->name, o.id, o.offset);
    else
        EXPECT(o.id == s->want.id && o.offset == s->want.offset,
               "%s: id %d at %lld, recorded are %d at %lld", s->name, o.id, o.offset, s->want.id,
               s->want.offset);
    cut(how, s->name, length);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const seed *)a)->name, ((const seed *)b)->name);
}

static void list_folder(const char *folder)
{
    char path[200];
    snprintf(path, sizeof path, "tests/corpus/%s", folder);
    DIR *dir = opendir(path);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL && seed_count < SEEDS;)
        if (e->d_name[0] != '.')
            snprintf(seeds[seed_count++].name, sizeof seeds->name, "%s/%.120s", folder, e->d_name);
    if (dir != NULL)
        closedir(dir);
}

static void read_expected(void)
{
    char name[160];
    outcome o;
    FILE *f = fopen("tests/corpus/expected.tsv", "r");
    for (size_t i = 0; i < seed_count; i++)
        seeds[i].want = (outcome){-1, -1};
    while (f != NULL && fscanf(f, "%159s %d %lld", name, &o.id, &o.offset) == 3) {
        seed key;
        snprintf(key.name, sizeof key.name, "%s", name);
        seed *s = bsearch(&key, seeds, seed_count, sizeof *seeds, by_name);
        if (EXPECT(s != NULL, "%s is recorded but not there", name))
            s->want = o;
    }
    if (EXPECT(f != NULL, "tests/corpus/expected.tsv is missing"))
        fclose(f);
}

static void corpus(bool writes)
{
    static const struct {
        const char *folder;
        load_fn *how;
    } formats[] = {{"json", load_json},
                   {"npy", load_npy},
                   {"onnx", load_onnx},
                   {"safetensors", load_safetensors},
                   {"taktp", load_onnx}}; /* a model, whatever its format */
    const size_t count = sizeof formats / sizeof *formats;
    for (size_t i = 0; i < count; i++)
        list_folder(formats[i].folder);
    qsort(seeds, seed_count, sizeof *seeds, by_name);
    FILE *out = writes ? fopen("tests/corpus/expected.tsv", "w") : NULL;
    if (!writes)
        read_expected();
    for (size_t i = 0; i < seed_count; i++)
        for (size_t k = 0; k < count; k++)
            if (strncmp(seeds[i].name, formats[k].folder, strlen(formats[k].folder)) == 0)
                check(formats[k].how, &seeds[i], writes, out);
    if (out != NULL)
        fclose(out);
    printf("%zu inputs\n", seed_count);
    EXPECT(seed_count > 250, "%zu", seed_count);
}

/* ---- growth: twice the input takes at most 2.5 times the time, and twice the memory ---- */

typedef size_t make_fn(char *to, size_t count);

static size_t many_tensors(char *to, size_t count)
{
    size_t at = 9;
    to[8] = '{';
    for (size_t i = 0; i < count; i++)
        at += (size_t)sprintf(to + at,
                              "%s\"t%zu\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}",
                              i > 0 ? "," : "", i);
    to[at++] = '}';
    const uint64_t header = at - 8;
    memcpy(to, &header, 8);
    return at;
}

static size_t many_keys(char *to, size_t count)
{
    size_t at = 0;
    to[at++] = '{';
    for (size_t i = 0; i < count; i++)
        at += (size_t)sprintf(to + at, "%s\"k%zu\":[%zu,\"x\"]", i > 0 ? "," : "", i, i);
    to[at++] = '}';
    return at;
}

static size_t varint(char *to, uint64_t value)
{
    size_t n = 0;
    for (; value > 127; value >>= 7)
        to[n++] = (char)(value | 128);
    to[n++] = (char)value;
    return n;
}

/* One node, with the tag and length that it has in a graph. */
static size_t put_node(char *to, const char *op, const char *in, const char *more, const char *out)
{
    char node[96];
    int n = sprintf(node, "\x0a%c%s", (int)strlen(in), in);
    if (more[0] != '\0')
        n += sprintf(node + n, "\x0a%c%s", (int)strlen(more), more);
    n += sprintf(node + n, "\x12%c%s\x22%c%s", (int)strlen(out), out, (int)strlen(op), op);
    to[0] = '\x0a';
    to[1] = (char)n;
    memcpy(to + 2, node, (size_t)n);
    return (size_t)n + 2;
}

/* A model of these nodes, whose input is v0. */
static size_t put_model(char *to, const char *nodes, size_t length)
{
    static const char tail[] = "\x5a\x11\x0a\x02v0\x12\x0b\x0a\x09\x08\x01\x12\x05\x0a\x03\x12\x01n"
                               "\x42\x02\x10\x0d";
    size_t end = 0;
    to[end++] = 8;
    to[end++] = 8;
    to[end++] = '\x3a';
    end += varint(to + end, length + 19); /* with the input at the beginning of `tail` */
    memcpy(to + end, nodes, length);
    memcpy(to + end + length, tail, sizeof tail - 1);
    return end + length + sizeof tail - 1;
}

/* A chain of `count` nodes Relu. */
static size_t many_nodes(char *to, size_t count)
{
    char *body = malloc(count * 48 + 64);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        char a[24], b[24];
        sprintf(a, "v%zu", i);
        sprintf(b, "v%zu", i + 1);
        at += put_node(body + at, "Relu", a, "", b);
    }
    const size_t length = put_model(to, body, at);
    free(body);
    return length;
}

/* `count` times a shape that is computed from the previous one, and used. */
static size_t many_shapes(char *to, size_t count)
{
    char *body = malloc(count * 160 + 64);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        char a[24], b[24], s[24], r[24];
        sprintf(a, "v%zu", i);
        sprintf(r, "r%zu", i);
        sprintf(s, "s%zu", i);
        sprintf(b, "v%zu", i + 1);
        at += put_node(body + at, i % 2 != 0 ? "Relu" : "Neg", a, "", r);
        at += put_node(body + at, "Shape", r, "", s);
        at += put_node(body + at, "Reshape", r, s, b);
    }
    const size_t length = put_model(to, body, at);
    free(body);
    return length;
}

/* `memory`: the peak, and the total allocated. */
static double seconds_of(load_fn *how, const char *bytes, size_t length, size_t memory[2])
{
    double best = 1e9;
    for (int i = 0; i < 5; i++) {
        const clock_t start = clock();
        const outcome o = load(how, (const uint8_t *)bytes, length);
        const double s = (double)(clock() - start) / CLOCKS_PER_SEC;
        EXPECT(o.id == 0, "id %d", o.id);
        best = s < best ? s : best;
    }
    memory[0] = load_meter.peak;
    memory[1] = load_meter.asked;
    return best;
}

static void growth(void)
{
    static const struct {
        const char *name;
        load_fn *how;
        make_fn *make;
        size_t count;
    } families[] = {{"safetensors tensors", load_safetensors, many_tensors, 10000},
                    {"json keys", load_json, many_keys, 12500},
                    {"onnx nodes", load_onnx, many_nodes, 10000},
                    {"onnx shapes", load_onnx, many_shapes, 4000}};
    char *bytes = malloc((size_t)1 << 24);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        size_t one[2], two[2];
        double a = 0, b = 0;
        bool is_good = TEST_SANITIZED;
        /* A factor of four for quadratic growth; caches make linear growth more than a factor of
         * two. Other load can spoil an attempt. */
        for (int try = 0; try < 5 && (try == 0 || !is_good); try++) {
            a = seconds_of(families[i].how, bytes, families[i].make(bytes, families[i].count), one);
            b = seconds_of(families[i].how, bytes, families[i].make(bytes, 2 * families[i].count),
                           two);
            printf("%s: %.1f ms, twice as many %.1f ms\n", families[i].name, 1e3 * a, 1e3 * b);
            is_good = is_good || b <= 3.2 * a + 5e-3;
        }
        EXPECT(is_good, "%s: %g s and %g s", families[i].name, a, b);
        for (int k = 0; k < 2; k++)
            EXPECT(two[k] <= one[k] * 22 / 10 + (1 << 20), "%s: %zu and %zu bytes %s",
                   families[i].name, one[k], two[k], k == 0 ? "at a time" : "in all");
    }
    free(bytes);
}

/* ---- limits at their edge ---- */

static int with_nodes(size_t count, uint64_t limit)
{
    char *bytes = malloc(count * 64 + 128);
    const size_t length = many_nodes(bytes, count);
    const takt_config config = {.limits = {.nodes = limit}};
    takt_ctx *ctx;
    int id = -1;
    if (EXPECT_OK(NULL, takt_ctx_create(&config, &ctx))) {
        id = load_onnx(ctx, bytes, length) == TAKT_OK ? 0 : takt_last_error_info(ctx)->id;
        takt_ctx_destroy(ctx);
    }
    free(bytes);
    return id;
}

static int with_depth(int depth, uint64_t limit)
{
    char text[256] = "";
    for (int i = 0; i < depth; i++)
        text[i] = '[', text[2 * depth - 1 - i] = ']';
    const takt_config config = {.limits = {.depth = limit}};
    takt_ctx *ctx;
    int id = -1;
    if (EXPECT_OK(NULL, takt_ctx_create(&config, &ctx))) {
        id = load_json(ctx, text, (size_t)depth * 2) == TAKT_OK ? 0 : takt_last_error_info(ctx)->id;
        takt_ctx_destroy(ctx);
    }
    return id;
}

static int with_rank(size_t rank)
{
    char text[256], dims[160] = "";
    for (size_t i = 0; i < rank; i++)
        strcat(dims, i > 0 ? ",1" : "1");
    const uint64_t length = (uint64_t)snprintf(
        text + 8, sizeof text - 8,
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[%s],\"data_offsets\":[0,1]}}", dims);
    memcpy(text, &length, 8);
    text[8 + length] = 0;
    return load(load_safetensors, (const uint8_t *)text, 9 + (size_t)length).id;
}

static void limits(void)
{
    EXPECT_EQ(with_depth(19, 20), 0);
    EXPECT_EQ(with_depth(20, 20), 0);
    EXPECT_IS(with_depth(21, 20), !=, 0);
    EXPECT_EQ(with_rank(15), 0);
    EXPECT_EQ(with_rank(16), 0);
    EXPECT_IS(with_rank(17), !=, 0);
    /* The graph has the nodes of the file and its input. */
    const int below = with_nodes(98, 100), at = with_nodes(99, 100), above = with_nodes(101, 100);
    EXPECT(below == 0 && at == 0 && above != 0, "%d %d %d", below, at, above);
}

int main(int argc, char **argv)
{
    corpus(argc == 2 && strcmp(argv[1], "--write") == 0);
    growth();
    limits();
    return test_done();
}
