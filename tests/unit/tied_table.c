/* tied_table.c - a table that is gathered from and is also a factor of a product is held once: rows
 * come out of the panels of the product, with the same bits. */
#include "util/run_once.h"

enum { MOST = 8192, PICKS = 7 };

static takt_ctx *ctx;

/* Columns that fill panels and that do not, rows of one chunk, of more, and of a part of one. */
static const int shapes[][2] = {{601, 300}, {601, 256}, {64, 257}, {5, 40}, {4, 600}, {33, 1}};
static const char *const types[] = {"f32", "f16", "bf16"};
static const char *const isas[] = {NULL, "scalar"};

/* Without the product, rows are copied from the table. */
static takt_model *load(const int *shape, const char *type, bool is_tied)
{
    char text[512];
    snprintf(text, sizeof text,
             "model m(tokens: i64[7], h: f32[3, %d]) seed=3 {\n"
             "  param t: %s[%d, %d] = normal(0, 1)\n"
             "  return e = cast(gather(t, tokens, axis=0), dtype=f32),\n"
             "    s = %s\n}\n",
             shape[1], type, shape[0], shape[1],
             is_tied ? "op.matmul(h, cast(t, dtype=f32), transpose_b=true)" : "h + 1.0");
    return run_model(ctx, text);
}

/* Bytes of all weights in `*held`. */
static takt_session *open(const takt_model *m, const takt_plan_options *o, uint64_t *held)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    if (m != NULL && EXPECT_OK(ctx, takt_plan_create(m, o, &plan))) {
        takt_plan_info info;
        takt_plan_query(plan, &info);
        *held = info.weights + info.packed;
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    }
    takt_plan_destroy(plan);
    return s;
}

static takt_status pick(takt_session *s, const int64_t *tokens, float *to)
{
    memcpy(takt_session_input(s, 0)->data, tokens, PICKS * sizeof *tokens);
    EXPECT_OK(ctx, takt_view_random(ctx, takt_session_input(s, 1), 3, 1));
    const takt_status status = takt_session_run(s);
    const takt_tensor_view *y = takt_session_output(s, 0);
    memcpy(to, y->data, (size_t)(y->dims[0] * y->dims[1]) * sizeof *to);
    return status;
}

static void compare(const int *shape, const char *type, const takt_plan_options *o)
{
    static float want[MOST], got[MOST];
    const int64_t good[PICKS] = {0, 3, shape[0] - 1, 2, 0, 1, shape[0] / 2};
    const int64_t bad[PICKS] = {0, 0, shape[0], 0, 0, 0, 0};
    takt_model *tied = load(shape, type, true), *plain = load(shape, type, false);
    uint64_t held = 0, once = 0;
    takt_session *a = open(tied, o, &held), *b = open(plain, o, &once);
    if (a != NULL && b != NULL) {
        EXPECT_OK(ctx, pick(a, good, got));
        EXPECT_OK(ctx, pick(b, good, want));
        EXPECT(memcmp(got, want, PICKS * (size_t)shape[1] * sizeof *got) == 0,
               "%s[%d, %d], %s: other rows", type, shape[0], shape[1], o->isa);
        EXPECT_EQ(pick(a, bad, got), TAKT_ERR_RANGE);
        EXPECT(shape[0] < 601 || held < once + once / 10, "%s[%d, %d]: %llu bytes for %llu", type,
               shape[0], shape[1], (unsigned long long)held, (unsigned long long)once);
    }
    takt_session_destroy(a);
    takt_session_destroy(b);
    takt_model_destroy(tied);
    takt_model_destroy(plain);
}

/* Rows and sums of constants that are made while the plan is have the bits of -O0. */
static void compare_levels(const char *text)
{
    uint64_t held;
    float rows[PICKS * 300], sums[3 * 601], again[PICKS * 300];
    takt_plan_options o = {.threads = 1};
    EXPECT_OK(ctx, takt_opts_level(&o, 0));
    takt_model *m = run_model(ctx, text);
    takt_session *plain = open(m, &o, &held), *fused = open(m, &(takt_plan_options){0}, &held);
    const int64_t tokens[PICKS] = {0, 3, 600, 2, 0, 1, 300};
    if (plain != NULL && fused != NULL) {
        EXPECT_OK(ctx, pick(plain, tokens, rows));
        memcpy(sums, takt_session_output(plain, 1)->data, sizeof sums);
        EXPECT_OK(ctx, pick(fused, tokens, again));
        EXPECT(memcmp(rows, again, sizeof rows) == 0, "other rows: %s", text);
        EXPECT(memcmp(sums, takt_session_output(fused, 1)->data, sizeof sums) == 0,
               "other products: %s", text);
    }
    takt_session_destroy(plain);
    takt_session_destroy(fused);
    takt_model_destroy(m);
}

/* Without passes the embedding reads the widened table, which is made, and the product its source,
 * which is not freed meanwhile. */
static void widen_first(const char *type)
{
    char text[400];
    snprintf(text, sizeof text,
             "model m(tokens: i64[7], h: f32[3, 300]) seed=3 {\n"
             "  param t: %s[601, 300] = normal(0, 1)\n"
             "  w = cast(t, dtype=f32)\n"
             "  return e = gather(w, tokens, axis=0), s = op.matmul(h, w, transpose_b=true)\n}\n",
             type);
    compare_levels(text);
}

/* Fused, one step makes two constants of the table, which the rows are read from last. */
static void make_two(void)
{
    compare_levels("model m(tokens: i64[7], h: f64[3, 300]) seed=3 {\n"
                   "  param t: f16[601, 300] = normal(0, 1)\n"
                   "  w = cast(t, dtype=f64)\n"
                   "  a = op.matmul(h, w, transpose_b=true)\n"
                   "  b = op.matmul(h, op.tanh(w), transpose_b=true)\n"
                   "  e = gather(t, tokens, axis=0)\n"
                   "  return e = cast(e, dtype=f32), s = cast(a + b, dtype=f32)\n}\n");
}

int main(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return test_done();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t k = 0; k < sizeof types / sizeof *types; k++)
            for (size_t isa = 0; isa < sizeof isas / sizeof *isas; isa++) {
                compare(shapes[i], types[k], &(takt_plan_options){.threads = 1, .isa = isas[isa]});
                compare(shapes[i], types[k],
                        &(takt_plan_options){.threads = 2, .hint = "memory", .isa = isas[isa]});
            }
    widen_first("f16");
    widen_first("bf16");
    make_two();
    takt_ctx_destroy(ctx);
    return test_done();
}
