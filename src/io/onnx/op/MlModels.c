/* MlModels.c - ai.onnx.ml: LinearClassifier and SVMRegressor. */
#include "io/onnx/adapt.h"

static takt_id transformed(takt_call *c, takt_id x)
{
    static const char *const names[] = {"NONE", "LOGISTIC", "SOFTMAX", NULL};
    const int which = takt_onnx_choice(c, "post_transform", "NONE", names);
    if (which == 0 || x == TAKT_NONE)
        return x;
    if (which == 1)
        return takt_unary(c->g, &takt_op_sigmoid, x);
    return takt_onnx_op1(c, &takt_op_softmax, x, 1, &(takt_named_attr){"axis", takt_attr_i64(-1)});
}

/* ---- LinearClassifier ---- */

/* The label of the best score, or with one score that of its sign. */
static takt_id labels(takt_call *c, takt_id score, int64_t rows, takt_ints names)
{
    takt_id best;
    if (rows == 1) {
        const takt_id above =
            takt_binary(c->g, &takt_op_lt, takt_scalar_like(c->g, score, 0), score);
        best = takt_onnx_squeeze(c, takt_onnx_cast(c, above, TAKT_I64), 1);
    } else {
        const takt_named_attr attrs[] = {{"axis", takt_attr_i64(1)},
                                         {"keep", takt_attr_bool(false)}};
        best = takt_onnx_op1(c, &takt_op_argmax, score, 2, attrs);
    }
    return takt_onnx_gather(c, takt_onnx_i64s(c, names.at, names.count), best, 0);
}

/* One score s of two classes is that of the second; the first gets 1 - s after the transform. */
static takt_id both(takt_call *c, takt_id p)
{
    if (p == TAKT_NONE)
        return p;
    const takt_id other = takt_sub(c->g, takt_scalar_like(c->g, p, 1), p);
    return other == TAKT_NONE ? other : takt_concat(c->g, (takt_id[]){other, p}, 2, 1);
}

static takt_status classifier(takt_call *c, takt_id x)
{
    const takt_ints names = takt_onnx_ints(c, "classlabels_ints");
    const takt_type t = *takt_type_of(c->g, x);
    const size_t count = takt_onnx_attr_length(c, "coefficients");
    if (takt_onnx_attr(c, "classlabels_strings") != NULL && names.count == 0) {
        (void)takt_onnx_refuse(c, "its labels are strings, which Takt does not have");
        return takt_fail_hint(c->ctx, "train with integer labels, or cut the model at its scores");
    }
    if (t.rank != 2 || !takt_dim_is_number(t.dim[1]) || t.dim[1] < 1 || names.count < 2 ||
        count % (size_t)t.dim[1] != 0)
        return takt_onnx_refuse(c, "%zu coefficients and %zu labels for an input of rank %d", count,
                                names.count, t.rank);
    const int64_t dims[2] = {(int64_t)(count / (size_t)t.dim[1]), t.dim[1]};
    if (dims[0] != (int64_t)names.count && !(dims[0] == 1 && names.count == 2))
        return takt_onnx_refuse(c, "%lld rows of coefficients for %zu labels", (long long)dims[0],
                                names.count);
    takt_id y = takt_onnx_attr_floats(c, "coefficients", dims, 2);
    y = y == TAKT_NONE ? y : takt_matmul(c->g, x, y, false, true);
    if (takt_onnx_attr_length(c, "intercepts") > 0 && y != TAKT_NONE) {
        const takt_id b = takt_onnx_attr_floats(c, "intercepts", dims, 1);
        y = b == TAKT_NONE ? b : takt_add(c->g, y, b);
    }
    if (y == TAKT_NONE)
        return takt_onnx_done(c, y);
    const bool is_one = dims[0] == 1;
    if (is_one && takt_onnx_is(c, "post_transform", "NONE", "SOFTMAX"))
        return takt_onnx_refuse(c, "SOFTMAX of one score");
    takt_onnx_set(c, 1, is_one ? both(c, transformed(c, y)) : transformed(c, y));
    return takt_onnx_done(c, labels(c, y, dims[0], names));
}

