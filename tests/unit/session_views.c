/* session_views.c - inputs bound as slices and in Fortran order: read in place, or copied. */
#include "api/session/session.h"
#include "base/ctx.h"
#include "test.h"
#include "util/sheet.h"

#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

static takt_ctx *ctx;

enum { ROWS = 6, COLUMNS = 8, COUNT = ROWS * COLUMNS, ROOM = 512 };

typedef struct pattern {
    const char *name;
    int64_t first, row, column; /* elements */
} pattern;

static const pattern patterns[] = {
    {"Fortran order", 0, 1, ROWS},
    {"rows of a wider matrix", 3, COLUMNS + 5, 1},
    {"every second column", 1, 2 * COLUMNS + 3, 2},
    {"from the last row to the first", (ROWS - 1) * COLUMNS, -COLUMNS, 1},
    {"one row again and again", 0, 0, 1},
};
enum { FORTRAN, WIDER, SECOND, UPWARDS, REPEATED, PATTERNS };

/* 1: read in place, 0: copied, -1: either. */
typedef struct row {
    const char *dtype, *result;
    int views[PATTERNS];
} row;

static const row rows[] = {
    {"f32", "relu(x)", {1, 1, 1, 1, 1}},
    {"f64", "exp(x) * x + 1", {1, 1, 1, 1, 1}},
    {"f16", "x * x - x", {1, 1, 1, 1, 1}},
    {"i32", "x + 3", {1, 1, 1, 1, 1}},
    {"f32", "cast(x, dtype=f64)", {1, 1, 1, 1, 1}},
    {"f32", "transpose(x)", {1, 1, 1, 1, 1}},
    {"u8", "slice(x, start=[1, 2], stop=[5, 8], step=[2, 3])", {1, 1, 1, 1, 1}},
    {"f32", "softmax(x)", {0, 1, 0, 0, 1}},
    {"f64", "layer_norm(x)", {0, 1, 0, 0, 1}},
    {"f32", "x |> dense(5)", {1, 1, -1, 0, 1}},
    {"f64", "x |> dense(5)", {1, 1, -1, 0, 1}},
    {"f16", "x |> dense(5)", {0, 0, 0, 0, 0}},
    {"f32", "matmul(x, constant(f32[6, 3], 0.25), transpose_a=true)", {-1, 1, -1, 0, -1}},
    {"f32", "reduce_sum(x, axes=[0])", {0, 0, 0, 0, 0}},
    {"f32", "relu(x) + reduce_sum(x, axes=[0])", {0, 0, 0, 0, 0}},
    {"f32", "relu(reshape(x, shape=[48]))", {0, 0, 0, 0, 0}},
    {"f32", "x", {0, 0, 0, 0, 0}},
};

static size_t size_of(const char *dtype)
{
    return strcmp(dtype, "u8") == 0    ? 1
           : strcmp(dtype, "f16") == 0 ? 2
           : strcmp(dtype, "f64") == 0 ? 8
                                       : 4;
}

static takt_session *session_of(const char *text, const char *donate)
{
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_plan_options options = {.threads = 1, .donate = donate};
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model)) &&
        EXPECT_OK(ctx, takt_plan_create(model, &options, &plan)))
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    return s;
}

/* The elements of the pattern, in the caller's strided buffer and dense. */
static void spread(const pattern *p, size_t size, const char *dense, char *strided, char *want)
{
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t k = 0; k < COLUMNS; k++)
            memcpy(strided + (p->first + i * p->row + k * p->column) * (int64_t)size,
                   dense + (size_t)(i * COLUMNS + k) * size, size);
    for (int64_t i = 0; i < ROWS; i++) /* where elements coincide, the last one wins */
        for (int64_t k = 0; k < COLUMNS; k++)
            memcpy(want + (size_t)(i * COLUMNS + k) * size,
                   strided + (p->first + i * p->row + k * p->column) * (int64_t)size, size);
}

/* The session's plan reports the same. */
static void check_told(const takt_session *s, size_t size, bool is_view, const char *what)
{
    static sheet text;
    char moves[80];
    text.length = 0;
    EXPECT_OK(ctx, takt_session_describe(s, TAKT_FORMAT_TEXT, sheet_keep, &text));
    snprintf(moves, sizeof moves, "is moved, %zu bytes a run", COUNT * size);
    EXPECT((strstr(text.at, "is read where it lies: 0 bytes are moved") != NULL) == is_view,
           "%s\n%s", what, text.at);
    EXPECT((strstr(text.at, moves) != NULL) == !is_view, "%s\n%s", what, text.at);
    EXPECT((strstr(text.at, "x, as it is bound") != NULL) == !is_view, "%s\n%s", what, text.at);
}

static void check_pattern(takt_session *s, const row *r, int which, const char *dense)
{
    static _Alignas(64) char strided[ROOM * 8], want[COUNT * 8], expected[COUNT * 8];
    const pattern *p = &patterns[which];
    const size_t size = size_of(r->dtype);
    char what[200];
    snprintf(what, sizeof what, "%s %s, %s", r->dtype, r->result, p->name);
    memset(strided, 0x5a, sizeof strided);
    spread(p, size, dense, strided, want);
    takt_tensor_view view = *takt_session_input(s, 0);
    view.data = want;
    memset(view.strides, 0, sizeof view.strides);
    EXPECT_OK(NULL, takt_session_bind(s, "x", &view));
    EXPECT_OK(NULL, takt_session_run(s));
    const size_t bytes = s->outputs[0].bytes;
    memcpy(expected, takt_session_output(s, 0)->data, bytes);
    view.data = strided + p->first * (int64_t)size;
    view.strides[0] = p->row;
    view.strides[1] = p->column;
    EXPECT(takt_session_bind(s, "x", &view) == TAKT_OK, "%s: %s", what,
           takt_session_error(s)->message);
    EXPECT(r->views[which] < 0 || s->inputs[0].is_view == (r->views[which] == 1), "%s: a %s", what,
           s->inputs[0].is_view ? "view" : "move");
    check_told(s, size, s->inputs[0].is_view, what);
    memset(takt_session_output(s, 0)->data, 0, bytes);
    const uint64_t before = atomic_load(&ctx->allocations);
    EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
    EXPECT(atomic_load(&ctx->allocations) == before, "%s: a run takes memory", what);
    EXPECT(memcmp(takt_session_output(s, 0)->data, expected, bytes) == 0, "%s: other bits", what);
    EXPECT_SAME(takt_session_input(s, 0)->data, view.data);
}

