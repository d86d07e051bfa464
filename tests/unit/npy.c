/* npy.c - .npy files: valid ones are read, invalid ones are refused with position and reason. */
#include "test.h"

#include <string.h>

#include <takt/array.h>

#include "util/inject.h"

static takt_ctx *ctx;

typedef struct bytes {
    unsigned char at[4096];
    size_t length;
} bytes;

static void add(bytes *b, const void *from, size_t length)
{
    memcpy(b->at + b->length, from, length);
    b->length += length;
}

/* A version 1 file with this dictionary and `data` bytes after it. */
static bytes file_of(const char *dict, size_t data)
{
    bytes b = {.length = 0};
    static const unsigned char zeros[1024];
    const size_t length = strlen(dict);
    add(&b, "\x93NUMPY\x01\x00", 8);
    add(&b, (unsigned char[]){(unsigned char)length, (unsigned char)(length >> 8)}, 2);
    add(&b, dict, length);
    add(&b, zeros, data);
    return b;
}

static void refused(const bytes *b, const char *says, int64_t offset)
{
    takt_tensor_view v;
    EXPECT_STATUS(ctx, takt_npy_load_memory(ctx, "x.npy", b->at, b->length, &v), TAKT_ERR_FORMAT);
    const takt_error *e = takt_last_error_info(ctx);
    EXPECT(v.data == NULL && e->id == 3201, "id %d", e->id);
    EXPECT(strncmp(e->message, "x.npy: ", 7) == 0 && strstr(e->message, says) != NULL,
           "`%s` is not in `%s`", says, e->message);
    EXPECT(offset < 0 || e->offset == offset, "%s: at %lld, expected %lld", says,
           (long long)e->offset, (long long)offset);
}

static void refused_dict(const char *dict, size_t data, const char *says)
{
    const bytes b = file_of(dict, data);
    refused(&b, says, -1);
}

static void reads_every_type(void)
{
    static const struct {
        const char *descr;
        takt_dtype dtype;
    } types[] = {{"<f8", TAKT_F64}, {"<f4", TAKT_F32}, {"<f2", TAKT_F16}, {"<i8", TAKT_I64},
                 {"<i4", TAKT_I32}, {"<i2", TAKT_I16}, {"|i1", TAKT_I8},  {"<u8", TAKT_U64},
                 {"<u4", TAKT_U32}, {"<u2", TAKT_U16}, {"|u1", TAKT_U8},  {"|b1", TAKT_BOOL}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char dict[128];
        takt_tensor_view v;
        snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (2, 3), }\n",
                 types[i].descr);
        const bytes b = file_of(dict, 6 * (size_t)takt_dtype_bits(types[i].dtype) / 8);
        EXPECT_OK(ctx, takt_npy_load_memory(ctx, "x.npy", b.at, b.length, &v));
        EXPECT(v.dtype == types[i].dtype && v.rank == 2 && v.dims[0] == 2 && v.dims[1] == 3, "%s",
               types[i].descr);
        takt_view_free(ctx, &v);
    }
}

static void reads_every_shape(void)
{
    static const struct {
        const char *shape;
        int rank;
        size_t count;
    } shapes[] = {{"()", 0, 1},
                  {"(3,)", 1, 3},
                  {"(0,)", 1, 0},
                  {"(2, 0, 4)", 3, 0},
                  {"(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2)", 16, 2},
                  {"(2,2,)", 2, 4}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char dict[160];
        takt_tensor_view v;
        snprintf(dict, sizeof dict,
                 "{\"shape\": %s, \"descr\": \"<f4\", \"fortran_order\": False}\n",
                 shapes[i].shape);
        const bytes b = file_of(dict, 4 * shapes[i].count);
        EXPECT_OK(ctx, takt_npy_load_memory(ctx, "x.npy", b.at, b.length, &v));
        EXPECT(v.rank == shapes[i].rank, "%s has rank %d", shapes[i].shape, v.rank);
        takt_view_free(ctx, &v);
    }
}

static void reads_versions_two_and_three(void)
{
    const char *dict = "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 2), }\n";
    for (unsigned char version = 2; version <= 3; version++) {
        bytes b = {.length = 0};
        takt_tensor_view v;
        add(&b, (unsigned char[]){0x93, 'N', 'U', 'M', 'P', 'Y', version, 0}, 8);
        add(&b, (unsigned char[]){(unsigned char)strlen(dict), 0, 0, 0}, 4);
        add(&b, dict, strlen(dict));
        add(&b, (int16_t[]){1, 2, 3, 4}, 8);
        EXPECT_OK(ctx, takt_npy_load_memory(ctx, "x.npy", b.at, b.length, &v));
        const int16_t *x = v.data;
        EXPECT(x != NULL && x[0] == 1 && x[1] == 3 && x[2] == 2 && x[3] == 4, "not transposed");
        takt_view_free(ctx, &v);
    }
}

/* TRUST's classes of bad files, in order. */
static void refuses_bad_versions_and_lengths(void)
{
    static const unsigned char versions[][2] = {{0, 0}, {4, 0}, {255, 0}, {1, 1}};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        bytes b = file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (), }\n", 4);
        memcpy(b.at + 6, versions[i], 2);
        refused(&b, "of .npy is unknown", 6);
    }
    bytes b = file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (), }\n", 4);
    memcpy(b.at + 8, "\xff\xff", 2);
    refused(&b, "the file ends in its header", (int64_t)b.length);
    memcpy(b.at + 6, "\x02\x00\x01\x00\x01\x00", 6);
    refused(&b, "longer than 65536 bytes", 8);
    for (size_t length = 0; length < b.length; length++) {
        bytes cut = file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (), }\n", 4);
        cut.length = length;
        refused(&cut, "", -1);
    }
    bytes magic = {.length = 0};
    add(&magic, "\x93NUMPX\x01\x00\x00\x00", 10);
    refused(&magic, "first bytes are not", 0);
}

