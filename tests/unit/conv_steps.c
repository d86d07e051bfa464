/* conv_steps.c - convolutions and pools on the cpu backend: against the interpreter, and the same
 * bits for every layout, instruction set, number of threads and place in a batch.
 *
 * Every case is a model whose inputs get random values. It runs under each setting below; results
 * must be equal bit for bit. The first is also held to the reference backend, whose arithmetic is
 * double: the error of a sum of k products is at most gamma_k times the sum of their magnitudes,
 * which is the same model on the magnitudes of its inputs.
 */
#include "test.h"

#include <math.h>
#include <string.h>
#include <takt/takt.h>

#include "ir/dtype.h"

enum { VALUES = 1 << 16, INPUTS = 3 };

typedef struct test_case {
    const char *text;
    double k;      /* products in a sum; 0: results must equal the reference's */
    bool is_plain; /* no cancellation: the bound is relative to the largest result */
} test_case;

typedef struct setting {
    const char *passes, *isa;
    int threads;
} setting;

static const setting settings[] = {
    {NULL, NULL, 1},     {NULL, NULL, 2},      {NULL, NULL, 3},      {NULL, "scalar", 1},
    {NULL, "scalar", 3}, {"-layout", NULL, 1}, {"-layout", NULL, 3}, {"-layout", "scalar", 2},
};

typedef struct result {
    takt_dtype dtype;
    size_t count;
    unsigned char bytes[VALUES * 8];
    double value[VALUES];
} result;

static double draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(*state >> 33) / (double)(1u << 30) - 1;
}

static size_t count_of(const takt_tensor_view *v)
{
    size_t count = 1;
    for (int d = 0; d < v->rank; d++)
        count *= (size_t)v->dims[d];
    return count;
}

/* `magnitudes`: the same values without their signs. */
static void fill(const takt_tensor_view *v, uint64_t seed, bool magnitudes)
{
    uint64_t state = seed * 977 + 5;
    for (size_t i = 0; i < count_of(v); i++) {
        const double x = draw(&state), y = magnitudes ? fabs(x) : x;
        if (takt_dtype_is_float(v->dtype))
            takt_dtype_put_f(v->dtype, v->data, i, y);
        else
            takt_dtype_put_i(v->dtype, v->data, i, (int64_t)(9 * x));
    }
}

static void keep(const takt_tensor_view *v, result *r)
{
    r->dtype = v->dtype;
    r->count = count_of(v);
    if (!EXPECT(r->count <= VALUES, "%zu results", r->count))
        exit(1);
    memcpy(r->bytes, v->data, r->count * (size_t)takt_dtype_bits(v->dtype) / 8);
    for (size_t i = 0; i < r->count; i++)
        r->value[i] = takt_dtype_is_float(v->dtype)
                          ? takt_dtype_get_f(v->dtype, v->data, i)
                          : (double)takt_dtype_get_i(v->dtype, v->data, i);
}

static bool run(takt_ctx *ctx, const takt_model *model, const takt_plan_options *options,
                bool magnitudes, result *r)
{
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    bool good = EXPECT_OK(ctx, takt_plan_create(model, options, &plan)) &&
                EXPECT_OK(ctx, takt_session_create(plan, NULL, &session));
    for (size_t i = 0; good && i < takt_session_input_count(session); i++)
        fill(takt_session_input(session, i), i + 1, magnitudes);
    good = good && EXPECT_OK(ctx, takt_session_run(session));
    if (good)
        keep(takt_session_output(session, 0), r);
    takt_session_destroy(session);
    takt_plan_destroy(plan);
    return good;
}

static size_t first_difference(const result *a, const result *b)
{
    const size_t size = (size_t)takt_dtype_bits(a->dtype) / 8;
    for (size_t i = 0; i < a->count; i++)
        if (memcmp(a->bytes + i * size, b->bytes + i * size, size) != 0 &&
            !(isnan(a->value[i]) && isnan(b->value[i])))
            return i;
    return a->count;
}

