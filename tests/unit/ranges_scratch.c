/* ranges_scratch.c - smaller sizes of a range need no more scratch than the largest, which is what
 * its plan reserves. */
#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

#include "test.h"

static takt_ctx *ctx;

static size_t scratch_of(const takt_model *m, const char *sizes)
{
    takt_plan *plan = NULL;
    takt_plan_info info = {0};
    const takt_plan_options o = {.threads = 1, .sizes = sizes, .dry = true};
    if (EXPECT_OK(ctx, takt_plan_create(m, &o, &plan)))
        takt_plan_query(plan, &info);
    takt_plan_destroy(plan);
    return info.scratch;
}

static void check(const char *text, const int *sizes, size_t count, int top)
{
    takt_model *m;
    char size[32];
    if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m)))
        return;
    snprintf(size, sizeof size, "n=1..%d", top);
    const size_t most = scratch_of(m, size);
    for (size_t i = 0; i < count; i++) {
        snprintf(size, sizeof size, "n=%d", sizes[i]);
        const size_t bytes = scratch_of(m, size);
        EXPECT(bytes <= most, "%s: scratch %zu at n=%d, %zu at n=%d", text, bytes, sizes[i], most,
               top);
    }
    takt_model_destroy(m);
}

static int8_t image[8 * 200 * 16];

static takt_session *open_at(const takt_model *m, const char *size)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_plan_options o = {.threads = 1, .sizes = size};
    if (EXPECT_OK(ctx, takt_plan_create(m, &o, &plan)))
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    takt_plan_destroy(plan);
    return s;
}

static const void *run_at(takt_session *s, int n)
{
    const takt_tensor_view x = {.data = image, .dtype = TAKT_I8, .rank = 4, .dims = {1, 8, n, 16}};
    const takt_tensor_view k = {.data = image, .dtype = TAKT_I8, .rank = 4, .dims = {16, 3, 3, 1}};
    EXPECT(takt_session_bind(s, "x", &x) == TAKT_OK && takt_session_bind(s, "k", &k) == TAKT_OK &&
               takt_session_run(s) == TAKT_OK,
           "%s", takt_session_error(s)->message);
    return takt_session_output(s, 0)->data;
}

/* Lines of any length find their taps in the scratch of the longest. */
static void check_lines(void)
{
    static const char text[] =
        "model m(x: i8[1, 8, n, 16], k: i8[16, 3, 3, 1]) {\n"
        "  return y = op.integer_conv(x, k, pad=[1, 1, 1, 1], groups=16, layout=nhwc)\n}";
    static const int widths[] = {1, 2, 3, 4, 7, 20, 63, 100, 200};
    takt_model *m;
    if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m)))
        return;
    for (size_t i = 0; i < sizeof image; i++)
        image[i] = (int8_t)(i * 2654435761u >> 16);
    takt_session *range = open_at(m, "n=1..200");
    for (size_t i = 0; range != NULL && i < sizeof widths / sizeof *widths; i++) {
        char size[32];
        snprintf(size, sizeof size, "n=%d", widths[i]);
        takt_session *alone = open_at(m, size);
        if (alone != NULL)
            EXPECT(memcmp(run_at(range, widths[i]), run_at(alone, widths[i]),
                          (size_t)widths[i] * 8 * 16 * sizeof(int32_t)) == 0,
                   "%s: other bits", size);
        takt_session_destroy(alone);
    }
    takt_session_destroy(range);
    takt_model_destroy(m);
}

int main(void)
{
    static const int rows[] = {1, 2, 3, 7, 8}, lengths[] = {1, 100, 4095, 4096, 4097, 16383, 20000},
                     widths[] = {2, 30, 100, 400, 500, 683, 1000, 1022};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    check("model m(x: i8[n, 20000], w: i8[20000, 128]) { return y = op.integer_matmul(x, w) }",
          rows, 5, 8);
    check("model m(x: i8[n, 960], w: i8[960, 24]) { return y = op.integer_matmul(x, w) }", rows, 5,
          8);
    check("model m(x: f32[n, 24], r: f32[n, 24]) seed=1 {\n"
          "  return y = dense(softmax(x), 24) + r\n}",
          rows, 5, 8);
    check("model m(x: f16[n]) { return y = reduce_sum(x) }", lengths, 7, 65536);
    check("model m(x: i8[1, 32, n, 3], k: i8[20, 3, 3, 3]) {\n"
          "  return y = op.integer_conv(x, k, pad=[1, 1, 1, 1], layout=nhwc)\n}",
          widths, 8, 1024);
    check_lines();
    takt_ctx_destroy(ctx);
    return test_done();
}
