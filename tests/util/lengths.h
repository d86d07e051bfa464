/* lengths.h - a session that changes its length gives, at every one of them, the bits of a plan
 * made for that length alone, with numbers substituted before the first pass. */
#ifndef TAKT_TESTS_LENGTHS_H
#define TAKT_TESTS_LENGTHS_H

#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "api/opts.h"
#include "api/session/session.h"
#include "base/ctx.h"

typedef struct model {
    const char *name, *text;
    const char *sizes; /* with one %d for the length */
    const char *walk;  /* with two, for other lengths of everything */
    const char *range; /* that holds all of them */
} model;

static const model models[] = {
    {"encoder",
     "model encoder(tokens: i64[batch, seq]) seed=5 {\n"
     "  param table: f32[50, 48] = normal(0, 0.3)\n"
     "  param places: f32[80, 48] = normal(0, 0.3)\n"
     "  at = op.iota(shape=[seq], dtype=i64, axis=0)\n"
     "  h = layer_norm(gather(table, tokens, axis=0) + gather(places, at, axis=0))\n"
     "  repeat 2 as i {\n"
     "    h = transformer_block(h, heads=3, hidden=96, norm_first=false)\n"
     "  }\n"
     "  return h, reduce_mean(h, axes=[1])\n"
     "}\n",
     "batch=2,seq=%d", "batch=%d,seq=%d", "batch=1..5,seq=1..70"},
    {"pictures",
     "model pictures(x: f32[batch, 3, h, w]) seed=6 {\n"
     "  y = conv(x, 8, kernel=3, pad=1, act=relu) |> conv(8, kernel=3, pad=1, groups=8)\n"
     "  y = conv(y, 12, kernel=3, pad=1, stride=2)\n"
     "  return concat(global_avg_pool(y), global_max_pool(y), axis=1), y\n"
     "}\n",
     "batch=1,h=%d,w=9", "batch=1,h=%d,w=%d", "batch=1,h=1..70,w=1..70"},
    {"sums",
     "model sums(x: f32[n, 7], y: f32[m, 7]) seed=7 {\n"
     "  z = concat(x, y, axis=0) |> dense(16, act=gelu) |> dense(5)\n"
     "  s = softmax(matmul(z, transpose(z, perm=[1, 0])), axis=-1)\n"
     "  k = cast(op.dim(z, axis=0), dtype=f32)\n"
     "  return matmul(s, z) / k, op.argmax(s, axis=1), cumsum(z, axis=0)\n"
     "}\n",
     "n=%d,m=3", "n=%d,m=%d", "n=1..70,m=1..70"},
    {"recurrent",
     "model recurrent(x: f32[batch, seq, 6]) seed=8 {\n"
     "  a = gru(x, 10) |> lstm(9, bidirectional=true) |> rnn(5)\n"
     "  return a, op.cumsum(a, axis=1), dense(a, 4) |> softmax(axis=1)\n"
     "}\n",
     "batch=3,seq=%d", "batch=%d,seq=%d", "batch=1..5,seq=1..70"},
    {"control",
     "model control(x: f32[batch, seq, 6]) seed=12 {\n"
     "  h = dense(x, 8)\n"
     "  y = softmax(h, axis=1) if reduce_sum(x) > 0.0 else cumsum(h, axis=1)\n"
     "  z = y\n"
     "  for i in seq {\n"
     "    m = reduce_mean(z, axes=[1], keep=true)\n"
     "    z = matmul(matmul(z, transpose(z, perm=[0, 2, 1])) |> softmax(axis=2), z) "
     "if reduce_max(m) > 0.1 else z * 0.5 + m\n"
     "  }\n"
     "  return y, z\n"
     "}\n",
     "batch=2,seq=%d", "batch=%d,seq=%d", "batch=1..5,seq=1..70"},
    {"causal",
     "model causal(tokens: i64[batch, seq]) seed=9 {\n"
     "  h = embedding(tokens, 50, 32) |> sinusoidal()\n"
     "  h = transformer_block(h, heads=4, hidden=64, causal=true, rotate=true, kv_heads=2, "
     "norm=rms_norm, gated=true)\n"
     "  return dense(h, 7), reduce_max(h, axes=[1, 2])\n"
     "}\n",
     "batch=1,seq=%d", "batch=%d,seq=%d", "batch=1..5,seq=1..70"},
    {"blocks",
     "model blocks(x: f32[batch, 4, h, w]) seed=10 {\n"
     "  y = residual_block(x, 8) |> inverted_residual(8, stride=2) |> squeeze_excite()\n"
     "  z = upsample(y, scale=2) |> group_norm(2) |> conv_transpose(3)\n"
     "  p = op.pad(x, before=[0, 0, 1, 2], after=[0, 0, 3, 1])\n"
     "  return y, z, p, mean = reduce_mean(z, axes=[2, 3])\n"
     "}\n",
     "batch=2,h=%d,w=6", "batch=1,h=%d,w=%d", "batch=1..2,h=1..70,w=1..70"},
    {"indices",
     "model indices(x: f32[n, m]) seed=11 {\n"
     "  t = transpose(x, perm=[1, 0]) |> op.reshape(shape=[m * n])\n"
     "  s, at = op.sort(x, axis=1)\n"
     "  k = op.iota(shape=[n], dtype=i64, axis=0)\n"
     "  return t, s, at, gather(x, k, axis=0) + 1.0, op.einsum(x, x, equation=\"ij,kj->ik\"), "
     "concat(x, x, axis=0)[1:], op.trilu(matmul(x, transpose(x, perm=[1, 0])))\n"
     "}\n",
     "n=%d,m=5", "n=%d,m=%d", "n=1..70,m=1..70"},
};