static double unit(takt_dtype dtype)
{
    return dtype == TAKT_F64    ? 0x1p-53
           : dtype == TAKT_F16  ? 0x1p-11
           : dtype == TAKT_BF16 ? 0x1p-8
                                : 0x1p-24;
}

static void check_bound(const test_case *c, const result *got, const result *want,
                        const result *magnitude)
{
    const double sum = unit(got->dtype == TAKT_F64 ? TAKT_F64 : TAKT_F32), last = unit(got->dtype);
    double largest = 0;
    for (size_t i = 0; i < want->count; i++)
        largest = fmax(largest, fabs(want->value[i]));
    for (size_t i = 0; i < got->count; i++) {
        const double scale = c->is_plain ? largest : magnitude->value[i];
        const double bound = c->k == 0 ? 0 : (1.01 * (c->k + 2) * sum + 2 * last) * scale + 1e-37;
        if (!EXPECT(fabs(got->value[i] - want->value[i]) <= bound, "%s: element %zu is %g, want %g",
                    c->text, i, got->value[i], want->value[i]))
            return;
    }
}

static void check(takt_ctx *ctx, const test_case *c)
{
    static result want, magnitude, first, got;
    takt_model *model;
    if (!EXPECT_OK(ctx,
                   takt_model_load_memory(ctx, "case", c->text, strlen(c->text), NULL, &model)))
        return;
    const takt_plan_options reference = {.backend = "ref", .passes = "-all"};
    bool good =
        run(ctx, model, &reference, false, &want) && run(ctx, model, &reference, true, &magnitude);
    for (size_t i = 0; good && i < sizeof settings / sizeof *settings; i++) {
        const takt_plan_options o = {
            .passes = settings[i].passes, .isa = settings[i].isa, .threads = settings[i].threads};
        good = run(ctx, model, &o, false, i == 0 ? &first : &got);
        if (!good || i == 0)
            continue;
        const size_t at = first_difference(&first, &got);
        EXPECT(at == first.count,
               "%s\n passes %s, isa %s, %d threads: element %zu is %.9g, not %.9g", c->text,
               o.passes ? o.passes : "all", o.isa ? o.isa : "native", o.threads, at, got.value[at],
               first.value[at]);
    }
    if (good)
        check_bound(c, &first, &want, &magnitude);
    takt_model_destroy(model);
}

static void check_all(const test_case *cases, size_t count)
{
    takt_ctx *ctx;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    for (size_t i = 0; i < count; i++)
        check(ctx, &cases[i]);
    takt_ctx_destroy(ctx);
}

#define CONV(type, x, w, attrs, k)                                                                 \
    {                                                                                              \
        "model m(x: " type x ", w: " type w ") { return op.conv(x, w" attrs ") }", k, false        \
    }
#define CASES(array) check_all(array, sizeof array / sizeof *array)

