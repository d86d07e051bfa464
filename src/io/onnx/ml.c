/* ml.c - scores, transforms and labels of ai.onnx.ml. */
#include "io/onnx/ml.h"

#include <string.h>

takt_ml_post takt_ml_post_of(takt_call *c)
{
    static const char *const names[] = {"NONE",         "SOFTMAX", "LOGISTIC",
                                        "SOFTMAX_ZERO", "PROBIT",  NULL};
    return (takt_ml_post)takt_onnx_choice(c, "post_transform", "NONE", names);
}

takt_id takt_ml_rows(takt_call *c, takt_dtype dtype)
{
    const takt_type t = *takt_onnx_type(c, 0);
    if (c->status != TAKT_OK)
        return TAKT_NONE;
    if (t.rank < 1 || t.rank > 2 || !takt_dim_is_number(t.dim[t.rank - 1]) ||
        t.dim[t.rank - 1] < 1) {
        (void)takt_onnx_refuse(c, "the input has rank %d, or a width that is not known", t.rank);
        return TAKT_NONE;
    }
    takt_id x = takt_onnx_cast(c, takt_onnx_in(c, 0), dtype);
    x = t.rank == 2 ? x : takt_onnx_unsqueeze(c, x, 0);
    c->status = c->g->status; /* a graph that is full: callers divide by the width */
    return x;
}

/* ---- transforms ---- */

/* Inverse of the normal distribution by Winitzki's formula for the inverse error function, as in
 * the standard's reference implementation; accurate to 2e-3. */
static takt_id probit(takt_call *c, takt_id p)
{
    takt_graph *g = c->g;
    const double a = 0.147, pi = 3.14159265358979323846;
    const takt_id x = takt_add_scalar(g, takt_mul_scalar(g, p, 2), -1);
    if (x == TAKT_NONE)
        return x;
    const takt_id one = takt_scalar_like(g, x, 1);
    /* (1 - x) (1 + x): 1 - x x would lose digits near the ends. */
    const takt_id l =
        takt_unary(g, &takt_op_log, takt_mul(g, takt_sub(g, one, x), takt_add(g, one, x)));
    const takt_id v = takt_add_scalar(g, takt_mul_scalar(g, l, 0.5), 2 / (pi * a));
    const takt_id root =
        takt_unary(g, &takt_op_sqrt, takt_sub(g, takt_mul(g, v, v), takt_mul_scalar(g, l, 1 / a)));
    const takt_id size = takt_unary(g, &takt_op_sqrt, takt_sub(g, root, v));
    const takt_id below = takt_binary(g, &takt_op_lt, x, takt_scalar_like(g, x, 0));
    const takt_id y = takt_select(g, below, takt_neg(g, size), size);
    return y == TAKT_NONE ? y : takt_mul_scalar(g, y, 1.41421356237309505);
}

/* Softmax over the non-zero scores; zeros stay. A row of zeros stays zero. */
static takt_id softmax_zero(takt_call *c, takt_id x)
{
    takt_graph *g = c->g;
    const int64_t last = 1;
    const takt_id zero = takt_scalar_like(g, x, 0);
    const takt_id is_some =
        takt_binary(g, &takt_op_lt, takt_scalar_like(g, x, 1e-7), takt_unary(g, &takt_op_abs, x));
    const takt_id top = takt_reduce_over(g, &takt_op_reduce_max, x, &last, 1, true);
    const takt_id e =
        takt_select(g, is_some, takt_unary(g, &takt_op_exp, takt_sub(g, x, top)), zero);
    const takt_id sum = takt_reduce_over(g, &takt_op_reduce_sum, e, &last, 1, true);
    const takt_id by =
        takt_select(g, takt_binary(g, &takt_op_eq, sum, zero), takt_scalar_like(g, x, 1), sum);
    return takt_div(g, e, by);
}

takt_id takt_ml_transform(takt_call *c, takt_id scores, takt_ml_post post)
{
    if (scores == TAKT_NONE)
        return scores;
    switch (post) {
    case TAKT_ML_SOFTMAX:
        return takt_onnx_op1(c, &takt_op_softmax, scores, 1,
                             &(takt_named_attr){"axis", takt_attr_i64(-1)});
    case TAKT_ML_LOGISTIC: return takt_unary(c->g, &takt_op_sigmoid, scores);
    case TAKT_ML_SOFTMAX_ZERO: return softmax_zero(c, scores);
    case TAKT_ML_PROBIT: return probit(c, scores);
    default: return scores;
    }
}

takt_id takt_ml_transform_one(takt_call *c, takt_id score, takt_ml_post post)
{
    return post == TAKT_ML_PROBIT && score != TAKT_NONE ? probit(c, score) : score;
}

