/* map_semantics.c - expected results of element-wise kernels and conversions in cases that are easy
 * to get wrong, for every variant that runs here. The kernel checker compares variants with the
 * scalar one; this test checks the scalar one itself.
 */
#include "test.h"

#include <math.h>
#include <string.h>

#include "kernel/convert/convert.h"
#include "kernel/map/map.h"
#include "kernel/reduce/reduce.h"

enum { MOST = 32, N = 19 }; /* 19: vectors of every width, and a tail */

static size_t variants(const char *family, takt_kernel_choice *rows)
{
    size_t count = 0, runnable = 0;
    const takt_isa_set here = takt_isa_detect();
    takt_kernel_find(family, here, rows, MOST, &count);
    for (size_t i = 0; i < count; i++)
        if ((here & UINT32_C(1) << rows[i].unit->isa) != 0)
            rows[runnable++] = rows[i];
    return runnable;
}

typedef struct row_f32 {
    takt_map_op op;
    float a, b, want;
} row_f32;

static const row_f32 float_rows[] = {
    {TAKT_MAP_RELU, -0.0f, 0, -0.0f},
    {TAKT_MAP_RELU, NAN, 0, NAN},
    {TAKT_MAP_RELU, -1, 0, 0.0f},
    {TAKT_MAP_RELU, -INFINITY, 0, 0.0f},
    {TAKT_MAP_RELU, 0x1p-149f, 0, 0x1p-149f},
    {TAKT_MAP_MIN, 0.0f, -0.0f, -0.0f},
    {TAKT_MAP_MIN, -0.0f, 0.0f, -0.0f},
    {TAKT_MAP_MAX, 0.0f, -0.0f, 0.0f},
    {TAKT_MAP_MAX, -0.0f, 0.0f, 0.0f},
    {TAKT_MAP_MIN, NAN, 1, NAN},
    {TAKT_MAP_MIN, 1, NAN, NAN},
    {TAKT_MAP_MAX, NAN, 1, NAN},
    {TAKT_MAP_MAX, 1, NAN, NAN},
    {TAKT_MAP_MAX, -INFINITY, 3, 3},
    {TAKT_MAP_ROUND, 0.5f, 0, 0.0f},
    {TAKT_MAP_ROUND, 1.5f, 0, 2},
    {TAKT_MAP_ROUND, 2.5f, 0, 2},
    {TAKT_MAP_ROUND, -0.5f, 0, -0.0f},
    {TAKT_MAP_ROUND, -0.3f, 0, -0.0f},
    {TAKT_MAP_FLOOR, -0.0f, 0, -0.0f},
    {TAKT_MAP_CEIL, -0.7f, 0, -0.0f},
    {TAKT_MAP_TRUNC, -1.9f, 0, -1},
    {TAKT_MAP_SIGN, -0.0f, 0, -0.0f},
    {TAKT_MAP_SIGN, NAN, 0, NAN},
    {TAKT_MAP_SIGN, -3, 0, -1},
    {TAKT_MAP_SQRT, -0.0f, 0, -0.0f},
    {TAKT_MAP_SQRT, -1, 0, NAN},
    {TAKT_MAP_MOD, -7, 3, 2},
    {TAKT_MAP_MOD, 7, -3, -2},
    {TAKT_MAP_MOD, 6, -3, -0.0f},
    {TAKT_MAP_MOD, 1, 0, NAN},
    {TAKT_MAP_REM, -7, 3, -1},
    {TAKT_MAP_REM, 7, -3, 1},
    {TAKT_MAP_POW, NAN, 0, 1},
    {TAKT_MAP_POW, 1, NAN, 1},
    {TAKT_MAP_POW, -8, 3, -512},
    {TAKT_MAP_POW, -8, 0.5f, NAN},
    {TAKT_MAP_POW, 0, -1, INFINITY},
    {TAKT_MAP_POW, -0.0f, -1, -INFINITY},
    {TAKT_MAP_EXP, -INFINITY, 0, 0.0f},
    {TAKT_MAP_EXP, 0, 0, 1},
    {TAKT_MAP_EXP, -103.0f, 0, 0x1p-149f},
    {TAKT_MAP_EXP, 200, 0, INFINITY},
    {TAKT_MAP_LOG, 0, 0, -INFINITY},
    {TAKT_MAP_LOG, -1, 0, NAN},
    {TAKT_MAP_LOG, 1, 0, 0.0f},
    {TAKT_MAP_TANH, -0.0f, 0, -0.0f},
    {TAKT_MAP_TANH, INFINITY, 0, 1},
    {TAKT_MAP_SIN, -0.0f, 0, -0.0f},
    {TAKT_MAP_SIN, INFINITY, 0, NAN},
    {TAKT_MAP_COS, 0, 0, 1},
    {TAKT_MAP_SIGMOID, -INFINITY, 0, 0.0f},
    {TAKT_MAP_SIGMOID, INFINITY, 0, 1},
    {TAKT_MAP_ERF, -INFINITY, 0, -1},
    {TAKT_MAP_ERF, -0.0f, 0, -0.0f},
    {TAKT_MAP_ERF, 0x1p-149f, 0, 0x1p-149f},
    {TAKT_MAP_ERF, 4, 0, 1},
    {TAKT_MAP_ERF, NAN, 0, NAN},
    {TAKT_MAP_GELU, -INFINITY, 0, -0.0f},
    {TAKT_MAP_GELU, INFINITY, 0, INFINITY},
    {TAKT_MAP_GELU, -0.0f, 0, -0.0f},
    {TAKT_MAP_GELU, 0.0f, 0, 0.0f},
    {TAKT_MAP_GELU, -100, 0, -0.0f},
    {TAKT_MAP_GELU, 100, 0, 100},
    {TAKT_MAP_GELU, -3e38f, 0, -0.0f},
    {TAKT_MAP_GELU, NAN, 0, NAN},
    {TAKT_MAP_GELU_TANH, -INFINITY, 0, -0.0f},
    {TAKT_MAP_GELU_TANH, INFINITY, 0, INFINITY},
    {TAKT_MAP_GELU_TANH, -0.0f, 0, -0.0f},
    {TAKT_MAP_GELU_TANH, -3e38f, 0, -0.0f},
    {TAKT_MAP_GELU_TANH, 3e38f, 0, 3e38f},
    {TAKT_MAP_GELU_TANH, NAN, 0, NAN},
    {TAKT_MAP_HARD_SWISH, -3, 0, -0.0f},
    {TAKT_MAP_HARD_SWISH, -1e30f, 0, -0.0f},
    {TAKT_MAP_HARD_SWISH, 3, 0, 3},
    {TAKT_MAP_HARD_SWISH, 1e30f, 0, 1e30f},
    {TAKT_MAP_HARD_SWISH, -0.0f, 0, -0.0f},
    {TAKT_MAP_HARD_SWISH, INFINITY, 0, INFINITY},
    {TAKT_MAP_HARD_SWISH, -INFINITY, 0, NAN},
    {TAKT_MAP_HARD_SWISH, NAN, 0, NAN},
    {TAKT_MAP_SILU, -0.0f, 0, -0.0f},
    {TAKT_MAP_SILU, -200, 0, -0.0f},
    {TAKT_MAP_SILU, 1e30f, 0, 1e30f},
    {TAKT_MAP_SILU, INFINITY, 0, INFINITY},
    {TAKT_MAP_SILU, -INFINITY, 0, NAN},
    {TAKT_MAP_SILU, NAN, 0, NAN},
    {TAKT_MAP_MUL, 0x1p-100f, 0x1p-49f, 0x1p-149f},
};

