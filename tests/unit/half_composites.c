/* half_composites.c - norms, softmax and their like in 16 bits are computed in f32 and rounded
 * once: they have the bits of the same operation between two casts, and its steps, not those of
 * parts. */
#include "test.h"

#include <string.h>
#include <takt/takt.h>

#include "plan/plan.h"
#include "util/conv_case.h"

typedef struct composite {
    const char *narrow, *wide; /* the same model */
    const char *kind;          /* of a step */
} composite;

#define WIDE(x) "cast(" x ", dtype=f32)"
#define ONE(type, shape, op, kind)                                                                 \
    {                                                                                              \
        "model m(x: " type shape ") { return y = op." op "(x) }",                                  \
            "model m(x: " type shape ") { return y = cast(op." op "(" WIDE("x") "), dtype=" type   \
                                                                                ") }",             \
            kind                                                                                   \
    }
#define NORM(type, shape, size, op, attrs)                                                         \
    {                                                                                              \
        "model m(x: " type shape ", g: " type size ", b: " type size ") { return y = op." op       \
        "(x, g, b" attrs ") }",                                                                    \
            "model m(x: " type shape ", g: " type size ", b: " type size                           \
            ") { return y = cast(op." op "(" WIDE("x") ", " WIDE("g") ", " WIDE("b") attrs         \
            "), dtype=" type ") }",                                                                \
            "rows"                                                                                 \
    }

static const composite composites[] = {
    ONE("f16", "[5, 37]", "softmax", "rows"),
    ONE("bf16", "[5, 37]", "log_softmax", "rows"),
    NORM("f16", "[3, 4, 37]", "[37]", "layer_norm", ""),
    NORM("bf16", "[2, 8, 5, 7]", "[8]", "group_norm", ", groups=4"),
    NORM("f16", "[2, 8, 5, 7]", "[8]", "instance_norm", ""),
    ONE("f16", "[300]", "hard_swish", "map"),
    ONE("bf16", "[300]", "silu", "map"),
};

static bool has_kind(const takt_model *model, const char *kind)
{
    const takt_plan_options o = {.threads = 1};
    takt_plan *plan;
    bool found = false;
    if (takt_plan_create(model, &o, &plan) != TAKT_OK)
        return false;
    for (size_t i = 0; i < plan->step_count; i++)
        found |= strcmp(plan->steps[i].kind, kind) == 0;
    takt_plan_destroy(plan);
    return found;
}

static bool run(takt_ctx *ctx, const char *text, const char *kind, conv_result *r)
{
    const takt_plan_options o = {.threads = 1};
    takt_model *model;
    if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model)))
        return false;
    EXPECT(has_kind(model, kind), "%s has no step of %s", text, kind);
    const bool is_ok = EXPECT_OK(ctx, conv_run(model, &o, false, r));
    takt_model_destroy(model);
    return is_ok;
}

static void bits(void)
{
    static conv_result narrow, wide;
    takt_ctx *ctx;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    for (size_t i = 0; i < sizeof composites / sizeof *composites; i++) {
        const composite *c = &composites[i];
        if (run(ctx, c->narrow, c->kind, &narrow) && run(ctx, c->wide, c->kind, &wide))
            EXPECT(conv_difference(&narrow, &wide) == narrow.count, "%s", c->narrow);
    }
    takt_ctx_destroy(ctx);
}

/* On every machine, and close to the reference. */
static void settings(void)
{
    static const conv_case cases[] = {
        {"model m(x: f16[5, 37]) { return op.softmax(x) }", 37, true},
        {"model m(x: f16[7, 64, 41], s: f16[64, 1], b: f16[64, 1]) { return x * s + b }", 4, true},
        {"model m(x: f16[6, 9, 3], i: i64[6, 4, 3]) { return "
         "op.gather_elements(x, i, axis=1) }",
         0, true},
    };
    CONV_CASES(cases);
}

TEST_MAIN(bits, settings)