takt_id takt_ml_pair(takt_call *c, takt_id score, takt_ml_post post, bool is_opposite)
{
    if (score == TAKT_NONE)
        return score;
    takt_id first = takt_neg(c->g, score), second = score;
    if (post == TAKT_ML_PROBIT) {
        (void)takt_onnx_refuse(c, "PROBIT of one score for two classes");
        return TAKT_NONE;
    }
    if (post == TAKT_ML_LOGISTIC) {
        first = takt_unary(c->g, &takt_op_sigmoid, first);
        second = takt_unary(c->g, &takt_op_sigmoid, score);
    } else if (!is_opposite) {
        first = takt_sub(c->g, takt_scalar_like(c->g, score, 1), score);
    }
    if (first == TAKT_NONE || second == TAKT_NONE)
        return TAKT_NONE;
    return takt_concat(c->g, (takt_id[]){first, second}, 2, 1);
}

/* ---- labels ---- */

takt_id takt_ml_best(takt_call *c, takt_id scores)
{
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(1)}, {"keep", takt_attr_bool(false)}};
    return takt_onnx_op1(c, &takt_op_argmax, scores, 2, attrs);
}

takt_id takt_ml_above(takt_call *c, takt_id score, double limit)
{
    if (score == TAKT_NONE)
        return score;
    const takt_id above =
        takt_binary(c->g, &takt_op_lt, takt_scalar_like(c->g, score, limit), score);
    return takt_onnx_squeeze(c, takt_onnx_cast(c, above, TAKT_I64), 1);
}

takt_ints takt_ml_labels(takt_call *c, const char *ints, const char *strings)
{
    const takt_ints labels = takt_onnx_ints(c, ints);
    const takt_pb_attr *names = takt_onnx_attr(c, strings);
    if (labels.count == 0 && names != NULL && names->string_count > 0) {
        (void)takt_onnx_refuse(c, "its labels are strings, which Takt does not have");
        (void)takt_fail_hint(c->ctx, "train with integer labels, or cut the model at its scores");
    }
    return labels;
}

takt_id takt_ml_named(takt_call *c, takt_ints labels, takt_id index)
{
    return takt_onnx_gather(c, takt_onnx_i64s(c, labels.at, labels.count), index, 0);
}

/* ---- attributes ---- */

static takt_numbers of_tensor(takt_call *c, const takt_pb_tensor *tensor)
{
    takt_numbers n = {0};
    takt_tensor t = {0};
    c->status = takt_onnx_tensor(c->im->source, tensor, &t);
    if (c->status != TAKT_OK)
        return n;
    const takt_dtype dtype = t.type.dtype;
    n.count = takt_tensor_count(&t);
    n.at = takt_onnx_get(c, n.count, sizeof *n.at);
    for (size_t i = 0; n.at != NULL && i < n.count; i++)
        n.at[i] = takt_dtype_is_float(dtype)
                      ? takt_dtype_get_f(dtype, takt_tensor_data(&t), i)
                      : (double)takt_dtype_get_i(dtype, takt_tensor_data(&t), i);
    takt_tensor_release(&t);
    return n.at != NULL ? n : (takt_numbers){0};
}

takt_numbers takt_ml_numbers(takt_call *c, const char *name, const char *tensor)
{
    const takt_pb_attr *list = name != NULL ? takt_onnx_attr(c, name) : NULL;
    const takt_pb_attr *a = takt_onnx_attr(c, tensor);
    takt_numbers n = {0};
    if (c->status != TAKT_OK)
        return n;
    if (a != NULL && a->t != NULL)
        return of_tensor(c, a->t);
    if (list == NULL || list->float_count == 0)
        return n;
    n.at = takt_onnx_get(c, list->float_count, sizeof *n.at);
    if (n.at == NULL)
        return n;
    n.count = list->float_count;
    for (size_t i = 0; i < n.count; i++)
        n.at[i] = (double)list->floats[i];
    return n;
}

takt_id takt_ml_tensor(takt_call *c, const char *name)
{
    const takt_pb_attr *a = takt_onnx_attr(c, name);
    takt_tensor t = {0};
    if (a == NULL || a->t == NULL || c->status != TAKT_OK)
        return TAKT_NONE;
    c->status = takt_onnx_tensor(c->im->source, a->t, &t);
    if (c->status != TAKT_OK)
        return TAKT_NONE;
    const takt_id id = takt_graph_constant(c->g, &t);
    takt_tensor_release(&t);
    return id;
}

takt_id takt_ml_flat(takt_call *c, takt_id x)
{
    if (x == TAKT_NONE || c->status != TAKT_OK || takt_type_of(c->g, x)->rank == 1)
        return x;
    const takt_type t = *takt_type_of(c->g, x);
    takt_dim count = 1;
    for (int i = 0; i < t.rank; i++) {
        const takt_status status = takt_dim_make(c->g->dims, TAKT_DIM_MUL, count, t.dim[i], &count);
        if (status != TAKT_OK) {
            c->status = status;
            return TAKT_NONE;
        }
    }
    return takt_reshape(c->g, x, &count, 1);
}
