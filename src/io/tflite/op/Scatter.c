/* Scatter.c - SCATTER_ND, SPARSE_TO_DENSE, DYNAMIC_UPDATE_SLICE and sums of segments. */
#include "io/tflite/adapt.h"

static takt_id zeros(takt_tfl_call *c, takt_dtype dtype, takt_tfl_ints dims, double value)
{
    size_t count = 1;
    for (size_t i = 0; i < dims.count; i++)
        if (dims.at[i] < 0 || dims.at[i] > INT32_MAX)
            (void)takt_tfl_refuse(c, "an axis of %lld", (long long)dims.at[i]);
        else
            count = count <= (size_t)1 << 40 ? count * (size_t)dims.at[i] : count;
    if (dims.count > TAKT_MAX_RANK || count > (size_t)1 << 40)
        (void)takt_tfl_refuse(c, "a result that is too large");
    return takt_tfl_good(c)
               ? takt_broadcast(c->g, takt_tfl_number(c, dtype, value), dims.at, dims.count)
               : TAKT_NONE;
}

/* Elements at the same place are added: of bools, any of them. */
static takt_id scattered(takt_tfl_call *c)
{
    enum { ADD = 1, MAX = 3 };
    takt_id u = takt_tfl_need(c, 1);
    const takt_id index = takt_tfl_need(c, 0);
    const takt_tfl_ints dims = takt_tfl_known(c, 2);
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    const takt_dtype dtype = takt_type_of(c->g, u)->dtype;
    const bool is_bool = dtype == TAKT_BOOL;
    u = is_bool ? takt_tfl_cast(c, u, TAKT_U8) : u;
    const takt_id in[] = {zeros(c, is_bool ? TAKT_U8 : dtype, dims, 0), index, u};
    const takt_named_attr attr = {"reduce", takt_attr_i64(is_bool ? MAX : ADD)};
    if (in[0] == TAKT_NONE)
        return TAKT_NONE;
    return takt_tfl_cast(c, takt_graph_call(c->g, &takt_op_scatter_nd, 3, in, 1, &attr), dtype);
}

/* Indices [count, rank], [count] or one; values for each, or one for all. */
static takt_id dense(takt_tfl_call *c)
{
    takt_id index = takt_tfl_need(c, 0), values = takt_tfl_need(c, 2);
    const takt_tfl_ints dims = takt_tfl_known(c, 1);
    const double rest = takt_tfl_known_f(c, 3);
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    const takt_type ti = *takt_type_of(c->g, index);
    const int64_t count = ti.rank == 0 ? 1 : ti.dim[0], rank = ti.rank == 2 ? ti.dim[1] : 1;
    index = takt_tfl_shape(c, index, (int64_t[]){count, rank}, 2);
    const takt_id each = takt_broadcast(c->g, values, &count, 1);
    const takt_id in[] = {zeros(c, takt_type_of(c->g, values)->dtype, dims, rest), index, each};
    return in[0] == TAKT_NONE || !takt_tfl_good(c)
               ? TAKT_NONE
               : takt_graph_call(c->g, &takt_op_scatter_nd, 3, in, 0, NULL);
}

/* One axis at a time, from the outermost part that is kept. */
static takt_id updated(takt_tfl_call *c)
{
    const takt_id x = takt_tfl_need(c, 0), u = takt_tfl_need(c, 1), start = takt_tfl_need(c, 2);
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    const takt_type t = *takt_type_of(c->g, x), tu = *takt_type_of(c->g, u);
    takt_id part[TAKT_MAX_RANK + 1], at[TAKT_MAX_RANK];
    if (t.rank != tu.rank) {
        (void)takt_tfl_refuse(c, "an update of another rank");
        return TAKT_NONE;
    }
    part[0] = x;
    for (int d = 0; d < t.rank && takt_tfl_good(c); d++) { /* positions are clamped */
        const takt_id one = takt_tfl_squeeze(c, takt_slice(c->g, start, 0, d, d + 1, 1), 0);
        const takt_named_attr attrs[] = {{"axis", takt_attr_i64(d)},
                                         {"size", takt_attr_shape(&tu.dim[d], 1)}};
        at[d] = takt_tfl_clip(c, one, 0, (double)(t.dim[d] - tu.dim[d]));
        part[d + 1] = takt_tfl_op2(c, &takt_op_dynamic_slice, part[d], at[d], 2, attrs);
    }
    takt_id y = u;
    for (int d = t.rank; d-- > 0 && takt_tfl_good(c);) {
        const takt_named_attr attr = {"axis", takt_attr_i64(d)};
        y = takt_graph_call(c->g, &takt_op_update_slice, 3, (takt_id[]){part[d], y, at[d]}, 1,
                            &attr);
    }
    return y;
}

