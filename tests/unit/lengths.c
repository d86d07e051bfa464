/* lengths.c - sizes found at run time: in the middle of a run, with results of these sizes, within
 * their bounds, and without additional memory. */
#include <string.h>

#include <takt/takt.h>

#include "base/ctx.h"
#include "base/error.h"
#include "test.h"
#include "util/inject.h"

/* Rows of x whose first element is positive, doubled; their sum; their number; runs so far. */
static const char text[] = "model m(x: f32[n, 3], w: f32[3, 5]) seed=3 {\n"
                           "  first = slice(x, start=[0], stop=[1], axes=[1])\n"
                           "  good = reshape(first > 0.0, shape=[n])\n"
                           "  places, count = find_true(good)\n"
                           "  l = length(count, names=[kept], bounds=[n], tops=[n])\n"
                           "  at = sized(places, shape=[kept])\n"
                           "  rows = gather(x, at, axis=0) * 2.0\n"
                           "  state runs: f32[1] = 0\n"
                           "  next runs = runs + 1.0\n"
                           "  return y = matmul(rows, w), sum = reduce_sum(rows, axes=[0]),\n"
                           "    many = dim(rows, axis=0), before = runs\n"
                           "}\n";

enum { ROWS = 40, COLUMNS = 5 };

static takt_ctx *ctx;
static float x[ROWS * 3], w[3 * COLUMNS];

static takt_model *load(takt_ctx *in, const char *model)
{
    takt_model *m = NULL;
    EXPECT_OK(in, takt_model_load_memory(in, "m", model, strlen(model), NULL, &m));
    return m;
}

static takt_session *open(takt_ctx *in, const takt_model *m, const takt_plan_options *o)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    if (EXPECT_OK(in, takt_plan_create(m, o, &plan)))
        EXPECT_OK(in, takt_session_create(plan, NULL, &s));
    takt_plan_destroy(plan);
    return s;
}

/* Which rows are positive is a pattern of `seed`; the rest are small whole numbers. */
static int64_t fill(int64_t rows, uint32_t seed)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < rows; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[3 * i] = (seed >> 20 & 1) != 0 ? 1 + (float)(i % 3) : -1;
        x[3 * i + 1] = (float)(i % 7);
        x[3 * i + 2] = (float)(i % 5) - 2;
        kept += x[3 * i] > 0;
    }
    for (size_t i = 0; i < 3 * COLUMNS; i++)
        w[i] = (float)(i % 4) - 1;
    return kept;
}

static bool bind(takt_session *s, int64_t rows)
{
    const takt_tensor_view a = {.dtype = TAKT_F32, .rank = 2, .dims = {rows, 3}, .data = x};
    const takt_tensor_view b = {.dtype = TAKT_F32, .rank = 2, .dims = {3, COLUMNS}, .data = w};
    return EXPECT(takt_session_bind(s, "x", &a) == TAKT_OK, "%s", takt_session_error(s)->message) &&
           EXPECT_OK(NULL, takt_session_bind(s, "w", &b));
}

/* Sums of small whole numbers are exact in any order. */
static void check(takt_session *s, int64_t rows, int64_t kept)
{
    const takt_tensor_view *y = takt_session_output(s, 0), *sum = takt_session_output(s, 1);
    const int64_t *many = takt_session_output(s, 2)->data;
    const float *data = y->data, *total = sum->data;
    float want[3] = {0};
    int64_t at = 0;
    EXPECT(y->rank == 2 && y->dims[0] == kept && y->dims[1] == COLUMNS, "%lld of %lld rows",
           (long long)y->dims[0], (long long)kept);
    EXPECT_EQ(many[0], kept);
    EXPECT_EQ(takt_session_output_desc(s, 0)->dims[0], kept);
    EXPECT(takt_session_output_varies(s, 0) && !takt_session_output_varies(s, 1) &&
           !takt_session_output_varies(s, 9));
    for (int64_t i = 0; i < rows; i++) {
        if (!(x[3 * i] > 0))
            continue;
        for (int64_t k = 0; k < COLUMNS; k++) {
            float dot = 0;
            for (int64_t d = 0; d < 3; d++)
                dot += 2 * x[3 * i + d] * w[d * COLUMNS + k];
            EXPECT(data[at * COLUMNS + k] == dot, "row %lld", (long long)i);
        }
        for (int64_t d = 0; d < 3; d++)
            want[d] += 2 * x[3 * i + d];
        at++;
    }
    EXPECT_EQ(memcmp(total, want, sizeof want), 0);
}

