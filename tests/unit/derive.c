/* derive.c - models made from models: parts that give the bits of the whole, one sample that
 * becomes many, and outputs that were not requested. */
#include "test.h"

#include <string.h>

#include <takt/takt.h>

enum { MOST = 8, SAMPLES = 3 };

static takt_ctx *ctx;

/* `source` is a path, or a text. */
static takt_model *load(const char *source)
{
    takt_model *m = NULL;
    if (strchr(source, '\n') != NULL)
        EXPECT_OK(ctx, takt_model_load_memory(ctx, "text", source, strlen(source), NULL, &m));
    else
        EXPECT_OK(ctx, takt_model_load(ctx, source, NULL, &m));
    return m;
}

static const char *passes; /* NULL: the standard ones */

static takt_session *open_session(const takt_model *m, const char *sizes, const char *outputs)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_plan_options options = {
        .sizes = sizes, .outputs = outputs, .threads = 1, .passes = passes};
    if (m != NULL && EXPECT_OK(ctx, takt_plan_create(m, &options, &plan)))
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    takt_plan_destroy(plan);
    return s;
}

static size_t bytes_of(const takt_tensor_view *v)
{
    size_t bytes = (size_t)takt_dtype_bits(v->dtype) / 8;
    for (int i = 0; i < v->rank; i++)
        bytes *= (size_t)v->dims[i];
    return bytes;
}

static const takt_tensor_view *find(takt_session *s, const char *name, bool is_input)
{
    const size_t count = is_input ? takt_session_input_count(s) : takt_session_output_count(s);
    for (size_t i = 0; i < count; i++) {
        const takt_desc *d =
            is_input ? takt_session_input_desc(s, i) : takt_session_output_desc(s, i);
        if (strcmp(d->name, name) == 0)
            return is_input ? takt_session_input(s, i) : takt_session_output(s, i);
    }
    return NULL;
}

/* Inputs of the whole; integers are 0 to 3, so that they are valid indices everywhere. */
static void fill(takt_session *s, uint64_t seed)
{
    for (size_t i = 0; i < takt_session_input_count(s); i++) {
        const takt_tensor_view *v = takt_session_input(s, i);
        EXPECT_OK(ctx, takt_view_random(ctx, v, seed, (uint32_t)i));
        if (v->dtype == TAKT_I64)
            for (size_t k = 0; k < bytes_of(v) / 8; k++)
                ((int64_t *)v->data)[k] %= 4;
    }
}

/* ---- parts ---- */

/* Inputs of a part come from the outputs of the previous one, or from the whole's inputs. */
static void feed(takt_session *part, takt_session *before, takt_session *whole)
{
    for (size_t i = 0; i < takt_session_input_count(part); i++) {
        const char *name = takt_session_input_desc(part, i)->name;
        const takt_tensor_view *from = before != NULL ? find(before, name, false) : NULL;
        if (from == NULL)
            from = find(whole, name, true);
        const takt_tensor_view *to = takt_session_input(part, i);
        if (EXPECT(from != NULL && bytes_of(from) == bytes_of(to), "%s", name))
            memcpy(to->data, from->data, bytes_of(to));
    }
}

static void same_outputs(const char *what, takt_session *got, takt_session *want)
{
    EXPECT(takt_session_output_count(got) == takt_session_output_count(want), "%s", what);
    for (size_t i = 0; i < takt_session_output_count(want); i++) {
        const char *name = takt_session_output_desc(want, i)->name;
        const takt_tensor_view *w = takt_session_output(want, i), *g = find(got, name, false);
        EXPECT(g != NULL && bytes_of(g) == bytes_of(w) &&
                   memcmp(g->data, w->data, bytes_of(w)) == 0,
               "%.40s: %s differs", what, name);
    }
}

