/* session_api.c - typical uses of sessions: unusual buffers, wrong buffers, twins, many at once.
 */
#include "test.h"

#include <string.h>

#include <takt/takt.h>

#include "api/session/session.h"
#include "util/inject.h"

static const char text[] = "model m(x: f32[n, 3]) -> (y: f32[n, 2]) seed=4 {\n"
                           "  return y = dense(x, 2, act=tanh)\n"
                           "}\n";

static takt_ctx *ctx;
static takt_model *model;

enum { N = 5 };

static _Thread_local char told[256]; /* the last line of the log */

static void listen(void *user, takt_log_level level, const char *line)
{
    (void)user;
    (void)level;
    snprintf(told, sizeof told, "%s", line);
}

static void open_all(void)
{
    const takt_config config = {.log = listen};
    EXPECT_OK(NULL, takt_ctx_create(&config, &ctx));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model));
}

static void close_all(void)
{
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
}

static takt_session *open_session(const takt_model *m, const takt_plan_options *options)
{
    takt_plan *plan;
    takt_session *s = NULL;
    if (EXPECT_OK(ctx, takt_plan_get(m, options, &plan)))
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    takt_plan_destroy(plan);
    return s;
}

static takt_session *of_five(void)
{
    return open_session(model, &(takt_plan_options){.sizes = "n=5"});
}

static bool runs(takt_session *s)
{
    return EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
}

static bool binds(takt_session *s, const char *name, takt_tensor_view v)
{
    return EXPECT(takt_session_bind(s, name, &v) == TAKT_OK, "%s", takt_session_error(s)->message);
}

static void refused(takt_session *s, const char *name, takt_tensor_view v, const char *says)
{
    EXPECT(takt_session_bind(s, name, &v) != TAKT_OK, "%s is accepted", says);
    EXPECT(strstr(takt_session_error(s)->message, says) != NULL, "`%s` is not in `%s`", says,
           takt_session_error(s)->message);
}

static takt_tensor_view matrix(void *data, int64_t rows, int64_t columns)
{
    return (takt_tensor_view){.dtype = TAKT_F32, .rank = 2, .dims = {rows, columns}, .data = data};
}

static float value(size_t row, size_t column)
{
    return (float)(row * 7 + column * 3 % 11) / 8.0f - 1.0f;
}

/* Rows of values, and the model's normal results for them. */
static void expected(float x[N][3], float y[N][2])
{
    takt_session *s = of_five();
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < 3; k++)
            x[i][k] = value(i, k);
    if (binds(s, "x", matrix(x, N, 3)) && binds(s, "y", matrix(y, N, 2)))
        runs(s);
    takt_session_destroy(s);
}

/* ---- odd buffers ---- */

static void slices_and_fortran_order(void)
{
    float x[N][3], y[N][2], columns[3][N], wide[N][8] = {{0}}, back[2][N];
    expected(x, y);
    takt_session *s = of_five();
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < 3; k++)
            columns[k][i] = wide[i][2 * k + 1] = x[i][k];
    takt_tensor_view in = matrix(columns, N, 3), out = matrix(back, N, 2);
    in.strides[0] = out.strides[0] = 1;
    in.strides[1] = out.strides[1] = N;
    told[0] = '\0';
    binds(s, "x", in);
    EXPECT(strstr(told, "copies") == NULL, "%s", told);
    const uint64_t before = ctx->messages;
    binds(s, "y", out);
    EXPECT(ctx->messages == before + 1, "it is not counted among the messages");
    EXPECT(strcmp(told, "y: the buffer is not dense row-major, so every run copies it") == 0, "%s",
           told);
    EXPECT_SAME(takt_session_output(s, 0)->data, back);
    runs(s);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < 2; k++)
            EXPECT(memcmp(&back[k][i], &y[i][k], 4) == 0, "Fortran order, row %zu", i);
    in = matrix(&wide[0][1], N, 3);
    in.strides[0] = 8;
    in.strides[1] = 2;
    binds(s, "x", in);
    binds(s, "y", (takt_tensor_view){.data = NULL});
    runs(s);
    EXPECT(memcmp(takt_session_output(s, 0)->data, y, sizeof y) == 0, "a slice with steps");
    in = matrix(&x[N - 1][0], N, 3); /* from the last row to the first */
    in.strides[0] = -3;
    in.strides[1] = 1;
    binds(s, "x", in);
    runs(s);
    for (size_t i = 0; i < N; i++)
        EXPECT_EQ(memcmp((const float *)takt_session_output(s, 0)->data + 2 * i, y[N - 1 - i], 8),
                  0);
    in = matrix(x, N, 3); /* the first row again and again */
    in.strides[1] = 1;
    binds(s, "x", in);
    runs(s);
    for (size_t i = 0; i < N; i++)
        EXPECT_EQ(memcmp((const float *)takt_session_output(s, 0)->data + 2 * i, y[0], 8), 0);
    takt_session_destroy(s);
}

