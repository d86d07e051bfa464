/* Transpose.c - Transpose: without perm all axes are reversed. */
#include "io/onnx/adapt.h"

static takt_status adapt(takt_call *c)
{
    const takt_ints perm = takt_onnx_ints(c, "perm");
    const int rank = takt_onnx_type(c, 0)->rank;
    int64_t reversed[TAKT_MAX_RANK];
    for (int i = 0; i < rank; i++)
        reversed[i] = rank - 1 - i;
    const takt_id x = takt_onnx_in(c, 0);
    if (perm.is_set && perm.count != (size_t)rank)
        return takt_onnx_refuse(c, "perm has %zu entries for %d axes", perm.count, rank);
    return takt_onnx_done(c, perm.is_set ? takt_transpose(c->g, x, perm.at, perm.count)
                                         : takt_transpose(c->g, x, reversed, (size_t)rank));
}

const takt_onnx_op takt_onnx_Transpose = {.names = {"Transpose"}, .adapt = adapt};
