/* evaluation.c - metrics, curves and the training step as a model: mistakes and failing memory. */
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "util/inject.h"
#include "util/memfs.h"

static takt_ctx *ctx;
enum { ROWS = 8, CLASSES = 3 };

static float x[ROWS * CLASSES] = {0, 1, 2, 3, 1, 2, 0, 5, 1, 1, 1, 0, 2, 1, 0, 3, 4, 1, 2, 2, 9};
static int64_t labels[ROWS] = {0, 1, 2, 0, 1, 2, -1, 1};

static const char net[] = "model net(x: f32[batch, 4]) seed=3 {\n"
                          "  return dense(dense(x, 8, act=relu), 3, act=softmax)\n"
                          "}\n";

static int drop(void *user, const char *text, size_t length)
{
    (void)user;
    (void)text;
    return length == 0;
}

/* A list of two pictures and one of two sounds, opened and given back. */
static takt_status open_lists(takt_ctx *own)
{
    static const char *const lists[] = {"p.tsv", "s.tsv"};
    takt_status status = TAKT_OK;
    for (size_t i = 0; i < 2 && status == TAKT_OK; i++) {
        takt_data *d = NULL;
        status = takt_data_open(own, lists[i], NULL, &d);
        EXPECT(status != TAKT_OK || (takt_data_count(d) == 2 && takt_data_classes(d) == 2 &&
                                     takt_data_field_count(d) == (i == 0 ? 2 : 3)));
        EXPECT_EQ(takt_data_rate(d), status != TAKT_OK || i == 0 ? 0 : 8000);
        takt_data_destroy(d);
    }
    return status;
}

static void put_lists(takt_memfs *fs)
{
    static const char sound[] = "RIFF\x28\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0"
                                "\2\0\x10\0data\4\0\0\0\1\0\2\0";
    static const char picture[] = "P5\n2 1\n255\nab", pictures[] = "a.pgm\tx\na.pgm\ty\n",
                      sounds[] = "a.wav\t0\na.wav\t1\n";
    EXPECT_EQ(takt_memfs_put(fs, "a.pgm", picture, sizeof picture - 1), 0);
    EXPECT_EQ(takt_memfs_put(fs, "a.wav", sound, sizeof sound - 1), 0);
    EXPECT_EQ(takt_memfs_put(fs, "p.tsv", pictures, sizeof pictures - 1), 0);
    EXPECT_EQ(takt_memfs_put(fs, "s.tsv", sounds, sizeof sounds - 1), 0);
}

static takt_status evaluate(takt_ctx *own)
{
    takt_evaluation *e = NULL;
    takt_metric_result r;
    const takt_tensor_view out = {.dtype = TAKT_F32, .rank = 2, .dims = {ROWS, CLASSES}, .data = x};
    const takt_tensor_view right = {.dtype = TAKT_I64, .rank = 1, .dims = {ROWS}, .data = labels};
    takt_status status = takt_evaluation_create(own, "top1,f1,auc,ppl", &e);
    for (int i = 0; i < 2 && status == TAKT_OK; i++)
        status = takt_evaluation_add(e, &out, &right);
    for (size_t i = 0; status == TAKT_OK && i < takt_evaluation_count(e); i++) {
        status = takt_evaluation_result(e, i, &r);
        EXPECT(status != TAKT_OK || (r.samples == 2 * (ROWS - 1) && r.ci.low <= r.value &&
                                     r.value <= r.ci.high && isfinite(r.value)),
               "%s", r.name);
    }
    if (status == TAKT_OK)
        status = takt_evaluation_write(e, TAKT_FORMAT_JSON, drop, NULL);
    takt_evaluation_destroy(e);
    return status;
}

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own;
    takt_model *m = NULL, *step = NULL;
    const takt_load_options load_options = {.training = true};
    const uint64_t at[2] = {1, 2};
    const double loss[2] = {2, 1};
    const takt_curve curve = {.step = at, .loss = loss, .count = 2};
    inject->inner_files = takt_memfs_files(user);
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    status = evaluate(own);
    if (status == TAKT_OK)
        status = open_lists(own);
    if (status == TAKT_OK)
        status = takt_model_load_memory(own, "m.takt", net, strlen(net), &load_options, &m);
    if (status == TAKT_OK)
        status = takt_train_model(m, NULL, &step);
    EXPECT(status != TAKT_OK || takt_model_input_count(step) == 2);
    for (int png = 0; png < 2 && status == TAKT_OK; png++)
        status = takt_curve_write(own, &curve, png != 0, drop, NULL);
    takt_model_destroy(step);
    takt_model_destroy(m);
    takt_ctx_destroy(own);
    return status;
}