static takt_ctx *ctx;

/* ---- values and comparing ---- */

static size_t count_of(const takt_tensor_view *v)
{
    size_t n = 1;
    for (int d = 0; d < v->rank; d++)
        n *= (size_t)v->dims[d];
    return n;
}

static void fill(const takt_tensor_view *v)
{
    uint32_t x = 99;
    const size_t n = count_of(v);
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        if (v->dtype == TAKT_I64)
            ((int64_t *)v->data)[i] = (int64_t)(x >> 16) % 10;
        else
            ((float *)v->data)[i] = ((float)(x >> 16) - 32768.0f) / 16384.0f;
    }
}

static bool run(takt_session *s)
{
    for (size_t i = 0; i < takt_session_input_count(s); i++)
        fill(takt_session_input(s, i));
    return EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
}

static bool same(takt_session *a, takt_session *b, const char *sizes)
{
    bool ok = EXPECT_EQ(takt_session_output_count(a), takt_session_output_count(b));
    for (size_t i = 0; ok && i < takt_session_output_count(a); i++) {
        const takt_tensor_view *x = takt_session_output(a, i), *y = takt_session_output(b, i);
        const size_t bytes = count_of(x) * (size_t)takt_dtype_bits(x->dtype) / 8;
        ok = EXPECT(x->rank == y->rank && memcmp(x->dims, y->dims, sizeof x->dims) == 0) &&
             EXPECT(memcmp(x->data, y->data, bytes) == 0, "%s: output %zu differs", sizes, i);
    }
    return ok;
}

/* ---- a plan for one size, the other way ---- */

static takt_session *alone(const takt_model *m, const char *sizes)
{
    const takt_plan_options o = {.threads = 2, .sizes = sizes};
    takt_plan_settings settings = {0};
    const takt_plan_request request = {.model = m, .options = &o, .settings = &settings};
    takt_arena arena;
    takt_size_range *ranges;
    int64_t numbers[8];
    size_t count;
    takt_graph *g = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    takt_arena_init(&arena, ctx);
    if (EXPECT_OK(ctx, takt_plan_settle(m, &o, &settings)) &&
        EXPECT_OK(ctx, takt_plan_ranges(m, &o, &arena, &ranges, &count)) && EXPECT(count <= 8)) {
        for (size_t i = 0; i < count; i++)
            numbers[i] = ranges[i].top;
        if (EXPECT_OK(ctx, takt_plan_stages(&request, numbers, count, &g)) &&
            EXPECT_OK(ctx, takt_plan_search(ctx, g, &settings, &plan)))
            EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    }
    takt_plan_destroy(plan);
    takt_graph_destroy(g);
    takt_arena_deinit(&arena);
    return s;
}

static void check(takt_session *s, const takt_model *m, const char *sizes)
{
    if (!EXPECT(takt_session_reshape(s, m, sizes) == TAKT_OK, "%s: %s", sizes,
                takt_session_error(s)->message))
        return;
    takt_session *other = alone(m, sizes);
    if (other != NULL && run(s) && run(other))
        same(s, other, sizes);
    /* A size of 1 that is a name in a range, or follows from others, costs a few small steps. */
    enum { MORE = 4 };
    if (other != NULL)
        EXPECT(s->plan->step_count <= other->plan->step_count + MORE, "%s: %zu steps, %zu alone",
               sizes, s->plan->step_count, other->plan->step_count);
    takt_session_destroy(other);
}

/* ---- going from length to length ---- */

static uint32_t drawn(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

static void go(const model *of, const takt_model *m, const char *begin, int walks)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    char sizes[64];
    uint32_t state = 1;
    const takt_plan_options options = {.threads = 2, .sizes = begin};
    if (EXPECT_OK(ctx, takt_plan_get(m, &options, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        for (int i = 1; i <= 64; i++) {
            snprintf(sizes, sizeof sizes, of->sizes, i);
            check(s, m, sizes);
        }
        for (int i = 0; i < walks; i++) {
            const int a = 1 + (int)(drawn(&state) % 5), b = 1 + (int)(drawn(&state) % 70);
            snprintf(sizes, sizeof sizes, of->walk, a, b);
            check(s, m, sizes);
        }
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
}

/* From plan to plan, and inside the range of one. */
static void visit(const model *of, int walks)
{
    takt_model *m = NULL;
    if (EXPECT_OK(ctx,
                  takt_model_load_memory(ctx, of->name, of->text, strlen(of->text), NULL, &m))) {
        go(of, m, NULL, walks);
        go(of, m, of->range, walks);
    }
    takt_model_destroy(m);
}

/* Eight models, each with lengths 1 to 64 and then with random sizes. */
static void lengths_check(int walks)
{
    if (EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        for (size_t i = 0; i < sizeof models / sizeof *models; i++)
            visit(&models[i], walks);
    takt_ctx_destroy(ctx);
}

#endif
