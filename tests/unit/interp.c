/* interp.c - the interpreter: arithmetic, broadcasting, state, faults, and how much it keeps. */
#include "interp/interp.h"

#include <math.h>
#include <string.h>

#include "grad/grad.h"
#include "op/ops.h"
#include "test.h"
#include "util/inject.h"

static takt_ctx *ctx;
static takt_graph *g;

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_graph_create(ctx, NULL, &g));
}

static void end(void)
{
    takt_graph_destroy(g);
    takt_ctx_destroy(ctx);
}

static takt_id input(const char *name, takt_dtype dtype, int rank, int64_t a, int64_t b)
{
    const takt_type type = {.dtype = dtype, .rank = rank, .dim = {a, b}};
    return takt_graph_input(g, name, &type);
}

/* A tensor of the input's type with these values. */
static takt_tensor tensor(takt_id id, const double *values)
{
    takt_tensor t;
    const takt_dtype dtype = takt_type_of(g, id)->dtype;
    EXPECT_OK(ctx, takt_tensor_create(ctx, takt_type_of(g, id), &t));
    for (size_t i = 0; i < takt_tensor_count(&t); i++) {
        if (takt_dtype_is_float(dtype))
            takt_dtype_put_f(dtype, takt_tensor_data(&t), i, values[i]);
        else
            takt_dtype_put_i(dtype, takt_tensor_data(&t), i, (int64_t)values[i]);
    }
    return t;
}

static double element(const takt_tensor *t, size_t i)
{
    const takt_dtype dtype = t->type.dtype;
    return takt_dtype_is_float(dtype) ? takt_dtype_get_f(dtype, takt_tensor_data(t), i)
                                      : (double)takt_dtype_get_i(dtype, takt_tensor_data(t), i);
}

static void broadcasts(void)
{
    begin();
    const takt_id a = input("a", TAKT_F32, 2, 2, 3), b = input("b", TAKT_F32, 2, 2, 1);
    const takt_id c = input("c", TAKT_F32, 1, 3, 0);
    takt_graph_output(g, "y", takt_add(g, takt_sub(g, a, b), c));
    takt_tensor in[] = {tensor(a, (double[]){1, 2, 3, 4, 5, 6}), tensor(b, (double[]){10, 20}),
                        tensor(c, (double[]){100, 200, 300})};
    takt_tensor out;
    const double want[] = {91, 192, 293, 84, 185, 286};
    if (EXPECT_OK(ctx, takt_interpret(ctx, g, in, NULL, &out, NULL)))
        for (size_t i = 0; i < 6; i++)
            EXPECT(element(&out, i) == want[i], "%zu: %g", i, element(&out, i));
    takt_tensor_release(&out);
    for (int i = 0; i < 3; i++)
        takt_tensor_release(&in[i]);
    end();
}

/* Every node rounds or wraps to its type. */
static void rounds(void)
{
    begin();
    const takt_id h = input("h", TAKT_F16, 1, 1, 0), i = input("i", TAKT_I8, 1, 1, 0);
    const takt_id one = input("one", TAKT_F16, 1, 1, 0), u = input("u", TAKT_U8, 1, 1, 0);
    takt_graph_output(g, "h", takt_sub(g, takt_add(g, h, one), h));
    takt_graph_output(g, "i", takt_add(g, i, i));
    takt_graph_output(g, "u", takt_sub(g, takt_sub(g, u, u), u));
    takt_tensor in[] = {tensor(h, (double[]){2048}), tensor(i, (double[]){100}),
                        tensor(one, (double[]){1}), tensor(u, (double[]){1})};
    takt_tensor out[3];
    if (EXPECT_OK(ctx, takt_interpret(ctx, g, in, NULL, out, NULL))) {
        EXPECT(element(&out[0], 0) == 0, "2048 + 1 is 2048 in f16: %g", element(&out[0], 0));
        EXPECT_EQ(element(&out[1], 0), -56);
        EXPECT_EQ(element(&out[2], 0), 255);
    }
    for (int k = 0; k < 3; k++)
        takt_tensor_release(&out[k]);
    for (int k = 0; k < 4; k++)
        takt_tensor_release(&in[k]);
    end();
}