/* Cuts at `cuts` ("a", or "a,b") in sequence, and runs the parts in order. */
static void cut(const char *source, const char *sizes, const char *const *cuts, size_t count)
{
    takt_model *m = load(source);
    takt_session *whole = open_session(m, sizes, NULL), *parts[MOST] = {0};
    for (size_t i = 0; m != NULL && i <= count; i++) {
        takt_model *part = NULL;
        if (EXPECT_OK(ctx, takt_model_extract(m, i > 0 ? cuts[i - 1] : NULL,
                                              i < count ? cuts[i] : NULL, &part)))
            parts[i] = open_session(part, sizes, NULL);
        takt_model_destroy(part);
        if (parts[i] == NULL)
            goto out;
    }
    for (uint64_t run = 0; whole != NULL && run < 3; run++) {
        fill(whole, run);
        EXPECT(takt_session_run(whole) == TAKT_OK, "%s", takt_session_error(whole)->message);
        for (size_t i = 0; i <= count; i++) {
            feed(parts[i], i > 0 ? parts[i - 1] : NULL, whole);
            EXPECT(takt_session_run(parts[i]) == TAKT_OK, "%s",
                   takt_session_error(parts[i])->message);
        }
        same_outputs(source, parts[count], whole);
    }
out:
    for (size_t i = 0; i < MOST; i++)
        takt_session_destroy(parts[i]);
    takt_session_destroy(whole);
    takt_model_destroy(m);
}

