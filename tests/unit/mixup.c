/* mixup.c - shares and partners of mixed samples, labels as distributions, digests of data. */
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "util/memfs.h"

static takt_ctx *ctx;
enum { COUNT = 20000, SAMPLES = 1000 };
static uint64_t rows[COUNT], others[COUNT], again[COUNT];
static double shares[COUNT], same[COUNT];

/* Mean and variance of Beta(alpha, alpha): 1/2 and 1 / (8 alpha + 4). */
static void draws(double alpha)
{
    const takt_mixup how = {alpha, SAMPLES, {7, 2}};
    double sum = 0, squares = 0;
    size_t seen[4] = {0};
    EXPECT_OK(ctx, takt_data_mixup(ctx, &how, rows, COUNT, others, shares));
    for (size_t i = 0; i < COUNT; i++) {
        EXPECT_IS(shares[i], >=, 0);
        EXPECT_IS(shares[i], <=, 1);
        EXPECT_IS(others[i], <, SAMPLES);
        sum += shares[i];
        squares += (shares[i] - 0.5) * (shares[i] - 0.5);
        seen[others[i] * 4 / SAMPLES]++;
    }
    EXPECT(fabs(sum / COUNT - 0.5) < 0.015, "mean %g", sum / COUNT);
    EXPECT(fabs(squares / COUNT * (8 * alpha + 4) - 1) < 0.05, "alpha %g: variance %g", alpha,
           squares / COUNT);
    for (size_t i = 0; i < 4; i++)
        EXPECT(seen[i] > COUNT / 5 && seen[i] < COUNT * 3 / 10, "%zu", seen[i]);
}

/* By the sample, not by its position in a batch; another epoch draws again. */
static void depends(void)
{
    takt_mixup how = {0.4, SAMPLES, {7, 2}};
    EXPECT_OK(ctx, takt_data_mixup(ctx, &how, rows, COUNT, others, shares));
    EXPECT_OK(ctx, takt_data_mixup(ctx, &how, rows + 17, COUNT - 17, again, same));
    EXPECT_EQ(memcmp(others + 17, again, (COUNT - 17) * sizeof *others), 0);
    EXPECT_EQ(memcmp(shares + 17, same, (COUNT - 17) * sizeof *shares), 0);
    how.key.epoch = 3;
    EXPECT_OK(ctx, takt_data_mixup(ctx, &how, rows, COUNT, again, same));
    EXPECT_IS(memcmp(others, again, sizeof others), !=, 0);
    EXPECT_IS(memcmp(shares, same, sizeof same), !=, 0);
}

static void mixes(void)
{
    float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {3, 2, 1, 0, 0, 0};
    const double parts[2] = {0.25, 1};
    takt_tensor_view x = {.dtype = TAKT_F32, .rank = 2, .dims = {2, 3}, .data = a};
    takt_tensor_view y = {.dtype = TAKT_F32, .rank = 2, .dims = {2, 3}, .data = b};
    EXPECT_OK(ctx, takt_view_mix(ctx, parts, 2, &x, &y));
    EXPECT_EQ(a[0], 2.5F);
    EXPECT_EQ(a[1], 2);
    EXPECT_EQ(a[2], 1.5F);
    EXPECT_EQ(a[3], 4);
    EXPECT_EQ(a[5], 6);
    EXPECT_STATUS(ctx, takt_view_mix(ctx, parts, 3, &x, &y), TAKT_ERR_ARGUMENT);
    y.dims[1] = 2;
    EXPECT_STATUS(ctx, takt_view_mix(ctx, parts, 2, &x, &y), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_view_mix(ctx, NULL, 2, &x, &y), TAKT_ERR_ARGUMENT);
}

static void refuses(void)
{
    takt_mixup how = {0.4, 0, {7, 2}};
    double alpha = 9;
    EXPECT_STATUS(ctx, takt_data_mixup(ctx, &how, rows, 1, others, shares), TAKT_ERR_ARGUMENT);
    how = (takt_mixup){-1, SAMPLES, {0, 0}};
    EXPECT_STATUS(ctx, takt_data_mixup(ctx, &how, rows, 1, others, shares), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_data_mixup(ctx, &how, NULL, 1, others, shares), TAKT_ERR_ARGUMENT);
    EXPECT_OK(ctx, takt_mixup_alpha(ctx, "flip=0.5,mixup=0.25", &alpha));
    EXPECT_EQ(alpha, 0.25);
    EXPECT_OK(ctx, takt_mixup_alpha(ctx, "flip=0.5", &alpha));
    EXPECT_EQ(alpha, 0);
    EXPECT_STATUS(ctx, takt_mixup_alpha(ctx, "mixup=5", &alpha), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_mixup_alpha(ctx, NULL, &alpha), TAKT_ERR_ARGUMENT);
}

