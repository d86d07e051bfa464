/* attention_dx.c - the gradient of causal attention has the bits of its lowering (-O0), whatever
 * the step skips: more queries or keys than a block or a strip, more keys than queries, heads that
 * share keys, infinities, NaN, and sums that are -0.
 */
#include "test.h"

#include <math.h>
#include <string.h>

#include <takt/takt.h>

typedef struct shape {
    int queries, keys, heads, shared, dim, value_dim;
} shape;

typedef enum content { PLAIN, TINY, ODD_Q, ODD_K, ODD_V, ODD_DY, CONTENTS } content;

static const shape shapes[] = {{256, 256, 2, 2, 16, 16}, {300, 300, 2, 1, 8, 24},
                               {70, 200, 1, 1, 12, 5},   {66, 130, 2, 2, 3, 8},
                               {65, 65, 3, 1, 4, 4},     {270, 530, 1, 1, 20, 12},
                               {33, 34, 2, 1, 8, 8},     {40, 64, 1, 1, 8, 16}};

static takt_ctx *ctx;

static takt_model *model_of(const shape *s)
{
    char text[600];
    takt_model *model = NULL;
    snprintf(text, sizeof text,
             "model m(q: f32[2, %d, %d], k: f32[2, %d, %d], v: f32[2, %d, %d], dy: f32[2, %d, %d]) "
             "{\n  a, b, c = op.attention_dx(q, k, v, dy, heads=%d, kv_heads=%d, causal=true)\n"
             "  return a=a, b=b, c=c\n}\n",
             s->queries, s->heads * s->dim, s->keys, s->shared * s->dim, s->keys,
             s->shared * s->value_dim, s->queries, s->heads * s->value_dim, s->heads, s->shared);
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model));
    return model;
}

static size_t count_of(const takt_tensor_view *v)
{
    size_t count = 1;
    for (int i = 0; i < v->rank; i++)
        count *= (size_t)v->dims[i];
    return count;
}

static void fill(takt_session *session, content what)
{
    for (size_t i = 0; i < 4; i++) {
        const takt_tensor_view *x = takt_session_input(session, i);
        float *to = x->data;
        const size_t count = count_of(x);
        for (size_t n = 0; n < count; n++) {
            const size_t bits = (n * 2654435761u + i * 40503u) >> 7;
            to[n] = (float)((double)(bits & 1023) / 512 - 1);
            if (what == TINY && (i == 3 || (i == 1 && n % 3 == 0)))
                to[n] *= 1e-28f;
        }
        if (what >= ODD_Q && i == (size_t)(what - ODD_Q)) {
            to[count / 2] = INFINITY;
            to[count - 1] = NAN;
        }
    }
}

static takt_session *ran(const takt_model *model, const takt_plan_options *o, content what)
{
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    if (EXPECT_OK(ctx, takt_plan_create(model, o, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &session))) {
        fill(session, what);
        EXPECT(takt_session_run(session) == TAKT_OK, "%s", takt_session_error(session)->message);
    }
    takt_plan_destroy(plan);
    return session;
}

/* A NaN in q or v makes a query's weights NaN; in the composite form, also those of keys that it
 * does not see. */
static bool is_same(content what, float got, float want)
{
    if (isnan(want))
        return isnan(got) || what == ODD_Q || what == ODD_V;
    return memcmp(&got, &want, sizeof got) == 0;
}

/* How many results are -0. */
static size_t compare(const shape *s, content what, takt_session *got, takt_session *want)
{
    size_t zeros = 0;
    for (size_t i = 0; i < 3; i++) {
        const takt_tensor_view *x = takt_session_output(got, i);
        const float *a = x->data, *b = takt_session_output(want, i)->data;
        for (size_t n = 0; n < count_of(x); n++) {
            zeros += b[n] == 0 && signbit(b[n]);
            if (!EXPECT(is_same(what, a[n], b[n]),
                        "%d queries, %d keys, content %d, result %zu, element %zu: %a, not %a",
                        s->queries, s->keys, (int)what, i, n, (double)a[n], (double)b[n]))
                break;
        }
    }
    return zeros;
}

static void bits(void)
{
    static const takt_plan_options ways[] = {{.threads = 1}, {.threads = 3, .isa = "scalar"}};
    size_t zeros = 0;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        takt_model *model = model_of(&shapes[i]);
        for (content what = PLAIN; what < CONTENTS; what++) {
            takt_session *want = ran(model, &(takt_plan_options){.threads = 2, .level = -1}, what);
            for (size_t w = 0; w < 2 && want != NULL; w++) {
                takt_session *got = ran(model, &ways[w], what);
                if (got != NULL)
                    zeros += compare(&shapes[i], what, got, want);
                takt_session_destroy(got);
            }
            takt_session_destroy(want);
        }
        takt_model_destroy(model);
    }
    EXPECT_IS(zeros, >, 0);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(bits)