static void convolutions(void)
{
    static const test_case cases[] = {
        CONV("f32", "[2, 3, 9, 7]", "[4, 3, 3, 3]", ", pad=[1, 1, 1, 1]", 27),
        CONV("f32", "[2, 9, 7, 3]", "[4, 3, 3, 3]", ", pad=[1, 1, 1, 1], layout=nhwc", 27),
        CONV("f32", "[1, 5, 6, 6]", "[17, 5, 1, 1]", "", 5),
        CONV("f32", "[3, 7, 5, 20]", "[33, 1, 1, 20]", ", layout=nhwc", 20),
        CONV("f32", "[1, 9, 9, 6]", "[18, 1, 1, 6]", ", stride=[2, 3], layout=nhwc", 6),
        CONV("f32", "[1, 4, 11, 13]", "[6, 2, 3, 2]",
             ", stride=[2, 1], dilation=[1, 2], groups=2, pad=[0, 1, 2, 0]", 12),
        CONV("f32", "[2, 11, 13, 40]", "[24, 3, 3, 10]",
             ", groups=4, pad=[2, 1, 0, 3], layout=nhwc", 90),
        CONV("f32", "[2, 70, 6, 5]", "[18, 70, 3, 3]", ", pad=[1, 1, 1, 1]", 630),
        CONV("f32", "[1, 3, 20, 20]", "[8, 3, 7, 7]", ", stride=[2, 2], pad=[3, 3, 3, 3]", 147),
        CONV("f32", "[2, 4, 30]", "[5, 4, 4]", ", stride=[3], pad=[2, 2]", 16),
        CONV("f32", "[1, 3, 6, 5, 7]", "[4, 3, 2, 3, 3]", ", pad=[1, 1, 0, 0, 1, 2]", 54),
        CONV("f32", "[1, 2, 3, 3]", "[3, 2, 5, 5]", ", pad=[6, 6, 6, 6]", 50),
        CONV("f64", "[2, 5, 6, 7]", "[4, 5, 3, 3]", ", pad=[1, 1, 1, 1]", 45),
        CONV("f64", "[1, 40, 5, 5]", "[4, 40, 3, 3]", ", stride=[2, 2]", 360),
        CONV("f16", "[2, 5, 6, 7]", "[4, 5, 3, 3]", ", pad=[1, 1, 1, 1]", 45),
        CONV("bf16", "[2, 6, 7, 6]", "[4, 3, 3, 3]", ", groups=2, layout=nhwc", 45),
        CONV("i32", "[2, 5, 6, 7]", "[4, 5, 3, 3]", ", pad=[1, 1, 1, 1]", 0),
        CONV("i8", "[2, 6, 7, 5]", "[4, 3, 3, 5]", ", layout=nhwc", 0),
    };
    CASES(cases);
}

static void depthwise(void)
{
    static const test_case cases[] = {
        CONV("f32", "[2, 9, 11, 19]", "[19, 3, 3, 1]", ", groups=19, pad=[1, 1, 1, 1], layout=nhwc",
             9),
        CONV("f32", "[1, 10, 12, 16]", "[16, 3, 3, 1]",
             ", groups=16, stride=[2, 2], pad=[0, 0, 1, 1], layout=nhwc", 9),
        CONV("f32", "[1, 8, 13, 9]", "[8, 1, 5, 5]", ", groups=8, pad=[2, 2, 2, 2]", 25),
        CONV("f32", "[1, 8, 13, 9]", "[8, 1, 3, 3]",
             ", groups=8, dilation=[2, 3], pad=[2, 3, 2, 3]", 9),
        CONV("f32", "[1, 3, 40, 40]", "[3, 1, 17, 17]", ", groups=3, pad=[8, 8, 8, 8]", 289),
        CONV("f32", "[2, 6, 30]", "[6, 1, 4]", ", groups=6, stride=[3]", 4),
        CONV("f32", "[1, 5, 6, 5, 6]", "[5, 1, 3, 2, 3]", ", groups=5, pad=[1, 0, 1, 1, 0, 1]", 18),
        CONV("f32", "[1, 6, 8, 8]", "[12, 1, 3, 3]", ", groups=6, pad=[1, 1, 1, 1]", 9),
        CONV("f64", "[1, 6, 8, 8]", "[6, 1, 3, 3]", ", groups=6, pad=[1, 1, 1, 1]", 9),
    };
    CASES(cases);
}

#define POOL(op, type, x, attrs, k)                                                                \
    {                                                                                              \
        "model m(x: " type x ") { return op." op "(x, " attrs ") }", k, false                      \
    }