static void unaligned_buffers(void)
{
    float x[N][3], y[N][2];
    unsigned char room[sizeof x + 64], result[sizeof y + 64];
    expected(x, y);
    for (size_t shift = 0; shift < 9; shift++) {
        takt_session *s = of_five();
        memcpy(room + shift, x, sizeof x);
        memset(result, 0xEE, sizeof result);
        binds(s, "x", matrix(room + shift, N, 3));
        binds(s, "y", matrix(result + shift, N, 2));
        runs(s);
        EXPECT(memcmp(result + shift, y, sizeof y) == 0, "shifted by %zu", shift);
        for (size_t i = 0; i < sizeof result; i++)
            EXPECT((i >= shift && i < shift + sizeof y) || result[i] == 0xEE, "byte %zu", i);
        takt_session_destroy(s);
    }
}

/* ---- wrong buffers ---- */

static void wrong_buffers(void)
{
    float x[N][3], y[N][2], fresh[N][2];
    expected(x, y);
    takt_session *s = of_five();
    EXPECT_STATUS(NULL, takt_session_run(s), TAKT_ERR_STATE);
    EXPECT(strstr(takt_session_error(s)->message, "input x has no data") != NULL, "%s",
           takt_session_error(s)->message);
    takt_tensor_view v = matrix(x, N, 3);
    v.dtype = TAKT_I32;
    refused(s, "x", v, "x is f32, the buffer is i32");
    v.dtype = (takt_dtype)99;
    refused(s, "x", v, "of no known type");
    v = matrix(x, N, 3);
    v.rank = 1;
    refused(s, "x", v, "x has 2 dimensions, the buffer has 1");
    refused(s, "x", matrix(x, N, 4), "dimension 1 is 3, the buffer has 4");
    refused(s, "z", matrix(x, N, 3), "no input or output called z");
    v = matrix(y, N, 2);
    v.strides[1] = 1;
    refused(s, "y", v, "several elements at one place");
    EXPECT_STATUS(NULL, takt_session_bind(s, NULL, &v), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_session_bind(s, "x", NULL), TAKT_ERR_ARGUMENT);
    EXPECT(takt_session_input(s, 1) == NULL && takt_session_output(s, 1) == NULL);
    binds(s, "x", matrix(x, N, 3)); /* and it still works */
    binds(s, "y", matrix(fresh, N, 2));
    runs(s);
    EXPECT_EQ(memcmp(fresh, y, sizeof y), 0);
    takt_session_destroy(s);
}

/* A caller's empty array may have no address. */
static void no_elements(void)
{
    takt_session *s = open_session(model, &(takt_plan_options){.sizes = "n=0"});
    binds(s, "x", matrix(NULL, 0, 3));
    binds(s, "y", matrix(NULL, 0, 2));
    runs(s);
    takt_session_destroy(s);
}

