/* math.c - arithmetic that ONNX has in another form. */
#include "io/onnx/write/emit.h"

static bool clip(takt_emit *e, const takt_node *n)
{
    enum { MIN, MAX };
    const takt_attr *a = n->attr;
    const takt_dtype dtype = n->type[0].dtype;
    if (n->op == &takt_op_relu6) {
        takt_emit_3(e, "Clip", e->out, takt_emit_in(e, 0), takt_emit_scalar(e, dtype, 0),
                    takt_emit_scalar(e, dtype, 6));
        return true;
    }
    const char *low = a[MIN].is_set ? takt_emit_scalar(e, dtype, a[MIN].f64) : "";
    const char *high = a[MAX].is_set ? takt_emit_scalar(e, dtype, a[MAX].f64) : "";
    takt_emit_3(e, "Clip", e->out, takt_emit_in(e, 0), low, high);
    return true;
}

/* Towards zero: ceil below it, floor above it; this keeps the sign of zero and NaN. */
static bool trunc_of(takt_emit *e, const takt_node *n)
{
    const char *x = takt_emit_in(e, 0);
    const char *zero = takt_emit_scalar(e, n->type[0].dtype, 0);
    const char *below = takt_emit_2(e, "Less", takt_emit_fresh(e), x, zero);
    const char *up = takt_emit_1(e, "Ceil", takt_emit_fresh(e), x);
    const char *down = takt_emit_1(e, "Floor", takt_emit_fresh(e), x);
    takt_emit_3(e, "Where", e->out, below, up, down);
    return true;
}

/* ONNX has the sign of the divisor for integers only. */
static bool modulo(takt_emit *e, const takt_node *n)
{
    const takt_dtype dtype = n->type[0].dtype;
    const bool is_float = takt_dtype_is_float(dtype), like_c = n->attr[0].boolean;
    const char *x = takt_emit_in(e, 0), *y = takt_emit_in(e, 1);
    takt_emit_i(e, "fmod", like_c || is_float);
    if (like_c || !is_float) {
        takt_emit_2(e, "Mod", e->out, x, y);
        return true;
    }
    const char *rest = takt_emit_2(e, "Mod", takt_emit_fresh(e), x, y);
    const char *signs =
        takt_emit_2(e, "Mul", takt_emit_fresh(e), takt_emit_1(e, "Sign", takt_emit_fresh(e), rest),
                    takt_emit_1(e, "Sign", takt_emit_fresh(e), y));
    const char *differ =
        takt_emit_2(e, "Less", takt_emit_fresh(e), signs, takt_emit_scalar(e, dtype, 0));
    const char *sum = takt_emit_2(e, "Add", takt_emit_fresh(e), rest, y);
    takt_emit_3(e, "Where", e->out, differ, sum, rest);
    return true;
}

static bool stays_within(const takt_tensor *by, takt_dtype dtype)
{
    size_t i = 0;
    while (by != NULL && i < takt_tensor_count(by) &&
           (uint64_t)takt_dtype_get_i(dtype, takt_tensor_data(by), i) <
               (uint64_t)takt_dtype_bits(dtype))
        i++;
    return by != NULL && i == takt_tensor_count(by);
}

/* BitShift is for unsigned numbers and leaves shifts by the width or more undefined: ours give 0,
 * by a product, since onnxruntime has no Where of u64. */
static bool shift(takt_emit *e, const takt_node *n)
{
    const takt_dtype dtype = n->type[0].dtype;
    if (!takt_dtype_is_unsigned(dtype))
        return false;
    const bool is_open = !stays_within(takt_emit_constant(e, 1), dtype);
    const char *x = takt_emit_in(e, 0), *by = takt_emit_in(e, 1);
    takt_emit_s(e, "direction", n->op == &takt_op_shl ? "LEFT" : "RIGHT");
    const char *y = takt_emit_2(e, "BitShift", is_open ? takt_emit_fresh(e) : e->out, x, by);
    if (!is_open)
        return true;
    const char *width = takt_emit_scalar(e, dtype, takt_dtype_bits(dtype));
    const char *is_within = takt_emit_2(e, "Less", takt_emit_fresh(e), by, width);
    takt_emit_2(e, "Mul", e->out, y, takt_emit_cast(e, takt_emit_fresh(e), is_within, dtype));
    return true;
}

