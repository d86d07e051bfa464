/* CenterCropPad.c - cuts or pads axes to a size, evenly on both sides. */
#include "io/onnx/adapt.h"

static takt_id fitted(takt_call *c, takt_id x, int axis, int64_t want)
{
    if (x == TAKT_NONE)
        return x;
    const takt_type t = *takt_type_of(c->g, x);
    const int64_t size = t.dim[axis];
    if (size >= want) {
        const int64_t start = (size - want) / 2;
        return size == want ? x : takt_slice(c->g, x, axis, start, start + want, 1);
    }
    int64_t before[TAKT_MAX_RANK] = {0};
    takt_dim after[TAKT_MAX_RANK] = {0};
    before[axis] = (want - size) / 2;
    after[axis] = want - size - before[axis];
    const takt_named_attr attrs[] = {{"before", takt_attr_i64s(before, (size_t)t.rank)},
                                     {"after", takt_attr_shape(after, (size_t)t.rank)}};
    return takt_onnx_op1(c, &takt_op_pad, x, 2, attrs);
}

static takt_status adapt(takt_call *c)
{
    const takt_type t = *takt_onnx_type(c, 0);
    const takt_ints shape = takt_onnx_known_ints(c, 1), axes = takt_onnx_ints(c, "axes");
    takt_id x = takt_onnx_in(c, 0);
    if (c->status != TAKT_OK)
        return c->status;
    if (shape.count != (axes.is_set ? axes.count : (size_t)t.rank))
        return takt_onnx_refuse(c, "%zu sizes", shape.count);
    for (size_t i = 0; i < shape.count; i++) {
        const int axis = axes.is_set ? takt_onnx_axis(c, axes.at[i], t.rank) : (int)i;
        if (shape.at[i] < 0 || shape.at[i] > INT32_MAX || !takt_dim_is_number(t.dim[axis]))
            return takt_onnx_refuse(c, "a size of %lld", (long long)shape.at[i]);
        x = fitted(c, x, axis, shape.at[i]);
    }
    return takt_onnx_done(c, x);
}

const takt_onnx_op takt_onnx_CenterCropPad = {.names = {"CenterCropPad"}, .adapt = adapt};