static void pools(void)
{
    static const test_case cases[] = {
        POOL("max_pool", "f32", "[2, 21, 9, 8]", "kernel=[2, 2], stride=[2, 2]", 0),
        POOL("max_pool", "f32", "[1, 9, 8, 19]",
             "kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1], layout=nhwc", 0),
        POOL("max_pool", "f32", "[1, 3, 11]", "kernel=[3], stride=[3], ceil=true", 0),
        POOL("max_pool", "i16", "[1, 3, 7, 7]", "kernel=[3, 2], pad=[2, 0, 1, 1]", 0),
        POOL("max_pool", "f64", "[1, 2, 4, 5, 4]", "kernel=[2, 3, 2], dilation=[2, 1, 1]", 0),
        POOL("avg_pool", "f32", "[2, 21, 9, 8]", "kernel=[2, 2], stride=[2, 2]", 5),
        POOL("avg_pool", "f32", "[1, 9, 8, 19]",
             "kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1], layout=nhwc", 10),
        POOL("avg_pool", "f32", "[1, 3, 11]",
             "kernel=[3], stride=[3], pad=[1, 1], ceil=true, count_pad=true", 4),
        POOL("avg_pool", "f16", "[1, 3, 7, 7]", "kernel=[3, 2], pad=[2, 0, 1, 1]", 7),
        POOL("avg_pool", "f64", "[1, 2, 4, 5, 4]", "kernel=[2, 3, 2], dilation=[2, 1, 1]", 13),
        {"model m(x: f32[2, 5, 7, 6], d: f32[2, 5, 4, 3]) { return op.max_pool_dx(x, d, "
         "kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1]) }",
         5, false},
        {"model m(x: f32[2, 7, 6, 5], t: f32[2, 7, 6, 5]) { return op.max_pool_pick(x, t, "
         "kernel=[3, 3], layout=nhwc) }",
         0, false},
        {"model m(d: f32[2, 5, 4, 3]) { return op.avg_pool_dx(d, kernel=[3, 3], stride=[2, 2], "
         "pad=[1, 1, 1, 1], shape=[2, 5, 7, 6]) }",
         9, false},
        {"model m(d: bf16[2, 4, 3, 5]) { return op.avg_pool_dx(d, kernel=[3, 3], stride=[2, 2], "
         "pad=[1, 1, 1, 1], layout=nhwc, shape=[2, 7, 6, 5]) }",
         9, false},
    };
    CASES(cases);
}

static void gradients(void)
{
    static const test_case cases[] = {
#define DX(type, d, w, attrs, k)                                                                   \
    {"model m(d: " type d ", w: " type w ") { return op.conv_dx(d, w, " attrs ") }", k, false}
#define DW(type, x, d, attrs, k)                                                                   \
    {                                                                                              \
        "model m(x: " type x ", d: " type d ") { return op.conv_dw(x, d, " attrs ") }", k, false   \
    }
        DX("f32", "[2, 6, 9, 7]", "[6, 5, 3, 3]", "pad=[1, 1, 1, 1], shape=[2, 5, 9, 7]", 54),
        DX("f32", "[2, 5, 4, 20]", "[20, 3, 3, 18]",
           "stride=[2, 2], pad=[1, 1, 1, 1], layout=nhwc, shape=[2, 9, 7, 18]", 180),
        DX("f32", "[1, 4, 3, 2]", "[4, 1, 2, 3]", "stride=[2, 2], groups=2, shape=[1, 2, 7, 5]",
           12),
        DX("f32", "[1, 8, 4, 4]", "[8, 3, 1, 1]", "stride=[3, 3], shape=[1, 3, 11, 10]", 8),
        DX("f32", "[2, 40, 6, 6]", "[40, 3, 3, 3]", "dilation=[2, 2], shape=[2, 3, 10, 10]", 360),
        DX("f64", "[2, 6, 5, 4]", "[6, 3, 3, 2]", "stride=[2, 1], shape=[2, 3, 11, 5]", 36),
        DX("f16", "[2, 6, 9, 7]", "[6, 5, 3, 3]", "pad=[1, 1, 1, 1], shape=[2, 5, 9, 7]", 54),
        DX("i32", "[1, 4, 9]", "[4, 3, 3]", "pad=[1, 1], shape=[1, 3, 9]", 0),
        DW("f32", "[3, 5, 9, 7]", "[3, 6, 9, 7]", "pad=[1, 1, 1, 1], shape=[6, 5, 3, 3]", 189),
        DW("f32", "[2, 21, 19, 5]", "[2, 21, 19, 18]",
           "pad=[1, 1, 1, 1], layout=nhwc, shape=[18, 3, 3, 5]", 798),
        DW("f32", "[2, 7, 5, 4]", "[2, 3, 2, 6]",
           "stride=[2, 2], groups=2, layout=nhwc, shape=[6, 2, 3, 2]", 12),
        DW("f32", "[2, 6, 8, 8]", "[2, 6, 8, 8]", "groups=6, pad=[1, 1, 1, 1], shape=[6, 1, 3, 3]",
           128),
        DW("f64", "[3, 1, 6]", "[3, 2, 3]", "dilation=[3], shape=[2, 1, 2]", 9),
        DW("bf16", "[1, 4, 8, 8]", "[1, 3, 8, 8]", "pad=[1, 1, 1, 1], shape=[3, 4, 3, 3]", 64),
        DW("i64", "[1, 2, 8]", "[1, 3, 8]", "pad=[1, 1], shape=[3, 2, 3]", 0),
    };
    CASES(cases);
}