static const char *transposed(takt_emit *e, size_t i, bool is_transposed)
{
    const int rank = takt_emit_type(e, i)->rank;
    int64_t perm[TAKT_MAX_RANK];
    if (!is_transposed || rank < 2)
        return takt_emit_in(e, i);
    for (int d = 0; d < rank; d++)
        perm[d] = d;
    perm[rank - 1] = rank - 2;
    perm[rank - 2] = rank - 1;
    return takt_emit_transpose(e, takt_emit_fresh(e), takt_emit_in(e, i), perm, rank);
}

/* A transposed matrix and a vector, which becomes one row or column: onnxruntime 1.31 merges a
 * Transpose into a product and forgets it if the other operand is a vector. */
static void matmul_vector(takt_emit *e, const char *x, const char *y)
{
    const bool is_first = takt_emit_type(e, 0)->rank == 1;
    const char **v = is_first ? &x : &y;
    *v = takt_emit_2(e, "Unsqueeze", takt_emit_fresh(e), *v,
                     takt_emit_vector(e, &(int64_t){is_first ? 0 : 1}, 1));
    const char *product = takt_emit_2(e, "MatMul", takt_emit_fresh(e), x, y);
    takt_emit_2(e, "Squeeze", e->out, product,
                takt_emit_vector(e, &(int64_t){is_first ? -2 : -1}, 1));
}

static bool matmul(takt_emit *e, const takt_node *n)
{
    enum { TRANSPOSE_A, TRANSPOSE_B };
    const bool ta = n->attr[TRANSPOSE_A].boolean, tb = n->attr[TRANSPOSE_B].boolean;
    const takt_type *a = takt_emit_type(e, 0), *b = takt_emit_type(e, 1);
    const takt_dtype dtype = a->dtype;
    const bool is_float = (TAKT_FLOATS & TAKT_IN(dtype)) != 0;
    if ((ta || tb || e->bias[0] != '\0') && a->rank == 2 && b->rank == 2 && is_float) {
        takt_emit_i(e, "transA", ta);
        takt_emit_i(e, "transB", tb);
        takt_emit_3(e, "Gemm", e->out, takt_emit_in(e, 0), takt_emit_in(e, 1), e->bias);
        return true;
    }
    const char *x = transposed(e, 0, ta), *y = transposed(e, 1, tb);
    if ((ta || tb) && is_float && (a->rank == 1) != (b->rank == 1)) {
        matmul_vector(e, x, y);
        return true;
    }
    if (is_float || takt_dtype_bits(dtype) >= 32) {
        takt_emit_2(e, "MatMul", e->out, x, y);
        return true;
    }
    x = takt_emit_cast(e, takt_emit_fresh(e), x, TAKT_I32); /* wraps to the same bits */
    y = takt_emit_cast(e, takt_emit_fresh(e), y, TAKT_I32);
    takt_emit_cast(e, e->out, takt_emit_2(e, "MatMul", takt_emit_fresh(e), x, y), dtype);
    return true;
}

static bool emit(takt_emit *e, const takt_node *n)
{
    if (n->op == &takt_op_clip || n->op == &takt_op_relu6)
        return clip(e, n);
    if (n->op == &takt_op_trunc)
        return trunc_of(e, n);
    if (n->op == &takt_op_mod)
        return modulo(e, n);
    if (n->op == &takt_op_shl || n->op == &takt_op_shr)
        return shift(e, n);
    if (n->op == &takt_op_matmul)
        return matmul(e, n);
    if (n->op == &takt_op_is_inf)
        takt_emit_1(e, "IsInf", e->out, takt_emit_in(e, 0));
    else
        takt_emit_2(e, n->op == &takt_op_max ? "Max" : "Min", e->out, takt_emit_in(e, 0),
                    takt_emit_in(e, 1));
    return true;
}

const takt_emitter takt_emit_op_math = {
    .ops = {&takt_op_clip, &takt_op_relu6, &takt_op_trunc, &takt_op_mod, &takt_op_shl, &takt_op_shr,
            &takt_op_matmul, &takt_op_is_inf, &takt_op_max, &takt_op_min},
    .emit = emit,
};
