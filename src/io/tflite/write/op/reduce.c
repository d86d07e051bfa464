/* reduce.c - sums, means, extremes, and where the greatest element lies. */
#include "op/util/reduce.h"
#include "io/tflite/write/emit.h"
#include "op/util/arg.h"

static const char *name_of(const takt_op *op)
{
    return op == &takt_op_reduce_mean                                      ? "MEAN"
           : op == &takt_op_reduce_sum || op == &takt_op_reduce_sum_square ? "SUM"
           : op == &takt_op_reduce_max                                     ? "REDUCE_MAX"
           : op == &takt_op_reduce_min                                     ? "REDUCE_MIN"
           : op == &takt_op_reduce_prod                                    ? "REDUCE_PROD"
           : op == &takt_op_argmax                                         ? "ARG_MAX"
                                                                           : "ARG_MIN";
}

static bool arg(takt_tflw *w, const takt_node *n)
{
    const takt_type *x = takt_type_of(w->g, n->in[0]);
    const int64_t axis = n->attr[TAKT_ARG_AXIS].i64;
    if (n->attr[TAKT_ARG_LAST].boolean || n->type->dtype != TAKT_I64)
        return false;
    takt_type flat = {.dtype = TAKT_I64};
    const int64_t at = axis < 0 ? axis + x->rank : axis;
    for (int d = 0; d < x->rank; d++)
        if (d != at)
            flat.dim[flat.rank++] = x->dim[d];
    const bool keeps = n->attr[TAKT_ARG_KEEP].boolean;
    const int32_t from = takt_tflw_in(w, n, 0);
    const int32_t y =
        keeps ? takt_tflw_tensor_new(w, NULL, &flat, NULL) : takt_tflw_result(w, w->id, NULL);
    takt_tflw_op *op =
        takt_tflw_2(w, name_of(n->op), from, takt_tflw_number(w, TAKT_I32, (double)at), y);
    takt_tflw_option(op, n->op == &takt_op_argmax ? 40 : 57, 0, 1, TAKT_TFL_INT64);
    if (keeps)
        (void)takt_tflw_reshaped(w, y, n->type->dim, n->type->rank,
                                 takt_tflw_result(w, w->id, NULL));
    return true;
}

static bool running(takt_tflw *w, const takt_node *n)
{
    enum { AXIS, EXCLUSIVE, REVERSE };
    const int64_t axis = n->attr[AXIS].i64;
    const int32_t x = takt_tflw_in(w, n, 0);
    const int32_t at =
        takt_tflw_number(w, TAKT_I32, (double)(axis < 0 ? axis + n->type->rank : axis));
    takt_tflw_op *op = takt_tflw_2(w, "CUMSUM", x, at, takt_tflw_result(w, w->id, NULL));
    takt_tflw_option(op, 102, 0, 1, n->attr[EXCLUSIVE].boolean);
    takt_tflw_option(op, 102, 1, 1, n->attr[REVERSE].boolean);
    return true;
}

static bool emit(takt_tflw *w, const takt_node *n)
{
    if (n->op == &takt_op_argmax || n->op == &takt_op_argmin)
        return arg(w, n);
    if (n->op == &takt_op_cumsum)
        return running(w, n);
    const takt_type *x = takt_type_of(w->g, n->in[0]);
    const takt_attr *given = &n->attr[TAKT_REDUCE_AXES];
    int64_t axes[TAKT_MAX_RANK];
    size_t count = 0;
    for (uint32_t i = 0; i < given->count; i++)
        axes[count++] = given->i64s[i] < 0 ? given->i64s[i] + x->rank : given->i64s[i];
    for (int d = 0; given->count == 0 && d < x->rank; d++)
        axes[count++] = d;
    takt_tflw_tail t;
    int32_t in;
    if (n->op != &takt_op_reduce_mean || !takt_tflw_integer_layer(w, n, false, &in, &t)) {
        t = (takt_tflw_tail){.end = w->id, .quantize = TAKT_NONE};
        in = takt_tflw_in(w, n, 0);
    }
    if (n->op == &takt_op_reduce_sum_square) {
        const int32_t square = takt_tflw_tensor_new(w, NULL, x, NULL);
        (void)takt_tflw_1(w, "SQUARE", in, square);
        in = square;
    }
    const takt_tflw_grid same = takt_tflw_at(w, in)->grid;
    takt_tflw_take(w, w->id, &t);
    const int32_t list = takt_tflw_ints(w, axes, count);
    const int32_t y =
        t.quantize != TAKT_NONE ? takt_tflw_tail_result(w, &t) : takt_tflw_result(w, w->id, &same);
    takt_tflw_op *op = takt_tflw_2(w, name_of(n->op), in, list, y);
    takt_tflw_option(op, 27, 0, 1, n->attr[TAKT_REDUCE_KEEP].boolean);
    return true;
}

const takt_tflw_emitter takt_tflw_op_reduce = {{&takt_op_reduce_mean, &takt_op_reduce_sum,
                                                &takt_op_reduce_max, &takt_op_reduce_min,
                                                &takt_op_reduce_prod, &takt_op_reduce_sum_square,
                                                &takt_op_argmax, &takt_op_argmin, &takt_op_cumsum},
                                               emit};