/* Mistakes in the use of evaluations. */
static void bad_evaluations(void)
{
    takt_evaluation *e = NULL;
    takt_metric_result r;
    const takt_tensor_view out = {.dtype = TAKT_F32, .rank = 2, .dims = {2, 3}, .data = x};
    const takt_tensor_view few = {.dtype = TAKT_I64, .rank = 1, .dims = {1}, .data = labels};
    const takt_tensor_view strided = {
        .dtype = TAKT_F32, .rank = 2, .dims = {2, 3}, .strides = {1, 2}, .data = x};
    if (EXPECT_STATUS(NULL, takt_evaluation_create(ctx, "", &e), TAKT_ERR_NOT_FOUND))
        EXPECT_SAME(e, NULL);
    EXPECT_STATUS(NULL, takt_evaluation_create(ctx, NULL, &e), TAKT_ERR_ARGUMENT);
    if (!EXPECT_OK(ctx, takt_evaluation_create(ctx, "top1", &e)))
        return;
    EXPECT_STATUS(NULL, takt_evaluation_result(e, 0, &r), TAKT_ERR_STATE);
    EXPECT_STATUS(NULL, takt_evaluation_result(e, 1, &r), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_evaluation_add(e, &out, &few), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_evaluation_add(e, &strided, &few), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_evaluation_add(e, NULL, &few), TAKT_ERR_ARGUMENT);
    takt_evaluation_destroy(e);
    takt_evaluation_destroy(NULL);
}

/* A batch with a label that is not a class changes nothing, wherever in the batch it is. */
static void bad_labels(void)
{
    static const double wrong[] = {CLASSES, 1e300, NAN};
    double with[ROWS];
    takt_evaluation *e = NULL;
    takt_metric_result before, after;
    const takt_tensor_view out = {.dtype = TAKT_F32, .rank = 2, .dims = {ROWS, CLASSES}, .data = x};
    const takt_tensor_view right = {.dtype = TAKT_I64, .rank = 1, .dims = {ROWS}, .data = labels};
    const takt_tensor_view bad = {.dtype = TAKT_F64, .rank = 1, .dims = {ROWS}, .data = with};
    EXPECT_OK(ctx, takt_evaluation_create(ctx, "top1,auc", &e));
    EXPECT_OK(ctx, takt_evaluation_add(e, &out, &right));
    for (size_t m = 0; m < 2; m++) {
        EXPECT_OK(ctx, takt_evaluation_result(e, m, &before));
        for (size_t i = 0; i < 3; i++) {
            for (size_t k = 0; k < ROWS; k++)
                with[k] = k + 1 < ROWS ? 0 : wrong[i];
            EXPECT_STATUS(ctx, takt_evaluation_add(e, &out, &bad), TAKT_ERR_FORMAT);
        }
        EXPECT_OK(ctx, takt_evaluation_result(e, m, &after));
        EXPECT_EQ(before.samples, after.samples);
        EXPECT_EQ(before.value, after.value);
    }
    takt_evaluation_destroy(e);
}

/* Scores without an order end, too: NaN is below all numbers. */
static void nan_scores(void)
{
    float scores[4] = {0.1F, NAN, 0.7F, 0.3F};
    int64_t classes[4] = {0, 1, 1, 0};
    takt_evaluation *e = NULL;
    takt_metric_result r = {.value = -1};
    const takt_tensor_view out = {.dtype = TAKT_F32, .rank = 2, .dims = {4, 1}, .data = scores};
    const takt_tensor_view of = {.dtype = TAKT_I64, .rank = 1, .dims = {4}, .data = classes};
    EXPECT_OK(ctx, takt_evaluation_create(ctx, "auc", &e));
    EXPECT_OK(ctx, takt_evaluation_add(e, &out, &of));
    EXPECT_OK(ctx, takt_evaluation_result(e, 0, &r));
    EXPECT(r.value == 0.5, "%g", r.value);
    takt_evaluation_destroy(e);
}

static void fill_picture(float *to, size_t samples)
{
    for (size_t i = 0; i < samples * 24; i++)
        to[i] = (float)(i % 24 + 1);
}

static takt_status augment(const char *how, uint64_t epoch, const uint64_t *rows, size_t count,
                           float *data)
{
    const takt_augment_key key = {7, epoch};
    const takt_tensor_view v = {
        .dtype = TAKT_F32, .rank = 4, .dims = {(int64_t)count, 2, 3, 4}, .data = data};
    fill_picture(data, count);
    return takt_data_augment(ctx, how, &key, rows, count, &v);
}

