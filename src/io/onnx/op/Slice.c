/* Slice.c - Slice: settings are attributes, from opset 10 on inputs. */
#include "io/onnx/adapt.h"

/* -2^63 means "as far as possible", which ours writes differently. */
static int64_t tame(int64_t v)
{
    return v == INT64_MIN ? INT64_MIN + 1 : v;
}

static takt_status adapt(takt_call *c)
{
    takt_ints start = takt_onnx_list(c, "starts", 1), stop = takt_onnx_list(c, "ends", 2);
    const takt_ints axes = takt_onnx_list(c, "axes", 3);
    const takt_ints step = c->opset >= 10 ? takt_onnx_known_ints(c, 4) : (takt_ints){0};
    int64_t *from = takt_onnx_get(c, start.count, sizeof *from);
    int64_t *to = takt_onnx_get(c, start.count, sizeof *to);
    if (c->status != TAKT_OK)
        return c->status;
    if (start.count != stop.count)
        return takt_onnx_refuse(c, "%zu starts and %zu ends", start.count, stop.count);
    for (size_t i = 0; i < start.count; i++) {
        from[i] = tame(start.at[i]);
        to[i] = tame(stop.at[i]);
    }
    const takt_named_attr attrs[] = {{"start", takt_attr_i64s(from, start.count)},
                                     {"stop", takt_attr_i64s(to, start.count)},
                                     {"axes", takt_attr_i64s(axes.at, axes.count)},
                                     {"step", takt_attr_i64s(step.at, step.count)}};
    return takt_onnx_done(c, takt_onnx_op1(c, &takt_op_slice, takt_onnx_in(c, 0), 4, attrs));
}

const takt_onnx_op takt_onnx_Slice = {.names = {"Slice"}, .adapt = adapt};
