/* gpu_choice.c - which device kernels a plan takes for large products and long attention. */
#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

#include "api/backends.h"
#include "plan/backend.h"
#include "test.h"
#include "util/gpu.h"

typedef struct choice {
    const char *inputs, *value, *hint, *kernel;
    bool is_sparing; /* takes no scratch */
} choice;

static void expect_kernel(const choice *c)
{
    char text[200];
    const takt_plan_options o = {.backend = "gpu", .threads = 1, .hint = c->hint};
    takt_ctx *ctx;
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    snprintf(text, sizeof text, "model m(%s) { return %s }", c->inputs, c->value);
    gpu_driver(&(gpu_settings){.capability = 90});
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m));
    if (EXPECT_OK(ctx, takt_plan_create(m, &o, &plan)))
        for (size_t i = 0; i < plan->step_count; i++) {
            const takt_step *s = &plan->steps[i];
            if (s->transfer.way != TAKT_COPY_NONE)
                continue;
            EXPECT(strcmp(s->kernel, c->kernel) == 0, "%s: %s", text, s->kernel);
            EXPECT(plan->space[1].arena >= s->scratch_bytes);
            EXPECT((s->scratch_bytes == 0) == c->is_sparing, "%s: %zu", text, s->scratch_bytes);
        }
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

#define HEADS "op.attention(q, k, v, heads=8)"

/* Long attention is one kernel; with --hint memory only where its scores take no more. */
static void panels(void)
{
    static const choice rows[] = {
        {"q: f32[1, 68, 128], k: f32[1, 1024, 128], v: f32[1, 1024, 640]", HEADS, NULL,
         "attend_long_f32", false},
        {"q: f32[1, 68, 128], k: f32[1, 1024, 128], v: f32[1, 1024, 640]", HEADS, "memory",
         "transpose_f32", false},
        {"q: f32[9, 256, 128], k: f32[9, 4096, 128], v: f32[9, 4096, 640]", HEADS, "memory",
         "attend_long_f32", false},
        {"q: f32[1, 66, 128], k: f32[1, 1024, 128], v: f32[1, 1024, 640]", HEADS, NULL,
         "transpose_f32", false},
        {"q: f32[1, 68, 128], k: f32[1, 1028, 128], v: f32[1, 1028, 640]", HEADS, NULL,
         "transpose_f32", false},
        {"q: f32[1, 68, 32], k: f32[1, 1024, 32], v: f32[1, 1024, 640]", HEADS, NULL,
         "transpose_f32", false},
        {"q: f32[1, 68, 128], k: f32[1, 1024, 128], v: f32[1, 1024, 512]", HEADS, NULL,
         "transpose_f32", false}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        expect_kernel(&rows[r]);
}

/* A large product takes less time with A transposed first, if it has columns enough; that takes
 * memory. */
static void lines(void)
{
    static const choice rows[] = {
        {"a: f32[256, 512], b: f32[512, 512]", "relu(a @ b)", NULL, "gemm_f32_64l", false},
        {"a: f32[508, 1000], b: f32[1000, 1020], c: f32[1020], r: f32[508, 1020]", "a @ b + c + r",
         NULL, "gemm_f32_64l", false},
        {"a: f32[256, 512], b: f32[512, 512]", "relu(a @ b)", "memory", "gemm_f32_128w", true}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        expect_kernel(&rows[r]);
}

/* Sizes of a range stay within its memory, though some of them would be faster with more. */
static void expect_ranged(const char *text, const char *sizes, const char *limit, const char *to)
{
    const takt_plan_options o = {
        .backend = "gpu", .threads = 1, .sizes = sizes, .space_limits = limit};
    takt_ctx *ctx;
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    gpu_driver(&(gpu_settings){.capability = 90});
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m));
    if (EXPECT_OK(ctx, takt_plan_create(m, &o, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s)))
        EXPECT_OK(ctx, takt_session_reshape(s, m, to));
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

static void ranged(void)
{
    expect_ranged("model m(q: f32[1, 68, 128], k: f32[1, n, 128], v: f32[1, n, 640]) {\n"
                  "  return op.attention(q, k, v, heads=8)\n}\n",
                  "n=4..4100", "gpu=26000000", "n=4096");
    expect_ranged("model m(a: f32[n, 512], b: f32[512, 512]) { return relu(a @ b) }", "n=4..257",
                  "gpu=2200000", "n=256");
}

TEST_MAIN(panels, lines, ranged)