static void run(takt_session *s, int64_t rows, uint32_t seed)
{
    const int64_t kept = fill(rows, seed);
    if (bind(s, rows) && EXPECT(takt_session_run(s) == TAKT_OK, "%lld of %lld rows: %s",
                                (long long)kept, (long long)rows, takt_session_error(s)->message))
        check(s, rows, kept);
}

/* ---- one size of the input, and a range ---- */

static void found(const char *backend, int threads)
{
    takt_model *m = load(ctx, text);
    takt_session *s =
        open(ctx, m, &(takt_plan_options){.sizes = "n=40", .threads = threads, .backend = backend});
    for (uint32_t seed = 0; seed < 24; seed++)
        run(s, 40, seed * 977);
    for (size_t i = 0; i < ROWS * 3; i++)
        x[i] = -1; /* none */
    EXPECT_OK(NULL, takt_session_run(s));
    EXPECT_EQ(takt_session_output(s, 0)->dims[0], 0);
    EXPECT_EQ(((const float *)takt_session_output(s, 3)->data)[0], 24);
    takt_session_destroy(s);
    s = open(ctx, m,
             &(takt_plan_options){.sizes = "n=1..40", .threads = threads, .backend = backend});
    for (uint32_t i = 0; i < 60; i++)
        run(s, 1 + (int64_t)(i * 17 % 40), i);
    takt_session_destroy(s);
    takt_model_destroy(m);
}

/* The caller's output buffers have room for the bound; the session's own inputs are unchanged.
 */
static void other_memory(void)
{
    takt_model *m = load(ctx, text);
    takt_session *s = open(ctx, m, &(takt_plan_options){.sizes = "n=40"});
    float own[ROWS * COLUMNS];
    takt_tensor_view y = {.dtype = TAKT_F32, .rank = 2, .dims = {ROWS - 1, COLUMNS}, .data = own};
    EXPECT(takt_session_bind(s, "y", &y) != TAKT_OK || takt_session_run(s) != TAKT_OK);
    y.dims[0] = ROWS;
    EXPECT_OK(NULL, takt_session_bind(s, "y", &y));
    const int64_t kept = fill(ROWS, 5);
    memcpy(takt_session_input(s, 0)->data, x, sizeof x);
    memcpy(takt_session_input(s, 1)->data, w, sizeof w);
    for (int i = 0; i < 2; i++) {
        EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
        check(s, ROWS, kept);
        EXPECT_SAME(takt_session_output(s, 0)->data, own);
    }
    takt_session_destroy(s);
    takt_model_destroy(m);
}

static void allocates_nothing(void)
{
    takt_inject inject;
    takt_config config = {0};
    takt_ctx *own;
    takt_inject_init(&inject);
    takt_inject_config(&inject, &config);
    if (!EXPECT_OK(NULL, takt_ctx_create(&config, &own)))
        return;
    takt_model *m = load(own, text);
    takt_session *s = open(own, m, &(takt_plan_options){.sizes = "n=1..40", .threads = 1});
    run(s, 40, 1);
    const uint64_t gets = inject.gets;
    for (uint32_t i = 0; i < 50; i++)
        run(s, 2 + (int64_t)(i * 7 % 39), i); /* one row is a view in other ways */
    EXPECT(inject.gets == gets, "%llu allocations", (unsigned long long)(inject.gets - gets));
    takt_session_destroy(s);
    takt_model_destroy(m);
    takt_ctx_destroy(own);
    EXPECT_EQ(takt_inject_deinit(&inject), 0);
    EXPECT_EQ(inject.faults, 0);
}

/* ---- what is refused ---- */

static void bounds(void)
{
    takt_model *m = load(ctx, text);
    takt_session *s = open(ctx, m, &(takt_plan_options){.sizes = "n=40", .bounds = "kept=3"});
    fill(40, 7);
    for (size_t i = 0; i < 40; i++)
        x[3 * i] = i < 5 ? 1 : -1;
    EXPECT(bind(s, 40) && takt_session_run(s) == TAKT_ERR_RANGE);
    const takt_error *e = takt_session_error(s);
    EXPECT(e->id == TAKT_E_LENGTH && strstr(e->message, "5") != NULL &&
               strstr(e->message, "bound 3") != NULL && strstr(e->hint, "--bound kept=5") != NULL,
           "%s; %s", e->message, e->hint);
    EXPECT_IS(e->node[0], !=, '\0');
    x[0] = x[3] = -1;
    EXPECT_OK(NULL, takt_session_run(s));
    check(s, 40, 3);
    EXPECT(((const float *)takt_session_output(s, 3)->data)[0] == 0, "state is old after a fault");
    takt_session_destroy(s);
    takt_model_destroy(m);
}

