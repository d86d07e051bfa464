/* attention_absent.c - keys beyond the causal limit do not affect attention, whatever they contain.
 *
 * Infinities and NaN lie in rows of k and v that some queries do not see. The results of cpu are
 * those of ref, for few and many rows, one and several threads, all element types, with the step
 * and with its lowering (-O0); and a query's bits are those it has without the later keys.
 */
#include "test.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "util/float_view.h"

typedef struct shape {
    int batch, queries, keys, heads, shared, dim, value_dim;
    bool has_mask;
} shape;

static takt_ctx *ctx;

/* Special values in one column of every later key, and in all columns of the last. */
static void spoil(const shape *s, const takt_tensor_view *v, size_t row, int first)
{
    const double odd[] = {INFINITY, -INFINITY, NAN};
    for (int b = 0; b < s->batch; b++)
        for (int t = first; t < s->keys; t++)
            for (size_t j = 0; j < row; j++)
                if (t == s->keys - 1 || j == (size_t)(t * 5 + b) % row)
                    float_put(v, ((size_t)b * (size_t)s->keys + (size_t)t) * row + j,
                              odd[((size_t)t + j) % 3]);
}

static void fill(takt_session *session, const shape *s)
{
    for (size_t i = 0; i < takt_session_input_count(session); i++) {
        const takt_tensor_view *x = takt_session_input(session, i);
        for (size_t k = 0; k < float_count(x); k++)
            float_put(x, k, i == 3 && k % 7 == 3 ? -INFINITY : float_value(k, i));
    }
    const int first = s->keys - s->queries + 1 + (s->queries - 1) / 2;
    spoil(s, takt_session_input(session, 1), (size_t)(s->shared * s->dim), first);
    spoil(s, takt_session_input(session, 2), (size_t)(s->shared * s->value_dim), first);
    /* And one key that all see. */
    float_put(takt_session_input(session, 2), (size_t)s->value_dim - 1, INFINITY);
}

static takt_model *model_of(const shape *s, const char *dtype)
{
    char text[600], mask[64] = "";
    takt_model *model = NULL;
    if (s->has_mask)
        snprintf(mask, sizeof mask, ", w: %s[%d, %d]", dtype, s->queries, s->keys);
    snprintf(text, sizeof text,
             "model m(q: %s[%d, %d, %d], k: %s[%d, %d, %d], v: %s[%d, %d, %d]%s) {\n"
             "  return y = op.attention(q, k, v%s, heads=%d, kv_heads=%d, causal=true)\n}\n",
             dtype, s->batch, s->queries, s->heads * s->dim, dtype, s->batch, s->keys,
             s->shared * s->dim, dtype, s->batch, s->keys, s->shared * s->value_dim, mask,
             s->has_mask ? ", w" : "", s->heads, s->shared);
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model));
    return model;
}

static takt_session *session_of(const takt_model *model, const takt_plan_options *o)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    if (EXPECT_OK(ctx, takt_plan_create(model, o, &plan)))
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    takt_plan_destroy(plan);
    return s;
}

static takt_session *ran(const takt_model *model, const takt_plan_options *o, const shape *s)
{
    takt_session *session = session_of(model, o);
    if (session == NULL)
        return NULL;
    fill(session, s);
    EXPECT(takt_session_run(session) == TAKT_OK, "%s", takt_session_error(session)->message);
    return session;
}

static bool is_close(double got, double want, double bound)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    return isinf(want) || isinf(got) ? got == want : fabs(got - want) <= bound;
}

static void compare(const shape *s, const char *dtype, takt_session *got, takt_session *want,
                    const char *how)
{
    const takt_tensor_view *y = takt_session_output(got, 0), *z = takt_session_output(want, 0);
    const double bound = strcmp(dtype, "bf16") == 0  ? 0.05
                         : strcmp(dtype, "f16") == 0 ? 0.01
                                                     : 1e-5;
    size_t finite = 0, odd = 0;
    for (size_t i = 0; i < float_count(y); i++) {
        const double a = float_get(y, i), b = float_get(z, i);
        if (!EXPECT(is_close(a, b, bound), "%s, %d queries, %d keys, %s: element %zu is %g, not %g",
                    dtype, s->queries, s->keys, how, i, a, b))
            break;
        finite += isfinite(b) != 0;
        odd += isfinite(b) == 0;
    }
    EXPECT(finite > 0 && odd > 0, "%zu finite, %zu not", finite, odd);
}

