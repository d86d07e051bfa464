/* attention_blocks.c - attention over a cache in blocks of q8_0 has the bits of the same attention
 * over the dequantised blocks: for one query and many, more keys than a chunk, large heads, threads
 * and instruction sets; and tests of the blocks themselves. */
#include "test.h"

#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "base/half.h"

typedef struct shape {
    int queries, keys, heads, shared, dim, value_dim;
    bool is_causal;
    int64_t length[2];
} shape;

static const shape shapes[] = {
    {1, 700, 6, 2, 32, 64, true, {700, 257}},   {1, 40, 3, 3, 64, 32, false, {40, 0}},
    {5, 600, 4, 2, 32, 96, true, {600, 77}},    {70, 130, 4, 4, 32, 32, false, {130, 129}},
    {3, 300, 2, 1, 288, 320, true, {300, 131}}, {2, 269, 2, 1, 64, 32, true, {255, 256}}};

static takt_ctx *ctx;

static takt_model *model_of(const shape *s, bool has_k, bool has_v, bool wide)
{
    char text[700], k[80], v[80];
    takt_model *model = NULL;
    const int k_width = s->shared * s->dim, v_width = s->shared * s->value_dim;
    snprintf(k, sizeof k, "%s[2, %d, %d]", has_k ? "u8" : "f32", s->keys,
             has_k ? k_width / 32 * 34 : k_width);
    snprintf(v, sizeof v, "%s[2, %d, %d]", has_v ? "u8" : "f32", s->keys,
             has_v ? v_width / 32 * 34 : v_width);
    snprintf(text, sizeof text,
             "model m(q: f32[2, %d, %d], k: %s, v: %s, n: i64[2]) {\n"
             "  return y = op.attention(q, %s, %s, length=n, heads=%d, kv_heads=%d, causal=%s)\n}",
             s->queries, s->heads * s->dim, k, v,
             has_k && wide ? "op.ggml_dequantize(k, format=q8_0)" : "k",
             has_v && wide ? "op.ggml_dequantize(v, format=q8_0)" : "v", s->heads, s->shared,
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
        const size_t bits = (i * 2654435761u + salt * 40503u) >> 7;
        const double value = (double)(bits & 1023) / 512 - 1;
        if (x->dtype == TAKT_F32)
            ((float *)x->data)[i] = (float)value;
        else
            ((uint8_t *)x->data)[i] = (uint8_t)bits;
    }
    for (size_t i = 0; x->dtype == TAKT_U8 && i + 34 <= count; i += 34) { /* scales */
        const uint16_t d = takt_f16_from_f64((double)(1 + i % 7) / 512);
        ((uint8_t *)x->data)[i] = (uint8_t)d;
        ((uint8_t *)x->data)[i + 1] = (uint8_t)(d >> 8);
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

static void same(const shape *s, bool has_k, bool has_v)
{
    static const takt_plan_options ways[] = {
        {.size = sizeof(takt_plan_options), .threads = 1},
        {.size = sizeof(takt_plan_options), .threads = 5},
        {.size = sizeof(takt_plan_options), .threads = 2, .isa = "scalar"}};
    const size_t bytes = sizeof(float) * 2 * (size_t)(s->queries * s->heads * s->value_dim);
    takt_model *blocks = model_of(s, has_k, has_v, false), *wide = model_of(s, has_k, has_v, true);
    takt_session *want = ran(wide, &ways[0], s);
    for (size_t i = 0; want != NULL && i < sizeof ways / sizeof *ways; i++) {
        takt_session *got = ran(blocks, &ways[i], s);
        EXPECT(got != NULL && memcmp(takt_session_output(got, 0)->data,
                                     takt_session_output(want, 0)->data, bytes) == 0,
               "%d queries, %d keys, blocks of k %d, of v %d, way %zu", s->queries, s->keys, has_k,
               has_v, i);
        takt_session_destroy(got);
    }
    takt_session_destroy(want);
    takt_model_destroy(blocks);
    takt_model_destroy(wide);
}

static void results(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int kinds = 1; kinds < 4; kinds++)
            same(&shapes[i], (kinds & 1) != 0, (kinds & 2) != 0);
    takt_ctx_destroy(ctx);
}

/* The bytes of rows of 32 numbers on the backend `isa`. */
static void rounded(const char *isa, const float *x, size_t rows, uint8_t *to)
{
    const char *text = "model m(x: f32[rows, 32]) { return op.ggml_quantize(x, format=q8_0) }";
    const takt_plan_options o = {.size = sizeof o, .sizes = "rows=6", .isa = isa};
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model));
    if (EXPECT_OK(ctx, takt_plan_create(model, &o, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &session))) {
        memcpy(takt_session_input(session, 0)->data, x, rows * 32 * sizeof *x);
        EXPECT_OK(NULL, takt_session_run(session));
        memcpy(to, takt_session_output(session, 0)->data, rows * 34);
    }
    takt_session_destroy(session);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
}

