/* Reshape.c - RESHAPE, SQUEEZE and EXPAND_DIMS: the same elements in another shape. */
#include <string.h>

#include "io/tflite/adapt.h"

/* Axes that the file does not have: complex numbers are pairs on a last axis of two. */
static int own_axes(takt_tfl_call *c)
{
    return takt_tfl_tensor_in(c, 0)->type == TAKT_TFL_COMPLEX64 ? 1 : 0;
}

static takt_id shape(takt_tfl_call *c, takt_id x, int64_t *dims, int rank)
{
    if (own_axes(c) > 0)
        dims[rank++] = 2;
    return takt_tfl_shape(c, x, dims, rank);
}

/* One -1 is inferred from the rest. */
static takt_id shaped(takt_tfl_call *c, takt_id x, const int64_t *dims, size_t rank)
{
    const takt_type t = *takt_type_of(c->g, x);
    const size_t own = (size_t)own_axes(c);
    int64_t to[TAKT_MAX_RANK];
    size_t count, known = 1 + own;
    int rest = -1;
    if (!takt_tfl_good(c) || rank + own > TAKT_MAX_RANK || !takt_type_count(&t, &count)) {
        (void)takt_tfl_refuse(c, "a shape of %zu axes", rank);
        return TAKT_NONE;
    }
    for (size_t d = 0; d < rank; d++) {
        to[d] = dims[d];
        if (dims[d] < -1 || (dims[d] == -1 && rest >= 0) || dims[d] > INT32_MAX) {
            (void)takt_tfl_refuse(c, "a shape with %lld", (long long)dims[d]);
            return TAKT_NONE;
        }
        if (dims[d] == -1)
            rest = (int)d;
        else if (dims[d] > 0 && known <= SIZE_MAX / (size_t)dims[d])
            known *= (size_t)dims[d];
        else
            known = dims[d] == 0 ? 0 : known;
    }
    if (rest >= 0)
        to[rest] = known > 0 ? (int64_t)(count / known) : 0;
    return shape(c, x, to, (int)rank);
}

static takt_status reshape(takt_tfl_call *c)
{
    const takt_id x = takt_tfl_need(c, 0);
    const takt_tfl_tensor *to = takt_tfl_tensor_out(c, 0);
    if (takt_tfl_has(c, 1)) {
        const takt_array *known = takt_tfl_peek(c, 1);
        if (known != NULL && known->i != NULL && known->rank <= 1)
            return takt_tfl_done(c, shaped(c, x, known->i, known->count));
    }
    const takt_tfl_ints given = takt_tfl_list(c, 0);
    if (given.count > 0)
        return takt_tfl_done(c, shaped(c, x, given.at, given.count));
    return takt_tfl_done(c, shaped(c, x, to->dim, (size_t)to->rank));
}

static takt_status squeeze(takt_tfl_call *c)
{
    const takt_id x = takt_tfl_need(c, 0);
    const takt_type t = *takt_type_of(c->g, x);
    const takt_tfl_ints axes = takt_tfl_list(c, 0);
    bool gone[TAKT_MAX_RANK] = {false};
    int64_t dims[TAKT_MAX_RANK];
    const int rank_in = t.rank - own_axes(c);
    int rank = 0;
    for (size_t i = 0; i < axes.count; i++)
        gone[takt_tfl_axis(c, axes.at[i], rank_in)] = true;
    for (int d = 0; d < rank_in; d++) {
        if (gone[d] && t.dim[d] != 1)
            return takt_tfl_refuse(c, "axis %d has %lld elements", d, (long long)t.dim[d]);
        if (!(gone[d] || (axes.count == 0 && t.dim[d] == 1)))
            dims[rank++] = t.dim[d];
    }
    return takt_tfl_done(c, shape(c, x, dims, rank));
}

static takt_status adapt(takt_tfl_call *c)
{
    if (takt_tfl_is(c, "RESHAPE"))
        return reshape(c);
    if (takt_tfl_is(c, "SQUEEZE"))
        return squeeze(c);
    const takt_id x = takt_tfl_need(c, 0);
    if (!takt_tfl_good(c))
        return c->status;
    const int rank = takt_type_of(c->g, x)->rank - own_axes(c);
    const int axis = takt_tfl_axis(c, takt_tfl_known_one(c, 1), rank + 1);
    return takt_tfl_done(c, takt_tfl_unsqueeze(c, x, axis));
}

const takt_tflite_op takt_tflite_Reshape = {.names = {"RESHAPE", "SQUEEZE", "EXPAND_DIMS"},
                                            .adapt = adapt};
