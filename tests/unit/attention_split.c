/* attention_split.c - one query over many keys, whose keys are shared by tasks: where that is done,
 * and the bits of one thread for any number of threads, lengths, groups, masks and types of the
 * cache.
 */
#include "test.h"

#include <string.h>

#include <takt/takt.h>

#include "api/session/session.h"
#include "base/half.h"
#include "plan/resize.h"

typedef struct shape {
    int batch, keys, heads, shared, dim, value_dim;
    bool has_mask;
    int64_t length[3];
} shape;

static const shape shapes[] = {
    {1, 1300, 12, 4, 64, 64, false, {1300}},      /* more threads than heads of k and v */
    {1, 1300, 12, 4, 64, 64, true, {257}},        /* the last chunk has one key */
    {1, 1024, 9, 3, 64, 64, false, {100}},        /* one chunk, fewer units than tasks */
    {1, 2048, 4, 1, 40, 24, false, {1}},          /* one key */
    {3, 700, 10, 2, 48, 36, true, {700, 0, 513}}, /* one text has nothing yet */
    {2, 1100, 5, 5, 32, 64, false, {33, 1100}},   /* no query heads share keys */
};
enum { SHAPES = sizeof shapes / sizeof *shapes, MOST_THREADS = 16 };

static takt_ctx *ctx;

/* Elements of a row of this width: bytes of q8_0 are blocks of 32 levels with their scale. */
static int elements_of(const char *type, int width)
{
    return strcmp(type, "u8") == 0 ? width / 32 * 34 : width;
}

static takt_model *model_of(const shape *s, const char *type)
{
    const int k_width = elements_of(type, s->shared * s->dim);
    const int v_width = elements_of(type, s->shared * s->value_dim);
    char text[600], mask[40] = "";
    takt_model *model = NULL;
    if (s->has_mask)
        snprintf(mask, sizeof mask, ", w: f32[1, %d]", s->keys);
    snprintf(text, sizeof text,
             "model m(q: f32[%d, 1, %d], k: %s[%d, %d, %d], v: %s[%d, %d, %d], n: i64[%d]%s) {\n"
             "  return y = op.attention(q, k, v%s, length=n, heads=%d, kv_heads=%d)\n}",
             s->batch, s->heads * s->dim, type, s->batch, s->keys, k_width, type, s->batch, s->keys,
             v_width, s->batch, mask, s->has_mask ? ", w" : "", s->heads, s->shared);
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
        else if (x->dtype == TAKT_U8)
            ((uint8_t *)x->data)[i] = i % 34 == 0 ? 0 : i % 34 == 1 ? 0x20 : (uint8_t)(i * 37);
        else
            ((uint16_t *)x->data)[i] = takt_f16_from_f64(value);
    }
}

static bool is_split(const takt_plan *plan)
{
    bool found = false;
    for (size_t i = 0; i < plan->step_count; i++)
        found |= strcmp(plan->steps[i].kind, "attention") == 0 && plan->steps[i].prepare != NULL;
    return found;
}

/* The results, in a session that the caller destroys. */
static takt_session *ran(const takt_model *model, const takt_plan_options *o, const shape *s,
                         bool *split)
{
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    *split = false;
    if (EXPECT_OK(ctx, takt_plan_create(model, o, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &session))) {
        *split = is_split(plan);
        for (size_t i = 0; i < takt_session_input_count(session); i++)
            if (i != 3)
                fill(takt_session_input(session, i), i);
        memcpy(takt_session_input(session, 3)->data, s->length,
               (size_t)s->batch * sizeof *s->length);
        for (int again = 0; again < 2; again++)
            EXPECT(takt_session_run(session) == TAKT_OK, "%s",
                   takt_session_error(session)->message);
    }
    takt_plan_destroy(plan);
    return session;
}

static void same(const shape *s, const char *type)
{
    static const int threads[] = {2, 3, 5, 8, MOST_THREADS};
    const size_t bytes = sizeof(float) * (size_t)(s->batch * s->heads * s->value_dim);
    takt_model *model = model_of(s, type);
    bool split;
    takt_session *want = ran(model, &(takt_plan_options){.threads = 1}, s, &split);
    EXPECT(!split, "one thread shares nothing");
    for (size_t i = 0; want != NULL && i < 10; i++) {
        const takt_plan_options o = {.threads = threads[i % 5], .isa = i < 5 ? NULL : "scalar"};
        takt_session *got = ran(model, &o, s, &split);
        EXPECT(got != NULL && memcmp(takt_session_output(got, 0)->data,
                                     takt_session_output(want, 0)->data, bytes) == 0,
               "%d keys of %s, %d threads", s->keys, type, o.threads);
        if (o.threads == MOST_THREADS)
            EXPECT(split, "%d heads of %d keys are not shared", s->shared, s->keys);
        takt_session_destroy(got);
    }
    takt_session_destroy(want);
    takt_model_destroy(model);
}

static void bits(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < SHAPES; i++) {
        same(&shapes[i], "f32");
        same(&shapes[i], "f16");
        if (shapes[i].dim % 32 == 0 && shapes[i].value_dim % 32 == 0)
            same(&shapes[i], "u8");
    }
    takt_ctx_destroy(ctx);
}

static bool splits(const shape *s, int threads)
{
    takt_model *model = model_of(s, "f32");
    bool split;
    takt_session_destroy(ran(model, &(takt_plan_options){.threads = threads}, s, &split));
    takt_model_destroy(model);
    return split;
}

static void where(void)
{
    static const shape even = {1, 4096, 12, 4, 64, 64, false, {4096}};
    static const shape uneven = {1, 4096, 9, 3, 64, 64, false, {4096}};
    static const shape few = {1, 300, 12, 4, 64, 64, false, {300}};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT(!splits(&even, 2) && !splits(&even, 4), "heads are shared evenly");
    EXPECT(splits(&even, 3) && splits(&even, 8), "heads are not shared evenly");
    EXPECT(splits(&uneven, 2) && !splits(&uneven, 3), "three heads of k and v");
    EXPECT(!splits(&few, 16), "keys are few");
    takt_ctx_destroy(ctx);
}

/* The end of the range shares keys, smaller sizes do not: the session is resized for each. */
static void in_a_range(void)
{
    enum { MOST = 600, DIM = 64, HEADS = 4 };
    static const char text[] = "model m(q: f32[1, 1, 256], k: f32[1, seq, 64]) {\n"
                               "  return y = op.attention(q, k, k, heads=4, kv_heads=1)\n}\n";
    static float q[HEADS * DIM], k[MOST * DIM];
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_plan_options o = {.threads = 2, .sizes = "seq=1..600"};
    const takt_tensor_view query = {
        .dtype = TAKT_F32, .rank = 3, .dims = {1, 1, HEADS * DIM}, .data = q};
    takt_tensor_view keys = {.dtype = TAKT_F32, .rank = 3, .dims = {1, 0, DIM}, .data = k};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model)) &&
        EXPECT_OK(ctx, takt_plan_create(model, &o, &plan)) && EXPECT(is_split(plan)))
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    for (int64_t seq = 100; s != NULL && seq < MOST; seq += 45) {
        keys.dims[1] = seq;
        EXPECT(takt_session_bind(s, "q", &query) == TAKT_OK &&
               takt_session_bind(s, "k", &keys) == TAKT_OK && takt_session_run(s) == TAKT_OK);
        EXPECT(s->range->resizer != NULL && s->plan == takt_resizer_plan(s->range->resizer),
               "%d keys have a separate plan", (int)seq);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(bits, where, in_a_range)