static void every_pattern(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[300];
        static _Alignas(64) char dense[COUNT * 8];
        snprintf(text, sizeof text, "model m(x: %s[6, 8]) { return %s }\n", rows[i].dtype,
                 rows[i].result);
        takt_session *s = session_of(text, NULL);
        if (s == NULL) {
            printf("%s", text);
            continue;
        }
        EXPECT_OK(ctx, takt_view_random(ctx, takt_session_input(s, 0), 3, 0));
        memcpy(dense, takt_session_input(s, 0)->data, COUNT * size_of(rows[i].dtype));
        for (int p = 0; p < PATTERNS; p++)
            check_pattern(s, &rows[i], p, dense);
        takt_session_destroy(s);
    }
}

/* Rows of a product, sliced in two ways: with one stride for all rows, or not. */
static void folded_rows(void)
{
    static float x[2 * 60];
    takt_session *s = session_of("model m(x: f32[2, 3, 8]) { return x |> dense(4) }\n", NULL);
    if (s == NULL)
        return;
    takt_tensor_view view = *takt_session_input(s, 0);
    view.data = x;
    view.strides[2] = 1;
    view.strides[1] = 10;
    view.strides[0] = 30;
    if (EXPECT_OK(NULL, takt_session_bind(s, "x", &view)))
        EXPECT(s->inputs[0].is_view);
    view.strides[0] = 60;
    if (EXPECT_OK(NULL, takt_session_bind(s, "x", &view)))
        EXPECT(!s->inputs[0].is_view);
    view.data = (char *)x + 2; /* no place for a float */
    view.strides[0] = 30;
    if (EXPECT_OK(NULL, takt_session_bind(s, "x", &view)))
        EXPECT(!s->inputs[0].is_view);
    view.data = x;
    if (EXPECT_OK(NULL, takt_session_bind(s, "x", &view)))
        EXPECT(s->inputs[0].is_view);
    view.data = NULL; /* and back */
    EXPECT(takt_session_bind(s, "x", &view) == TAKT_OK && !s->inputs[0].is_view);
    EXPECT_EQ(s->view_count, 0);
    EXPECT_OK(NULL, takt_session_run(s));
    takt_session_destroy(s);
}

/* A step never overwrites the caller's strided memory. */
static void donated(void)
{
    static float x[ROWS * 2 * COLUMNS];
    takt_session *s = session_of("model m(x: f32[6, 8]) { return sqrt(transpose(exp(x))) }\n", "x");
    if (s == NULL)
        return;
    takt_tensor_view view = *takt_session_input(s, 0);
    view.data = x;
    view.strides[0] = 2 * COLUMNS;
    view.strides[1] = 1;
    EXPECT_OK(NULL, takt_session_bind(s, "x", &view));
    EXPECT_OK(NULL, takt_session_run(s));
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        EXPECT(x[i] == 0, "element %zu was written", i);
    takt_session_destroy(s);
}

/* One op in eager mode, whose result overwrites its own input, seen in another order. */
static void over_itself(void)
{
    float x[4][4], want[4][4];
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++) {
            x[i][k] = (float)(i * 4 + k) - 7;
            want[k][i] = x[i][k] < 0 ? 0 : x[i][k];
        }
    const takt_tensor_view out = {.dtype = TAKT_F32, .rank = 2, .dims = {4, 4}, .data = x};
    takt_tensor_view in = out;
    in.strides[0] = 1;
    in.strides[1] = 4;
    EXPECT_OK(ctx, takt_op_run(ctx, &(takt_op_call){"relu", NULL, &in, 1, &out, 1}));
    EXPECT_EQ(memcmp(x, want, sizeof x), 0);
}

/* Binding a port touches its own buffers alone: each buffer is in one chain, so that the time grows
 * linearly with the number of ports. */
static void chains_of_ports(void)
{
    static const char text[] = "model m(a: f32[4], b: f32[4]) {\n"
                               "  return p = a + b, q = a, r = b, s = a * b\n}\n";
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m)) &&
        EXPECT_OK(ctx, takt_plan_create(m, NULL, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        const size_t ports = plan->graph->input_count + plan->graph->output_count;
        size_t of_ports = 0, chained = 0;
        for (size_t i = 0; i < plan->buffer_count; i++)
            of_ports += plan->buffers[i].place == TAKT_PLACE_INPUT ||
                        plan->buffers[i].place == TAKT_PLACE_OUTPUT;
        for (size_t i = 0; i < ports; i++)
            for (uint32_t k = s->port_first[i]; k != 0; k = s->port_next[k - 1])
                chained++;
        EXPECT(of_ports >= ports && chained == of_ports, "%zu of %zu buffers", chained, of_ports);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
}

static void open_all(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void close_all(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(open_all, every_pattern, folded_rows, donated, over_itself, chains_of_ports, close_all)
