/* Tile.c - Tile. */
#include "io/onnx/adapt.h"

static takt_status adapt(takt_call *c)
{
    const takt_ints repeats = takt_onnx_known_ints(c, 1);
    const takt_named_attr attr = {"repeats", takt_attr_i64s(repeats.at, repeats.count)};
    return takt_onnx_done(c, takt_onnx_op1(c, &takt_op_tile, takt_onnx_in(c, 0), 1, &attr));
}

const takt_onnx_op takt_onnx_Tile = {.names = {"Tile"}, .adapt = adapt};