static void refuses_what_is_no_dictionary(void)
{
    static char deep[3000];
    memset(deep, '{', sizeof deep - 2);
    deep[sizeof deep - 2] = '\n';
    refused_dict(deep, 0, "is not a dictionary");
    refused_dict("['descr']\n", 0, "is not a dictionary");
    refused_dict("{}\n", 0, "lacks descr");
    refused_dict("{'descr': '<f4'\n", 0, "is not a dictionary");
    refused_dict("{'descr': __import__('os'), }\n", 0, "descr is not a string");
    refused_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (), } + f()\n", 4, "follows");
    refused_dict("{'descr': '<f4', 'descr': '<f4', }\n", 0, "twice");
    refused_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}\n", 4,
                 "other than");
    refused_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", 4, "newline");
    refused_dict("{'de\\x73cr': '<f4'}\n", 0, "is not a dictionary");
}

static void refuses_bad_values(void)
{
    refused_dict("{'descr': '<f4', 'fortran_order': 0, 'shape': (), }\n", 4,
                 "neither True nor False");
    refused_dict("{'descr': '<f4', 'fortran_order': true, 'shape': (), }\n", 4, "neither True nor");
    refused_dict("{'descr': '|O', 'fortran_order': False, 'shape': (), }\n", 8, "Python objects");
    refused_dict("{'descr': [('a', '<f4')], }\n", 4, "structures");
    refused_dict("{'descr': '>f4', 'fortran_order': False, 'shape': (), }\n", 4, "big-endian");
    EXPECT(strstr(takt_last_error_info(ctx)->hint, "newbyteorder") != NULL, "no hint");
    refused_dict("{'descr': '<f3', 'fortran_order': False, 'shape': (), }\n", 3, "'<f3'");
    refused_dict("{'descr': '<c8', 'fortran_order': False, 'shape': (), }\n", 8, "'<c8'");
    refused_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }\n", 4, "non-negative");
    refused_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (3), }\n", 12, "needs a comma");
    refused_dict("{'descr': '<f4', 'fortran_order': False, 'shape': 3, }\n", 12, "not a tuple");
    refused_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (2 2), }\n", 16, "not a tuple");
    refused_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551616,), }\n",
                 4, "too large");
    refused_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }\n",
                 4, "the shape is too large");
    refused_dict(
        "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296,), }\n", 0,
        "the shape is too large");
    refused_dict("{'descr': '<f4', 'fortran_order': False, "
                 "'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1), }\n",
                 4, "more than 16");
    refused_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", 7,
                 "promises 8 bytes of data, the file has 7");
    refused_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", 9,
                 "the file has 9");
    bytes b = file_of("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }\n", 2);
    b.at[b.length - 1] = 2;
    refused(&b, "neither 0 nor 1", (int64_t)b.length - 1);
}

static void writes_what_it_reads(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s/a.npy", getenv("TAKT_TEST_TMP"));
    float data[6] = {1, 2, 3, 4, 5, 6};
    const takt_tensor_view out = {.dtype = TAKT_F32, .rank = 2, .dims = {2, 3}, .data = data};
    takt_tensor_view in;
    EXPECT_OK(ctx, takt_npy_save(ctx, path, &out));
    EXPECT_OK(ctx, takt_npy_load(ctx, path, &in));
    EXPECT(in.data != NULL && memcmp(in.data, data, sizeof data) == 0 && in.dims[1] == 3,
           "differs");
    takt_view_free(ctx, &in);
    takt_tensor_view bad = out;
    bad.dtype = TAKT_BF16;
    EXPECT_STATUS(ctx, takt_npy_save(ctx, path, &bad), TAKT_ERR_SHAPE);
    bad = out;
    bad.strides[0] = 7;
    bad.strides[1] = 1;
    EXPECT_STATUS(ctx, takt_npy_save(ctx, path, &bad), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_npy_load(ctx, "/no/such.npy", &in), TAKT_ERR_IO);
    EXPECT_STATUS(ctx, takt_npy_load(ctx, NULL, &in), TAKT_ERR_ARGUMENT);
}

/* Whatever fails, memory or disk, nothing leaks and existing files are unchanged. */
static takt_status save_and_load(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_inject_config(inject, &config);
    takt_ctx *own;
    takt_tensor_view in = {.data = NULL};
    static float data[4] = {1, 2, 3, 4};
    const takt_tensor_view out = {.dtype = TAKT_F32, .rank = 1, .dims = {4}, .data = data};
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    status = takt_npy_save(own, user, &out);
    if (status == TAKT_OK)
        status = takt_npy_load(own, user, &in);
    if (status == TAKT_OK)
        EXPECT_EQ(memcmp(in.data, data, sizeof data), 0);
    takt_view_free(own, &in);
    takt_ctx_destroy(own);
    return status;
}

static void survives_failures(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s/swept.npy", getenv("TAKT_TEST_TMP"));
    const takt_sweep_report r =
        takt_sweep(save_and_load, path, TAKT_INJECT_MEMORY | TAKT_INJECT_FILES);
    EXPECT(r.is_good && r.runs > 10, "%s (%llu runs)", r.message, (unsigned long long)r.runs);
}

int main(void)
{
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK)
        return 1;
    reads_every_type();
    reads_every_shape();
    reads_versions_two_and_three();
    refuses_bad_versions_and_lengths();
    refuses_what_is_no_dictionary();
    refuses_bad_values();
    writes_what_it_reads();
    survives_failures();
    takt_ctx_destroy(ctx);
    return test_done();
}