static bool same(float x, float y)
{
    return (isnan(x) && isnan(y)) || memcmp(&x, &y, sizeof x) == 0;
}

static void floats(void)
{
    takt_kernel_choice kernels[MOST];
    const size_t count = variants("map_f32", kernels);
    EXPECT_IS(count, >, 0);
    for (size_t k = 0; k < count; k++)
        for (size_t r = 0; r < sizeof float_rows / sizeof *float_rows; r++) {
            const row_f32 *row = &float_rows[r];
            float a[N], b[N], y[N];
            for (int i = 0; i < N; i++)
                a[i] = row->a, b[i] = row->b;
            const void *src[] = {a, b};
            takt_map_find(kernels[k].kernel, row->op)(y, src, (unsigned char[]){0, 0}, N, NULL);
            for (int i = 0; i < N; i++)
                EXPECT(same(y[i], row->want), "%s: %s(%g, %g) = %g, not %g",
                       kernels[k].kernel->name, takt_map_name(row->op), (double)row->a,
                       (double)row->b, (double)y[i], (double)row->want);
        }
}

typedef struct row_i32 {
    takt_map_op op;
    int32_t a, b, want;
    bool faults;
} row_i32;

static void integers(void)
{
    static const row_i32 rows[] = {
        {TAKT_MAP_ADD, INT32_MAX, 1, INT32_MIN, false},
        {TAKT_MAP_NEG, INT32_MIN, 0, INT32_MIN, false},
        {TAKT_MAP_ABS, INT32_MIN, 0, INT32_MIN, false},
        {TAKT_MAP_DIV, -7, 2, -3, false},
        {TAKT_MAP_DIV, INT32_MIN, -1, INT32_MIN, false},
        {TAKT_MAP_DIV, 5, 0, 0, true},
        {TAKT_MAP_MOD, -7, 3, 2, false},
        {TAKT_MAP_MOD, 7, -3, -2, false},
        {TAKT_MAP_MOD, INT32_MIN, -1, 0, false},
        {TAKT_MAP_MOD, 1, 0, 0, true},
        {TAKT_MAP_REM, -7, 3, -1, false},
        {TAKT_MAP_POW, 3, 4, 81, false},
        {TAKT_MAP_POW, 2, 40, 0, false},
        {TAKT_MAP_POW, -1, -3, -1, false},
        {TAKT_MAP_POW, 5, -1, 0, false},
        {TAKT_MAP_POW, 0, -1, 0, true},
        {TAKT_MAP_SHL, 1, 31, INT32_MIN, false},
        {TAKT_MAP_SHL, 1, 32, 0, false},
        {TAKT_MAP_SHL, 1, -1, 0, false},
        {TAKT_MAP_SHR, -8, 1, -4, false},
        {TAKT_MAP_SHR, -8, 32, 0, false},
        {TAKT_MAP_SHR8, -8, 8, 0, false},
        {TAKT_MAP_SIGN, -9, 0, -1, false},
    };
    takt_kernel_choice kernels[MOST];
    const size_t count = variants("map_i32", kernels);
    EXPECT_IS(count, >, 0);
    for (size_t k = 0; k < count; k++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            int32_t y[N];
            const void *src[] = {&rows[r].a, &rows[r].b};
            takt_fault fault = {100, TAKT_FAULT_NONE, 0};
            takt_map_find(kernels[k].kernel, rows[r].op)(y, src, (unsigned char[]){1, 1}, N,
                                                         &fault);
            EXPECT(y[0] == rows[r].want && y[N - 1] == rows[r].want, "%s: %s(%d, %d) = %d, not %d",
                   kernels[k].kernel->name, takt_map_name(rows[r].op), rows[r].a, rows[r].b, y[0],
                   rows[r].want);
            EXPECT((fault.index == 100) == rows[r].faults, "%s(%d, %d)", takt_map_name(rows[r].op),
                   rows[r].a, rows[r].b);
        }
}

