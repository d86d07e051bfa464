/* array.c - tensors in the caller's memory: random ones, digests, text; settings and names. */
#include "test.h"
#include "util/sheet.h"

#include <math.h>
#include <string.h>

#include <takt/array.h>
#include <takt/settings.h>

static takt_ctx *ctx;

static int refuse(void *user, const char *text, size_t length)
{
    (void)user, (void)text, (void)length;
    return 1;
}

static void prints(const takt_tensor_view *v, takt_format format, const char *want)
{
    sheet s = {.length = 0};
    EXPECT_OK(ctx, takt_view_print(ctx, v, format, sheet_keep, &s));
    EXPECT(strcmp(s.at, want) == 0, "\n%s\nexpected\n%s", s.at, want);
}

static void prints_for_people(void)
{
    float few[4] = {1, -0.5f, NAN, 1e-7f};
    int64_t many[100];
    bool flag = true;
    for (int i = 0; i < 100; i++)
        many[i] = i;
    prints(&(takt_tensor_view){.dtype = TAKT_F32, .rank = 2, .dims = {2, 2}, .data = few},
           TAKT_FORMAT_TEXT, "[[1, -0.5],\n [nan, 1e-07]]");
    prints(&(takt_tensor_view){.dtype = TAKT_F32, .rank = 3, .dims = {2, 1, 2}, .data = few},
           TAKT_FORMAT_TEXT, "[[[1, -0.5]],\n [[nan, 1e-07]]]");
    prints(&(takt_tensor_view){.dtype = TAKT_I64, .rank = 1, .dims = {100}, .data = many},
           TAKT_FORMAT_TEXT, "[0, 1, 2, 3, ..., 96, 97, 98, 99]");
    prints(&(takt_tensor_view){.dtype = TAKT_I64, .rank = 2, .dims = {50, 2}, .data = many},
           TAKT_FORMAT_TEXT, "[[0, 1],\n [2, 3],\n ...,\n [96, 97],\n [98, 99]]");
    prints(&(takt_tensor_view){.dtype = TAKT_BOOL, .rank = 0, .data = &flag}, TAKT_FORMAT_TEXT,
           "true");
    prints(&(takt_tensor_view){.dtype = TAKT_F32, .rank = 2, .dims = {0, 3}, .data = few},
           TAKT_FORMAT_TEXT, "[]");
    prints(&(takt_tensor_view){.dtype = TAKT_F32, .rank = 1, .dims = {3}, .data = few},
           TAKT_FORMAT_JSON,
           "{\"dtype\":\"f32\",\"shape\":[3],\"truncated\":false,\"values\":[1,-0.5,null]}");
    const takt_tensor_view none = {.dtype = TAKT_F32, .rank = 1, .dims = {3}};
    EXPECT_STATUS(ctx, takt_view_print(ctx, &none, TAKT_FORMAT_TEXT, sheet_keep, NULL),
                  TAKT_ERR_ARGUMENT);
    const takt_tensor_view some = {.dtype = TAKT_F32, .rank = 1, .dims = {3}, .data = few};
    EXPECT_STATUS(ctx, takt_view_print(ctx, &some, TAKT_FORMAT_TEXT, refuse, NULL), TAKT_ERR_IO);
}