static void stopped_runs(void)
{
    float x[N][3], y[N][2];
    expected(x, y);
    takt_session *s = of_five();
    binds(s, "x", matrix(x, N, 3));
    EXPECT_STATUS(NULL, takt_session_run_deadline(s, 0), TAKT_ERR_DEADLINE);
    takt_session_cancel(s);
    EXPECT_STATUS(NULL, takt_session_run(s), TAKT_ERR_CANCELLED);
    EXPECT(takt_session_run_deadline(s, UINT64_MAX) == TAKT_OK, "%s",
           takt_session_error(s)->message);
    EXPECT_EQ(memcmp(takt_session_output(s, 0)->data, y, sizeof y), 0);
    takt_session_destroy(s);
}

static void wrong_values(void)
{
    static const char table[] = "model t(i: i64[3], d: i64[3]) -> (a: f32[3], b: i64[3]) {\n"
                                "  rows = constant(f32[4], [1, 2, 3, 4])\n"
                                "  return a = gather(rows, i), b = i / d\n"
                                "}\n";
    takt_model *m;
    if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "t", table, strlen(table), NULL, &m)))
        return;
    takt_session *s = open_session(m, NULL);
    int64_t *i = takt_session_input(s, 0)->data, *d = takt_session_input(s, 1)->data;
    for (int k = 0; k < 3; k++)
        i[k] = d[k] = 1;
    i[2] = 9;
    if (EXPECT_STATUS(NULL, takt_session_run(s), TAKT_ERR_RANGE))
        EXPECT_EQ(takt_session_error(s)->id, 5001);
    EXPECT(strstr(takt_session_error(s)->message, "index 9 (element 2)") != NULL &&
               strstr(takt_session_error(s)->message, "gather") != NULL,
           "%s", takt_session_error(s)->message);
    i[2] = 3;
    d[1] = 0;
    if (EXPECT_STATUS(NULL, takt_session_run(s), TAKT_ERR_RANGE))
        EXPECT_EQ(takt_session_error(s)->id, 5002);
    EXPECT(strstr(takt_session_error(s)->message, "element 1") != NULL, "%s",
           takt_session_error(s)->message);
    d[1] = 1;
    runs(s);
    EXPECT_EQ(((const float *)takt_session_output(s, 0)->data)[2], 4);
    takt_session_destroy(s);
    takt_model_destroy(m);
}

/* ---- twins ---- */

static void clones_and_warmth(void)
{
    takt_model *m;
    if (!EXPECT_OK(ctx, takt_model_load(ctx, "examples/stream.takt", NULL, &m)))
        return;
    takt_session *a = open_session(m, NULL), *b = NULL;
    float *x = takt_session_input(a, 0)->data, first[32];
    for (int i = 0; i < 64; i++)
        x[i] = value((size_t)i, 0);
    runs(a);
    EXPECT_OK(ctx, takt_session_clone(a, &b));
    memcpy(takt_session_input(b, 0)->data, x, 64 * sizeof *x);
    EXPECT_OK(ctx, takt_session_warmup(b)); /* runs, and leaves the state unchanged */
    runs(a);
    runs(b);
    memcpy(first, takt_session_output(a, 0)->data, sizeof first);
    EXPECT_EQ(memcmp(first, takt_session_output(b, 0)->data, sizeof first), 0);
    x[0] += 1;
    runs(a);
    EXPECT_IS(memcmp(first, takt_session_output(a, 0)->data, sizeof first), !=, 0);
    EXPECT(memcmp(first, takt_session_output(b, 0)->data, sizeof first) == 0, "they are apart");
    takt_session_destroy(a);
    takt_session *c = open_session(m, NULL);
    EXPECT_OK(ctx, takt_session_warmup(c)); /* without inputs */
    EXPECT_STATUS(NULL, takt_session_run(c), TAKT_ERR_STATE);
    takt_session_destroy(c);
    takt_session_destroy(b);
    takt_model_destroy(m);
}

/* ---- many ---- */

enum { MANY = 71 };

