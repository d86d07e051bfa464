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
    takt_ctx_destroy(ctx);
    return test_done();
}
