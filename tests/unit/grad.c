/* grad.c - reverse mode on a small network: against differences, by name, twice, and refused. */
#include "grad/grad.h"

#include <math.h>
#include <string.h>

#include "interp/interp.h"
#include "lang/parse.h"
#include "op/ops.h"
#include "test.h"
#include "util/random_array.h"

static takt_ctx *ctx;

enum { X, W0, B0, W1, PARTS };

/* y = mean of (tanh(x w0 + b0) w1)^2, with x used twice. */
static takt_graph *mlp(takt_id ids[PARTS])
{
    takt_graph *g;
    const takt_init zero = {.kind = TAKT_INIT_CONSTANT};
    const takt_type x = {.dtype = TAKT_F64, .rank = 2, .dim = {4, 3}};
    const takt_type w0 = {.dtype = TAKT_F64, .rank = 2, .dim = {3, 5}};
    const takt_type b0 = {.dtype = TAKT_F64, .rank = 1, .dim = {5}};
    const takt_type w1 = {.dtype = TAKT_F64, .rank = 2, .dim = {5, 3}};
    EXPECT_OK(ctx, takt_graph_create(ctx, NULL, &g));
    ids[X] = takt_graph_input(g, "x", &x);
    ids[W0] = takt_graph_slot(g, "w0", &w0, &zero, true);
    ids[B0] = takt_graph_slot(g, "b0", &b0, &zero, true);
    ids[W1] = takt_graph_slot(g, "w1", &w1, &zero, true);
    const takt_id h = takt_unary(
        g, &takt_op_tanh, takt_add(g, takt_matmul(g, ids[X], ids[W0], false, false), ids[B0]));
    const takt_id y = takt_add(g, takt_matmul(g, h, ids[W1], false, false), ids[X]);
    takt_graph_output(g, "loss",
                      takt_reduce_over(g, &takt_op_reduce_sum, takt_mul(g, y, y), NULL, 0, false));
    EXPECT_OK(ctx, g->status);
    return g;
}

static void fill(const takt_graph *g, takt_array *in, takt_array *slots)
{
    takt_random random = {.state = 3};
    EXPECT_OK(ctx, takt_random_array(ctx, &random, takt_type_of(g, g->inputs[0].id), NULL, in));
    for (size_t i = 0; i < g->slot_count; i++)
        EXPECT_OK(ctx, takt_random_array(ctx, &random, &g->slots[i].type, NULL, &slots[i]));
}

static double loss(const takt_graph *g, const takt_array *in, const takt_array *slots)
{
    takt_array out = {0};
    EXPECT_OK(ctx, takt_interpret_arrays(ctx, g, in, slots, &out, NULL));
    const double value = out.f != NULL ? out.f[0] : NAN;
    takt_array_release(ctx, &out);
    return value;
}

static void network(void)
{
    takt_id ids[PARTS];
    takt_graph *back = NULL;
    takt_array in, slots[3], out[4];
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    takt_graph *g = mlp(ids);
    fill(g, &in, slots);
    EXPECT_OK(ctx, takt_grad(ctx, g, "loss", NULL, 0, &back));
    EXPECT_OK(ctx, takt_graph_verify(back));
    EXPECT_EQ(back->output_count, 4);
    EXPECT_TEXT(back->outputs[2].name, "grad.b0");
    EXPECT_OK(ctx, takt_interpret_arrays(ctx, back, &in, slots, out, NULL));
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < slots[i].count; k++) {
            const double old = slots[i].f[k], step = 1e-6;
            slots[i].f[k] = old + step;
            const double high = loss(g, &in, slots);
            slots[i].f[k] = old - step;
            const double slope = (high - loss(g, &in, slots)) / (2 * step);
            slots[i].f[k] = old;
            EXPECT(fabs(slope - out[i + 1].f[k]) < 1e-6 * (1 + fabs(slope)), "%s %zu: %g, not %g",
                   g->slots[i].name, k, out[i + 1].f[k], slope);
        }
    for (size_t i = 0; i < 4; i++)
        takt_array_release(ctx, &out[i]);
    for (size_t i = 0; i < 3; i++)
        takt_array_release(ctx, &slots[i]);
    takt_array_release(ctx, &in);
    takt_graph_destroy(back);
    takt_graph_destroy(g);
    takt_ctx_destroy(ctx);
}

