/* npy_rows.c - .npy files read some rows at a time, and a model run over a file batch by batch. */
#define _GNU_SOURCE
#include "test.h"

#include <string.h>

#include <takt/takt.h>

#include "util/inject.h"

static takt_ctx *ctx;
static char path[512], other[512];

static void begin(void)
{
    snprintf(path, sizeof path, "%s/a.npy", getenv("TAKT_TEST_TMP"));
    snprintf(other, sizeof other, "%s/b.npy", getenv("TAKT_TEST_TMP"));
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

/* A file with this dictionary and these bytes. */
static void write_file(const char *dict, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    const size_t length = strlen(dict) + 1;
    const unsigned char head[10] = {0x93,
                                    'N',
                                    'U',
                                    'M',
                                    'P',
                                    'Y',
                                    1,
                                    0,
                                    (unsigned char)(length & 255),
                                    (unsigned char)(length >> 8)};
    EXPECT(file != NULL);
    fwrite(head, 1, sizeof head, file);
    fprintf(file, "%s\n", dict);
    fwrite(data, 1, bytes, file);
    fclose(file);
}

static void rows_there_and_back(void)
{
    float x[7][3], y[7][3];
    takt_npy *npy;
    takt_tensor_view v = {.dtype = TAKT_F32, .rank = 2, .dims = {7, 3}};
    for (int i = 0; i < 21; i++)
        (&x[0][0])[i] = (float)i;
    EXPECT_OK(ctx, takt_npy_create(ctx, path, &v, &npy));
    EXPECT_OK(ctx, takt_npy_write_rows(npy, x[0], 4));
    EXPECT_STATUS(ctx, takt_npy_commit(npy), TAKT_ERR_STATE);
    EXPECT_STATUS(ctx, takt_npy_write_rows(npy, x[4], 4), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_npy_read_rows(npy, 0, 1, y), TAKT_ERR_STATE);
    EXPECT_OK(ctx, takt_npy_write_rows(npy, x[4], 3));
    EXPECT_OK(ctx, takt_npy_commit(npy));
    takt_npy_close(npy);
    EXPECT_OK(ctx, takt_npy_load(ctx, path, &v));
    EXPECT_EQ(memcmp(v.data, x, sizeof x), 0);
    takt_view_free(ctx, &v);
    EXPECT_OK(ctx, takt_npy_open(ctx, path, &npy, &v));
    EXPECT(v.rank == 2 && v.dims[0] == 7 && v.dims[1] == 3 && v.data == NULL);
    EXPECT_OK(ctx, takt_npy_read_rows(npy, 2, 4, y));
    EXPECT_EQ(memcmp(y, x[2], 4 * sizeof *x), 0);
    EXPECT_OK(ctx, takt_npy_read_rows(npy, 7, 0, y));
    EXPECT_STATUS(ctx, takt_npy_read_rows(npy, 5, 3, y), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_npy_read_rows(npy, -1, 1, y), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_npy_write_rows(npy, x, 1), TAKT_ERR_STATE);
    takt_npy_close(npy);
    takt_npy_close(NULL);
}

/* The file has the first axis contiguous. */
static void fortran_order(void)
{
    int16_t file[2 * 3 * 5], rows[5][3][2];
    takt_npy *npy;
    takt_tensor_view v;
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 2; k++)
                file[i + 5 * (j + 3 * k)] = (int16_t)(100 * i + 10 * j + k);
    write_file("{'descr': '<i2', 'fortran_order': True, 'shape': (5, 3, 2), }", file, sizeof file);
    EXPECT_OK(ctx, takt_npy_open(ctx, path, &npy, &v));
    EXPECT_OK(ctx, takt_npy_read_rows(npy, 1, 3, rows));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 2; k++)
                EXPECT(rows[i][j][k] == 100 * (i + 1) + 10 * j + k, "%d %d %d", i, j, k);
    takt_npy_close(npy);
}