static int32_t to_int(const takt_kernel *kernel, takt_dtype to, float x)
{
    float from[N];
    union {
        int8_t i8[4 * N];
        uint8_t u8[4 * N];
        int32_t i32[N];
        uint16_t half[N];
    } y;
    for (int i = 0; i < N; i++)
        from[i] = x;
    takt_kernel_as_convert(kernel)(&(takt_convert){to, TAKT_F32, true}, &y, from, N);
    switch (to) {
    case TAKT_I8: return y.i8[N - 1];
    case TAKT_U8: return y.u8[N - 1];
    case TAKT_I32: return y.i32[N - 1];
    default: return y.half[N - 1];
    }
}

static void conversions(void)
{
    takt_kernel_choice kernels[MOST];
    const size_t count = variants("convert", kernels);
    EXPECT_IS(count, >, 0);
    for (size_t k = 0; k < count; k++) {
        const takt_kernel *f = kernels[k].kernel;
        EXPECT(to_int(f, TAKT_I8, -1.9f) == -1 && to_int(f, TAKT_I8, 300) == 127, "%s", f->name);
        EXPECT(to_int(f, TAKT_U8, -5) == 0 && to_int(f, TAKT_U8, 1e9f) == 255, "%s", f->name);
        EXPECT(to_int(f, TAKT_I32, NAN) == 0 && to_int(f, TAKT_I32, 3e9f) == INT32_MAX, "%s",
               f->name);
        EXPECT(to_int(f, TAKT_I32, -INFINITY) == INT32_MIN, "%s", f->name);
        EXPECT(to_int(f, TAKT_F16, 65519.0f) == 0x7bff, "%s", f->name);
        EXPECT(to_int(f, TAKT_F16, 65520.0f) == 0x7c00, "%s", f->name);
        EXPECT(to_int(f, TAKT_F16, 0x1p-25f) == 0 && to_int(f, TAKT_F16, 0x1.8p-25f) == 1, "%s",
               f->name);
        EXPECT(to_int(f, TAKT_BF16, 0x1.01p0f) == 0x3f80, "ties to even, %s", f->name);
        EXPECT(to_int(f, TAKT_BF16, 0x1.03p0f) == 0x3f82, "ties to even, %s", f->name);
    }
}