static void many_are_one(void)
{
    static float x[MANY][3], whole[MANY][2], y[MANY][2];
    static const int64_t batches[] = {1, 2, 32, 70, 71, 500};
    for (size_t i = 0; i < MANY; i++)
        for (size_t k = 0; k < 3; k++)
            x[i][k] = value(i, k);
    takt_session *s = open_session(model, &(takt_plan_options){.sizes = "n=71"});
    binds(s, "x", matrix(x, MANY, 3));
    binds(s, "y", matrix(whole, MANY, 2));
    runs(s);
    takt_session_destroy(s);
    const takt_named_view views[] = {{"x", matrix(x, MANY, 3)}, {"y", matrix(y, MANY, 2)}};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
        for (int jobs = 0; jobs < 4; jobs++) {
            memset(y, 0xEE, sizeof y);
            const takt_many_options o = {.batch_size = batches[i], .jobs = jobs};
            EXPECT_OK(ctx, takt_run_many(model, &o, views, 2));
            EXPECT(memcmp(y, whole, sizeof y) == 0, "batches of %d, %d jobs", (int)batches[i],
                   jobs);
        }
    takt_named_view odd[] = {views[0], views[1]};
    static float tall[2][MANY];
    odd[1].view = matrix(tall, MANY, 2);
    odd[1].view.strides[0] = 1;
    odd[1].view.strides[1] = MANY;
    EXPECT_OK(ctx, takt_run_many(model, NULL, odd, 2));
    for (size_t i = 0; i < MANY; i++)
        EXPECT(tall[0][i] == whole[i][0] && tall[1][i] == whole[i][1], "row %zu", i);
    odd[0].view.dims[0] = odd[1].view.dims[0] = 0;
    EXPECT_OK(ctx, takt_run_many(model, NULL, odd, 2));
}

static void many_refused(void)
{
    static float x[4][3], y[4][2];
    takt_named_view views[] = {{"x", matrix(x, 4, 3)}, {"y", matrix(y, 4, 2)}};
    EXPECT_STATUS(ctx, takt_run_many(model, &(takt_many_options){.batch_size = -1}, views, 2),
                  TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_run_many(model, &(takt_many_options){.dim = "k"}, views, 2),
                  TAKT_ERR_SHAPE);
    EXPECT_STATUS(ctx, takt_run_many(model, NULL, views + 1, 1), TAKT_ERR_STATE); /* no x */
    views[1].view.dims[0] = 3;
    EXPECT_STATUS(ctx, takt_run_many(model, NULL, views, 2), TAKT_ERR_ARGUMENT);
    views[1] = (takt_named_view){"z", matrix(y, 4, 2)};
    EXPECT_STATUS(ctx, takt_run_many(model, NULL, views, 2), TAKT_ERR_NOT_FOUND);
    takt_model *m;
    if (EXPECT_OK(ctx, takt_model_load(ctx, "examples/kv.takt", NULL, &m)))
        EXPECT_STATUS(ctx, takt_run_many(m, NULL, views, 2), TAKT_ERR_STATE);
    takt_model_destroy(m);
}

static takt_status scenario(takt_inject *inject, void *user)
{
    static float x[7][3], y[7][2];
    takt_config config = {0};
    takt_ctx *c;
    takt_model *m = NULL;
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &c);
    if (status != TAKT_OK)
        return status;
    status = takt_model_load_memory(c, "m", text, strlen(text), NULL, &m);
    const takt_named_view views[] = {{"x", matrix(x, 7, 3)}, {"y", matrix(y, 7, 2)}};
    if (status == TAKT_OK)
        status = takt_run_many(m, &(takt_many_options){.batch_size = 2, .jobs = 2}, views, 2);
    takt_model_destroy(m);
    takt_ctx_destroy(c);
    return status;
}

static void every_failure(void)
{
    const takt_sweep_report r =
        takt_sweep(scenario, NULL, TAKT_INJECT_MEMORY | TAKT_INJECT_THREADS);
    EXPECT(r.is_good, "%s", r.message);
    EXPECT(r.survived > 0, "a thread that cannot be started is done without");
}

TEST_MAIN(open_all, slices_and_fortran_order, unaligned_buffers, wrong_buffers, no_elements,
          stopped_runs, wrong_values, clones_and_warmth, many_are_one, many_refused, every_failure,
          close_all)
