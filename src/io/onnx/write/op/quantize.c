/* quantize.c - QuantizeLinear and DequantizeLinear. */
#include "io/onnx/write/emit.h"

enum { AXIS, DTYPE };

/* Element types that both support at the opsets written. */
static const takt_dtype_set stored = TAKT_IN(TAKT_I8) | TAKT_IN(TAKT_U8) | TAKT_IN(TAKT_I16) |
                                     TAKT_IN(TAKT_U16) | TAKT_IN(TAKT_I4) | TAKT_IN(TAKT_U4);
static const takt_dtype_set real = TAKT_IN(TAKT_F32) | TAKT_IN(TAKT_F16) | TAKT_IN(TAKT_BF16);

static bool fits(const takt_emit *e, const takt_node *n, bool is_quantize)
{
    const takt_dtype x = takt_emit_type(e, 0)->dtype, scale = takt_emit_type(e, 1)->dtype;
    const takt_dtype y = n->type[0].dtype, q = is_quantize ? y : x, f = is_quantize ? x : y;
    const takt_dtype_set narrow = is_quantize ? stored : stored | TAKT_IN(TAKT_I32);
    return (narrow & TAKT_IN(q)) != 0 && (real & TAKT_IN(f)) != 0 && scale == f &&
           takt_emit_type(e, 1)->rank <= 1 &&
           (n->in_count < 3 || n->in[2] == TAKT_NONE || takt_emit_type(e, 2)->dtype == q);
}

static bool emit(takt_emit *e, const takt_node *n)
{
    const bool is_quantize = n->op == &takt_op_quantize;
    if (!fits(e, n, is_quantize))
        return false;
    if (takt_emit_type(e, 1)->rank == 1)
        takt_emit_i(e, "axis", n->attr[AXIS].i64);
    const char *zero = takt_emit_in(e, 2);
    /* A zero point sets the type, and is written wherever it can be: onnxruntime rewrites i8 to u8
     * and forgets the attribute. */
    if (is_quantize && zero[0] == '\0' && takt_emit_type(e, 1)->rank == 0)
        zero = takt_emit_scalar(e, n->type[0].dtype, 0);
    else if (is_quantize && zero[0] == '\0')
        takt_emit_i(e, "output_dtype", takt_onnx_elem(n->type[0].dtype));
    takt_emit_3(e, is_quantize ? "QuantizeLinear" : "DequantizeLinear", e->out, takt_emit_in(e, 0),
                takt_emit_in(e, 1), zero);
    return true;
}

const takt_emitter takt_emit_op_quantize = {
    .ops = {&takt_op_quantize, &takt_op_dequantize},
    .emit = emit,
};
