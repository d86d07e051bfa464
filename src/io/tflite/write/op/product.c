/* product.c - matmul: FULLY_CONNECTED by constant weights, BATCH_MATMUL otherwise. */
#include "io/tflite/write/emit.h"

enum { TRANSPOSE_A, TRANSPOSE_B };

/* x [..., in] by weights [in, out], which the schema has as [out, in]. */
static bool dense(takt_tflw *w, const takt_node *n)
{
    static const int64_t transposed[] = {1, 0};
    const takt_type *x = takt_type_of(w->g, n->in[0]), *k = takt_type_of(w->g, n->in[1]);
    takt_tflw_constant c;
    takt_tflw_product p;
    if (n->attr[TRANSPOSE_A].boolean || x->rank < 2 || k->rank != 2 || x->dtype != TAKT_F32 ||
        !takt_tflw_constant_of(w, n->in[1], &c) ||
        (c.grid.count > 0 && c.type.dtype != TAKT_I8 && c.type.dtype != TAKT_U8))
        return false;
    if (!takt_tflw_product_of(w, n, n->attr[TRANSPOSE_B].boolean ? NULL : transposed, &p))
        return w->status != TAKT_OK;
    takt_tflw_op *op = takt_tflw_call(w, "FULLY_CONNECTED", p.bias >= 0 ? 3 : 2,
                                      (const int32_t[]){p.x, p.weight, p.bias}, p.y);
    takt_tflw_option(op, 8, 0, 1, p.activation);
    takt_tflw_option(op, 8, 2, 1, x->rank != 2);
    return true;
}

static bool emit(takt_tflw *w, const takt_node *n)
{
    const takt_type *a = takt_type_of(w->g, n->in[0]), *b = takt_type_of(w->g, n->in[1]);
    if (dense(w, n))
        return true;
    if (w->status != TAKT_OK || a->rank < 2 || b->rank < 2 || a->dtype != TAKT_F32)
        return false;
    const int32_t x = takt_tflw_in(w, n, 0), y = takt_tflw_in(w, n, 1);
    takt_tflw_op *op = takt_tflw_2(w, "BATCH_MATMUL", x, y, takt_tflw_result(w, w->id, NULL));
    takt_tflw_option(op, 101, 0, 1, n->attr[TRANSPOSE_A].boolean);
    takt_tflw_option(op, 101, 1, 1, n->attr[TRANSPOSE_B].boolean);
    return true;
}

const takt_tflw_emitter takt_tflw_op_product = {{&takt_op_matmul}, emit};