/* A double between would round twice: to half a step, then to even. */
static void casts_round_once(void)
{
    begin();
    const takt_id i = input("i", TAKT_I64, 1, 2, 0);
    takt_graph_output(g, "f", takt_cast(g, i, TAKT_F32));
    takt_tensor in = tensor(i, (double[]){0, 0}), out;
    int64_t *at = takt_tensor_data(&in);
    at[0] = (INT64_C(1) << 62) + (INT64_C(1) << 38) + 1;
    at[1] = -at[0];
    if (EXPECT_OK(ctx, takt_interpret(ctx, g, &in, NULL, &out, NULL)))
        EXPECT(element(&out, 0) == 0x1.000002p62 && element(&out, 1) == -0x1.000002p62, "%a",
               element(&out, 0));
    takt_tensor_release(&out);
    takt_tensor_release(&in);
    end();
}

static void state(void)
{
    begin();
    const takt_type type = {.dtype = TAKT_F32, .rank = 1, .dim = {2}};
    const takt_init zero = {.kind = TAKT_INIT_CONSTANT};
    const takt_id x = input("x", TAKT_F32, 1, 2, 0);
    const takt_id w = takt_graph_slot(g, "w", &type, &zero, true);
    const takt_id h = takt_graph_slot(g, "h", &type, &zero, false);
    const takt_id sum = takt_add(g, h, takt_mul(g, x, w));
    takt_graph_set_next(g, "h", sum);
    takt_graph_output(g, "y", sum);
    takt_tensor in = tensor(x, (double[]){1, 2});
    takt_tensor slots[] = {tensor(w, (double[]){3, 5}), tensor(h, (double[]){7, 9})}, out, next[2];
    if (EXPECT_OK(ctx, takt_interpret(ctx, g, &in, slots, &out, next))) {
        EXPECT_EQ(element(&out, 0), 10);
        EXPECT_EQ(element(&out, 1), 19);
        EXPECT(element(&next[0], 1) == 5, "a parameter stays");
        EXPECT_EQ(element(&next[1], 0), 10);
        EXPECT_EQ(element(&next[1], 1), 19);
        EXPECT(element(&slots[1], 0) == 7, "the old value is not touched");
        takt_tensor_release(&out);
        takt_tensor_release(&next[0]);
        takt_tensor_release(&next[1]);
    }
    EXPECT_STATUS(ctx, takt_interpret(ctx, g, &in, NULL, &out, NULL), TAKT_ERR_ARGUMENT);
    takt_tensor_release(&in);
    takt_tensor_release(&slots[0]);
    takt_tensor_release(&slots[1]);
    end();
}

static void faults(void)
{
    begin();
    const takt_id a = input("a", TAKT_I32, 1, 3, 0), b = input("b", TAKT_I32, 1, 3, 0);
    g->next_name = "quotient";
    takt_graph_output(g, "y", takt_div(g, a, b));
    takt_tensor in[] = {tensor(a, (double[]){6, 7, 8}), tensor(b, (double[]){1, 0, 2})}, out;
    EXPECT_STATUS(ctx, takt_interpret(ctx, g, in, NULL, &out, NULL), TAKT_ERR_RANGE);
    EXPECT(strstr(takt_last_error(ctx), "element 1: 7") != NULL, "%s", takt_last_error(ctx));
    EXPECT_TEXT(takt_last_error_info(ctx)->node, "quotient");
    takt_tensor wrong[] = {in[0], tensor(b, (double[]){1, 1, 1})};
    wrong[1].type.dim[0] = 2;
    EXPECT_STATUS(ctx, takt_interpret(ctx, g, wrong, NULL, &out, NULL), TAKT_ERR_ARGUMENT);
    EXPECT(strstr(takt_last_error(ctx), "i32[2]") != NULL, "%s", takt_last_error(ctx));
    takt_tensor_release(&in[0]);
    takt_tensor_release(&in[1]);
    takt_tensor_release(&wrong[1]);
    end();
}

/* Names that unification turned into numbers are concrete; others are refused. */
static void named(void)
{
    begin();
    takt_dim n;
    EXPECT_OK(ctx, takt_dim_name(g->dims, takt_span_of("n"), &n));
    const takt_id a = input("a", TAKT_F32, 1, n, 0), b = input("b", TAKT_F32, 1, 2, 0);
    const takt_id square = takt_mul(g, a, a);
    takt_graph_output(g, "y", takt_add(g, square, b));
    takt_tensor in[] = {tensor(b, (double[]){3, 4}), tensor(b, (double[]){1, 1})}, out;
    if (EXPECT_OK(ctx, takt_interpret(ctx, g, in, NULL, &out, NULL)))
        EXPECT(element(&out, 0) == 10 && element(&out, 1) == 17);
    takt_tensor_release(&out);
    takt_graph *loose = NULL, *old = g;
    EXPECT_OK(ctx, takt_graph_create(ctx, NULL, &loose));
    g = loose;
    EXPECT_OK(ctx, takt_dim_name(g->dims, takt_span_of("n"), &n));
    const takt_id x = input("x", TAKT_F32, 1, n, 0);
    takt_graph_output(g, "y", takt_neg(g, x));
    EXPECT_STATUS(ctx, takt_interpret(ctx, g, in, NULL, &out, NULL), TAKT_ERR_ARGUMENT);
    takt_graph_destroy(loose);
    g = old;
    takt_tensor_release(&in[0]);
    takt_tensor_release(&in[1]);
    end();
}

