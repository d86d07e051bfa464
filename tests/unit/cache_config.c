/* cache_config.c - how products walk through memory changes their scratch, and never their bits. */
#include "test.h"

#include <string.h>

#include <takt/takt.h>

enum { M = 131, K = 700, N = 203, MOST = 1 << 18 };

static const char text[] = "model m(x: f32[131, 700], z: f64[131, 300]) seed=4 {\n"
                           "  return y = dense(x, 203, act=relu), w = z @ transpose(z)\n"
                           "}\n";

static takt_ctx *ctx;
static takt_model *model;

/* Both results, and the scratch that the plan needs. */
static size_t run(const takt_cache_config *cache, int threads, float *y, double *w)
{
    const takt_plan_options options = {.threads = threads, .cache = *cache};
    takt_plan *plan;
    takt_session *session;
    takt_plan_info info;
    EXPECT_OK(ctx, takt_plan_create(model, &options, &plan));
    EXPECT_OK(ctx, takt_session_create(plan, NULL, &session));
    float *x = takt_session_input(session, 0)->data;
    double *z = takt_session_input(session, 1)->data;
    for (size_t i = 0; i < M * K; i++)
        x[i] = (float)(i * 2654435761u % 1000) / 500 - 1;
    for (size_t i = 0; i < M * 300; i++)
        z[i] = (double)(i * 40503u % 1000) / 300 - 1.5;
    EXPECT_OK(ctx, takt_session_run(session));
    memcpy(y, takt_session_output(session, 0)->data, M * N * sizeof *y);
    memcpy(w, takt_session_output(session, 1)->data, M * M * sizeof *w);
    takt_plan_query(plan, &info);
    takt_session_destroy(session);
    takt_plan_destroy(plan);
    return info.scratch;
}

static void bits_stay(void)
{
    static const takt_cache_config cases[] = {
        {.rows = 1},
        {.rows = 16, .depth = 256},
        {.rows = 4096, .columns = 1},
        {.depth = 1},
        {.depth = 512, .columns = 64},
        {.columns = 100000 / 2},
        {.block_size = 1},
        {.block_size = 1 << 14},
        {.enable_prefetch = -1},
        {.enable_prefetch = 1},
        {.prefetch_distance = 3},
        {.prefetch_distance = 65536},
        {.cache_line_size = 16},
        {.cache_line_size = 4096},
        {.rows = 13, .depth = 300, .columns = 37},
    };
    static float y[M * N], want_y[M * N];
    static double w[M * M], want_w[M * M];
    (void)run(&(takt_cache_config){0}, 1, want_y, want_w);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int threads = 1; threads <= 3; threads += 2) {
            (void)run(&cases[i], threads, y, w);
            EXPECT_EQ(memcmp(y, want_y, sizeof y), 0);
            EXPECT_EQ(memcmp(w, want_w, sizeof w), 0);
        }
}

/* A block of few rows needs less room than the usual one: the knob reaches the kernel. */
static void the_tile_has_an_effect(void)
{
    static float y[M * N];
    static double w[M * M];
    const size_t usual = run(&(takt_cache_config){0}, 1, y, w);
    EXPECT_IS(run(&(takt_cache_config){.rows = 16, .depth = 256}, 1, y, w), <, usual);
    EXPECT_IS(run(&(takt_cache_config){.block_size = 1 << 14}, 1, y, w), <, usual);
}

/* Every other step that multiplies: patches, 1x1, 1x1 before depthwise, Winograd, attention, and
 * a convolution of bytes, which gathers patches for a block of rows and reads an image else. */
static const char *const others[] = {
    "model m(x: f32[2, 24, 20, 20]) seed=1 {\n  return conv(x, 40, 5, stride=2)\n}\n",
    "model m(x: f32[2, 300, 14, 14]) seed=1 {\n  return conv(x, 40, 1)\n}\n",
    "model m(x: f32[1, 32, 40, 40]) seed=1 {\n"
    "  return conv(conv(x, 96, 1, act=relu), 96, 3, groups=96)\n}\n",
    "model m(x: f32[2, 32, 20, 20]) seed=1 {\n  return conv(x, 40, 3)\n}\n",
    "model m(x: f32[2, 150, 64], y: f32[2, 300, 64]) {\n"
    "  return attention(x, y, y, heads=2)\n}\n",
    "model m(x: u8[2, 20, 21, 64], w: i8[40, 3, 3, 64], z: u8[]) {\n"
    "  return op.integer_conv(x, w, z, pad=[1, 1, 1, 1], layout=nhwc)\n}\n",
};