static void bad_files(void)
{
    static const unsigned char odd[] = {0, 1, 2, 1};
    unsigned char to[8];
    takt_npy *npy;
    takt_tensor_view v;
    write_file("{'descr': '|b1', 'fortran_order': False, 'shape': (2, 2), }", odd, sizeof odd);
    EXPECT_OK(ctx, takt_npy_open(ctx, path, &npy, &v));
    EXPECT_OK(ctx, takt_npy_read_rows(npy, 0, 1, to));
    EXPECT_STATUS(ctx, takt_npy_read_rows(npy, 1, 1, to), TAKT_ERR_FORMAT);
    EXPECT(strstr(takt_last_error(ctx), "row 1") != NULL, "%s", takt_last_error(ctx));
    takt_npy_close(npy);
    write_file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", odd, sizeof odd);
    EXPECT_STATUS(ctx, takt_npy_open(ctx, path, &npy, &v), TAKT_ERR_FORMAT);
    EXPECT(npy == NULL && strstr(takt_last_error(ctx), "promises 16 bytes") != NULL, "%s",
           takt_last_error(ctx));
    EXPECT_STATUS(ctx, takt_npy_open(ctx, "none.npy", &npy, &v), TAKT_ERR_IO);
    EXPECT_STATUS(ctx, takt_npy_open(ctx, "README.md", &npy, &v), TAKT_ERR_FORMAT);
    EXPECT_STATUS(ctx, takt_npy_open(ctx, NULL, &npy, &v), TAKT_ERR_ARGUMENT);
    v = (takt_tensor_view){.dtype = TAKT_BF16, .rank = 1, .dims = {2}};
    EXPECT_STATUS(ctx, takt_npy_create(ctx, path, &v, &npy), TAKT_ERR_SHAPE);
    v.dtype = TAKT_F32;
    EXPECT_STATUS(ctx, takt_npy_create(ctx, "no/such/folder/x.npy", &v, &npy), TAKT_ERR_IO);
    EXPECT_SAME(npy, NULL);
}

/* ---- through a model ---- */

enum { SAMPLES = 53 };

static const char text[] = "model m(x: f32[n, 4], k: f32[4]) -> (y: f32[n, 2], z: f32[n, 4]) "
                           "seed=4 {\n  return y = dense(x, 2, act=tanh), z = x + k\n}\n";
static float x[SAMPLES][4], k[4] = {1, 2, 3, 4}, want_y[SAMPLES][2], want_z[SAMPLES][4];

static takt_named_view rows_of(const char *name, int64_t rows, int64_t columns, void *data)
{
    takt_named_view v = {.name = name, .view = {.dtype = TAKT_F32, .rank = 2, .data = data}};
    v.view.dims[0] = rows;
    v.view.dims[1] = columns;
    return v;
}

static takt_named_view vector(void *data)
{
    return (takt_named_view){.name = "k",
                             .view = {.dtype = TAKT_F32, .rank = 1, .dims = {4}, .data = data}};
}

typedef struct channel {
    takt_npy *in, *out;
    float z[SAMPLES][4];
    int64_t next_load, next_store, loads;
    int64_t fail_load, fail_store; /* at this sample; -1: never */
} channel;

static takt_status load(void *user, const char *name, int64_t first, int64_t count, void *to)
{
    channel *c = user;
    EXPECT(strcmp(name, "x") == 0 && first == c->next_load, "%s at %lld", name, (long long)first);
    c->next_load += count;
    c->loads++;
    if (c->fail_load >= first && c->fail_load < first + count)
        return takt_npy_read_rows(c->in, SAMPLES, 1, to);
    return takt_npy_read_rows(c->in, first, count, to);
}

static takt_status store(void *user, const char *name, int64_t first, int64_t count,
                         const void *from)
{
    channel *c = user;
    if (strcmp(name, "z") == 0) {
        memcpy(c->z[first], from, (size_t)count * sizeof *c->z);
        return TAKT_OK;
    }
    EXPECT(strcmp(name, "y") == 0 && first == c->next_store, "%s at %lld", name, (long long)first);
    c->next_store += count;
    return takt_npy_write_rows(c->out, from, c->fail_store >= 0 ? SAMPLES + 1 : count);
}

static takt_status stream(takt_ctx *c, takt_model *m, channel *ch, int64_t batch, int jobs)
{
    takt_tensor_view v = {.dtype = TAKT_F32, .rank = 2, .dims = {SAMPLES, 2}}, vx;
    takt_status status = takt_npy_open(c, path, &ch->in, &vx);
    if (status == TAKT_OK)
        status = takt_npy_create(c, other, &v, &ch->out);
    const takt_named_view views[] = {rows_of("x", SAMPLES, 4, NULL), vector(k),
                                     rows_of("y", SAMPLES, 2, NULL),
                                     rows_of("z", SAMPLES, 4, NULL)};
    const takt_many_options o = {
        .batch_size = batch, .jobs = jobs, .load = load, .store = store, .user = ch};
    if (status == TAKT_OK)
        status = takt_run_many(m, &o, views, 4);
    if (status == TAKT_OK)
        status = takt_npy_commit(ch->out);
    takt_npy_close(ch->in);
    takt_npy_close(ch->out);
    return status;
}

