/* svm.c - kernels of support vector machines. */
#include "io/onnx/svm.h"

bool takt_svm_read(takt_call *c, takt_svm *k)
{
    static const char *const kinds[] = {"LINEAR", "POLY", "RBF", "SIGMOID", NULL};
    const takt_pb_attr *a = takt_onnx_attr(c, "kernel_params");
    k->kind = (takt_svm_kind)takt_onnx_choice(c, "kernel_type", "LINEAR", kinds);
    if (a != NULL && a->float_count == 3) {
        k->gamma = (double)a->floats[0];
        k->offset = (double)a->floats[1];
        k->degree = (double)a->floats[2];
    } else if (k->kind != TAKT_SVM_LINEAR) {
        (void)takt_onnx_refuse(c, "kernel_params must hold 3 numbers");
    }
    return c->status == TAKT_OK;
}

/* |x - s|^2 for each row x and support vector s. */
static takt_id distance(takt_call *c, takt_id x, takt_id support)
{
    const int64_t last = 2;
    const takt_id a = takt_onnx_unsqueeze(c, x, 1), b = takt_onnx_unsqueeze(c, support, 0);
    if (a == TAKT_NONE || b == TAKT_NONE)
        return TAKT_NONE;
    const takt_id d = takt_sub(c->g, a, b);
    return d == TAKT_NONE ? d
                          : takt_reduce_over(c->g, &takt_op_reduce_sum_square, d, &last, 1, false);
}

takt_id takt_svm_apply(takt_call *c, const takt_svm *k, takt_id x, takt_id support)
{
    takt_graph *g = c->g;
    if (x == TAKT_NONE || support == TAKT_NONE)
        return TAKT_NONE;
    if (k->kind == TAKT_SVM_RBF) {
        const takt_id d = distance(c, x, support);
        return d == TAKT_NONE ? d : takt_unary(g, &takt_op_exp, takt_mul_scalar(g, d, -k->gamma));
    }
    takt_id y = takt_matmul(g, x, support, false, true);
    if (k->kind == TAKT_SVM_LINEAR || y == TAKT_NONE)
        return y;
    y = takt_add_scalar(g, takt_mul_scalar(g, y, k->gamma), k->offset);
    if (k->kind == TAKT_SVM_SIGMOID || y == TAKT_NONE)
        return y == TAKT_NONE ? y : takt_unary(g, &takt_op_tanh, y);
    return takt_binary(g, &takt_op_pow, y, takt_scalar_like(g, y, k->degree));
}
