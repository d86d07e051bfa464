/* Trilu.c - Trilu: the diagonal's number is an input. */
#include "io/onnx/adapt.h"

static takt_status adapt(takt_call *c)
{
    const takt_ints k = takt_onnx_known_ints(c, 1);
    const takt_named_attr attrs[] = {{"upper", takt_attr_bool(takt_onnx_i(c, "upper", 1) != 0)},
                                     {"k", takt_attr_i64(k.count > 0 ? k.at[0] : 0)}};
    return takt_onnx_done(c, takt_onnx_op1(c, &takt_op_trilu, takt_onnx_in(c, 0), 2, attrs));
}

const takt_onnx_op takt_onnx_Trilu = {.names = {"Trilu"}, .adapt = adapt};