static void digests(void)
{
    char a[TAKT_DIGEST_TEXT], b[TAKT_DIGEST_TEXT];
    uint8_t abc[3] = {'a', 'b', 'c'};
    takt_tensor_view v[2] = {{.dtype = TAKT_U8, .rank = 1, .dims = {1}, .data = abc},
                             {.dtype = TAKT_U8, .rank = 1, .dims = {2}, .data = abc + 1}};
    EXPECT_OK(ctx, takt_view_digest(ctx, v, 2, a));
    EXPECT(strcmp(a, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") == 0, "%s",
           a);
    static const struct {
        takt_dtype dtype;
        uint64_t nan, other, infinity;
    } nans[] = {{TAKT_F64, 0x7ff8000000000000, 0xfff0000000000001, 0x7ff0000000000000},
                {TAKT_F32, 0x7fc00000, 0xff800001, 0x7f800000},
                {TAKT_F16, 0x7e00, 0xfc01, 0x7c00},
                {TAKT_BF16, 0x7fc0, 0xff81, 0x7f80}};
    for (size_t i = 0; i < sizeof nans / sizeof *nans; i++) {
        uint64_t x = nans[i].nan, y = nans[i].other, z = nans[i].infinity;
        takt_tensor_view view = {.dtype = nans[i].dtype, .rank = 0, .data = &x};
        EXPECT_OK(ctx, takt_view_digest(ctx, &view, 1, a));
        view.data = &y;
        EXPECT_OK(ctx, takt_view_digest(ctx, &view, 1, b));
        EXPECT(strcmp(a, b) == 0, "two NaNs of %s differ", takt_dtype_name(view.dtype));
        view.data = &z;
        EXPECT_OK(ctx, takt_view_digest(ctx, &view, 1, b));
        EXPECT(strcmp(a, b) != 0, "NaN and infinity of %s are one", takt_dtype_name(view.dtype));
    }
}

static void fills_with_random_numbers(void)
{
    for (int d = 0; d <= TAKT_BOOL; d++) {
        takt_tensor_view a = {.dtype = (takt_dtype)d, .rank = 1, .dims = {1000}}, b = a;
        char x[TAKT_DIGEST_TEXT], y[TAKT_DIGEST_TEXT], z[TAKT_DIGEST_TEXT];
        EXPECT_OK(ctx, takt_view_alloc(ctx, &a));
        EXPECT_OK(ctx, takt_view_alloc(ctx, &b));
        EXPECT_OK(ctx, takt_view_random(ctx, &a, 7, 0));
        EXPECT_OK(ctx, takt_view_random(ctx, &b, 7, 0));
        EXPECT_OK(ctx, takt_view_digest(ctx, &a, 1, x));
        EXPECT_OK(ctx, takt_view_digest(ctx, &b, 1, y));
        EXPECT_OK(ctx, takt_view_random(ctx, &b, 7, 1));
        EXPECT_OK(ctx, takt_view_digest(ctx, &b, 1, z));
        EXPECT(strcmp(x, y) == 0 && strcmp(x, z) != 0, "%s", takt_dtype_name(a.dtype));
        for (int i = 0; d == TAKT_F32 && i < 1000; i++)
            EXPECT(((float *)a.data)[i] >= -1 && ((float *)a.data)[i] < 1);
        for (int i = 0; d == TAKT_BOOL && i < 1000; i++)
            EXPECT_IS(((uint8_t *)a.data)[i], <=, 1);
        takt_view_free(ctx, &a);
        takt_view_free(ctx, &b);
    }
    takt_tensor_view huge = {.dtype = TAKT_F32, .rank = 2, .dims = {INT64_MAX, 3}};
    EXPECT_STATUS(ctx, takt_view_alloc(ctx, &huge), TAKT_ERR_LIMIT);
    huge.dims[0] = INT64_C(1) << 40;
    EXPECT_STATUS(ctx, takt_view_alloc(ctx, &huge), TAKT_ERR_LIMIT);
}

static takt_status note(void *user, const char *key, const char *value)
{
    sheet *s = user;
    sheet_keep(s, key, strlen(key));
    sheet_keep(s, "=", 1);
    sheet_keep(s, value, strlen(value));
    sheet_keep(s, ";", 1);
    return strcmp(key, "stop") == 0 ? TAKT_ERR_STATE : TAKT_OK;
}

static void reads(const char *json, takt_status want, const char *notes)
{
    char path[512];
    snprintf(path, sizeof path, "%s/settings.json", getenv("TAKT_TEST_TMP"));
    FILE *file = fopen(path, "w");
    sheet s = {.length = 0};
    if (!EXPECT(file != NULL))
        return;
    fputs(json, file);
    fclose(file);
    EXPECT_STATUS(ctx, takt_settings_read(ctx, path, note, &s), want);
    EXPECT(strcmp(s.at, notes) == 0, "%s, expected %s", s.at, notes);
}

static void reads_settings(void)
{
    reads("{\"a\": 1, \"b\": 2.5, \"c\": \"x\", \"d\": [true, \"y\", 3], \"e\": false}", TAKT_OK,
          "a=1;b=2.5;c=x;d=true;d=y;d=3;e=false;");
    reads("{}", TAKT_OK, "");
    reads("[]", TAKT_ERR_ARGUMENT, "");
    reads("{\"a\": null}", TAKT_ERR_ARGUMENT, "");
    reads("{\"a\": [[1]]}", TAKT_ERR_ARGUMENT, "");
    reads("{\"a\": {}}", TAKT_ERR_ARGUMENT, "");
    reads("{\"a\": 1", TAKT_ERR_FORMAT, "");
    reads("{\"stop\": 1, \"a\": 2}", TAKT_ERR_STATE, "stop=1;");
    EXPECT_STATUS(ctx, takt_settings_read(ctx, "/no/such.json", note, NULL), TAKT_ERR_IO);
    EXPECT_STATUS(ctx, takt_settings_read(ctx, NULL, note, NULL), TAKT_ERR_ARGUMENT);
}

static void finds_the_nearest(void)
{
    static const char *const names[] = {"threads", "seed", "memory-limit", "json", "x"};
    static const struct {
        const char *word;
        int nearest;
    } cases[] = {{"thread", 0}, {"memory_limit", 2}, {"sed", 1},
                 {"jsno", 3},   {"output", -1},      {"", -1},
                 {"X", 4},      {"y", -1},           {"THREADS", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        EXPECT(takt_nearest(cases[i].word, names, 5) == cases[i].nearest, "%s: %d", cases[i].word,
               takt_nearest(cases[i].word, names, 5));
}

int main(void)
{
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK)
        return 1;
    prints_for_people();
    digests();
    fills_with_random_numbers();
    reads_settings();
    finds_the_nearest();
    takt_ctx_destroy(ctx);
    return test_done();
}