/* What a convolution absorbs, weights known at plan time, and chains that the layout pass keeps
 * with channels last. */
static void chains(void)
{
    static const test_case cases[] = {
        {"model m(x: f32[2, 3, 12, 10]) { return x |> conv(20, 3, act=relu) |> conv(7, 1) }", 300,
         true},
        {"model m(x: f32[1, 6, 9, 9], r: f32[1, 18, 9, 9]) { return relu(conv(x, 18, 3) + r) * 2 }",
         300, true},
        {"model m(x: f32[1, 8, 9, 9]) { return x |> depthwise(3, act=relu) |> conv(16, 1, act=silu) }",
         300, true},
        {"model m(x: f32[1, 8, 9, 9]) { return depthwise(x, 3, stride=2) |> sigmoid() }", 300,
         true},
        {"model m(x: f32[2, 3, 12, 12]) { h = x |> conv(16, 3, act=relu) |> max_pool(2, stride=2)\n"
         " return concat(conv(h, 9, 1), avg_pool(h, 3, pad=1), axis=1) }",
         400, true},
        {"model m(x: f32[2, 3, 8, 8]) { return x |> conv(12, 3, bias=false) |> relu() |> "
         "global_avg_pool() |> flatten() |> dense(5) }",
         400, true},
        {"model m(x: f32[2, 8, 8, 3]) { return conv(x, 12, 3, groups=3, layout=nhwc, act=relu) }",
         300, true},
    };
    CASES(cases);
}

/* F(4x4, 3x3) multiplies magnitudes by up to |At||G..||Bt|: its error is bounded by a larger
 * multiple of the same sum. */
static void winograd(void)
{
#define WINOGRAD(x, w, attrs, k)                                                                   \
    {                                                                                              \
        "model m(x: f32" x ", w: f32" w ") { return op.conv(x, w" attrs ") }", 40 * (k), false     \
    }
    static const test_case cases[] = {
        WINOGRAD("[2, 16, 9, 10]", "[16, 16, 3, 3]", ", pad=[1, 1, 1, 1]", 144),
        WINOGRAD("[1, 13, 11, 21]", "[35, 3, 3, 21]", ", pad=[0, 2, 1, 0], layout=nhwc", 189),
        WINOGRAD("[1, 16, 3, 3]", "[17, 16, 3, 3]", "", 144),
        WINOGRAD("[1, 300, 6, 7]", "[16, 300, 3, 3]", ", pad=[1, 1, 1, 1]", 2700),
        {"model m(x: f32[1, 16, 9, 9], r: f32[1, 20, 9, 9]) { return relu(conv(x, 20, 3) + r) }",
         9000, true},
        {"model m(x: f32[2, 16, 9, 9]) { return x |> conv(20, 3) |> relu6() |> conv(16, 3, act=silu) }",
         9000, true},
        {"model m(x: f32[1, 16, 9, 9], r: f32[1, 20, 9, 9]) { return relu(conv(x, 20, 3)) + r }",
         9000, true},
        {"model m(x: f32[1, 16, 9, 9]) { return clip(conv(x, 20, 3), min=-0.5, max=0.5) }", 9000,
         true},
    };
    CASES(cases);
}

