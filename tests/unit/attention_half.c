/* attention_half.c - attention over a cache of 16-bit numbers: the bits of the same attention over
 * these numbers widened, for one query and many, more keys than a chunk, threads and instruction
 * sets.
 */
#include "test.h"

#include <string.h>

#include <takt/takt.h>

#include "base/half.h"

typedef struct shape {
    int queries, keys, heads, shared, dim, value_dim;
    bool is_causal;
    int64_t length[2];
} shape;

static const shape shapes[] = {{1, 700, 6, 2, 16, 24, true, {700, 257}},
                               {1, 256, 3, 3, 8, 5, false, {256, 0}},
                               {1, 600, 4, 1, 7, 9, true, {1, 513}},
                               {5, 600, 4, 2, 12, 20, true, {600, 77}},
                               {70, 130, 4, 4, 16, 16, false, {130, 129}}};

static takt_ctx *ctx;

/* `wide`: k and v are widened before. */
static takt_model *model_of(const shape *s, const char *k, const char *v, bool wide)
{
    char text[600];
    takt_model *model = NULL;
    snprintf(text, sizeof text,
             "model m(q: f32[2, %d, %d], k: %s[2, %d, %d], v: %s[2, %d, %d], n: i64[2]) {\n"
             "  return y = op.attention(q, %s, %s, length=n, heads=%d, kv_heads=%d, causal=%s)\n}",
             s->queries, s->heads * s->dim, k, s->keys, s->shared * s->dim, v, s->keys,
             s->shared * s->value_dim, wide ? "cast(k, dtype=f32)" : "k",
             wide ? "cast(v, dtype=f32)" : "v", s->heads, s->shared,
             s->is_causal ? "true" : "false");
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model));
    return model;
}

static void fill(const takt_tensor_view *x, size_t salt)
{
    size_t count = 1;
    for (int i = 0; i < x->rank; i++)
        count *= (size_t)x->dims[i];
    for (size_t i = 0; i < count; i++) {
        const double value = (double)((i * 2654435761u + salt * 40503u) >> 7 & 1023) / 512 - 1;
        if (x->dtype == TAKT_F32)
            ((float *)x->data)[i] = (float)value;
        else
            ((uint16_t *)x->data)[i] =
                x->dtype == TAKT_F16 ? takt_f16_from_f64(value) : takt_bf16_from_f64(value);
    }
}

/* The results, in a session that the caller destroys. */
static takt_session *ran(const takt_model *model, const takt_plan_options *o, const shape *s)
{
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    if (EXPECT_OK(ctx, takt_plan_create(model, o, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &session))) {
        for (size_t i = 0; i < 3; i++)
            fill(takt_session_input(session, i), i);
        memcpy(takt_session_input(session, 3)->data, s->length, sizeof s->length);
        EXPECT(takt_session_run(session) == TAKT_OK, "%s", takt_session_error(session)->message);
    }
    takt_plan_destroy(plan);
    return session;
}

static void same(const shape *s, const char *k, const char *v)
{
    static const takt_plan_options ways[] = {
        {.size = sizeof(takt_plan_options), .threads = 1},
        {.size = sizeof(takt_plan_options), .threads = 5},
        {.size = sizeof(takt_plan_options), .threads = 2, .isa = "scalar"}};
    const size_t bytes = sizeof(float) * 2 * (size_t)(s->queries * s->heads * s->value_dim);
    takt_model *half = model_of(s, k, v, false), *wide = model_of(s, k, v, true);
    takt_session *want = ran(wide, &ways[0], s);
    for (size_t i = 0; want != NULL && i < sizeof ways / sizeof *ways; i++) {
        takt_session *got = ran(half, &ways[i], s);
        EXPECT(got != NULL && memcmp(takt_session_output(got, 0)->data,
                                     takt_session_output(want, 0)->data, bytes) == 0,
               "%d queries, %d keys in %s and %s, way %zu", s->queries, s->keys, k, v, i);
        takt_session_destroy(got);
    }
    takt_session_destroy(want);
    takt_model_destroy(half);
    takt_model_destroy(wide);
}

static void results(void)
{
    static const char *const types[][2] = {
        {"f16", "f16"}, {"bf16", "bf16"}, {"f16", "f32"}, {"f32", "bf16"}};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            same(&shapes[i], types[t][0], types[t][1]);
    takt_ctx_destroy(ctx);
}

/* Queries in 16 bits have keys and values of their own type. */
static void refused(void)
{
    const char *text = "model m(q: f16[1, 1, 8], k: bf16[1, 4, 8], v: f16[1, 4, 8]) {\n"
                       "  return y = op.attention(q, k, v)\n}";
    takt_model *model = NULL;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_STATUS(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model),
                  TAKT_ERR_SHAPE);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(results, refused)
