/* type.c - types: size, text, broadcasting. */
#include "ir/type.h"

#include <string.h>

#include "test.h"

static takt_ctx *ctx;
static takt_dims *dims;

static takt_dim name(const char *text)
{
    takt_dim d = 0;
    EXPECT_OK(ctx, takt_dim_name(dims, takt_span_of(text), &d));
    return d;
}

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_dims_create(ctx, &dims));
}

static void end(void)
{
    takt_dims_release(dims);
    takt_ctx_destroy(ctx);
}

static void sizes(void)
{
    const int64_t huge = INT64_C(1) << 40;
    const takt_type a = {.dtype = TAKT_F32, .rank = 2, .dim = {3, 4}};
    const takt_type large = {.dtype = TAKT_F32, .rank = 2, .dim = {huge, huge}};
    const takt_type empty = {.dtype = TAKT_F32, .rank = 3, .dim = {huge, huge, 0}};
    const takt_type named = {.dtype = TAKT_F32, .rank = 1, .dim = {-1}};
    const takt_type scalar = {.dtype = TAKT_F64};
    size_t n = 0;
    EXPECT(takt_type_count(&a, &n) && n == 12);
    EXPECT(takt_type_bytes(&a, &n) && n == 48);
    EXPECT(takt_type_bytes(&scalar, &n) && n == 8);
    EXPECT(!takt_type_count(&large, &n));
    EXPECT(takt_type_count(&empty, &n) && n == 0);
    EXPECT(!takt_type_count(&named, &n) && !takt_type_is_concrete(&named));
}

static void text(void)
{
    begin();
    char buffer[TAKT_TYPE_TEXT];
    takt_type t = {.dtype = TAKT_F32, .rank = 2, .dim = {name("batch"), 784}};
    EXPECT(strcmp(takt_type_text(dims, &t, buffer), "f32[batch, 784]") == 0, "%s", buffer);
    takt_text out;
    takt_text_init(&out, ctx);
    takt_type_print(dims, &t, &out);
    EXPECT_TEXT(takt_text_get(&out), "f32[batch, 784]");
    takt_text_deinit(&out);
    t = (takt_type){.dtype = TAKT_I64};
    EXPECT(strcmp(takt_type_text(NULL, &t, buffer), "i64[]") == 0, "%s", buffer);
    t.rank = TAKT_MAX_RANK;
    for (int i = 0; i < t.rank; i++)
        t.dim[i] = INT64_MAX - i;
    takt_type_text(dims, &t, buffer);
    EXPECT(strlen(buffer) < TAKT_TYPE_TEXT && strstr(buffer, "...]") != NULL, "%s", buffer);
    end();
}

static bool broadcasts(takt_type a, takt_type b, takt_type *out)
{
    bool fits = false;
    *out = a;
    EXPECT_OK(ctx, takt_type_broadcast(dims, out, &b, &fits));
    return fits;
}

static void broadcasting(void)
{
    begin();
    const takt_dim batch = name("batch"), n = name("n");
    const takt_type a = {.dtype = TAKT_F32, .rank = 2, .dim = {batch, 4}};
    const takt_type b = {.dtype = TAKT_F32, .rank = 2, .dim = {n, 4}};
    const takt_type row = {.dtype = TAKT_F32, .rank = 1, .dim = {4}};
    const takt_type one = {.dtype = TAKT_F32, .rank = 4, .dim = {7, 1, 1, 1}};
    const takt_type bad = {.dtype = TAKT_F32, .rank = 1, .dim = {3}};
    takt_type out;
    EXPECT(broadcasts(a, row, &out) && takt_type_same(dims, &out, &a));
    EXPECT(broadcasts(row, a, &out) && takt_type_same(dims, &out, &a));
    EXPECT(broadcasts(a, one, &out) && out.rank == 4 && out.dim[0] == 7 && out.dim[1] == 1);
    EXPECT_EQ(out.dim[2], batch);
    EXPECT_EQ(out.dim[3], 4);
    EXPECT(!broadcasts(a, bad, &out) && takt_type_same(dims, &out, &a), "unchanged on failure");
    EXPECT(broadcasts(a, b, &out) && takt_dim_same(dims, batch, n));
    const takt_type five = {.dtype = TAKT_F32, .rank = 2, .dim = {5, 4}};
    EXPECT(broadcasts(b, five, &out) && out.dim[0] == 5 && takt_dim_same(dims, batch, 5));
    const takt_type six = {.dtype = TAKT_F32, .rank = 2, .dim = {6, 4}};
    EXPECT(!broadcasts(a, six, &out));
    end();
}

TEST_MAIN(sizes, text, broadcasting)