static takt_data *open_data(const char *name, uint64_t limit)
{
    takt_data *data = NULL;
    const takt_data_options options = {.limit = limit};
    EXPECT_OK(ctx, takt_data_open(ctx, name, &options, &data));
    return data;
}

static void labels(void)
{
    static const uint64_t two[] = {2, 1}, beyond[] = {3};
    float to[6];
    takt_tensor_view v = {.dtype = TAKT_F32, .rank = 2, .dims = {2, 3}, .data = to};
    takt_data *data = open_data("a.csv", 0);
    EXPECT_OK(ctx, takt_data_take_soft(data, "labels", two, 2, &v));
    EXPECT_EQ(to[0], 0);
    EXPECT_EQ(to[1], 0);
    EXPECT_EQ(to[2], 1);
    EXPECT_EQ(to[3], 1);
    EXPECT_EQ(to[4], 0);
    EXPECT_EQ(to[5], 0);
    EXPECT_STATUS(ctx, takt_data_take_soft(data, "labels", beyond, 1, &v), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_data_take_soft(data, "x", two, 2, &v), TAKT_ERR_FORMAT);
    v.dims[1] = 2; /* the label 2 is none of two classes */
    EXPECT_STATUS(ctx, takt_data_take_soft(data, "labels", two, 2, &v), TAKT_ERR_FORMAT);
    v.rank = 1;
    EXPECT_STATUS(ctx, takt_data_take_soft(data, "labels", two, 2, &v), TAKT_ERR_ARGUMENT);
    takt_data_destroy(data);
}

/* The same samples have the same digest, whatever their file; a changed number, label or limit
 * changes it.
 */
static void digests(void)
{
    static const char *const names[] = {"a.csv", "b.csv", "c.csv", "d.csv"};
    char text[5][TAKT_DIGEST_TEXT];
    for (size_t i = 0; i < 5; i++) {
        takt_data *data = open_data(names[i % 4], i == 4 ? 2 : 0);
        EXPECT_OK(ctx, takt_data_digest(data, text[i]));
        takt_data_destroy(data);
    }
    EXPECT_TEXT(text[0], text[1]);
    EXPECT_EQ(strlen(text[0]), 64);
    for (size_t i = 2; i < 5; i++)
        EXPECT(strcmp(text[0], text[i]) != 0, "%zu", i);
    EXPECT_STATUS(NULL, takt_data_digest(NULL, text[0]), TAKT_ERR_ARGUMENT);
}

int main(void)
{
    static const char *const tables[][2] = {{"a.csv", "1,2,1\n3,4,0\n5,6,2\n"},
                                            {"b.csv", "1.0,2,1\n3,4.0,0\n5,6,2\n"},
                                            {"c.csv", "1,2,1\n3,4.5,0\n5,6,2\n"},
                                            {"d.csv", "1,2,1\n3,4,1\n5,6,2\n"}};
    takt_memfs *fs = takt_memfs_create();
    takt_config config = {0};
    if (!EXPECT(fs != NULL))
        return test_done();
    for (size_t i = 0; i < 4; i++)
        EXPECT_EQ(takt_memfs_put(fs, tables[i][0], tables[i][1], strlen(tables[i][1])), 0);
    const takt_files files = takt_memfs_files(fs);
    config.files = &files;
    if (!EXPECT_OK(NULL, takt_ctx_create(&config, &ctx)))
        return test_done();
    for (size_t i = 0; i < COUNT; i++)
        rows[i] = i;
    draws(1e-310);
    draws(1e-6);
    draws(1e-3);
    draws(0.2);
    draws(1);
    draws(4);
    depends();
    mixes();
    refuses();
    labels();
    digests();
    takt_ctx_destroy(ctx);
    takt_memfs_destroy(fs);
    return test_done();
}
