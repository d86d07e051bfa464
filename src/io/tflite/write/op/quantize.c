/* quantize.c - QUANTIZE: floats to integers where no layer does it by itself. */
#include "io/tflite/write/emit.h"

static bool emit(takt_tflw *w, const takt_node *n)
{
    takt_tflw_grid grid;
    const takt_dtype to = n->type->dtype;
    if (!takt_tflw_grid_of(w, n, &grid) || (to != TAKT_I8 && to != TAKT_U8 && to != TAKT_I16) ||
        (to == TAKT_I16 && grid.zero[0] != 0))
        return false;
    const int32_t x = takt_tflw_in(w, n, 0);
    (void)takt_tflw_1(w, "QUANTIZE", x, takt_tflw_result(w, w->id, &grid));
    return true;
}

const takt_tflw_emitter takt_tflw_op_quantize = {{&takt_op_quantize}, emit};
