/* reduce_long.c - rows and columns reduced in parts have the same bits as at once. */
#include "test.h"

#include <math.h>
#include <string.h>

#include "backend/cpu/reduce_long.h"
#include "kernel/isa.h"
#include "util/conv_case.h"

enum { MOST = 5 * TAKT_REDUCE_CHUNK + 3, ROWS = 3, CHUNKS = 6, COLUMNS = 40, WIDE = 70 };

static float x[ROWS * MOST * COLUMNS];

static void fill(void)
{
    uint32_t state = 1;
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = 0.999f + (float)(state >> 8) * 0x1p-24F * 0.002f;
    }
}

static void reduce_whole(const takt_reduce_long *l, float *to)
{
    for (size_t i = 0; i < l->rows; i++) {
        const takt_reduce r = {.op = l->op,
                               .dst = to + i * l->inner,
                               .src = x + i * l->n * l->inner,
                               .count = l->inner,
                               .across = 1,
                               .n = l->n,
                               .run = l->n,
                               .step = l->inner};
        l->run(&r);
    }
}

/* Cut at every chunk, in an order that no thread would choose. */
static void check(const takt_reduce_long *l)
{
    const size_t units = takt_reduce_long_units(l), bytes = ROWS * l->inner * sizeof(float);
    static float parts[ROWS * CHUNKS * COLUMNS];
    float joined[ROWS * COLUMNS], whole[ROWS * COLUMNS];
    for (size_t i = units; i-- > 0;)
        takt_reduce_long_parts(l, x, i, i + 1, parts);
    takt_reduce_long_join(l, parts, joined);
    reduce_whole(l, whole);
    EXPECT(memcmp(joined, whole, bytes) == 0, "op %d, n %zu, %zu columns: %a, not %a", (int)l->op,
           l->n, l->inner, (double)joined[0], (double)whole[0]);
    memset(joined, 0, bytes);
    takt_reduce_long_parts(l, x, 0, units / 2, parts);
    takt_reduce_long_parts(l, x, units / 2, units, parts);
    takt_reduce_long_join(l, parts, joined);
    EXPECT(memcmp(joined, whole, bytes) == 0, "op %d, n %zu, %zu columns, two parts", (int)l->op,
           l->n, l->inner);
}

static void parts(void)
{
    static const size_t sizes[] = {1, 15, 4095, 4096, 4097, 8192, 8193, 9000, 4 * 4096 + 100, MOST};
    static const size_t columns[] = {1, 5, 16, COLUMNS};
    static const takt_reduce_op ops[] = {TAKT_REDUCE_SUM, TAKT_REDUCE_SUMSQ, TAKT_REDUCE_PROD,
                                         TAKT_REDUCE_MAX, TAKT_REDUCE_MIN};
    takt_reduce_fn *run =
        (takt_reduce_fn *)takt_kernel_find("reduce_f32", takt_isa_detect(), NULL, 0, NULL)->run;
    fill();
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            x[7] = i % 2 == 0 ? 1 : -INFINITY;
            for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
                check(&(takt_reduce_long){.run = run,
                                          .op = ops[o],
                                          .dtype = TAKT_F32,
                                          .rows = ROWS,
                                          .n = sizes[i],
                                          .inner = columns[k]});
        }
}

/* Rows and columns of bf16 are widened chunk by chunk: the bits of those widened before. */
static void widened(void)
{
    static const size_t sizes[] = {1, 4096, 8193, MOST};
    static const takt_reduce_op ops[] = {TAKT_REDUCE_SUM, TAKT_REDUCE_MAX, TAKT_REDUCE_MIN};
    static const size_t columns[] = {1, 5, 16, WIDE};
    static uint16_t narrow[ROWS * MOST * COLUMNS];
    static float parts[ROWS * CHUNKS * WIDE], chunk[TAKT_REDUCE_CHUNK * WIDE];
    float joined[ROWS * WIDE], whole[ROWS * WIDE];
    const takt_isa_set isas = takt_isa_detect();
    takt_convert_fn *convert =
        takt_kernel_as_convert(takt_kernel_find("convert", isas, NULL, 0, NULL));
    fill();
    convert(&(takt_convert){.to = TAKT_BF16, .from = TAKT_F32}, narrow, x, ROWS * MOST * COLUMNS);
    convert(&(takt_convert){.to = TAKT_F32, .from = TAKT_BF16}, x, narrow, ROWS * MOST * COLUMNS);
    for (size_t k = 0; k < 3 * 4 * 4; k++) {
        const takt_reduce_long l = {
            .run = (takt_reduce_fn *)takt_kernel_find("reduce_f32", isas, NULL, 0, NULL)->run,
            .op = ops[k % 3],
            .dtype = TAKT_F32,
            .rows = ROWS,
            .n = sizes[k / 3 % 4],
            .inner = columns[k / 12],
            .convert = convert,
            .from = TAKT_BF16};
        const size_t units = takt_reduce_long_units(&l);
        if (l.rows * l.n * l.inner > sizeof x / sizeof *x)
            continue;
        EXPECT(takt_reduce_long_room(&l) <= sizeof chunk / sizeof *chunk, "%zu columns", l.inner);
        takt_reduce_long_widened(&l, narrow, units / 2, units, parts, chunk);
        takt_reduce_long_widened(&l, narrow, 0, units / 2, parts, chunk);
        takt_reduce_long_join(&l, parts, joined);
        reduce_whole(&l, whole);
        EXPECT(memcmp(joined, whole, ROWS * l.inner * sizeof *joined) == 0,
               "op %d, n %zu, %zu columns: %a, not %a", (int)l.op, l.n, l.inner, (double)joined[0],
               (double)whole[0]);
    }
}

/* ---- steps of plans ---- */

static const char *const models[] = {
    "model m(x: f32[3, 70003]) { return op.reduce_sum(x, axes=[1]) }",
    "model m(x: f32[30011, 37]) { return op.reduce_sum(x, axes=[0]) }",
    "model m(x: f32[2, 9001, 70]) { return op.reduce_max(x, axes=[1]) }",
    "model m(x: f32[9, 40, 30, 65]) { return op.reduce_sum_square(x, axes=[0, 1, 2]) }",
    "model m(x: f32[30011, 17]) { return op.reduce_mean(x, axes=[0]) }",
    "model m(x: f64[20011, 19]) { return op.reduce_sum(x, axes=[0]) }",
    "model m(x: i32[20011, 19]) { return op.reduce_sum(x, axes=[0]) }",
    "model m(x: f16[3, 70003]) { return op.reduce_min(x, axes=[1]) }",
    "model m(x: bf16[70003]) { return op.reduce_sum(x) }",
    "model m(x: bf16[2, 9001, 70]) { return op.reduce_sum(x, axes=[1]) }",
    "model m(x: f16[301, 65]) { return op.reduce_max(x, axes=[0]) }",
};

/* Threads share the chunks: any number of them, with the bits of one. */
static void threads(void)
{
    static const int counts[] = {1, 2, 3, 4, 7};
    static conv_result one, got;
    takt_ctx *ctx;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        takt_model *model;
        if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "long", models[i], strlen(models[i]), NULL,
                                                   &model)))
            continue;
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            const takt_plan_options o = {.threads = counts[k]};
            if (EXPECT_OK(ctx, conv_run(model, &o, false, k == 0 ? &one : &got)) && k > 0)
                EXPECT(conv_difference(&one, &got) == one.count, "%s\n    %d threads: other bits",
                       models[i], counts[k]);
        }
        takt_model_destroy(model);
    }
    takt_ctx_destroy(ctx);
}

TEST_MAIN(parts, widened, threads)