/* With the pass off, a 3x3 convolution is the direct sum. */
static void winograd_is_a_choice(void)
{
    static const char text[] = "model m(x: f32[1, 16, 9, 9]) { return conv(x, 16, 3, bias=false) }";
    static result with, without, direct;
    takt_ctx *ctx;
    takt_model *model = NULL;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "choice", text, strlen(text), NULL, &model))) {
        const takt_plan_options on = {.threads = 1}, off = {.threads = 1, .passes = "-winograd"},
                                none = {.threads = 1, .passes = "-all"};
        if (run(ctx, model, &on, false, &with) && run(ctx, model, &off, false, &without) &&
            run(ctx, model, &none, false, &direct)) {
            EXPECT(first_difference(&with, &without) < with.count, "the pass changes nothing");
            EXPECT(first_difference(&without, &direct) == direct.count, "the direct sums differ");
        }
    }
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
}

/* The example as it lies in the repository: the layout pass changes no bit. */
static void example(void)
{
    static result with, without;
    takt_ctx *ctx;
    takt_model *model = NULL;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    if (EXPECT_OK(ctx, takt_model_load(ctx, "examples/cnn.takt", NULL, &model))) {
        const takt_plan_options on = {.threads = 1, .sizes = "batch=3"},
                                off = {.threads = 2, .sizes = "batch=3", .passes = "-layout"};
        if (run(ctx, model, &on, false, &with) && run(ctx, model, &off, false, &without))
            EXPECT(first_difference(&with, &without) == with.count, "the layout pass changed bits");
    }
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
}

/* Sample i of a batch has the bits it has alone. */
static void batch_position(void)
{
    static const char text[] =
        "model m(x: f32[n, 5, 9, 8]) { return x |> conv(18, 3, act=relu) |> conv(20, 3) |> "
        "depthwise(3) |> max_pool(2) }";
    static result all, one;
    takt_ctx *ctx;
    takt_model *model = NULL;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "batch", text, strlen(text), NULL, &model));
    for (int sample = -1; model != NULL && sample < 4; sample++) {
        const takt_plan_options o = {.sizes = sample < 0 ? "n=4" : "n=1", .threads = 2};
        if (!EXPECT_OK(ctx, takt_plan_create(model, &o, &plan)) ||
            !EXPECT_OK(ctx, takt_session_create(plan, NULL, &session)))
            break;
        static float inputs[4 * 360];
        takt_tensor_view whole = {.dtype = TAKT_F32, .rank = 1, .dims = {4 * 360}, .data = inputs};
        fill(&whole, 1, false);
        const takt_tensor_view *x = takt_session_input(session, 0);
        memcpy(x->data, inputs + (sample < 0 ? 0 : sample * 360), count_of(x) * sizeof *inputs);
        EXPECT_OK(ctx, takt_session_run(session));
        keep(takt_session_output(session, 0), sample < 0 ? &all : &one);
        if (sample >= 0)
            EXPECT(memcmp(one.bytes, all.bytes + (size_t)sample * one.count * 4, one.count * 4) ==
                       0,
                   "sample %d differs from what it is alone", sample);
        takt_session_destroy(session);
        takt_plan_destroy(plan);
    }
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(convolutions, depthwise, pools, gradients, chains, winograd, winograd_is_a_choice,
          example, batch_position)
