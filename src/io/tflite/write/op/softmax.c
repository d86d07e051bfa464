/* softmax.c - SOFTMAX and LOG_SOFTMAX, over the last axis: another one is moved there. */
#include "io/tflite/write/emit.h"

static void call(takt_tflw *w, const takt_node *n, int32_t x, int32_t y)
{
    const bool is_log = n->op == &takt_op_log_softmax;
    takt_tflw_op *op = takt_tflw_1(w, is_log ? "LOG_SOFTMAX" : "SOFTMAX", x, y);
    if (!is_log)
        takt_tflw_option_f(op, 9, 0, 1);
}

static bool emit(takt_tflw *w, const takt_node *n)
{
    const int rank = n->type->rank;
    const int64_t given = n->attr[0].i64, axis = given < 0 ? given + rank : given;
    if (rank < 1 || n->type->dtype != TAKT_F32)
        return false;
    takt_tflw_tail t;
    int32_t x;
    if (axis == rank - 1 && n->op == &takt_op_softmax &&
        takt_tflw_integer_layer(w, n, false, &x, &t) && takt_tflw_is_unit(w, t.quantize, false)) {
        takt_tflw_take(w, w->id, &t);
        call(w, n, x, takt_tflw_tail_result(w, &t));
        return true;
    }
    x = takt_tflw_in(w, n, 0);
    if (axis == rank - 1) {
        call(w, n, x, takt_tflw_result(w, w->id, NULL));
        return true;
    }
    int64_t perm[TAKT_MAX_RANK]; /* both ways: two axes change places */
    for (int d = 0; d < rank; d++)
        perm[d] = d == axis ? rank - 1 : d == rank - 1 ? axis : d;
    const int32_t transposed = takt_tflw_transposed(w, x, perm, -1);
    if (transposed < 0)
        return true;
    const takt_type type = takt_tflw_at(w, transposed)->type;
    const int32_t y = takt_tflw_tensor_new(w, NULL, &type, NULL);
    call(w, n, transposed, y);
    (void)takt_tflw_transposed(w, y, perm, takt_tflw_result(w, w->id, NULL));
    return true;
}

const takt_tflw_emitter takt_tflw_op_softmax = {{&takt_op_softmax, &takt_op_log_softmax}, emit};
