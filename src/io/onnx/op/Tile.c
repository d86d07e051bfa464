/* Tile.c - Tile: repeats by numbers or by dimensions. */
#include "io/onnx/adapt.h"

/* Repeats axis `axis` n times: adds an axis of size n next to it and merges the two. */
static takt_id repeated(takt_call *c, takt_id x, int axis, takt_dim n)
{
    takt_dim dims[TAKT_MAX_RANK + 1], flat[TAKT_MAX_RANK], size;
    if (x == TAKT_NONE)
        return x;
    const takt_type t = *takt_type_of(c->g, x);
    const takt_status status = takt_dim_make(c->g->dims, TAKT_DIM_MUL, t.dim[axis], n, &size);
    if (status != TAKT_OK || t.rank == TAKT_MAX_RANK) {
        (void)takt_onnx_refuse(c, "axis %d cannot be repeated", axis);
        return TAKT_NONE;
    }
    for (int i = 0; i < t.rank; i++) {
        dims[i < axis ? i : i + 1] = t.dim[i];
        flat[i] = i == axis ? size : t.dim[i];
    }
    dims[axis] = n;
    x = takt_broadcast(c->g, takt_onnx_unsqueeze(c, x, axis), dims, (size_t)t.rank + 1);
    return takt_reshape(c->g, x, flat, (size_t)t.rank);
}

static takt_status adapt(takt_call *c)
{
    takt_id x = takt_onnx_in(c, 0);
    const int rank = takt_onnx_type(c, 0)->rank;
    const bool is_known = takt_onnx_peek(c, 1) != NULL;
    size_t many = 0;
    const takt_dim *times = is_known ? NULL : takt_onnx_dims(c, 1, &many);
    const takt_ints repeats = is_known ? takt_onnx_known_ints(c, 1) : (takt_ints){0};
    const takt_named_attr attr = {"repeats", takt_attr_i64s(repeats.at, repeats.count)};
    if (c->status != TAKT_OK)
        return c->status;
    if (is_known)
        return takt_onnx_done(c, takt_onnx_op1(c, &takt_op_tile, x, 1, &attr));
    if (many != (size_t)rank)
        return takt_onnx_refuse(c, "%zu repeats for %d axes", many, rank);
    for (int i = 0; i < rank; i++)
        if (times[i] != 1)
            x = repeated(c, x, i, times[i]);
    return takt_onnx_done(c, x);
}

const takt_onnx_op takt_onnx_Tile = {.names = {"Tile"}, .adapt = adapt};
