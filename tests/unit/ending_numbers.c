/* ending_numbers.c - products that end in a function of the value and a number, such as relu(x) +
 * c: the bits are those of steps of their own, for both orders of operands and every kind of
 * product.
 */
#include "test.h"

#include <string.h>

#include "util/conv_case.h"

typedef struct ending {
    const char *inputs, *product, *end; /* `end` reads h */
} ending;

static const ending endings[] = {
    {"x: f32[1, 8, 19, 23]", "relu(conv(x, 21, 1))", "h + 0.375"},
    {"x: f32[1, 8, 19, 23]", "relu(conv(x, 21, 3))", "0.375 - h"},
    {"x: f32[2, 3, 33, 31]", "relu(conv(x, 17, 3, stride=2))", "h - 1.5"},
    {"x: f32[1, 48, 14, 14]", "conv(x, 50, 3)", "2.5 / h"},
    {"x: f32[1, 24, 17, 13]", "relu(depthwise(x, 3))", "h + 0.0625"},
    {"x: f32[5, 37]", "relu(dense(x, 71))", "h * 1.1"},
    {"x: f32[1, 37]", "dense(x, 71)", "1.0 - h"},
    {"x: f32[65, 64], r: f32[65, 96]", "relu(dense(x, 96) + r)", "h + -0.7"},
    /* Not the last, or not a number. */
    {"x: f32[1, 8, 19, 23]", "relu(conv(x, 21, 1))", "sigmoid(h + 0.375)"},
    {"x: f32[5, 37], n: f32[5, 1]", "relu(dense(x, 71))", "h + n"},
};

static takt_model *model_of(takt_ctx *ctx, const ending *e, const char *others)
{
    char text[300];
    takt_model *model = NULL;
    snprintf(text, sizeof text, "model m(%s) {\n  h = %s\n  return y = %s%s\n}\n", e->inputs,
             e->product, e->end, others);
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model));
    return model;
}

/* A product that is a result of its own ends by itself. */
static void check(takt_ctx *ctx, const ending *e)
{
    static conv_result want, got;
    static const char *const isas[] = {NULL, "scalar"};
    takt_model *fused = model_of(ctx, e, ""), *apart = model_of(ctx, e, ", z = h");
    for (size_t i = 0; i < 4; i++) {
        const takt_plan_options o = {.threads = 1 + (int)i % 2, .isa = isas[i / 2]};
        if (!EXPECT_OK(ctx, conv_run(apart, &o, false, &want)) ||
            !EXPECT_OK(ctx, conv_run(fused, &o, false, &got)))
            break;
        const size_t at = conv_difference(&want, &got);
        EXPECT(want.count > 0 && at == want.count,
               "%s of %s, %d threads: element %zu is %.9g, not %.9g", e->end, e->product, o.threads,
               at, got.value[at], want.value[at]);
    }
    takt_model_destroy(fused);
    takt_model_destroy(apart);
}

static void bits(void)
{
    takt_ctx *ctx;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        check(ctx, &endings[i]);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(bits)
