/* integer_relu.c - a relu before bytes are quantised is a lower bound inside the integer step. */
#include <string.h>

#include <takt/takt.h>

#include "test.h"

static takt_ctx *ctx;

/* Scales are powers of two: an additional rounding changes no bit. */
typedef struct text {
    const char *what, *model;
    size_t count;
    uint8_t zero;
    bool is_negative; /* the scale is, or may be: the relu remains a relu */
} text;

#define MODEL(x, w, call, quantize)                                                                \
    "model m(x: u8[" x "]) seed=1 {\n"                                                             \
    "  param wf: f32[" w "] = uniform(-30, 30)\n"                                                  \
    "  w = op.quantize(wf, constant(f32[], [0.25]), dtype=i8)\n"                                   \
    "  s = constant(f32[], [0.125])\n"                                                             \
    "  xd = op.dequantize(x, s, constant(u8[], [100]))\n"                                          \
    "  wd = op.dequantize(w, constant(f32[], [0.25]))\n"                                           \
    "  y = op.relu(" call ")\n"                                                                    \
    "  return " quantize "\n}\n"

#define TO_U8 "op.quantize(y, constant(f32[], [64]), constant(u8[], [90]), dtype=u8)"
#define TO_I8 "op.quantize(y, constant(f32[], [32]), constant(i8[], [-5]))"
#define NO_ZERO "op.quantize(y, constant(f32[], [64]), dtype=i8)"
/* Negative scales reverse the order: then a relu is not a lower bound on the bytes. */
#define TURNED_U8 "op.quantize(y, constant(f32[], [-64]), constant(u8[], [0]), dtype=u8)"
#define TURNED_I8 "op.quantize(y, constant(f32[], [-64]), constant(i8[], [-128]))"
#define TURNED_NO_ZERO "op.quantize(y, constant(f32[], [-64]), dtype=u8)"
#define TURNED_BETWEEN "op.quantize(y, constant(f32[], [-64]), constant(i8[], [3]))"
#define TURNED_BY_INPUT                                                                            \
    "op.quantize(y, op.reduce_min(op.cast(x, dtype=f32), axes=[0, 1]) - 64, dtype=u8)"

static const text texts[] = {
    {"3x3",
     MODEL("1, 9, 10, 64", "33, 3, 3, 64", "op.conv(xd, wd, pad=[1, 1, 1, 1], layout=nhwc)", TO_U8),
     9 * 10 * 33, 90, false},
    {"1x1", MODEL("1, 9, 10, 20", "17, 1, 1, 20", "op.conv(xd, wd, layout=nhwc)", TO_I8),
     9 * 10 * 17, 251, false},
    {"depthwise",
     MODEL("1, 9, 10, 40", "40, 3, 3, 1",
           "op.conv(xd, wd, groups=40, pad=[1, 1, 1, 1], layout=nhwc)", TO_U8),
     9 * 10 * 40, 90, false},
    {"product", MODEL("21, 70", "70, 37", "op.matmul(xd, wd)", NO_ZERO), 21 * 37, 0, false},
    {"product, cut at 0",
     MODEL("21, 70", "70, 37", "op.matmul(xd, wd)",
           "op.quantize(y, constant(f32[], [64]), constant(u8[], [0]), dtype=u8)"),
     21 * 37, 0, false},
    {"turned, u8", MODEL("21, 70", "70, 37", "op.matmul(xd, wd)", TURNED_U8), 21 * 37, 0, true},
    {"turned, i8", MODEL("21, 70", "70, 37", "op.matmul(xd, wd)", TURNED_I8), 21 * 37, 128, true},
    {"turned, no zero", MODEL("21, 70", "70, 37", "op.matmul(xd, wd)", TURNED_NO_ZERO), 21 * 37, 0,
     true},
    {"turned, zero between", MODEL("21, 70", "70, 37", "op.matmul(xd, wd)", TURNED_BETWEEN),
     21 * 37, 3, true},
    {"turned by an input", MODEL("21, 70", "70, 37", "op.matmul(xd, wd)", TURNED_BY_INPUT), 21 * 37,
     0, true},
    {"turned, 1x1",
     MODEL("1, 9, 10, 20", "17, 1, 1, 20", "op.conv(xd, wd, layout=nhwc)", TURNED_U8), 9 * 10 * 17,
     0, true},
};

static size_t bytes_of(const takt_tensor_view *v)
{
    size_t bytes = 1;
    for (int d = 0; d < v->rank; d++)
        bytes *= (size_t)v->dims[d];
    return bytes;
}

/* One thread, on `o`; the number of steps. */
static size_t run(const takt_model *m, takt_plan_options o, uint8_t *y, size_t count)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    takt_plan_info info = {0};
    o.threads = 1;
    if (EXPECT_OK(ctx, takt_plan_create(m, &o, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        uint8_t *x = takt_session_input(s, 0)->data;
        for (size_t i = 0; i < bytes_of(takt_session_input(s, 0)); i++)
            x[i] = (uint8_t)(i * 41 + i / 7);
        EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
        EXPECT(bytes_of(takt_session_output(s, 0)) == count, "not %zu bytes", count);
        memcpy(y, takt_session_output(s, 0)->data, count);
        takt_plan_query(plan, &info);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    return info.steps;
}

static void one(const text *t)
{
    enum { MOST = 4000 };
    static uint8_t got[MOST], want[MOST], wide[MOST];
    takt_model *m;
    if (!EXPECT_OK(ctx,
                   takt_model_load_memory(ctx, "m.takt", t->model, strlen(t->model), NULL, &m)))
        return;
    const size_t steps = run(m, (takt_plan_options){0}, got, t->count);
    run(m, (takt_plan_options){.passes = "-quantized"}, wide, t->count);
    run(m, (takt_plan_options){.backend = "ref", .passes = "-quantized"}, want, t->count);
    EXPECT(memcmp(got, want, t->count) == 0, "%s: bytes differ", t->what);
    EXPECT(memcmp(wide, want, t->count) == 0, "%s: bytes differ in floats", t->what);
    EXPECT((steps == 1) == !t->is_negative, "%s: %zu steps", t->what, steps);
    size_t low = 0;
    for (size_t i = 0; i < t->count; i++)
        low += got[i] == t->zero;
    EXPECT(low > 0 && (low < t->count || t->is_negative), "%s: %zu of %zu are the zero point",
           t->what, low, t->count);
    takt_model_destroy(m);
}

int main(void)
{
    if (EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            one(&texts[i]);
    takt_ctx_destroy(ctx);
    return test_done();
}
