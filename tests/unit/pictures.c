/* pictures.c - pictures as samples: other sizes, and changes that only they take. */
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "test.h"

static takt_ctx *ctx;

/* A constant plane stays one at any size, and a mean where sizes are halved. */
static void resizes(void)
{
    enum { MOST = 20 };
    float from[2 * MOST * MOST], to[2 * MOST * MOST];
    for (int64_t h = 1; h <= MOST; h += 3)
        for (int64_t w = 1; w <= MOST; w += 4) {
            for (int64_t i = 0; i < 2 * 6 * 8; i++)
                from[i] = i < 6 * 8 ? 7.5F : -2;
            const takt_tensor_view own = {
                .dtype = TAKT_F32, .rank = 3, .dims = {2, 6, 8}, .data = from};
            const takt_tensor_view other = {
                .dtype = TAKT_F32, .rank = 3, .dims = {2, h, w}, .data = to};
            EXPECT_OK(ctx, takt_picture_resize(ctx, &own, &other));
            for (int64_t i = 0; i < 2 * h * w; i++)
                EXPECT(fabs((double)to[i] - (i < h * w ? 7.5 : -2)) < 1e-5, "%g", (double)to[i]);
        }
    const takt_tensor_view flat = {.dtype = TAKT_F32, .rank = 2, .dims = {6, 8}, .data = from};
    EXPECT_STATUS(ctx, takt_picture_resize(ctx, &flat, &flat), TAKT_ERR_ARGUMENT);
}

/* Every other column, rows before columns, or another device are refused on either side; strides
 * of dense views are taken. */
static void resizes_dense(void)
{
    static const takt_tensor_view others[] = {
        {.dtype = TAKT_F32, .rank = 3, .dims = {1, 2, 4}, .strides = {16, 8, 2}},
        {.dtype = TAKT_F32, .rank = 3, .dims = {1, 2, 4}, .strides = {8, 1, 2}},
        {.dtype = TAKT_F32, .rank = 3, .dims = {1, 2, 4}, .device = 1}};
    float from[16], to[16] = {0};
    for (int i = 0; i < 16; i++)
        from[i] = (float)i;
    takt_tensor_view x = {.dtype = TAKT_F32, .rank = 3, .dims = {1, 2, 4}, .data = from}, y = x;
    y.data = to;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        takt_tensor_view other = others[i];
        other.data = from;
        EXPECT_STATUS(ctx, takt_picture_resize(ctx, &other, &y), TAKT_ERR_ARGUMENT);
        other.data = to;
        EXPECT_STATUS(ctx, takt_picture_resize(ctx, &x, &other), TAKT_ERR_ARGUMENT);
    }
    EXPECT(to[0] == 0 && to[7] == 0, "written: %g %g", (double)to[0], (double)to[7]);
    x.strides[0] = 8, x.strides[1] = 4, x.strides[2] = 1;
    EXPECT_OK(ctx, takt_picture_resize(ctx, &x, &y));
    EXPECT(memcmp(from, to, 8 * sizeof *to) == 0, "%g", (double)to[7]);
}

/* Samples of one axis are not pictures: what moves or masks rows and columns is refused, also
 * before there is a sample. */
static void of_one_axis(void)
{
    static const char *const pictures[] = {"flip=0.5", "shift=1", "crop=0.2", "cutout=2",
                                           "noise=0.1,freq_mask=2"};
    enum { COUNT = 5, SIZE = 4 };
    float a[COUNT * SIZE] = {0};
    const uint64_t rows[COUNT] = {0, 1, 2, 3, 4};
    const takt_augment_key key = {1, 2};
    const takt_tensor_view v = {.dtype = TAKT_F32, .rank = 2, .dims = {COUNT, SIZE}, .data = a};
    for (size_t i = 0; i < 2 * sizeof pictures / sizeof *pictures; i++) {
        const char *how = pictures[i / 2];
        EXPECT_STATUS(ctx, takt_data_augment(ctx, how, &key, rows, i % 2 * COUNT, &v),
                      TAKT_ERR_ARGUMENT);
        EXPECT(strstr(takt_last_error(ctx), "a sample is [4]") != NULL, "%s", takt_last_error(ctx));
    }
    for (size_t i = 0; i < COUNT * SIZE; i++)
        EXPECT(a[i] == 0, "element %zu is %g", i, (double)a[i]);
    EXPECT_OK(ctx, takt_data_augment(ctx, "flip=0,time_shift=1,time_mask=1,noise=1", &key, rows,
                                     COUNT, &v));
}

int main(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return test_done();
    resizes();
    resizes_dense();
    of_one_axis();
    takt_ctx_destroy(ctx);
    return test_done();
}