static takt_model *model;

static void whole_run(void)
{
    takt_npy *npy;
    for (int i = 0; i < SAMPLES * 4; i++)
        (&x[0][0])[i] = (float)(i % 37) / 16.0f - 1.0f;
    const takt_tensor_view v = {.dtype = TAKT_F32, .rank = 2, .dims = {SAMPLES, 4}, .data = x};
    EXPECT_OK(ctx, takt_npy_create(ctx, path, &v, &npy));
    EXPECT_OK(ctx, takt_npy_write_rows(npy, x, SAMPLES));
    EXPECT_OK(ctx, takt_npy_commit(npy));
    takt_npy_close(npy);
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model));
    const takt_named_view views[] = {rows_of("x", SAMPLES, 4, x), vector(k),
                                     rows_of("y", SAMPLES, 2, want_y),
                                     rows_of("z", SAMPLES, 4, want_z)};
    EXPECT_OK(ctx, takt_run_many(model, &(takt_many_options){.batch_size = SAMPLES}, views, 4));
    EXPECT_EQ(want_z[SAMPLES - 1][3], x[SAMPLES - 1][3] + 4);
}

static void batch_by_batch(void)
{
    static const int64_t batches[] = {1, 5, 26, 52, 53, 400};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
        for (int jobs = 1; jobs < 4; jobs++) {
            channel c = {.fail_load = -1, .fail_store = -1};
            takt_tensor_view y = {.data = NULL};
            EXPECT_OK(ctx, stream(ctx, model, &c, batches[i], jobs));
            EXPECT_EQ(c.loads, (SAMPLES + batches[i] - 1) / batches[i]);
            if (EXPECT_OK(ctx, takt_npy_load(ctx, other, &y)))
                EXPECT(memcmp(y.data, want_y, sizeof want_y) == 0, "batches of %d, %d jobs",
                       (int)batches[i], jobs);
            EXPECT_EQ(memcmp(c.z, want_z, sizeof want_z), 0);
            takt_view_free(ctx, &y);
        }
}

static void streams_that_fail(void)
{
    for (int64_t at = 0; at < SAMPLES; at += 13)
        for (int jobs = 1; jobs < 4; jobs++) {
            channel c = {.fail_load = at, .fail_store = -1};
            EXPECT_STATUS(ctx, stream(ctx, model, &c, 4, jobs), TAKT_ERR_ARGUMENT);
            EXPECT(strstr(takt_last_error(ctx), "53 rows") != NULL, "%s", takt_last_error(ctx));
            c = (channel){.fail_load = -1, .fail_store = at};
            EXPECT_STATUS(ctx, stream(ctx, model, &c, 4, jobs), TAKT_ERR_ARGUMENT);
        }
    const takt_named_view bare[] = {rows_of("x", 4, 4, NULL)};
    EXPECT_STATUS(ctx, takt_run_many(model, NULL, bare, 1), TAKT_ERR_ARGUMENT);
    const takt_named_view whole[] = {vector(NULL)};
    EXPECT_STATUS(ctx, takt_run_many(model, &(takt_many_options){.load = load}, whole, 1),
                  TAKT_ERR_ARGUMENT);
    takt_model_destroy(model);
}

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *c;
    takt_model *m = NULL;
    channel ch = {.fail_load = -1, .fail_store = -1};
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &c);
    if (status != TAKT_OK)
        return status;
    status = takt_model_load_memory(c, "m", text, strlen(text), NULL, &m);
    if (status == TAKT_OK)
        status = stream(c, m, &ch, 20, 2);
    takt_model_destroy(m);
    takt_ctx_destroy(c);
    return status;
}

static void every_failure(void)
{
    const takt_sweep_report r = takt_sweep(scenario, NULL, TAKT_INJECT_ALL);
    EXPECT(r.is_good, "%s", r.message);
    EXPECT(r.survived > 0, "threads that cannot be started are done without");
}

TEST_MAIN(begin, rows_there_and_back, fortran_order, bad_files, whole_run, batch_by_batch,
          streams_that_fail, every_failure, end)