/* ---- SVMRegressor ---- */

typedef struct kernel {
    int kind;
    double gamma, offset, degree;
} kernel;

static bool read_kernel(takt_call *c, kernel *k)
{
    static const char *const kinds[] = {"LINEAR", "POLY", "RBF", "SIGMOID", NULL};
    const takt_pb_attr *a = takt_onnx_attr(c, "kernel_params");
    k->kind = takt_onnx_choice(c, "kernel_type", "LINEAR", kinds);
    if (a != NULL && a->float_count == 3) {
        k->gamma = (double)a->floats[0];
        k->offset = (double)a->floats[1];
        k->degree = (double)a->floats[2];
    } else if (k->kind != 0) {
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

static takt_id kernel_of(takt_call *c, const kernel *k, takt_id x, takt_id support)
{
    takt_graph *g = c->g;
    if (k->kind == 2) {
        const takt_id d = distance(c, x, support);
        return d == TAKT_NONE ? d : takt_unary(g, &takt_op_exp, takt_mul_scalar(g, d, -k->gamma));
    }
    takt_id y = takt_matmul(g, x, support, false, true);
    if (k->kind == 0 || y == TAKT_NONE)
        return y;
    y = takt_add_scalar(g, takt_mul_scalar(g, y, k->gamma), k->offset);
    if (k->kind == 3 || y == TAKT_NONE)
        return y == TAKT_NONE ? y : takt_unary(g, &takt_op_tanh, y);
    return takt_binary(g, &takt_op_pow, y, takt_scalar_like(g, y, k->degree));
}

static takt_status regressor(takt_call *c, takt_id x)
{
    const int64_t supports = takt_onnx_i(c, "n_supports", 0), one = 1;
    const size_t count =
        takt_onnx_attr_length(c, supports > 0 ? "support_vectors" : "coefficients");
    kernel k = {0};
    if (!read_kernel(c, &k))
        return c->status;
    if (supports < 0 || count == 0 || (supports > 0 && count % (size_t)supports != 0))
        return takt_onnx_refuse(c, "%lld support vectors in %zu numbers", (long long)supports,
                                count);
    takt_id y = x;
    if (supports > 0) {
        const int64_t dims[2] = {supports, (int64_t)count / supports};
        const takt_id s = takt_onnx_attr_floats(c, "support_vectors", dims, 2);
        y = s == TAKT_NONE ? s : kernel_of(c, &k, x, s);
    }
    const int64_t column[2] = {supports > 0 ? supports : (int64_t)count, 1};
    const takt_id w = takt_onnx_attr_floats(c, "coefficients", column, 2);
    const takt_id rho = takt_onnx_attr_floats(c, "rho", &one, 1);
    if (y == TAKT_NONE || w == TAKT_NONE || rho == TAKT_NONE)
        return takt_onnx_done(c, TAKT_NONE);
    y = takt_add(c->g, takt_matmul(c->g, y, w, false, false), rho);
    if (y == TAKT_NONE || takt_onnx_i(c, "one_class", 0) == 0)
        return takt_onnx_done(c, transformed(c, y));
    const takt_id above = takt_binary(c->g, &takt_op_lt, takt_scalar_like(c->g, y, 0), y);
    return takt_onnx_done(
        c, takt_select(c->g, above, takt_scalar_like(c->g, y, 1), takt_scalar_like(c->g, y, -1)));
}

static takt_status adapt(takt_call *c)
{
    const takt_id x = takt_onnx_cast(c, takt_onnx_in(c, 0), TAKT_F32);
    if (x == TAKT_NONE)
        return takt_onnx_refuse(c, "the input is missing");
    return takt_span_is(c->node->op, "SVMRegressor") ? regressor(c, x) : classifier(c, x);
}

const takt_onnx_op takt_onnx_MlModels = {
    .names = {"LinearClassifier", "SVMRegressor"}, .domain = "ai.onnx.ml", .adapt = adapt};