/* Values die after their last use: a chain of a thousand needs no more than a few at once. */
static void frees(void)
{
    enum { SIZE = 10000, LENGTH = 1000 };
    const takt_config config = {.limits = {.bytes = 8u << 20}};
    EXPECT_OK(NULL, takt_ctx_create(&config, &ctx));
    EXPECT_OK(ctx, takt_graph_create(ctx, NULL, &g));
    const takt_id x = input("x", TAKT_F64, 1, SIZE, 0);
    takt_id y = x;
    for (int i = 0; i < LENGTH; i++)
        y = takt_add(g, y, x);
    takt_graph_output(g, "y", y);
    takt_array in, out;
    EXPECT_OK(ctx, takt_array_create(ctx, takt_type_of(g, x), &in));
    in.f[5] = 2;
    if (EXPECT_OK(ctx, takt_interpret_arrays(ctx, g, &in, NULL, &out, NULL)))
        EXPECT(out.f[5] == 2 * (LENGTH + 1) && out.f[6] == 0);
    takt_array_release(ctx, &out);
    takt_array_release(ctx, &in);
    end();
}

/* Everything in one scenario for failing allocations: names, a lowering, state, gradients, a
 * run. */
static takt_status build_and_run(takt_ctx *c, takt_graph *graph)
{
    takt_dim n;
    takt_graph *back = NULL;
    takt_array in = {0}, slot = {0}, out[2] = {0}, next[1] = {0};
    const takt_init zero = {.kind = TAKT_INIT_CONSTANT};
    TAKT_TRY(takt_dim_name(graph->dims, takt_span_of("n"), &n));
    TAKT_TRY(takt_dim_make(graph->dims, TAKT_DIM_FLOORDIV, n, 2, &n));
    const takt_type x = {.dtype = TAKT_F64, .rank = 2, .dim = {2, n}};
    const takt_type w = {.dtype = TAKT_F64, .rank = 1, .dim = {3}};
    const takt_type given = {.dtype = TAKT_F64, .rank = 2, .dim = {2, 3}};
    TAKT_TRY(takt_dim_make(graph->dims, TAKT_DIM_ADD, x.dim[1], 3, &n));
    const takt_id a = takt_graph_input(graph, "x", &given);
    const takt_id b = takt_graph_slot(graph, "w", &w, &zero, true);
    takt_graph_output(graph, "y", takt_unary(graph, &takt_op_softmax, takt_mul(graph, a, b)));
    TAKT_TRY(graph->status);
    takt_status status = takt_grad(c, graph, "y", NULL, 0, &back);
    if (status == TAKT_OK)
        status = takt_array_create(c, &given, &in);
    if (status == TAKT_OK)
        status = takt_array_create(c, &w, &slot);
    if (status == TAKT_OK)
        status = takt_interpret_arrays(c, back, &in, &slot, out, next);
    takt_array_release(c, &in);
    takt_array_release(c, &slot);
    takt_array_release(c, &out[0]);
    takt_array_release(c, &out[1]);
    takt_array_release(c, &next[0]);
    takt_graph_destroy(back);
    return status;
}

static takt_status scenario(takt_inject *inject, void *user)
{
    (void)user;
    takt_ctx *c;
    takt_graph *graph = NULL;
    takt_config config = {0};
    takt_inject_config(inject, &config);
    TAKT_TRY(takt_ctx_create(&config, &c));
    takt_status status = takt_graph_create(c, NULL, &graph);
    if (status == TAKT_OK)
        status = build_and_run(c, graph);
    takt_graph_destroy(graph);
    takt_ctx_destroy(c);
    return status;
}

static void failing_memory(void)
{
    const takt_sweep_report r = takt_sweep(scenario, NULL, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s", r.message);
    EXPECT(r.runs > 50, "%llu runs", (unsigned long long)r.runs);
}

TEST_MAIN(broadcasts, rounds, casts_round_once, state, faults, named, frees, failing_memory)