/* Combines rows with the same number. */
static takt_id segments(takt_tfl_call *c)
{
    static const struct {
        const char *name;
        int how; /* of scatter_nd: add 1, mul 2, max 3, min 4 */
    } kinds[] = {{"UNSORTED_SEGMENT_SUM", 1},
                 {"UNSORTED_SEGMENT_PROD", 2},
                 {"UNSORTED_SEGMENT_MIN", 4},
                 {"UNSORTED_SEGMENT_MAX", 3},
                 {"SEGMENT_SUM", 1}};
    const takt_id x = takt_tfl_need(c, 0), ids = takt_tfl_need(c, 1);
    int k = 0;
    while (!takt_tfl_is(c, kinds[k].name))
        k++;
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    const takt_type t = *takt_type_of(c->g, x), ti = *takt_type_of(c->g, ids);
    int64_t dims[TAKT_MAX_RANK], count = 0;
    if (k == 4) {
        const takt_tfl_ints known = takt_tfl_known(c, 1);
        for (size_t i = 0; i < known.count; i++)
            count = known.at[i] >= count ? known.at[i] + 1 : count;
    } else {
        count = takt_tfl_known_one(c, 2);
    }
    if (!takt_tfl_good(c) || ti.rank != 1 || t.rank < 1) {
        (void)takt_tfl_refuse(c, "numbers of segments that are not a vector");
        return TAKT_NONE;
    }
    for (int d = 0; d < t.rank; d++)
        dims[d] = d == 0 ? count : t.dim[d];
    const bool is_float = takt_dtype_is_float(t.dtype);
    const double most = is_float ? 3.4028234663852886e38 : 2147483647.0,
                 least = is_float ? -most : -2147483648.0;
    const double first = kinds[k].how == 1   ? 0
                         : kinds[k].how == 2 ? 1
                         : kinds[k].how == 4 ? most
                                             : least;
    const takt_id in[] = {zeros(c, t.dtype, (takt_tfl_ints){dims, (size_t)t.rank}, first),
                          takt_tfl_unsqueeze(c, ids, 1), x};
    const takt_named_attr attr = {"reduce", takt_attr_i64(kinds[k].how)};
    return in[0] == TAKT_NONE || in[1] == TAKT_NONE
               ? TAKT_NONE
               : takt_graph_call(c->g, &takt_op_scatter_nd, 3, in, 1, &attr);
}

static takt_status adapt(takt_tfl_call *c)
{
    return takt_tfl_done(c, takt_tfl_is(c, "SCATTER_ND")             ? scattered(c)
                            : takt_tfl_is(c, "SPARSE_TO_DENSE")      ? dense(c)
                            : takt_tfl_is(c, "DYNAMIC_UPDATE_SLICE") ? updated(c)
                                                                     : segments(c));
}

const takt_tflite_op takt_tflite_Scatter = {
    .names = {"SCATTER_ND", "SPARSE_TO_DENSE", "DYNAMIC_UPDATE_SLICE", "UNSORTED_SEGMENT_SUM",
              "UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_MIN", "UNSORTED_SEGMENT_MAX",
              "SEGMENT_SUM"},
    .adapt = adapt};