static const char open_text[] =
    "model m(n: i64[1], x: f32[4]) {\n"
    "  l = length(n, names=[many], bounds=[9223372036854775807], tops=[9223372036854775807])\n"
    "  return y = broadcast(reshape(x, shape=[1, 4]), shape=[many, 4])\n"
    "}\n";

/* Only the caller's value bounds it. */
static void needs_bound(void)
{
    takt_model *m = load(ctx, open_text);
    takt_plan *plan = NULL;
    if (EXPECT_STATUS(NULL, takt_plan_create(m, NULL, &plan), TAKT_ERR_SHAPE))
        EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_LENGTH_OPEN);
    EXPECT(strstr(takt_last_error_info(ctx)->hint, "--bound many=") != NULL);
    const char *const said[] = {"many=9", "9"};
    for (size_t i = 0; i < 2; i++) {
        takt_session *s = open(ctx, m, &(takt_plan_options){.bounds = said[i]});
        int64_t *n = takt_session_input(s, 0)->data;
        EXPECT(takt_session_input(s, 1) != NULL);
        for (int64_t k = 9; k >= -1; k -= 2) {
            *n = k;
            EXPECT_EQ(takt_session_run(s), (k >= 0 ? TAKT_OK : TAKT_ERR_RANGE));
            EXPECT(k < 0 || takt_session_output(s, 0)->dims[0] == k);
        }
        takt_session_destroy(s);
    }
    takt_model_destroy(m);
}

static const char same_text[] = "model m(x: bool[8], y: f32[2]) {\n"
                                "  places, count = find_true(x)\n"
                                "  l = length(count, names=[kept], bounds=[8], tops=[8])\n"
                                "  return z = cast(sized(places, shape=[kept]), dtype=f32) + y\n"
                                "}\n";

/* A size broadcast with a value of two elements is 2. */
static void has_to_be(void)
{
    takt_model *m = load(ctx, same_text);
    takt_session *s = open(ctx, m, NULL);
    unsigned char *flag = takt_session_input(s, 0)->data;
    memset(flag, 0, 8);
    flag[3] = flag[6] = 1;
    EXPECT(takt_session_input(s, 1) != NULL && takt_session_run(s) == TAKT_OK, "%s",
           takt_session_error(s)->message);
    EXPECT_EQ(((const float *)takt_session_output(s, 0)->data)[1], 6);
    flag[7] = 1;
    EXPECT(takt_session_run(s) == TAKT_ERR_SHAPE &&
               takt_session_error(s)->id == TAKT_E_LENGTH_DIFFERS,
           "%s", takt_session_error(s)->message);
    takt_session_destroy(s);
    takt_model_destroy(m);
}

/* ---- sizes outside the planned range ---- */

static const char shape_text[] = "model m(x: f32[24], s: i64[2]) {\n"
                                 "  l = length(s, names=[a, b], bounds=[24, 24], tops=[24, 1])\n"
                                 "  y = reshape(x, shape=[a, b, floordiv(24, max(1, a * b))])\n"
                                 "  return sums = reduce_sum(y, axes=[0, 2]), z = y * 2.0\n"
                                 "}\n";

/* A result that is larger than at the sizes that memory was planned for: the run begins again. */
static void begins_again(void)
{
    static const int64_t shapes[][2] = {{24, 1}, {2, 3}, {1, 24}, {4, 6}, {2, 3}, {1, 1}};
    takt_model *m = load(ctx, shape_text);
    takt_session *s = open(ctx, m, &(takt_plan_options){.threads = 1});
    float *v = takt_session_input(s, 0)->data;
    int64_t *shape = takt_session_input(s, 1)->data;
    for (size_t i = 0; i < 6; i++) {
        v = takt_session_input(s, 0)->data;
        shape = takt_session_input(s, 1)->data;
        for (int k = 0; k < 24; k++)
            v[k] = (float)k;
        memcpy(shape, shapes[i], sizeof shapes[i]);
        EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
        const takt_tensor_view *sums = takt_session_output(s, 0), *z = takt_session_output(s, 1);
        EXPECT_EQ(sums->dims[0], shapes[i][1]);
        EXPECT_EQ(z->dims[0], shapes[i][0]);
        float total = 0;
        for (int64_t k = 0; k < sums->dims[0]; k++)
            total += ((const float *)sums->data)[k];
        EXPECT_EQ(total, 276);
        EXPECT_EQ(((const float *)z->data)[23], 46);
    }
    takt_session_destroy(s);
    takt_model_destroy(m);
}

int main(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return test_done();
    found("cpu", 1);
    found("cpu", 2);
    found("ref", 1);
    other_memory();
    allocates_nothing();
    bounds();
    needs_bound();
    has_to_be();
    begins_again();
    takt_ctx_destroy(ctx);
    return test_done();
}
