/* attention_length.c - attention with the number of keys of each sequence as an input.
 *
 * Keys from a sequence's length on are absent, whatever lies there: the result has the bits of the
 * same attention with that many keys and no more. Results of cpu are those of ref, in all element
 * types, for one and many queries, threads and instruction sets, by the step and its lowering. The
 * step of one query packs nothing: its scratch memory does not grow with k and v, and it reads them
 * in a caller's buffer by its strides.
 */
#include "test.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "util/float_view.h"

typedef struct shape {
    int batch, queries, keys, heads, shared, dim, value_dim;
    bool is_causal, has_mask;
    int64_t length[3];
} shape;

static takt_ctx *ctx;

static takt_model *model_of(const shape *s, const char *dtype, const char *length)
{
    char text[700], mask[64] = "";
    takt_model *model = NULL;
    if (s->has_mask)
        snprintf(mask, sizeof mask, ", w: %s[%d, %d]", dtype, s->queries, s->keys);
    snprintf(text, sizeof text,
             "model m(q: %s[%d, %d, %d], k: %s[%d, %d, %d], v: %s[%d, %d, %d]%s%s) {\n"
             "  return y = op.attention(q, k, v%s%s, heads=%d, kv_heads=%d, causal=%s)\n}\n",
             dtype, s->batch, s->queries, s->heads * s->dim, dtype, s->batch, s->keys,
             s->shared * s->dim, dtype, s->batch, s->keys, s->shared * s->value_dim, mask, length,
             s->has_mask ? ", w" : "", length[0] != '\0' ? ", length=n" : "", s->heads, s->shared,
             s->is_causal ? "true" : "false");
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

static const takt_tensor_view *length_of(takt_session *s)
{
    return takt_session_input(s, takt_session_input_count(s) - 1);
}

/* Special values in every element from the length on. */
static void fill(takt_session *session, const shape *s)
{
    static const double odd[] = {INFINITY, -INFINITY, NAN};
    const size_t last = takt_session_input_count(session) - 1;
    for (size_t i = 0; i < last; i++) {
        const takt_tensor_view *x = takt_session_input(session, i);
        const size_t row = (size_t)x->dims[x->rank - 1], each = (size_t)s->keys * row;
        for (size_t k = 0; k < float_count(x); k++) {
            const bool is_absent =
                (i == 1 || i == 2) && (int64_t)(k % each / row) >= s->length[k / each];
            float_put(x, k, is_absent ? odd[k % 3] : float_value(k, i));
        }
    }
    for (int b = 0; b < s->batch; b++)
        ((int64_t *)length_of(session)->data)[b] = s->length[b];
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

static void compare(const char *dtype, takt_session *got, takt_session *want, const char *how)
{
    const takt_tensor_view *y = takt_session_output(got, 0), *z = takt_session_output(want, 0);
    const double bound = strcmp(dtype, "bf16") == 0  ? 0.05
                         : strcmp(dtype, "f16") == 0 ? 0.01
                                                     : 1e-5;
    for (size_t i = 0; i < float_count(y); i++)
        if (!EXPECT(fabs(float_get(y, i) - float_get(z, i)) <= bound,
                    "%s, %s: element %zu is %g, not %g", dtype, how, i, float_get(y, i),
                    float_get(z, i)))
            break;
}

static const shape shapes[] = {
    {1, 1, 9, 2, 1, 3, 5, false, false, {4}},
    {3, 1, 300, 6, 2, 8, 20, false, false, {300, 0, 257}},
    {2, 1, 40, 3, 3, 4, 33, true, true, {17, 40}},
    {2, 5, 40, 4, 2, 8, 7, true, false, {5, 33}},
    {3, 6, 19, 2, 1, 8, 20, true, true, {2, 0, 19}},
    {2, 60, 300, 2, 1, 4, 18, false, false, {299, 3}},
    {1, 50, 540, 1, 1, 4, 50, true, false, {530}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void cpu_is_ref(void)
{
    static const char *const dtypes[] = {"f32", "f64", "f16", "bf16"};
    static const char *const names[] = {"one thread", "scalar", "two threads", "-O0"};
    for (size_t i = 0; i < SHAPES; i++)
        for (size_t d = 0; d < 4; d++) {
            const shape *s = &shapes[i];
            char length[40];
            snprintf(length, sizeof length, ", n: i64[%d]", s->batch);
            takt_model *model = model_of(s, dtypes[d], length);
            takt_session *want = ran(model, &(takt_plan_options){.backend = "ref"}, s);
            for (int way = 0; way < 4; way++) {
                takt_plan_options o = {.threads = way == 2 ? 2 : 1,
                                       .isa = way == 1 ? "scalar" : NULL,
                                       .level = way == 3 ? -1 : 0};
                takt_session *got = ran(model, &o, s);
                if (got != NULL && want != NULL)
                    compare(dtypes[d], got, want, names[way]);
                takt_session_destroy(got);
            }
            takt_session_destroy(want);
            takt_model_destroy(model);
        }
}

/* Sequence b by itself, with as many keys as it has and no length. */
static void check_alone(const shape *s, takt_session *all, int b)
{
    shape one = *s;
    one.batch = 1;
    one.keys = (int)s->length[b];
    takt_model *model = model_of(&one, "f32", "");
    takt_session *alone = session_of(model, &(takt_plan_options){.threads = 1});
    for (size_t k = 0; k < 3 && alone != NULL; k++) {
        const takt_tensor_view *x = takt_session_input(alone, k), *y = takt_session_input(all, k);
        memcpy(x->data, (const float *)y->data + (size_t)b * (float_count(y) / (size_t)s->batch),
               float_count(x) * sizeof(float));
    }
    for (int r = 0; alone != NULL && s->has_mask && r < s->queries; r++)
        memcpy((float *)takt_session_input(alone, 3)->data + r * one.keys,
               (const float *)takt_session_input(all, 3)->data + r * s->keys,
               (size_t)one.keys * sizeof(float));
    if (alone != NULL && EXPECT_OK(NULL, takt_session_run(alone))) {
        const takt_tensor_view *a = takt_session_output(alone, 0);
        const float *y =
            (const float *)takt_session_output(all, 0)->data + (size_t)b * float_count(a);
        EXPECT(memcmp(a->data, y, float_count(a) * sizeof *y) == 0,
               "%d queries, sequence %d with %d keys has other bits alone", s->queries, b,
               one.keys);
    }
    takt_session_destroy(alone);
    takt_model_destroy(model);
}

static void the_bits_are_those_of_fewer_keys(void)
{
    for (size_t i = 0; i < SHAPES; i++) {
        const shape *s = &shapes[i];
        char length[40];
        snprintf(length, sizeof length, ", n: i64[%d]", s->batch);
        takt_model *model = model_of(s, "f32", length);
        takt_session *all = ran(model, &(takt_plan_options){.threads = 2}, s);
        for (int b = 0; all != NULL && b < s->batch; b++)
            if (s->length[b] >= (s->is_causal ? s->queries : 1))
                check_alone(s, all, b);
        takt_session_destroy(all);
        takt_model_destroy(model);
    }
}

/* Many queries in pieces of any size, also single ones, against all at once: like a prompt that is
 * read in pieces, then token by token. */
static void pieces_have_the_bits_of_the_whole(void)
{
    enum { ALL = 50, WIDTH = 24 };
    const shape whole = {1, ALL, ALL, 3, 1, 8, 8, true, false, {ALL}};
    takt_model *model = model_of(&whole, "f32", ", n: i64[1]");
    takt_session *want = ran(model, &(takt_plan_options){.threads = 1}, &whole);
    static const int pieces[] = {17, 1, 1, 30, 1};
    for (int i = 0, first = 0; want != NULL && i < 5; first += pieces[i++]) {
        shape part = whole;
        part.queries = pieces[i];
        part.length[0] = first + pieces[i];
        takt_model *small = model_of(&part, "f32", ", n: i64[1]");
        takt_session *got = session_of(small, &(takt_plan_options){.threads = 1});
        if (got != NULL) {
            fill(got, &part);
            for (size_t k = 0; k < 3; k++) {
                const size_t width = k == 0 ? WIDTH : 8, from = k == 0 ? (size_t)first * width : 0;
                const size_t rows = k == 0 ? (size_t)pieces[i] : (size_t)part.length[0];
                memcpy(takt_session_input(got, k)->data,
                       (const float *)takt_session_input(want, k)->data + from,
                       rows * width * sizeof(float));
            }
            EXPECT_OK(NULL, takt_session_run(got));
            const float *y = takt_session_output(want, 0)->data;
            EXPECT(memcmp(takt_session_output(got, 0)->data, y + first * WIDTH,
                          (size_t)pieces[i] * WIDTH * sizeof *y) == 0,
                   "%d queries from %d on", pieces[i], first);
        }
        takt_session_destroy(got);
        takt_model_destroy(small);
    }
    takt_session_destroy(want);
    takt_model_destroy(model);
}

static void a_length_that_cannot_be_is_an_error(void)
{
    static const int64_t bad[] = {-1, 10, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < 4; i++)
        for (int queries = 1; queries < 4; queries += 2)
            for (int way = 0; way < 2; way++) {
                const shape s = {2, queries, 9, 1, 1, 3, 3, false, false, {3, 9}};
                takt_model *model = model_of(&s, "f32", ", n: i64[2]");
                takt_session *session =
                    session_of(model, &(takt_plan_options){.backend = way == 0 ? NULL : "ref"});
                if (session != NULL) {
                    fill(session, &s);
                    ((int64_t *)length_of(session)->data)[1] = bad[i];
                    EXPECT(takt_session_run(session) == TAKT_ERR_RANGE, "length %" PRId64, bad[i]);
                    ((int64_t *)length_of(session)->data)[1] = 9;
                    EXPECT_OK(NULL, takt_session_run(session));
                }
                takt_session_destroy(session);
                takt_model_destroy(model);
            }
}

/* In the gradient of k or v: zeros for absent keys, other numbers for present ones. */
static void count_gradient(const shape *s, const takt_tensor_view *d, size_t *zeros, size_t *others)
{
    const size_t row = (size_t)d->dims[2], each = (size_t)s->keys * row;
    for (size_t k = 0; k < float_count(d); k++) {
        const bool is_absent = (int64_t)(k % each / row) >= s->length[k / each];
        *zeros += is_absent && float_get(d, k) == 0;
        *others += !is_absent && float_get(d, k) != 0;
        EXPECT(!is_absent || float_get(d, k) == 0, "element %zu", k);
    }
}

static void fill_plain(takt_session *session, const shape *s)
{
    for (size_t i = 0; i < takt_session_input_count(session); i++) {
        const takt_tensor_view *x = takt_session_input(session, i);
        for (size_t k = 0; x->dtype == TAKT_F32 && k < float_count(x); k++)
            float_put(x, k, float_value(k, i));
        for (int b = 0; x->dtype == TAKT_I64 && b < s->batch; b++)
            ((int64_t *)x->data)[b] = s->length[b];
    }
}

/* The gradient of absent keys is zero. */
static void absent_keys_have_no_gradient(void)
{
    const shape s = {2, 3, 7, 2, 1, 4, 4, true, false, {4, 7}};
    takt_model *model = model_of(&s, "f32", ", n: i64[2]"), *gradient = NULL;
    EXPECT_OK(ctx, takt_model_gradient(model, NULL, "q,k,v", &gradient));
    takt_session *session = session_of(gradient, NULL);
    size_t zeros = 0, others = 0;
    if (session != NULL) {
        fill_plain(session, &s);
        EXPECT(takt_session_run(session) == TAKT_OK, "%s", takt_session_error(session)->message);
        for (size_t o = 0; o < takt_session_output_count(session); o++)
            if (takt_session_output(session, o)->dims[1] == s.keys)
                count_gradient(&s, takt_session_output(session, o), &zeros, &others);
    }
    EXPECT(zeros == 2 * 3 * 4 && others > 40, "%zu zeros, %zu others", zeros, others);
    takt_session_destroy(session);
    takt_model_destroy(gradient);
    takt_model_destroy(model);
}

/* 2,048 keys of 512: 8 MB of k and v, of which no byte is packed. */
static void one_query_packs_nothing(void)
{
    const shape s = {1, 1, 2048, 8, 8, 64, 64, false, false, {5}};
    takt_model *model = model_of(&s, "f32", ", n: i64[1]");
    takt_plan *plan = NULL;
    if (EXPECT_OK(ctx, takt_plan_create(model, &(takt_plan_options){.threads = 1}, &plan))) {
        takt_plan_info info;
        takt_plan_query(plan, &info);
        EXPECT(info.arena <= 16384, "%zu bytes", (size_t)info.arena);
    }
    takt_plan_destroy(plan);
    takt_model_destroy(model);
}

/* k and v are in a buffer with room between their rows, and nothing is copied. */
static void strides_are_read_where_they_are(void)
{
    enum { KEYS = 70, ROW = 40, ROOM = 48 };
    const shape s = {2, 1, KEYS, 6, 2, 20, 20, false, false, {70, 33}};
    static float k[2 * KEYS * ROOM + ROOM], v[2 * KEYS * ROOM];
    takt_model *model = model_of(&s, "f32", ", n: i64[2]");
    takt_session *want = ran(model, &(takt_plan_options){.threads = 1}, &s);
    takt_session *got = ran(model, &(takt_plan_options){.threads = 1}, &s);
    for (size_t i = 0; want != NULL && i < 2 * KEYS; i++) {
        memcpy(k + i * ROOM, (const float *)takt_session_input(want, 1)->data + i * ROW,
               ROW * sizeof *k);
        memcpy(v + i * ROOM, (const float *)takt_session_input(want, 2)->data + i * ROW,
               ROW * sizeof *v);
    }
    if (want != NULL && got != NULL) {
        takt_tensor_view view = *takt_session_input(got, 1);
        view.strides[0] = KEYS * ROOM;
        view.strides[1] = ROOM;
        view.strides[2] = 1;
        view.data = k;
        EXPECT(takt_session_bind(got, "k", &view) == TAKT_OK, "%s",
               takt_session_error(got)->message);
        view.data = v;
        EXPECT(takt_session_bind(got, "v", &view) == TAKT_OK, "%s",
               takt_session_error(got)->message);
        memset(takt_session_output(got, 0)->data, 0, 16);
        EXPECT_OK(NULL, takt_session_run(got));
        EXPECT_EQ(memcmp(takt_session_output(got, 0)->data, takt_session_output(want, 0)->data,
                         float_count(takt_session_output(want, 0)) * sizeof(float)),
                  0);
    }
    takt_session_destroy(got);
    takt_session_destroy(want);
    takt_model_destroy(model);
}

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, cpu_is_ref, the_bits_are_those_of_fewer_keys, pieces_have_the_bits_of_the_whole,
          a_length_that_cannot_be_is_an_error, absent_keys_have_no_gradient,
          one_query_packs_nothing, strides_are_read_where_they_are, end)