/* Integers beyond 2^53 are rounded once on their way to a narrow float. */
static void wide_integers_round_once(void)
{
    const int64_t x = (INT64_C(1) << 62) + (INT64_C(1) << 38) + 1; /* just above half a step */
    float y = 0;
    takt_convert_any(&(takt_convert){TAKT_F32, TAKT_I64, true}, &y, &x, 1);
    EXPECT(y == 0x1.000002p62f, "%a", (double)y);
    const uint64_t top = UINT64_MAX;
    takt_convert_any(&(takt_convert){TAKT_F32, TAKT_U64, true}, &y, &top, 1);
    EXPECT(y == 0x1p64f, "%a", (double)y);
}

static void reductions(void)
{
    takt_kernel_choice kernels[MOST];
    const size_t count = variants("reduce_f32", kernels);
    EXPECT_IS(count, >, 0);
    const float x[] = {1, 5, NAN, 5, NAN}, zeros[] = {-0.0f, -0.0f};
    for (size_t k = 0; k < count; k++) {
        int64_t at[2] = {-1, -1};
        float sum = 1;
        takt_reduce r = {.op = TAKT_REDUCE_ARGMAX,
                         .dst = at,
                         .src = x,
                         .count = 1,
                         .across = 5,
                         .n = 5,
                         .run = 5,
                         .step = 1};
        takt_kernel_as_reduce_f32(kernels[k].kernel)(&r);
        EXPECT(at[0] == 2, "NaN wins: %d", (int)at[0]);
        r.n = r.run = 2;
        takt_kernel_as_reduce_f32(kernels[k].kernel)(&r);
        EXPECT_EQ(at[0], 1);
        r = (takt_reduce){.op = TAKT_REDUCE_SUM,
                          .dst = &sum,
                          .src = zeros,
                          .count = 1,
                          .across = 2,
                          .n = 2,
                          .run = 2,
                          .step = 1};
        takt_kernel_as_reduce_f32(kernels[k].kernel)(&r);
        EXPECT(sum == 0 && !signbit(sum), "lanes start at +0");
        r.n = 0;
        r.op = TAKT_REDUCE_MAX;
        takt_kernel_as_reduce_f32(kernels[k].kernel)(&r);
        EXPECT(sum == -INFINITY, "the maximum of nothing");
    }
}

TEST_MAIN(floats, integers, conversions, wide_integers_round_once, reductions)