static uint16_t scale_of(const uint8_t *block)
{
    return (uint16_t)(block[0] | block[1] << 8);
}

/* Halves go away from zero; zeros, numbers whose scale is not an f16, infinities and NaN. */
static void blocks(void)
{
    enum { HALVES, ZERO, TINY, HUGE, INF, NOT };
    static float x[6][32];
    uint8_t got[6][34];
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (int i = 0; i < 32; i++)
        x[HALVES][i] = (float)i - 15.5f;
    x[HALVES][31] = -127;
    x[TINY][3] = 1e-40f;
    x[HUGE][4] = -3e38f;
    x[HUGE][5] = 1e38f;
    x[INF][6] = -INFINITY;
    x[INF][7] = 1;
    x[NOT][8] = NAN;
    for (int way = 0; way < 2; way++) {
        rounded(way == 0 ? NULL : "scalar", x[0], 6, got[0]);
        EXPECT_EQ(scale_of(got[HALVES]), 0x3c00);
        EXPECT_EQ((int8_t)got[HALVES][2], -16);
        EXPECT_EQ((int8_t)got[HALVES][17], -1);
        EXPECT_EQ((int8_t)got[HALVES][18], 1);
        EXPECT_EQ((int8_t)got[HALVES][33], -127);
        EXPECT_EQ(scale_of(got[ZERO]), 0);
        EXPECT_EQ(got[ZERO][2], 0);
        EXPECT_EQ(scale_of(got[TINY]), 0);
        EXPECT_EQ(got[TINY][2], 0);
        EXPECT_EQ(got[TINY][5], 127);
        EXPECT_EQ(scale_of(got[HUGE]), 0x7c00);
        EXPECT_EQ((int8_t)got[HUGE][6], -127);
        EXPECT_EQ((int8_t)got[HUGE][7], 42);
        EXPECT_IS((scale_of(got[INF]) & 0x7fff), >, 0x7c00);
        EXPECT_EQ(got[INF][8], 0);
        EXPECT_EQ(got[INF][9], 0);
        EXPECT_IS((scale_of(got[NOT]) & 0x7fff), >, 0x7c00);
    }
    takt_ctx_destroy(ctx);
}

static void refused(void)
{
    static const struct {
        const char *text;
        takt_status status;
    } cases[] = {{"op.attention(q, b, b, heads=2)", TAKT_ERR_SHAPE}, /* heads of 16 */
                 {"op.attention(q, c, b)", TAKT_ERR_SHAPE},          /* no whole blocks */
                 {"op.ggml_quantize(q, format=q4_0)", TAKT_ERR_ARGUMENT},
                 {"op.ggml_quantize(r, format=q8_0)", TAKT_ERR_SHAPE}};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[300];
        takt_model *model = NULL;
        snprintf(text, sizeof text,
                 "model m(q: f32[1, 1, 32], r: f32[33], b: u8[1, 4, 34], c: u8[1, 4, 33]) {\n"
                 "  return y = %s\n}",
                 cases[i].text);
        EXPECT_STATUS(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model),
                      cases[i].status);
        takt_model_destroy(model);
    }
    takt_ctx_destroy(ctx);
}

TEST_MAIN(results, blocks, refused)