/* The second derivative of x^4 is 12 x^2. */
static void twice(void)
{
    takt_graph *g, *first = NULL, *second = NULL;
    const takt_type type = {.dtype = TAKT_F64, .rank = 1, .dim = {3}};
    const char *const x = "x";
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_graph_create(ctx, NULL, &g));
    const takt_id id = takt_graph_input(g, "x", &type), square = takt_mul(g, id, id);
    takt_graph_output(g, "y", takt_mul(g, square, square));
    EXPECT_OK(ctx, takt_grad(ctx, g, "y", &x, 1, &first));
    /* Two outputs would be called grad.x. */
    EXPECT_STATUS(ctx, takt_grad(ctx, first, "grad.x", &x, 1, &second), TAKT_ERR_ARGUMENT);
    const takt_id out = first->outputs[1].id, in = first->inputs[0].id;
    takt_id result;
    const takt_grad_request request = {
        .out_count = 1, .out = &out, .in_count = 1, .in = &in, .result = &result};
    EXPECT_OK(ctx, takt_grad_append(first, &request));
    takt_graph_output(first, "second", result);
    takt_array a = {0}, outs[3] = {0};
    EXPECT_OK(ctx, takt_array_create(ctx, &type, &a));
    for (int i = 0; i < 3; i++)
        a.f[i] = i - 0.5;
    EXPECT_OK(ctx, takt_interpret_arrays(ctx, first, &a, NULL, outs, NULL));
    for (int i = 0; i < 3; i++)
        EXPECT(fabs(outs[2].f[i] - 12 * a.f[i] * a.f[i]) < 1e-12, "%d: %g", i, outs[2].f[i]);
    for (int i = 0; i < 3; i++)
        takt_array_release(ctx, &outs[i]);
    takt_array_release(ctx, &a);
    takt_graph_destroy(first);
    takt_graph_destroy(g);
    takt_ctx_destroy(ctx);
}

static void refused(void)
{
    takt_id ids[PARTS], result;
    takt_graph *out;
    const char *const nobody = "nobody";
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    takt_graph *g = mlp(ids);
    EXPECT_STATUS(ctx, takt_grad(ctx, g, "nothing", NULL, 0, &out), TAKT_ERR_NOT_FOUND);
    EXPECT_STATUS(ctx, takt_grad(ctx, g, "loss", &nobody, 1, &out), TAKT_ERR_NOT_FOUND);
    EXPECT_SAME(out, NULL);
    const takt_id whole = takt_cast(g, ids[X], TAKT_I32);
    const takt_grad_request request = {
        .out_count = 1, .out = &whole, .in_count = 1, .in = &ids[X], .result = &result};
    EXPECT_STATUS(ctx, takt_grad_append(g, &request), TAKT_ERR_SHAPE);
    /* A value that does not depend on x has gradient 0, of the right shape. */
    const takt_grad_request none = {
        .out_count = 1, .out = &ids[B0], .in_count = 1, .in = &ids[X], .result = &result};
    EXPECT_OK(ctx, takt_grad_append(g, &none));
    EXPECT(takt_type_same(g->dims, takt_type_of(g, result), takt_type_of(g, ids[X])));
    takt_graph_destroy(g);
    takt_ctx_destroy(ctx);
}

/* ---- loops ---- */