/* Samples of 2 planes, 3 by 4: each augmentation by itself, and its dependence on the seed. */
static void augments(void)
{
    enum { COUNT = 200, SIZE = 24 };
    static float a[COUNT * SIZE], b[COUNT * SIZE], plain[COUNT * SIZE];
    uint64_t rows[COUNT], back[COUNT];
    size_t flipped = 0, moved = 0, zeros = 0;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < COUNT; i++)
        back[COUNT - 1 - i] = rows[i] = i;
    fill_picture(plain, COUNT);
    EXPECT_OK(ctx, augment("flip=1", 0, rows, COUNT, a));
    EXPECT_EQ(a[0], 4);
    EXPECT_EQ(a[3], 1);
    EXPECT_EQ(a[SIZE - 1], 21);
    EXPECT_OK(ctx, augment("flip=0.5", 0, rows, COUNT, a));
    for (size_t i = 0; i < COUNT; i++)
        flipped += a[i * SIZE] == 4;
    EXPECT(flipped > 60 && flipped < 140, "%zu", flipped);
    EXPECT_OK(ctx, augment("shift=1", 0, rows, COUNT, a));
    for (size_t i = 0; i < COUNT; i++) { /* the middle of a plane came from one of its neighbours */
        const float *s = a + i * SIZE;
        const ptrdiff_t from = (ptrdiff_t)s[5] - 1;
        const ptrdiff_t y = from / 4 - 1, x_by = from % 4 - 1;
        EXPECT_IS(y, >=, -1);
        EXPECT_IS(y, <=, 1);
        EXPECT_IS(x_by, >=, -1);
        EXPECT_IS(x_by, <=, 1);
        EXPECT_EQ(s[17], s[5] + 12);
        EXPECT((s[0] == 0) == (y < 0 || x_by < 0), "%g", (double)s[0]);
        moved += y != 0 || x_by != 0;
    }
    EXPECT(moved > 150 && moved < 195, "%zu", moved);
    EXPECT_OK(ctx, augment("cutout=2", 0, rows, COUNT, a));
    for (size_t i = 0; i < COUNT * SIZE; i++)
        zeros += a[i] == 0;
    EXPECT(zeros > COUNT * 2 && zeros <= COUNT * 8, "%zu", zeros);
    EXPECT_OK(ctx, augment("noise=0.5", 0, rows, COUNT, a));
    for (size_t i = 0; i < COUNT * SIZE; i++) {
        const double d = (double)a[i] - (double)plain[i];
        sum += d;
        squares += d * d;
    }
    EXPECT_IS(fabs(sum), <, 0.5 * 4 * 70);
    EXPECT_IS(fabs(squares / (COUNT * SIZE) - 0.25), <, 0.02);
    EXPECT_OK(ctx, augment("noise=0.5,shift=2,flip=0.5", 3, rows, COUNT, a));
    EXPECT_OK(ctx, augment("noise=0.5,shift=2,flip=0.5", 3, back, COUNT, b));
    for (size_t i = 0; i < COUNT; i++)
        EXPECT_EQ(memcmp(a + i * SIZE, b + (COUNT - 1 - i) * SIZE, SIZE * sizeof *a), 0);
    EXPECT_OK(ctx, augment("noise=0.5,shift=2,flip=0.5", 4, rows, COUNT, b));
    EXPECT_IS(memcmp(a, b, sizeof a), !=, 0);
    EXPECT_STATUS(NULL, augment("flip=2", 0, rows, COUNT, a), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, augment("mirror=1", 0, rows, COUNT, a), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, augment("flip=1", 0, NULL, COUNT, a), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_data_augment(ctx, NULL, NULL, NULL, 0, NULL), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_data_augment(NULL, "flip=1", NULL, NULL, 0, NULL), TAKT_ERR_ARGUMENT);
}

/* Whether row `y` of every plane is zero, or, with `is_column`, column `y`. */
static bool is_blank(const float *sample, size_t y, bool is_column)
{
    for (size_t plane = 0; plane < 2; plane++)
        for (size_t i = 0; i < (is_column ? 3U : 4U); i++)
            if (sample[plane * 12 + (is_column ? i * 4 + y : y * 4 + i)] != 0)
                return false;
    return true;
}