static const shape shapes[] = {
    {1, 2, 2, 1, 1, 1, 2, false},    {2, 5, 7, 2, 1, 3, 4, false},
    {1, 4, 4, 3, 3, 2, 5, true},     {1, 60, 61, 2, 2, 4, 33, false},
    {2, 49, 300, 2, 1, 8, 20, true}, {1, 60, 540, 1, 1, 4, 50, false},
};

static void cpu_is_ref(void)
{
    static const char *const dtypes[] = {"f32", "f64", "f16", "bf16"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t d = 0; d < 4; d++) {
            const shape *s = &shapes[i];
            takt_model *model = model_of(s, dtypes[d]);
            takt_session *want = ran(model, &(takt_plan_options){.backend = "ref"}, s);
            for (int way = 0; way < 4; way++) {
                takt_plan_options o = {.threads = way == 2 ? 2 : 1,
                                       .isa = way == 1 ? "scalar" : NULL,
                                       .level = way == 3 ? -1 : 0};
                static const char *const names[] = {"one thread", "scalar", "two threads", "-O0"};
                takt_session *got = ran(model, &o, s);
                if (got != NULL && want != NULL)
                    compare(s, dtypes[d], got, want, names[way]);
                takt_session_destroy(got);
            }
            takt_session_destroy(want);
            takt_model_destroy(model);
        }
}

/* Query i of n by itself, with the keys that it sees. */
static void check_alone(const shape *s, takt_session *all, int i)
{
    shape one = *s;
    one.queries = 1;
    one.keys = s->keys - s->queries + i + 1;
    takt_model *model = model_of(&one, "f32");
    takt_session *alone = session_of(model, &(takt_plan_options){.threads = 1});
    for (size_t k = 0; k < 3 && alone != NULL; k++) {
        const takt_tensor_view *x = takt_session_input(alone, k), *y = takt_session_input(all, k);
        const size_t row = k == 0 ? (size_t)i * (size_t)(s->heads * s->dim) : 0;
        memcpy(x->data, (const float *)y->data + row, float_count(x) * sizeof(float));
    }
    if (alone != NULL && EXPECT_OK(NULL, takt_session_run(alone))) {
        const takt_tensor_view *a = takt_session_output(alone, 0);
        const float *b =
            (const float *)takt_session_output(all, 0)->data + (size_t)i * float_count(a);
        for (size_t j = 0; j < float_count(a); j++) {
            const float x = ((const float *)a->data)[j];
            EXPECT((isnan(x) && isnan(b[j])) || memcmp(&x, &b[j], sizeof x) == 0,
                   "query %d of %d, element %zu: %g alone, %g", i, s->queries, j, (double)x,
                   (double)b[j]);
        }
    }
    takt_session_destroy(alone);
    takt_model_destroy(model);
}

/* Some columns of v underflow to -0, to which no zero of an absent key may be added. */
static void a_query_alone_has_the_same_bits(void)
{
    static const shape sizes[] = {{1, 9, 11, 2, 1, 4, 40, false},
                                  {1, 300, 560, 1, 1, 4, 50, false}};
    for (size_t k = 0; k < 2; k++) {
        const shape *s = &sizes[k];
        takt_model *model = model_of(s, "f32");
        takt_session *all = session_of(model, &(takt_plan_options){.threads = 1});
        if (all != NULL) {
            fill(all, s);
            const takt_tensor_view *v = takt_session_input(all, 2);
            for (int t = 0; t < s->keys - 1; t++)
                float_put(v, (size_t)(t * s->value_dim) + 1,
                          t < s->keys - s->queries + 5 ? -(double)FLT_TRUE_MIN : 1);
            EXPECT_OK(NULL, takt_session_run(all));
            const float zero = ((const float *)takt_session_output(all, 0)->data)[1];
            EXPECT(zero == 0 && signbit(zero), "%g", (double)zero);
            for (int i = 0; i < s->queries; i += i < 9 ? 1 : 41)
                check_alone(s, all, i);
        }
        takt_session_destroy(all);
        takt_model_destroy(model);
    }
}

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, cpu_is_ref, a_query_alone_has_the_same_bits, end)