/* The digest of the results, and the scratch of the plan. */
static size_t run_other(const char *source, const takt_cache_config *cache, float *sum)
{
    const takt_plan_options options = {.threads = 1, .cache = *cache};
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    takt_plan_info info;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "text", source, strlen(source), NULL, &m));
    EXPECT_OK(ctx, takt_plan_create(m, &options, &plan));
    EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    for (size_t i = 0; i < takt_session_input_count(s); i++)
        EXPECT_OK(ctx, takt_view_random(ctx, takt_session_input(s, i), 0, (uint32_t)i));
    EXPECT_OK(ctx, takt_session_run(s));
    const takt_tensor_view *y = takt_session_output(s, 0);
    size_t count = 1;
    for (int d = 0; d < y->rank; d++)
        count *= (size_t)y->dims[d];
    memcpy(sum, y->data, (count < MOST ? count : MOST) * sizeof *sum);
    EXPECT(count <= MOST, "%zu elements", count);
    takt_plan_query(plan, &info);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    return info.scratch;
}

static void other_steps(void)
{
    static const takt_cache_config cases[] = {
        {.rows = 1},
        {.rows = 8, .depth = 256, .columns = 24},
        {.rows = 65536},
        {.columns = 16},
        {.depth = 256},
        {.enable_prefetch = -1},
        {.prefetch_distance = 7},
    };
    static float want[MOST], got[MOST];
    size_t changed = 0; /* products that read their rows in place need no room for a block */
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const size_t usual = run_other(others[i], &(takt_cache_config){0}, want);
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            const size_t scratch = run_other(others[i], &cases[k], got);
            EXPECT(memcmp(got, want, sizeof got) == 0, "model %zu, case %zu", i, k);
            changed += k == 0 && scratch != usual;
        }
    }
    EXPECT(changed >= 4, "a block of one row changes the scratch of %zu models only", changed);
}

static void mistakes_are_refused(void)
{
    static const takt_cache_config cases[] = {
        {.rows = 65537},
        {.depth = 65537},
        {.columns = 65537},
        {.cache_line_size = 8},
        {.cache_line_size = 8192},
        {.enable_prefetch = 2},
        {.enable_prefetch = -2},
        {.prefetch_distance = 65537},
        {.block_size = (size_t)1 << 31},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const takt_plan_options options = {.cache = cases[i]};
        takt_plan *plan;
        EXPECT_STATUS(ctx, takt_plan_create(model, &options, &plan), TAKT_ERR_ARGUMENT);
        EXPECT_SAME(plan, NULL);
    }
}

static void tiles_are_read(void)
{
    static const char *const bad[] = {"",      "1",      "1,2",       "1,2,3,4", "1,2,",
                                      "a,b,c", "-1,2,3", "1,2,99999", "1, 2,3",  "1,2,3 "};
    takt_plan_options o = {.threads = 1};
    EXPECT_OK(ctx, takt_opts_tile(ctx, &o, "96,1024,0"));
    EXPECT_EQ(o.cache.rows, 96);
    EXPECT_EQ(o.cache.depth, 1024);
    EXPECT_EQ(o.cache.columns, 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        EXPECT_STATUS(ctx, takt_opts_tile(ctx, &o, bad[i]), TAKT_ERR_ARGUMENT);
    EXPECT_EQ(o.cache.rows, 96);
}

/* Two settings make two plans; the same setting finds the existing one. */
static void the_cache_of_plans_tells_them_apart(void)
{
    const takt_plan_options one = {.threads = 1}, other = {.threads = 1, .cache = {.rows = 24}};
    takt_plan *a, *b, *c;
    EXPECT_OK(ctx, takt_plan_get(model, &one, &a));
    EXPECT_OK(ctx, takt_plan_get(model, &other, &b));
    EXPECT_OK(ctx, takt_plan_get(model, &other, &c));
    EXPECT(a != b);
    EXPECT_SAME(b, c);
    takt_plan_destroy(a);
    takt_plan_destroy(b);
    takt_plan_destroy(c);
}

int main(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "text", text, sizeof text - 1, NULL, &model));
    bits_stay();
    the_tile_has_an_effect();
    other_steps();
    mistakes_are_refused();
    tiles_are_read();
    the_cache_of_plans_tells_them_apart();
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    return test_done();
}
