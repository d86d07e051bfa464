/* packing.c - weights that several threads pack, and constants that they compute, have the same
 * bytes as with one thread. */
#include <string.h>

#include <takt/takt.h>

#include "base/ctx.h"
#include "plan/plan.h"
#include "test.h"

/* A product with a last panel that is not whole, one of several matrices, and convolutions: by
 * Winograd's algorithm, of single pixels, and in groups; and blocks of 4 bits. Each has enough
 * weights to use threads, and so have the two that are computed first. */
static const char text[] = "model m(x: f32[3, 300], a: f32[5, 4, 130], p: f32[1, 70, 16, 16], "
                           "o: f32[1, 260, 6, 6], e: f32[601, 300], h: f32[2, 2048]) seed=3 {\n"
                           "  param w: f32[5, 130, 260] = normal(0, 1)\n"
                           "  param k: f32[300, 601] = normal(0, 1)\n"
                           "  param d: f32[530, 1152] = normal(0, 50)\n"
                           "  return y = dense(x, 611), b = matmul(a, w),\n"
                           "    q = conv(p, 83, kernel=3, pad=1), r = conv(o, 307, kernel=1),\n"
                           "    s = conv(o, 134, kernel=5, stride=2, groups=2),\n"
                           "    t = e * exp(transpose(k, perm=[1, 0])),\n"
                           "    u = transpose(e, perm=[1, 0]) + softmax(tanh(k) * 3.0),\n"
                           "    v = op.ggml_matmul(h, cast(abs(d), dtype=u8), format=q4_0)\n"
                           "}\n";

static takt_ctx *ctx;

static takt_plan *plan_for(const takt_model *m, int threads)
{
    takt_plan *plan = NULL;
    const takt_plan_options o = {.threads = threads};
    EXPECT_OK(ctx, takt_plan_create(m, &o, &plan));
    return plan;
}

static takt_model *load(void)
{
    takt_model *m = NULL;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, sizeof text - 1, NULL, &m));
    return m;
}

/* Each plan is of a separate model: those of one model share packed weights. */
static void compare(int threads)
{
    takt_model *m = load(), *other = load();
    takt_plan *one = plan_for(m, 1), *many = plan_for(other, threads);
    size_t large = 0;
    if (one != NULL && many != NULL && EXPECT_EQ(one->constant_count, many->constant_count))
        for (size_t i = 0; i < one->constant_count; i++) {
            const takt_tensor *a = &one->constants[i], *b = &many->constants[i];
            size_t bytes = 0, same = 0;
            if (a->storage == NULL || b->storage == NULL)
                continue;
            EXPECT(takt_type_bytes(&a->type, &bytes) && takt_type_bytes(&b->type, &same));
            EXPECT(bytes == same && memcmp(takt_tensor_data(a), takt_tensor_data(b), bytes) == 0,
                   "constant %zu of %zu bytes, %d threads", i, bytes, threads);
            large += bytes >= 1 << 18;
        }
    EXPECT(large >= 8, "%zu are packed by several threads", large);
    takt_plan_destroy(one);
    takt_plan_destroy(many);
    takt_model_destroy(m);
    takt_model_destroy(other);
}

int main(void)
{
    static const int threads[] = {2, 3, 8};
    if (EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
            compare(threads[i]);
    takt_ctx_destroy(ctx);
    return test_done();
}
