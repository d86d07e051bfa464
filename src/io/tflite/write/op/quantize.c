/* quantize.c - QUANTIZE: floats to integers where no layer does it by itself, and integers from one
 * scale to another. */
#include "io/tflite/write/emit.h"

/* Integer types that LiteRT requantises between; -1: floats, or an unsupported pair. */
static int32_t integers(takt_tflw *w, const takt_node *n)
{
    const int32_t x = takt_tflw_levels(w, n->in[0]);
    const takt_dtype from = takt_tflw_at(w, x)->type.dtype, to = n->type->dtype;
    const bool is_known = from == to || from == TAKT_I8 || to == TAKT_I8;
    return x >= 0 && takt_tflw_at(w, x)->data == NULL && is_known ? x : -1;
}

static bool emit(takt_tflw *w, const takt_node *n)
{
    takt_tflw_grid grid;
    const takt_dtype to = n->type->dtype;
    if (!takt_tflw_grid_of(w, n, &grid) || (to != TAKT_I8 && to != TAKT_U8 && to != TAKT_I16) ||
        (to == TAKT_I16 && grid.zero[0] != 0))
        return false;
    int32_t x = integers(w, n);
    if (x < 0)
        x = takt_tflw_in(w, n, 0);
    (void)takt_tflw_1(w, "QUANTIZE", x, takt_tflw_result(w, w->id, &grid));
    return true;
}

const takt_tflw_emitter takt_tflw_op_quantize = {{&takt_op_quantize}, emit};