static const char *const loops[] = {
    /* a known number of iterations */
    "model m(x: f64[3], w: f64[3]) {\n"
    "  y = loop(constant(i64[], [4]), constant(bool[], [true]), x, w, carried=1,\n"
    "    body=graph(i: i64[], c: bool[], h: f64[3], w: f64[3]) { return c, tanh(h * w) })\n"
    "  return y = y * w\n}\n",
    /* ends by its condition; continuing would divide by zero */
    "model m(x: f64[3], w: f64[3]) {\n"
    "  y = loop(constant(i64[], [9]), constant(bool[], [true]), x, w, carried=1,\n"
    "    body=graph(i: i64[], c: bool[], h: f64[3], w: f64[3]) {\n"
    "      d = cast(2 - i, dtype=f64)\n"
    "      return i < 1, h * w / d\n    })\n"
    "  return y = y\n}\n",
    /* rows of every iteration, and a trip count that is computed */
    "model m(x: f64[3], w: f64[3]) {\n"
    "  trip = cast(reduce_sum(x * 0), dtype=i64) + 3\n"
    "  y, rows = loop(trip, constant(bool[], [true]), x, w, carried=1, length=[5],\n"
    "    body=graph(i: i64[], c: bool[], h: f64[3], w: f64[3]) {\n"
    "      n = sin(h * w)\n"
    "      return c, n, n * h\n    })\n"
    "  return y = y + reduce_sum(rows * rows, axes=[0])\n}\n",
    /* no iteration at all */
    "model m(x: f64[3], w: f64[3]) {\n"
    "  y = loop(constant(i64[], [0]), constant(bool[], [true]), x, w, carried=1,\n"
    "    body=graph(i: i64[], c: bool[], h: f64[3], w: f64[3]) { return c, h / 0 })\n"
    "  return y = y * w\n}\n",
};

static double sum_of(const takt_graph *g, const takt_array *in)
{
    takt_array out = {0};
    double sum = 0;
    EXPECT_OK(ctx, takt_interpret_arrays(ctx, g, in, NULL, &out, NULL));
    for (size_t i = 0; i < out.count; i++)
        sum += out.f[i];
    takt_array_release(ctx, &out);
    return sum;
}

static void one_loop(const char *text)
{
    static const char *const names[] = {"x", "w"};
    takt_graph *g = NULL, *back = NULL;
    takt_array in[2] = {0}, out[3] = {0};
    takt_random random = {.state = 8};
    if (!EXPECT_OK(ctx, takt_parse(ctx, "loop", text, strlen(text), NULL, &g)))
        return;
    EXPECT_OK(ctx, takt_grad(ctx, g, "y", names, 2, &back));
    for (size_t i = 0; i < 2; i++)
        EXPECT_OK(ctx,
                  takt_random_array(ctx, &random, takt_type_of(g, g->inputs[i].id), NULL, &in[i]));
    if (back != NULL && EXPECT_OK(ctx, takt_graph_verify(back)) &&
        EXPECT_OK(ctx, takt_interpret_arrays(ctx, back, in, NULL, out, NULL)))
        for (size_t i = 0; i < 6; i++) {
            double *x = &in[i / 3].f[i % 3];
            const double old = *x, step = 1e-6;
            *x = old + step;
            const double high = sum_of(g, in);
            *x = old - step;
            const double slope = (high - sum_of(g, in)) / (2 * step);
            *x = old;
            EXPECT(fabs(slope - out[1 + i / 3].f[i % 3]) < 1e-7 * (1 + fabs(slope)),
                   "%s\n%s[%zu]: %g, not %g", text, names[i / 3], i % 3, out[1 + i / 3].f[i % 3],
                   slope);
        }
    for (size_t i = 0; i < 3; i++)
        takt_array_release(ctx, &out[i]);
    for (size_t i = 0; i < 2; i++)
        takt_array_release(ctx, &in[i]);
    takt_graph_destroy(back);
    takt_graph_destroy(g);
}

/* A loop without a bound is refused, with a hint. */
static void endless(void)
{
    static const char text[] =
        "model m(x: f64[3], trip: i64[]) {\n"
        "  y = loop(trip, constant(bool[], [true]), x, carried=1,\n"
        "    body=graph(i: i64[], c: bool[], h: f64[3]) { return c, sin(h) })\n"
        "  return y = y\n}\n";
    static const char *const x = "x";
    takt_graph *g = NULL, *back = NULL;
    EXPECT_OK(ctx, takt_parse(ctx, "loop", text, strlen(text), NULL, &g));
    EXPECT_STATUS(ctx, takt_grad(ctx, g, "y", &x, 1, &back), TAKT_ERR_UNSUPPORTED);
    EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_NO_GRADIENT);
    EXPECT(strstr(takt_last_error_info(ctx)->hint, "length=") != NULL);
    takt_graph_destroy(g);
}

static void all_loops(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        one_loop(loops[i]);
    endless();
    takt_ctx_destroy(ctx);
}

TEST_MAIN(network, twice, refused, all_loops)
