/* given_back.c - a plan that takes the model gives large weights back while it packs them, but not
 * those that another step reads as they are, or packs once more: its results are those of a plan
 * that keeps the model. */
#include <string.h>

#include <takt/takt.h>

#include "test.h"

/* Results of a run, up to 16 KB. */
typedef struct result {
    size_t bytes;
    unsigned char data[1 << 14];
} result;

static takt_model *load(takt_ctx *ctx, const char *text)
{
    takt_model *m = NULL;
    return EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &m))
               ? m
               : NULL;
}

static void run(const char *text, bool takes, result *to)
{
    takt_ctx *ctx;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_plan_options options = {.threads = 1};
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    takt_model *m = load(ctx, text);
    const takt_status status = m == NULL ? TAKT_ERR_ARGUMENT
                               : takes   ? takt_plan_take(m, &options, &plan)
                                         : takt_plan_create(m, &options, &plan);
    if (EXPECT_OK(ctx, status) && EXPECT_OK(ctx, takt_session_create(plan, NULL, &s)) &&
        EXPECT_OK(ctx, takt_session_random(s, 0, NULL, 1, 0)) &&
        EXPECT_OK(ctx, takt_session_run(s))) {
        const takt_tensor_view *y = takt_session_output(s, 0);
        to->bytes = (size_t)(y->dims[0] * y->dims[1]) * sizeof(float);
        if (EXPECT(to->bytes > 0 && to->bytes <= sizeof to->data, "%zu bytes", to->bytes))
            memcpy(to->data, y->data, to->bytes);
    }
    if (!takes)
        takt_model_destroy(m);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_ctx_destroy(ctx);
}

static void compare(const char *text)
{
    static result kept, taken;
    kept.bytes = taken.bytes = 0;
    run(text, false, &kept);
    run(text, true, &taken);
    EXPECT(kept.bytes == taken.bytes && memcmp(kept.data, taken.data, kept.bytes) == 0,
           "other results:\n%s", text);
}

static void read_alone(void)
{
    compare("model m(x: f32[1, 2050]) {\n"
            "  param w: f32[2050, 2050] = uniform(-1, 1)\n"
            "  return op.matmul(x, w, transpose_b=true)\n"
            "}\n");
}

static void read_as_it_is(void)
{
    compare("model m(x: f32[1, 2050]) {\n"
            "  param w: f32[2050, 2050] = uniform(-1, 1)\n"
            "  h = op.reduce_max(x + w, axes=[0], keep=true)\n"
            "  return op.matmul(h, w, transpose_b=true)\n"
            "}\n");
}

static void packed_twice(void)
{
    compare("model m(x: f32[1, 2900]) {\n"
            "  param w: bf16[2900, 2900] = uniform(-1, 1)\n"
            "  c = op.cast(w, dtype=f32)\n"
            "  return op.matmul(op.matmul(x, c, transpose_b=true), c)\n"
            "}\n");
}

TEST_MAIN(read_alone, read_as_it_is, packed_twice)