/* Masks are adjacent whole rows or columns, of every length up to the maximum. */
static void masks(const char *how, bool is_column, size_t most)
{
    enum { COUNT = 200, SIZE = 24 };
    static float a[COUNT * SIZE], plain[COUNT * SIZE];
    uint64_t rows[COUNT];
    size_t seen[5] = {0};
    for (size_t i = 0; i < COUNT; i++)
        rows[i] = i;
    fill_picture(plain, COUNT);
    EXPECT_OK(ctx, augment(how, 1, rows, COUNT, a));
    for (size_t i = 0; i < COUNT; i++) {
        const size_t lines = is_column ? 4 : 3;
        size_t blank = 0, edges = 0, kept = 0;
        for (size_t y = 0; y < lines; y++) {
            const bool is_now = is_blank(a + i * SIZE, y, is_column);
            blank += is_now;
            edges += is_now && (y == 0 || !is_blank(a + i * SIZE, y - 1, is_column));
        }
        for (size_t k = 0; k < SIZE; k++)
            kept += a[i * SIZE + k] == plain[i * SIZE + k];
        EXPECT(blank <= most && edges <= 1, "%s: %zu lines in %zu parts", how, blank, edges);
        EXPECT(kept >= SIZE - blank * SIZE / lines, "%s changes more than its mask", how);
        seen[blank]++;
    }
    for (size_t i = 0; i <= most; i++)
        EXPECT(seen[i] > COUNT / (4 * (most + 1)), "%s: %zu of %zu", how, seen[i], i);
}

/* A crop of a linear plane is linear, flatter, and within its range; other axes are unchanged. */
static void crops(void)
{
    enum { COUNT = 50, HEIGHT = 5, WIDTH = 7, SIZE = HEIGHT * WIDTH };
    static float a[COUNT * SIZE];
    uint64_t rows[COUNT];
    double least = 1, most = 0;
    const takt_augment_key key = {1, 2};
    const takt_tensor_view v = {
        .dtype = TAKT_F32, .rank = 3, .dims = {COUNT, HEIGHT, WIDTH}, .data = a};
    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k < SIZE; k++) {
            rows[i] = i;
            a[i * SIZE + k] = (float)(10 * (k / WIDTH) + k % WIDTH);
        }
    EXPECT_OK(ctx, takt_data_augment(ctx, "crop=0.5", &key, rows, COUNT, &v));
    for (size_t i = 0; i < COUNT; i++) {
        const float *at = a + i * SIZE;
        const double side = (double)at[1] - (double)at[0];
        least = side < least ? side : least;
        most = side > most ? side : most;
        EXPECT(at[0] >= 0 && at[SIZE - 1] <= 46, "%g to %g", (double)at[0], (double)at[SIZE - 1]);
        for (size_t k = 0; k < SIZE; k++) {
            const double want =
                (double)at[0] + side * (10 * (double)(k / WIDTH) + (double)(k % WIDTH));
            EXPECT(fabs((double)at[k] - want) < 1e-3, "%zu: %g, not %g", k, (double)at[k], want);
        }
    }
    EXPECT(least > 0.499 && least < 0.55 && most > 0.95 && most <= 1.001, "%g to %g", least, most);
}

/* The last axis is shifted by up to 2, and rows are not moved. */
static void shifts_time(void)
{
    enum { COUNT = 100, SIZE = 24 };
    static float a[COUNT * SIZE], plain[COUNT * SIZE];
    uint64_t rows[COUNT];
    size_t moved = 0;
    for (size_t i = 0; i < COUNT; i++)
        rows[i] = i;
    fill_picture(plain, COUNT);
    EXPECT_OK(ctx, augment("time_shift=2", 1, rows, COUNT, a));
    for (size_t i = 0; i < COUNT; i++) {
        bool is_found = false;
        for (int by = -2; by <= 2 && !is_found; by++) {
            is_found = true;
            for (int k = 0; k < SIZE; k++) {
                const int from = k % 4 + by;
                const float want =
                    from < 0 || from > 3 ? 0 : plain[(int)i * SIZE + k - k % 4 + from];
                is_found = is_found && a[(int)i * SIZE + k] == want;
            }
            moved += is_found && by != 0;
        }
        EXPECT(is_found, "sample %zu is not a shift of what it was", i);
    }
    EXPECT(moved > COUNT / 2, "%zu of %d moved", moved, COUNT);
}

int main(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return test_done();
    bad_evaluations();
    bad_labels();
    nan_scores();
    augments();
    masks("time_mask=3", true, 3);
    masks("freq_mask=2", false, 2);
    crops();
    shifts_time();
    takt_memfs *fs = takt_memfs_create();
    if (EXPECT(fs != NULL)) {
        put_lists(fs);
        const takt_sweep_report r =
            takt_sweep(scenario, fs, TAKT_INJECT_MEMORY | TAKT_INJECT_FILES);
        EXPECT(r.is_good, "%s", r.message);
    }
    takt_memfs_destroy(fs);
    takt_ctx_destroy(ctx);
    return test_done();
}
