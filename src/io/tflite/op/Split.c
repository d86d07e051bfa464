/* Split.c - SPLIT, SPLIT_V, UNPACK and PACK: parts of an axis, and back. */
#include "io/tflite/adapt.h"

static takt_status parts(takt_tfl_call *c, takt_id x, int axis, const int64_t *sizes)
{
    int64_t at = 0;
    const int64_t all = takt_type_of(c->g, x)->dim[axis];
    for (size_t i = 0; i < c->op->output_count && takt_tfl_good(c); i++) {
        if (sizes[i] < 0 || sizes[i] > all - at)
            return takt_tfl_refuse(c, "parts that are larger than the axis");
        takt_tfl_set(c, i, takt_slice(c->g, x, axis, at, at + sizes[i], 1));
        at += sizes[i];
    }
    return at == all ? c->status : takt_tfl_refuse(c, "parts that are smaller than the axis");
}

static takt_status split(takt_tfl_call *c)
{
    const bool is_equal = takt_tfl_is(c, "SPLIT");
    const takt_id x = takt_tfl_need(c, is_equal ? 1 : 0);
    const takt_type t = *takt_type_of(c->g, x);
    const int axis = takt_tfl_axis(c, takt_tfl_known_one(c, is_equal ? 0 : 2), t.rank);
    const size_t n = c->op->output_count;
    int64_t *sizes = takt_tfl_get(c, n, sizeof *sizes), rest = t.dim[axis];
    const takt_tfl_ints given = is_equal ? (takt_tfl_ints){0} : takt_tfl_known(c, 1);
    if (!takt_tfl_good(c) || sizes == NULL)
        return c->status;
    if (n == 0 || (is_equal && t.dim[axis] % (int64_t)n != 0) || (!is_equal && given.count != n))
        return takt_tfl_refuse(c, "%zu parts of an axis of %lld", n, (long long)t.dim[axis]);
    for (size_t i = 0; !is_equal && i < n; i++)
        rest -= given.at[i] > 0 ? given.at[i] : 0;
    for (size_t i = 0; i < n; i++)
        sizes[i] = is_equal ? t.dim[axis] / (int64_t)n : given.at[i] < 0 ? rest : given.at[i];
    return parts(c, x, axis, sizes);
}

static takt_status unpack(takt_tfl_call *c)
{
    const takt_id x = takt_tfl_need(c, 0);
    const takt_type t = *takt_type_of(c->g, x);
    const int axis = takt_tfl_axis(c, takt_tfl_i32(c, 1, 0), t.rank);
    if (!takt_tfl_good(c))
        return c->status;
    if (t.rank == 0 || t.dim[axis] != (int64_t)c->op->output_count)
        return takt_tfl_refuse(c, "%zu results of an axis of %lld", c->op->output_count,
                               (long long)t.dim[axis]);
    for (size_t i = 0; i < c->op->output_count && takt_tfl_good(c); i++) {
        const int64_t at = (int64_t)i;
        takt_tfl_set(c, i, takt_tfl_squeeze(c, takt_slice(c->g, x, axis, at, at + 1, 1), axis));
    }
    return c->status;
}

static takt_status adapt(takt_tfl_call *c)
{
    if (takt_tfl_is(c, "UNPACK"))
        return unpack(c);
    if (!takt_tfl_is(c, "PACK"))
        return split(c);
    takt_id *in = takt_tfl_get(c, c->op->input_count, sizeof *in);
    for (size_t i = 0; in != NULL && i < c->op->input_count; i++)
        in[i] = takt_tfl_need(c, i);
    if (c->op->input_count == 0)
        return takt_tfl_refuse(c, "no parts");
    if (!takt_tfl_good(c))
        return c->status;
    const int axis = takt_tfl_axis(c, takt_tfl_i32(c, 1, 0), takt_type_of(c->g, in[0])->rank + 1);
    const takt_named_attr attr = {"axis", takt_attr_i64(axis)};
    return takt_tfl_good(c) ? takt_tfl_done(c, takt_graph_call(c->g, &takt_op_stack,
                                                               c->op->input_count, in, 1, &attr))
                            : c->status;
}

const takt_tflite_op takt_tflite_Split = {.names = {"SPLIT", "SPLIT_V", "UNPACK", "PACK"},
                                          .adapt = adapt};