#define CUT(source, sizes, ...)                                                                    \
    cut(source, sizes, (const char *const[]){__VA_ARGS__},                                         \
        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static const char branches[] = "model two(x: f32[b, 8], y: f32[b, 8]) {\n"
                               "  state sum: f32[8] = 0\n"
                               "  p = dense(x, 8, act=tanh)\n"
                               "  q = dense(y, 8, act=relu)\n"
                               "  r = p * q + sum\n"
                               "  next sum = sum + reduce_sum(p, axes=[0])\n"
                               "  a, i = top_k(r, k=3)\n"
                               "  return r = softmax(r), a = a, i = i\n"
                               "}\n";

static void parts_equal_the_whole(void)
{
    CUT("examples/mlp.takt", "batch=5", "dense_0");
    CUT("examples/mlp.takt", "batch=5", "dense_0.y", "dense_1.y");
    CUT("examples/cnn.takt", "batch=2", "stage_0", "stage_1", "h");
    passes = "-licensed"; /* which would fold the norm into the convolution before the cut */
    CUT("examples/cnn.takt", "batch=2", "stage_0.conv_0", "stage_1.conv_0");
    passes = NULL;
    CUT("examples/encoder.takt", NULL, "transformer_block_0");
    CUT("examples/gpt.takt", "batch=2", "transformer_block_0.attention_0.q,transformer_block_0",
        "transformer_block_2");
    CUT("examples/stream.takt", NULL, "causal_0");
    CUT("examples/kv.takt", "rows=2", "q");
    CUT(branches, "b=3", "p,q", "p,q");
    CUT(branches, "b=3", "r,a", "r,a,i");
}

static void mistakes(void)
{
    takt_model *m = load(branches), *part = NULL;
    EXPECT_STATUS(ctx, takt_model_extract(m, "zz", NULL, &part), TAKT_ERR_NOT_FOUND);
    EXPECT(part == NULL && strstr(takt_last_error(ctx), "no value called zz") != NULL);
    EXPECT_STATUS(ctx, takt_model_extract(m, NULL, "p,p", &part), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_model_batch(m, "b", &part), TAKT_ERR_ARGUMENT);
    EXPECT(strstr(takt_last_error(ctx), "a dimension called b already") != NULL);
    EXPECT_STATUS(ctx, takt_model_batch(m, NULL, &part), TAKT_ERR_ARGUMENT);
    takt_model_destroy(m);
    m = load("model m(x: f32[2]) {\n  state s: f32[2] = uniform(0, 1)\n  next s = x\n"
             "  return x + s\n}\n");
    EXPECT_STATUS(ctx, takt_model_batch(m, "n", &part), TAKT_ERR_UNSUPPORTED);
    EXPECT(takt_last_error_info(ctx)->id == 2113 && part == NULL);
    takt_model_destroy(m);
    m = load("model m(x: f32[1, 1, 1, 1, 1, 1, 1, 1]) {\n  return x + 1\n}\n");
    EXPECT_OK(ctx, m != NULL ? takt_model_batch(m, "n", &part) : TAKT_OK);
    takt_model_destroy(part);
    takt_model_destroy(m);
}

/* ---- many samples ---- */

static void one_and_many(const char *source, const char *sizes)
{
    char all[64];
    takt_model *m = load(source), *many = NULL;
    snprintf(all, sizeof all, "samples=%d%s%s", SAMPLES, sizes != NULL ? "," : "",
             sizes != NULL ? sizes : "");
    takt_session *alone[SAMPLES] = {0}, *s = NULL;
    if (m != NULL && EXPECT_OK(ctx, takt_model_batch(m, "samples", &many)))
        s = open_session(many, all, NULL);
    for (size_t i = 0; i < SAMPLES; i++)
        alone[i] = open_session(m, sizes, NULL);
    for (uint64_t run = 0; s != NULL && alone[SAMPLES - 1] != NULL && run < 2; run++) {
        fill(s, run);
        EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
        for (size_t i = 0; i < SAMPLES; i++) {
            for (size_t k = 0; k < takt_session_input_count(alone[i]); k++) {
                const takt_tensor_view *to = takt_session_input(alone[i], k);
                const takt_tensor_view *from = takt_session_input(s, k);
                const size_t bytes = bytes_of(to);
                if (EXPECT_EQ(bytes * SAMPLES, bytes_of(from)))
                    memcpy(to->data, (const char *)from->data + i * bytes, bytes);
            }
            EXPECT_OK(NULL, takt_session_run(alone[i]));
            for (size_t k = 0; k < takt_session_output_count(s); k++) {
                const takt_tensor_view *want = takt_session_output(alone[i], k);
                const takt_tensor_view *got = takt_session_output(s, k);
                const size_t bytes = bytes_of(want);
                EXPECT(bytes * SAMPLES == bytes_of(got) &&
                           memcmp((const char *)got->data + i * bytes, want->data, bytes) == 0,
                       "%.60s: output %zu of sample %zu differs", source, k, i);
            }
        }
    }
    for (size_t i = 0; i < SAMPLES; i++)
        takt_session_destroy(alone[i]);
    takt_session_destroy(s);
    takt_model_destroy(many);
    takt_model_destroy(m);
}

static void many_equal_each(void)
{
    static const char *const texts[] = {
        "model m(x: f32[40]) {\n  return x |> dense(33, act=gelu) |> dense(7, act=softmax)\n}\n",
        "model m(x: f32[3, 40], y: f32[40, 5], v: f32[40]) {\n"
        "  return x @ y, x @ v, v @ y, v @ v, transpose(y) @ v\n}\n",
        "model m(x: f32[3], y: f32[2, 3], z: f32[4, 1, 1]) {\n"
        "  return x + y, x * z + y, select(y > 0, x, z), max(x, 0.25)\n}\n",
        "model m(x: f32[1, 3, 9, 9]) {\n"
        "  y = x |> conv(8, act=relu) |> batch_norm() |> max_pool(2, stride=2)\n"
        "  return y |> depthwise() |> group_norm(2) |> global_avg_pool() |> flatten()\n}\n",
        "model m(x: f32[2, 5, 16], mask: f32[5, 5]) {\n"
        "  y = transformer_block(x, 4, 24, kv_heads=2, causal=true)\n"
        "  return y, attention(x, 2, mask=mask)\n}\n",
        "model m(x: f32[1, 5, 16], p: f32[5, 5], q: f32[2, 5, 5], r: f32[1, 2, 1, 5]) {\n"
        "  all = constant(f32[5, 5], 0.5)\n"
        "  return attention(x, 2, mask=p), attention(x, 2, mask=q), attention(x, 2, mask=r),\n"
        "         attention(x, 2, mask=all)\n}\n",
        "model m(ids: i64[6], x: f32[4, 3]) {\n"
        "  e = embedding(ids, 4, 9)\n"
        "  return e, gather(x, ids), x[:, 1], x[::2], gather(e, ids, axis=1)\n}\n",
        "model m(x: f32[3, 8]) {\n"
        "  a, i = top_k(x, k=2)\n  b, j = sort(x)\n"
        "  c = cumsum(x, axis=0)\n  d = argmax(x, axis=1)\n"
        "  return a, i, b, c, d, reduce_sum(x), reduce_mean(x, axes=[0])\n}\n",
        "model m(x: f32[6], c: bool[]) {\n"
        "  y = if(c, x, then=graph(a: f32[6]) { return relu(a) },\n"
        "               else=graph(a: f32[6]) { return -a })\n"
        "  return y, concat(x, y * 0 + 1, axis=0), pad(x, before=[1], after=[2]), stack(x, y)\n}\n",
        "model m(x: f32[2, n, 6]) {\n  return x |> gru(5) |> lstm(4, bidirectional=true)\n}\n",
        "model m(x: f32[7], w: f32[3, 7]) {\n"
        "  state s: f32[7] = 0.5\n  next s = tanh(s + x)\n"
        "  c = constant(f32[2], [1, 2])\n"
        "  return s, einsum(\"i,ji->j\", x, w), layer_norm(w), rms_norm(x), c\n}\n",
        "model m(x: f32[5, 4]) {\n"
        "  return transpose(x), reshape(x, shape=[2, 10]), broadcast(x[0], shape=[3, 4]), "
        "log_softmax(x, axis=0), quantize(x, 0.1, constant(i8[], 0), dtype=i8)\n}\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        one_and_many(texts[i], strchr(texts[i], 'n') != NULL && strstr(texts[i], ", n,") != NULL
                                   ? "n=4"
                                   : NULL);
    one_and_many("examples/stream.takt", NULL);
    one_and_many("examples/kv.takt", "rows=2");
}

/* ---- outputs that were not requested ---- */

static size_t steps(const takt_model *m, const char *outputs)
{
    takt_plan *plan = NULL;
    takt_plan_info info = {0};
    const takt_plan_options options = {.outputs = outputs, .threads = 1};
    if (EXPECT_OK(ctx, takt_plan_get(m, &options, &plan)))
        takt_plan_query(plan, &info);
    takt_plan_destroy(plan);
    return info.steps;
}

static void only_what_is_asked(void)
{
    takt_model *m = load("model m(x: f32[64], y: f32[64]) {\n"
                         "  state h: f32[64] = 0\n"
                         "  a = dense(x, 64, act=tanh, name=\"first\")\n"
                         "  b = dense(a, 64, act=tanh, name=\"second\")\n"
                         "  c = dense(y, 64, name=\"third\")\n"
                         "  next h = h + c\n"
                         "  return b = b, c = c, d = h * 2\n"
                         "}\n");
    const size_t all = steps(m, NULL), b = steps(m, "b"), c = steps(m, "c"), a = steps(m, "first");
    EXPECT(a == 1 && b == 2 && c == 1, "%zu, %zu and %zu steps", a, b, c);
    EXPECT(steps(m, "d") >= 2 && steps(m, "b,c") == 3 && all == 5, "%zu steps", all);
    EXPECT_EQ(steps(m, "b,c,d"), all);
    takt_session *whole = open_session(m, NULL, NULL), *part = open_session(m, NULL, "c,first");
    fill(whole, 1);
    fill(part, 1);
    EXPECT_EQ(takt_session_input_count(part), 2);
    EXPECT_EQ(takt_session_output_count(part), 2);
    EXPECT_OK(NULL, takt_session_run(whole));
    EXPECT_OK(NULL, takt_session_run(part));
    const takt_tensor_view *want = find(whole, "c", false), *got = find(part, "c", false);
    EXPECT(got != NULL && memcmp(want->data, got->data, 256) == 0);
    takt_session_destroy(part);
    takt_session_destroy(whole);
    takt_plan *plan = NULL;
    takt_plan_options options = {.outputs = "b,e"};
    EXPECT_STATUS(ctx, takt_plan_create(m, &options, &plan), TAKT_ERR_NOT_FOUND);
    options.outputs = ",";
    EXPECT_STATUS(ctx, takt_plan_create(m, &options, &plan), TAKT_ERR_NOT_FOUND);
    takt_model_destroy(m);
}

int main(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    parts_equal_the_whole();
    mistakes();
    many_equal_each();
    only_what_is_asked();
    takt_ctx_destroy(ctx);
    return test_done();
}
