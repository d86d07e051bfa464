/* MsInteger.c - com.microsoft's QGemm, MatMulIntegerToFloat and DynamicQuantizeMatMul: products of
 * integers, scaled. */
#include "io/onnx/adapt.h"
#include "op/util/integer.h"

typedef struct product {
    takt_id in[TAKT_INTEGER_INPUTS];
    takt_id a_scale, b_scale;
} product;

/* A parameter of one element as a scalar. */
static takt_id scalar(takt_call *c, takt_id x)
{
    if (x == TAKT_NONE)
        return x;
    const takt_type *t = takt_type_of(c->g, x);
    return t->rank == 1 && t->dim[0] == 1 ? takt_reshape(c->g, x, NULL, 0) : x;
}

/* a_scale * b_scale, by column if b_scale is. */
static takt_id factor(takt_call *c, const product *p)
{
    const takt_id a = scalar(c, p->a_scale), b = scalar(c, p->b_scale);
    if (a == TAKT_NONE || b == TAKT_NONE || takt_type_of(c->g, a)->rank != 0 ||
        takt_type_of(c->g, b)->rank > 1) {
        (void)takt_onnx_refuse(c, "scales that are missing, or more than one per column of B");
        return TAKT_NONE;
    }
    return takt_mul(c->g, a, b);
}

static takt_id multiplied(takt_call *c, product *p)
{
    size_t count = TAKT_INTEGER_INPUTS;
    for (size_t k = TAKT_INTEGER_A_ZERO; k < TAKT_INTEGER_INPUTS; k++)
        if (k != TAKT_INTEGER_BIAS)
            p->in[k] = scalar(c, p->in[k]);
    while (count > 2 && p->in[count - 1] == TAKT_NONE)
        count--;
    if (p->in[0] == TAKT_NONE || p->in[1] == TAKT_NONE || c->status != TAKT_OK)
        return TAKT_NONE;
    if (takt_type_of(c->g, p->in[1])->rank != 2) {
        (void)takt_onnx_refuse(c, "B has rank %d instead of 2", takt_type_of(c->g, p->in[1])->rank);
        return TAKT_NONE;
    }
    return takt_graph_call(c->g, &takt_op_integer_matmul, count, p->in, 0, NULL);
}

static takt_status to_float(takt_call *c, product *p, size_t bias)
{
    p->in[TAKT_INTEGER_SCALE] = factor(c, p);
    takt_id y = multiplied(c, p);
    if (takt_onnx_has(c, bias) && y != TAKT_NONE)
        y = takt_add(c->g, y, takt_onnx_in(c, bias));
    return c->status != TAKT_OK ? c->status : takt_onnx_done(c, y);
}

static takt_id flipped(takt_call *c, takt_id x, const char *name)
{
    if (x == TAKT_NONE || takt_onnx_i(c, name, 0) == 0)
        return x;
    return takt_transpose(c->g, x, (int64_t[]){1, 0}, 2);
}

/* The addend as a vector of columns; TAKT_NONE and `*rest` if it has another shape. */
static takt_id columns(takt_call *c, size_t input, takt_id *rest)
{
    const takt_id x = takt_onnx_in(c, input);
    *rest = TAKT_NONE;
    if (x == TAKT_NONE)
        return x;
    const takt_type t = *takt_type_of(c->g, x);
    if (t.rank == 1 && t.dim[0] != 1)
        return x;
    if (t.rank == 2 && t.dim[0] == 1 && t.dim[1] != 1)
        return takt_reshape(c->g, x, &t.dim[1], 1);
    *rest = x;
    return TAKT_NONE;
}

static takt_status gemm(takt_call *c, product *p)
{
    takt_id rest;
    const double alpha = takt_onnx_f(c, "alpha", 1);
    p->in[0] = flipped(c, p->in[0], "transA");
    p->in[1] = flipped(c, p->in[1], "transB");
    p->in[TAKT_INTEGER_BIAS] = columns(c, 6, &rest);
    takt_id scale = factor(c, p), out = scalar(c, takt_onnx_in(c, 7));
    if (scale == TAKT_NONE)
        return takt_onnx_done(c, scale);
    scale = alpha != 1 ? takt_mul_scalar(c->g, scale, alpha) : scale;
    if (rest != TAKT_NONE)
        return takt_onnx_refuse(c, "C is not one number per column");
    if (out != TAKT_NONE && scale != TAKT_NONE) {
        scale = takt_div(c->g, scale, out);
        p->in[TAKT_INTEGER_ZERO] =
            takt_onnx_has(c, 8) ? takt_onnx_in(c, 8) : takt_onnx_scalar(c, TAKT_U8, 0);
    }
    p->in[TAKT_INTEGER_SCALE] = scale;
    const takt_id y = multiplied(c, p);
    return c->status != TAKT_OK ? c->status : takt_onnx_done(c, y);
}

static takt_status adapt(takt_call *c)
{
    const bool is_gemm = takt_span_is(c->node->op, "QGemm");
    const bool is_dynamic = takt_span_is(c->node->op, "DynamicQuantizeMatMul");
    product p = {.a_scale = TAKT_NONE, .b_scale = TAKT_NONE};
    for (size_t k = 0; k < TAKT_INTEGER_INPUTS; k++)
        p.in[k] = TAKT_NONE;
    /* The positions of A, B, their scales and their zero points among the inputs. */
    static const size_t forms[3][6] = {{0, 3, 1, 4, 2, 5}, {0, 1, 9, 2, 9, 3}, {0, 1, 2, 3, 4, 5}};
    const size_t *at = forms[is_gemm ? 0 : is_dynamic ? 1 : 2];
    p.in[TAKT_INTEGER_A] = takt_onnx_in(c, at[0]);
    p.in[TAKT_INTEGER_B] = takt_onnx_in(c, at[1]);
    p.a_scale = takt_onnx_in(c, at[2]);
    p.b_scale = takt_onnx_in(c, at[3]);
    p.in[TAKT_INTEGER_A_ZERO] = takt_onnx_in(c, at[4]);
    p.in[TAKT_INTEGER_B_ZERO] = takt_onnx_in(c, at[5]);
    if (p.in[0] == TAKT_NONE || p.in[1] == TAKT_NONE)
        return takt_onnx_refuse(c, "an input is missing");
    if (is_gemm)
        return gemm(c, &p);
    if (is_dynamic)
        p.in[0] = takt_onnx_dynamic(c->g, p.in[0], &p.a_scale, &p.in[TAKT_INTEGER_A_ZERO]);
    return to_float(c, &p, is_dynamic ? 4 : 6);
}

const takt_onnx_op takt_onnx_MsInteger = {
    .names = {"QGemm", "MatMulIntegerToFloat", "DynamicQuantizeMatMul"},
    .domain = "com.microsoft",
    .adapt = adapt};
